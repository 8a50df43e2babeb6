package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
)

// errUnchanged ends a write that found nothing to do: the transaction is rolled
// back, no COMMIT happens and the call succeeds.
var errUnchanged = errors.New("unchanged")

// writeTx is one write transaction and the ids it took.
type writeTx struct {
	*sqlx.Tx
	ids allocation
}

// write runs fn in one BEGIN IMMEDIATE. Calls queue for the writer on ctx. What
// fn returned is returned when it fails, after a rollback.
func (c *Catalog) write(ctx context.Context, op string, fn func(ctx context.Context, tx *writeTx) error) error {
	unlock, err := c.lock(ctx, op)
	if err != nil {
		return err
	}
	defer unlock()
	return c.writeLocked(ctx, op, fn)
}

// lock takes the writer's place, waiting on ctx.
func (c *Catalog) lock(ctx context.Context, op string) (unlock func(), err error) {
	if c.options.ReadOnly && !(c.options.Pins && readersOps[op]) {
		return nil, &Error{Code: CodeReadOnly, Op: op, Err: errors.New("the store is open read-only")}
	}
	select {
	case c.writer <- struct{}{}:
	case <-ctx.Done():
		return nil, &Error{Code: CodeCanceled, Op: op, Err: ctx.Err()}
	}
	if err := c.handle.usable(op); err != nil {
		<-c.writer
		return nil, err
	}
	return func() { <-c.writer }, nil
}

func (c *Catalog) writeLocked(ctx context.Context, op string, fn func(ctx context.Context, tx *writeTx) error) error {
	tx, err := c.begin(ctx, op)
	if err != nil {
		return c.failed(op, err)
	}
	w := &writeTx{Tx: tx, ids: c.ids}
	if err := fn(ctx, w); err != nil {
		if errors.Is(err, errUnchanged) {
			return wrap(op, rollback(tx))
		}
		return c.failed(op, errors.Join(err, rollback(tx)))
	}
	if err := tx.Commit(); err != nil {
		return c.failed(op, err)
	}
	c.ids = w.ids
	return nil
}

// begin retries BUSY until the busy timeout has passed. SQLite's own handler
// does most of the waiting; some BUSY answers never reach it.
func (c *Catalog) begin(ctx context.Context, op string) (*sqlx.Tx, error) {
	ctx = withCommitName(ctx, op)
	deadline := time.Now().Add(c.options.BusyTimeout)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		tx, err := c.writes.BeginTxx(ctx, nil)
		if err == nil {
			return tx, nil
		}
		if code, _ := classify(err); code != CodeBusy || ctx.Err() != nil {
			return nil, err
		}
		if !time.Now().Before(deadline) {
			return nil, fmt.Errorf("%w: another process has held the catalog's write lock for %v%s", err, c.options.BusyTimeout, c.suspects(ctx))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// suspects names the processes that are known to write the catalog now and then: one
// that was stopped in the middle of it has to go on, or to end, before others can.
func (c *Catalog) suspects(ctx context.Context) string {
	var pids []string
	if err := c.reads.SelectContext(ctx, &pids, `SELECT DISTINCT pid FROM sessions WHERE state IN ('live', 'uncertain') ORDER BY pid`); err != nil || len(pids) == 0 {
		return ""
	}
	return "; these read the store with mode=ro, let the one that is stopped go on or end it: pid " + strings.Join(pids, ", ")
}

// failed names the operation and poisons the handle after a storage error.
func (c *Catalog) failed(op string, err error) error {
	err = wrap(op, err)
	if isStorageError(err) {
		c.handle.poison(err)
	}
	return err
}

// read runs fn in one read transaction: one snapshot, no pin.
func (c *Catalog) read(ctx context.Context, op string, fn func(ctx context.Context, tx *sqlx.Tx) error) error {
	if err := c.handle.usable(op); err != nil {
		return err
	}
	tx, err := c.reads.BeginTxx(ctx, nil)
	if err != nil {
		return c.failed(op, err)
	}
	if err := fn(ctx, tx); err != nil {
		return c.failed(op, errors.Join(err, rollback(tx)))
	}
	return wrap(op, rollback(tx))
}

// rollback ends a transaction that database/sql may have ended already because
// the context did.
func rollback(tx *sqlx.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return fmt.Errorf("rollback: %w", err)
	}
	return nil
}
