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
	err = control(f, func(fd uintptr) (err error) {
		r, err = mmap.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // no /proc here
		return mapByName(f, path)
	}
	return r, err
}
