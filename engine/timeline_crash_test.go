package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// restore takes the store to a branch point and records the state that it leaves.
func (r *crashRun) restore(t testing.TB, s *Store, name string) {
	t.Helper()
	r.undo++
	lsn := restoreTo(t, s, name)
	r.states[lsn] = dump(s.Durable())
	r.acks = append(r.acks, ack{r.mem.Ops(), lsn})
}

// A crash at every operation of restores and of what is written between them leaves a
// state that some commit or restore left, none before the last one acknowledged: no row
// that was undone comes back. A fork is there with its rows, or never was.
func TestTimelineCrash(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		r := newCrashRun(t, vfs.NewMem(), 2<<10, shards)
		s := r.open(t)
		commit := func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }
		compactScript(s, commit, func() {})
		r.branch(t, s)
		first := r.mem.Ops()
		commit(all(put("k", 1, 505, "undone", "u"), createTable("undone")))
		r.restore(t, s, "b0")
		commit(put("k", 7, 70, "kept", strings.Repeat("k", 300)))
		r.branch(t, s)
		commit(put("a", 3, 3, "undone"))
		_, err := s.Fork(t.Context(), "dev")
		must(t, err)
		forked, dev := r.mem.Ops(), contentOf(t, s.Durable())
		r.restore(t, s, "b0")
		must(t, s.Compact(t.Context(), nil))
		r.restore(t, s, "b1")
		commit(put("k", 8, 80, "last", "l"))
		must(t, s.Close())
		forks := 0
		n := r.images(t, first, sharded(8, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 8}, func(t *testing.T, at string, img *vfs.Mem, cat string, _ LSN) {
			crashed := r.crashed
			o, _, clean := place(t, r.o, cat)
			defer clean()
			o.FS = img
			s, err := Open(context.Background(), o)
			must(t, err)
			lines, err := s.Timelines(t.Context())
			must(t, err)
			if there := slices.ContainsFunc(lines, func(l catalog.Timeline) bool { return l.Name == "dev" }); there {
				forks++
				line := openTimeline(t, s, "dev", o)
				if got := contentOf(t, line.Durable()); got != dev {
					t.Errorf("%s: the fork holds\n%s\nwant\n%s", at, got, dev)
				}
				wait(t, line, update(t, line, put("a", 90, 90, "goes on")))
				must(t, line.Close())
			} else if crashed >= forked {
				t.Errorf("%s: there is no fork", at)
			}
			checkStore(t, s)
			must(t, s.Close())
		})
		t.Logf("%v, %d with a fork", n, forks)
		if forks == 0 {
			t.Error("no image has the fork")
		}
	})
}

// faultedRun is a run of something at which an operation fails.
type faultedRun struct {
	at       string
	s        *Store
	err      error // of what was run
	before   string
	reopened bool
}

// eachFault runs something on copies of a store, each time with another operation that
// fails, of the file system and of the catalog, before or after it took effect. check is
// called behind it and once more behind an open.
func eachFault(t *testing.T, r *crashRun, do func(s *Store) error, check func(f faultedRun)) {
	cat := r.cats.at(r.mem.Ops())
	for _, files := range []bool{true, false} {
		for _, after := range []bool{false, true} {
			failures := 0
			for n := 1; ; n++ {
				o, _, clean := place(t, r.o, cat)
				fs := vfs.NewFault(cloneMem(t, r.mem))
				o.FS = fs
				whole := o.CatalogSeam
				var armed, hit atomic.Bool
				var count atomic.Int32
				if !files {
					o.CatalogSeam = failingSeam(whole, &armed, &hit, &count, n, after)
				}
				s, err := Open(t.Context(), o)
				must(t, err)
				quiet(t, s)
				f := faultedRun{at: fmt.Sprintf("files %t, after %t, operation %d", files, after, n), s: s, before: contentOf(t, s.Durable())}
				if files {
					fs.Fail(vfs.Rule{Kinds: vfs.MutatingOps, N: n, After: after})
				}
				armed.Store(true)
				f.err = do(s)
				armed.Store(false)
				met := hit.Load() || fs.Injected() > 0
				fs.Clear()
				if f.err != nil {
					failures++
					if !met {
						t.Errorf("%s: %v", f.at, f.err)
					}
				}
				check(f)
				if err := s.Close(); err != nil && s.Poisoned() == nil {
					t.Errorf("%s: close: %v", f.at, err)
				}
				o.CatalogSeam = whole
				if f.s, err = Open(context.Background(), o); err != nil {
					t.Fatalf("%s: open: %v", f.at, err)
				}
				f.reopened = true
				check(f)
				checkStore(t, f.s)
				must(t, f.s.Close())
				clean()
				if t.Failed() {
					return
				}
				if !met {
					t.Logf("files %t, after %t: %d operations, %d of them failed it", files, after, n-1, failures)
					break
				}
			}
			if failures == 0 {
				t.Errorf("files %t, after %t: nothing failed", files, after)
			}
		}
	}
}

var errSeam = errors.New("for the test")

// failingSeam fails the nth commit of the catalog while it is armed.
func failingSeam(whole *catalog.Seam, armed, hit *atomic.Bool, count *atomic.Int32, n int, after bool) *catalog.Seam {
	seam := new(catalog.Seam)
	if whole != nil {
		*seam = *whole
	}
	seam.Commit = func(_ string, commit func() error) error {
		if !armed.Load() || int(count.Add(1)) != n {
			return commit()
		}
		hit.Store(true)
		if after {
			return errors.Join(commit(), errSeam)
		}
		return errSeam
	}
	return seam
}

// undoable is a store with a branch point, and rows behind it.
func undoable(t *testing.T) (r *crashRun, point string) {
	r = newCrashRun(t, vfs.NewMem(), 2<<10, 1)
	r.o.untilClose = false
	s := r.open(t)
	compactScript(s, func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }, func() {})
	branch(t, s, "bp")
	point = contentOf(t, s.Durable())
	r.wait(t, s, r.commit(t, s, all(put("k", 1, 505, "undone", "u"), createTable("undone"))))
	quiet(t, s)
	must(t, s.Close())
	return r, point
}

// Whatever fails in a restore, the timeline is where it was or at the branch point, it
// says which, and an open agrees; commits go on behind either.
func TestRestoreToFaults(t *testing.T) {
	r, point := undoable(t)
	shown := ""
	eachFault(t, r, func(s *Store) error {
		_, err := s.RestoreTo(context.Background(), "bp")
		return err
	}, func(f faultedRun) {
		got, unknown := contentOf(t, f.s.Durable()), errors.Is(f.err, ErrPoisoned) || errors.Is(f.err, catalog.ErrOutcomeUnknown)
		want := point
		if f.err != nil {
			want = f.before
		}
		switch {
		case f.reopened && unknown:
			if got != point && got != shown {
				t.Errorf("%s: after %v an open shows\n%s", f.at, f.err, got)
			}
			want = got
		case f.reopened:
			want = shown
		}
		if got != want {
			t.Errorf("%s: after %v, opened %t, there is\n%s\nwant\n%s", f.at, f.err, f.reopened, got, want)
		}
		if f.s.Poisoned() == nil {
			lsn, err := tryUpdate(f.s, put("k", 50, 50, "goes on", "g"))
			if err == nil {
				err = f.s.WaitDurable(context.Background(), lsn)
			}
			if err != nil && f.s.Poisoned() == nil {
				t.Errorf("%s: after %v: %v", f.at, f.err, err)
			}
		}
		shown = contentOf(t, f.s.Durable())
	})
}

// Whatever fails in a fork, it is there whole or not at all, and its parent is as it was.
func TestForkFaults(t *testing.T) {
	r, _ := undoable(t)
	eachFault(t, r, func(s *Store) error {
		_, err := s.Fork(context.Background(), "dev")
		return err
	}, func(f faultedRun) {
		if got := contentOf(t, f.s.Durable()); got != f.before {
			t.Errorf("%s: after %v, opened %t, the parent holds\n%s\nwant\n%s", f.at, f.err, f.reopened, got, f.before)
		}
		if f.s.Poisoned() != nil {
			return
		}
		lines, err := f.s.Timelines(context.Background())
		if err != nil {
			if f.reopened {
				t.Errorf("%s: %v", f.at, err)
			}
			return // its catalog answers no more
		}
		there := slices.ContainsFunc(lines, func(l catalog.Timeline) bool { return l.Name == "dev" })
		if !there {
			if f.err == nil {
				t.Errorf("%s: there is no fork", f.at)
			}
			return
		}
		line, err := f.s.OpenTimeline(context.Background(), "dev", Options{NoCompaction: true})
		if err != nil {
			t.Errorf("%s: opening the fork: %v", f.at, err)
			return
		}
		if got := contentOf(t, line.Durable()); got != f.before {
			t.Errorf("%s: the fork holds\n%s\nwant\n%s", f.at, got, f.before)
		}
		if err := line.Close(); err != nil {
			t.Errorf("%s: closing the fork: %v", f.at, err)
		}
	})
}
