package vfs

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// WriteBack waits for the range before, not for this one: the caller works meanwhile.
func (f *osFile) WriteBack(off, n int64) {
	b := &f.back
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil || off < 0 || n <= 0 {
		return
	}
	err := control(f.f, func(fd uintptr) error {
		if b.n > 0 {
			// Writes that failed are told once per open file: what is told here, no
			// sync tells any more.
			if err := unix.SyncFileRange(int(fd), b.off, b.n, unix.SYNC_FILE_RANGE_WAIT_BEFORE); err != nil {
				return err
			}
		}
		return unix.SyncFileRange(int(fd), off, n, unix.SYNC_FILE_RANGE_WRITE)
	})
	b.off, b.n = off, n
	b.note(f.name, err)
}

// note keeps the first error that is about bytes.
func (b *writeBack) note(name string, err error) {
	if err != nil && b.err == nil && !neverBegun(err) {
		b.err = pathError("writeback", name, err)
	}
}

// neverBegun reports whether an error is about the call, and not about the bytes: the
// file cannot be synced in parts, or is closed.
func neverBegun(err error) bool {
	for _, e := range []error{fs.ErrClosed, unix.EBADF, unix.ENOSYS, unix.EINVAL, unix.ESPIPE, unix.EOPNOTSUPP, unix.EPERM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
