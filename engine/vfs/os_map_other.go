//go:build !linux

package vfs

import (
	"os"

	"golang.org/x/exp/mmap"
)

func openMapping(f *os.File, path string) (*mmap.ReaderAt, error) { return mapByName(f, path) }
