package engine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// compactor is what compactions share.
type compactor struct {
	auto      bool
	limits    compactLimits
	wake      chan struct{} // of the goroutine; holds one word
	left      *repointing   // what has to be read from the base yet; guarded by turn
	retry     indexRetry    // the goroutine's own
	unindexed bool          // for tests: compactions write no segments; guarded by turn
	pins      []int64       // of readers, by owner, when the goroutine looked last; its own
	turn      chan struct{} // holds a word while there is a compaction

	// Guarded by Store.mu.
	asked  bool  // the goroutine was told
	unmade bool  // the last attempt to write index segments failed
	behind bool  // indexes may lack fragments of the base, or generations be retired now
	failed bool  // a compaction, or a branch point, left files behind that nothing may need
	again  int64 // what the log has to use before the next one, after a failure some more
	since  LSN   // the commit of the base, 0 for none
	idle   int64 // bytes of garbage that it had when it was made
	base   int64 // bytes of all its rows
	live   int64 // bytes of the live rows then
	// segments are the bytes of its index segments, as far as that is known.
	segments int64
	brake    brake
}

func (c *compactor) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// compactLoop compacts the log when that is due and removes files when they may go.
func (s *Store) compactLoop() {
	defer s.loops.Done()
	wait := time.Duration(sweepEvery)
	var look <-chan time.Time
	for {
		woken := false
		select {
		case <-s.closing:
			return
		case <-s.poisoned:
			return // nothing is written any more
		case <-s.compactor.wake:
			woken = true
		case <-look:
		case <-s.compactor.retry.due:
			s.compactor.retry.due = nil
			s.mu.Lock()
			s.compactor.behind = s.compactor.behind || s.compactor.unmade
			s.mu.Unlock()
		}
		s.mu.Lock()
		due := s.compactor.asked
		s.mu.Unlock()
		if due {
			s.releaseOld() // as far as readers were in the way so far
			s.compactNow()
		}
		s.repointLeft()
		s.indexIfBehind()
		s.mu.Lock()
		unmade := s.compactor.unmade
		s.mu.Unlock()
		s.compactor.retry.plan(unmade)
		pinned, err := s.reapReaders(s.untilClose)
		swept := 0
		if err == nil {
			swept, err = s.sweepReleased()
		}
		if err != nil && s.untilClose.Err() == nil && s.refusal() == nil {
			s.event(Event{Kind: EventBackgroundFailed, Err: err})
		}
		s.mu.Lock()
		waiting := pinned || len(s.replaced) > 0 || s.compactor.failed || s.histories.some()
		s.mu.Unlock()
		waiting = waiting && !errors.Is(err, catalog.ErrPoisoned) // else only a reopen helps
		// What cannot go yet is looked at less and less often.
		if wait = min(2*wait, sweepMost); woken || swept > 0 {
			wait = sweepEvery
		}
		if look = nil; waiting {
			look = time.After(wait)
		}
	}
}

// releaseOld removes what a compaction replaced, before more is written beside it.
// States that nobody has any more may wait for the collector of garbage, which knows
// nothing of files.
func (s *Store) releaseOld() {
	if s.awaitsLeases() {
		runtime.GC()
		for wait := time.Millisecond; wait < cleanupMost && s.awaitsLeases(); wait *= 2 {
			time.Sleep(wait) // its finding goes to a goroutine of its own
		}
	}
	if _, err := s.sweepReleased(); err != nil && s.untilClose.Err() == nil && s.refusal() == nil {
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
}

// cleanupMost is about how long the collector is given to tell what it found.
const cleanupMost = 32 * time.Millisecond

// awaitsLeases reports whether there are files that only old states may be read from.
func (s *Store) awaitsLeases() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.opts.untilClose && slices.ContainsFunc(s.replaced, func(r replaced) bool { return r.lease != noLease && s.mayRead(r) })
}

// compactNow runs a compaction that was due. When the next one is, compacted says;
// one that did not even begin is tried again when the log has grown by a part.
func (s *Store) compactNow() {
	_, err := s.RunJob(s.untilClose, JobRequest{Kind: JobCompact, auto: true})
	s.mu.Lock()
	c := &s.compactor
	c.asked = false
	s.releaseBrake()
	if err != nil {
		c.again = max(c.again, s.rowBytes+max(c.limits.floor, s.rowBytes/4))
	} else {
		s.compactIfDue()
	}
	s.mu.Unlock()
	if err != nil && !errors.Is(err, ErrClosed) && s.refusal() == nil {
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
}

// compacted lets the compactor look for files to remove: called when the job of a
// compaction has ended, and with it what kept those of one that failed, and those of
// its index segments that are in no head.
func (s *Store) compacted(failure error) {
	s.mu.Lock()
	c := &s.compactor
	c.failed = true
	if failure != nil {
		c.again = s.rowBytes + max(c.limits.floor, s.rowBytes/4)
	}
	s.mu.Unlock()
	s.compactor.signal()
}

// removable lets the compactor look for files to remove, as after a failed
// compaction: something in the catalog does not need them any more.
func (s *Store) removable() {
	s.mu.Lock()
	s.compactor.failed = true
	s.mu.Unlock()
	s.compactor.signal()
}

// repointing is a base that is the head, and that rows are not read from yet.
type repointing struct {
	cut   *cut
	files []*baseFile // those that were written
	tried bool        // once more; the next compaction has to do it
}

// repointLeft goes on where a compaction left off.
func (s *Store) repointLeft() {
	select {
	case s.compactor.turn <- struct{}{}:
		defer func() { <-s.compactor.turn }()
	default:
		return // another one has done it, or will
	}
	left := s.compactor.left
	if left == nil || left.tried {
		return
	}
	left.tried = true
	if err := s.repoint(s.untilClose, left.cut, left.files); err != nil {
		if s.untilClose.Err() == nil {
			s.event(Event{Kind: EventBackgroundFailed, Err: fmt.Errorf("engine: reading rows from the base: %w", err)})
		}
		return
	}
	s.compactor.left = nil
	s.mu.Lock()
	s.compactor.behind = true // what rows were read from until now may go
	s.mu.Unlock()
}
