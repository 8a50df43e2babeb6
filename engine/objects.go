package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// objects are the files that rows of resident=keys tables are read from, by
// slot: a small number that stands for an object as long as the store is open.
// Slots are given out under mu, which no reader takes and nobody holds while a
// file is read or opened.
//
// A file that is written to is read through the handle of its generation. A
// sealed one is mapped when a row of it is first asked for, and stays mapped
// until the store is closed.
type objects struct {
	fs       vfs.FS
	poisoned func() error // the store's cause, or nil; unless nil
	closed   atomic.Bool
	mu       sync.Mutex
	list     atomic.Pointer[[]*object] // by slot; copied to be changed
	byID     map[uint64]uint32         // guarded by mu

	// Counters of the readers.
	reads atomic.Uint64 // records read, see Metrics
	folds atomic.Uint64
	hops  atomic.Uint64
}

// object is one file.
type object struct {
	path   string
	check  wal.Checker
	reader atomic.Pointer[objectReader] // nil: to be mapped
}

type objectReader struct {
	io.ReaderAt
	mapped io.Closer // nil when the reader is a generation's handle
}

func newObjects(fs vfs.FS) *objects {
	o := &objects{fs: fs, byID: map[uint64]uint32{}}
	o.list.Store(new([]*object))
	return o
}

// add makes a generation's file known, whose handle is open, and notes its
// slot.
func (o *objects) add(g *generation) {
	if o.look(g) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	old := *o.list.Load()
	g.slot = uint32(len(old))
	ob := &object{path: g.path, check: wal.NewChecker(g.salt)}
	ob.reader.Store(&objectReader{ReaderAt: g.file})
	list := append(old[:len(old):len(old)], ob)
	o.list.Store(&list)
	o.byID[g.object] = g.slot
}

// look notes the slot of a generation if its file is known.
func (o *objects) look(g *generation) (known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	slot, known := o.byID[g.object]
	if known {
		g.slot = slot
	}
	return known
}

// sealed says that a file will not change any more and its handle is about to be
// closed: readers map it from now on.
func (o *objects) sealed(g *generation) {
	list := *o.list.Load()
	if int(g.slot) >= len(list) {
		return
	}
	if r := list[g.slot].reader.Load(); r != nil && r.mapped == nil {
		list[g.slot].reader.CompareAndSwap(r, nil)
	}
}

// close makes all reads fail with ErrClosed. It waits for those that are in a
// mapping.
func (o *objects) close() error {
	o.closed.Store(true)
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, ob := range *o.list.Load() {
		if r := ob.reader.Swap(nil); r != nil && r.mapped != nil {
			errs = append(errs, r.mapped.Close())
		}
	}
	return errors.Join(errs...)
}

// at returns the object of a slot.
func (o *objects) at(slot uint32) (*object, error) {
	list := *o.list.Load()
	if int(slot) >= len(list) {
		return nil, fmt.Errorf("engine: a locator names file %d of %d", slot, len(list))
	}
	return list[slot], nil
}

// readAt fills b from an object and returns how much of it the file has.
func (o *objects) readAt(ob *object, b []byte, off int64) (int, error) {
	for {
		r := ob.reader.Load()
		if r == nil {
			var err error
			if r, err = o.open(ob); err != nil {
				return 0, err
			}
			if r == nil {
				continue
			}
		}
		n, err := r.ReadAt(b, off)
		switch {
		case err == nil || errors.Is(err, io.EOF):
			return n, nil
		case errors.Is(err, fs.ErrClosed) && ob.reader.Load() != r:
			continue // it was sealed meanwhile, or the store was closed
		case o.closed.Load():
			return 0, ErrClosed
		}
		return 0, fmt.Errorf("engine: reading %s at %d: %w", ob.path, off, err)
	}
}

// open maps an object, nil when the reader has changed meanwhile. No lock is
// held: of two that map it at once, the second lets go of its own.
func (o *objects) open(ob *object) (*objectReader, error) {
	if o.closed.Load() {
		return nil, ErrClosed
	}
	f, err := o.fs.OpenRead(ob.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &CorruptError{File: ob.path, Reason: "the file is missing", Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("engine: opening %s: %w", ob.path, err)
	}
	m, err := f.Map()
	if err != nil {
		_ = f.Close() // the first cause counts
		return nil, fmt.Errorf("engine: mapping %s: %w", ob.path, err)
	}
	if err := f.Close(); err != nil { // the mapping stays without it
		_ = m.Close()
		return nil, fmt.Errorf("engine: closing %s: %w", ob.path, err)
	}
	r := &objectReader{ReaderAt: m, mapped: m}
	if !ob.reader.CompareAndSwap(nil, r) {
		return nil, m.Close()
	}
	if o.closed.Load() && ob.reader.CompareAndSwap(r, nil) { // close has not seen it
		return nil, errors.Join(ErrClosed, m.Close())
	}
	return r, nil
}
