//go:build unix

package vfs

import "golang.org/x/sys/unix"

// mayWrite asks the system whether this process may write a file, or make names in a
// directory.
func mayWrite(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) == nil
}
