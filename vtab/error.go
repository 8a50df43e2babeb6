package vtab

import (
	"errors"
	"fmt"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Error is an error of SQLite, or one that a table here reports in SQLite's
// terms. Msg has SQLite's wording.
type Error struct {
	Code     int // primary result code: 19
	Extended int // extended result code: 2067
	Msg      string
	// Action is what SQLite does to the statement or transaction because of a
	// violated constraint: Abort, Fail or Rollback; Default for other errors.
	// The bridge cannot always bring that about: when the action is Rollback
	// and a transaction is still open, the driver must end it.
	Action Conflict
}

func (e *Error) Error() string { return e.Msg }

// Errors of this package that are not SQLite's.
var (
	// ErrPanic marks the error a caught panic was turned into; the connection
	// is bad from then on.
	ErrPanic = errors.New("vtab: panic in a callback")
	// ErrReadOnlyModule refuses a write to a table of Go rows without Insert.
	ErrReadOnlyModule = errors.New("vtab: table may not be modified")

	errOutOfMemory = errors.New("vtab: out of memory")
)

func errorf(code int, format string, a ...any) *Error {
	return &Error{Code: code & 0xff, Extended: code, Msg: fmt.Sprintf(format, a...)}
}

// lastSQLiteError makes an Error of what SQLite noted on the connection when rc
// was returned.
func (c *Conn) lastSQLiteError(rc int32) *Error {
	e := &Error{Extended: int(lib.Xsqlite3_extended_errcode(c.tls, c.db)), Msg: goString(lib.Xsqlite3_errmsg(c.tls, c.db))}
	if e.Extended&0xff != int(rc)&0xff {
		// The connection has moved on, or the call failed before it was noted.
		e.Extended, e.Msg = int(rc), goString(lib.Xsqlite3_errstr(c.tls, rc))
	}
	e.Code = e.Extended & 0xff
	return e
}

// LastError returns the first error a callback ran into since ClearError: what
// SQLite's codes cannot carry, with its type and causes. It is meaningful only
// after a call on the connection failed.
func (c *Conn) LastError() error { return c.last }

// ClearError forgets the side channel's error; do so before each statement.
func (c *Conn) ClearError() { c.last = nil }

// note keeps err in the side channel. The first error of a statement wins: what
// follows is usually its consequence.
func (c *Conn) note(err error) {
	if c.last == nil {
		c.last = err
	}
}

// setMessage replaces the error text of the sqlite3_vtab at p.
func setMessage(tls *libc.TLS, base *lib.Tsqlite3_vtab, msg string) {
	if base.FzErrMsg != 0 {
		lib.Xsqlite3_free(tls, base.FzErrMsg)
	}
	base.FzErrMsg = sqliteString(tls, msg)
}
