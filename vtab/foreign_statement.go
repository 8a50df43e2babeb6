package vtab

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
)

// statement is where the running statement started.
type statement struct {
	tx     *engine.Tx
	mark   engine.Mark
	rowid  int64 // last_insert_rowid
	oneRow bool
}

// StartStatement says that a statement is about to run, which starts without
// violations of its own. oneRow says that it is the INSERT of one row: nothing
// that comes after that could mend what it violates, so it fails at once, and
// mends nothing of others.
func (c *Conn) StartStatement(oneRow bool) {
	c.startPlans()
	c.statement = statement{tx: c.tx, rowid: c.LastInsertRowid(), oneRow: oneRow}
	if c.tx != nil {
		c.tx.Violations().Statement = 0
		c.statement.mark = c.tx.Mark()
	}
}

// Violated reports that the running statement may not end as it is.
func (c *Conn) Violated() bool { return c.tx != nil && c.tx.Violations().Statement != 0 }

// UndoStatement takes back what a statement wrote in the store and counted,
// which has ended as far as SQLite knows, and returns the error it ends with.
func (c *Conn) UndoStatement() error {
	if c.tx != nil && c.statement.tx == c.tx {
		c.tx.RollbackTo(c.statement.mark)
	}
	db := (*lib.Tsqlite3)(unsafe.Pointer(c.db))
	db.FnTotalChange -= db.FnChange
	db.FnChange = 0
	return errForeignKey(lib.SQLITE_CONSTRAINT_FOREIGNKEY)
}

// KeepLastInsertRowid puts last_insert_rowid back to what it was before the
// statement, for one that SQLite would have stopped earlier.
func (c *Conn) KeepLastInsertRowid() { c.SetLastInsertRowid(c.statement.rowid) }

// CommitError returns the error of a commit now, if violations are left.
func (c *Conn) CommitError() error {
	if c.tx == nil {
		return nil
	}
	if v := c.tx.Violations(); v.Transaction+v.Postponed != 0 {
		return errForeignKey(lib.SQLITE_CONSTRAINT_FOREIGNKEY)
	}
	return nil
}

// StopPostponing ends Postpone. Like SQLite it forgets what was counted for the
// end of the transaction, be it put off or deferred.
func (c *Conn) StopPostponing() {
	if c.Postpone = false; c.tx != nil {
		v := c.tx.Violations()
		v.Transaction, v.Postponed = 0, 0
	}
}
