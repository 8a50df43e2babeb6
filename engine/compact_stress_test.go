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

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// Writers, readers of new and of old states, checkpoints, checks and compactions at
// once: every reader sees one state of all tables.
func TestCompactStress(t *testing.T) { overShards(t, compactStress) }

func compactStress(t *testing.T, shards int) {
	const writes = 300
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, GenerationSize: 8 << 10, Shards: shards, CompactFloor: 16 << 10, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 3), func(tx *Tx) error {
		def := testTable("v", 2)
		def.Durable = false
		return tx.Apply(CreateTable{Def: def})
	})))
	var group sync.WaitGroup
	var done atomic.Bool
	sound := func(snap *Snapshot) {
		for _, o := range snap.Schema().Objects() {
			err := snap.Table(o.Table.ID).verify(true, func(text string) { t.Errorf("commit %d: %s", snap.LSN(), text) }, func(err error) error { return err })
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Errorf("commit %d: %v", snap.LSN(), err)
			}
		}
		if a, k := count(snap, "a"), count(snap, "k"); a != k {
			t.Errorf("commit %d: %d rows beside %d", snap.LSN(), a, k)
		}
	}
	for w := range 2 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 7))
			for i := 0; i < writes || s.Metrics().Compactions < 3 && !t.Failed(); i++ {
				id := int64(rng.IntN(50))
				lsn, err := tryUpdate(s, all(put("a", id, id, strings.Repeat("a", rng.IntN(100))), put("k", id, id, fmt.Sprint(i), strings.Repeat("b", rng.IntN(100))), put("v", id, id, "v")))
				if err != nil {
					t.Error(err)
					return
				}
				if i%3 == 0 {
					if err := s.WaitDurable(context.Background(), lsn); err != nil {
						t.Error(err)
					}
				}
			}
			done.Store(true)
		})
	}
	group.Go(func() {
		for old := s.Durable(); !done.Load(); {
			sound(s.Durable())
			sound(s.Head())
			sound(old)
			if rand.IntN(4) == 0 {
				old = s.Durable()
			}
		}
	})
	group.Go(func() {
		for n := 0; !done.Load(); n++ {
			var err error
			if n%3 == 0 {
				err = s.Checkpoint(context.Background(), nil)
			} else {
				err = s.Compact(context.Background(), nil)
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	group.Go(func() {
		for n := 0; n < 3 && !done.Load(); n++ { // each holds seals up, and so compactions
			if err := s.Check(context.Background(), func(f Finding) { t.Errorf("check: %v", f) }, nil); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	wait(t, s, s.Head().LSN())
	sound(s.Durable())
	if s.Metrics().Compactions == 0 {
		t.Error("no compaction")
	}
	logUseIsExact(t, s)
	t.Logf("%d compactions, longest pause %v", s.Metrics().Compactions, s.Metrics().CompactPause)
}

// logUseIsExact counts the row records of all files, and what the rows would take.
func logUseIsExact(t testing.TB, s *Store) {
	t.Helper()
	s.compactor.turn <- struct{}{}
	defer func() { <-s.compactor.turn }()
	var used, live int64
	s.mu.Lock()
	files := generationsOf(s.base)
	for _, g := range s.gens {
		if !g.gone {
			files = append(files, g)
		}
	}
	s.mu.Unlock()
	for _, g := range files {
		scanned, whole := scanSizes(t, s, g)
		for range 10 { // what is sealed meanwhile is cut to its length
			if whole {
				break
			}
			t.Logf("%s is read again", g.path)
			scanned, whole = scanSizes(t, s, g)
		}
		if !whole {
			t.Fatalf("%s cannot be read to its end", g.path)
		}
		used += scanned.addTo(map[TableID]int64{})
	}
	head := s.head.Load()
	for _, table := range head.tables {
		if table.def.Durable {
			must(t, table.each(func(rowid int64, rec row.Record) { live += liveSize(table.def, rowid, rec) }))
		}
	}
	if use := s.LogUse(); use.Used != used || use.Live != live {
		t.Errorf("%+v, the files have %d bytes of records and the rows take %d", use, used, live)
	}
}

// scanSizes adds up the row frames of a file, and reports whether it was read to its
// end.
func scanSizes(t testing.TB, s *Store, g *generation) (sizes tableBytes, whole bool) {
	t.Helper()
	f, err := s.fs.OpenRead(g.path)
	must(t, err)
	defer func() { must(t, f.Close()) }()
	size, err := f.Size()
	must(t, err)
	h, start, err := wal.ReadHeader(f, size)
	must(t, err)
	sc := wal.NewScanner(f, start, size, h.Salt)
	for fr, ok := sc.Next(); ok; fr, ok = sc.Next() {
		sizes.frame(fr.Kind, []byte(fr.Payload), fr.End()-fr.Offset)
	}
	return sizes, sc.Stop().Clean()
}

// The log's use is exact behind every transaction of random programs, and after
// every open and compaction.
func TestLogUse(t *testing.T) { overShards(t, logUse) }

func logUse(t *testing.T, shards int) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, Shards: shards, Create: true}
	s, err := Open(t.Context(), o)
	must(t, err)
	rng := rand.New(rand.NewPCG(*crashSeed, 11))
	g := newGenerator(rng)
	for n := range 120 {
		lsn, err := tryUpdate(s, g.transaction)
		must(t, err)
		if n%4 == 0 {
			wait(t, s, lsn)
			logUseIsExact(t, s)
		}
		if n%30 == 20 {
			must(t, s.Compact(t.Context(), nil))
			logUseIsExact(t, s)
		}
		if n%30 == 25 {
			must(t, s.Close())
			s, err = Open(t.Context(), o)
			must(t, err)
			logUseIsExact(t, s)
		}
	}
	t.Log(counts(g.count))
	must(t, s.Close())
}
