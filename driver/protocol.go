package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// The protocol of a statement. Lock, snapshot and mirror are fixed before it is
// compiled, in this order:
//
//	write lock   if the statement writes the store
//	snapshot     the head under the lock; the durable state for a single SELECT
//	             and a read-only transaction; the head for any other one
//	mirror       brought to the snapshot's schema, in autocommit
//	BEGIN        that was held back, with its savepoints
//
// then it runs, and settle compares what SQLite says of the transaction with
// what it should be. Waiting for the sync of a commit happens last, outside of
// SQLite.

// phase is where the connection's transaction stands.
type phase uint8

const (
	idle   phase = iota // autocommit
	held                // BEGIN or SAVEPOINT was accepted and not sent yet
	open                // sent
	broken              // SQLite rolled it back by itself; ROLLBACK clears it
)

// txn is the connection's transaction as the driver knows it.
type txn struct {
	phase     phase
	readOnly  bool
	savepoint bool     // a SAVEPOINT opened it
	api       bool     // database/sql's BeginTx opened it
	names     []string // open savepoints, outermost first
	ddl       bool     // it changed the store's schema, so a rollback changes the mirror
	temp      bool     // it changed native schemas, so a rollback changes names
	store     bool     // it wrote the store
	file      bool     // it wrote an attached file
}

// reads is what the statements of the connection read and write.
type reads struct {
	snap   *engine.Snapshot
	etx    *engine.Tx // while the connection holds the write lock
	base   engine.LSN // not known to be durable; rows built on it are held back
	active int        // open Rows that step a statement
}

// access is what a statement does with the store.
type access uint8

const (
	toRead access = iota
	toWrite
)

var errBroken = newError("", errAbortRollback, "the transaction was rolled back by an earlier error: ROLLBACK it first")

// errAbortRollback is SQLITE_ABORT_ROLLBACK.
const errAbortRollback Code = 516

// acquire does everything that comes before a statement is compiled.
func (c *conn) acquire(ctx context.Context, a access) error {
	switch c.tx.phase {
	case broken:
		return errBroken
	case open:
		if a == toWrite && c.reads.etx == nil {
			return c.lock(ctx, true)
		}
		// A rollback to a savepoint may have taken the mirror back.
		return c.refresh(c.schema())
	case held:
		if err := c.acquireFirst(ctx, a); err != nil {
			return err
		}
		return c.sendBegin()
	}
	if a == toWrite {
		return c.lock(ctx, c.reads.active > 0)
	}
	if err := c.look(ctx); err != nil {
		return err
	}
	if c.reads.active == 0 {
		c.pin(c.durable())
	}
	return c.refresh(c.reads.snap.Schema())
}

// look has a store that another process writes come to the newest durable state.
func (c *conn) look(ctx context.Context) error {
	if c.sh.at != nil || c.reads.active > 0 {
		return nil
	}
	return c.store.Refresh(ctx)
}

// acquireFirst fixes lock and snapshot for the first statement of a transaction.
func (c *conn) acquireFirst(ctx context.Context, a access) error {
	if a == toRead {
		if err := c.look(ctx); err != nil {
			return err
		}
	}
	switch {
	case a == toWrite:
		return c.lock(ctx, c.reads.active > 0)
	case c.reads.active > 0: // open Rows pin what the connection reads
	case c.tx.readOnly:
		c.pin(c.durable())
	default:
		c.pin(c.head())
		c.reads.base = c.reads.snap.LSN()
	}
	return c.refresh(c.reads.snap.Schema())
}

// durable is the state that a single SELECT reads.
func (c *conn) durable() *engine.Snapshot {
	if c.sh.at != nil {
		return c.sh.at
	}
	return c.store.Durable()
}

// head is the state that a transaction which may write starts from.
func (c *conn) head() *engine.Snapshot {
	if c.sh.at != nil {
		return c.sh.at
	}
	return c.store.Head()
}

func (c *conn) pin(s *engine.Snapshot) {
	c.reads.snap = s
	c.db.SetSnapshot(s)
}

func (c *conn) unpin() {
	if c.reads.active == 0 && c.reads.snap != nil {
		c.reads.snap = nil
		c.db.SetSnapshot(nil)
	}
}

// schema is the schema in force for the next statement.
func (c *conn) schema() *engine.Schema {
	switch {
	case c.reads.etx != nil:
		return c.reads.etx.Schema()
	case c.reads.snap != nil:
		return c.reads.snap.Schema()
	case c.tx.phase == held && !c.tx.readOnly:
		return c.head().Schema()
	}
	return c.durable().Schema()
}

// sendBegin sends what was held back.
func (c *conn) sendBegin() error {
	text := "BEGIN"
	names := c.tx.names
	if c.tx.savepoint {
		text = "SAVEPOINT " + sqltext.Quote(names[0])
		names = names[1:]
	}
	if err := c.db.Exec(text); err != nil {
		return err
	}
	c.tx.phase = open
	if c.db.Postpone {
		if err := c.setPostpone(true); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := c.db.Exec("SAVEPOINT " + sqltext.Quote(name)); err != nil {
			return err
		}
	}
	return nil
}

// ending is what a statement does to the connection's transaction.
type ending uint8

const (
	goesOn ending = iota
	commits
	rollsBack
)

// settle compares SQLite's state after a statement with the driver's, releases
// what the statement ended, and waits for a commit to be durable. err is the
// statement's own error.
func (c *conn) settle(ctx context.Context, err error, does ending) error {
	if order := c.order; order != nil {
		c.order = nil
		c.unpin()
		if err == nil {
			err = order(ctx)
		}
		return err
	}
	lsn, _ := c.db.TakeCommitted()
	if e, ok := errors.AsType[*vtab.Error](err); ok && e.Action == vtab.Rollback && !c.db.Autocommit() {
		// ON CONFLICT ROLLBACK of a constraint, which SQLite was not told of.
		if undone := c.db.Exec("ROLLBACK"); undone != nil {
			return undone
		}
	}
	if !c.db.Autocommit() {
		return c.holdBack(ctx, err, c.reads.base)
	}
	if c.tx.phase == idle && c.reads.etx == nil { // a read
		c.unpin()
		return err
	}
	if was := c.tx; was.phase == open {
		c.tx, c.db.Postpone = txn{}, false
		if does != commits || err != nil {
			c.undo(was)
		}
		if was.breaks(err, does) {
			c.tx.phase = broken
		}
	}
	base := c.reads.base
	c.endStore()  // before any waiting: the next writer builds on the commit
	if lsn != 0 { // also of a statement that failed: OR FAIL keeps what it had done
		if wait := c.waitDurable(ctx, lsn); wait != nil {
			return wait
		}
		if c.reads.active > 0 {
			c.pin(c.durable()) // the rows of later statements show the write
		}
	}
	return c.holdBack(ctx, err, base)
}

// breaks reports whether a transaction that SQLite ended is kept as broken, so
// that statements meant for it are not run, and committed, one by one. A
// transaction of database/sql always is: its user cannot see that it ended. One
// begun by text is not where the text asked for the end: COMMIT, and ROLLBACK as
// a constraint's resolution, leave SQLite's users in autocommit.
func (t *txn) breaks(err error, does ending) bool {
	switch {
	case err == nil:
		return does == goesOn
	case t.api:
		return true
	}
	return does != commits && !errors.Is(wrapError("", err), ErrConstraint)
}

// endStore releases the write lock, unless the commit did, and the snapshot.
func (c *conn) endStore() {
	if c.reads.etx != nil {
		c.reads.etx.Rollback()
		c.reads.etx = nil
		c.db.SetTx(nil)
	}
	c.reads.base = 0
	c.unpin()
}

// undo forgets what a rollback may have taken back.
func (c *conn) undo(t txn) {
	if t.ddl {
		c.mirror.forget()
	}
	if t.temp {
		c.names.forget()
	}
}

// sqliteError picks the error to report: SQLite's own where it is the last word
// (a constraint), the side channel's where a callback knew more, the context's
// where it interrupted the statement.
func (c *conn) sqliteError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var native *vtab.Error
	if !errors.As(err, &native) {
		return err
	}
	switch Code(native.Code) {
	case ErrConstraint:
		return err
	case ErrInterrupt:
		if cause := ctx.Err(); cause != nil {
			return cause
		}
	}
	side := c.db.LastError()
	if side == nil {
		return err
	}
	// A scan that is interrupted does not say so to SQLite, see vtab.refuse.
	if cause := ctx.Err(); cause != nil && errors.As(side, &native) && Code(native.Code) == ErrInterrupt {
		return cause
	}
	return side
}

func errNoSavepoint(name string) error {
	return newError("", ErrGeneric, "no such savepoint: %s", name)
}

// findSavepoint returns the position of the innermost savepoint of a name.
func (t *txn) findSavepoint(name string) int {
	for i := len(t.names) - 1; i >= 0; i-- {
		if strings.EqualFold(t.names[i], name) {
			return i
		}
	}
	return -1
}

// String names the phase for messages of tests.
func (p phase) String() string {
	return fmt.Sprint([...]string{"idle", "held", "open", "broken"}[p])
}
