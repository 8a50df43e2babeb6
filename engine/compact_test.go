package engine

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"math/rand/v2"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// ENG-AT-34: when a log is compacted.
func TestCompactionDue(t *testing.T) {
	const mib = 1 << 20
	usual := compactLimits{4 * mib, 3, 64 * mib}
	for _, c := range []struct {
		name                string
		used, last, garbage int64
		l                   compactLimits
		due                 bool
	}{
		{"nothing", 0, 0, 0, usual, false},
		{"under the floor, never compacted", 4*mib - 1, 0, 0, usual, false},
		{"at the floor, never compacted", 4 * mib, 0, 0, usual, true},
		{"at the ratio", 30 * mib, 10 * mib, 20 * mib, usual, false},
		{"over the ratio", 30*mib + 1, 10 * mib, 20*mib + 1, usual, true},
		{"over the ratio, under the floor", 4*mib - 1, mib, 3*mib - 1, usual, false},
		{"under the bound of garbage", 200 * mib, 136*mib + 1, 64*mib - 1, usual, false},
		{"at the bound of garbage", 200 * mib, 136 * mib, 64 * mib, usual, false},
		{"over the bound of garbage", 200 * mib, 136*mib - 1, 64*mib + 1, usual, true},
		{"over the bound of garbage, under the floor", 3 * mib, 2 * mib, 2 * mib, compactLimits{4 * mib, 3, mib}, false},
		{"no ratio", 1 << 40, 0, 1 << 40, compactLimits{4 * mib, 0, 64 * mib}, false},
		{"no floor", 1, 0, 0, compactLimits{0, 3, 64 * mib}, true},
		{"no floor, at the ratio", 3, 1, 2, compactLimits{0, 3, 64 * mib}, false},
		{"a large ratio", 99, 10, 89, compactLimits{1, 10, 64 * mib}, false},
	} {
		if got := compactionDue(c.used, c.last, c.garbage, c.l); got != c.due {
			t.Errorf("%s: %t, want %t", c.name, got, c.due)
		}
	}
}

// compacted compacts a store and removes what it replaced as soon as nothing can be
// read from it.
func compacted(t testing.TB, s *Store) {
	t.Helper()
	before := dump(s.Durable())
	lsn := s.Durable().LSN()
	must(t, s.Compact(t.Context(), nil))
	if after := dump(s.Durable()); s.Durable().LSN() == lsn && after != before {
		t.Fatalf("after a compaction:\n%s\nwant:\n%s", after, before)
	}
}

// nothingFails is a listener that fails the test for what fails in the background.
func nothingFails(t testing.TB) func(Event) {
	return func(e Event) {
		if e.Kind == EventBackgroundFailed {
			t.Errorf("%v", e)
		}
	}
}

// logsOnDisk lists the files of the log and of bases.
func logsOnDisk(t testing.TB, fs vfs.FS) []string {
	t.Helper()
	return slices.DeleteFunc(objectsOnDisk(t, fs), func(name string) bool { return !strings.HasSuffix(name, ".kv") })
}

// objectsOnDisk lists the files of objects.
func objectsOnDisk(t testing.TB, fs vfs.FS) (list []string) {
	t.Helper()
	var walk func(dir string)
	walk = func(dir string) {
		names, err := fs.List(dir)
		if errors.Is(err, iofs.ErrNotExist) {
			return // it went with its last file
		}
		must(t, err)
		for _, name := range names {
			p := path.Join(dir, name)
			info, err := fs.Stat(p)
			if errors.Is(err, iofs.ErrNotExist) {
				continue
			}
			must(t, err)
			if info.Dir {
				walk(p)
			} else {
				list = append(list, p)
			}
		}
	}
	walk(objectsDir)
	return list
}

// placesOf lists where the rows of a keys table are.
func placesOf(t testing.TB, table *Table) map[int64]rowPlace {
	places := map[int64]rowPlace{}
	for it := table.rows.Iter(); it.Next(); {
		p, err := parseLocator(string(it.Value()))
		must(t, err)
		places[it.Key()] = p
	}
	return places
}

// ENG-AT-23, ENG-52, ENG-54: compactions of tables in all modes, with many changes
// between them and restarts behind them. Every row of a keys table is somewhere else
// afterwards, and no chain is longer than its whole record.
func TestCompact(t *testing.T) { overShards(t, compactAndReopen) }

func compactAndReopen(t *testing.T, shards int) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 8 << 10, Events: nothingFails(t)}
	s := openStore(t, o)
	must(t, s.Compact(t.Context(), nil)) // of an empty store: nothing to do
	wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 4), createTable("gone"), func(tx *Tx) error {
		def := testTable("v", 2)
		def.Durable = false
		return tx.Apply(CreateTable{Def: def})
	}, func(tx *Tx) error {
		return tx.Apply(CreateObject{Object: Object{Kind: KindView, Name: "w", SQL: "CREATE VIEW w"}})
	})))
	rng := rand.New(rand.NewPCG(1, uint64(shards)))
	change := func(n int) {
		for range n {
			var steps []func(*Tx) error
			for range 8 {
				id := rng.Int64N(200)
				steps = append(steps, put("a", id, id, strings.Repeat("a", rng.IntN(200))),
					put("k", id, id, fmt.Sprint(rng.IntN(9)), strings.Repeat("b", 60), "c"), put("v", id, id, "v"), put("gone", id, id, "x"))
			}
			wait(t, s, update(t, s, all(steps...)))
			id := rng.Int64N(200)
			_, _ = tryUpdate(s, remove("a", id))
			_, _ = tryUpdate(s, remove("k", id))
		}
		wait(t, s, s.Head().LSN())
	}
	durable := func(state string) string { // without the rows of the volatile table
		lines := strings.SplitAfter(state, "\n")
		keep, in := "", false
		for _, l := range lines {
			if strings.HasPrefix(l, "table") {
				in = strings.HasPrefix(l, "table v ")
			}
			if !in {
				keep += l
			}
		}
		return keep
	}
	for round := range 3 {
		change(30)
		if round == 1 {
			wait(t, s, update(t, s, func(tx *Tx) error {
				return tx.Apply(DropTable{tx.Schema().Lookup("gone").Table.ID})
			}))
			wait(t, s, update(t, s, createTable("gone")))
		}
		places := placesOf(t, tableOf(s, "k"))
		files := len(logsOnDisk(t, o.FS))
		compacted(t, s)
		now := placesOf(t, tableOf(s, "k"))
		for id, p := range now {
			if p == places[id] || p.hops != 0 {
				t.Errorf("row %d is at %+v, and was at %+v", id, p, places[id])
			}
		}
		use := s.LogUse()
		if rows := int64(3 * 200); use.Garbage() > 8*rows {
			t.Errorf("after a compaction: %+v", use)
		}
		ops := s.Metrics().Compactions
		compacted(t, s) // nothing was written since
		if s.Metrics().Compactions != ops {
			t.Error("an unchanged store was compacted again")
		}
		checkStore(t, s)
		state := durable(dump(s.Durable()))
		must(t, s.Close())
		if n := len(logsOnDisk(t, o.FS)); n >= files {
			t.Errorf("%d files after a compaction and Close, %d before", n, files)
		}
		var err error
		s, err = Open(t.Context(), o)
		must(t, err)
		if got := durable(dump(s.Durable())); got != state {
			t.Fatalf("round %d, reopened:\n%s\nwant:\n%s", round, got, state)
		}
		if again := s.LogUse(); again != use {
			t.Errorf("reopened: %+v, was %+v", again, use)
		}
		checkStore(t, s)
		checkGenerations(t, s, s.Head().LSN())
	}
	change(5)
	must(t, s.Close())
}

// ENG-AT-24: beside a transaction a compaction waits, as long as its context lasts,
// and leaves the log alone.
func TestCompactWaitsForTheTransaction(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m})
	wait(t, s, update(t, s, all(createTable("t"), put("t", 1, 1, "x"))))
	tx, err := s.Begin(t.Context())
	must(t, err)
	must(t, put("t", 2, 2, "y")(tx))
	settled(t, s)
	ops := m.Ops()
	if _, err := s.RunJob(t.Context(), JobRequest{Kind: JobCompact, LockTimeout: -1}); !errors.Is(err, ErrBusy) {
		t.Errorf("beside a transaction: %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := s.Compact(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside a transaction: %v", err)
	}
	if m.Ops() != ops {
		t.Errorf("%d file operations", m.Ops()-ops)
	}
	wait(t, s, tx.Commit())
	compacted(t, s)
	if got := text(t, s.Durable(), "t", 2); got != "y" {
		t.Errorf("row 2 is %q", got)
	}
}

// A snapshot that was taken before a compaction is read as before, and keeps the
// files it needs; when it ends they go.
func TestCompactKeepsWhatSnapshotsRead(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, GenerationSize: 4 << 10, Events: nothingFails(t)})
	wait(t, s, update(t, s, createKeys("k", 3)))
	for i := range int64(100) {
		wait(t, s, update(t, s, put("k", i%20, i, "x", strings.Repeat("y", 100))))
	}
	old := s.Durable()
	want := dump(old)
	for range 2 {
		wait(t, s, update(t, s, put("k", 3, 1000, "z", "z")))
		compacted(t, s)
	}
	runtime.GC()
	runtime.GC()
	settled(t, s)
	if got := dump(old); got != want {
		t.Errorf("an old snapshot:\n%s\nwant:\n%s", got, want)
	}
	before := len(objectsOnDisk(t, m))
	runtime.KeepAlive(old)
	old = nil
	eventually(t, "files to go", func() bool {
		runtime.GC()
		return len(objectsOnDisk(t, m)) < before-5
	})
	eventually(t, "the catalog to be told", func() bool {
		list, err := s.cat.Objects(t.Context())
		must(t, err)
		return len(list) == len(objectsOnDisk(t, m))
	})
	checkStore(t, s)
}

// The log is compacted by itself: one row that is changed all the time leaves no
// more than a few times what the rows take.
func TestCompactsByItself(t *testing.T) {
	for _, resident := range []Resident{ResidentAll, ResidentKeys} {
		t.Run(resident.String(), func(t *testing.T) { compactsByItself(t, resident) })
	}
}

func compactsByItself(t *testing.T, resident Resident) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, GenerationSize: 16 << 10, CompactFloor: 32 << 10, Sync: SyncOff, Events: nothingFails(t)})
	wait(t, s, update(t, s, createTableAs("t", resident)))
	most := int64(0)
	for i := range int64(5000) {
		update(t, s, put("t", i%100, i%100, strings.Repeat(fmt.Sprint(i%10), 100)))
		most = max(most, s.LogUse().Used)
	}
	eventually(t, "a compaction", func() bool { return s.Metrics().Compactions > 0 })
	eventually(t, "the log to be small", func() bool {
		use := s.LogUse()
		return use.Used < 64<<10 || float64(use.Used) <= 3*float64(use.Live)
	})
	if count(s.Durable(), "t") != 100 {
		t.Errorf("%d rows", count(s.Durable(), "t"))
	}
	checkStore(t, s)
	t.Logf("resident=%s: %d compactions, at most %d bytes of records, longest pause %v", resident, s.Metrics().Compactions, most, s.Metrics().CompactPause)
}
