package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// Errors of opening.
var (
	// ErrShards: the store was made with another number of shards.
	ErrShards = errors.New("engine: another number of shards")
	// ErrLocked: another process, or another Store of this one, has the
	// directory open for writing.
	ErrLocked = errors.New("engine: the store is open for writing elsewhere")
	// ErrTimelineOpen: the timeline is open in this process already.
	ErrTimelineOpen = errors.New("engine: the timeline is open")
	// ErrAmbiguous: a timeline and a branch point have the name.
	ErrAmbiguous = errors.New("engine: the name of a timeline and of a branch point")
	// ErrNewer: a file, or a record in one, was written by a later version of the
	// program.
	ErrNewer = wal.ErrNewer
	// ErrNotStore: there is no store in the directory and Options.Create is off.
	ErrNotStore = errors.New("engine: not a store")
)

// ErrJob: there is no such job, or not with that target.
var ErrJob = errors.New("engine: no such job")

// jobTargetError is an ErrJob of a kind that there is: its target is wrong.
type jobTargetError struct{ reason string }

func (e *jobTargetError) Error() string        { return "engine: " + e.reason }
func (e *jobTargetError) Is(target error) bool { return target == ErrJob }

// Errors of writing. Nothing of the transaction happened, unless said so.
var (
	// ErrReadOnly: the store is open read-only.
	ErrReadOnly = errors.New("engine: the store is open read-only")
	// ErrBusy: the write lock is taken (TryBegin), or a transaction is open (Close).
	ErrBusy = errors.New("engine: a write transaction is open")
	// ErrNotReady: the next file of the log is still being made, which does not
	// take long. It is an ErrBusy, too.
	ErrNotReady = fmt.Errorf("%w: the next file of the log is being made", ErrBusy)
	// ErrFull: there is no room for the transaction. The log is as it was, and
	// later transactions may succeed.
	ErrFull = errors.New("engine: no space for the transaction")
	// ErrTooLarge: the row is longer than row.MaxLength, which no log could be
	// replayed with.
	ErrTooLarge = errors.New("engine: row too large")
	// ErrExists: the row id or the name is taken.
	ErrExists = errors.New("engine: already exists")
	// ErrNotFound: no such row, table, index or object.
	ErrNotFound = errors.New("engine: not found")
	// ErrTxDone: the transaction was committed or rolled back.
	ErrTxDone = errors.New("engine: the transaction has ended")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("engine: the store is closed")
	// ErrPoisoned: an append or a sync failed before. Nothing is written any
	// more in this process; reads of the durable state go on. It always comes
	// wrapped together with the first cause.
	ErrPoisoned = errors.New("engine: poisoned by an I/O error")
	// ErrOutcomeUnknown: the commit was appended but its sync failed or was not
	// waited for, so the transaction may or may not be there after a restart.
	ErrOutcomeUnknown = errors.New("engine: outcome of the commit is unknown")
)

// CorruptError tells of bytes on disk that cannot be what the engine wrote.
type CorruptError struct {
	File   string // relative to the store's directory
	Offset int64
	Reason string
	Err    error // cause, or nil
}

// Error names the file, the offset and what is wrong there.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("engine: %s is damaged at offset %d: %s", e.File, e.Offset, e.Reason)
}

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }

// UniqueError refuses a unique index over rows that are equal in it. Columns is
// empty if the index has expressions.
type UniqueError struct {
	Table   string
	Index   string
	Columns []string
}

// Error uses SQLite's wording.
func (e *UniqueError) Error() string {
	if len(e.Columns) == 0 {
		return "UNIQUE constraint failed: index '" + strings.ReplaceAll(e.Index, "'", "''") + "'"
	}
	cols := make([]string, len(e.Columns))
	for i, c := range e.Columns {
		cols[i] = e.Table + "." + c
	}
	return "UNIQUE constraint failed: " + strings.Join(cols, ", ")
}

// corruptIn adds the file's name to an error of decoding or applying a frame
// at offset. A record of a later version is none of damage.
func corruptIn(file string, offset int64, err error) error {
	var c *CorruptError
	if errors.As(err, &c) {
		return err
	}
	var w *wal.CorruptError
	if errors.As(err, &w) {
		return &CorruptError{File: file, Offset: w.Offset, Reason: w.Reason, Err: err}
	}
	if errors.Is(err, ErrNoMemory) {
		return err
	}
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("engine: %s at offset %d: %w", file, offset, err)
	}
	return &CorruptError{File: file, Offset: offset, Reason: err.Error(), Err: err}
}

// poisonError is what everybody gets after the first failed append or sync.
type poisonError struct{ cause error }

func (e *poisonError) Error() string { return ErrPoisoned.Error() + ": " + e.cause.Error() }

func (e *poisonError) Unwrap() []error { return []error{ErrPoisoned, e.cause} }

// unknownOutcome wraps why the outcome of a commit is not known.
func unknownOutcome(lsn LSN, cause error) error {
	return fmt.Errorf("%w (LSN %d): %w", ErrOutcomeUnknown, lsn, cause)
}
