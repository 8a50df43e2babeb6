package vfs

import (
	"errors"
	"io/fs"
	"path"
)

var (
	// ErrLocked is returned by FS.Lock when another holder, in this process
	// or another, has the lock.
	ErrLocked = errors.New("vfs: file is locked by another holder")

	// ErrPageFault is returned by Mapped.ReadAt when the bytes behind the
	// mapping cannot be read: the file was cut under it, or the device failed.
	ErrPageFault = errors.New("vfs: mapped file cannot be read")

	errReadOnly = errors.New("file is open for reading only")
	errNegative = errors.New("negative offset or size")
	errNotFile  = errors.New("not a regular file")
	errNotDir   = errors.New("not a directory")
)

// checkName accepts relative slash-separated names without empty, "." or ".."
// elements ("." alone is the root). Every implementation applies it, so a name
// that works in a simulation works on a disk.
func checkName(op, name string) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return nil
}

// checkEntry is checkName for names that are made or removed: the root itself
// is neither.
func checkEntry(op, name string) error {
	if name == "." {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return checkName(op, name)
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// splitName cuts a checked name into its directory and base name.
func splitName(name string) (dir, base string) {
	return path.Dir(name), path.Base(name)
}
