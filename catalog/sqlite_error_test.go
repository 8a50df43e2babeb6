package catalog

import (
	"testing"

	lib "modernc.org/sqlite/lib"
)

// A -shm file that cannot be made longer is a full disk to the caller, and a
// storage error to the process that saw it.
func TestNoSpaceForSharedMemory(t *testing.T) {
	for rc, want := range map[int]Code{
		lib.SQLITE_IOERR_SHMSIZE: CodeFull, lib.SQLITE_FULL: CodeFull,
		lib.SQLITE_IOERR_SHMMAP: CodeIO, lib.SQLITE_IOERR_WRITE: CodeIO,
	} {
		if got := codeOf(rc); got != want {
			t.Errorf("code of %d: %s, want %s", rc, got, want)
		}
		if bad := isStorageError(&Error{Code: codeOf(rc), Result: rc}); bad != (rc != lib.SQLITE_FULL) {
			t.Errorf("%d is a storage error: %t", rc, bad)
		}
	}
}
