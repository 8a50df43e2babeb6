package engine

import (
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
)

// sharedReaders are the mappings and handles that all histories of a store read
// through. Branch points have most files in common, and it is Go's collector that finds
// out when nobody has a history any more: with readers of their own, a program that
// looks at one branch point after the other would have each file mapped as often as it
// looked, and mappings are few.
type sharedReaders struct {
	mu      sync.Mutex // held while a file is opened or closed
	open    map[sharedKey]*sharedFile
	handles atomic.Int32 // files that are open
}

type sharedKey struct {
	path   string
	handle bool
}

// sharedFile is open as long as somebody has it.
type sharedFile struct {
	io.ReaderAt
	io.Closer
	users int // guarded by the readers' mu
}

// sharedReader is one user's part of a file.
type sharedReader struct {
	all  *sharedReaders
	key  sharedKey
	file *sharedFile

	mu     sync.RWMutex // read-held by reads
	closed bool
}

// acquire returns a reader of a sealed file, which open opens if nobody has it open.
func (s *sharedReaders) acquire(path string, handle bool, open func() (*objectReader, error)) (*sharedReader, error) {
	key := sharedKey{path, handle}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.open[key]
	if f == nil {
		r, err := open()
		if err != nil {
			return nil, err
		}
		f = &sharedFile{ReaderAt: r.ReaderAt, Closer: r.own}
		if s.open == nil {
			s.open = map[sharedKey]*sharedFile{}
		}
		s.open[key] = f
		if handle {
			s.handles.Add(1)
		}
	}
	f.users++
	return &sharedReader{all: s, key: key, file: f}, nil
}

// ReadAt fails with fs.ErrClosed behind Close, also while others have the file open.
func (r *sharedReader) ReadAt(b []byte, off int64) (int, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return 0, fs.ErrClosed
	}
	return r.file.ReadAt(b, off)
}

// Close waits for reads. The last one that has the file closes it.
func (r *sharedReader) Close() error {
	r.mu.Lock()
	was := r.closed
	r.closed = true
	r.mu.Unlock()
	if was {
		return fs.ErrClosed
	}
	s := r.all
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.file.users--; r.file.users > 0 {
		return nil
	}
	delete(s.open, r.key)
	if r.key.handle {
		s.handles.Add(-1)
	}
	return r.file.Close()
}
