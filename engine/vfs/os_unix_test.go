//go:build unix

package vfs

import (
	"os"
	"syscall"
)

// blocksOf returns the 512-byte blocks a file takes.
func blocksOf(f *os.File) (int64, bool) {
	info, err := f.Stat()
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Blocks, true
}
