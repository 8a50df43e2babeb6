package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// heldSync is a store whose syncs of the log wait for an answer each.
func heldSync(t *testing.T) (s *Store, entered chan string, answer chan error) {
	fault := vfs.NewFault(vfs.NewMem())
	s = openStore(t, Options{FS: fault})
	wait(t, s, update(t, s, createTable("t")))
	entered, answer = make(chan string, 8), make(chan error)
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			entered <- op.Name
			return <-answer
		}
		return nil
	})
	t.Cleanup(func() { fault.SetHook(nil) })
	return s, entered, answer
}

// TestWaiterSyncs: a commit is synced when somebody waits for it, or with the
// next one, and no two syncs are under way at a time.
func TestWaiterSyncs(t *testing.T) {
	s, entered, answer := heldSync(t)
	first := update(t, s, put("t", 1, 1, "a"))
	leads := waiting(s, first)
	<-entered
	// What comes meanwhile gathers, whoever waits for it.
	second := update(t, s, put("t", 2, 2, "b"))
	third := update(t, s, put("t", 3, 3, "c"))
	late := waiting(s, third)
	early := waiting(s, second)
	notYet(t, late, "the third commit")
	select {
	case name := <-entered:
		t.Errorf("two syncs at a time: %s", name)
	default:
	}
	if n := count(s.Durable(), "t"); n != 0 {
		t.Errorf("%d rows are visible before the sync", n)
	}
	answer <- nil
	must(t, <-leads)
	if n := count(s.Durable(), "t"); n != 1 {
		t.Errorf("%d rows after the first sync", n)
	}
	<-entered // of the syncer, which goes on
	answer <- nil
	must(t, <-late)
	must(t, <-early)
	if n := count(s.Durable(), "t"); n != 3 {
		t.Errorf("%d rows after the second sync", n)
	}
	eventually(t, "the end of the syncer's round", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.pipe.busy
	})
	// Two that nobody waits for: the second one tells the syncer of both.
	update(t, s, put("t", 4, 4, "d"))
	update(t, s, put("t", 5, 5, "e"))
	<-entered
	answer <- nil
	eventually(t, "the sync of what nobody waits for", func() bool { return count(s.Durable(), "t") == 5 })
	// And one: Close syncs it.
	update(t, s, put("t", 6, 6, "f"))
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-entered
	answer <- nil
	<-entered // the close mark's
	answer <- nil
	must(t, <-closed)
	if n := count(s.Durable(), "t"); n != 6 {
		t.Errorf("%d rows after Close", n)
	}
}

// TestDeadlineOfAWaiter: who cannot wait for the end of a sync leaves it to the
// syncer.
func TestDeadlineOfAWaiter(t *testing.T) {
	s, entered, answer := heldSync(t)
	lsn := update(t, s, put("t", 1, 1, "a"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.WaitDurable(ctx, lsn); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that ends before the sync: %v", err)
	}
	<-entered
	answer <- nil
	wait(t, s, lsn)
}

// TestCloseWaitsForAWaiter: a batch that a waiter syncs is waited for by Close,
// also when the engine is poisoned meanwhile.
func TestCloseWaitsForAWaiter(t *testing.T) {
	for _, failed := range []error{nil, errFence} {
		s, entered, answer := heldSync(t)
		lsn := update(t, s, put("t", 1, 1, "a"))
		leads := waiting(s, lsn)
		<-entered
		update(t, s, put("t", 2, 2, "b"))
		if failed != nil {
			s.poison(failed)
		}
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		notYet(t, closed, "Close")
		select {
		case name := <-entered:
			t.Errorf("two syncs at a time: %s", name)
		default:
		}
		answer <- failed
		if failed == nil {
			<-entered // what gathered
			answer <- nil
			<-entered // the close mark's
			answer <- nil
		}
		if err := <-closed; !errors.Is(err, failed) {
			t.Errorf("Close: %v", err)
		}
		if err := <-leads; !errors.Is(err, failed) || failed != nil && !errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("the waiter: %v", err)
		}
	}
}
