package vfs

import (
	"io/fs"
	"os"
	"sync"
)

// osFile is one open file. A write-only state does not exist; a file opened
// with OpenRead gets the system's error on every change.
type osFile struct {
	f    *os.File
	name string // as given to the FS
	path string // absolute, when it was opened

	grow sync.Mutex // one Preallocate at a time: a failed one restores the size
	back writeBack
}

// writeBack is what WriteBack knows of the calls before.
type writeBack struct {
	mu     sync.Mutex
	off, n int64 // the range that may be under way
	err    error // the first one
}

// failed is what WriteBack was told, and no sync will be.
func (b *writeBack) failed() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

func (f *osFile) ReadAt(p []byte, off int64) (int, error)  { return f.f.ReadAt(p, off) }
func (f *osFile) WriteAt(p []byte, off int64) (int, error) { return f.f.WriteAt(p, off) }
func (f *osFile) Close() error                             { return f.f.Close() }

func (f *osFile) Size() (int64, error) {
	info, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) Truncate(size int64) error {
	if size < 0 {
		return pathError("truncate", f.name, errNegative)
	}
	return f.f.Truncate(size)
}

// Preallocate restores the size after a failure: systems extend a file step by
// step and leave what they got, which a reader of the tail would take for a
// preallocation that succeeded.
func (f *osFile) Preallocate(size int64) error {
	if size < 0 {
		return pathError("preallocate", f.name, errNegative)
	}
	f.grow.Lock()
	defer f.grow.Unlock()
	old, err := f.Size()
	if err != nil || size == 0 {
		return err
	}
	err = allocate(f.f, old, size)
	if err == nil {
		return nil
	}
	if now, serr := f.Size(); serr == nil && now > old {
		// The first cause is what the caller acts on; a file left longer
		// holds zeros, which is a legal state.
		_ = f.f.Truncate(old)
	}
	if _, ok := err.(*fs.PathError); !ok {
		err = pathError("preallocate", f.name, err)
	}
	return err
}

// writeZeros extends the file from old to size with written zeros.
func writeZeros(f *os.File, old, size int64) error {
	zeros := make([]byte, 256<<10)
	for off := old; off < size; {
		n, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-off)], off)
		if err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}

func (f *osFile) SyncData() error {
	if err := f.back.failed(); err != nil {
		return err
	}
	if err := syncData(f.f); err != nil {
		if _, ok := err.(*fs.PathError); !ok {
			err = pathError("syncdata", f.name, err)
		}
		return err
	}
	return nil
}

// Sync is fsync; on darwin os.File.Sync is F_FULLFSYNC, which alone reaches
// the medium there.
func (f *osFile) Sync() error {
	if err := f.back.failed(); err != nil {
		return err
	}
	return f.f.Sync()
}
