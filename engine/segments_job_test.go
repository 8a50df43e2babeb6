package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A compaction leaves segments for all that it wrote, of every index of every durable
// table, and then nothing of the log stays that it replaced. The rows are what they were,
// before and behind a reopen.
func TestCompactionIndexes(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		m := vfs.NewMem()
		o := Options{Dir: t.TempDir(), FS: m, Shards: shards, GenerationSize: 4 << 10, Create: true, NoCompaction: true, Events: nothingFails(t)}
		s := openStore(t, o)
		wait(t, s, update(t, s, all(createKeys("k", 2), createTable("a"), manyRows("k", 100, "k"), manyRows("a", 60, "a"))))
		must(t, s.Compact(t.Context(), nil))
		for _, name := range []string{"k", "k_c0", "k_c1", "a", "a_c1"} {
			if list := segmentsOf(t, s, name); len(list) != 1 || list[0].Entries != map[byte]int64{'k': 100, 'a': 60}[name[0]] {
				t.Errorf("%s: %+v", name, list)
			}
		}
		caughtUp(t, s)
		checkStore(t, s)
		first := s.Metrics()
		if first.SegmentsWritten != 5 || first.SegmentBytes == 0 || first.Retired == 0 {
			t.Errorf("%+v", first)
		}
		for i := range int64(6) {
			wait(t, s, update(t, s, all(put("k", i, i, "changed"), remove("a", i), put("a", 100+i, i, strings.Repeat("n", 50)))))
			must(t, s.Compact(t.Context(), nil))
			caughtUp(t, s)
		}
		checkStore(t, s)
		for _, name := range []string{"k", "k_c0", "k_c1", "a", "a_c1"} {
			if list := segmentsOf(t, s, name); len(list) > maxSegments {
				t.Errorf("%s has %d segments", name, len(list))
			}
		}
		if now := s.Metrics(); now.SegmentsMerged == 0 || now.Retired < 7 {
			t.Errorf("%+v", now)
		}
		state := dump(s.Durable())
		eventually(t, "replaced files to go", func() bool {
			st := stateOf(t, s)
			return len(objectsOnDisk(t, m)) == len(st.Base)+len(st.IndexState.Segments)+len(st.Generations)-collectedOf(&st)
		})
		must(t, s.Close())
		again, err := Open(t.Context(), o)
		must(t, err)
		if got := dump(again.Durable()); got != state {
			t.Errorf("reopened:\n%s\nwant:\n%s", got, state)
		}
		caughtUp(t, again)
		must(t, again.Close())
	})
}

// An index that is made behind a compaction has nothing until a job writes it; one that is
// dropped leaves with the next job. What a job may be asked for.
func TestIndexJob(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	volatile := func(tx *Tx) error {
		def := testTable("v", 2)
		def.Durable = false
		def.Indexes = []*IndexDef{testIndex("v_c0", false, 0)}
		return tx.Apply(CreateTable{Def: def})
	}
	wait(t, s, update(t, s, all(createKeys("k", 2), createTable("a"), manyRows("k", 50, "k"), manyRows("a", 50, "a"))))
	wait(t, s, update(t, s, volatile))
	must(t, s.Compact(t.Context(), nil))
	wait(t, s, update(t, s, all(createIndex("k", "later", 1, 0), createIndex("a", "also", 0))))
	if n := len(segmentsOf(t, s, "later")); n != 0 {
		t.Errorf("%d segments of an index that was just made", n)
	}
	must(t, indexJob(s, "later"))
	if list := segmentsOf(t, s, "later"); len(list) != 1 || list[0].Entries != 50 {
		t.Errorf("later: %+v", list)
	}
	if n := len(segmentsOf(t, s, "also")); n != 0 {
		t.Errorf("%d segments of an index that was not asked for", n)
	}
	before := stateOf(t, s)
	must(t, indexJob(s, "K"))
	if after := stateOf(t, s); after.Timeline.RepresentationID != before.Timeline.RepresentationID {
		t.Error("a job with nothing to do publishes")
	}
	must(t, indexJob(s, "a"))
	if list := segmentsOf(t, s, "also"); len(list) != 1 {
		t.Errorf("also: %+v", list)
	}
	caughtUp(t, s)
	wait(t, s, update(t, s, dropIndex("later")))
	id := segmentID(before, "later")
	must(t, indexJob(s, ""))
	for _, g := range stateOf(t, s).IndexState.Segments {
		if g.IndexID == id {
			t.Error("a dropped index has segments")
		}
	}
	checkStore(t, s)
	for target, want := range map[string]string{"nobody": "no table or index", "v": "not durable", "v_c0": "not durable"} {
		if err := indexJob(s, target); !errors.Is(err, ErrJob) || !strings.Contains(err.Error(), want) {
			t.Errorf("a job for %s: %v", target, err)
		}
	}
}

func segmentID(st catalog.State, _ string) int64 {
	last := int64(0)
	for _, g := range st.IndexState.Segments {
		last = max(last, g.IndexID)
	}
	return last
}

// Spilled runs give the same segments as memory that is enough.
func TestIndexSpills(t *testing.T) {
	defer func(n int) { runBytes = n }(runBytes)
	for _, n := range []int{64 << 20, 1, 300, 5000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			runBytes = n
			m := vfs.NewMem()
			s := openStore(t, Options{FS: m, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
			wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 80, "k"))))
			must(t, s.Compact(t.Context(), nil))
			caughtUp(t, s)
			for _, name := range []string{"k", "k_c0", "k_c1"} {
				if list := segmentsOf(t, s, name); len(list) != 1 || list[0].Entries != 80 {
					t.Errorf("%s: %+v", name, list)
				}
			}
			checkStore(t, s)
			eventually(t, "runs to go", func() bool {
				st := stateOf(t, s)
				return len(objectsOnDisk(t, m)) == len(st.Base)+len(st.IndexState.Segments)+len(st.Generations)-collectedOf(&st)
			})
		})
	}
}

// A table without a row, one whose rows are all gone, one that is not durable and a branch
// point keep no generation: each of their indexes has something that it can span, or takes
// no part.
func TestEmptyTablesRetire(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		s := openStore(t, Options{FS: vfs.NewMem(), Shards: shards, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
		wait(t, s, update(t, s, all(createKeys("empty", 2), createTable("emptied"), createTable("a"), func(tx *Tx) error {
			def := testTable("v", 2)
			def.Durable = false
			def.Indexes = []*IndexDef{testIndex("v_c0", false, 0)}
			return tx.Apply(CreateTable{Def: def})
		})))
		for i := range int64(20) {
			wait(t, s, update(t, s, all(put("emptied", i, i, "e"), put("a", i, i, strings.Repeat("a", 50)), put("v", i, i, "v"))))
		}
		_, err := s.CreateBranchPoint(t.Context(), "then")
		must(t, err)
		must(t, s.Compact(t.Context(), nil))
		caughtUp(t, s)
		for i := range int64(20) {
			wait(t, s, update(t, s, all(remove("emptied", i), put("v", i, i, "v again"))))
		}
		must(t, s.Compact(t.Context(), nil))
		caughtUp(t, s)
		for i := range int64(20) {
			wait(t, s, update(t, s, put("v", 100+i, i, "volatile only")))
		}
		wait(t, s, update(t, s, put("a", 3, 3, "a row")))
		must(t, s.Compact(t.Context(), nil))
		caughtUp(t, s)
		checkStore(t, s)
		restoreTo(t, s, "then")
		wait(t, s, update(t, s, put("a", 4, 4, "another")))
		must(t, s.Compact(t.Context(), nil))
		caughtUp(t, s)
		checkStore(t, s)
	})
}

// uncovered is a store whose base has fragments that some indexes lack.
func uncovered(t testing.TB, s *Store) {
	wait(t, s, update(t, s, all(createKeys("k", 2), createTable("a"), manyRows("k", 60, "k"), manyRows("a", 40, "a"))))
	must(t, s.Compact(t.Context(), nil))
	wait(t, s, update(t, s, all(createIndex("k", "k_later", 1, 0), createIndex("a", "a_later", 1))))
	must(t, s.Checkpoint(t.Context(), nil))
	quiet(t, s)
}

// Whatever fails in an index job, the state is what it was, nothing is poisoned, and the
// next job makes up for it and leaves no file.
func TestIndexFaults(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 4<<10, 1)
	r.o.NoCompaction = true
	s := r.open(t)
	uncovered(t, s)
	must(t, s.Close())
	cat := r.cats.at(r.mem.Ops())
	for _, rule := range []vfs.Rule{{}, {After: true}, {Err: syscall.ENOSPC}, {Short: 5}} {
		failures, done := 0, 0
		for n := 1; ; n++ {
			m := cloneMem(t, r.mem)
			f := vfs.NewFault(m)
			o, _, clean := place(t, r.o, cat)
			o.FS = f
			s, err := Open(t.Context(), o)
			must(t, err)
			before := dump(s.Durable())
			rule.Kinds, rule.N = vfs.MutatingOps, n
			f.Fail(rule)
			err = indexJob(s, "")
			hit := f.Injected() > 0
			f.Clear()
			if err != nil {
				failures++
				if !hit || s.Poisoned() != nil || errors.Is(err, ErrFull) != (rule.Err == syscall.ENOSPC) {
					t.Errorf("operation %d: %v, poisoned %v", n, err, s.Poisoned())
				}
			}
			if got := dump(s.Durable()); got != before {
				t.Errorf("operation %d: after %v:\n%s\nwant:\n%s", n, err, got, before)
			}
			checkStore(t, s)
			must(t, s.Close())
			s, err = Open(t.Context(), o)
			must(t, err)
			must(t, indexJob(s, ""))
			caughtUp(t, s)
			checkStore(t, s)
			must(t, s.Close())
			st, files := catalogState(t, o), len(objectsOnDisk(t, m))
			if want := len(st.Base) + len(st.IndexState.Segments) + len(st.Generations) - collectedOf(&st); files != want {
				t.Errorf("operation %d: %d files are left, %d are named", n, files, want)
			}
			clean()
			if t.Failed() {
				return
			}
			if !hit {
				done = n - 1
				break
			}
		}
		if failures == 0 {
			t.Error("no job failed")
		}
		t.Logf("%d operations, %d jobs failed", done, failures)
	}
}

// catalogState reads the state of a store that is closed.
func catalogState(t testing.TB, o Options) catalog.State {
	t.Helper()
	s, err := Open(t.Context(), o)
	must(t, err)
	st := stateOf(t, s)
	must(t, s.Close())
	return st
}

// A crash at any operation of an index job leaves the state as it was.
func TestIndexCrash(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		r := newCrashRun(t, vfs.NewMem(), 4<<10, shards)
		r.o.NoCompaction = true
		s := r.open(t)
		r.wait(t, s, r.commit(t, s, all(createKeys("k", 2), manyRows("k", 40, "k"))))
		must(t, s.Compact(t.Context(), nil))
		r.wait(t, s, r.commit(t, s, createIndex("k", "later", 1)))
		r.wait(t, s, r.commit(t, s, put("k", 3, 77, "changed")))
		first := r.mem.Ops()
		must(t, indexJob(s, ""))
		must(t, s.Compact(t.Context(), nil))
		r.wait(t, s, r.commit(t, s, put("k", 9, 99, "last")))
		must(t, s.Close())
		n := r.images(t, first, sharded(12, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 12}, nil)
		t.Logf("%v", n)
	})
}

// Whatever goes wrong with a file that an index job writes, it is quarantined while the
// job runs, nothing of the head is different, and the next job writes others.
func TestQuarantineOfSegments(t *testing.T) {
	for _, x := range []struct {
		name string
		rule vfs.Rule
		full bool
	}{
		{"create", vfs.Rule{Kinds: vfs.OpCreate, N: 1}, false},
		{"directory sync of the entry", vfs.Rule{Kinds: vfs.OpSyncDir, N: 1}, false},
		{"write", vfs.Rule{Kinds: vfs.OpWrite, N: 1}, false},
		{"short write", vfs.Rule{Kinds: vfs.OpWrite, N: 1, Short: 7}, false},
		{"no space", vfs.Rule{Kinds: vfs.OpWrite, N: 1, Err: syscall.ENOSPC}, true},
		{"file sync", vfs.Rule{Kinds: vfs.OpSync, N: 1}, false},
		{"file sync of a later file", vfs.Rule{Kinds: vfs.OpSync, N: 2}, false},
		{"directory sync", vfs.Rule{Kinds: vfs.OpSyncDir, N: 5}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := vfs.NewFault(vfs.NewMem())
			var mu sync.Mutex
			var set []string
			s := openStore(t, Options{FS: f, Shards: 1, GenerationSize: 4 << 10, NoCompaction: true, Events: func(e Event) {
				nothingFails(t)(e)
				if e.Kind == EventQuarantined {
					mu.Lock()
					set = append(set, e.File)
					mu.Unlock()
				}
			}})
			uncovered(t, s)
			before := stateOf(t, s)
			f.Fail(x.rule)
			err := indexJob(s, "")
			if n := f.Injected(); n != 1 {
				t.Fatalf("%d faults", n)
			}
			f.Clear()
			if err == nil || s.Poisoned() != nil || errors.Is(err, ErrFull) != x.full {
				t.Fatalf("job: %v, poisoned %v", err, s.Poisoned())
			}
			mu.Lock()
			if len(set) != 1 || !strings.HasSuffix(set[0], ".index") {
				t.Errorf("in quarantine: %v", set)
			}
			mu.Unlock()
			if after := stateOf(t, s); after.Timeline.RepresentationID != before.Timeline.RepresentationID {
				t.Error("it has another head")
			}
			must(t, indexJob(s, ""))
			caughtUp(t, s)
			for _, g := range stateOf(t, s).IndexState.Segments {
				if slices.Contains(set, g.Path) {
					t.Errorf("%s is in the head", g.Path)
				}
			}
		})
	}
}

// A segment that is damaged or missing makes no row wrong and keeps no store from being
// opened. A check names it, and the next job writes it anew.
func TestDamagedSegments(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 4<<10, 1)
	r.o.NoCompaction = true
	s := r.open(t)
	wait(t, s, update(t, s, all(createKeys("k", 2), createTable("a"), manyRows("k", 60, "k"), manyRows("a", 40, "a"))))
	must(t, s.Compact(t.Context(), nil))
	wait(t, s, update(t, s, put("k", 1, 1, "changed")))
	state := dump(s.Durable())
	segments := stateOf(t, s).IndexState.Segments
	must(t, s.Close())
	cat := r.cats.at(r.mem.Ops())
	damages := map[string]func(t *testing.T, m *vfs.Mem, g *catalog.Segment){
		"missing": func(t *testing.T, m *vfs.Mem, g *catalog.Segment) { must(t, m.Remove(g.Path)) },
		"short":   func(t *testing.T, m *vfs.Mem, g *catalog.Segment) { resize(t, m, g.Path, g.Extent-1) },
		"empty":   func(t *testing.T, m *vfs.Mem, g *catalog.Segment) { resize(t, m, g.Path, 0) },
		"first":   func(t *testing.T, m *vfs.Mem, g *catalog.Segment) { flipAt(t, m, g.Path, 0) },
		"middle":  func(t *testing.T, m *vfs.Mem, g *catalog.Segment) { flipAt(t, m, g.Path, g.Extent/2) },
		"last":    func(t *testing.T, m *vfs.Mem, g *catalog.Segment) { flipAt(t, m, g.Path, g.Extent-1) },
	}
	for what, damage := range damages {
		for i := range segments {
			t.Run(fmt.Sprintf("%s %d", what, i), func(t *testing.T) {
				g := &segments[i]
				img := cloneMem(t, r.mem)
				o, _, clean := place(t, r.o, cat)
				defer clean()
				o.FS = img
				damage(t, img, g)
				s, err := Open(t.Context(), o)
				must(t, err)
				if got := dump(s.Durable()); got != state {
					t.Errorf("%s\nwant:\n%s", got, state)
				}
				named := false
				must(t, s.Check(t.Context(), func(f Finding) { named = named || f.File == g.Path }, nil))
				if !named {
					t.Errorf("a check does not name %s", g.Path)
				}
				must(t, indexJob(s, ""))
				for _, now := range stateOf(t, s).IndexState.Segments {
					if now.ObjectID == g.ObjectID {
						t.Errorf("%s is still in the head", g.Path)
					}
				}
				caughtUp(t, s)
				checkStore(t, s)
				must(t, s.Close())
			})
		}
	}
}

func resize(t *testing.T, m *vfs.Mem, file string, size int64) {
	t.Helper()
	f, err := m.Open(file)
	must(t, err)
	must(t, f.Truncate(size))
	must(t, f.Close())
}

// Indexes are published of the base that was read, or not at all; an index that is gone by
// then is not published.
func TestIndexOfAnotherBase(t *testing.T) {
	s := indexed(t, 40)
	w := planOf(t, s)
	must(t, w.run(nil))
	wait(t, s, update(t, s, dropIndex("k_c1")))
	must(t, s.publishIndexes(t.Context(), w))
	for name, want := range map[string]int{"k": 1, "k_c0": 1, "k_c1": 0} {
		if n := len(segmentsOf(t, s, name)); n != want {
			t.Errorf("%d segments of %s", n, name)
		}
	}
	if n := len(stateOf(t, s).IndexState.Segments); n != 2 {
		t.Errorf("%d segments", n)
	}
	w = planOf(t, s)
	must(t, w.run(nil))
	wait(t, s, update(t, s, put("k", 1, 1, "changed")))
	must(t, s.Compact(t.Context(), nil))
	if err := s.publishIndexes(t.Context(), w); !errors.Is(err, errBaseChanged) {
		t.Errorf("of the base before: %v", err)
	}
	s.compactor.unindexed = false
	must(t, indexJob(s, ""))
	caughtUp(t, s)
}

// What an earlier process left undone is made up for at open.
func TestIndexAtOpen(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, Create: true, NoCompaction: true, Events: nothingFails(t)}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 40, "k"))))
	s.compactor.unindexed = true
	must(t, s.Compact(t.Context(), nil))
	if n := len(stateOf(t, s).IndexState.Segments); n != 0 {
		t.Errorf("%d segments", n)
	}
	must(t, s.Close())
	o.NoCompaction = false
	s, err = Open(t.Context(), o)
	must(t, err)
	eventually(t, "the indexes to be written", func() bool { return len(stateOf(t, s).IndexState.Segments) == 3 })
	eventually(t, "the generations to be retired", func() bool { return len(stateOf(t, s).Retained) == 0 })
	caughtUp(t, s)
	checkStore(t, s)
	must(t, s.Close())
}

// An index step that the end of a context ended is made up for, and what it wrote goes.
func TestIndexStepThatWasEnded(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	s := openStore(t, Options{FS: f, Shards: 1, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 40, "k"))))
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate && strings.HasSuffix(op.Name, ".index") {
			if n++; n == 2 {
				cancel()
			}
		}
		return nil
	})
	must(t, s.Compact(ctx, nil))
	if ctx.Err() == nil {
		t.Error("no segment was written")
	}
	eventually(t, "the indexes to be written", func() bool { return len(stateOf(t, s).IndexState.Segments) == 3 })
	eventually(t, "the generations to be retired", func() bool { return len(stateOf(t, s).Retained) == 0 })
	caughtUp(t, s)
	eventually(t, "files to go", func() bool {
		st := stateOf(t, s)
		return len(objectsOnDisk(t, m)) == len(st.Base)+len(st.IndexState.Segments)+len(st.Generations)-collectedOf(&st)
	})
}

// What an index step wrote in vain goes when its compaction has ended, although nothing
// else is waited for by then.
func TestIndexStepLeavesNothing(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	s := openStore(t, Options{FS: f, Shards: 1, GenerationSize: 4 << 10, NoCompaction: true})
	wait(t, s, update(t, s, all(createTable("a"), manyRows("a", 40, "a"))))
	s.compactor.unindexed = true
	must(t, s.Compact(t.Context(), nil))
	indexes := func() (n int) {
		for _, p := range objectsOnDisk(t, m) {
			if strings.HasSuffix(p, ".index") {
				n++
			}
		}
		return n
	}
	job, err := s.cat.StartJob(t.Context(), JobCompact, "")
	must(t, err)
	f.Fail(vfs.Rule{Kinds: vfs.OpCreate, Match: func(op vfs.Op) bool { return strings.HasSuffix(op.Name, ".index") }, N: 2})
	s.compactor.turn <- struct{}{}
	if err := s.indexBase(t.Context(), job.ID, nil, false, nil, nil); err == nil || indexes() == 0 {
		t.Errorf("%v, %d segments", err, indexes())
	}
	<-s.compactor.turn
	must(t, s.cat.EndJob(t.Context(), job.ID, 0, 0, nil))
	s.compacted(nil)
	eventually(t, "segments to go", func() bool { return indexes() == 0 })
}

// Generations that rows were read from when the indexes were written are retired by the
// next open.
func TestRetiredAtOpen(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: 1, GenerationSize: 4 << 10, Create: true, NoCompaction: true, Events: nothingFails(t)}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 40, "k"))))
	s.compactor.unindexed = true
	must(t, s.Compact(t.Context(), nil))
	s.compactor.turn <- struct{}{}
	s.mu.Lock()
	for i := range s.replaced {
		s.replaced[i].lease = noLease
	}
	s.mu.Unlock()
	job, err := s.cat.StartJob(t.Context(), JobIndex, "")
	must(t, err)
	must(t, s.indexBase(t.Context(), job.ID, nil, false, nil, nil))
	must(t, s.cat.EndJob(t.Context(), job.ID, 0, 0, nil))
	<-s.compactor.turn
	if st := stateOf(t, s); len(st.Retained) == 0 || len(st.IndexState.Segments) != 3 {
		t.Errorf("%+v", st)
	}
	must(t, s.Close())
	o.NoCompaction = false
	s, err = Open(t.Context(), o)
	must(t, err)
	eventually(t, "generations to be retired", func() bool { return len(stateOf(t, s).Retained) == 0 })
	checkStore(t, s)
	must(t, s.Close())
}
