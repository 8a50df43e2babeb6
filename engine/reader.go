package engine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// mostHandles bounds the files that are open to read sealed objects, give or
// take those that are opened at once: descriptors are few, and what is behind
// them is read through mappings, which need none.
const mostHandles = 256

// objectReader is what an object is read through. It never changes.
type objectReader struct {
	io.ReaderAt
	own    io.Closer // the mapping or handle, nil when it is a generation's handle
	handle bool      // own is a handle
	way    way       // that it was opened for, also if it could not be had
}

// acquire opens a sealed object in a way. What cannot be opened anew is read on as
// before, under the name of the new way: to change over never fails a read.
func (o *objects) acquire(ob *object, old *objectReader, w way) (*objectReader, error) {
	handle := w == byHandle && o.handles.Load() < mostHandles
	if o.shared != nil {
		handle = handle && o.shared.handles.Load() < mostHandles
	}
	if old == nil {
		return o.openSealed(ob, handle, w)
	}
	if old.handle != handle {
		if r, err := o.openSealed(ob, handle, w); err == nil {
			return r, nil
		}
	}
	return &objectReader{old.ReaderAt, old.own, old.handle, w}, nil
}

func (o *objects) openSealed(ob *object, handle bool, w way) (*objectReader, error) {
	if o.shared == nil {
		r, err := o.openFile(ob, handle, w)
		if err == nil && handle {
			o.handles.Add(1)
		}
		return r, err
	}
	r, err := o.shared.acquire(ob.path, handle, func() (*objectReader, error) { return o.openFile(ob, handle, w) })
	if err != nil {
		return nil, err
	}
	if handle {
		o.handles.Add(1)
	}
	return &objectReader{r, r, handle, w}, nil
}

func (o *objects) openFile(ob *object, handle bool, w way) (*objectReader, error) {
	f, err := o.fs.OpenRead(ob.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &CorruptError{File: ob.path, Reason: "the file is missing", Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("engine: opening %s: %w", ob.path, err)
	}
	if handle {
		f.AdviseRandom()
		return &objectReader{f, f, true, w}, nil
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
	return &objectReader{m, m, false, w}, nil
}

// release ends a reader that is in no object any more, unless its mapping or
// handle went on to heir. It waits for those that are in a mapping.
func (o *objects) release(r, heir *objectReader) error {
	if r == nil || r.own == nil || heir != nil && r.own == heir.own {
		return nil
	}
	if r.handle {
		o.handles.Add(-1)
	}
	return r.own.Close()
}
