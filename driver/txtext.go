package driver

import (
	"context"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

// transact runs a transaction command. While BEGIN is held back nothing has
// reached SQLite, so the commands only change the driver's own state, with
// SQLite's rules and messages.
func (c *conn) transact(ctx context.Context, s *sqltext.Stmt) error {
	if c.tx.phase == broken {
		if s.Kind == sqltext.Rollback {
			c.tx = txn{}
			return nil
		}
		return errBroken
	}
	switch s.Kind {
	case sqltext.Begin:
		immediate := s.Mode != sqltext.Deferred || s.Plain() && c.beginsImmediate()
		return c.begin(ctx, immediate, false)
	case sqltext.Commit:
		return c.commit(ctx)
	case sqltext.Rollback:
		if c.tx.phase == idle {
			return newError("", ErrGeneric, "cannot rollback - no transaction is active")
		}
		return c.rollback()
	case sqltext.Savepoint:
		return c.savepoint(s.Label)
	case sqltext.Release:
		return c.releaseSavepoint(ctx, s.Label)
	}
	return c.rollbackTo(s.Label)
}

// beginsImmediate says what a BEGIN asks for that says nothing.
func (c *conn) beginsImmediate() bool {
	return c.sh.cfg.Txlock == "immediate" && c.sh.at == nil && !c.sh.inst.readOnly
}

// begin opens a transaction. It is held back until a statement needs it, unless
// it asks for the write lock at once.
func (c *conn) begin(ctx context.Context, immediate, readOnly bool) error {
	switch c.tx.phase {
	case idle:
	case broken:
		return errBroken
	default:
		return newError("", ErrGeneric, "cannot start a transaction within a transaction")
	}
	c.tx = txn{phase: held, readOnly: readOnly}
	if !immediate || readOnly {
		return nil
	}
	if err := c.acquire(ctx, toWrite); err != nil {
		if c.tx.phase == held {
			c.tx = txn{}
			c.endStore()
		}
		return err
	}
	return nil
}

// commit ends the transaction. Whoever built on commits that are not durable
// yet and wrote nothing has nothing to wait for: its rows were held back.
func (c *conn) commit(ctx context.Context) error {
	switch c.tx.phase {
	case idle:
		return newError("", ErrGeneric, "cannot commit - no transaction is active")
	case broken:
		return errBroken
	case held:
		c.tx, c.db.Postpone = txn{}, false
		c.endStore()
		return nil
	}
	if err := c.db.CommitError(); err != nil { // the transaction stays open
		return c.settle(ctx, err, goesOn)
	}
	c.db.ClearError()
	err := c.sqliteError(ctx, c.db.Exec("COMMIT"))
	return c.settle(ctx, err, commits)
}

// rollback ends the transaction without a trace, whatever its phase.
func (c *conn) rollback() error {
	switch c.tx.phase {
	case idle:
		return nil
	case open:
		c.db.ClearError()
		err := c.db.Exec("ROLLBACK")
		return c.settle(context.Background(), err, rollsBack)
	}
	c.tx, c.db.Postpone = txn{}, false
	c.endStore()
	return nil
}

func (c *conn) savepoint(name string) error {
	switch c.tx.phase {
	case idle:
		c.tx = txn{phase: held, savepoint: true}
	case open:
		if err := c.db.Exec("SAVEPOINT " + sqltext.Quote(name)); err != nil {
			return err
		}
	}
	c.tx.names = append(c.tx.names, name)
	return nil
}

// releaseSavepoint forgets a savepoint and those inside of it; releasing the one
// that opened the transaction commits.
func (c *conn) releaseSavepoint(ctx context.Context, name string) error {
	i := c.tx.findSavepoint(name)
	if i < 0 {
		return errNoSavepoint(name)
	}
	outermost := i == 0 && c.tx.savepoint
	if c.tx.phase == held {
		if outermost {
			c.tx, c.db.Postpone = txn{}, false
		} else {
			c.tx.names = c.tx.names[:i]
		}
		return nil
	}
	if outermost {
		if err := c.db.CommitError(); err != nil {
			return c.settle(ctx, err, goesOn)
		}
	}
	c.db.ClearError()
	begun := c.db.Begun()
	err := c.sqliteError(ctx, c.db.Exec("RELEASE "+sqltext.Quote(name)))
	if err != nil && outermost && begun && !c.db.Begun() && !c.db.Autocommit() {
		// The commit was refused after a schema change. SQLite has rolled back
		// every table and is still in the transaction: a second RELEASE would be
		// reported as done, with nothing left to commit.
		if undone := c.db.Exec("ROLLBACK"); undone != nil {
			return undone
		}
	}
	if err == nil && !outermost {
		c.tx.names = c.tx.names[:i]
	}
	does := goesOn
	if outermost {
		does = commits
	}
	return c.settle(ctx, err, does)
}

func (c *conn) rollbackTo(name string) error {
	i := c.tx.findSavepoint(name)
	if i < 0 {
		return errNoSavepoint(name)
	}
	if c.tx.phase == open {
		if err := c.db.Exec("ROLLBACK TO " + sqltext.Quote(name)); err != nil {
			return err
		}
		c.undo(c.tx)
	}
	c.tx.names = c.tx.names[:i+1]
	return nil
}
