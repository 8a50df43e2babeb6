package engine

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// step is transaction k of a scripted program. Variants of one step have
// records of the same sizes and other contents, so that a retry after a crash
// puts frames exactly where the lost ones were.
func step(k int, variant string) func(tx *Tx) error {
	name := fmt.Sprintf("t%d", k/8)
	if k%8 == 0 {
		return createTable(name)
	}
	id := int64(k % 4)
	switch k % 8 {
	case 3:
		return put(name, id, id, strings.Repeat(variant, 3000)) // several sectors
	case 5:
		return all(put(name, 10, 10, variant+"ten"), put(name, 11, 11, variant+"eleven"), remove(name, 3))
	case 7:
		return all(put(name, 20, 20, strings.Repeat(variant, 9000)), put(name, 21, 21, variant)) // several pages
	}
	return put(name, id, id, fmt.Sprintf("%s%d", variant, k))
}

// script runs steps of a variant one after another, each acknowledged before
// the next, except that groups of held steps share one sync.
func (r *crashRun) script(t testing.TB, s *Store, from, to int, variant string, held func(k int) bool) {
	t.Helper()
	for k := from; k < to; k++ {
		if held == nil || !held(k) {
			r.wait(t, s, r.commit(t, s, step(k, variant)))
			continue
		}
		r.hold()
		var lsn LSN
		for ; k < to && held(k); k++ {
			lsn = r.commit(t, s, step(k, variant))
		}
		k--
		r.release()
		r.wait(t, s, lsn)
	}
}

func TestCrashAtEveryOperation(t *testing.T) { overShards(t, crashAtEveryOperation) }

func crashAtEveryOperation(t *testing.T, shards int) {
	for _, c := range []struct {
		name       string
		generation int64
		steps      int
		held       func(k int) bool
		normal     int
	}{
		{"one by one", 0, 12, nil, 36},
		{"gathered", 0, 20, func(k int) bool { return k%8 != 0 }, 36},
		{"rotating", 1 << 10, 20, nil, 90},
		{"rotating gathered", 4 << 10, 20, func(k int) bool { return k%8 > 1 }, 72},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newCrashRun(t, vfs.NewMem(), c.generation, shards)
			s := r.open(t)
			r.script(t, s, 0, c.steps/2, "a", c.held)
			must(t, s.Close())
			s = r.open(t)
			r.script(t, s, c.steps/2, c.steps, "b", c.held)
			must(t, s.Close())
			if shards > 1 && r.wide == 0 {
				t.Error("no transaction is in several shards")
			}
			n := r.images(t, 0, sharded(c.normal, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 24}, nil)
			t.Logf("%v, %d transactions in several shards", n, r.wide)
		})
	}
}

// TestTwoCrashes crashes a second time behind a retry of equal size: nothing
// of what the first crash left behind the cut may come back.
func TestTwoCrashes(t *testing.T) { overShards(t, twoCrashes) }

func twoCrashes(t *testing.T, shards int) {
	for _, c := range []struct {
		name       string
		generation int64
		held       func(k int) bool
		normal     int
	}{
		{"one by one", 0, nil, 100},
		{"gathered", 0, func(k int) bool { return k > 0 }, 160},
		{"rotating gathered", 1 << 10, func(k int) bool { return k > 0 }, 600},
	} {
		t.Run(c.name, func(t *testing.T) {
			first := newCrashRun(t, vfs.NewMem(), c.generation, shards)
			s := first.open(t)
			first.script(t, s, 0, 5, "a", c.held)
			must(t, s.Close())
			var second crashStats
			n := first.images(t, 0, thinned(c.normal), vfs.CrashOptions{Seed: *crashSeed}, func(t *testing.T, at string, img *vfs.Mem, cat string, lsn LSN) {
				r := first.again(t, img, cat, lsn)
				defer os.RemoveAll(r.cats.dir)
				s := r.open(t)
				r.script(t, s, int(lsn), int(lsn)+3, "b", func(k int) bool { return k > 0 })
				must(t, s.Close())
				second.add(r.images(t, 0, sharded(4, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 4}, nil))
				if t.Failed() {
					t.Logf("first crash: %s", at)
				}
			})
			t.Logf("first crash: %v; second: %v", n, second)
		})
	}
}

// TestBatchOverTwoFiles: commits before and behind a rotation that share a
// round of syncing are all durable when the last one is acknowledged.
func TestBatchOverTwoFiles(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 1<<10, 1)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	r.wait(t, s, r.commit(t, s, put("t", 1, 1, strings.Repeat("x", 500)))) // more than half: the next file is made
	quiet(t, s)
	// The syncer is kept busy behind the sync of a commit, and two more gather.
	r.holdKinds(vfs.OpLockWrite)
	r.commit(t, s, put("t", 4, 4, "w"))
	r.waitHeld(t)
	r.commit(t, s, put("t", 2, 2, strings.Repeat("y", 800)))
	last := r.commit(t, s, put("t", 3, 3, "z"))
	if len(s.GenerationInfos()) != 2 || s.GenerationInfos()[1].FirstLSN != last {
		t.Fatalf("%+v", s.GenerationInfos())
	}
	first := r.mem.Ops()
	s.sealing.RLock() // sealing the first file would sync it, too
	r.release()
	r.wait(t, s, last)
	n := r.images(t, first, 1, vfs.CrashOptions{Seed: *crashSeed}, nil)
	s.sealing.RUnlock()
	must(t, s.Close())
	t.Logf("%v", n)
}

// TestStaleFrames leaves an intact row without its commit behind the cut, and
// then puts the frame of another row exactly there, which the second crash
// loses while its commit survives. The stale row must not stand in for it.
func TestStaleFrames(t *testing.T) {
	const block = 512
	r := newCrashRun(t, vfs.NewMem(), 0, 1)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	def := s.Head().Schema().Lookup("t").Table
	frame := func(text int) int64 {
		b := wal.NewBuilder(wal.Salt{}, 0, nil)
		must(t, b.Put(uint64(def.ID), def.Version, 9, testRecord(9, strings.Repeat("x", text))))
		return b.Offset()
	}
	sized := func(size int64) string {
		for n := range 4 * block {
			if frame(n) == size {
				return strings.Repeat("x", n)
			}
		}
		t.Fatalf("no row of %d bytes", size)
		return ""
	}
	tail := s.shards[0].gen.tail
	r.wait(t, s, r.commit(t, s, put("t", 1, 9, "filler")))
	commit := s.shards[0].gen.tail - tail - frame(len("filler"))

	// [row of a bytes][row of a block, at a multiple of it] and a commit that
	// the crash takes.
	tail = s.shards[0].gen.tail
	a := (tail+2*block)/block*block - tail + block
	r.hold()
	r.commit(t, s, all(put("t", 2, 9, sized(a)), put("t", 3, 9, sized(block))))
	var img *vfs.Mem
	for name, m := range r.mem.CrashImages(r.mem.Ops(), vfs.CrashOptions{Boundaries: r.boundaries}) {
		if strings.HasSuffix(name, fmt.Sprintf(" at %d", tail+a+block)) {
			img = m
		}
	}
	if img == nil {
		t.Fatal("no image without the commit")
	}
	next := r.again(t, img, r.cats.at(r.mem.Ops()), 2)
	defer os.RemoveAll(next.cats.dir)
	r.release()
	must(t, s.Close())

	// A transaction that ends where the second row of the lost one begins, and
	// one whose row takes its place.
	s = next.open(t)
	next.wait(t, s, next.commit(t, s, put("t", 2, 9, sized(a-commit))))
	if at := s.shards[0].gen.tail; at != tail+a {
		t.Fatalf("the log ends at %d, the stale row is at %d", at, tail+a)
	}
	next.hold()
	next.commit(t, s, put("t", 4, 9, strings.Replace(sized(block), "x", "y", 1)))
	first := next.mem.Ops()
	next.release()
	must(t, s.Close())
	n := next.images(t, first, 1, vfs.CrashOptions{Seed: *crashSeed, Block: block}, nil)
	t.Logf("%v", n)
}
