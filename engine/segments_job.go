package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Index writes the index segments that are missing: for the fragments of the base that
// no segment covers, and in the place of segments that are damaged, for which it reads
// all of them. Then generations that nothing needs any more are retired. It records a
// job. Every compaction does the same for what it wrote, so a job of it is for an index
// that was created since, and for one that failed.
//
// target names a table, one of its indexes, or "" for all. ctx ends it with nothing
// changed. ErrFull leaves everything as it was. progress, which may be nil, counts bytes
// of the base.
func (s *Store) Index(ctx context.Context, target string, progress func(done, total int64)) error {
	_, err := s.RunJob(ctx, JobRequest{Kind: JobIndex, Target: target, Progress: progress})
	return err
}

// index is the work of a job.
func (s *Store) index(ctx context.Context, job int64, name string, thorough bool, progress func(done, total int64)) error {
	ctx, cancel := s.jobContext(ctx)
	defer cancel()
	select { // nobody else changes the base or segments
	case s.compactor.turn <- struct{}{}:
		defer func() { <-s.compactor.turn }()
	case <-ctx.Done():
		return closedCause(ctx, ctx.Err())
	}
	target, err := s.targetOf(name)
	if err != nil {
		return err
	}
	var rate *byteRate
	if !thorough { // nobody waits for it
		rate = s.compactRate()
	}
	return closedCause(ctx, s.indexBase(ctx, job, target, thorough, rate, progress))
}

// targetOf finds what an index job is about. nil is everything.
func (s *Store) targetOf(name string) (func(*indexWork) bool, error) {
	if name == "" {
		return nil, nil
	}
	schema := s.synced.Load().schema
	for _, w := range indexesOf(schema) {
		if w.ix == nil && equalName(w.def.Name, name) {
			id := w.TableID
			return func(x *indexWork) bool { return x.TableID == id }, nil
		}
		if w.ix != nil && equalName(w.ix.Name, name) {
			id := w.IndexID
			return func(x *indexWork) bool { return x.IndexID == id }, nil
		}
	}
	for _, def := range schema.tables {
		if equalName(def.Name, name) || def.indexNamed(name) != nil {
			return nil, &jobTargetError{fmt.Sprintf("%q is not durable: a job of kind %s has nothing to write for it", name, JobIndex)}
		}
	}
	return nil, &jobTargetError{fmt.Sprintf("there is no table or index %q", name)}
}

// indexAfter is the step of a compaction that follows its base. The compaction is done,
// so what fails here is left to the next one, to a job, or to the compactor (indexRetry);
// what was only ended early is made up for at once.
func (s *Store) indexAfter(ctx context.Context, job int64, rate *byteRate) {
	if s.compactor.unindexed {
		return
	}
	err := s.indexBase(ctx, job, nil, false, rate, nil)
	if err != nil && ctx.Err() != nil { // of who asked for the compaction, not of the store
		s.mu.Lock()
		s.compactor.behind = true
		s.mu.Unlock()
		s.compactor.signal()
	}
	if err == nil || ctx.Err() == nil {
		s.indexed(err)
	}
	if err != nil && ctx.Err() == nil && s.untilClose.Err() == nil && s.refusal() == nil {
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
}

// indexed notes whether segments of all indexes were written: those that could not be are
// tried again. Without a compactor nothing is done that nobody asked for.
func (s *Store) indexed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.compactor.unmade = err != nil && s.compactor.auto && !errors.Is(err, catalog.ErrPoisoned)
}

// indexRetry is when index segments are tried again that could not be written, as when
// there was no room: less and less often.
type indexRetry struct {
	first, most time.Duration
	wait        time.Duration    // the last one
	due         <-chan time.Time // nil: nothing is to be tried again
}

// plan says whether there is something to be tried again, after an attempt or none.
func (r *indexRetry) plan(unmade bool) {
	switch {
	case !unmade:
		r.wait, r.due = 0, nil
	case r.due == nil:
		r.wait = min(max(2*r.wait, r.first), r.most)
		r.due = time.After(r.wait)
	}
}

// indexBase brings the segments up to the base and publishes them. The caller has the
// compactor's turn.
func (s *Store) indexBase(ctx context.Context, job int64, target func(*indexWork) bool, thorough bool, rate *byteRate, progress func(done, total int64)) error {
	start := time.Now()
	for {
		p, err := s.planIndexes(ctx, target, thorough)
		if err != nil {
			return endedOr(ctx, notDurable(fmt.Errorf("engine: planning indexes: %w", err)))
		}
		w := &indexWriter{s: s, ctx: ctx, job: job, plan: p, rate: rate}
		if err := w.run(progress); err != nil {
			err = w.abandon(err)
			if errors.Is(err, errSpoiled) && w.lost == nil { // one that was to be merged: next time it is as if there were none
				continue
			}
			return endedOr(ctx, notDurable(fmt.Errorf("engine: writing indexes: %w", err)))
		}
		if err := s.publishIndexes(ctx, w); err != nil {
			return withFull(err)
		}
		s.mu.Lock()
		s.stats.IndexTime += time.Since(start)
		s.mu.Unlock()
		return nil
	}
}

// endedOr is the end of a context, in the place of what failed for it.
func endedOr(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	return err
}

// indexIfBehind runs an index job if there may be something to do that no compaction
// does: what an earlier process left undone, or what waited for rows to be read from
// elsewhere.
func (s *Store) indexIfBehind() {
	s.mu.Lock()
	behind := s.compactor.behind
	s.compactor.behind = false
	s.mu.Unlock()
	if !behind {
		return
	}
	_, err := s.RunJob(s.untilClose, JobRequest{Kind: JobIndex, auto: true})
	s.indexed(err)
	if err != nil && !errors.Is(err, ErrClosed) && s.untilClose.Err() == nil && s.refusal() == nil {
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
}

// behindAtOpen looks whether the segments of a head cover its base, and whether it
// retains generations: what an earlier process read rows from, nobody does any more. The
// caller holds mu.
func (s *Store) behindAtOpen(state *catalog.State) {
	if !s.compactor.auto {
		return
	}
	if len(state.Retained) > 0 && catchupMode(state) == indexCatchupRequired {
		s.compactor.behind = true
		s.compactor.signal()
		return
	}
	covered := map[int64]*roaring64.Bitmap{}
	for _, g := range state.IndexState.Segments {
		if covered[g.IndexID] == nil {
			covered[g.IndexID] = roaring64.New()
		}
		if !s.spoiled[g.ObjectID] {
			covered[g.IndexID].Or(g.Fragments)
		}
	}
	byTable := map[int64][]int64{}
	for _, f := range state.Base {
		for i, x := range f.Fragments {
			byTable[x.TableID] = append(byTable[x.TableID], f.FragmentIDs[i])
		}
	}
	for _, w := range indexesOf(s.synced.Load().schema) {
		for _, id := range byTable[w.TableID] {
			if b := covered[w.IndexID]; b == nil || !b.Contains(uint64(id)) {
				s.compactor.behind = true
				s.compactor.signal()
				return
			}
		}
	}
}

// run writes the new segments of a plan.
func (w *indexWriter) run(progress func(done, total int64)) error {
	if err := w.gather(progress); err != nil {
		return err
	}
	for _, x := range w.plan.indexes {
		if !x.writes() {
			continue
		}
		if err := w.build(x); err != nil {
			return fmt.Errorf("%s: %w", x.name(), err)
		}
	}
	return nil
}

// update is what a job publishes.
func (w *indexWriter) update() *catalog.IndexUpdate {
	u := &catalog.IndexUpdate{Retire: true}
	for _, x := range w.plan.indexes {
		if !x.changes() {
			continue
		}
		list := catalog.IndexSegments{IndexRef: x.IndexRef}
		for i := range x.keep {
			list.Segments = append(list.Segments, catalog.SegmentRef{ObjectID: x.keep[i].ObjectID, Fragments: x.keep[i].Fragments})
		}
		list.Segments = append(list.Segments, x.made...)
		u.Indexes = append(u.Indexes, list)
	}
	return u
}

// extent is what the segments of the planned indexes take.
func (w *indexWriter) extent() int64 {
	n := w.bytes
	for _, x := range w.plan.indexes {
		for i := range x.keep {
			n += x.keep[i].Extent
		}
	}
	return n
}

// errBaseChanged: nobody but who has the compactor's turn changes the base.
var errBaseChanged = errors.New("engine: the base is not the one that was indexed")

// publishIndexes makes the segments a part of the head, as far as their indexes are
// still there, and retires what nothing needs any more. That may be all there is to do,
// or there is nothing.
//
// What was read is the base, and the base is that of the head still: so what the segments
// prove is proven of the head, whoever has published commits behind the base since.
func (s *Store) publishIndexes(ctx context.Context, w *indexWriter) error {
	s.publishing.take()
	defer s.publishing.give()
	u := w.update()
	s.mu.Lock()
	head := s.pub.head
	same := slices.Equal(s.base, w.plan.base)
	for _, r := range s.replaced {
		if r.lease == noLease { // rows of the newest state may be read from it
			u.Held = append(u.Held, int64(r.object))
		}
	}
	schema := s.synced.Load().schema
	s.mu.Unlock()
	if !same {
		return errBaseChanged
	}
	now := map[catalog.IndexRef]bool{}
	for _, x := range indexesOf(schema) {
		u.Relied = append(u.Relied, x.IndexRef)
		now[x.IndexRef] = true
	}
	u.Indexes = slices.DeleteFunc(u.Indexes, func(x catalog.IndexSegments) bool { return !now[x.IndexRef] })
	if err := s.pub.clear(ctx); err != nil {
		return err
	}
	prepared, err := s.cat.Prepare(ctx, catalog.Publication{
		TimelineID: head.ID, ExpectedRevision: head.Revision, ExpectedRepresentation: head.RepresentationID, Index: u,
	})
	if errors.Is(err, catalog.ErrNothing) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("engine: preparing indexes: %w", err)
	}
	attempt, err := prepared.Begin(ctx)
	if err != nil {
		return s.pub.giveUp(ctx, prepared, fmt.Errorf("engine: beginning the publication of indexes: %w", err))
	}
	if err := s.refusal(); err != nil { // a sync that failed meanwhile may have been one of its directories
		return s.pub.giveUp(ctx, attempt, err)
	}
	adopted, err := attempt.Adopt(ctx)
	if err != nil {
		return s.pub.giveUp(ctx, attempt, fmt.Errorf("engine: publishing indexes: %w", err))
	}
	s.mu.Lock()
	s.pub.head = adopted.Head
	s.stats.SegmentsWritten += uint64(w.segments)
	s.stats.SegmentsMerged += uint64(w.merged)
	s.stats.SegmentBytes += w.bytes
	s.stats.Retired += uint64(len(adopted.Retired))
	if len(w.plan.indexes) == len(w.plan.relied) {
		s.compactor.segments = w.extent()
	}
	s.mu.Unlock()
	s.lostPositions(LSN(adopted.Head.LSN), schema, adopted.Lost)
	if err := adopted.Retire(context.WithoutCancel(ctx)); err != nil {
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
	s.removable() // segments that were merged, generations that are retired
	return nil
}

// lostPositions tells which indexes a publication took positions from. Generations stay
// until they have them again, so it is the first thing to look at when generations are
// not retired.
func (s *Store) lostPositions(lsn LSN, schema *Schema, lost []catalog.IndexPosition) {
	if len(lost) == 0 {
		return
	}
	names := map[int64]string{}
	for _, w := range indexesOf(schema) {
		names[w.IndexID] = w.name()
	}
	var list []string
	for _, p := range lost {
		name := names[p.IndexID]
		if name == "" {
			name = fmt.Sprintf("index %d, which was dropped", p.IndexID)
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	s.event(Event{Kind: EventIndexLost, LSN: lsn, Err: errors.New(strings.Join(list, ", "))})
}
