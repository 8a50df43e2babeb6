package driver

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

func TestWrapError(t *testing.T) {
	cause := errors.New("input/output error")
	for _, tc := range []struct {
		name     string
		err      error
		message  string
		is       []error
		isNot    []error
		table    string
		extended int
	}{
		{
			"unique", &vtab.Error{Code: 19, Extended: 2067, Msg: "UNIQUE constraint failed: t.a, t.b"},
			"UNIQUE constraint failed: t.a, t.b",
			[]error{ErrConstraint, ErrConstraintUnique}, []error{ErrConstraintPrimaryKey, ErrBusy}, "t", 2067,
		},
		{
			"primary key", &vtab.Error{Code: 19, Extended: 1555, Msg: "UNIQUE constraint failed: my.table.id"},
			"UNIQUE constraint failed: my.table.id",
			[]error{ErrConstraint, ErrConstraintPrimaryKey}, []error{ErrConstraintUnique}, "my.table", 1555,
		},
		{
			"not null", &vtab.Error{Code: 19, Extended: 1299, Msg: "NOT NULL constraint failed: t.c"},
			"NOT NULL constraint failed: t.c",
			[]error{ErrConstraint, ErrConstraintNotNull}, []error{ErrConstraintCheck}, "t", 1299,
		},
		{
			"check", &vtab.Error{Code: 19, Extended: 275, Msg: "CHECK constraint failed: a.b > 0"},
			"CHECK constraint failed: a.b > 0",
			[]error{ErrConstraint, ErrConstraintCheck}, []error{ErrConstraintNotNull}, "", 275,
		},
		{
			"foreign key", &vtab.Error{Code: 19, Extended: 787, Msg: "FOREIGN KEY constraint failed"},
			"FOREIGN KEY constraint failed",
			[]error{ErrConstraint, ErrConstraintForeignKey}, []error{ErrConstraintUnique}, "", 787,
		},
		{
			"restrict", &vtab.Error{Code: 19, Extended: 1811, Msg: "FOREIGN KEY constraint failed"},
			"FOREIGN KEY constraint failed",
			[]error{ErrConstraint, ErrConstraintForeignKey}, []error{ErrConstraintUnique}, "", 1811,
		},
		{
			"a trigger raises", &vtab.Error{Code: 19, Extended: 1811, Msg: "not today"},
			"not today",
			[]error{ErrConstraint}, []error{ErrConstraintForeignKey}, "", 1811,
		},
		{
			"only the primary code", &vtab.Error{Code: 1, Msg: "no such table: t"},
			"no such table: t", []error{ErrGeneric}, []error{ErrConstraint}, "", 1,
		},
		{
			"no message", &vtab.Error{Code: 7, Extended: 7},
			"out of memory", []error{ErrNoMem}, nil, "", 7,
		},
		{
			"engine's unique index", fmt.Errorf("index: %w", &engine.UniqueError{Table: "t", Index: "i", Columns: []string{"c"}}),
			"index: UNIQUE constraint failed: t.c",
			[]error{ErrConstraint, ErrConstraintUnique}, nil, "t", 2067,
		},
		{
			"corrupt", fmt.Errorf("open: %w", &engine.CorruptError{File: "objects/01/00/0000000000000001.kv", Offset: 96, Reason: "bad checksum"}),
			"database disk image is malformed: objects/01/00/0000000000000001.kv at offset 96: bad checksum",
			[]error{ErrCorrupt}, []error{ErrIO}, "", 11,
		},
		{"full", fmt.Errorf("commit: %w", engine.ErrFull), "database or disk is full (" + fullHint + ")", []error{ErrFull, engine.ErrFull}, nil, "", 13},
		{
			"failed file operation", fmt.Errorf("engine: header of x: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.EIO}),
			"engine: header of x: write x: " + syscall.EIO.Error(), []error{ErrIO, syscall.EIO}, []error{ErrGeneric, ErrFull}, "", 10,
		},
		{
			"no space, not for a transaction", &fs.PathError{Op: "mkdir", Path: "x", Err: syscall.ENOSPC},
			"mkdir x: " + syscall.ENOSPC.Error() + " (" + fullHint + ")", []error{ErrFull, syscall.ENOSPC}, []error{ErrIO}, "", 13,
		},
		{
			"no permission", &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES},
			"open x: " + syscall.EACCES.Error(), []error{ErrCantOpen, fs.ErrPermission}, []error{ErrIO}, "", 14,
		},
		{"busy", engine.ErrBusy, "database is locked", []error{ErrBusy}, []error{ErrBusySnapshot}, "", 5},
		{"stale snapshot", ErrBusySnapshot, "database is locked", []error{ErrBusy, ErrBusySnapshot}, nil, "", 517},
		{"read only", ErrReadOnly, "attempt to write a readonly database", []error{ErrReadOnly}, []error{ErrBusy}, "", 8},
		{
			"poisoned", fmt.Errorf("%w: %w", engine.ErrPoisoned, cause), "",
			[]error{ErrPoisoned, ErrIO, cause}, []error{ErrOutcomeUnknown}, "", 10,
		},
		{
			"unknown outcome of a poisoned engine", fmt.Errorf("%w: %w: %w", engine.ErrOutcomeUnknown, engine.ErrPoisoned, cause), "",
			[]error{ErrOutcomeUnknown, ErrPoisoned, cause}, []error{ErrBusy}, "", 10,
		},
		{
			"unknown outcome at a deadline", fmt.Errorf("%w: %w", engine.ErrOutcomeUnknown, context.DeadlineExceeded), "",
			[]error{ErrOutcomeUnknown, context.DeadlineExceeded}, []error{ErrPoisoned}, "", 10,
		},
		{"locked elsewhere", engine.ErrLocked, "", []error{ErrBusy, engine.ErrLocked}, nil, "", 5},
		{"not a store", engine.ErrNotStore, "", []error{ErrCantOpen}, nil, "", 14},
		{"closed", engine.ErrClosed, "", []error{ErrClosed, ErrMisuse}, nil, "", 21},
		{
			"damaged catalog", fmt.Errorf("engine: %w", &catalog.Error{Code: catalog.CodeDigest, Op: "state", Err: cause}), "",
			[]error{ErrCorrupt, catalog.ErrCorrupt, cause}, []error{ErrIO}, "", 11,
		},
		{"newer store", &catalog.Error{Code: catalog.CodeVersion, Op: "open", Err: catalog.ErrNewer}, "", []error{ErrCantOpen, catalog.ErrNewer}, nil, "", 14},
		{"newer log", fmt.Errorf("engine: %w", engine.ErrNewer), "", []error{ErrCantOpen, engine.ErrNewer}, []error{ErrCorrupt}, "", 14},
		{"more rows than the limit", &engine.LimitError{Def: &engine.TableDef{Name: "t", MaxRows: 1}, Rows: 2, Replay: true}, "", []error{ErrCantOpen, engine.ErrTableFull}, []error{ErrFull, ErrCorrupt}, "t", 14},
		{"not a catalog", &catalog.Error{Code: catalog.CodeNotStore, Op: "open"}, "", []error{ErrCantOpen}, nil, "", 14},
		{"busy catalog", &catalog.Error{Code: catalog.CodeBusy, Op: "seal"}, "", []error{ErrBusy}, nil, "", 5},
		{"full disk under the catalog", &catalog.Error{Code: catalog.CodeFull, Op: "seal"}, "", []error{ErrFull}, nil, "", 13},
		{"poisoned catalog", &catalog.Error{Code: catalog.CodePoisoned, Op: "seal"}, "", []error{ErrIO}, nil, "", 10},
		{"guard of the catalog", &catalog.Error{Code: catalog.CodeImmutable, Op: "seal"}, "", []error{ErrInternal, catalog.CodeImmutable}, nil, "", 2},
		{"other", cause, "input/output error", []error{cause, ErrGeneric}, nil, "", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := wrapError("exec", tc.err)
			var typed *Error
			if !errors.As(err, &typed) {
				t.Fatalf("%#v is no *Error", err)
			}
			if typed.Extended != tc.extended || typed.Code != tc.extended&0xff {
				t.Errorf("codes %d, %d; want extended %d", typed.Code, typed.Extended, tc.extended)
			}
			if typed.Op != "exec" || typed.Table != tc.table {
				t.Errorf("op %q, table %q; want table %q", typed.Op, typed.Table, tc.table)
			}
			if tc.message != "" && err.Error() != tc.message {
				t.Errorf("message %q, want %q", err, tc.message)
			}
			for _, target := range append(tc.is, tc.err) {
				if !errors.Is(err, target) {
					t.Errorf("%v is not %v", err, target)
				}
			}
			for _, target := range tc.isNot {
				if errors.Is(err, target) {
					t.Errorf("%v is %v", err, target)
				}
			}
			if again := wrapError("other", fmt.Errorf("outer: %w", err)); !errors.Is(again, err) {
				t.Errorf("wrapped twice it is %v", again)
			}
		})
	}
}

// Errors that mean something to database/sql or to the caller stay themselves.
func TestWrapErrorLeavesAlone(t *testing.T) {
	for _, err := range []error{nil, io.EOF, sqldriver.ErrBadConn, sqldriver.ErrSkip, context.Canceled, context.DeadlineExceeded} {
		if got := wrapError("exec", err); got != err {
			t.Errorf("wrapError(%v) = %v", err, got)
		}
	}
}

func TestCorruptErrorAs(t *testing.T) {
	err := wrapError("open", &engine.CorruptError{File: "f.kv", Offset: 8, Reason: "short"})
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.File != "f.kv" || corrupt.Offset != 8 || corrupt.Reason != "short" {
		t.Fatalf("errors.As gives %+v", corrupt)
	}
	if !errors.Is(corrupt, ErrCorrupt) {
		t.Error("a *CorruptError alone is not ErrCorrupt")
	}
}

func TestErrorHintAndOperation(t *testing.T) {
	e := newError("open", ErrMisuse, "key %s", "x")
	e.Hint = "leave it out"
	if e.Error() != "key x (leave it out)" {
		t.Errorf("message %q", e.Error())
	}
	var done ErrOperationDone
	err := error(&Error{Op: "exec", Code: 1, Extended: 1, Err: ErrOperationDone{Operation: "pay-7", LSN: 42}})
	if !errors.As(err, &done) || done.LSN != 42 {
		t.Errorf("errors.As gives %+v", done)
	}
}
