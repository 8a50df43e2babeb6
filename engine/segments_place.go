package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
)

// A compaction deletes from the files that it keeps the rows that it writes anew, or that
// are gone. Where these are, the primary segments say: each is asked for row ids in
// ascending order, and only read forward.

// segmentPlacer finds rows of the base by the primary segments of its head.
type segmentPlacer struct {
	s        *Store
	loaded   bool
	segments map[TableID][]catalog.Segment
}

// basePlacer finds rows of the base. The caller has the compactor's turn.
func (s *Store) basePlacer() placer { return &segmentPlacer{s: s} }

// places implements placer. A segment that is damaged is as if there were none.
func (p *segmentPlacer) places(ctx context.Context, table TableID, rowids []int64, found func(basePlace) error) (*roaring64.Bitmap, error) {
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	covered := roaring64.New()
	for i := range p.segments[table] {
		g := &p.segments[table][i]
		if p.s.isSpoiled(g.ObjectID) {
			continue
		}
		list, err := p.s.placesIn(ctx, g, rowids)
		if errors.Is(p.s.spoilRead(g.ObjectID, err), errSpoiled) {
			continue
		}
		if err != nil {
			return nil, err
		}
		covered.Or(g.Fragments)
		for _, at := range list {
			if err := found(at); err != nil {
				return nil, err
			}
		}
	}
	return covered, nil
}

// load reads which segments there are.
func (p *segmentPlacer) load(ctx context.Context) error {
	if p.loaded {
		return nil
	}
	state, err := p.s.cat.StateOf(ctx, p.s.opts.Timeline)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	p.loaded, p.segments = true, map[TableID][]catalog.Segment{}
	for _, g := range state.IndexState.Segments {
		if g.IndexID == g.TableID {
			p.segments[TableID(g.TableID)] = append(p.segments[TableID(g.TableID)], g)
		}
	}
	return nil
}

// placesIn returns the places of rows in one primary segment.
func (s *Store) placesIn(ctx context.Context, g *catalog.Segment, rowids []int64) (list []basePlace, err error) {
	if len(rowids) == 0 {
		return nil, nil
	}
	r, err := s.openSegment(g)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.close() }() // it was only read
	fragments := r.Header().Fragments
	it := r.Primary(rowids[0])
	some := it.Next()
	for n, id := range rowids {
		if n%baseFlush == 0 {
			if err := errors.Join(ctx.Err(), s.refusal()); err != nil {
				return nil, err
			}
		}
		if some && it.Entry().Rowid < id {
			some = it.SeekTo(id)
		}
		if !some {
			break
		}
		e := it.Entry()
		if e.Rowid != id || !g.Fragments.Contains(fragments[e.Fragment]) {
			continue
		}
		list = append(list, basePlace{rowid: id, fragment: int64(fragments[e.Fragment]), ordinal: e.Ordinal, offset: e.Offset, size: e.Size})
	}
	return list, segmentDamage(r.path, it.Err())
}
