//go:build unix

package driver

import "syscall"

// makeFifo makes a fifo and reports whether the file system has them.
func makeFifo(path string) bool { return syscall.Mkfifo(path, 0o600) == nil }
