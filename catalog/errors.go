package catalog

import (
	"errors"
	"fmt"
)

// Code is the stable name of a refusal. It is itself an error, so that
// errors.Is(err, CodeImmutable) works on anything this package returns.
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// Codes that the schema's guards use.
const (
	CodeIdentity   Code = "CAT-IDENTITY"   // identity, policy and creation settings are fixed
	CodeAllocator  Code = "CAT-ALLOCATOR"  // a value was not reserved, or an allocator would go back
	CodeImmutable  Code = "CAT-IMMUTABLE"  // the row, or this part of it, never changes
	CodeDuplicate  Code = "CAT-DUPLICATE"  // the identity is in use
	CodeReuse      Code = "CAT-REUSE"      // the identity belongs to a collected object
	CodeState      Code = "CAT-STATE"      // the transition does not exist
	CodeRevision   Code = "CAT-REVISION"   // the row changed since it was read
	CodeSeal       Code = "CAT-SEAL"       // sealing without completed barriers
	CodeLimit      Code = "CAT-LIMIT"      // an explicit limit of the catalog
	CodeSession    Code = "CAT-SESSION"    // only a live session acquires
	CodeOwner      Code = "CAT-OWNER"      // the owner cannot take this root
	CodeRetire     Code = "CAT-RETIRE"     // the root or owner is still needed
	CodeSelected   Code = "CAT-SELECTED"   // a timeline or branch point selects the owner
	CodeAcquire    Code = "CAT-ACQUIRE"    // the object cannot be retained any more
	CodeManifest   Code = "CAT-MANIFEST"   // the representation is incomplete
	CodeGC         Code = "CAT-GC"         // the object may not be collected
	CodeRecovery   Code = "CAT-RECOVERY"   // needs recovery evidence
	CodeShard      Code = "CAT-SHARD"      // a shard's counters only advance
	CodeGeneration Code = "CAT-GENERATION" // generations of a shard are dense and sealed in order
	CodeGraph      Code = "CAT-GRAPH"      // the edge does not fit the objects or their order
	CodeBlob       Code = "CAT-BLOB"       // the blob's objects or edges do not fit
	CodePublish    Code = "CAT-PUBLISH"    // an attempt's state contradicts the head or the operation's outcome
	CodeJob        Code = "CAT-JOB"        // a job's counters, attempts or owner
	CodeFragment   Code = "CAT-FRAGMENT"   // the fragments of a base object, or the base of a publication
	CodeIndex      Code = "CAT-INDEX"      // segments, positions or the index state of a representation
	CodeMerge      Code = "CAT-MERGE"      // the outputs of a merge that timelines share, or who waits for it
)

// Codes that the Go side uses.
const (
	CodeMissing    Code = "CAT-MISSING"    // no catalog in the directory
	CodeNotStore   Code = "CAT-NOTSTORE"   // the file is not a catalog of a store
	CodeUnfinished Code = "CAT-UNFINISHED" // creation was interrupted
	CodeVersion    Code = "CAT-VERSION"    // version newer than known, or older and not migratable here
	CodePolicy     Code = "CAT-POLICY"     // policy differs from this program's
	CodeSchema     Code = "CAT-SCHEMA"     // a required table, index, trigger or view is missing or changed
	CodeDigest     Code = "CAT-DIGEST"     // a row does not have the digest it was written with
	CodeCorrupt    Code = "CAT-CORRUPT"    // rows contradict each other, or SQLite found damage
	CodeLibrary    Code = "CAT-LIBRARY"    // the SQLite library is too old
	CodePragma     Code = "CAT-PRAGMA"     // a connection does not have the settings it must have
	CodeNetwork    Code = "CAT-NETWORK"    // the directory is on a network filesystem
	CodeBusy       Code = "CAT-BUSY"       // another connection holds the write lock
	CodeCanceled   Code = "CAT-CANCELED"   // the caller's context ended; nothing changed
	CodeFull       Code = "CAT-FULL"       // no space
	CodeIO         Code = "CAT-IO"         // storage error
	CodePoisoned   Code = "CAT-POISONED"   // an earlier failure; reopen the store
	CodeReadOnly   Code = "CAT-READONLY"   // the handle does not write
	CodeClosed     Code = "CAT-CLOSED"     // the handle is closed
	CodeRange      Code = "CAT-RANGE"      // number outside 1..2^62-1 (ids) or 0..2^62-1 (counters)
	CodeEncoding   Code = "CAT-ENCODING"   // a BLOB or name is not in its canonical form
	CodeUnknown    Code = "CAT-UNKNOWN"    // no such row
	CodeExists     Code = "CAT-EXISTS"     // the name is taken
	CodeInUse      Code = "CAT-INUSE"      // something needs it; see InUseError
	CodeConflict   Code = "CAT-CONFLICT"   // the head is not the expected one; see ConflictError
	CodeNothing    Code = "CAT-NOTHING"    // the publication would change nothing
	CodeSum        Code = "CAT-SUM"        // contributions do not add up to the world's fingerprint
	CodeCheck      Code = "CAT-CHECK"      // CHECK or NOT NULL
	CodeType       Code = "CAT-TYPE"       // value of the wrong storage class
	CodeUnique     Code = "CAT-UNIQUE"     // UNIQUE or PRIMARY KEY
	CodeForeignKey Code = "CAT-FOREIGNKEY" // the row it refers to does not exist
	CodeSQLite     Code = "CAT-SQLITE"     // any other SQLite error
)

// Sentinels for the outcomes a caller branches on.
var (
	ErrMissing    error = CodeMissing
	ErrNotStore   error = CodeNotStore
	ErrUnfinished error = CodeUnfinished
	ErrBusy       error = CodeBusy
	ErrFull       error = CodeFull
	ErrPoisoned   error = CodePoisoned
	ErrReadOnly   error = CodeReadOnly
	ErrClosed     error = CodeClosed
	ErrConflict   error = CodeConflict
	ErrNotFound   error = CodeUnknown
	ErrExists     error = CodeExists
	ErrInUse      error = CodeInUse
	ErrNothing    error = CodeNothing
	// ErrNotAcquirable: what was to be retained is on its way out, or in quarantine.
	ErrNotAcquirable error = CodeAcquire

	// ErrNewer: the catalog was written by a newer program.
	ErrNewer = errors.New("the store is newer than this program")
	// ErrOlder: the catalog needs a migration, which a read-only open does not do.
	ErrOlder = errors.New("the store is older than this program")
	// ErrCorrupt: a digest, the schema or the rows are damaged.
	ErrCorrupt = errors.New("the catalog is damaged")
	// ErrLost: there are object files and no catalog that names them. It is an
	// ErrCorrupt, too.
	ErrLost = errors.New("the catalog was lost")
	// ErrOutcomeUnknown: a COMMIT failed in a way that leaves open whether it took effect.
	ErrOutcomeUnknown = errors.New("outcome unknown")
)

// Error is what every call of this package returns when it fails.
type Error struct {
	Code           Code
	Op             string // the call or transaction, for example "seal-generation"
	Result         int    // SQLite's extended result code, 0 when SQLite was not the one to refuse
	OutcomeUnknown bool   // a COMMIT failed; reopening the store tells
	Err            error
}

// Error returns operation, code and cause.
func (e *Error) Error() string {
	s := "catalog: " + e.Op + ": "
	if e.OutcomeUnknown {
		s += "outcome unknown: "
	}
	if e.Err == nil {
		return s + string(e.Code)
	}
	return s + string(e.Code) + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports the code, and the sentinels that several codes share.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrOutcomeUnknown:
		return e.OutcomeUnknown
	case ErrCorrupt:
		return e.Code == CodeCorrupt || e.Code == CodeDigest || e.Code == CodeSchema
	}
	code, ok := target.(Code)
	return ok && code == e.Code
}

// ConflictError is the cause of an [Error] with CodeConflict: a publication was
// built against a head that has moved on.
type ConflictError struct {
	ExpectedRevision, ExpectedRepresentation int64
	// the head that was there instead
	ObservedRevision, ObservedRepresentation, ObservedWorld int64
}

// Error names both heads.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("expected revision %d with representation %d, the head is at revision %d with representation %d",
		e.ExpectedRevision, e.ExpectedRepresentation, e.ObservedRevision, e.ObservedRepresentation)
}

// InUseError is the cause of an [Error] with CodeInUse: a timeline cannot be dropped.
type InUseError struct {
	Timeline string `db:"-"`
	Kind     string // of what needs it: UserFork, an owner's kind, or "" for a publication under way
	Name     string // of what needs it
	By       string // both in words, and how, for example: branch_point "before" retains …
}

// UserFork is the Kind of a timeline that was forked from the one to be dropped.
const UserFork = "fork"

// Error names what needs the timeline.
func (e *InUseError) Error() string {
	return fmt.Sprintf("timeline %q is needed: %s", e.Timeline, e.By)
}

// refuse builds an Error of the Go side.
func refuse(code Code, op, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, Err: fmt.Errorf(format, args...)}
}
