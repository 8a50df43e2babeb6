package vtab

import (
	"errors"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// controlTable is temp.tidemark_tx, with one row and the columns op and arg.
// Updating it calls OnControl inside the transaction, so that what that does to
// the engine (schema changes) is committed, rolled back and undone to
// savepoints together with rows.
const (
	controlTable  = "tidemark_tx"
	controlModule = "tidemark_control"
	controlDecl   = "CREATE TABLE x(op TEXT, arg BLOB)"
)

// registerSession registers what only our own connections have, and makes the
// control table.
func (c *Conn) registerSession() error {
	if rc := createModule(c.tls, c.db, controlModule, modules.control); rc != lib.SQLITE_OK {
		return c.lastSQLiteError(rc)
	}
	if err := errors.Join(c.registerFirings(), c.registerPlans()); err != nil {
		return err
	}
	return c.Exec("CREATE VIRTUAL TABLE temp." + controlTable + " USING " + controlModule)
}

// controlConnect is xCreate and xConnect.
func controlConnect(tls *libc.TLS, db, aux uintptr, argc int32, argv, ppVtab, pzErr uintptr) (rc int32) {
	c := connOf(db)
	if c == nil {
		return lib.SQLITE_ERROR
	}
	defer c.guard("connect", func(error) { rc = lib.SQLITE_ERROR })
	if rc := declare(tls, db, controlDecl); rc != lib.SQLITE_OK {
		return rc
	}
	return (&table{c: c, ncols: 2}).attach(tls, db, ppVtab)
}

// controlBestIndex is xBestIndex: the one row is always scanned.
func controlBestIndex(tls *libc.TLS, p, info uintptr) int32 {
	ii := (*lib.Tsqlite3_index_info)(unsafe.Pointer(info))
	ii.FestimatedCost, ii.FestimatedRows = 1, 1
	return lib.SQLITE_OK
}

// controlFilter is xFilter.
func controlFilter(tls *libc.TLS, cp uintptr, num int32, str uintptr, argc int32, argv uintptr) int32 {
	q := cursorAt(cp)
	q.release()
	q.one(1, "")
	return lib.SQLITE_OK
}

// controlColumn is xColumn: both columns are NULL.
func controlColumn(tls *libc.TLS, cp, ctx uintptr, k int32) int32 { return lib.SQLITE_OK }

// controlUpdate is xUpdate.
func controlUpdate(tls *libc.TLS, p uintptr, argc int32, argv, prowid uintptr) (rc int32) {
	t := tableAt(p)
	c := t.c
	fail := func(err error) { rc = c.refuse(p, tls, err, Abort) }
	defer c.guard("control", fail)
	args := pointers(argv, argc)
	if len(args) != 4 || valueAt(tls, args[0]).IsNull() || c.OnControl == nil {
		fail(errorf(lib.SQLITE_ERROR, "table %s may only be updated", controlTable))
		return rc
	}
	op, arg := valueAt(tls, args[2]), valueAt(tls, args[3])
	// Borrowed like every argument, and writable for nobody.
	if err := c.OnControl(op.Clone().Bytes(), unsafe.Slice(unsafe.StringData(arg.Bytes()), len(arg.Bytes()))); err != nil {
		fail(err)
	}
	return rc
}
