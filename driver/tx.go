package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
)

// tx is a transaction begun through database/sql.
type tx struct {
	c   *conn
	ctx context.Context // of BeginTx: its deadline bounds the wait of the commit
}

// BeginTx opens a transaction. Isolation is serializable; LevelSnapshot is the
// same thing for a transaction that only reads.
func (c *conn) BeginTx(ctx context.Context, opts sqldriver.TxOptions) (_ sqldriver.Tx, err error) {
	defer c.guard("begin", &err)
	if err := c.checkUsable(ctx); err != nil {
		return nil, err
	}
	switch level := sql.IsolationLevel(opts.Isolation); {
	case level == sql.LevelDefault, level == sql.LevelSerializable:
	case level == sql.LevelSnapshot && opts.ReadOnly:
	case level == sql.LevelSnapshot:
		return nil, newError("begin", ErrMisuse, "isolation level Snapshot is for read-only transactions: use Serializable, or set ReadOnly")
	default:
		return nil, newError("begin", ErrMisuse, "isolation level %s is not offered: use Serializable, or Snapshot with ReadOnly", level)
	}
	if err := c.begin(ctx, c.beginsImmediate(), opts.ReadOnly); err != nil {
		return nil, wrapError("begin", err)
	}
	c.tx.api = true
	return &tx{c, ctx}, nil
}

// Commit makes the transaction durable. After an error it has ended all the
// same: database/sql calls nothing more on it.
func (t *tx) Commit() (err error) {
	c := t.c
	defer c.guard("commit", &err)
	if c.unusable() {
		return sqldriver.ErrBadConn
	}
	err = c.commit(t.ctx)
	if c.tx.phase != idle {
		_ = c.rollback() // the error of the commit is the one to report
	}
	return wrapError("commit", err)
}

// Rollback ends the transaction without a trace.
func (t *tx) Rollback() (err error) {
	defer t.c.guard("rollback", &err)
	if t.c.unusable() {
		return sqldriver.ErrBadConn
	}
	return wrapError("rollback", t.c.rollback())
}
