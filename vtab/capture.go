package vtab

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
	lib "modernc.org/sqlite/lib"
)

// The binding does not show the sqlite3* of its connections. An automatic
// extension, which reaches every connection the process opens, registers two
// inert modules; CREATE VIRTUAL TABLE … USING tidemark_bind(<token>), run
// through the binding, then brings the handle to xCreate, which looks the token
// up. On connections that are not ours no token is pending, and both modules
// refuse.
const (
	bindModule = "tidemark_bind"
	openModule = "tidemark_open"
)

// conns finds the Conn of a sqlite3* (in xConnect) and of a bind token. It is
// read when tables are connected, never per row.
var conns sync.Map // uintptr (sqlite3*) or string (token) -> *Conn

var tokens atomic.Int64

var errCaptured = errors.New("vtab: captured")

// registerModules installs the automatic extension, once a process.
var registerModules = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	makeModules(tls)
	if rc := lib.Xsqlite3_auto_extension(tls, funcPointer(extend)); rc != lib.SQLITE_OK {
		return fmt.Errorf("vtab: automatic extension: %s", goString(lib.Xsqlite3_errstr(tls, rc)))
	}
	return nil
})

// extend is the automatic extension.
func extend(tls *libc.TLS, db, pzErr, thunk uintptr) int32 {
	if rc := createModule(tls, db, bindModule, modules.bind); rc != lib.SQLITE_OK {
		return rc
	}
	return createModule(tls, db, openModule, modules.table)
}

func createModule(tls *libc.TLS, db uintptr, name string, m uintptr) int32 {
	z := cString(tls, name)
	defer freeC(tls, z)
	return lib.Xsqlite3_create_module_v2(tls, db, z, m, 0, 0)
}

// modules holds the C structures of callbacks; they live as long as the process.
var modules struct{ bind, table, control, rows, insertable uintptr }

// newModule allocates a zeroed sqlite3_module.
func newModule(tls *libc.TLS) (uintptr, *lib.Tsqlite3_module) {
	p := libc.Xcalloc(tls, 1, types.Size_t(unsafe.Sizeof(lib.Tsqlite3_module{})))
	if p == 0 {
		panic(errOutOfMemory)
	}
	return p, (*lib.Tsqlite3_module)(unsafe.Pointer(p))
}

// capture learns the sqlite3* behind inner and enters c under it.
func capture(c *Conn, inner driver.Conn) error {
	c.name = strconv.FormatInt(tokens.Add(1), 10)
	conns.Store(c.name, c)
	_, err := inner.(driver.ExecerContext).ExecContext(context.Background(), "CREATE VIRTUAL TABLE temp.tidemark_bind USING tidemark_bind("+c.name+")", nil)
	if c.db == 0 {
		conns.Delete(c.name)
		return fmt.Errorf("vtab: bind: %w", err)
	}
	conns.Store(c.db, c)
	return nil
}

// forget removes c. The address of its handle may belong to a new connection by
// now, which must stay.
func forget(c *Conn) {
	conns.Delete(c.name)
	conns.CompareAndDelete(c.db, c)
}

// bindCreate notes the handle and fails, so that nothing of the table stays.
func bindCreate(tls *libc.TLS, db, aux uintptr, argc int32, argv, ppVtab, pzErr uintptr) int32 {
	if av := pointers(argv, argc); len(av) == 4 {
		if v, ok := conns.Load(goString(av[3])); ok && v.(*Conn).db == 0 {
			v.(*Conn).db = db
			storePointer(pzErr, sqliteString(tls, errCaptured.Error()))
			return lib.SQLITE_ERROR
		}
	}
	storePointer(pzErr, sqliteString(tls, "no Tidemark connection"))
	return lib.SQLITE_ERROR
}

// connOf finds the connection of a sqlite3*; nil if it is not ours.
func connOf(db uintptr) *Conn {
	if v, ok := conns.Load(db); ok {
		return v.(*Conn)
	}
	return nil
}
