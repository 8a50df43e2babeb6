package vtab

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// Answers of an authorizer.
const (
	AuthOK     = int(lib.SQLITE_OK)
	AuthDeny   = int(lib.SQLITE_DENY)
	AuthIgnore = int(lib.SQLITE_IGNORE)
)

// SetAuthorizer installs f, which SQLite asks while it compiles a statement
// (sqlite3_set_authorizer: action code, two arguments of the action, schema,
// innermost trigger or view). nil removes it. f must not use the connection. It is
// not asked about the columns that are read, nor about functions: there are many.
func (c *Conn) SetAuthorizer(f func(action int, a1, a2, a3, a4 string) int) {
	c.authorizer = f
	if f == nil {
		lib.Xsqlite3_set_authorizer(c.tls, c.db, 0, 0)
		return
	}
	lib.Xsqlite3_set_authorizer(c.tls, c.db, funcPointer(authorize), c.db)
}

// authorize finds its connection by the sqlite3* given as argument: compiling
// is rare enough for a look-up.
func authorize(tls *libc.TLS, db uintptr, action int32, a1, a2, a3, a4 uintptr) (rc int32) {
	if action == lib.SQLITE_READ || action == lib.SQLITE_FUNCTION {
		return lib.SQLITE_OK
	}
	c := connOf(db)
	if c == nil || c.authorizer == nil {
		return lib.SQLITE_OK
	}
	defer c.guard("authorizer", func(error) { rc = lib.SQLITE_DENY })
	return int32(c.authorizer(int(action), goString(a1), goString(a2), goString(a3), goString(a4)))
}
