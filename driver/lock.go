package driver

import (
	"context"
	"errors"
	"time"

	"github.com/tidemarkdb/tidemark/engine"
)

// lock takes the write lock. When the connection has read already, what it read
// must still be the head.
func (c *conn) lock(ctx context.Context, pinned bool) error {
	if err := c.refuseWrite(); err != nil {
		return err
	}
	pinned = pinned && c.reads.snap != nil
	if pinned && !c.store.Head().Same(c.reads.snap) {
		return errSnapshotOld()
	}
	etx, err := c.takeWriteLock(ctx)
	if err != nil {
		return err
	}
	if pinned && !etx.From().Same(c.reads.snap) {
		etx.Rollback()
		return errSnapshotOld()
	}
	if pinned && c.reads.base != 0 {
		etx.ReadEarlier()
	}
	// Under the lock nothing is appended: the head is what the transaction
	// builds on. The lock is noted at once, so that a panic gives it back.
	c.reads.etx = etx
	before := c.reads.snap
	c.pin(c.store.Head())
	if err := c.refresh(c.reads.snap.Schema()); err != nil {
		etx.Rollback()
		c.reads.etx = nil
		if before != nil {
			c.pin(before) // the transaction goes on with what it reads
		} else {
			c.unpin()
		}
		return err
	}
	c.adopt(etx)
	return nil
}

// adopt makes an engine transaction the connection's.
func (c *conn) adopt(etx *engine.Tx) {
	c.reads.etx = etx
	c.reads.base = etx.Base()
	c.db.SetTx(etx)
}

// lockLate serves a write that the text did not announce (a trigger of a
// temporary table): it comes from within SQLite, so it must not wait.
func (c *conn) lockLate() error {
	if err := c.refuseWrite(); err != nil {
		return err
	}
	etx, err := c.store.TryBegin()
	if err != nil {
		return wrapError("lock", err)
	}
	if c.reads.snap != nil && !etx.From().Same(c.reads.snap) {
		etx.Rollback()
		return errSnapshotOld()
	}
	if c.reads.base != 0 {
		etx.ReadEarlier()
	}
	c.adopt(etx)
	return nil
}

// footing is what a transaction holds before a statement.
type footing struct {
	tx     txn
	snap   *engine.Snapshot
	base   engine.LSN
	locked bool
}

func (c *conn) footing() footing {
	return footing{c.tx, c.reads.snap, c.reads.base, c.reads.etx != nil}
}

// withdraw takes back what was fixed for a statement of a transaction that then
// was refused before it ran. It must neither leave others waiting for the write
// lock nor decide which state the transaction sees.
func (c *conn) withdraw(to footing) error {
	if c.db.Begun() {
		return nil // something ran: SQLite ends it
	}
	switch {
	case to.tx.phase == held && c.tx.phase == open && c.reads.active == 0:
		if err := c.db.Exec("ROLLBACK"); err != nil {
			return err
		}
		c.tx = to.tx
		c.endStore()
	case to.tx.phase == open && c.tx.phase == open:
		c.tx.store, c.tx.file = to.tx.store, to.tx.file
		if to.locked || c.reads.etx == nil {
			return nil
		}
		c.reads.etx.Rollback()
		c.reads.etx, c.reads.base = nil, to.base
		c.db.SetTx(nil)
		c.pin(to.snap)
	}
	return nil
}

func errSnapshotOld() error {
	return newError("lock", ErrBusySnapshot, "%s", ErrBusySnapshot.Error())
}

// readyTimeout is how long a connection that does not wait for others waits for
// the next file of the log.
const readyTimeout = time.Second

// takeWriteLock waits for the write lock until the context ends or the busy
// timeout has passed.
func (c *conn) takeWriteLock(ctx context.Context) (*engine.Tx, error) {
	c.store.AwaitCompaction(ctx)
	etx, err := c.store.TryBegin()
	timeout := c.busyTimeout
	if errors.Is(err, engine.ErrNotReady) {
		timeout = max(timeout, readyTimeout) // nobody else is in the way
	}
	if !errors.Is(err, engine.ErrBusy) || timeout <= 0 {
		return etx, err
	}
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	etx, err = c.store.Begin(wait)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, engine.ErrBusy
	}
	return etx, err
}

// lockTimeout is the busy timeout as jobs of the engine take it.
func (c *conn) lockTimeout() time.Duration {
	if c.busyTimeout <= 0 {
		return noWait
	}
	return c.busyTimeout
}

// refuseWrite refuses writes to the store where there can be none.
func (c *conn) refuseWrite() error {
	switch {
	case c.sh.at != nil:
		e := newError("", ErrReadOnly, "%w", errReadOnlyTx.Err)
		e.Hint = "at=" + c.sh.cfg.At + " in the DSN reads a branch point"
		return e
	case c.sh.inst.readOnly:
		return errReadOnlyStore()
	case c.tx.readOnly:
		return errReadOnlyTx
	}
	return nil
}

// errReadOnlyStore refuses a write with mode=ro.
func errReadOnlyStore() *Error {
	e := newError("", ErrReadOnly, "%w", errReadOnlyTx.Err)
	e.Hint = "mode=ro in the DSN only reads"
	return e
}

// errReadOnlyTx refuses a write in a read-only transaction.
var errReadOnlyTx = newError("", ErrReadOnly, "attempt to write a readonly database")
