package engine

import "context"

// writeLock serialises write transactions: it is held from before a
// transaction's first write until its frames are appended (not until they are
// synced). Waiters are served in the order they came and give up when their
// context ends, the engine is poisoned or the store is closed.
//
// Lock order: write lock → Store.mu (pending roots) → home.book. The catalog is
// called under neither, but under the write lock by an id allocation whose block ran
// out and by RestoreTo.
//
// What is held across I/O comes before: compactor.turn → publishing, and from there
// the catalog; compactor.turn → checks → write lock; checks → sealing; sweeps → sealers →
// sealing → entries. Nobody who has one of publishing, sweeps, sealers, sealing or entries
// waits for a write lock. That is why RestoreTo may wait for them when it has it: for
// the next files, for seals (which a running Check would hold up, and with them every
// writer: it has waited for checks before) and for publishing, which it then takes,
// since between its look at the head and the restore in the catalog nobody may append or
// publish. Close does so, too, when nobody else is left. All others that have the write
// lock wait for none of them, and nobody who has mu does.
type writeLock struct{ slot chan struct{} }

func newWriteLock() writeLock { return writeLock{slot: make(chan struct{}, 1)} }

// tryAcquire takes the lock if it is free.
func (l writeLock) tryAcquire() bool {
	select {
	case l.slot <- struct{}{}:
		return true
	default:
		return false
	}
}

// acquire waits for the lock until ctx ends or one of the stop channels is
// closed; it reports false for the latter.
func (l writeLock) acquire(ctx context.Context, poisoned, closed <-chan struct{}) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if l.tryAcquire() {
		return true, nil
	}
	select {
	case l.slot <- struct{}{}:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-poisoned:
		return false, nil
	case <-closed:
		return false, nil
	}
}

// release frees the lock; only its holder may call it.
func (l writeLock) release() { <-l.slot }

// turns is a lock that is held across I/O. It is a channel for the sake of tests that
// decide on the order of operations: they see who waits for one.
type turns chan struct{}

func newTurns() turns { return make(turns, 1) }

func (t turns) take() { t <- struct{}{} }
func (t turns) give() { <-t }

// takeWithin is take for who waits no longer than ctx.
func (t turns) takeWithin(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
