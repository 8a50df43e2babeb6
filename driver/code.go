package driver

import "strconv"

// Code is a result code of SQLite, primary or extended. It is an error, so
// that errors.Is(err, ErrConstraintUnique) asks an *Error for it.
type Code int

// Codes to compare with errors.Is. A primary code matches all its extended
// ones: a unique violation is an ErrConstraint as well.
const (
	ErrGeneric    Code = 1  // SQLITE_ERROR: anything without a code of its own
	ErrInternal   Code = 2  // SQLITE_INTERNAL: a fault of Tidemark
	ErrBusy       Code = 5  // SQLITE_BUSY: another connection writes
	ErrTableBusy  Code = 6  // SQLITE_LOCKED: open rows of the same connection are in the way
	ErrNoMem      Code = 7  // SQLITE_NOMEM
	ErrReadOnly   Code = 8  // SQLITE_READONLY
	ErrInterrupt  Code = 9  // SQLITE_INTERRUPT
	ErrIO         Code = 10 // SQLITE_IOERR
	ErrCorrupt    Code = 11 // SQLITE_CORRUPT
	ErrFull       Code = 13 // SQLITE_FULL: no space left
	ErrCantOpen   Code = 14 // SQLITE_CANTOPEN
	ErrTooBig     Code = 18 // SQLITE_TOOBIG: a value or a row
	ErrConstraint Code = 19 // SQLITE_CONSTRAINT
	ErrMismatch   Code = 20 // SQLITE_MISMATCH
	ErrMisuse     Code = 21 // SQLITE_MISUSE
	ErrRange      Code = 25 // SQLITE_RANGE: wrong number of parameters

	ErrBusySnapshot         Code = 517  // a transaction that read an older state cannot write any more
	ErrConstraintCheck      Code = 275  // CHECK
	ErrConstraintForeignKey Code = 787  // FOREIGN KEY
	ErrConstraintNotNull    Code = 1299 // NOT NULL
	ErrConstraintPrimaryKey Code = 1555 // PRIMARY KEY, also INTEGER PRIMARY KEY
	ErrConstraintUnique     Code = 2067 // UNIQUE
	ErrConstraintRowID      Code = 2579 // rowid of a table without INTEGER PRIMARY KEY
	ErrConstraintDatatype   Code = 3091 // type of a STRICT table
)

// Primary returns the primary code: the low byte.
func (c Code) Primary() Code { return c & 0xff }

// Error returns SQLite's text of the code.
func (c Code) Error() string {
	if s, ok := codeText[c]; ok {
		return s
	}
	if s, ok := codeText[c.Primary()]; ok {
		return s
	}
	return "unknown error " + strconv.Itoa(int(c))
}

// codeText holds the texts of sqlite3_errstr, and for extended codes the word
// that tells them from their neighbours.
var codeText = map[Code]string{
	ErrGeneric:    "SQL logic error",
	ErrInternal:   "internal error",
	ErrBusy:       "database is locked",
	ErrTableBusy:  "database table is locked",
	ErrNoMem:      "out of memory",
	ErrReadOnly:   "attempt to write a readonly database",
	ErrInterrupt:  "interrupted",
	ErrIO:         "disk I/O error",
	ErrCorrupt:    "database disk image is malformed",
	ErrFull:       "database or disk is full",
	ErrCantOpen:   "unable to open database file",
	ErrTooBig:     "string or blob too big",
	ErrConstraint: "constraint failed",
	ErrMismatch:   "datatype mismatch",
	ErrMisuse:     "bad parameter or other API misuse",
	ErrRange:      "column index out of range",

	ErrConstraintCheck:      "CHECK constraint failed",
	ErrConstraintForeignKey: "FOREIGN KEY constraint failed",
	ErrConstraintNotNull:    "NOT NULL constraint failed",
	ErrConstraintPrimaryKey: "UNIQUE constraint failed",
	ErrConstraintUnique:     "UNIQUE constraint failed",
	ErrConstraintRowID:      "UNIQUE constraint failed",
}
