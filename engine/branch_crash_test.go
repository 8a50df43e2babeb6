package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// branchRecord is a branch point that a program made: what it holds, and between
// which operations it has to be there.
type branchRecord struct {
	content  string
	made     int // it was acknowledged by this operation
	dropping int // it may be gone from this operation on
	dropped  int // it must be gone
}

const never = math.MaxInt

// branch makes a branch point of the durable state.
func (r *crashRun) branch(t testing.TB, s *Store) {
	t.Helper()
	name := fmt.Sprintf("b%d", len(r.branches))
	b := &branchRecord{content: contentOf(t, s.Durable()), made: never, dropping: never, dropped: never}
	r.branches[name] = b
	branch(t, s, name)
	b.made = r.mem.Ops()
}

// deleteBranch deletes some branch point.
func (r *crashRun) deleteBranch(t testing.TB, s *Store, rng *rand.Rand) {
	t.Helper()
	names := slices.Sorted(maps.Keys(r.branches))
	name := names[rng.IntN(len(names))]
	b := r.branches[name]
	b.dropping = min(b.dropping, r.mem.Ops())
	if err := s.DeleteBranchPoint(context.Background(), name); err != nil && !errors.Is(err, catalog.ErrNotFound) {
		t.Fatal(err)
	}
	b.dropped = min(b.dropped, r.mem.Ops())
}

// inherited are the branch points for a program that goes on from an image: each is
// there or not.
func (r *crashRun) inherited() map[string]*branchRecord {
	all := map[string]*branchRecord{}
	for name, b := range r.branches {
		all[name] = &branchRecord{content: b.content, made: never, dropping: 0, dropped: never}
	}
	return all
}

// checkBranches compares the branch points of a store with those that the program
// had made by operation n, and reads each.
func (r *crashRun) checkBranches(t testing.TB, at string, s *Store, n int) {
	t.Helper()
	list, err := s.BranchPoints(context.Background())
	if err != nil {
		t.Errorf("%s: branch points: %v", at, err)
		return
	}
	found := map[string]bool{}
	for _, b := range list {
		found[b.Name] = true
		want := r.branches[b.Name]
		if want == nil || want.dropped < n {
			t.Errorf("%s: branch point %q, which should not be there", at, b.Name)
			continue
		}
		snap, err := s.At(context.Background(), b.Name)
		if err != nil {
			t.Errorf("%s: branch point %q: %v", at, b.Name, err)
			continue
		}
		if got := contentOf(t, snap); got != want.content {
			t.Errorf("%s: branch point %q:\n%s\nwant:\n%s", at, b.Name, got, want.content)
		}
	}
	for name, b := range r.branches {
		if b.made <= n && n < b.dropping && !found[name] {
			t.Errorf("%s: no branch point %q", at, name)
		}
	}
}

// restoreBranch makes the state of some branch point the newest one, if there is one:
// also in the generations as a crash has left them.
func (r *crashRun) restoreBranch(t testing.TB, at string, s *Store) bool {
	t.Helper()
	list, err := s.BranchPoints(context.Background())
	if err != nil || len(list) == 0 {
		return false
	}
	b := list[len(list)-1]
	want := r.branches[b.Name]
	if want == nil {
		return false // checkBranches tells
	}
	lsn, err := s.RestoreTo(context.Background(), b.Name)
	if err != nil {
		t.Errorf("%s: restoring %q: %v", at, b.Name, err)
		return false
	}
	if got := contentOf(t, s.Durable()); got != want.content || s.Durable().LSN() != lsn {
		t.Errorf("%s: restored to %q at LSN %d, durable is %d:\n%s\nwant:\n%s", at, b.Name, lsn, s.Durable().LSN(), got, want.content)
	}
	return true
}

// A branch point survives a crash at every operation, or never was.
func TestBranchPointCrash(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		r := newCrashRun(t, vfs.NewMem(), 2<<10, shards)
		s := r.open(t)
		first := r.mem.Ops()
		commit := func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }
		r.branch(t, s)
		rng := rand.New(rand.NewPCG(1, 1))
		compactScript(s, commit, func() {
			r.branch(t, s)
			must(t, s.Compact(t.Context(), nil))
			r.branch(t, s)
		})
		r.deleteBranch(t, s, rng)
		r.deleteBranch(t, s, rng)
		must(t, s.Close())
		n := r.images(t, first, sharded(6, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 8}, nil)
		t.Logf("%v", n)
	})
}

// Whatever fails while a branch point is made, it is there or not, and what is there
// can be read.
func TestBranchPointFaults(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 2<<10, 1)
	s := r.open(t)
	compactScript(s, func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }, func() {})
	quiet(t, s)
	must(t, s.Close())
	cat := r.cats.at(r.mem.Ops())
	for _, after := range []bool{false, true} {
		failures := 0
		for n := 1; ; n++ {
			m := cloneMem(t, r.mem)
			f := vfs.NewFault(m)
			o, _, clean := place(t, r.o, cat)
			o.FS = f
			s, err := Open(t.Context(), o)
			must(t, err)
			want := contentOf(t, s.Durable())
			f.Fail(vfs.Rule{Kinds: vfs.MutatingOps, N: n, After: after})
			_, err = s.CreateBranchPoint(t.Context(), "bp")
			hit := f.Injected() > 0
			f.Clear()
			if err != nil {
				failures++
				if !hit {
					t.Errorf("operation %d: %v", n, err)
				}
			}
			if got := contentOf(t, s.Durable()); got != want {
				t.Errorf("operation %d: after %v:\n%s\nwant:\n%s", n, err, got, want)
			}
			if cerr := s.Close(); cerr != nil && !errors.Is(cerr, ErrPoisoned) {
				t.Errorf("operation %d: close: %v", n, cerr)
			}
			s, oerr := Open(context.Background(), o)
			must(t, oerr)
			snap, aerr := s.At(t.Context(), "bp")
			switch {
			case err != nil && errors.Is(aerr, catalog.ErrNotFound):
				_, err := s.CreateBranchPoint(t.Context(), "bp")
				must(t, err)
			case aerr != nil:
				t.Errorf("operation %d: after %v: at: %v", n, err, aerr)
			default:
				if got := contentOf(t, snap); got != want {
					t.Errorf("operation %d: at:\n%s\nwant:\n%s", n, got, want)
				}
			}
			checkStore(t, s)
			must(t, s.Close())
			clean()
			if t.Failed() {
				return
			}
			if !hit {
				t.Logf("%d operations, %d attempts failed", n-1, failures)
				break
			}
		}
		if failures == 0 {
			t.Error("nothing failed")
		}
	}
}

// Whatever the catalog fails at, the branch point is there or not.
func TestBranchPointCatalogFaults(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 2<<10, 1)
	s := r.open(t)
	compactScript(s, func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }, func() {})
	quiet(t, s)
	must(t, s.Close())
	cat := r.cats.at(r.mem.Ops())
	boom := errors.New("boom")
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			o, _, clean := place(t, r.o, cat)
			o.FS = cloneMem(t, r.mem)
			whole, faulty := o.CatalogSeam, new(catalog.Seam)
			if whole != nil {
				*faulty = *whole
			}
			var armed, hit atomic.Bool
			var count atomic.Int32
			faulty.Commit = func(_ string, commit func() error) error {
				if !armed.Load() || int(count.Add(1)) != n {
					return commit()
				}
				hit.Store(true)
				if after {
					if err := commit(); err != nil {
						return err
					}
				}
				return boom
			}
			o.CatalogSeam = faulty
			s, err := Open(t.Context(), o)
			must(t, err)
			want := contentOf(t, s.Durable())
			quiet(t, s)
			armed.Store(true)
			_, err = s.CreateBranchPoint(t.Context(), "bp")
			armed.Store(false)
			if err != nil && !hit.Load() {
				t.Errorf("commit %d, after %v: %v", n, after, err)
			}
			if err := s.Close(); err != nil && !errors.Is(err, ErrPoisoned) {
				t.Errorf("commit %d, after %v: close: %v", n, after, err)
			}
			o.CatalogSeam = whole
			s, oerr := Open(context.Background(), o)
			must(t, oerr)
			snap, aerr := s.At(t.Context(), "bp")
			if err == nil && aerr != nil || aerr != nil && !errors.Is(aerr, catalog.ErrNotFound) {
				t.Errorf("commit %d: after %v: at: %v", n, err, aerr)
			}
			if aerr == nil && contentOf(t, snap) != want {
				t.Errorf("commit %d: at another state", n)
			}
			checkStore(t, s)
			must(t, s.Close())
			clean()
			if t.Failed() {
				return
			}
			if !hit.Load() {
				if n == 1 {
					t.Error("the catalog was asked for nothing")
				}
				break
			}
		}
	}
}
