package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// wrap turns any error of a transaction into *Error. An *Error stays as it is,
// except that it learns the operation when it has none.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		if own.Op != "" {
			return err
		}
		named := *own
		named.Op = op
		return &named
	}
	code, result := classify(err)
	if result == lib.SQLITE_IOERR_SHMSIZE {
		err = fmt.Errorf("no space for %s-shm: %w", FileName, err)
	}
	return &Error{Code: code, Op: op, Result: result, Err: err}
}

// classify finds the code of an error that is not ours, and SQLite's extended
// result code.
func classify(err error) (Code, int) {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return CodeCanceled, 0
		}
		return CodeSQLite, 0
	}
	rc := se.Code()
	if code := guardCode(se.Error()); code != "" {
		return code, rc
	}
	return codeOf(rc), rc
}

// codeOf finds the code of one of SQLite's extended result codes.
func codeOf(rc int) Code {
	switch rc {
	case lib.SQLITE_IOERR_SHMSIZE:
		// The file between the processes could not be made longer, for which
		// SQLite has no SQLITE_FULL. It stays a storage error.
		return CodeFull
	case lib.SQLITE_CONSTRAINT_CHECK, lib.SQLITE_CONSTRAINT_NOTNULL:
		return CodeCheck
	case lib.SQLITE_CONSTRAINT_DATATYPE:
		return CodeType
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
		return CodeUnique
	case lib.SQLITE_CONSTRAINT_FOREIGNKEY:
		return CodeForeignKey
	}
	switch rc & 0xff {
	case lib.SQLITE_MISMATCH:
		return CodeType
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return CodeBusy
	case lib.SQLITE_INTERRUPT:
		return CodeCanceled
	case lib.SQLITE_FULL:
		return CodeFull
	case lib.SQLITE_READONLY:
		return CodeReadOnly
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return CodeCorrupt
	case lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_PROTOCOL:
		return CodeIO
	}
	return CodeSQLite
}

// guardCode reads the code that starts the text of a RAISE. The texts are part
// of the schema, which open compares word by word, so reading them is safe.
func guardCode(text string) Code {
	at := strings.Index(text, "CAT-")
	if at < 0 {
		return ""
	}
	end := at + len("CAT-")
	for end < len(text) && text[end] >= 'A' && text[end] <= 'Z' {
		end++
	}
	if end == at+len("CAT-") {
		return ""
	}
	return Code(text[at:end])
}

// isStorageError tells the failures after which the file cannot be trusted by
// this process any more. CANTOPEN is not one: a process out of descriptors
// gets it for a new connection, and nothing was touched.
func isStorageError(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Result & 0xff {
	case lib.SQLITE_IOERR, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return true
	}
	return false
}
