package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// needsSessions skips a test where no process can be named: there is no reading beside
// a writer.
func needsSessions(t testing.TB) {
	t.Helper()
	if _, err := catalog.ThisProcess(); err != nil {
		t.Skip(err)
	}
}

// openReading opens a store read-only until the end of the test.
func openReading(t testing.TB, o Options) *Store {
	t.Helper()
	needsSessions(t)
	o.Create, o.ReadOnly, o.Shards = false, true, 0
	r, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close of a reader: %v", err)
		}
	})
	return r
}

// refreshed is the newest state of a store that is open read-only.
func refreshed(t testing.TB, r *Store) *Snapshot {
	t.Helper()
	must(t, r.Refresh(t.Context()))
	return r.Durable()
}

// sees waits until a reader has come to a commit.
func sees(t testing.TB, r *Store, lsn LSN) *Snapshot {
	t.Helper()
	eventually(t, fmt.Sprintf("commit %d to be seen", lsn), func() bool { return refreshed(t, r).LSN() >= lsn })
	return r.Durable()
}

// A reader sees what the writer has made durable, rotations, compactions and schema
// changes included, and a state stays what it was.
func TestReader(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
		s := filled(t, o)
		r := openReading(t, o)
		first := sees(t, r, s.Durable().LSN())
		want := dump(s.Durable())
		if got := dump(first); got != want {
			t.Fatalf("at first:\n%s\nwant:\n%s", got, want)
		}
		for n := range int64(6) {
			churn(t, s, n)
			update(t, s, createTable(fmt.Sprint("new", n)))
			for i := range int64(8) {
				lsn := update(t, s, all(put(fmt.Sprint("new", n), i, "row"), put("k", 100+i, fmt.Sprint("gone", i), strings.Repeat("long", 100)), remove("k", 100+i), put("k", 200+i+10*n, fmt.Sprint("new", i, n))))
				wait(t, s, lsn)
				if i%3 == 0 {
					now := sees(t, r, lsn)
					if got, want := dump(now), dump(s.Durable()); got != want {
						t.Fatalf("commit %d:\n%s\nwant:\n%s", lsn, got, want)
					}
					verifyRoot(t, (*root)(now))
				}
			}
			must(t, s.GC(t.Context(), nil))
		}
		collectGarbage()
		must(t, s.GC(t.Context(), nil))
		if got := dump(first); got != want {
			t.Errorf("the first state is now:\n%s\nwant:\n%s", got, want)
		}
		for what, err := range map[string]error{
			"begin":      second(r.TryBegin()),
			"checkpoint": r.Checkpoint(t.Context(), nil),
			"compact":    r.Compact(t.Context(), nil),
			"branch":     second(r.CreateBranchPoint(t.Context(), "x")),
			"fork":       second(r.Fork(t.Context(), "x")),
			"timeline":   second(r.OpenTimeline(t.Context(), "x", Options{})),
			"check":      r.Check(t.Context(), func(Finding) {}, nil),
		} {
			if !errors.Is(err, ErrReadOnly) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// Without a writer a reader sees what a writer that opened the store would.
func TestReaderWithoutWriter(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 4 << 10, NoCompaction: true, Create: true}
		s, err := Open(t.Context(), o)
		must(t, err)
		wait(t, s, update(t, s, all(createKeys("k", 3), createTable("a"))))
		r := openReading(t, o)
		for n := range int64(5) {
			churn(t, s, n)
			wait(t, s, update(t, s, put("a", 10+n, "after")))
			want, lsn := dump(s.Durable()), s.Durable().LSN()
			must(t, s.Close())
			now := time.Now().Add(time.Duration(n+1) * 2 * lookEvery)
			r.opts.Now = func() time.Time { return now }
			snap := refreshed(t, r)
			if got := dump(snap); got != want || snap.LSN() != lsn {
				t.Fatalf("commit %d:\n%s\nwant commit %d:\n%s", snap.LSN(), got, lsn, want)
			}
			if got := dump(openReading(t, o).Durable()); got != want {
				t.Fatalf("of a new reader:\n%s\nwant:\n%s", got, want)
			}
			s, err = Open(t.Context(), o)
			must(t, err)
		}
		must(t, s.Close())
	})
}

// Branch points and other timelines are read, too.
func TestReaderOfThePast(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := filled(t, o)
	branch(t, s, "bp")
	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	want := dump(s.Durable())
	churn(t, s, 1)
	o.Timeline = "dev"
	dev := openReading(t, o)
	if got := dump(dev.Durable()); got != want {
		t.Errorf("a timeline that nobody writes:\n%s\nwant:\n%s", got, want)
	}
	snap, err := dev.At(t.Context(), "bp")
	must(t, err)
	must(t, s.DeleteBranchPoint(t.Context(), "bp"))
	must(t, s.GC(t.Context(), nil))
	if got := contentOf(t, snap); got != contentOf(t, dev.Durable()) {
		t.Errorf("a branch point:\n%s", got)
	}
	if _, err := dev.At(t.Context(), "bp"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("a branch point that is gone: %v", err)
	}
	w, err := s.OpenTimeline(t.Context(), "dev", o)
	must(t, err)
	wait(t, w, update(t, w, put("a", 77, "dev")))
	sees(t, dev, w.Durable().LSN())
	if got, want := dump(dev.Durable()), dump(w.Durable()); got != want {
		t.Errorf("the timeline:\n%s\nwant:\n%s", got, want)
	}
	must(t, w.Close())
	o.Timeline = "none"
	o.ReadOnly, o.Create = true, false
	if _, err := Open(t.Context(), o); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("an unknown timeline: %v", err)
	}
}

// A restore takes commits back: the reader goes on with what it left.
func TestReaderBesideRestore(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := filled(t, o)
	branch(t, s, "bp")
	r := openReading(t, o)
	for n := range int64(3) {
		churn(t, s, n)
		sees(t, r, s.Durable().LSN())
		before, want := r.Durable(), dump(r.Durable())
		lsn, err := s.RestoreTo(t.Context(), "bp")
		must(t, err)
		sees(t, r, lsn)
		if got, want := dump(r.Durable()), dump(s.Durable()); got != want {
			t.Fatalf("restored:\n%s\nwant:\n%s", got, want)
		}
		if got := dump(before); got != want {
			t.Fatalf("before:\n%s\nwant:\n%s", got, want)
		}
	}
}

// syncedSoFar is the newest commit that other processes may know of: they are told
// when it is synced, and only then the store's own readers see it. That they are told
// no earlier is TestToldWhenSynced.
func syncedSoFar(s *Store) LSN {
	s.mu.Lock()
	defer s.mu.Unlock()
	lsn := s.synced.Load().lsn
	if b := s.pipe.inflight; b != nil {
		lsn = max(lsn, b.last.lsn)
	}
	return lsn
}

// A reader beside rows that move, files that end, are rewritten and removed sees whole
// transactions, in order, and never one that is not durable.
func TestReaderStress(t *testing.T) { overShards(t, readerStress) }

func readerStress(t *testing.T, shards int) {
	needsSessions(t)
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 8 << 10, CompactFloor: 32 << 10, Events: nothingFails(t)}
	s := openStore(t, o)
	const accounts, each = 20, 100
	wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 3))))
	wait(t, s, update(t, s, func(tx *Tx) error {
		for i := range int64(accounts) {
			if err := all(put("a", i, each), put("k", i, fmt.Sprint(i), each, "x"))(tx); err != nil {
				return err
			}
		}
		return nil
	}))
	ctx, stop := context.WithTimeout(t.Context(), *stressTime)
	defer stop()
	var group sync.WaitGroup
	var busy, opened atomic.Int64
	group.Go(func() {
		rng := rand.New(rand.NewPCG(*crashSeed, 1))
		balance := [accounts]int{}
		for n := 0; ctx.Err() == nil; n++ {
			from, to, some := int64(rng.IntN(accounts)), int64(rng.IntN(accounts)), rng.IntN(50)
			balance[from] -= some
			balance[to] += some
			filler := strings.Repeat("x", rng.IntN(200))
			lsn, err := tryUpdate(s, all(put("a", from, each+balance[from]), put("a", to, each+balance[to]),
				put("k", from, fmt.Sprint(from), each+balance[from], filler), put("k", to, fmt.Sprint(to), each+balance[to], filler)))
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.WaitDurable(context.Background(), lsn); err != nil {
				t.Error(err)
			}
			if n%300 == 299 {
				if err := s.GC(context.Background(), nil); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for w := range uint64(2) {
		group.Go(func() {
			o := o
			o.ReadOnly, o.Shards = true, 0
			rng := rand.New(rand.NewPCG(*crashSeed, 7+w))
			var held []*Snapshot
			for ctx.Err() == nil {
				r, err := Open(context.Background(), o)
				if errors.Is(err, catalog.ErrBusy) { // the turn at the catalog is nobody's by right
					busy.Add(1)
					continue
				}
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				opened.Add(1)
				last := LSN(0)
				for range rng.IntN(300) {
					if err := r.Refresh(context.Background()); errors.Is(err, catalog.ErrBusy) {
						busy.Add(1)
						continue
					} else if err != nil {
						t.Errorf("refresh: %v", err)
						break
					}
					snap := r.Durable()
					if snap.LSN() < last || snap.LSN() > syncedSoFar(s) {
						t.Errorf("commit %d behind %d, synced is %d", snap.LSN(), last, syncedSoFar(s))
					}
					last = snap.LSN()
					if rng.IntN(20) == 0 {
						held = append(held, snap)
					}
					for _, snap := range append(held[:len(held):len(held)], snap) {
						sumOfAccounts(t, snap, accounts*each)
					}
					if len(held) > 3 {
						held = nil
					}
				}
				held = nil
				if err := r.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		})
	}
	group.Wait()
	if opened.Load() == 0 {
		t.Error("no reader was opened")
	}
	t.Logf("%d readers, %d times busy; %d commits, %d rotations, %d compactions, %d files collected", opened.Load(), busy.Load(), s.Metrics().Commits, s.Metrics().Rotations, s.Metrics().Compactions, s.Metrics().CollectedFiles)
	if list, err := s.cat.Pins(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("pins %v, %v", list, err)
	}
}

// sumOfAccounts adds up the first column of both tables.
func sumOfAccounts(t testing.TB, s *Snapshot, want int64) {
	for column, name := range []string{"a", "k"} {
		sum := int64(0)
		err := s.Table(s.Schema().Lookup(name).Table.ID).each(func(_ int64, rec row.Record) {
			var d row.Decoder
			d.Reset(rec)
			sum += d.Column(column).Int()
		})
		if err != nil || sum != want {
			t.Errorf("commit %d: table %s adds up to %d, want %d, %v", s.LSN(), name, sum, want, err)
		}
	}
}

// A new state takes what the commits since the last one take, whatever the tables hold.
func TestReaderFollows(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), NoCompaction: true}
	s := openStore(t, o)
	wait(t, s, update(t, s, all(createKeys("k", 3), createTable("a"))))
	wait(t, s, update(t, s, func(tx *Tx) error {
		for i := range int64(2000) {
			if err := all(put("k", i, fmt.Sprint(i), i%7), put("a", i, i%9, "x"))(tx); err != nil {
				return err
			}
		}
		return nil
	}))
	r := openReading(t, o)
	sees(t, r, s.Durable().LSN())
	objects := r.reader.view.objects
	reads := objects.reads.Load()
	rng := rand.New(rand.NewPCG(*crashSeed, 3))
	for n := range 40 {
		// Rows go, come and change, several times between two looks.
		for range rng.IntN(4) + 1 {
			id := int64(rng.IntN(2100))
			k, _, err := s.Head().Table(s.Head().Schema().Lookup("k").Table.ID).Get(id)
			must(t, err)
			step := all(put("k", id, fmt.Sprint(id), n), put("a", id, n, "y"))
			if k != "" && rng.IntN(2) == 0 {
				step = all(remove("k", id), remove("a", id))
			}
			wait(t, s, update(t, s, step))
		}
		now := sees(t, r, s.Durable().LSN())
		if got, want := dump(now), dump(s.Durable()); got != want {
			t.Fatalf("commit %d:\n%s\nwant:\n%s", now.LSN(), got, want)
		}
		verifyRoot(t, (*root)(now))
		reads = objects.reads.Load()
		wait(t, s, update(t, s, put("k", 5, "5", -n)))
		sees(t, r, s.Durable().LSN())
		if n := objects.reads.Load() - reads; n > 2*(maxHops+1) {
			t.Errorf("%d records were read for a row that changed", n)
		}
	}
}

// Closing ends a reader wherever it is, and what is asked of it afterwards is told so.
func TestReaderIsClosed(t *testing.T) {
	needsSessions(t)
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true}
	s := filled(t, o)
	branch(t, s, "bp")
	ro := o
	ro.ReadOnly = true
	for range 10 {
		r, err := Open(t.Context(), ro)
		must(t, err)
		snap := r.Durable()
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				for {
					if err := r.Refresh(context.Background()); err != nil {
						if !errors.Is(err, ErrClosed) {
							t.Errorf("refresh: %v", err)
						}
						return
					}
				}
			})
		}
		group.Go(func() {
			if _, err := r.At(context.Background(), "bp"); err != nil && !errors.Is(err, ErrClosed) {
				t.Errorf("at: %v", err)
			}
		})
		churn(t, s, 1)
		must(t, r.Close())
		group.Wait()
		must(t, r.Close())
		if _, err := r.At(t.Context(), "bp"); !errors.Is(err, ErrClosed) {
			t.Errorf("at: %v", err)
		}
		if got := snap.Table(snap.Schema().Lookup("a").Table.ID).Len(); got != 20 {
			t.Errorf("%d rows of a state that was read before", got)
		}
		k := snap.Table(snap.Schema().Lookup("k").Table.ID)
		if err := k.each(func(int64, row.Record) {}); !errors.Is(err, ErrClosed) {
			t.Errorf("rows of files: %v", err)
		}
	}
	if list, err := s.cat.Pins(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("pins %+v, %v", list, err)
	}
}

// Who gives up waiting for a state takes nothing from those who come after him.
func TestReaderGivesUp(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), NoCompaction: true}
	s := filled(t, o)
	r := openReading(t, o)
	for n := range int64(5) {
		wait(t, s, update(t, s, put("a", n, "changed", n)))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.step(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		v := r.reader.view
		if got, want := dump(sees(t, r, s.Durable().LSN())), dump(s.Durable()); got != want || r.reader.view != v {
			t.Fatalf("%s\nwant\n%s", got, want)
		}
	}
}
