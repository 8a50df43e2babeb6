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

func lockFile(f *os.File) error { return lockAs(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// shareFile takes the lock in a way that excludes only who has it for himself.
func shareFile(f *os.File) error { return lockAs(f, 0) }

func lockAs(f *os.File, how uint32) error {
	err := control(f, func(fd uintptr) error {
		return windows.LockFileEx(windows.Handle(fd), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockRegion())
	})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

func unlockFile(f *os.File) error {
	return control(f, func(fd uintptr) error {
		return windows.UnlockFileEx(windows.Handle(fd), 0, 1, 0, lockRegion())
	})
}
