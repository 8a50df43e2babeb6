package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"sync"
)

// mapping is what the system makes: on Linux pages, elsewhere x/exp/mmap's. An
// offset it is asked for lies in it, or at its end.
type mapping interface {
	io.ReaderAt
	io.Closer
	Len() int
}

// osMapped is a mapping that is safe against a concurrent Close and against a
// file that shrinks.
type osMapped struct {
	name string
	n    int
	mu   sync.RWMutex // read-held while bytes are copied: Close waits for them
	r    mapping
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
