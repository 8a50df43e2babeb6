package driver

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// wrapError turns an error of the layers below into what users see: an *Error
// with SQLite's codes and wording. Errors that database/sql or the caller give
// a meaning of their own (io.EOF, ErrBadConn, ErrSkip, a context's error) pass
// unchanged, and so does an *Error, which keeps the code it was made with.
//
// The order of the tests matters: an outcome that is unknown is more important
// to the caller than why, so it comes before poison, and poison before the
// error that caused it.
func wrapError(op string, err error) error {
	if err == nil {
		return nil
	}
	var done *Error
	if errors.As(err, &done) {
		return err
	}
	if errors.Is(err, engine.ErrOutcomeUnknown) {
		return coded(op, ErrIO, err, "the commit may or may not have happened: read the data back before a retry")
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, sqldriver.ErrBadConn), errors.Is(err, sqldriver.ErrSkip),
		errors.Is(err, sqldriver.ErrRemoveArgument),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	var corrupt *engine.CorruptError
	if errors.As(err, &corrupt) {
		err = &CorruptError{File: corrupt.File, Offset: corrupt.Offset, Reason: corrupt.Reason, Err: err}
		return coded(op, ErrCorrupt, err, "")
	}
	var unique *engine.UniqueError
	if errors.As(err, &unique) {
		e := coded(op, ErrConstraintUnique, err, "")
		e.Table = unique.Table
		return e
	}
	var memory *engine.MemoryError
	if errors.As(err, &memory) {
		return memoryError(op, err, memory)
	}
	var place *engine.BackupError
	if errors.As(err, &place) {
		code := ErrGeneric
		if op == "open" {
			code = ErrCantOpen
		}
		return coded(op, code, err, place.Hint)
	}
	var limit *engine.LimitError
	if errors.As(err, &limit) {
		return limitError(op, err, limit)
	}
	switch {
	case errors.Is(err, engine.ErrPoisoned):
		return coded(op, ErrIO, err, "writes are refused until the store is closed and opened again")
	case errors.Is(err, engine.ErrReadOnly):
		return coded(op, ErrReadOnly, withText(ErrReadOnly.Error(), err), "mode=ro in the DSN only reads")
	case errors.Is(err, engine.ErrUnwritable):
		return coded(op, ErrCantOpen, err, "")
	case errors.Is(err, engine.ErrFull):
		return coded(op, ErrFull, withText(ErrFull.Error(), err), fullHint)
	case errors.Is(err, engine.ErrTooLarge):
		return coded(op, ErrTooBig, withText(ErrTooBig.Error(), err), "a row takes up to 1 GiB")
	case errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrTimelineOpen):
		return coded(op, ErrBusy, withText(ErrBusy.Error(), err), "")
	case errors.Is(err, engine.ErrInMemory):
		return coded(op, ErrGeneric, withText("the store is in memory and has no log", err), "open a store with a data path, a directory, to have one")
	case errors.Is(err, engine.ErrJob):
		return coded(op, ErrGeneric, err, "")
	case errors.Is(err, engine.ErrNewer):
		return coded(op, ErrCantOpen, err, "use the program that wrote it, or a newer one")
	case errors.Is(err, engine.ErrNotStore):
		return coded(op, ErrCantOpen, err, "mode=rwc creates one")
	case errors.Is(err, engine.ErrShards):
		return coded(op, ErrMisuse, err, "the number is fixed when the store is made: leave the key shards out")
	case errors.Is(err, engine.ErrIndexCatchup):
		return coded(op, ErrMisuse, err, "leave the key index_catchup out to open the store as it is")
	case errors.Is(err, engine.ErrClosed):
		return coded(op, ErrMisuse, err, "")
	case errors.Is(err, engine.ErrLocked):
		return coded(op, ErrBusy, err, "one process writes a store at a time, and the holder has LOCK in the store's directory; mode=ro reads beside it")
	}
	var refused *catalog.Error
	if errors.As(err, &refused) {
		return catalogError(op, err, refused)
	}
	var code Code
	if errors.As(err, &code) {
		return coded(op, code, err, "")
	}
	var native *vtab.Error
	if errors.As(err, &native) {
		return nativeError(op, err, native)
	}
	var system syscall.Errno
	if errors.As(err, &system) {
		code, hint := systemCode(system), ""
		if code == ErrFull {
			hint = fullHint
		}
		return coded(op, code, err, hint)
	}
	return coded(op, ErrGeneric, err, "")
}

// coded makes an *Error that shows err's own message.
func coded(op string, code Code, err error, hint string) *Error {
	return &Error{Op: op, Code: int(code.Primary()), Extended: int(code), Hint: hint, Err: err}
}

// catalogError gives an error of the catalog the code that SQLite has for its
// kind.
func catalogError(op string, err error, refused *catalog.Error) *Error {
	switch {
	case errors.Is(err, catalog.ErrCorrupt):
		damage := &CorruptError{File: catalog.FileName, Reason: refused.Error(), Err: err}
		if errors.Is(err, catalog.ErrLost) {
			return coded(op, ErrCorrupt, damage, "") // it says what to do
		}
		return coded(op, ErrCorrupt, damage, "the sqlite3 shell reads the file: PRAGMA integrity_check tells more")
	case errors.Is(err, catalog.ErrNewer):
		return coded(op, ErrCantOpen, err, "use the program that wrote it, or a newer one")
	}
	switch refused.Code {
	case catalog.CodeMissing, catalog.CodeUnfinished:
		return coded(op, ErrCantOpen, err, "mode=rwc creates a store and finishes an interrupted creation")
	case catalog.CodeNotStore, catalog.CodeVersion, catalog.CodePolicy, catalog.CodeLibrary, catalog.CodeNetwork:
		return coded(op, ErrCantOpen, err, "")
	case catalog.CodeBusy:
		return coded(op, ErrBusy, err, "")
	case catalog.CodeFull:
		return coded(op, ErrFull, err, fullHint)
	case catalog.CodeIO, catalog.CodePoisoned:
		return coded(op, ErrIO, err, "close and open the store again: what the catalog was told last is looked up then")
	case catalog.CodeReadOnly:
		return coded(op, ErrReadOnly, err, "")
	case catalog.CodeClosed:
		return coded(op, ErrMisuse, err, "")
	}
	return coded(op, ErrInternal, err, "")
}

// limitError tells of a table with as many rows as it may have, or more.
func limitError(op string, err error, limit *engine.LimitError) *Error {
	e := coded(op, ErrFull, withText(limit.Error(), err), "delete rows, or make the table anew with a larger max_rows")
	if !limit.Def.Durable && limit.Def.OnFull == engine.OnFullRefuse {
		e.Hint += " or with on_full=drop_oldest"
	}
	if limit.Replay {
		e = coded(op, ErrCantOpen, withText(limit.Error(), err), "no program of this version wrote that: restore a backup, or use the program that did")
	}
	e.Table = limit.Def.Name
	return e
}

// memoryError tells of a write, or a log, that the memory budget has no room for.
func memoryError(op string, err error, full *engine.MemoryError) *Error {
	def, way := full.Largest, "make "+full.Largest.Name+" anew with resident=keys"
	switch {
	case def.Resident == engine.ResidentKeys:
		way = "the map and the indexes of " + def.Name + ", which is resident=keys, alone exceed it: delete rows"
	case !def.Durable || full.InMemory:
		way = "bound " + def.Name + " with max_rows, delete rows"
	}
	if full.Past {
		e := coded(op, ErrNoMem, withText(full.Error(), err), "raise memory_budget, or end what reads other old states; row ids, places and indexes of "+def.Name+" are in memory while it is read as it was")
		e.Table = def.Name
		return e
	}
	e := coded(op, ErrNoMem, withText(full.Error(), err), way+" or raise memory_budget")
	if full.Table != nil {
		e.Table = full.Table.Name
	} else {
		e.Table = def.Name
		if def.Resident != engine.ResidentKeys {
			e.Hint = "raise memory_budget, and then " + way
		}
	}
	return e
}

// fullHint is the way on without room. A store needs a little of it to be opened at
// all, since its catalog is written.
const fullHint = "make some room on the disk and try again; what was committed stays"

// systemCode is the code of an operation on a file that failed.
func systemCode(err syscall.Errno) Code {
	switch {
	case err == syscall.ENOSPC, err == syscall.EDQUOT:
		return ErrFull
	case errors.Is(err, fs.ErrPermission):
		return ErrCantOpen
	}
	return ErrIO
}

// nativeError carries over an error of SQLite itself.
func nativeError(op string, err error, native *vtab.Error) *Error {
	code := Code(native.Extended)
	if code == 0 {
		code = Code(native.Code)
	}
	if native.Msg == "" {
		err = withText(code.Error(), err)
	}
	e := coded(op, code, err, "")
	e.Table = constraintTable(code, native.Msg)
	if code == constraintTrigger && native.Msg == ErrConstraintForeignKey.Error() {
		return kindOf(ErrConstraintForeignKey, e) // RESTRICT
	}
	return e
}

// constraintTrigger is the extended code of what a trigger raises, and of RESTRICT,
// which is a trigger in SQLite. Who asks for violated foreign keys means both kinds.
const constraintTrigger Code = 1811

// constraintTable finds the table in the message of the constraints that name
// their columns as table.column. The table's own name may hold dots, so only a
// message whose columns agree on it is believed.
func constraintTable(code Code, msg string) string {
	switch code {
	case ErrConstraintNotNull, ErrConstraintPrimaryKey, ErrConstraintUnique, ErrConstraintRowID:
	default:
		return ""
	}
	_, list, ok := strings.Cut(msg, "failed: ")
	if !ok {
		return ""
	}
	table := ""
	for i, column := range strings.Split(list, ", ") {
		dot := strings.LastIndexByte(column, '.')
		if dot < 0 || i > 0 && column[:dot] != table {
			return ""
		}
		table = column[:dot]
	}
	return table
}

// textError shows a text in place of its cause's.
type textError struct {
	text string
	err  error
}

// withText gives err another message and keeps it for errors.Is and As.
func withText(text string, err error) error { return &textError{text, err} }

func (e *textError) Error() string { return e.text }
func (e *textError) Unwrap() error { return e.err }
