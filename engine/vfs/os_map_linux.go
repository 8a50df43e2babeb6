package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/exp/mmap"
)

// openMapping maps through /proc/self/fd, which names exactly the open file
// even after a rename or removal.
func openMapping(f *os.File, path string) (r *mmap.ReaderAt, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	if cerr := conn.Control(func(fd uintptr) {
		r, err = mmap.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	}); cerr != nil {
		return nil, cerr
	}
	if errors.Is(err, fs.ErrNotExist) { // no /proc here
		return mapByName(f, path)
	}
	return r, err
}
