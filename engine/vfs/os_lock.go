package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
)

// osLocks holds every lock file this process has locked. The system's locks
// belong to an open file on some systems and to the process on others (and on
// network file systems), so only this registry keeps two stores of one process
// apart everywhere.
var osLocks struct {
	sync.Mutex
	held []os.FileInfo
}

// osLock is a held lock: an open file, locked until it is closed.
type osLock struct {
	name string
	info os.FileInfo

	mu sync.Mutex
	f  *os.File // nil when closed
}

func (o *osFS) Lock(name string) (Lock, error) {
	if err := checkEntry("lock", name); err != nil {
		return nil, err
	}
	var lock *osLock
	err := o.in("lock", name, func(r *os.Root, local string) (err error) {
		// A file removed or replaced between open and lock is not the one
		// others will find, so its lock excludes nobody: try again.
		for lock == nil && err == nil {
			lock, err = tryLock(r, local, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// tryLock returns nil without an error when the locked file lost its name.
func tryLock(r *os.Root, local, name string) (_ *osLock, err error) {
	f, err := r.OpenFile(local, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, pathError("lock", name, errNotFile)
	}
	osLocks.Lock()
	defer osLocks.Unlock()
	for _, held := range osLocks.held {
		if os.SameFile(held, info) {
			return nil, pathError("lock", name, ErrLocked)
		}
	}
	if err := lockFile(f); err != nil {
		return nil, pathError("lock", name, err)
	}
	now, err := r.Stat(local)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(now, info) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	osLocks.held = append(osLocks.held, info)
	keep = true
	return &osLock{name: name, info: info, f: f}, nil
}

func (l *osLock) file(op string) (*os.File, error) {
	if l.f == nil {
		return nil, pathError(op, l.name, fs.ErrClosed)
	}
	return l.f, nil
}

func (l *osLock) Write(contents []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.file("write")
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(contents, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(contents)))
}

func (l *osLock) Read() ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.file("read")
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(f, 0, maxLockBytes))
}

// maxLockBytes bounds what Read takes from a lock file, whoever wrote it.
const maxLockBytes = 64 << 10

func (l *osLock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.file("unlock")
	if err != nil {
		return err
	}
	l.f = nil
	osLocks.Lock()
	defer osLocks.Unlock()
	for i, held := range osLocks.held {
		if os.SameFile(held, l.info) {
			osLocks.held = append(osLocks.held[:i], osLocks.held[i+1:]...)
			break
		}
	}
	return errors.Join(unlockFile(f), f.Close())
}
