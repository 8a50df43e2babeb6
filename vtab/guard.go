package vtab

import (
	"fmt"
	"runtime/debug"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// guard is deferred by every callback that can panic. A panic that went on
// through the transpiled C would leave SQLite's mutex held and its state half
// changed; here it becomes an error, and the connection is bad.
func (c *Conn) guard(op string, failed func(error)) {
	if r := recover(); r != nil {
		failed(c.panicked(op, r))
	}
}

// failColumn ends an xColumn that panicked with r.
func (c *Conn) failColumn(tls *libc.TLS, ctx uintptr, r any) int32 {
	err := c.panicked("column", r)
	z := cString(tls, err.Error())
	defer freeC(tls, z)
	lib.Xsqlite3_result_error(tls, ctx, z, -1)
	return lib.SQLITE_ERROR
}

func (c *Conn) panicked(op string, r any) error {
	c.bad = true
	err := fmt.Errorf("%w: %s: %v\n%s", ErrPanic, op, r, debug.Stack())
	c.note(err)
	return err
}
