package engine

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// batch is a run of commits that one sync makes durable.
type batch struct {
	done    chan struct{} // closed when err is set or the batch is durable
	err     error
	last    mark  // the newest
	root    *root // what it left, if that is not visible yet
	commits int
	files   []*generation // with bytes of the batch
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// pipeline is what the writers, the syncer and the waiters share.
//
// Commits gather in one batch while the one before is being synced. There is
// no timer: the batch grows by what arrives during a sync, and a lone writer
// is synced at once. (SyncNormal has one, and SyncOff syncs on demand.)
//
// At most one batch is inflight. It is the syncer's, or that of a waiter who
// found nothing inflight and syncs what he waits for himself: a lone writer has
// his answer without a word between goroutines. The syncer goes on where a
// waiter leaves off. With SyncFull a commit that nobody waits for is synced with
// the next one, or by what ends a generation or the store.
type pipeline struct {
	work      sync.Cond // the syncer waits on it; its lock is Store.mu
	gathering *batch
	inflight  *batch
	busy      bool // somebody syncs a batch, or tells of it
	attempted LSN  // highest LSN of which bytes may be in the file
	stop      bool
	cause     error // of the poison

	urgent bool        // what gathered is to be synced without delay
	delay  *time.Timer // of SyncNormal
}

// attempted notes that bytes of lsn may be in the file although its append
// failed: its outcome is unknown, not a refusal.
func (s *Store) attempted(lsn LSN) {
	s.mu.Lock()
	s.pipe.attempted = lsn
	s.mu.Unlock()
}

// appended makes next, which is in the log as it was prepared, the head and
// hands it to the syncer. The caller holds the write lock.
func (s *Store) appended(next *root, ddl bool, dropped uint64) {
	var sizes tableBytes
	var records uint64
	var bytes int64
	for _, sh := range s.log.parts {
		sizes.frames(sh.builder.Bytes())
		records += sh.commit.Records
		bytes += int64(sh.builder.Len())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.pipe
	p.attempted = next.lsn
	if p.cause != nil {
		return // a sync failed meanwhile; what was appended is not built on
	}
	if ddl {
		s.lose(s.head.Load(), next)
	}
	s.head.Store(next)
	b := p.gathering
	b.last = mark{next.lsn, next.schema}
	b.commits++
	if s.opts.Sync == SyncFull {
		b.root = next
	} else {
		s.durable.Store(next)
	}
	for _, sh := range s.log.parts {
		g := sh.gen
		if g.batch != b {
			g.batch = b
			b.files = append(b.files, g)
		}
		g.info.committed(next.lsn, sh.commit.Records, g.tail)
	}
	s.stats.appended(records, bytes)
	s.stats.RowsDropped += dropped
	s.rowBytes += sizes.addTo(s.logBytes)
	s.compactIfDue()
	s.brake(bytes)
	if ddl {
		s.awaitProjection(next.lsn)
	}
	switch {
	case s.opts.Sync == SyncFull:
		// A word to the syncer costs more than all the rest of a commit: it is
		// left to the waiter, unless a commit before this one has none.
		if !p.busy && b.commits > 1 {
			p.work.Signal()
		}
	case ddl:
		p.hurry()
	case s.opts.Sync == SyncNormal && b.commits == 1:
		s.startDelay()
	}
}

// syncLoop is the one goroutine that syncs the log and publishes durable roots.
func (s *Store) syncLoop() {
	defer s.syncing.Done()
	for {
		b := s.nextBatch()
		if b == nil {
			return
		}
		if s.sync(b) {
			// Those who waited go first: many have appended their next commits
			// before the next sync begins, which then carries all of them instead
			// of half.
			runtime.Gosched()
		}
		s.mu.Lock()
		s.pipe.busy = false
		s.mu.Unlock()
	}
}

// lead syncs a batch on behalf of the waiter who took it.
func (s *Store) lead(b *batch) {
	s.sync(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.pipe
	p.busy = false
	if p.stop || p.due(s.opts.Sync) {
		p.work.Signal()
	}
}

// sync makes a batch durable and reports true, or poisons the engine.
func (s *Store) sync(b *batch) bool {
	if err := syncFiles(b.files); err != nil {
		s.poison(err)
		return false
	}
	// Other processes are told first: whoever was acknowledged finds his rows there.
	s.writeLock(b.last.lsn)
	return s.published(b)
}

// syncFiles syncs what was appended to some files, side by side: that is what
// shards are for. The first failure is returned when all syncs have ended.
func syncFiles(files []*generation) error {
	if len(files) == 1 {
		return files[0].syncData()
	}
	errs := make([]error, len(files))
	var others sync.WaitGroup
	for i, g := range files[1:] {
		others.Go(func() { errs[i+1] = g.syncData() })
	}
	errs[0] = files[0].syncData()
	others.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *generation) syncData() error {
	if err := g.file.SyncData(); err != nil {
		return &syncError{g.path, err}
	}
	return nil
}

// nextBatch waits for commits and takes all that gathered; nil means to stop,
// and that nothing is left to sync.
func (s *Store) nextBatch() *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.pipe
	for p.busy || !p.due(s.opts.Sync) {
		if p.stop && !p.busy {
			return nil
		}
		p.work.Wait()
	}
	return p.take()
}

// take makes what gathered the batch that is synced now. The caller holds mu.
func (p *pipeline) take() *batch {
	b := p.gathering
	p.urgent, p.busy = false, true
	p.inflight, p.gathering = b, newBatch()
	return b
}

// published makes a synced batch visible, unless it is already, and wakes its
// waiters, in this order: whoever was acknowledged finds his rows in Durable.
// A poison that came before says no.
func (s *Store) published(b *batch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pipe.cause != nil {
		return false
	}
	if b.root != nil {
		s.durable.Store(b.root)
		b.root = nil // files and synced refer to the batch for longer than the state should stay
	}
	s.synced.Store(&b.last)
	s.pipe.inflight = nil
	s.stats.synced(b.commits)
	close(b.done)
	s.chores.published(&b.last)
	return true
}

// writeLock tells read-only processes how far the log is durable.
func (s *Store) writeLock(lsn LSN) {
	if err := s.home.tell(s.opts.Timeline, lsn); err != nil {
		s.event(Event{Kind: EventBackgroundFailed, File: lockName, LSN: lsn, Err: err})
	}
	s.mu.Lock()
	s.told = max(s.told, lsn)
	s.mu.Unlock()
}

// poison ends writing in this process: what was appended and not yet
// acknowledged is dropped from view, its waiters learn that the outcome is
// unknown, and everybody else gets the first cause. Nothing is tried again: a
// second sync may report success for bytes that the first one lost.
func (s *Store) poison(cause error) {
	s.mu.Lock()
	p := &s.pipe
	if p.cause != nil {
		s.mu.Unlock()
		return
	}
	p.cause = &poisonError{cause}
	s.head.Store(s.durable.Load())
	close(s.poisoned) // first: whoever is told of it finds it so
	for _, b := range []*batch{p.inflight, p.gathering} {
		if b != nil {
			b.err = p.cause
			b.root = nil
			close(b.done)
		}
	}
	p.inflight, p.gathering = nil, newBatch()
	s.chores.abandon(p.cause)
	s.abandonProjections()
	s.mu.Unlock()
	s.event(Event{Kind: EventPoisoned, Err: cause})
}

// Poisoned returns nil, or the error every write gets: it matches ErrPoisoned
// and the first cause.
func (s *Store) Poisoned() error {
	select {
	case <-s.poisoned:
	default:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pipe.cause
}

// Acknowledged reports whether WaitDurable(lsn) would return nil without
// waiting. It must not be asked about a commit that was never appended.
func (s *Store) Acknowledged(lsn LSN) bool {
	return s.durable.Load().lsn >= lsn && !s.isSchemaChange(lsn)
}

// WaitDurable returns nil once commit lsn is acknowledged in the store's
// SyncMode, and visible in Durable: when it is synced, with SyncNormal and
// SyncOff when it is written. A schema change is synced in every mode, and its
// waiter waits until the catalog was told, too. Who waits without a deadline may
// be the one who syncs.
//
// An error that matches ErrOutcomeUnknown means that the commit may or may not be
// there after a restart: ctx ended first (it cancels the wait, not the
// commit), or a sync failed. ErrPoisoned without ErrOutcomeUnknown means that
// nothing of the commit was written.
func (s *Store) WaitDurable(ctx context.Context, lsn LSN) error {
	if s.synced.Load().lsn < lsn && (s.durable.Load().lsn < lsn || s.isSchemaChange(lsn)) {
		// Who syncs himself cannot leave before the sync ends.
		b, mine, err := s.batchOf(lsn, ctx.Done() == nil)
		if err != nil {
			return err
		}
		if mine {
			s.lead(b)
		}
		if b != nil {
			select {
			case <-b.done:
			case <-ctx.Done():
				return unknownOutcome(lsn, ctx.Err())
			}
			if b.err != nil {
				return unknownOutcome(lsn, b.err)
			}
		}
	}
	return s.waitProjected(ctx, lsn)
}

// batchOf returns the batch a commit is in, nil when it is synced. With lead the
// caller has to sync the batch if it is his, which it is when it was due and
// nothing else was under way.
func (s *Store) batchOf(lsn LSN, lead bool) (b *batch, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.pipe
	switch {
	case s.synced.Load().lsn >= lsn:
		return nil, false, nil
	case p.cause != nil && lsn > p.attempted:
		return nil, false, p.cause
	case p.cause != nil:
		return nil, false, unknownOutcome(lsn, p.cause)
	case p.inflight != nil && p.inflight.last.lsn >= lsn:
		return p.inflight, false, nil
	case p.gathering.last.lsn < lsn:
	case lead && !p.busy && !p.stop && p.due(s.opts.Sync):
		return p.take(), true, nil
	default:
		if !p.busy && p.due(s.opts.Sync) {
			p.work.Signal()
		}
		return p.gathering, false, nil
	}
	return nil, false, fmt.Errorf("engine: waiting for LSN %d, which was never appended", lsn)
}
