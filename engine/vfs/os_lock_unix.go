//go:build unix

package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes flock, which the kernel drops when the last descriptor of
// this open file is closed: also when the process is killed.
func lockFile(f *os.File) error { return tryFlock(f, unix.LOCK_EX) }

// shareFile takes the lock in a way that excludes only who has it for himself.
func shareFile(f *os.File) error { return tryFlock(f, unix.LOCK_SH) }

func tryFlock(f *os.File, how int) error {
	err := flock(f, how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// unlockFile unlocks before the close, since a child started at a bad moment
// may hold a copy of the descriptor.
func unlockFile(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	return control(f, func(fd uintptr) error { return unix.Flock(int(fd), how) })
}
