// Package vfs is the only way the engine touches files: the operating
// system's, an in-memory one that simulates crashes, and wrappers that inject
// faults and record operations.
package vfs

import "io"

// FS is a tree of files below one root. Names are relative to the root and
// slash-separated ("objects/2b/1a/0000000000001a2b.kv"); "." is the root.
// Errors match fs.ErrNotExist, fs.ErrExist and syscall.ENOSPC with errors.Is.
//
// A name made or removed by Create, Rename, Link, Remove or Mkdir is durable
// only after SyncDir of the directory that holds it.
type FS interface {
	// Create makes a new file for reading and writing; it fails with
	// fs.ErrExist when the name is taken.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// OpenRead opens an existing file for reading only.
	OpenRead(name string) (File, error)
	Rename(from, to string) error
	// Link gives the file a second name and fails with fs.ErrExist when it is taken.
	Link(from, to string) error
	Remove(name string) error
	// List returns the base names in dir, sorted.
	List(dir string) ([]string, error)
	// Mkdir makes one directory; an existing directory is no error.
	Mkdir(name string) error
	Stat(name string) (Info, error)
	SyncDir(name string) error
	// Lock takes the exclusive advisory lock on name, creating the file when
	// missing; it fails with ErrLocked at once when another holder has it.
	Lock(name string) (Lock, error)
}

// Info describes a file or directory.
type Info struct {
	Name string // base name
	Size int64
	Dir  bool
}

// File is an open file. Offsets are explicit; there is no file position.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error
	// Preallocate makes the file at least size bytes long with zeros backed
	// by storage, so that later writes below size cannot fail for lack of
	// space and Data sync need not write metadata. It fails with
	// syscall.ENOSPC and leaves the size unchanged when there is no room.
	Preallocate(size int64) error
	// SyncData makes written bytes durable (fdatasync).
	SyncData() error
	// Sync makes bytes and metadata (size) durable (fsync).
	Sync() error
	// Map maps the whole file read-only.
	Map() (Mapped, error)
}

// Mapped is a read-only view of a whole file that stays valid until Close.
type Mapped interface {
	io.ReaderAt
	io.Closer
	Len() int
}

// Lock is a held lock file whose small contents other processes may read.
type Lock interface {
	// Write replaces the contents in place (no sync, no rename).
	Write(contents []byte) error
	Read() ([]byte, error)
	// Close releases the lock; the file stays.
	Close() error
}
