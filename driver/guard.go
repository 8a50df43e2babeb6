package driver

import "fmt"

// guard is deferred by every call database/sql makes that runs SQL. A panic in a
// function, hook or collation the program registered unwinds through SQLite's
// code, which leaves the connection's mutex held and its state half changed; it
// becomes an error here, and the pool throws the connection away.
func (c *conn) guard(op string, err *error) {
	if r := recover(); r != nil {
		c.abandon()
		cause, ok := r.(error)
		if !ok {
			cause = fmt.Errorf("%v", r)
		}
		*err = newError(op, ErrInternal, "panic: %w", cause)
	}
}

// abandon gives up what others may wait for. SQLite is not called any more, not
// even to close the connection: that could wait for ever.
func (c *conn) abandon() {
	c.bad = true
	if c.reads.etx != nil {
		c.reads.etx.Rollback()
		c.reads.etx = nil
	}
	c.reads.snap = nil
	c.db.SetTx(nil)
	c.db.SetSnapshot(nil)
}

// unusable reports that the connection's SQLite must not be used again.
func (c *conn) unusable() bool { return c.bad || c.db.Bad() }
