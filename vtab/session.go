package vtab

import (
	"errors"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
)

// ErrNoSnapshot is the error of a read while the connection has neither a
// transaction nor a snapshot.
var ErrNoSnapshot = errors.New("vtab: no snapshot is set")

// session is what a connection reads and writes. Its fields belong to the
// goroutine that uses the connection.
type session struct {
	store *engine.Store
	src   Source
	snap  *engine.Snapshot
	tx    *engine.Tx

	// PushdownOff makes every statement prepared from now on read whole tables
	// in their own order and leaves all comparing and sorting to SQLite: the
	// rows are the same, which is what it is for.
	PushdownOff bool

	// ForeignKeys has foreign keys enforced. Postpone puts off those that are
	// not deferred until the end of the transaction.
	ForeignKeys, Postpone bool

	// OnControl is called for each UPDATE of temp.tidemark_tx with its
	// operation and argument, inside the running transaction. The argument is
	// borrowed for the call.
	OnControl func(op string, arg []byte) error
	// OnUnlockedWrite is called when SQLite begins to write and no transaction
	// is set. It must either set one or return an error; without it such a
	// write fails with SQLITE_BUSY.
	OnUnlockedWrite func() error

	// OnPast opens the state of a branch point, for SELECT … FROM t('name').
	OnPast func(name string) (*engine.Snapshot, error)
	// OnUse is called with a table of a snapshot before its rows are asked for. Those
	// of an old state are loaded then; without it nothing ends that but the store's
	// Close.
	OnUse func(*engine.Table) error

	pasts     pasts
	txs       txState
	committed engine.LSN
	hasCommit bool

	handled []*table  // that have a handle of tx
	tables  []*table  // connected, so that the collector sees what C holds
	idle    []*cursor // closed cursors, kept for their memory
	modules []*rowModule

	frames  []frame            // row sources, innermost last
	nested  map[string][]*Stmt // idle nested statements by text
	running []uintptr          // sqlite3_stmt* of writing statements in Step, innermost last
	scratch scratch
	plans   plans

	statement statement

	firing       []firing            // triggers that run, innermost last
	carriers     map[string]struct{} // statements of nested that fire triggers
	tempTriggers *Triggers
	tempGen      uint64 // counts SetTempTriggers

	helpers  map[engine.TableID]*table // see helper
	depth    int                       // actions that run, and trigger programs around the innermost statement
	dropping bool                      // a table is emptied to be dropped

	once map[rowOf]struct{} // rows updated, nil unless CountOnce

	returning *Returning // of the running statement, nil without a RETURNING

	clause      Conflict // OR clause of the running statement, see SetClause
	clauseKnown bool

	trace func(callback string, t *table, n int32) // set by tests
}

// traced reports a callback to the test that watches; n is a savepoint or -1.
func (t *table) traced(callback string, n int32) {
	if t.c.trace != nil {
		t.c.trace(callback, t, n)
	}
}

// Attach binds the connection to a store. It must be called before the first
// statement on a table of it.
func (c *Conn) Attach(store *engine.Store, src Source) { c.store, c.src = store, src }

// SetSnapshot sets what reads see while there is no transaction; nil releases
// it. Cursors that are open keep what they pinned.
func (c *Conn) SetSnapshot(s *engine.Snapshot) {
	c.snap = s
	if s == nil {
		c.pasts = nil
	}
}

// Snapshot returns what SetSnapshot set.
func (c *Conn) Snapshot() *engine.Snapshot { return c.snap }

// SetTx sets the transaction that all tables of the connection read and write.
// From xBegin on it is SQLite that ends it: xCommit and xRollback unset it. A
// transaction no xBegin came to stays with the caller, who ends it himself and
// sets nil.
func (c *Conn) SetTx(tx *engine.Tx) {
	c.dropHandles()
	c.tx = tx
	c.txs = txState{marks: c.txs.marks[:0]}
}

// dropHandles lets go of the last transaction, which refers to what the tables
// held before it.
func (c *Conn) dropHandles() {
	for i, t := range c.handled {
		t.h, t.tx = nil, nil
		c.handled[i] = nil
	}
	c.handled = c.handled[:0]
}

// Tx returns the transaction that is set; nil also after SQLite ended it.
func (c *Conn) Tx() *engine.Tx { return c.tx }

// Begun reports that xBegin came for the transaction that is set: a statement
// wrote, or was about to.
func (c *Conn) Begun() bool { return c.tx != nil && c.txs.begun }

// SetClause tells the OR clause that the statement about to run was written
// with, where SQLite does not: an explicit OR ABORT looks like none, and a text
// that was given OR FAIL, so that a constraint's own FAIL can act, had none.
// Whoever sets it unsets it after the statement.
func (c *Conn) SetClause(mode Conflict) { c.clause, c.clauseKnown = mode, true }

// UnsetClause leaves the OR clause to SQLite's report.
func (c *Conn) UnsetClause() { c.clause, c.clauseKnown = Default, false }

// CountOnce makes the statements to come count a row they update several times
// as one change, or ends that. An UPDATE FROM updates a row for each match, and
// SQLite counts one.
func (c *Conn) CountOnce(once bool) {
	c.once = nil
	if once {
		c.once = map[rowOf]struct{}{}
	}
}

func (c *Conn) countOnce(r rowOf) {
	if _, again := c.once[r]; again {
		c.uncount()
	}
	c.once[r] = struct{}{}
}

// rowOf is a row of a table.
type rowOf struct {
	table engine.TableID
	rowid int64
}

// TakeCommitted returns the LSN of the commit SQLite made since the last call,
// 0 for one of a transaction that had written nothing. The caller waits for it
// to be durable, outside of Step.
func (c *Conn) TakeCommitted() (engine.LSN, bool) {
	lsn, ok := c.committed, c.hasCommit
	c.committed, c.hasCommit = 0, false
	return lsn, ok
}

// schema returns the schema in force, nil when nothing is set.
func (c *Conn) schema() *engine.Schema {
	switch {
	case c.tx != nil:
		return c.tx.Schema()
	case c.snap != nil:
		return c.snap.Schema()
	}
	return nil
}

// view returns the state of a table that a cursor pins now.
func (c *Conn) view(id engine.TableID) (*engine.Table, error) {
	var t *engine.Table
	switch {
	case c.tx != nil:
		t = c.tx.View(id)
	case c.snap != nil:
		t = c.snap.Table(id)
	default:
		return nil, ErrNoSnapshot
	}
	if t == nil {
		return nil, errorf(lib.SQLITE_SCHEMA, "no such table in this snapshot: %d", id)
	}
	if c.tx == nil {
		return t, c.use(t)
	}
	return t, nil
}

// use readies a table of a snapshot to be read.
func (c *Conn) use(t *engine.Table) error {
	if c.OnUse == nil {
		return nil
	}
	return c.OnUse(t)
}

// closeSession lets go of everything once SQLite has let go of the tables.
func (c *Conn) closeSession() {
	c.session = session{}
}
