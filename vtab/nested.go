package vtab

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"
)

// Nested statements run inside callbacks, on the same connection and the same
// TLS (another one would wait for ever for the connection's mutex, which the
// statement around holds). They are prepared once and pooled by text: recursion
// needs one text several times at once. One in use is reset before its callback
// returns, since an open statement would block the commit.

// takeNested returns an idle statement of the text.
func (c *Conn) takeNested(sql string) (*Stmt, error) {
	if idle := c.nested[sql]; len(idle) > 0 {
		st := idle[len(idle)-1]
		c.nested[sql] = idle[:len(idle)-1]
		return st, nil
	}
	st, _, err := c.PreparePersistent(sql)
	if err == nil && st == nil {
		err = errorf(lib.SQLITE_ERROR, "nested statement is empty")
	}
	return st, err
}

// giveNested resets a statement and returns it to the pool.
func (c *Conn) giveNested(sql string, st *Stmt) {
	// The error of the run was returned by Step.
	_ = st.Reset()
	if c.nested == nil {
		c.nested = map[string][]*Stmt{}
	}
	c.nested[sql] = append(c.nested[sql], st)
}

// dropNested finalizes the idle statements of a text. They leave the pool
// first: a statement may hold the last reference to its table, whose disconnect
// comes back here while the statement is being finalized.
func (c *Conn) dropNested(sql string) {
	if sql == "" {
		return
	}
	idle := c.nested[sql]
	delete(c.nested, sql)
	for _, st := range idle {
		st.Finalize()
	}
}

func (c *Conn) closeNested() {
	for sql := range c.nested {
		c.dropNested(sql)
	}
}

// changeCount is the connection's change count, for keeping it over a nested
// statement of every row: keepChanges allocates.
func (c *Conn) changeCount() *lib.Ti64 { return &(*lib.Tsqlite3)(unsafe.Pointer(c.db)).FnChange }

// keepChanges saves the connection's change count, which a nested statement
// overwrites when it ends, and returns what puts it back.
func (c *Conn) keepChanges() func() {
	db := (*lib.Tsqlite3)(unsafe.Pointer(c.db))
	n := db.FnChange
	return func() { db.FnChange = n }
}

// uncount takes one row off the count of the running statement: SQLite will
// add one for the callback that returns OK, although it changed no row.
func (c *Conn) uncount() {
	if n := len(c.running); n > 0 {
		(*lib.TVdbe)(unsafe.Pointer(c.running[n-1])).FnChange--
	}
}
