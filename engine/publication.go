package engine

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// A rotation cuts all shards at one LSN. When the generations of a cut are
// sealed, the cut is published: it becomes the head of the timeline, a world
// that some transaction left, with a representation that names exactly the files
// it is read from. The steps are the catalog's (catalog.Publication): each is one
// transaction, and the next open finishes or takes back what a crash
// interrupted. Nobody's commit waits for a publication; a checkpoint does.

// totals are the live rows of all durable tables and their fingerprint.
type totals struct {
	rows int64
	sum  row.Sum
}

// totals adds up the tables of a state.
func (r *root) totals() (t totals) {
	for _, table := range r.tables {
		if table.def.Durable {
			t.rows += int64(table.Len())
			t.sum = t.sum.Add(table.sum)
		}
	}
	return t
}

// cut is a state at which all shards were cut.
type cut struct {
	mark
	totals
	*captured // unless nobody wants it
}

// captured is what a compaction needs of a cut.
type captured struct {
	by    uint64 // publisher.wanted at the cut
	state *root
	bytes map[TableID]int64 // Store.logBytes at the cut
}

// publisher is what is not in the head yet. Guarded by Store.mu; only the sealer
// takes from it.
type publisher struct {
	head    catalog.Timeline
	cuts    []cut         // taken and not published, oldest first
	waiting []*generation // rotated away from and not in the head, in log order
	wants   uint64        // compactions that wanted a cut, so far
	wanted  uint64        // the one of them that now wants the next cut that is published; 0: none
	taken   *cut          // which is this one
	stuck   error         // why the last attempt failed; the next cut, a checkpoint or the next open tries again

	// left is an attempt that failed and is still in the catalog, since giving it
	// up failed, too. Only whoever publishes uses it.
	left abandoner
}

// abandoner is an attempt to publish that was not adopted.
type abandoner interface {
	Abandon(context.Context) error
}

// giveUp ends an attempt that failed. The catalog takes no other one before, so
// the end of ctx does not keep it, and what fails is tried again by clear.
func (p *publisher) giveUp(ctx context.Context, a abandoner, cause error) error {
	err := a.Abandon(context.WithoutCancel(ctx))
	if err != nil {
		p.left = a
	}
	return errors.Join(cause, err)
}

// clear ends what giveUp could not.
func (p *publisher) clear(ctx context.Context) error {
	if p.left == nil {
		return nil
	}
	if err := p.left.Abandon(ctx); err != nil {
		return fmt.Errorf("engine: giving up an earlier publication: %w", err)
	}
	p.left = nil
	return nil
}

// takeCut notes the head as a cut: no active generation has a commit. The caller
// holds the write lock and mu.
func (s *Store) takeCut() {
	head, p := s.head.Load(), &s.pub
	if LSN(p.head.LSN) >= head.lsn {
		return
	}
	n := len(p.cuts)
	if n == 0 || p.cuts[n-1].lsn != head.lsn {
		p.cuts = append(p.cuts, cut{mark{head.lsn, head.schema}, head.totals(), nil})
		p.stuck = nil
		n++
	}
	if p.wanted != 0 {
		p.cuts[n-1].captured = s.capture(head)
	}
}

// capture keeps a state to be compacted. The caller holds the write lock and mu.
func (s *Store) capture(state *root) *captured {
	return &captured{s.pub.wanted, state, maps.Clone(s.logBytes)}
}

// readyCut returns the newest cut whose generations are all sealed. Older ones need
// no publication of their own. The caller holds mu.
func (s *Store) readyCut() (cut, bool) {
	p := &s.pub
	if p.stuck != nil {
		return cut{}, false
	}
	for _, c := range slices.Backward(p.cuts) {
		if open := s.chores.sealing; len(open) == 0 || open[0].info.LastLSN > c.lsn {
			return c, true
		}
	}
	return cut{}, false
}

// publish makes a cut the head.
func (s *Store) publish(ctx context.Context, c cut) error {
	s.publishing.take()
	defer s.publishing.give()
	s.mu.Lock()
	head := s.pub.head
	var gens []*generation
	for _, g := range s.pub.waiting {
		if g.info.LastLSN <= c.lsn {
			gens = append(gens, g)
		}
	}
	names := make([]catalog.ShardGeneration, len(gens))
	p := catalog.Publication{
		TimelineID: head.ID, ExpectedRevision: head.Revision, ExpectedRepresentation: head.RepresentationID,
		LSN: int64(c.lsn), LiveCount: c.rows, Fingerprint: sumBytes(c.sum),
	}
	for i, g := range gens {
		names[i] = catalog.ShardGeneration{ShardID: int64(g.info.Shard), Generation: int64(g.number)}
		p.Generations = append(p.Generations, catalog.Contribution{ShardGeneration: names[i], Sum: sumBytes(g.native.Add(g.lost))})
	}
	s.mu.Unlock()
	p.Schema = s.projection(c.schema)

	if err := s.pub.clear(ctx); err != nil {
		return err
	}
	if err := s.cat.Register(ctx, names...); err != nil {
		return fmt.Errorf("engine: registering generations: %w", err)
	}
	prepared, err := s.cat.Prepare(ctx, p)
	if err != nil {
		return fmt.Errorf("engine: preparing the publication of commit %d: %w", c.lsn, err)
	}
	attempt, err := prepared.Begin(ctx)
	if err != nil {
		return s.pub.giveUp(ctx, prepared, fmt.Errorf("engine: beginning the publication of commit %d: %w", c.lsn, err))
	}
	adopted, err := attempt.Adopt(ctx)
	if err != nil {
		return s.pub.giveUp(ctx, attempt, fmt.Errorf("engine: publishing commit %d: %w", c.lsn, err))
	}
	s.mu.Lock()
	s.pub.head = adopted.Head
	// What an earlier compaction had captured is of the log before it was compacted.
	if c.captured != nil && c.captured.by == s.pub.wanted {
		s.pub.wanted, s.pub.taken = 0, &c
	}
	s.pub.waiting = slices.DeleteFunc(s.pub.waiting, func(g *generation) bool { return g.info.LastLSN <= c.lsn })
	s.pub.cuts = slices.DeleteFunc(s.pub.cuts, func(o cut) bool { return o.lsn <= c.lsn })
	s.stats.Publications++
	s.mu.Unlock()
	s.event(Event{Kind: EventPublished, LSN: c.lsn})
	s.lostPositions(c.lsn, c.schema, adopted.Lost)
	if err := adopted.Retire(ctx); err != nil {
		// What it keeps is only more than needed, until the next open.
		s.event(Event{Kind: EventBackgroundFailed, LSN: c.lsn, Err: err})
	}
	return nil
}

// publishAtOpen publishes what an earlier process left sealed, when the state at
// open is a cut. In any other case the next rotation does.
func (s *Store) publishAtOpen(ctx context.Context) {
	s.mu.Lock()
	used := slices.ContainsFunc(s.shards, (*shard).used)
	if !used {
		s.takeCut()
	}
	c, ok := s.readyCut()
	s.mu.Unlock()
	if !ok {
		return
	}
	if err := s.publish(ctx, c); err != nil {
		s.mu.Lock()
		s.pub.stuck = err
		s.mu.Unlock()
		s.event(Event{Kind: EventBackgroundFailed, LSN: c.lsn, Err: err})
	}
}

// lose notes what a schema change takes from the fingerprint beside its
// transaction's contributions: the sums of dropped tables end with them. The
// change, and so the loss, is in the first shard. The caller holds mu.
func (s *Store) lose(before, after *root) {
	lost := after.totals().sum.Sub(before.totals().sum)
	for _, sh := range s.log.parts {
		for _, k := range sh.commit.Contributions {
			lost = lost.Sub(k.Sum)
		}
	}
	g := s.shards[0].gen
	g.lost = g.lost.Add(lost)
}

// sumBytes is a sum in the catalog's byte order.
func sumBytes(s row.Sum) []byte {
	b := binary.LittleEndian.AppendUint64(nil, s[0])
	return binary.LittleEndian.AppendUint64(b, s[1])
}

// sumOf reads what sumBytes wrote.
func sumOf(b []byte) (s row.Sum) {
	if len(b) == 16 {
		s[0], s[1] = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	}
	return s
}

// collectUnpublished finds the sealed generations that the head does not contain.
func (r *recovery) collectUnpublished() {
	p := &r.s.pub
	for _, l := range r.shards {
		for _, f := range l.files {
			if f.info.State == catalog.GenerationSealed && !f.cat.InHead {
				p.waiting = append(p.waiting, f.generation)
			}
		}
	}
	// Generations of one cut begin behind the cut before it.
	slices.SortStableFunc(p.waiting, func(a, b *generation) int { return cmp.Compare(a.info.FirstLSN, b.info.FirstLSN) })
}

// compareHead holds the replay against the head when it has come to the head's
// commit: the catalog and the log vouch for each other.
func (r *recovery) compareHead() error {
	if r.head == nil || r.last != LSN(r.head.LSN) {
		return nil
	}
	t := r.replay.totals()
	if t.rows == r.head.LiveCount && t.sum == sumOf(r.head.Fingerprint) {
		return nil
	}
	return &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf(
		"the head of timeline %q has %d rows and fingerprint %x at commit %d, the log gives %d and %x",
		r.head.Name, r.head.LiveCount, sumOf(r.head.Fingerprint), r.last, t.rows, t.sum)}
}
