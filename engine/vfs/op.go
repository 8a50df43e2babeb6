package vfs

import (
	"fmt"
	"strings"
)

// Kind names one operation of the interfaces FS, File, Mapped and Lock. Kinds
// are bits, so a set of kinds is their union.
type Kind uint32

const (
	OpCreate Kind = 1 << iota
	OpOpen
	OpOpenRead
	OpRename
	OpLink
	OpRemove
	OpList
	OpMkdir
	OpStat
	OpSyncDir
	OpLock
	OpRead
	OpWrite
	OpSize
	OpTruncate
	OpPreallocate
	OpSyncData
	OpSync
	OpMap
	OpMapRead
	OpUnmap
	OpClose
	OpLockWrite
	OpLockRead
	OpUnlock
	OpPeekLock

	kindEnd
)

// Sets of kinds.
const (
	AllOps = kindEnd - 1
	// SyncOps make something durable.
	SyncOps = OpSyncData | OpSync | OpSyncDir
	// MutatingOps change what is stored, or how much of it is durable. They
	// are the ones Mem numbers (Mem counts a lock's writes as OpWrite and
	// OpTruncate of its file).
	MutatingOps = OpCreate | OpRename | OpLink | OpRemove | OpMkdir | OpWrite | OpTruncate | OpPreallocate | OpLockWrite | SyncOps
)

var kindNames = [...]string{"create", "open", "openread", "rename", "link", "remove", "list", "mkdir", "stat", "syncdir",
	"lock", "read", "write", "size", "truncate", "preallocate", "syncdata", "sync", "map", "mapread", "unmap", "close",
	"lockwrite", "lockread", "unlock", "peeklock"}

// String is the kind's lower-case name; a set's names are joined with "|".
func (k Kind) String() string {
	var names []string
	for i, name := range kindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, "|")
}

// Op is one operation as Mem's journal, Fault and Trace see it.
type Op struct {
	N    int    // number, from 1; each counter says what it counts
	Kind Kind   // exactly one bit
	Name string // the file's name when it was opened; the old name of a rename or link
	To   string // the new name of a rename or link
	Off  int64  // of a read or write
	Size int64  // bytes of a read or write; new size of a truncate or preallocate

	// Data is what a write writes. It must not be changed, and outside of
	// Mem's journal not be kept.
	Data []byte
	// Failed marks a sync in Mem's journal that was reported as failed.
	Failed bool

	node  uint64 // Mem: the file the operation addressed
	limit int64  // wrappers: bytes of a write that may reach the inner file
	file  File   // wrappers: the inner file, nil for operations of FS
}

// String is the operation in one line, without its number and data.
func (o Op) String() string {
	s := o.Kind.String() + " " + o.Name
	switch o.Kind {
	case OpRename, OpLink:
		s += " -> " + o.To
	case OpRead, OpWrite, OpMapRead:
		s += fmt.Sprintf(" off=%d len=%d", o.Off, o.Size)
	case OpLockWrite:
		s += fmt.Sprintf(" len=%d", o.Size)
	case OpTruncate, OpPreallocate:
		s += fmt.Sprintf(" size=%d", o.Size)
	}
	if o.Failed {
		s += " failed"
	}
	return s
}
