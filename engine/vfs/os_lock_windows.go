package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// The locked byte lies far behind the contents: Windows locks are mandatory,
// and other processes must be able to read who holds the lock.
func lockRegion() *windows.Overlapped {
	return &windows.Overlapped{Offset: 0, OffsetHigh: 1 << 30}
}

func lockFile(f *os.File) error {
	err := onHandle(f, func(h windows.Handle) error {
		return windows.LockFileEx(h, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockRegion())
	})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

func unlockFile(f *os.File) error {
	return onHandle(f, func(h windows.Handle) error { return windows.UnlockFileEx(h, 0, 1, 0, lockRegion()) })
}

func onHandle(f *os.File, do func(windows.Handle) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	if err := conn.Control(func(fd uintptr) { ferr = do(windows.Handle(fd)) }); err != nil {
		return err
	}
	return ferr
}
