package vtab

import (
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// What a carrier's body tells about the trigger that runs. The names cannot be
// typed; the driver refuses a text that names them.
const (
	// EnterFunction and DoneFunction stand around a body with a RAISE(IGNORE):
	// entered and not done means that it was raised.
	EnterFunction = "\x01enter"
	DoneFunction  = "\x01done"
	// FailFunction is around the message of a RAISE(FAIL), and returns it.
	FailFunction = "\x01fail"
)

// registerFirings registers the functions.
func (c *Conn) registerFirings() error {
	for _, f := range []struct {
		name string
		args int32
		call uintptr
	}{
		{EnterFunction, 0, funcPointer(enterFunction)},
		{DoneFunction, 0, funcPointer(doneFunction)},
		{FailFunction, 1, funcPointer(failFunction)},
	} {
		z := cString(c.tls, f.name)
		rc := lib.Xsqlite3_create_function_v2(c.tls, c.db, z, f.args, lib.SQLITE_UTF8|lib.SQLITE_INNOCUOUS, 0, f.call, 0, 0, 0)
		freeC(c.tls, z)
		if rc != lib.SQLITE_OK {
			return c.lastSQLiteError(rc)
		}
	}
	return nil
}

// firingOf returns the trigger that runs on the connection of a function.
func firingOf(tls *libc.TLS, ctx uintptr) *firing {
	c := connOf(lib.Xsqlite3_context_db_handle(tls, ctx))
	if c == nil || len(c.firing) == 0 {
		return new(firing)
	}
	return &c.firing[len(c.firing)-1]
}

func enterFunction(tls *libc.TLS, ctx uintptr, _ int32, _ uintptr) {
	firingOf(tls, ctx).entered = true
}

func doneFunction(tls *libc.TLS, ctx uintptr, _ int32, _ uintptr) {
	firingOf(tls, ctx).done = true
}

func failFunction(tls *libc.TLS, ctx uintptr, argc int32, argv uintptr) {
	firingOf(tls, ctx).fails = true
	lib.Xsqlite3_result_value(tls, ctx, pointers(argv, argc)[0])
}
