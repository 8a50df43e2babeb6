package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// RestoreTo makes the state of a branch point the newest state of the timeline. What was
// committed since is undone for good, unless a branch point has it, and never comes
// back, whatever happens. The restore takes an LSN of its own, which it returns, and
// gives the schema a version of its own. Volatile tables are empty afterwards.
//
// The state is read before, beside writers; then it waits for a Check that runs, for the
// write lock, for what was written to be sealed and published, and for one commit of the
// catalog, which decides. Until that ctx ends it with nothing changed. Snapshots that
// were taken before go on to show what they show. An unknown branch point is a
// catalog.ErrNotFound, one that does not fit the memory budget an ErrNoMemory.
//
// When the outcome of the catalog's commit is unknown the engine is poisoned: what is
// written next would have to know.
func (s *Store) RestoreTo(ctx context.Context, branchPoint string) (LSN, error) {
	return s.RestoreToWithin(ctx, branchPoint, 0)
}

// RestoreToWithin is RestoreTo that waits for the write lock no longer than lockTimeout
// each time, if that is not 0: then it returns ErrBusy.
func (s *Store) RestoreToWithin(ctx context.Context, branchPoint string, lockTimeout time.Duration) (LSN, error) {
	done, err := s.beginWork()
	if err != nil {
		return 0, err
	}
	defer done()
	ctx, cancel := s.jobContext(ctx)
	defer cancel()
	lsn, err := s.restoreTo(ctx, branchPoint, lockTimeout)
	if err != nil {
		return 0, withFull(fmt.Errorf("engine: restoring branch point %q: %w", branchPoint, closedCause(ctx, err)))
	}
	s.event(Event{Kind: EventRestored, LSN: lsn})
	s.compactor.signal()
	return lsn, nil
}

// restoring is a state that was read to become the newest.
type restoring struct {
	branch   catalog.BranchPoint
	known    catalog.History
	replay   *recovery
	root     *root
	replaced []replaced // files of it that were only kept for old states
	fresh    []uint64   // objects that were not known before
}

func (s *Store) restoreTo(ctx context.Context, branchPoint string, lockTimeout time.Duration) (LSN, error) {
	select { // a compaction replaces files, too
	case s.compactor.turn <- struct{}{}:
		defer func() { <-s.compactor.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	// Most of what is to be sealed is sealed before writers have to wait for it.
	if err := s.checkpoint(ctx, lockTimeout, nil); err != nil {
		return 0, err
	}
	r := &restoring{}
	lsn, err := s.restoreFrom(ctx, branchPoint, lockTimeout, r)
	if err != nil {
		err = errors.Join(err, s.notRestored(r))
	} else {
		s.compactor.left = nil // of a base that is not the head any more
	}
	s.mu.Lock()
	s.restoring = nil
	s.mu.Unlock()
	return lsn, err
}

func (s *Store) restoreFrom(ctx context.Context, branchPoint string, lockTimeout time.Duration, r *restoring) (lsn LSN, err error) {
	if r.branch, err = s.cat.BranchPoint(ctx, branchPoint); err != nil {
		return 0, err
	}
	if r.known, err = s.cat.HistoryOf(ctx, r.branch.RepresentationID); err != nil {
		return 0, err
	}
	s.keepForRestore(r)
	// Files that were rooted by now stay, as those of a history do.
	if again, err := s.cat.BranchPoint(ctx, branchPoint); err != nil {
		return 0, err
	} else if again.ID != r.branch.ID {
		return 0, fmt.Errorf("%w: it was made anew meanwhile", ErrBusy)
	}
	if r.replay, r.root, err = s.replayHistory(ctx, s.objects, &r.known, s.opts.MemoryBudget); err != nil {
		return 0, err
	}
	// A Check keeps seals waiting, and with the lock that would be every writer.
	if err := s.unchecked(ctx); err != nil {
		return 0, err
	}
	defer s.checks.Unlock()
	ok, err := s.acquireWithin(ctx, lockTimeout)
	if err != nil {
		return 0, err
	}
	if !ok {
		return 0, s.refusal()
	}
	defer s.wl.release()
	// With the write lock nothing is appended meanwhile, so this comes to an end.
	for {
		last, wait, err := s.cut(0)
		if err == nil && wait != nil {
			if err := s.waitReady(ctx, wait); err != nil {
				return 0, err
			}
			continue
		}
		if err == nil {
			err = s.waitPublished(ctx, last, nil)
		}
		if err != nil {
			return 0, err
		}
		break
	}
	if err := s.publishing.takeWithin(ctx); err != nil {
		return 0, err
	}
	defer s.publishing.give()
	if err := s.pub.clear(ctx); err != nil {
		return 0, err
	}
	s.mu.Lock()
	head := s.pub.head
	s.mu.Unlock()
	// Later than all that is undone, and, if the branch point is of another timeline,
	// than all that its files have.
	lsn = max(s.head.Load().lsn, LSN(r.known.LSN)) + 1
	next, err := s.cat.Restore(context.WithoutCancel(ctx), catalog.RestoreRequest{Head: head, BranchPoint: branchPoint, BranchID: r.branch.ID, LSN: int64(lsn)})
	if errors.Is(err, catalog.ErrOutcomeUnknown) || errors.Is(err, catalog.ErrPoisoned) {
		s.poison(err)
	}
	if err != nil {
		return 0, err
	}
	s.restored(r, lsn, next)
	s.writeLock(lsn)
	return lsn, nil
}

// checkPoll is how often a restore looks whether a Check still runs.
const checkPoll = 5 * time.Millisecond

// unchecked waits until no Check runs. None begins before checks is unlocked.
func (s *Store) unchecked(ctx context.Context) error {
	for !s.checks.TryLock() {
		select {
		case <-time.After(checkPoll):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// keepForRestore takes the files of the state out of those that are let go of when
// old states are, and notes which ones are new to the process.
func (s *Store) keepForRestore(r *restoring) {
	ids := r.objects()
	s.letting.take()
	defer s.letting.give()
	s.mu.Lock()
	s.restoring = ids
	s.replaced = slices.DeleteFunc(s.replaced, func(x replaced) bool {
		if ids[x.object] {
			r.replaced = append(r.replaced, x)
		}
		return ids[x.object]
	})
	s.mu.Unlock()
	for id := range ids {
		if !s.objects.look(&generation{object: id}) {
			r.fresh = append(r.fresh, id)
		}
	}
}

// objects are those that the state is read from.
func (r *restoring) objects() map[uint64]bool {
	ids := map[uint64]bool{}
	for _, f := range r.known.Base {
		ids[uint64(f.ObjectID)] = true
	}
	for _, g := range r.known.Generations {
		ids[uint64(g.ObjectID)] = true
	}
	return ids
}

// notRestored puts back what keepForRestore took.
func (s *Store) notRestored(r *restoring) error {
	s.mu.Lock()
	s.replaced = append(s.replaced, r.replaced...)
	s.mu.Unlock()
	var errs []error
	for _, id := range r.fresh {
		errs = append(errs, s.objects.drop(id))
	}
	return errors.Join(errs...)
}

// restored makes the state the newest one. The caller has the write lock, everything is
// published and the catalog has the restore.
func (s *Store) restored(r *restoring, lsn LSN, head catalog.Timeline) {
	before, now := s.objects.lease.next()
	next := *r.root
	next.lsn, next.schema, next.content = lsn, next.schema.at(uint64(lsn)), new(content)
	next.tables = slices.Clone(next.tables)
	for i, t := range next.tables {
		if t.src != nil {
			n := *t
			n.src = &source{objects: s.objects, lease: now}
			next.tables[i] = &n
		}
	}
	ids := r.objects()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pub.head = head
	s.compactor.since, s.compactor.again = 0, s.compactor.limits.floor
	own := map[uint64]bool{}
	for _, g := range s.gens {
		own[g.object] = true
		switch {
		case g.info.State != catalog.GenerationSealed:
		case ids[g.object]:
			g.gone = false
		case !g.gone:
			g.gone = true
			s.replaced = append(s.replaced, replaced{g, before})
		}
	}
	for _, l := range r.replay.shards {
		for _, f := range l.files {
			if !own[f.object] { // of another timeline
				s.gens = append(slices.Clone(s.gens), f.generation)
			}
		}
	}
	for _, f := range s.base {
		if !ids[f.object] {
			s.replaced = append(s.replaced, replaced{f.generation, before})
		}
	}
	s.base = nil
	for _, f := range r.replay.base {
		s.base = append(s.base, f.known)
	}
	for i := range s.replaced {
		s.replaced[i].lease = min(s.replaced[i].lease, before)
	}
	s.logBytes = map[TableID]int64{}
	s.rowBytes = r.replay.sizes.addTo(s.logBytes)
	s.noteBase(next.live)
	s.head.Store(&next)
	s.durable.Store(&next)
	s.synced.Store(next.mark())
	s.chores.work.Signal() // the catalog's tables are to show the schema
	s.compactIfDue()
}
