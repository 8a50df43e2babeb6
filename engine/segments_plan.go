package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Index segments (package segment) say where in the base the rows of an index are, in
// its order. A segment covers an exact set of fragments: it has an entry of every row
// that they had when it was written and that was not deleted by then, and no other. So
// who reads an index from its segments leaves out what is deleted since, and scans the
// fragments that none of them covers. A table has a primary index, whose entries are in
// the order of row ids, and one for each index of its definition.
//
// An index job writes segments for the fragments that have none yet. It reads each of
// them once for all indexes of its table; what does not fit the memory is written to
// runs, which are files like segments and are never sealed. Old segments are merged
// with the new ones when they are small beside them, so that an index has few, and then
// lose the entries of rows and fragments that are gone.

const (
	// maxSegments is how many segments an index has at most, or a few more when they
	// differ much in size.
	maxSegments = 8
	// mergeFactor: a segment up to so many times as large as what is merged already is
	// merged, too. Sizes of the others grow by it at least, so there are few, and an
	// entry is written again as often as that.
	mergeFactor = 3
)

// indexPlan is what an index job is to do.
type indexPlan struct {
	base      []*baseFile    // of the store, when it was planned
	files     []*baseFile    // the same, as the catalog has them
	fragments []planFragment // those of tables, in the order of the files
	number    map[int64]int  // where in fragments, by id
	indexes   []*indexWork
	relied    []catalog.IndexRef // all indexes of durable tables, planned or not
}

// planFragment is a fragment of a table.
type planFragment struct {
	*fragment
	file *baseFile
}

// isDeleted reports whether a row is not in the base's state any more.
func (x *fragment) isDeleted(ordinal uint32) bool {
	return x.deleted != nil && x.deleted.Contains(ordinal)
}

// indexWork is one index of a durable table, and what a job does with it.
type indexWork struct {
	catalog.IndexRef
	def *TableDef
	ix  *IndexDef // nil: the primary index

	keep  []segmentInUse // that stay, in their order
	merge []segmentInUse // that are merged into the new one
	left  int            // segments that go: no fragment is left of them, or they are damaged
	fresh []int          // numbers of the fragments that no segment covers

	rows runs                 // of the fresh fragments
	made []catalog.SegmentRef // the new segment
}

// segmentInUse is a segment of the head of which fragments are left.
type segmentInUse struct {
	catalog.Segment
	live int64 // rows of its fragments
}

// name is what messages call the index.
func (w *indexWork) name() string {
	if w.ix == nil {
		return fmt.Sprintf("primary index of table %q", w.def.Name)
	}
	return fmt.Sprintf("index %q", w.ix.Name)
}

// indexesOf lists the indexes that queries of a schema may rely on: of each durable
// table the primary one, then the others.
func indexesOf(schema *Schema) (list []*indexWork) {
	for _, def := range schema.tables {
		if !def.Durable {
			continue
		}
		table := int64(def.ID)
		list = append(list, &indexWork{IndexRef: catalog.IndexRef{IndexID: table, TableID: table}, def: def})
		for _, ix := range def.Indexes {
			list = append(list, &indexWork{IndexRef: catalog.IndexRef{IndexID: int64(ix.ID), TableID: table}, def: def, ix: ix})
		}
	}
	return list
}

// planIndexes finds what there is to do for the indexes of a target (see targetOf), or
// for all, nil. The caller has the compactor's turn: nobody else changes base or
// segments. thorough reads every segment to its end, to find those that are damaged.
func (s *Store) planIndexes(ctx context.Context, target func(*indexWork) bool, thorough bool) (*indexPlan, error) {
	state, err := s.cat.StateOf(ctx, s.opts.Timeline)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	p := &indexPlan{base: s.base, number: map[int64]int{}}
	s.mu.Unlock()
	if err := p.take(state.Base); err != nil {
		return nil, err
	}
	byTable := map[int64][]int{}
	for n, x := range p.fragments {
		byTable[int64(x.table)] = append(byTable[int64(x.table)], n)
	}
	segments := map[int64][]catalog.Segment{}
	for _, g := range state.IndexState.Segments {
		segments[g.IndexID] = append(segments[g.IndexID], g)
	}
	for _, w := range indexesOf(s.synced.Load().schema) {
		p.relied = append(p.relied, w.IndexRef)
		if target != nil && !target(w) {
			continue
		}
		if err := s.planIndex(ctx, p, w, segments[w.IndexID], byTable[w.TableID], thorough); err != nil {
			return nil, err
		}
		p.indexes = append(p.indexes, w)
	}
	return p, nil
}

// take takes over the files of the base as the catalog has them.
func (p *indexPlan) take(files []catalog.BaseFile) error {
	known := map[uint64]*baseFile{}
	for _, f := range p.base {
		known[f.object] = f
	}
	for i := range files {
		c, f := &files[i], known[uint64(files[i].ObjectID)]
		if f == nil || len(f.fragments) != len(c.Fragments) || len(files) != len(p.base) {
			return errBaseChanged
		}
		copied := *f
		copied.fragments = slices.Clone(f.fragments)
		p.files = append(p.files, &copied)
		for k := range copied.fragments {
			x := &copied.fragments[k]
			x.id, x.deleted, x.live = c.FragmentIDs[k], c.Deleted[k], c.Live[k].Rows
			if x.table != 0 {
				p.number[x.id] = len(p.fragments)
				p.fragments = append(p.fragments, planFragment{x, &copied})
			}
		}
	}
	return nil
}

// planIndex finds what there is to do for one index.
func (s *Store) planIndex(ctx context.Context, p *indexPlan, w *indexWork, have []catalog.Segment, fragments []int, thorough bool) error {
	covered := roaring64.New()
	for _, g := range have {
		in := segmentInUse{Segment: g}
		some := false
		for it := g.Fragments.Iterator(); it.HasNext(); {
			if n, ok := p.number[int64(it.Next())]; ok {
				some = true
				in.live += p.fragments[n].live
			}
		}
		usable := some
		if some {
			var err error
			if usable, err = s.usable(ctx, &g, thorough); err != nil {
				return err
			}
		}
		if !usable {
			w.left++
			continue
		}
		covered.Or(g.Fragments)
		w.keep = append(w.keep, in)
	}
	rows := int64(0)
	for _, n := range fragments {
		if x := p.fragments[n]; !covered.Contains(uint64(x.id)) {
			w.fresh = append(w.fresh, n)
			rows += x.live
		}
	}
	// Fragments in the order of their ids have their places in the new segment.
	slices.SortFunc(w.fresh, func(a, b int) int { return cmp.Compare(p.fragments[a].id, p.fragments[b].id) })
	take := toMerge(rows, len(w.fresh) > 0, w.keep)
	kept := w.keep[:0:0]
	for i, g := range w.keep {
		if take[i] {
			w.merge = append(w.merge, g)
		} else {
			kept = append(kept, g)
		}
	}
	w.keep = kept
	return nil
}

// toMerge says which segments are merged: with the rows of fresh fragments, if there are
// any, or because most of their entries are of rows that are gone.
func toMerge(rows int64, fresh bool, have []segmentInUse) []bool {
	take := make([]bool, len(have))
	order := make([]int, len(have))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(have[a].live, have[b].live) })
	total := rows
	if fresh {
		left := len(have)
		for _, i := range order {
			if have[i].live > mergeFactor*total && left < maxSegments {
				break
			}
			take[i] = true
			total += have[i].live
			left--
		}
	}
	for i, g := range have {
		take[i] = take[i] || g.Entries > 2*g.live
	}
	return take
}

// changes reports whether the index will have other segments.
func (w *indexWork) changes() bool { return w.left > 0 || w.writes() }

// writes reports whether a segment is written.
func (w *indexWork) writes() bool { return len(w.fresh) > 0 || len(w.merge) > 0 }

// covers lists the fragments of the segment that is written, by their numbers and in the
// order of their ids.
func (w *indexWork) covers(p *indexPlan) []int {
	list := slices.Clone(w.fresh)
	for _, g := range w.merge {
		for it := g.Fragments.Iterator(); it.HasNext(); {
			if n, ok := p.number[int64(it.Next())]; ok {
				list = append(list, n)
			}
		}
	}
	slices.SortFunc(list, func(a, b int) int { return cmp.Compare(p.fragments[a].id, p.fragments[b].id) })
	return slices.Compact(list)
}

// hasExtent reports whether a sealed file is there and as long as it was sealed: a
// *CorruptError if it is not.
func (s *Store) hasExtent(path string, extent int64) error {
	info, err := s.fs.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &CorruptError{File: path, Reason: "the file is missing", Err: err}
	case err != nil:
		return fmt.Errorf("engine: looking for %s: %w", path, err)
	case info.Size != extent:
		return &CorruptError{File: path, Offset: min(info.Size, extent), Reason: fmt.Sprintf("%d bytes, sealed as %d", info.Size, extent)}
	}
	return nil
}

// usable reports whether a segment of the head can be relied on. One that was found
// damaged is replaced.
func (s *Store) usable(ctx context.Context, g *catalog.Segment, thorough bool) (bool, error) {
	if s.isSpoiled(g.ObjectID) {
		return false, nil
	}
	err := s.hasExtent(g.Path, g.Extent)
	if err == nil && thorough {
		err = s.verifySegment(ctx, g)
	}
	var bad *CorruptError
	if errors.As(err, &bad) {
		s.spoil(g.ObjectID, err)
		return false, nil
	}
	return err == nil, err
}
