package vtab

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// makeModules fills in the callback structures. All callbacks are package-level
// functions, see funcPointer.
func makeModules(tls *libc.TLS) {
	var m *lib.Tsqlite3_module
	modules.bind, m = newModule(tls)
	m.FiVersion = 1
	m.FxCreate, m.FxConnect = funcPointer(bindCreate), funcPointer(bindCreate)
	// Never reached, since bindCreate makes no table, but SQLite wants them.
	m.FxBestIndex = funcPointer(tableBestIndex)
	m.FxDisconnect, m.FxDestroy = funcPointer(tableDisconnect), funcPointer(tableDisconnect)

	modules.table, m = newModule(tls)
	m.FiVersion = 4
	m.FxCreate, m.FxConnect = funcPointer(tableConnect), funcPointer(tableConnect)
	m.FxDisconnect, m.FxDestroy = funcPointer(tableDisconnect), funcPointer(tableDisconnect)
	m.FxBestIndex = funcPointer(tableBestIndex)
	m.FxOpen, m.FxClose = funcPointer(cursorOpen), funcPointer(cursorClose)
	m.FxFilter, m.FxNext, m.FxEof = funcPointer(cursorFilter), funcPointer(cursorNext), funcPointer(cursorEOF)
	m.FxColumn, m.FxRowid = funcPointer(cursorColumn), funcPointer(cursorRowid)
	m.FxUpdate = funcPointer(tableUpdate)
	m.FxRename = funcPointer(tableRename)
	m.FxIntegrity = funcPointer(tableIntegrity)
	transactional(m)

	modules.control, m = newModule(tls)
	m.FiVersion = 4
	m.FxCreate, m.FxConnect = funcPointer(controlConnect), funcPointer(controlConnect)
	m.FxDisconnect, m.FxDestroy = funcPointer(tableDisconnect), funcPointer(tableDisconnect)
	m.FxBestIndex = funcPointer(controlBestIndex)
	m.FxOpen, m.FxClose = funcPointer(cursorOpen), funcPointer(cursorClose)
	m.FxFilter, m.FxNext, m.FxEof = funcPointer(controlFilter), funcPointer(cursorNext), funcPointer(cursorEOF)
	m.FxColumn, m.FxRowid = funcPointer(controlColumn), funcPointer(cursorRowid)
	m.FxUpdate = funcPointer(controlUpdate)
	transactional(m)

	modules.rows, m = newModule(tls)
	m.FiVersion = 1
	rowCallbacks(m)
	modules.insertable, m = newModule(tls)
	m.FiVersion = 1
	rowCallbacks(m)
	m.FxUpdate = funcPointer(rowsUpdate)
}

// transactional sets the callbacks that address the connection's transaction.
func transactional(m *lib.Tsqlite3_module) {
	m.FxBegin, m.FxSync = funcPointer(txBegin), funcPointer(txSync)
	m.FxCommit, m.FxRollback = funcPointer(txCommit), funcPointer(txRollback)
	m.FxSavepoint, m.FxRelease, m.FxRollbackTo = funcPointer(txSavepoint), funcPointer(txRelease), funcPointer(txRollbackTo)
}

// rowCallbacks are those of tables of Go rows, which are eponymous only: there
// is no xCreate.
func rowCallbacks(m *lib.Tsqlite3_module) {
	m.FxConnect, m.FxDisconnect = funcPointer(rowsConnect), funcPointer(rowsDisconnect)
	m.FxBestIndex = funcPointer(rowsBestIndex)
	m.FxOpen, m.FxClose = funcPointer(rowsOpen), funcPointer(rowsClose)
	m.FxFilter, m.FxNext, m.FxEof = funcPointer(rowsFilter), funcPointer(rowsNext), funcPointer(rowsEOF)
	m.FxColumn, m.FxRowid = funcPointer(rowsColumn), funcPointer(rowsRowid)
}

// The structures SQLite sees, extended by a pointer to the Go object.
//
// The memory is SQLite's, so the collector does not look into it: a Go pointer
// there keeps nothing alive. What it points to is kept by the Conn (tables,
// open cursors) and pinned for as long as the structure exists. The memory is
// zeroed before the first store, because the write barrier reads the old value.
type (
	cTable struct {
		base lib.Tsqlite3_vtab
		t    *table
	}
	cCursor struct {
		base lib.Tsqlite3_vtab_cursor
		q    *cursor
	}
)

// allocate returns zeroed memory of SQLite, 0 when there is none.
func allocate(tls *libc.TLS, n uintptr) uintptr {
	p := lib.Xsqlite3_malloc64(tls, lib.Tsqlite3_uint64(n))
	if p != 0 {
		clear(unsafe.Slice((*byte)(unsafe.Pointer(p)), n))
	}
	return p
}

func tableAt(p uintptr) *table { return (*cTable)(unsafe.Pointer(p)).t }

func cursorAt(p uintptr) *cursor { return (*cCursor)(unsafe.Pointer(p)).q }

// declare tells SQLite the columns of a table being connected.
func declare(tls *libc.TLS, db uintptr, text string) int32 {
	z := cString(tls, text)
	defer freeC(tls, z)
	return lib.Xsqlite3_declare_vtab(tls, db, z)
}

// configure sets an option of the table being connected.
func configure(tls *libc.TLS, db uintptr, option int32, value int32) {
	const slot = 8 // of libc's variable arguments
	va := tls.Alloc(slot)
	lib.Xsqlite3_vtab_config(tls, db, option, libc.VaList(va, value))
	tls.Free(slot)
}
