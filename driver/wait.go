package driver

import (
	"context"
	"errors"

	"github.com/tidemarkdb/tidemark/engine"
)

// holdBack keeps an error that depends on rows of commits that are still on
// their way until these are durable: a constraint that failed because of a row
// nobody may ever see must not be reported.
func (c *conn) holdBack(ctx context.Context, err error, base engine.LSN) error {
	if err == nil || !errors.Is(wrapError("", err), ErrConstraint) {
		return err
	}
	if wait := c.await(ctx, base); wait != nil {
		return wait
	}
	return err
}

// awaitBase waits until the state the transaction builds on is durable.
func (c *conn) awaitBase(ctx context.Context) error {
	if err := c.await(ctx, c.reads.base); err != nil {
		return err
	}
	c.reads.base = 0
	return nil
}

// await waits for a commit of somebody else. Nothing of this connection was
// appended, so its outcome is known: what counts is why the wait ended.
func (c *conn) await(ctx context.Context, lsn engine.LSN) error {
	if lsn == 0 || c.store.Durable().LSN() >= lsn {
		return nil
	}
	err := c.store.WaitDurable(ctx, lsn)
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	if cause := c.store.Poisoned(); cause != nil {
		return cause
	}
	return err
}

// waitDurable waits for a commit of this connection. The caller's context does
// not cancel it any more, but its deadline ends the wait.
func (c *conn) waitDurable(ctx context.Context, lsn engine.LSN) error {
	if c.store.Acknowledged(lsn) {
		return nil
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return c.store.WaitDurable(context.Background(), lsn)
	}
	wait, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	return c.store.WaitDurable(wait, lsn)
}
