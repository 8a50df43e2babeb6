package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/exp/mmap"
)

// osMapped is a mapping of x/exp/mmap, which is made safe against a concurrent
// Close and against a file that shrinks.
type osMapped struct {
	name string
	n    int
	mu   sync.RWMutex // read-held while bytes are copied: Close waits for them
	r    *mmap.ReaderAt
}

func (f *osFile) Map() (Mapped, error) {
	r, err := openMapping(f.f, f.path)
	if err != nil {
		var pe *fs.PathError
		if !errors.As(err, &pe) {
			err = pathError("map", f.name, err)
		}
		return nil, err
	}
	return &osMapped{name: f.name, n: r.Len(), r: r}, nil
}

// mapByName maps the file at path, which must still be the open file: mmap.Open
// takes names only, and a name may have been renamed since.
func mapByName(f *os.File, path string) (*mmap.ReaderAt, error) {
	same := func() error {
		open, err := f.Stat()
		if err != nil {
			return err
		}
		named, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !os.SameFile(open, named) {
			return fmt.Errorf("the name %s stands for another file now: %w", path, fs.ErrNotExist)
		}
		return nil
	}
	if err := same(); err != nil {
		return nil, err
	}
	r, err := mmap.Open(path)
	if err != nil {
		return nil, err
	}
	if err := same(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (m *osMapped) Len() int { return m.n }

func (m *osMapped) ReadAt(p []byte, off int64) (n int, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.r == nil {
		return 0, pathError("read", m.name, fs.ErrClosed)
	}
	if off < 0 {
		return 0, pathError("read", m.name, errNegative)
	}
	if off > int64(m.n) {
		off = int64(m.n)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			fault, ok := r.(interface {
				runtime.Error
				Addr() uintptr
			})
			if !ok {
				panic(r)
			}
			n, err = 0, pathError("read", m.name, fmt.Errorf("%w: %w", ErrPageFault, fault))
		}
	}()
	return m.r.ReadAt(p, off)
}

func (m *osMapped) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.r == nil {
		return pathError("close", m.name, fs.ErrClosed)
	}
	err := m.r.Close()
	m.r = nil
	return err
}
