package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

// TestWriteBackFails: the system tells of a write that failed once per open file, and
// WriteBack may be who is told.
func TestWriteBackFails(t *testing.T) {
	f := OS(t.TempDir())
	file := create(t, f, "a", "A")
	defer file.Close()
	file.WriteBack(0, 1)
	ok(t, file.Sync())
	file.(*osFile).back.note("a", fmt.Errorf("control: %w", syscall.EIO))
	for range 2 {
		wantErr(t, file.SyncData(), syscall.EIO)
		wantErr(t, file.Sync(), syscall.EIO)
		file.WriteBack(0, 1) // does not make up for it
	}
	other, err := f.Open("a")
	ok(t, err)
	ok(t, other.Sync())
	ok(t, other.Close())
}

// TestWriteBackRefused: a system that does not know the call is no reason to fail.
func TestWriteBackRefused(t *testing.T) {
	for _, err := range []error{syscall.ENOSYS, syscall.EINVAL, syscall.ESPIPE, syscall.EOPNOTSUPP, syscall.EPERM, syscall.EBADF, fs.ErrClosed} {
		var b writeBack
		b.note("a", fmt.Errorf("control: %w", err))
		if got := b.failed(); got != nil {
			t.Errorf("%v became %v", err, got)
		}
	}
	for _, err := range []error{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, errors.New("who knows")} {
		var b writeBack
		b.note("a", err)
		wantErr(t, b.failed(), err)
	}
}
