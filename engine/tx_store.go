package engine

import (
	"context"
	"errors"
	"time"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// Tx is the one write transaction there can be at a time; it holds the write
// lock from Begin to Commit or Rollback. One goroutine uses it at a time.
type Tx struct {
	*txState
	store *Store
	ended bool

	// What Prepare made is in Store.log, valid while nothing was written since.
	prepared bool
	stamp    uint64
}

// Begin waits for the write lock, until ctx ends, and starts a transaction
// from the head.
func (s *Store) Begin(ctx context.Context) (*Tx, error) {
	s.AwaitCompaction(ctx)
	for {
		ok, err := s.wl.acquire(ctx, s.poisoned, s.closing)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, s.refusal()
		}
		t, wait, err := s.begin()
		if t != nil || err != nil {
			return t, err
		}
		// The next generation's file is not ready. It is waited for without
		// the lock, so that Close and others are not held up.
		if err := s.waitReady(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// waitReady waits for the files of the next generations. It also returns when
// the engine is poisoned or closed, which the next attempt finds out.
func (s *Store) waitReady(ctx context.Context, wait *readiness) error {
	select {
	case <-wait.done:
		return wait.err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.poisoned:
	case <-s.closing:
	}
	return nil
}

// patience is how often TryBegin looks for a lock that no transaction has.
const patience = 100

// TryBegin is Begin that waits for nothing that takes longer than a moment: it
// returns ErrBusy when a transaction has the lock, and ErrNotReady, which is an
// ErrBusy too, when the next file of the log is still being made.
func (s *Store) TryBegin() (*Tx, error) {
	for n := 0; !s.wl.tryAcquire(); n++ {
		if err := s.refusal(); err != nil {
			return nil, err
		}
		if n == patience || s.inTx.Load() {
			return nil, ErrBusy
		}
		time.Sleep(closePoll) // a checkpoint has it, or a compaction
	}
	t, wait, err := s.begin()
	if wait != nil {
		return nil, ErrNotReady
	}
	return t, err
}

// begin starts a transaction under the write lock, or releases the lock.
func (s *Store) begin() (t *Tx, wait *readiness, err error) {
	if err = s.refusal(); err == nil && s.log.full() {
		wait = s.rotate()
	}
	if err != nil || wait != nil {
		s.wl.release()
		return nil, wait, err
	}
	s.inTx.Store(true)
	base := s.head.Load()
	t = &Tx{txState: newTx(base, base.lsn+1, &s.ids), store: s}
	t.unlogged, t.budget, t.told, t.pasts = s.opts.Memory, s.opts.MemoryBudget, s.noMemory, &s.histories
	return t, nil, nil
}

// Prepare does everything about a commit that may be refused: it encodes the
// frames and makes room for them. ErrFull leaves the log as it was, and the
// transaction can go on or be rolled back. Prepare may be called again, and
// must be after a later write.
func (t *Tx) Prepare() error {
	if t.ended {
		return ErrTxDone
	}
	if !t.changed() {
		return nil
	}
	if err := t.store.Poisoned(); err != nil {
		return err
	}
	if t.prepared && t.stamp == t.writeStamp() {
		return nil
	}
	t.prepared = false
	if t.unlogged || t.volatileOnly() {
		t.prepared, t.stamp = true, t.writeStamp()
		return nil
	}
	err := t.store.log.prepare(t.txState, wal.Commit{
		LSN:       uint64(t.lsn),
		WallNanos: t.store.opts.Now().UnixNano(),
		SyncedLSN: uint64(t.store.synced.Load().lsn),
	})
	if err != nil {
		return err
	}
	t.prepared, t.stamp = true, t.writeStamp()
	return nil
}

// Commit appends the transaction, makes its state the head and releases the
// write lock; the transaction is durable, and visible to others, when
// WaitDurable(lsn) returns nil. One that wrote only volatile tables has no LSN
// of its own: what is returned is the commit whose fate it shares. Commit cannot fail after Prepare: when the
// append does, the engine is poisoned and WaitDurable tells. It returns 0 when
// nothing was written.
//
// Without a Prepare since the last write Commit prepares itself; then a
// refusal, too, poisons the engine, since there is no way to return it.
func (t *Tx) Commit() LSN {
	if t.ended {
		return 0
	}
	s, lsn := t.store, t.lsn
	if !t.changed() {
		t.Rollback()
		return 0
	}
	if err := t.Prepare(); err != nil {
		if !errors.Is(err, ErrPoisoned) {
			s.poison(err)
		}
		t.Rollback()
		return lsn
	}
	if t.unlogged {
		lsn := t.commitMemory()
		t.end()
		return lsn
	}
	if t.volatileOnly() {
		lsn := t.commitVolatile()
		t.end()
		return lsn
	}
	if err := s.log.append(); err != nil {
		s.attempted(lsn)
		s.poison(err)
		t.Rollback()
		return lsn
	}
	next := t.finish()
	s.appended(next, t.base.schema != next.schema, t.dropped)
	s.prepareAhead()
	t.end()
	return lsn
}

// Rollback undoes everything and releases the write lock. After Commit or
// another Rollback it does nothing.
func (t *Tx) Rollback() {
	if t.ended {
		return
	}
	t.discard()
	t.end()
}

func (t *Tx) end() {
	t.ended, t.prepared = true, false
	t.store.log.done()
	t.store.inTx.Store(false)
	t.store.wl.release()
}
