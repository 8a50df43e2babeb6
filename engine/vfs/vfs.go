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
	// Rename gives the file the new name, which it takes from another file
	// that has it. In a crash it is atomic; after SyncDir of the new
	// directory only, the old name in another directory may still be there.
	Rename(from, to string) error
	// Link gives the file a second name and fails with fs.ErrExist when it is taken.
	Link(from, to string) error
	// Remove removes a file's name, or an empty directory. Open files and
	// mappings stay usable (except on Windows, where Remove may fail).
	Remove(name string) error
	// List returns the base names in dir, sorted.
	List(dir string) ([]string, error)
	// Mkdir makes one directory, whose parent exists; an existing directory
	// is no error.
	Mkdir(name string) error
	Stat(name string) (Info, error)
	// SyncDir makes the entries of a directory durable: which names it has,
	// and not the files behind them.
	SyncDir(name string) error
	// Lock takes the exclusive advisory lock on name, creating the file when
	// missing; it fails with ErrLocked at once when another holder has it.
	Lock(name string) (Lock, error)
	// PeekLock returns what a lock file holds and whether somebody has its lock,
	// and changes nothing. A Lock meanwhile is not refused for it. What is written
	// meanwhile may come in part, of the old and of the new contents. A name that
	// was never locked is an fs.ErrNotExist.
	PeekLock(name string) (contents []byte, held bool, err error)
}

// Info describes a file or directory.
type Info struct {
	Name string // base name
	Size int64
	Dir  bool
}

// File is an open file. Offsets are explicit; there is no file position. Its
// methods may be called from several goroutines. After Close they match
// fs.ErrClosed.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	// Truncate cuts the file, or extends it with zeros that take no room. It
	// is durable after Sync, not after SyncData.
	Truncate(size int64) error
	// Preallocate makes the file at least size bytes long with zeros backed
	// by storage, so that later writes below size cannot fail for lack of
	// space and, once the file was synced, SyncData need not write metadata.
	// It fails with syscall.ENOSPC and leaves the size unchanged when there
	// is no room; it never shortens a file.
	Preallocate(size int64) error
	// SyncData makes written bytes durable (fdatasync), and of the size what
	// is needed to read them. After an error nothing that was not durable
	// before is, and a later success does not change that: it must be written
	// again.
	SyncData() error
	// Sync makes bytes and metadata (size) durable (fsync). For an error see
	// SyncData.
	Sync() error
	// AdviseRandom tells the system that reads will lie apart, so that it reads
	// no more of the file than it is asked for. Where it cannot be told, nothing
	// happens.
	AdviseRandom()
	// WriteBack lets the system begin to bring the written bytes of a range to the
	// medium, once those of the call before are there: so a file that grows a piece
	// and a call at a time is never far ahead of its medium, and its Sync has little
	// left to do. Nothing is durable for it. A write that failed is an error of the
	// next Sync or SyncData, and of all behind it. Where there is no such call,
	// nothing happens.
	WriteBack(off, n int64)
	// Map maps the whole file read-only, as long as it is now.
	Map() (Mapped, error)
}

// Mapped is a read-only view of a whole file that stays valid until Close,
// also after the file itself is closed. Close waits for reads. Reading what
// the device cannot give, or what was cut off since, fails with ErrPageFault.
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
