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

	sweeps  turns        // held by whoever removes files that nothing reaches; taken before sealers
	entries turns        // held from making or removing an entry of a directory to its sync
	letting turns        // held from taking a file out of a list of replaced ones to what becomes of it
	sealers turns        // held by whoever changes or removes sealed files; taken before sealing
	sealing sync.RWMutex // held to change a generation's file when sealing it, and by Check to read

	// book guards what follows. It is held for moments only, also under a Store's mu.
	book   sync.Mutex
	stores []*Store        // that are open, or about to be, in the order they came
	begun  map[*Store]bool // those that are open
	told   map[string]LSN  // what LOCK says of each timeline
	ended  bool            // the last one has left, or is about to
}

func newHome(fs vfs.FS) *home {
	return &home{fs: fs, sweeps: newTurns(), letting: newTurns(), entries: newTurns(), sealers: newTurns(), told: map[string]LSN{}, begun: map[*Store]bool{}}
}

// claim adds a store that is about to open. From now on collection asks it what it
// holds, and no other one of its timeline can be opened.
func (h *home) claim(s *Store) error {
	h.book.Lock()
	defer h.book.Unlock()
	if h.ended {
		return ErrClosed
	}
	for _, o := range h.stores {
		if o.opts.Timeline == s.opts.Timeline {
			return fmt.Errorf("%w: %q", ErrTimelineOpen, s.opts.Timeline)
		}
	}
	h.stores = append(h.stores, s)
	return nil
}

// unopened does something to a timeline that is not open, and cannot be meanwhile.
func (h *home) unopened(timeline string, do func() error) error {
	stub := &Store{opts: Options{Timeline: timeline, Memory: true}, objects: newObjects(h.fs)}
	if err := h.claim(stub); err != nil {
		return err
	}
	defer func() {
		h.book.Lock()
		defer h.book.Unlock()
		h.stores = slices.DeleteFunc(h.stores, func(o *Store) bool { return o == stub })
	}()
	return do()
}

// leave takes a store away. The last one ends the home and closes it.
func (h *home) leave(ctx context.Context, s *Store) error {
	h.book.Lock()
	h.stores = slices.DeleteFunc(h.stores, func(o *Store) bool { return o == s })
	delete(h.begun, s)
	delete(h.told, s.opts.Timeline)
	if len(h.stores) > 0 || h.ended {
		h.book.Unlock()
		return nil
	}
	h.ended = true
	h.book.Unlock()
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

// named returns the open store of a timeline, nil when it is not open.
func (h *home) named(timeline string) *Store {
	h.book.Lock()
	defer h.book.Unlock()
	for _, s := range h.stores {
		if s.opts.Timeline == timeline && h.begun[s] {
			return s
		}
	}
	return nil
}

// opened notes that a store can be used.
func (h *home) opened(s *Store) {
	h.book.Lock()
	defer h.book.Unlock()
	h.begun[s] = true
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

// tell writes into LOCK how far the log of a timeline is durable. Read-only processes
// fall back on recovery's cut when they cannot read it, so a failure is no failure of
// a commit.
func (h *home) tell(timeline string, lsn LSN) error {
	h.book.Lock()
	defer h.book.Unlock()
	h.told[timeline] = lsn
	return h.lock.Write(lockContents(os.Getpid(), h.told))
}

// lockContents is a line for the process and one for each timeline that is open. The
// main one has no name there.
func lockContents(pid int, told map[string]LSN) []byte {
	b := fmt.Appendf(nil, "pid %10d\n", pid)
	if lsn, ok := told[catalog.MainTimeline]; ok {
		b = fmt.Appendf(b, "lsn %20d\n", lsn)
	}
	names := make([]string, 0, len(told))
	for name := range told {
		if name != catalog.MainTimeline {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		b = fmt.Appendf(b, "lsn %20d %q\n", told[name], name)
	}
	return b
}
