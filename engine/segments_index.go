package engine

import (
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/tree"
)

// An index of a table that was loaded with segments is merged of two orders: the live
// entries of its segments, but for rows that moved, and the keys of rows that moved,
// sorted here. Both are checked as one: no two keys of a unique index are equal, and
// there are as many entries as rows.

// tableSegments are those of a table.
type tableSegments struct {
	loads   *segmentLoads
	indexes map[uint64][]*catalog.Segment // by secondary index
	primary bool                          // rows came from the primary's
	bytes   int64                         // of such rows that did not move
	slots   map[uint32]bool               // files that such rows are in
}

// load makes the indexes of a table from its segments, if it has some, and returns
// the positions of those that are still to be made from the rows.
func (s *tableSegments) load(r *replay, t *replayTable, n *Table) (cold []int, err error) {
	slices.Sort(t.moved)
	t.moved = slices.Compact(t.moved)
	var hot []*indexBuilder
	for i, ix := range t.def.Indexes {
		if len(s.indexes[ix.ID]) > 0 {
			hot = append(hot, newIndexBuilder(t.def, ix, i, len(t.moved)))
		} else {
			cold = append(cold, i)
		}
	}
	moved := roaring64.New()
	for _, rowid := range t.moved {
		moved.Add(uint64(rowid))
		rec, found, err := n.Get(rowid)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		for _, b := range hot {
			b.add(rowid, rec)
		}
	}
	for _, b := range hot {
		built, twins, err := s.index(b, moved)
		switch {
		case err != nil:
			if err := s.loads.without(t.def, b.ix.Name, err); err != nil {
				return nil, err
			}
			cold = append(cold, b.at)
		case twins != [2]int64{}:
			return nil, r.twins(n, b.ix, twins)
		case built.Len() != n.rows.Len():
			err := s.loads.wrong(s.indexes[b.ix.ID], "%d entries of index %q for the %d rows of its table", built.Len(), b.ix.Name, n.rows.Len())
			if err := s.loads.without(t.def, b.ix.Name, err); err != nil {
				return nil, err
			}
			cold = append(cold, b.at)
		default:
			n.indexes[b.at] = built
		}
	}
	return cold, nil
}

// index makes an index of the entries of its segments and of the rows that moved.
func (s *tableSegments) index(b *indexBuilder, moved *roaring64.Bitmap) (built *indexTree, twins [2]int64, err error) {
	list := s.indexes[b.ix.ID]
	readers, done, err := s.loads.open(list)
	if err != nil {
		return nil, twins, err
	}
	defer done()
	var keys tree.KeyLoader
	var before entryBefore
	add := func(entry string, null bool) bool {
		if b.ix.Unique && before.equals(entry, null, &twins) {
			return false
		}
		keys.Add(entry)
		return true
	}
	others, stop := iter.Pull(b.s.All())
	defer stop()
	other, more := others()
	m := segment.NewMerge(readers, func(fragment uint64, ordinal uint32) bool {
		x := s.loads.fragments[fragment]
		return x != nil && x.covered && s.loads.isLive(fragment, ordinal)
	})
	some := !moved.IsEmpty()
	for n := 0; m.Next(); n++ {
		if n%baseFlush == 0 {
			if err := s.loads.may(0, 0); err != nil {
				return nil, twins, err
			}
		}
		e := m.Entry()
		if some {
			if _, rowid := splitEntry(e.Key); moved.Contains(uint64(rowid)) {
				continue
			}
			for ; more && other < e.Key; other, more = others() {
				if _, null := b.nulls[other]; !add(other, null) {
					return nil, twins, nil
				}
			}
		}
		if !add(e.Key, e.Null) {
			return nil, twins, nil
		}
	}
	if err := m.Err(); err != nil {
		return nil, twins, s.loads.spoil(list, err)
	}
	for ; more; other, more = others() {
		if _, null := b.nulls[other]; !add(other, null) {
			return nil, twins, nil
		}
	}
	return keys.Keys(), twins, nil
}

// entryBefore is the entry of a unique index before the one at hand.
type entryBefore struct {
	entry string
	null  bool
	some  bool
}

// equals reports whether an entry's key is that of the one before, with the rows of
// both, the later one first; then it takes its place.
func (b *entryBefore) equals(entry string, null bool, twins *[2]int64) bool {
	if b.some && !null && !b.null {
		key, rowid := splitEntry(entry)
		if last, other := splitEntry(b.entry); key == last {
			*twins = [2]int64{max(rowid, other), min(rowid, other)}
			return true
		}
	}
	b.entry, b.null, b.some = entry, null, true
	return false
}

// leave notes that a row is not any more where a primary segment has it.
func (s *tableSegments) leave(loc row.Record) {
	if p, err := parseLocator(string(loc)); err == nil && s.slots[p.slot] {
		s.bytes -= int64(p.size)
	}
}

// liveBytes is what a compaction would write of a keys table that came from segments:
// what they say of rows that did not move, and the rest read. Their frames name the
// version of a definition that rows are not counted with (liveSize), so it may be some
// bytes per row too much.
func (s *tableSegments) liveBytes(t *replayTable, n *Table) (live int64, err error) {
	live = s.bytes
	for _, rowid := range t.moved {
		rec, found, err := n.Get(rowid)
		if err != nil {
			return 0, err
		}
		if found {
			live += liveSize(t.def, rowid, rec)
		}
	}
	return live, nil
}
