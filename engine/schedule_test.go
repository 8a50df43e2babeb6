package engine

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// schedule makes a program with the store's goroutines in it repeatable. Each
// of them stops before it changes a file or commits to the catalog, and when
// all have stopped or wait for one another, chance lets one of them go on. The
// same seed makes the same operations in the same order, and every seed
// another order.
type schedule struct {
	rng *rand.Rand

	mu      sync.Mutex
	waiting []*stopped
	held    vfs.Kind      // operations of these kinds stay where they are
	off     bool          // nobody stops any more
	ended   bool          // the program has
	wake    chan struct{} // somebody stopped, or something changed
}

// stopped is a goroutine before an operation.
type stopped struct {
	kind vfs.Kind // 0: a commit of the catalog
	name string
	goOn chan struct{}
}

// scheduled runs a program in a bubble of its own, which fails the test when
// one of the program's goroutines outlives it.
func scheduled(t *testing.T, seed uint64, program func(t *testing.T, s *schedule)) {
	synctest.Test(t, func(t *testing.T) {
		s := &schedule{rng: rand.New(rand.NewPCG(seed, 1)), wake: make(chan struct{}, 1)}
		done := make(chan struct{})
		go func() { defer close(done); s.run() }()
		defer func() {
			s.change(func() { s.ended = true })
			<-done
		}()
		// A program that fails leaves nobody where he stopped.
		defer s.change(func() { s.off = s.off || t.Failed() })
		program(t, s)
	})
}

func (s *schedule) run() {
	for {
		synctest.Wait()
		s.mu.Lock()
		next, ended := s.pick(), s.ended
		s.mu.Unlock()
		switch {
		case next != nil:
			close(next.goOn)
		case ended:
			return
		default:
			<-s.wake
		}
	}
}

// pick removes one of those that may go on. The caller holds mu.
func (s *schedule) pick() *stopped {
	// In an order that does not depend on who stopped first.
	slices.SortStableFunc(s.waiting, func(a, b *stopped) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	var free []int
	for i, w := range s.waiting {
		if s.off || w.kind&s.held == 0 {
			free = append(free, i)
		}
	}
	if len(free) == 0 {
		return nil
	}
	i := free[s.rng.IntN(len(free))]
	w := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	return w
}

// change changes the terms.
func (s *schedule) change(f func()) {
	s.mu.Lock()
	f()
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *schedule) hold(kinds vfs.Kind) { s.change(func() { s.held = kinds }) }

func (s *schedule) holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held != 0
}

// stop is called before an operation.
func (s *schedule) stop(kind vfs.Kind, name string) {
	w := &stopped{kind, name, make(chan struct{})}
	s.change(func() { s.waiting = append(s.waiting, w) })
	<-w.goOn
}

// hook stops before operations of some kinds.
func (s *schedule) hook(kinds vfs.Kind) func(vfs.Op) error {
	return func(op vfs.Op) error {
		if op.Kind&kinds != 0 {
			s.stop(op.Kind, op.Name)
		}
		return nil
	}
}

// seam stops before commits of the catalog, too.
func (s *schedule) seam(seam *catalog.Seam) *catalog.Seam {
	with := *seam
	with.Commit = func(name string, commit func() error) error {
		s.stop(0, name)
		if seam.Commit != nil {
			return seam.Commit(name, commit)
		}
		return commit()
	}
	return &with
}

// TestScheduleRepeats: a seed is a program, whatever the goroutines do.
func TestScheduleRepeats(t *testing.T) {
	journals := map[string]int{}
	for i := range 6 {
		r := newCrashRun(t, vfs.NewMem(), 2<<10, 3)
		seed := uint64(i % 2)
		scheduled(t, seed, func(t *testing.T, s *schedule) {
			r.follow(s)
			newProgram(r, rand.New(rand.NewPCG(7, 7))).run(t, 25)
		})
		journals[journalText(r.mem, r.mem.Ops())]++
	}
	for text, n := range journals {
		if n != 3 {
			t.Errorf("%d of 3 runs of a seed did this:\n%s", n, text)
		}
	}
	if len(journals) != 2 {
		t.Errorf("%d orders of 2 seeds", len(journals))
	}
}
