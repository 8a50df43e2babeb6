package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// idleRun is a run of main and its fork dev, of which main was compacted. dev is open
// and holds what is returned.
func idleRun(t *testing.T, shards int) (r *crashRun, s, dev *Store, want string) {
	t.Helper()
	r = newCrashRun(t, vfs.NewMem(), 2<<10, shards)
	s = r.open(t)
	compactScript(s, func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }, func() {})
	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	o := r.o
	dev = openTimeline(t, s, "dev", o)
	must(t, s.Compact(t.Context(), nil))
	quiet(t, s)
	quiet(t, dev)
	return r, s, dev, contentOf(t, dev.Durable())
}

// A crash at any operation, and behind any commit of the catalog, of a compaction that
// adopts another timeline's base leaves both timelines as they were, and the next
// compaction shares the base or has done so.
func TestSharedBaseCrash(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		r, s, dev, want := idleRun(t, shards)
		first, copies := r.mem.Ops(), len(r.cats.list)
		must(t, dev.Compact(t.Context(), nil))
		if dev.Metrics().CompactionsShared != 1 {
			t.Error("the base was not shared")
		}
		must(t, dev.Close())
		must(t, s.Close())
		before, after := 0, 0
		both := func(t *testing.T, at string, img *vfs.Mem, cat string, _ LSN) {
			o, _, clean := place(t, r.o, cat)
			defer clean()
			o.FS = img
			s, err := Open(context.Background(), o)
			must(t, err)
			line := openTimeline(t, s, "dev", o)
			if got := contentOf(t, line.Durable()); got != want {
				t.Errorf("%s: the fork holds\n%s\nwant\n%s", at, got, want)
			}
			must(t, line.Compact(t.Context(), nil))
			switch m := line.Metrics(); {
			case m.Compactions == 0:
				after++
			case m.CompactionsShared == 1:
				before++
			default:
				t.Errorf("%s: the fork wrote a base", at)
			}
			wait(t, line, update(t, line, put("a", 90, 90, "goes on")))
			checkStore(t, line)
			checkStore(t, s)
			must(t, line.Close())
			must(t, s.Close())
		}
		n := r.images(t, first, sharded(2, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 4}, both)
		for _, c := range r.cats.list[copies-1:] {
			at := "behind " + c.file
			both(t, at, r.mem.At(c.op), c.file, 0)
			r.crashed = c.op
			r.one(t, at, r.mem.At(c.op), c.file, r.acked(c.op))
			if t.Failed() {
				return
			}
		}
		t.Logf("%d operations, %d images, %d different ones opened, %d commits of the catalog; %d before and %d after the adoption",
			n.ops, n.images, n.opened, len(r.cats.list)-copies, before, after)
		if before == 0 || after == 0 {
			t.Error("no crash before, or none after the adoption")
		}
	})
}

// Whatever fails while a base is adopted, reads included, both timelines hold what they
// did and go on, and the next compaction leaves nothing behind.
func TestSharedBaseFaults(t *testing.T) {
	r, s, dev, want := idleRun(t, 1)
	must(t, dev.Close())
	must(t, s.Close())
	cat := r.cats.at(r.mem.Ops())
	const reads = vfs.OpOpenRead | vfs.OpRead | vfs.OpSize | vfs.OpMap | vfs.OpMapRead | vfs.OpClose
	for _, x := range []struct {
		what  string
		kinds vfs.Kind // none: commits of the catalog
		after bool
	}{{"a read", reads, false}, {"a change", vfs.MutatingOps, false}, {"a commit", 0, false}, {"a commit, done", 0, true}} {
		t.Run(x.what, func(t *testing.T) {
			failed, own, shared := 0, 0, 0
			for n := 1; ; n++ {
				at := fmt.Sprintf("%s %d", x.what, n)
				o, _, clean := place(t, r.o, cat)
				m := cloneMem(t, r.mem)
				f := vfs.NewFault(m)
				o.FS = f
				whole := o.CatalogSeam
				var armed, hit atomic.Bool
				var count atomic.Int32
				if x.kinds == 0 {
					o.CatalogSeam = failingSeam(whole, &armed, &hit, &count, n, x.after)
				}
				s, err := Open(t.Context(), o)
				must(t, err)
				dev := openTimeline(t, s, "dev", o)
				main := contentOf(t, s.Durable())
				quiet(t, s)
				quiet(t, dev)
				if x.kinds != 0 {
					f.Fail(vfs.Rule{Kinds: x.kinds, N: n, After: x.after})
				}
				armed.Store(true)
				err = dev.Compact(t.Context(), nil)
				armed.Store(false)
				met := hit.Load() || f.Injected() > 0
				f.Clear()
				switch {
				case x.kinds == vfs.MutatingOps && met && (err != nil || dev.Metrics().CompactionsShared != 1):
					t.Errorf("%s: only segments are written behind it: %v", at, err)
				case err != nil:
					if failed++; !met {
						t.Errorf("%s: %v", at, err)
					}
				case dev.Metrics().CompactionsShared == 1:
					shared++
				default:
					own++
				}
				if got := contentOf(t, dev.Durable()); got != want {
					t.Errorf("%s: after %v the fork holds\n%s\nwant\n%s", at, err, got, want)
				}
				closeAnyway(t, at, dev)
				closeAnyway(t, at, s)
				o.CatalogSeam = whole
				s, err = Open(context.Background(), o)
				must(t, err)
				dev = openTimeline(t, s, "dev", o)
				if a, b := contentOf(t, s.Durable()), contentOf(t, dev.Durable()); a != main || b != want {
					t.Errorf("%s: behind an open, main holds\n%s\nwant\n%s\nthe fork\n%s\nwant\n%s", at, a, main, b, want)
				}
				must(t, dev.Compact(t.Context(), nil))
				wait(t, dev, update(t, dev, put("a", 90, 90, "goes on")))
				checkStore(t, dev)
				checkStore(t, s)
				must(t, dev.Close())
				_, err = s.RunJob(t.Context(), JobRequest{Kind: JobGC})
				must(t, err)
				if garbage, _, err := s.cat.Explain(t.Context()); err != nil || len(garbage) > 0 {
					t.Errorf("%s: garbage %v, %v", at, garbage, err)
				}
				must(t, s.Close())
				clean()
				if t.Failed() {
					return
				}
				if !met {
					t.Logf("%d operations: %d failed it, %d let the fork write its own, %d were of no matter", n-1, failed, own, shared)
					break
				}
			}
			if x.kinds == 0 && failed == 0 || x.kinds == reads && own == 0 {
				t.Errorf("nothing failed: %d, %d, %d", failed, own, shared)
			}
		})
	}
}

// closeAnyway closes a store that may be poisoned.
func closeAnyway(t *testing.T, at string, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil && s.Poisoned() == nil {
		t.Logf("%s: close: %v", at, err)
	}
}
