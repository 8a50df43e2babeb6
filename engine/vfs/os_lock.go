package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
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

	mu   sync.Mutex
	f    *os.File // nil when closed
	long int      // bytes that were written last, 0 when nothing was
}

func (o *osFS) Lock(name string) (Lock, error) {
	if err := checkEntry("lock", name); err != nil {
		return nil, err
	}
	var lock *osLock
	err := o.in("lock", name, func(r *os.Root, local string) (err error) {
		// A file removed or replaced between open and lock is not the one
		// others will find, so its lock excludes nobody: try again.
		for tries := 0; lock == nil && (err == nil || errors.Is(err, errPeeked) && tries < peekTries); tries++ {
			if err != nil {
				time.Sleep(peekPause)
			}
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
	if err := lockFile(f); errors.Is(err, ErrLocked) {
		return nil, pathError("lock", name, peeked(f))
	} else if err != nil {
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

// Whether a lock is held is found out by taking it: shared, and for a moment. A
// Lock that comes right then is refused by the system, but by nobody who has the
// lock. It tells so by taking it shared, too, which the holder of the lock would
// not let it, and tries again.
const (
	peekTries = 1000
	peekPause = time.Millisecond
)

// errPeeked is ErrLocked when it was only looked at.
var errPeeked = fmt.Errorf("%w, by somebody who looks whether it is", ErrLocked)

// peeked tells who has a lock that could not be taken.
func peeked(f *os.File) error {
	if err := shareFile(f); err != nil {
		return err
	}
	if err := unlockFile(f); err != nil {
		return err
	}
	return errPeeked
}

// PeekLock implements FS. The contents are read when it is known who has the lock: if
// nobody, nobody has written to them since.
func (o *osFS) PeekLock(name string) (contents []byte, held bool, err error) {
	f, err := o.open("peeklock", name, os.O_RDONLY)
	if err != nil {
		return nil, false, err
	}
	file := f.(*osFile).f
	defer f.Close()
	if held, err = isLocked(file); err != nil {
		return nil, false, pathError("peeklock", name, err)
	}
	contents, err = io.ReadAll(io.NewSectionReader(file, 0, maxLockBytes))
	if err != nil {
		return nil, false, pathError("peeklock", name, err)
	}
	return contents, held, nil
}

// isLocked tells whether somebody has the lock of an open file.
func isLocked(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	osLocks.Lock()
	defer osLocks.Unlock()
	for _, held := range osLocks.held {
		if os.SameFile(held, info) {
			return true, nil
		}
	}
	switch err := shareFile(f); {
	case errors.Is(err, ErrLocked):
		return true, nil
	case err != nil:
		return false, err
	}
	return false, unlockFile(f)
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
	was := l.long
	l.long = 0
	if _, err := f.WriteAt(contents, 0); err != nil {
		return err
	}
	if was == 0 || was != len(contents) {
		if err := f.Truncate(int64(len(contents))); err != nil {
			return err
		}
	}
	l.long = len(contents)
	return nil
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

// maxLockBytes bounds what is read of a lock file, whoever wrote it: room for a
// thousand lines with the longest names there are.
const maxLockBytes = 1 << 20

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
