package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// A compaction replaces the log up to a cut by a base (base.go), which keeps what is
// still good of the base before (compact_plan.go):
//
//	cut → its publication → what changed is written and sealed → the base takes the
//	place of all that it stands for in the head → locators are exchanged →
//	files that nothing needs any more are removed
//
// Up to the adoption a failure, or a crash, leaves the log as it is and files that
// no head names. After it the base is the state, whatever becomes of the rest: the
// replaced files stay readable until they are removed, which the next open does at
// the latest. So no failure is one of durability, and none poisons the engine.
//
// Writers wait for the cut and for slices of the exchange, each a moment. The base
// is written beside them. A transaction that is open keeps the cut waiting, so
// nothing that is not committed is ever in a base.

// Compact rewrites the log: what it holds up to the newest commit is replaced by one
// record per row, and the files that held it are removed once no snapshot can be
// read from them. It records a job. When nothing was written since the last
// compaction it does nothing. Rows that did not change since stay where they are,
// unless more than a tenth of the base would be garbage, or all of it fits in one
// file and is in several: then the base is written anew. No rate holds it back.
//
// It waits for the write lock once, for a moment. ctx ends it with nothing changed,
// unless it is as good as done. ErrFull leaves the log as it was. progress, which
// may be nil, counts bytes of rows.
func (s *Store) Compact(ctx context.Context, progress func(done, total int64)) error {
	_, err := s.RunJob(ctx, JobRequest{Kind: JobCompact, Progress: progress})
	return err
}

func (s *Store) compact(ctx context.Context, job int64, lockTimeout time.Duration, mode compactMode, progress func(done, total int64)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.untilClose, func() { cancel(ErrClosed) })()
	select {
	case s.compactor.turn <- struct{}{}:
		defer func() { <-s.compactor.turn }()
	case <-ctx.Done():
		return closedCause(ctx, ctx.Err())
	}
	start := time.Now()
	mode = s.finishMoving(ctx, mode)
	c, err := s.compactable(ctx, lockTimeout)
	if err != nil || c == nil {
		return closedCause(ctx, err)
	}
	made, err := s.makeBase(ctx, job, c, mode, progress)
	if keepsDamage(err) && !mode.whole && ctx.Err() == nil && s.refusal() == nil {
		// Of files that are damaged nothing can be kept. The state may be read from elsewhere.
		s.event(Event{Kind: EventBackgroundFailed, LSN: c.lsn, Err: fmt.Errorf("engine: the base is written anew, nothing of it can be kept: %w", err)})
		mode.whole = true
		made, err = s.makeBase(ctx, job, c, mode, progress)
	}
	if err != nil {
		return closedCause(ctx, notDurable(fmt.Errorf("engine: compacting: %w", err)))
	}
	if err := s.installBase(ctx, c, made); err != nil {
		return closedCause(ctx, err)
	}
	s.compactor.left = nil // what an earlier one left, this one does
	if err := s.repoint(ctx, c, made.fresh); err != nil && s.refusal() == nil {
		// Rows go on being read where they were, and the replaced files stay. The end
		// of ctx is not the end of it: the compactor goes on.
		s.compactor.left = &repointing{cut: c, files: made.fresh}
		s.compactor.signal()
	} else {
		c.captured = nil // a state that is read from what was replaced
	}
	if !mode.thorough {
		s.releaseOld() // before more is written
	}
	s.indexAfter(ctx, job, mode.rate)
	var wrote int64
	for _, f := range made.fresh {
		if !made.shared {
			wrote += f.info.Bytes
		}
	}
	s.mu.Lock()
	s.stats.Compactions++
	if made.shared {
		s.stats.CompactionsShared++
	}
	s.stats.CompactedBytes += wrote
	s.stats.CompactTime += time.Since(start)
	s.mu.Unlock()
	s.event(Event{Kind: EventCompacted, LSN: c.lsn, Bytes: wrote})
	return nil
}

// finishMoving goes on where an earlier compaction left off. As long as there are rows
// that are not read from the base yet, although it is the head, files must not go that
// the next compaction replaces; so that one writes all rows, and moves them. It has to
// be done before the cut, whose state says from where rows are moved.
func (s *Store) finishMoving(ctx context.Context, mode compactMode) compactMode {
	left := s.compactor.left
	if left == nil {
		return mode
	}
	if err := s.repoint(ctx, left.cut, left.files); err != nil {
		mode.whole = true
	} else {
		s.compactor.left = nil
	}
	return mode
}

// errOtherRows: what was written of a table, and what is kept of it, is not the table.
var errOtherRows = errors.New("they are not the same rows")

// keepsDamage reports whether a base could not be made because of what it was to keep,
// or of what says which rows were touched.
func keepsDamage(err error) bool {
	var bad *CorruptError
	return errors.As(err, &bad) || errors.Is(err, errOtherRows)
}

// closedCause says that it was Close that ended a context.
func closedCause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	return err
}

// notDurable takes from the failed sync of a file that nothing relies on what
// would poison the engine.
func notDurable(err error) error {
	var lost *syncError
	if errors.As(err, &lost) {
		err = fmt.Errorf("engine: sync of %s failed, which nothing relies on yet: %w", lost.name, lost.err)
	}
	return withFull(err)
}

// compactable returns a published cut and its state, nil when the base is one
// already.
func (s *Store) compactable(ctx context.Context, lockTimeout time.Duration) (*cut, error) {
	defer func() {
		s.mu.Lock()
		s.pub.wanted, s.pub.taken = 0, nil
		s.mu.Unlock()
	}()
	for {
		ok, err := s.acquireWithin(ctx, lockTimeout)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, s.refusal()
		}
		s.mu.Lock()
		head, published := s.head.Load(), LSN(s.pub.head.LSN)
		switch {
		case s.compactor.since == head.lsn:
			s.mu.Unlock()
			s.wl.release()
			return nil, nil
		case published == head.lsn:
			c := &cut{*head.mark(), head.totals(), s.capture(head)}
			s.mu.Unlock()
			s.wl.release()
			return c, nil
		}
		if s.pub.wanted == 0 {
			s.pub.wants++
			s.pub.wanted = s.pub.wants
		}
		s.mu.Unlock()
		lsn, wait, err := s.cut(0)
		s.wl.release()
		if err == nil {
			if wait != nil {
				err = s.waitReady(ctx, wait)
			} else {
				err = s.waitPublished(ctx, lsn, nil)
			}
		}
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		c := s.pub.taken
		s.mu.Unlock()
		if c != nil {
			return c, nil
		}
	}
}

// installBase makes a base a part of the head.
func (s *Store) installBase(ctx context.Context, c *cut, made *newBase) (err error) {
	s.publishing.take()
	defer s.publishing.give()
	s.mu.Lock()
	head := s.pub.head
	s.mu.Unlock()
	p := catalog.Publication{
		TimelineID: head.ID, ExpectedRevision: head.Revision, ExpectedRepresentation: head.RepresentationID,
		Base: made.contents(c.lsn),
	}
	if err := s.pub.clear(ctx); err != nil {
		return err
	}
	// Known before the catalog names them: a Check may be next.
	for _, f := range made.fresh {
		s.objects.addSealed(f.generation)
	}
	defer func() {
		if err == nil || errors.Is(err, catalog.ErrOutcomeUnknown) || errors.Is(err, catalog.ErrPoisoned) {
			return // they may be the head
		}
		for _, f := range made.fresh {
			err = errors.Join(err, s.objects.drop(f.object))
		}
	}()
	prepared, err := s.cat.Prepare(ctx, p)
	if err != nil {
		return withFull(fmt.Errorf("engine: preparing the base of commit %d: %w", c.lsn, err))
	}
	attempt, err := prepared.Begin(ctx)
	if err != nil {
		return s.pub.giveUp(ctx, prepared, withFull(fmt.Errorf("engine: beginning the base of commit %d: %w", c.lsn, err)))
	}
	if err := s.refusal(); err != nil { // a sync that failed meanwhile may have been one of its directories
		return s.pub.giveUp(ctx, attempt, err)
	}
	adopted, err := attempt.Adopt(ctx)
	if err != nil {
		return s.pub.giveUp(ctx, attempt, withFull(fmt.Errorf("engine: publishing the base of commit %d: %w", c.lsn, err)))
	}
	s.installed(c, made, adopted.Head)
	s.lostPositions(c.lsn, c.schema, adopted.Lost)
	if err := adopted.Retire(context.WithoutCancel(ctx)); err != nil {
		s.event(Event{Kind: EventBackgroundFailed, LSN: c.lsn, Err: err})
	}
	return nil
}

// contents is what the catalog is told of a base.
func (b *newBase) contents(lsn LSN) *catalog.Base {
	base := &catalog.Base{LSN: int64(lsn), Steps: b.steps}
	if len(b.kept) == 0 {
		base.Recipe = baseRecipe // what is kept is of this timeline alone
	}
	for _, f := range b.files() {
		o := catalog.BaseContribution{ObjectID: int64(f.object), Sum: sumBytes(f.liveSum())}
		for _, x := range f.fragments {
			o.Deleted = append(o.Deleted, x.deleted)
			o.Live = append(o.Live, catalog.FragmentState{Rows: x.live, Sum: sumBytes(x.liveSum)})
		}
		base.Objects = append(base.Objects, o)
	}
	return base
}

// installed notes that the base is a part of the head: what it replaced, and what
// the log now holds.
func (s *Store) installed(c *cut, made *newBase, head catalog.Timeline) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pub.head = head
	s.compactor.since = c.lsn
	files := made.files()
	stays := map[uint64]bool{}
	for _, f := range made.kept {
		stays[f.object] = true
	}
	for _, f := range s.base {
		if !stays[f.object] {
			s.replaced = append(s.replaced, replaced{f.generation, noLease})
		}
	}
	s.base = files
	gens, _ := s.replacedBy(c.lsn)
	for _, g := range gens {
		g.gone = true
		s.replaced = append(s.replaced, replaced{g, noLease})
	}
	for id, n := range c.bytes {
		s.logBytes[id] -= n
		s.rowBytes -= n
	}
	base := int64(0)
	for _, f := range files {
		for _, x := range f.fragments {
			s.logBytes[x.table] += x.bytes
			s.rowBytes += x.bytes
			base += x.bytes
		}
	}
	for id, n := range s.logBytes {
		if n == 0 {
			delete(s.logBytes, id)
		}
	}
	s.compactor.again = base + s.compactor.limits.floor
	s.compactor.idle = max(0, base-c.state.live)
	s.compactor.base, s.compactor.live = base, c.state.live
	s.releaseBrake()
}
