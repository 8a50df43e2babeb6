package driver

import (
	"errors"
	"fmt"

	"github.com/tidemarkdb/tidemark/engine"
)

// Error is every error of a statement, a transaction or an open that is not a
// context's own. Its message is SQLite's where SQLite has one.
type Error struct {
	Op       string // what was being done: "open", "exec", "commit", …; may be empty
	Table    string // the table concerned, where it is known
	Code     int    // SQLite's primary result code: 19
	Extended int    // SQLite's extended result code: 2067; equal to Code when there is none
	Hint     string // the next step for a person, may be empty
	Err      error  // cause; never nil in errors this package returns
}

// Error returns the cause's message and the hint.
func (e *Error) Error() string {
	msg := Code(e.Extended).Error()
	if e.Err != nil {
		msg = e.Err.Error()
	}
	if e.Hint != "" {
		msg += " (" + e.Hint + ")"
	}
	return msg
}

// Is reports whether target is the error's primary or extended code.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && (int(c) == e.Code || int(c) == e.Extended)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errors that are not codes of SQLite. Each is found with errors.Is under an
// *Error.
var (
	// ErrOutcomeUnknown says that the commit may or may not have happened: its
	// log record was written and its sync failed, or the caller's deadline
	// passed while it ran. Look the result up after a reopen before retrying.
	ErrOutcomeUnknown = engine.ErrOutcomeUnknown
	// ErrPoisoned says that an earlier I/O error stopped all writes of this
	// engine. Reads of the durable state go on; a reopen recovers.
	ErrPoisoned = engine.ErrPoisoned
	// ErrNotAvailable says that a name of the documented surface is known but
	// does nothing in this version. Nothing was changed.
	ErrNotAvailable = errors.New("not yet available")
	// ErrClosed says that the store was closed.
	ErrClosed = engine.ErrClosed
)

// ErrOperationDone says that a transaction with this operation id and this
// request was committed before; nothing of the new one ran. Get it with
// errors.As.
type ErrOperationDone struct {
	Operation string // the operation id
	LSN       uint64 // of the first commit
}

// Error names the operation and its commit.
func (e ErrOperationDone) Error() string {
	return fmt.Sprintf("operation %q was already committed at LSN %d", e.Operation, e.LSN)
}

// CorruptError says that bytes of a file are not what was written. Its code is
// ErrCorrupt (11).
type CorruptError struct {
	File   string // relative to the store's directory
	Offset int64
	Reason string
	Err    error // the engine's own error
}

// Error names the file, the offset and what is wrong there.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: %s at offset %d: %s", ErrCorrupt.Error(), e.File, e.Offset, e.Reason)
}

// Is reports whether target is ErrCorrupt.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

// Unwrap returns the engine's error.
func (e *CorruptError) Unwrap() error { return e.Err }

// newError makes an *Error of a code with a message of its own.
func newError(op string, code Code, format string, args ...any) *Error {
	return &Error{Op: op, Code: int(code.Primary()), Extended: int(code), Err: fmt.Errorf(format, args...)}
}

// notAvailable refuses a known name by name.
func notAvailable(op, what string) *Error {
	return newError(op, ErrGeneric, "%s is %w", what, ErrNotAvailable)
}
