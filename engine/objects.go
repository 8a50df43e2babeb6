package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// objects are the files that rows of resident=keys tables are read from, by
// slot: a small number that stands for an object as long as the store is open.
// Slots are given out under mu, which no reader takes and nobody holds while a
// file is read or opened.
//
// A file that is written to is read through the handle of its generation. A
// sealed one is opened when a row of it is first asked for, through a mapping or
// a handle of its own as pace says, and changes over when it is next read after
// pace changed its mind.
type objects struct {
	fs       vfs.FS
	keys     bool           // rows of all durable tables are read from the files: see history.go
	poisoned func() error   // the store's cause, or nil; unless nil
	ended    func() error   // asked now and then while a history is read, else nil
	shared   *sharedReaders // of a history: what others read through, too
	closed   atomic.Bool
	mu       sync.Mutex
	list     atomic.Pointer[[]*object] // by slot; copied to be changed
	byID     map[uint64]uint32         // guarded by mu
	free     []uint32                  // slots without an object; guarded by mu
	lease    leases

	pace    pace
	opening sync.RWMutex // read-held while a sealed file is opened or changes over: close waits
	handles atomic.Int32 // sealed files read through handles

	// Counters of the readers.
	reads atomic.Uint64 // records read, see Metrics
	folds atomic.Uint64
	hops  atomic.Uint64
}

// object is one file.
type object struct {
	path   string
	check  wal.Checker
	reader atomic.Pointer[objectReader] // nil: to be opened
}

func newObjects(fs vfs.FS) *objects {
	o := &objects{fs: fs, byID: map[uint64]uint32{}, pace: pace{now: time.Now}}
	o.list.Store(new([]*object))
	o.lease.init()
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
	ob := &object{path: g.path, check: wal.NewChecker(g.salt)}
	ob.reader.Store(&objectReader{ReaderAt: g.file})
	o.place(g, ob)
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
// closed: readers open it themselves from now on.
func (o *objects) sealed(g *generation) {
	list := *o.list.Load()
	if int(g.slot) >= len(list) || list[g.slot] == nil {
		return
	}
	if r := list[g.slot].reader.Load(); r != nil && r.own == nil {
		list[g.slot].reader.CompareAndSwap(r, nil)
	}
}

// close makes all reads fail with ErrClosed. It waits for those that are in a
// mapping.
func (o *objects) close() error {
	o.closed.Store(true)
	o.opening.Lock() // who opens a file from now on sees that it is too late
	defer o.opening.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	var errs []error
	for _, ob := range *o.list.Load() {
		if ob != nil {
			errs = append(errs, o.release(ob.reader.Swap(nil), nil))
		}
	}
	return errors.Join(errs...)
}

// at returns the object of a slot.
func (o *objects) at(slot uint32) (*object, error) {
	list := *o.list.Load()
	if int(slot) >= len(list) || list[slot] == nil {
		return nil, fmt.Errorf("engine: a locator names file %d of %d", slot, len(list))
	}
	return list[slot], nil
}

// readAt fills b from an object and returns how much of it the file has.
func (o *objects) readAt(ob *object, b []byte, off int64) (int, error) {
	for {
		r := ob.reader.Load()
		if r == nil || r.own != nil && r.way != o.pace.way() {
			var err error
			if r, err = o.open(ob, r); err != nil {
				return 0, err
			}
			if r == nil {
				continue
			}
		}
		n, err := o.pace.readAt(r, b, off)
		switch {
		case err == nil || errors.Is(err, io.EOF):
			return n, nil
		case errors.Is(err, fs.ErrClosed) && ob.reader.Load() != r:
			continue // it was sealed or changed over meanwhile, or the store was closed
		case o.closed.Load():
			return 0, ErrClosed
		}
		return 0, o.failed(ob, off, len(b), err)
	}
}

// failed says why a read failed: a page of a mapping that the file does not have any more
// was cut off.
func (o *objects) failed(ob *object, off int64, n int, err error) error {
	if errors.Is(err, vfs.ErrPageFault) {
		if info, serr := o.fs.Stat(ob.path); serr == nil && info.Size < off+int64(n) {
			return &CorruptError{File: ob.path, Offset: info.Size, Reason: fmt.Sprintf("the file ends before %d, where a row's record should be", off), Err: err}
		}
	}
	return fmt.Errorf("engine: reading %s at %d: %w", ob.path, off, err)
}

// open opens a sealed object as pace says, and lets go of the reader it had, if
// any. It returns nil when the reader changed meanwhile: of two that open an
// object at once, the second lets go of its own.
func (o *objects) open(ob *object, old *objectReader) (*objectReader, error) {
	o.opening.RLock()
	defer o.opening.RUnlock()
	if o.closed.Load() {
		return nil, ErrClosed
	}
	r, err := o.acquire(ob, old, o.pace.way())
	if err != nil {
		return nil, err
	}
	// What is let go of was only read through: nothing is lost with it.
	if !ob.reader.CompareAndSwap(old, r) {
		_ = o.release(r, old)
		return nil, nil
	}
	_ = o.release(old, r)
	return r, nil
}
