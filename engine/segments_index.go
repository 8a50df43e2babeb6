package engine

import (
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/tree"
)

// An index of a table that was loaded with segments is merged of two orders: the live
// entries of its segments, but for rows that moved, and the keys of rows that moved,
// sorted here. Both are checked as one: no two keys of a unique index are equal, and
// there are as many entries as rows, or no more if the index is partial. A row without
// an entry is covered like the others: a segment says of it that there is none. If not, it
// is made from the rows, which says whether it is they that are damaged.

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
func (s *tableSegments) load(t *replayTable, n *Table) (cold []int, err error) {
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
	for i, made := range s.all(hot, moved) {
		b := hot[i]
		switch {
		case made.err != nil:
			if err := s.loads.without(t.def, b.ix.Name, made.err); err != nil {
				return nil, err
			}
			cold = append(cold, b.at)
		case made.twins != [2]int64{}:
			// If it is the rows that are equal, that is found when they are read.
			err := s.loads.wrong(s.indexes[b.ix.ID], "rows %d and %d of table %q are equal in unique index %q", made.twins[1], made.twins[0], t.def.Name, b.ix.Name)
			if err := s.loads.without(t.def, b.ix.Name, err); err != nil {
				return nil, err
			}
			cold = append(cold, b.at)
		case made.tree.Len() > n.rows.Len() || b.ix.Where == 0 && made.tree.Len() < n.rows.Len():
			err := s.loads.wrong(s.indexes[b.ix.ID], "%d entries of index %q for the %d rows of its table", made.tree.Len(), b.ix.Name, n.rows.Len())
			if err := s.loads.without(t.def, b.ix.Name, err); err != nil {
				return nil, err
			}
			cold = append(cold, b.at)
		default:
			n.indexes[b.at] = made.tree
		}
	}
	slices.Sort(cold)
	return cold, nil
}

// madeIndex is what came of making an index.
type madeIndex struct {
	tree  *indexTree
	twins [2]int64 // rows that are equal in it, if it is unique
	err   error
}

// all makes some indexes, a few side by side.
func (s *tableSegments) all(list []*indexBuilder, moved *roaring64.Bitmap) []madeIndex {
	made := make([]madeIndex, len(list))
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(list); i = int(next.Add(1)) - 1 {
			m := &made[i]
			m.tree, m.twins, m.err = s.index(list[i], moved)
		}
	}
	var others sync.WaitGroup
	for range min(len(list), runtime.GOMAXPROCS(0), maxLoads) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return made
}

// maxLoads is how many indexes of a table are made at a time.
const maxLoads = 4

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
	add := func(entry []byte, null bool) bool {
		if b.ix.Unique && before.equals(entry, null, &twins) {
			return false
		}
		keys.Add(entry)
		return true
	}
	others, stop := iter.Pull(b.s.All())
	defer stop()
	other, more := others()
	var buf []byte
	addOther := func() bool {
		_, null := b.nulls[other]
		buf = append(buf[:0], other...)
		other, more = others()
		return add(buf, null)
	}
	live := func(fragment uint64, ordinal uint32) bool {
		x := s.loads.fragments[fragment]
		return x != nil && x.covered && s.loads.isLive(fragment, ordinal)
	}
	if s.loads.whole(readers) {
		live = nil
	}
	m := segment.NewMerge(readers, live)
	some := !moved.IsEmpty()
	for m.NextBatch() {
		if err := s.loads.may(0, 0); err != nil {
			return nil, twins, err
		}
		batch := m.Batch()
		for i := range batch.Len() {
			entry := batch.Key(i)
			cut := entryCut(entry)
			if cut < 0 {
				return nil, twins, s.loads.wrong(list, "entry %x of index %q, which ends in no row id", entry, b.ix.Name)
			}
			if some {
				if moved.Contains(uint64(entryRowid(entry, cut))) {
					continue
				}
				for more && other < string(entry) {
					if !addOther() {
						return nil, twins, nil
					}
				}
			}
			if !add(entry, batch.Null(i)) {
				return nil, twins, nil
			}
		}
	}
	if err := m.Err(); err != nil {
		return nil, twins, s.loads.spoil(list, err)
	}
	for more {
		if !addOther() {
			return nil, twins, nil
		}
	}
	return keys.Keys(), twins, nil
}

// whole reports whether all entries of some segments stand for rows of the base.
func (l *segmentLoads) whole(readers []*segment.Reader) bool {
	for _, r := range readers {
		for _, id := range r.Header().Fragments {
			if x := l.fragments[id]; x == nil || !x.covered || deleted(x.want, x.at) != nil {
				return false
			}
		}
	}
	return true
}

// entryBefore is the entry of a unique index before the one at hand.
type entryBefore struct {
	entry []byte
	cut   int // where its row id begins
	null  bool
}

// equals reports whether an entry's key is that of the one before, with the rows of
// both, the later one first; then it takes its place.
func (b *entryBefore) equals(entry []byte, null bool, twins *[2]int64) bool {
	cut := entryCut(entry)
	if len(b.entry) > 0 && cut == b.cut && !null && !b.null && string(entry[:cut]) == string(b.entry[:cut]) {
		rowid, other := entryRowid(entry, cut), entryRowid(b.entry, cut)
		*twins = [2]int64{max(rowid, other), min(rowid, other)}
		return true
	}
	b.entry, b.cut, b.null = append(b.entry[:0], entry...), cut, null
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
