//go:build !linux

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/exp/mmap"
)

// openMapping maps the file at path, which must still be the open file: mmap.Open
// takes names only, and a name may have been renamed since.
func openMapping(f *os.File, path string) (mapping, error) {
	same := func() error {
		open, err := f.Stat()
		if err != nil {
			return err
		}
		named, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !os.SameFile(open, named) {
			return fmt.Errorf("the name %s stands for another file now: %w", path, fs.ErrNotExist)
		}
		return nil
	}
	if err := same(); err != nil {
		return nil, err
	}
	r, err := mmap.Open(path)
	if err != nil {
		return nil, err
	}
	if err := same(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}
