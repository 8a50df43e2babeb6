package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// home is what the open timelines of one directory share: the lock, the catalog, the
// directories with their files. Each timeline is a Store of its own, with a log, a
// write lock and a state; none waits for another, but for a turn at what is here.
//
// The first Store to open makes the home, the last one to close ends it.
type home struct {
	fs       vfs.FS
	lock     vfs.Lock
	cat      *catalog.Catalog
	id       [16]byte
	lineage  [][16]byte // identities, other than id, that sealed files may have
	settings map[string]string

	checks  sync.RWMutex    // held by Check to read, and by a restore for as long as writers wait for it; taken before the write lock
	sweeps  turns           // held by whoever removes files that nothing reaches; taken before sealers
	entries turns           // held from making or removing an entry of a directory to its sync
	lasting map[string]bool // directories whose own entry this process has synced; guarded by entries
	letting turns           // held from taking a file out of a list of replaced ones to what becomes of it
	telling turns           // held by whoever writes LOCK, which is I/O; taken before book
	told    map[string]LSN  // what LOCK says of each timeline; guarded by telling
	sealers turns           // held by whoever changes or removes sealed files; taken before sealing
	sealing sync.RWMutex    // held to change a generation's file when sealing it, and by Check to read

	// book guards what follows. It is held for moments only, also under a Store's mu.
	book   sync.Mutex
	stores []*Store        // that are open, or about to be, in the order they came
	begun  map[*Store]bool // those that are open
	brief  map[*Store]bool // those that are here for a piece of work, which others wait for
	moved  chan struct{}   // closed, and replaced, when one was opened or has left
	ended  bool            // the last one has left, or is about to
}

func newHome(fs vfs.FS) *home {
	return &home{fs: fs, sweeps: newTurns(), letting: newTurns(), telling: newTurns(), entries: newTurns(), sealers: newTurns(), lasting: map[string]bool{}, told: map[string]LSN{},
		begun: map[*Store]bool{}, brief: map[*Store]bool{}, moved: make(chan struct{})}
}

// claim adds a store that is about to open. From now on collection asks it what it
// holds, and no other one of its timeline can be opened. It waits for one that is brief,
// and refuses with ErrTimelineOpen beside any other.
func (h *home) claim(ctx context.Context, s *Store, brief bool) error {
	for {
		wait, err := h.tryClaim(s, brief)
		if err != nil || wait == nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return fmt.Errorf("engine: waiting for timeline %q: %w", s.opts.Timeline, ctx.Err())
		}
	}
}

// tryClaim is claim that returns what to wait for.
func (h *home) tryClaim(s *Store, brief bool) (wait <-chan struct{}, err error) {
	h.book.Lock()
	defer h.book.Unlock()
	if h.ended {
		return nil, ErrClosed
	}
	for _, o := range h.stores {
		switch {
		case o.opts.Timeline != s.opts.Timeline:
		case h.brief[o]:
			return h.moved, nil
		default:
			return nil, fmt.Errorf("%w: %q", ErrTimelineOpen, s.opts.Timeline)
		}
	}
	h.stores = append(h.stores, s)
	if brief {
		h.brief[s] = true
	}
	return nil, nil
}

// unclaim takes a store out of the list. The caller holds book.
func (h *home) unclaim(s *Store) {
	h.stores = slices.DeleteFunc(h.stores, func(o *Store) bool { return o == s })
	delete(h.begun, s)
	delete(h.brief, s)
	h.move()
}

// move wakes all who wait for a timeline. The caller holds book.
func (h *home) move() {
	close(h.moved)
	h.moved = make(chan struct{})
}

// unopened does something to a timeline that is not open, and cannot be meanwhile.
func (h *home) unopened(ctx context.Context, timeline string, do func() error) error {
	stub := &Store{opts: Options{Timeline: timeline, Memory: true}, objects: newObjects(h.fs)}
	if err := h.claim(ctx, stub, true); err != nil {
		return err
	}
	defer func() {
		h.book.Lock()
		defer h.book.Unlock()
		h.unclaim(stub)
	}()
	return do()
}

// leave takes a store away. The last one ends the home and closes it.
func (h *home) leave(ctx context.Context, s *Store) error {
	h.telling.take()
	delete(h.told, s.opts.Timeline)
	others := len(h.open()) > 1
	var err error
	rewrite := func() {
		if h.lock != nil && len(h.told) > 0 {
			err = h.lock.Write(lockContents(os.Getpid(), h.told))
		}
	}
	if others {
		rewrite() // then the timeline may be dropped, and another one have its name
	}
	h.book.Lock()
	h.unclaim(s)
	last := len(h.stores) == 0 && !h.ended
	h.ended = h.ended || last
	h.book.Unlock()
	if !last && !others {
		rewrite() // one came meanwhile
	}
	h.telling.give()
	if !last {
		if err != nil { // as with tell
			s.event(Event{Kind: EventBackgroundFailed, File: lockName, Err: err})
		}
		return nil
	}
	var errs []error
	if h.cat != nil {
		errs = append(errs, h.cat.Close(ctx))
	}
	if h.lock != nil {
		errs = append(errs, h.lock.Close())
	}
	return errors.Join(errs...)
}

// open lists the stores that are open.
func (h *home) open() []*Store {
	h.book.Lock()
	defer h.book.Unlock()
	return slices.Clone(h.stores)
}

// usable lists the stores that are open and not about to be.
func (h *home) usable() []*Store {
	h.book.Lock()
	defer h.book.Unlock()
	return slices.DeleteFunc(slices.Clone(h.stores), func(s *Store) bool { return !h.begun[s] })
}

// named returns the store of a timeline that is open for anybody, nil when there is none.
func (h *home) named(timeline string) *Store {
	s, _ := h.shared(timeline)
	return s
}

// shared is named that also returns what to wait for while that store, if there is one,
// is about to open or to close.
func (h *home) shared(timeline string) (s *Store, wait <-chan struct{}) {
	h.book.Lock()
	defer h.book.Unlock()
	for _, s := range h.stores {
		if s.opts.Timeline != timeline || h.brief[s] {
			continue
		}
		if h.begun[s] && s.closed() == nil {
			return s, nil
		}
		return nil, h.moved
	}
	return nil, nil
}

// opened notes that a store can be used.
func (h *home) opened(s *Store) {
	h.book.Lock()
	defer h.book.Unlock()
	h.begun[s] = true
	h.move()
}

// held lists the objects that states of this process may be read from although no
// head names them.
func (h *home) held() map[int64]bool {
	list := map[int64]bool{}
	for _, s := range h.open() {
		s.addHeld(list)
	}
	return list
}

// tell writes into LOCK how far the log of a timeline is durable. What is told does not
// go back, whoever comes here late. Read-only processes fall back on recovery's cut when
// they cannot read it, so a failure is no failure of a commit.
func (h *home) tell(timeline string, lsn LSN) error {
	h.telling.take()
	defer h.telling.give()
	h.told[timeline] = max(h.told[timeline], lsn)
	return h.lock.Write(lockContents(os.Getpid(), h.told))
}
