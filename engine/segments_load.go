package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/tree"
)

// What index segments save at an open: the places of a keys table's rows come from its
// primary segments, without a look at the fragments that these cover, and the entries
// of a secondary index from its own, already sorted. A row counts there as in the base:
// if its fragment is one of the base's and it is not superseded in it.
//
//	index = entries of its segments, of rows that did not move
//	      + keys of the rows that moved and are there at the end
//
// A row has moved when it has a record behind the base, or lies in a fragment that not
// all segments of its table cover. So a segment that is missing, damaged or behind makes
// an open slower and never another one: what no segment gives, the rows give. That it
// is so is told, and the next index job writes the segment anew.

// segmentLoads are the segments that a base is loaded with.
type segmentLoads struct {
	s         *Store
	segments  map[uint64][]*catalog.Segment // by index
	fragments map[uint64]*baseFragment      // of the base, by id
	byTable   map[TableID][]*baseFragment
	ended     func() error                      // asked now and then, unless nil
	room      func(rows int, bytes int64) error // for rows that are loaded, unless nil
}

// baseFragment is a fragment while the base is loaded.
type baseFragment struct {
	file    *generation
	want    *catalog.BaseFile
	at      int  // position in it
	covered bool // by all segments of its table that are used
	skipped bool // its rows came from a primary segment:
	found   int64
	bytes   int64          // of their frames
	first   segment.Merged // and that one is the first of them
	last    segment.Merged
}

func (x *baseFragment) live() int64 {
	live, _ := liveOf(x.want, x.at)
	return live.rows
}

// useSegments lets the base be loaded with segments, in the order of the index state.
func (r *recovery) useSegments(list []catalog.Segment) {
	if len(list) == 0 {
		return
	}
	r.loads = newSegmentLoads(r.s, list)
	for _, f := range r.base {
		r.loads.file(f.generation, &f.want)
	}
}

func newSegmentLoads(s *Store, list []catalog.Segment) *segmentLoads {
	l := &segmentLoads{s: s, segments: map[uint64][]*catalog.Segment{}, fragments: map[uint64]*baseFragment{}, byTable: map[TableID][]*baseFragment{}}
	for i := range list {
		l.segments[uint64(list[i].IndexID)] = append(l.segments[uint64(list[i].IndexID)], &list[i])
	}
	return l
}

// file adds a file of the base.
func (l *segmentLoads) file(g *generation, want *catalog.BaseFile) {
	for at, x := range want.Fragments {
		if x.TableID == 0 || at >= len(want.FragmentIDs) {
			continue
		}
		b := &baseFragment{file: g, want: want, at: at}
		l.fragments[uint64(want.FragmentIDs[at])] = b
		l.byTable[TableID(x.TableID)] = append(l.byTable[TableID(x.TableID)], b)
	}
}

// loadSegments finds out which tables can be loaded with segments, and loads the rows
// of keys tables. The schema is known, and no row yet.
func (r *recovery) loadSegments() error {
	l := r.loads
	if l == nil {
		return nil
	}
	l.ended, l.room = r.ended, r.replay.room
	for _, t := range r.replay.tables {
		if err := l.table(r.replay, t); err != nil {
			return err
		}
	}
	return nil
}

// table prepares a table.
func (l *segmentLoads) table(r *replay, t *replayTable) error {
	fragments := l.byTable[t.def.ID]
	segs := &tableSegments{loads: l, indexes: map[uint64][]*catalog.Segment{}, slots: map[uint32]bool{}}
	var all [][]*catalog.Segment
	for _, ix := range t.def.Indexes {
		if list := l.segments[ix.ID]; len(list) > 0 {
			segs.indexes[ix.ID] = list
			all = append(all, list)
		}
	}
	primary := l.segments[uint64(t.def.ID)]
	if !t.keys {
		primary = nil
	}
	if len(all) == 0 && len(primary) == 0 {
		return nil
	}
	for _, x := range fragments {
		id := uint64(x.want.FragmentIDs[x.at])
		x.covered = !slices.ContainsFunc(all, func(list []*catalog.Segment) bool { return !covers(list, id) })
		x.skipped = covers(primary, id)
	}
	t.segs = segs
	if len(primary) == 0 {
		return nil
	}
	err := l.rows(r, t, primary, fragments)
	if err == nil {
		segs.primary = true
		return nil
	}
	t.moved, segs.bytes = nil, 0 // rows are given to the table when all of them came
	for _, x := range fragments {
		x.skipped = false
	}
	return l.without(t.def, "", err)
}

// covers reports whether one of some segments covers a fragment.
func covers(list []*catalog.Segment, fragment uint64) bool {
	return slices.ContainsFunc(list, func(g *catalog.Segment) bool { return g.Fragments != nil && g.Fragments.Contains(fragment) })
}

// without goes on without the segments of an index, or of the rows themselves, if an
// error is about them.
func (l *segmentLoads) without(def *TableDef, index string, err error) error {
	var bad *CorruptError
	if !errors.As(err, &bad) {
		return err
	}
	what := "the places of rows"
	if index != "" {
		what = fmt.Sprintf("index %q", index)
	}
	l.s.event(Event{Kind: EventBackgroundFailed, Table: def.Name, File: bad.File,
		Err: fmt.Errorf("engine: %s of table %q are made from its rows, its segments are of no use: %w", what, def.Name, err)})
	return nil
}

// isLive reports whether an entry of a segment stands for a row of the base.
func (l *segmentLoads) isLive(fragment uint64, ordinal uint32) bool {
	x := l.fragments[fragment]
	if x == nil {
		return false
	}
	d := deleted(x.want, x.at)
	return d == nil || !d.Contains(ordinal)
}

// open opens the segments of an index. What is wrong with one is a *CorruptError.
func (l *segmentLoads) open(list []*catalog.Segment) (readers []*segment.Reader, done func(), err error) {
	var files []*segmentReader
	done = func() {
		for _, f := range files {
			_ = f.close() // it was only read
		}
	}
	seen := roaring64.New()
	for _, g := range list {
		if g.Fragments == nil || seen.Intersects(g.Fragments) {
			done()
			return nil, nil, &CorruptError{File: g.Path, Reason: "it covers what another segment of its index does"}
		}
		seen.Or(g.Fragments)
		f, err := l.s.openSegment(g)
		if err != nil {
			done()
			return nil, nil, l.s.spoilRead(g.ObjectID, unreadable(g.Path, err))
		}
		files = append(files, f)
		readers = append(readers, f.Reader)
	}
	return readers, done, nil
}

// unreadable makes damage of whatever keeps a segment from being read, such as a bad
// sector or a right that is lacking: rows are read without it all the same.
func unreadable(path string, err error) error {
	var bad *CorruptError
	switch {
	case err == nil, errors.As(err, &bad), errors.Is(err, ErrNewer), errors.Is(err, ErrClosed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &CorruptError{File: path, Reason: fmt.Sprintf("it cannot be read: %v", err), Err: err}
}

// rows loads the rows of a keys table that its primary segments have.
func (l *segmentLoads) rows(r *replay, t *replayTable, list []*catalog.Segment, fragments []*baseFragment) error {
	readers, done, err := l.open(list)
	if err != nil {
		return err
	}
	defer done()
	var rows tree.RowLoader
	loaded := replayRows{}
	loc := make([]byte, 0, maxLocator)
	m := segment.NewMerge(readers, l.isLive)
	n := 0
	for ; m.Next(); n++ {
		e := m.Entry()
		x := l.fragments[e.Fragment]
		if n%baseFlush == 0 {
			if err := l.may(n, int64(loaded.bytes)); err != nil {
				return err
			}
		}
		if !x.takes(t.def.ID, e) {
			return l.wrong(list, "row %d of table %q at %d, ordinal %d, which its fragment does not have", e.Rowid, t.def.Name, e.Offset, e.Ordinal)
		}
		if x.covered {
			t.segs.bytes += int64(e.Size)
		} else {
			t.moved = append(t.moved, e.Rowid)
		}
		loc = appendLocator(loc[:0], rowPlace{kind: filed, slot: x.file.slot, off: e.Offset, size: e.Size})
		rows.Add(e.Rowid, loc)
		loaded.bytes += len(loc)
		loaded.max, loaded.hasMax = e.Rowid, true
	}
	if err := m.Err(); err != nil {
		return l.spoil(list, err)
	}
	count := int64(0)
	for _, x := range fragments {
		if !x.skipped {
			continue
		}
		if x.found != x.live() {
			return l.wrong(list, "%d rows of table %q in a fragment, the catalog says %d", x.found, t.def.Name, x.live())
		}
		count += x.found
		t.segs.slots[x.file.slot] = x.covered
	}
	if loaded.tree = rows.Rows(); n > 0 {
		t.rows, t.owned, t.stale = loaded, true, true
	}
	t.count += count // what they add up to, the footers say
	r.weigh(t)
	return r.fit()
}

// may is why the loading must not go on with so much in memory, or nil.
func (l *segmentLoads) may(rows int, bytes int64) error {
	if l.ended != nil {
		if err := l.ended(); err != nil {
			return err
		}
	}
	if l.room != nil && rows > 0 {
		return l.room(rows, bytes)
	}
	return nil
}

// takes notes an entry for a row of the fragment, behind those before. It reports false
// when the fragment cannot have such a row.
func (x *baseFragment) takes(table TableID, e segment.Merged) bool {
	if x == nil || !x.skipped || x.want.Fragments[x.at].TableID != int64(table) || int64(e.Ordinal) >= x.want.Fragments[x.at].Rows ||
		e.Offset < x.file.start || e.Offset+int64(e.Size) > x.want.ByteExtent {
		return false
	}
	if x.found == 0 {
		x.first = e
	} else if e.Ordinal <= x.last.Ordinal || e.Rowid <= x.last.Rowid || e.Offset < x.last.Offset+int64(x.last.Size) {
		return false
	}
	x.last = e
	x.found++
	x.bytes += int64(e.Size)
	return true
}

// wrong is an error of segments that do not fit the base.
func (l *segmentLoads) wrong(list []*catalog.Segment, format string, args ...any) error {
	return l.spoil(list, &CorruptError{File: list[0].Path, Reason: fmt.Sprintf(format, args...)})
}

// spoil notes that a segment is damaged: the one that an error names, or all that may
// be meant.
func (l *segmentLoads) spoil(list []*catalog.Segment, err error) error {
	var bad *segment.CorruptError
	if errors.As(err, &bad) {
		if i := slices.IndexFunc(list, func(g *catalog.Segment) bool { return g.ObjectID == int64(bad.Object) }); i >= 0 {
			list = list[i : i+1]
		}
	}
	if err = unreadable(list[0].Path, segmentDamage(list[0].Path, err)); errors.As(err, new(*CorruptError)) {
		for _, g := range list {
			l.s.spoil(g.ObjectID, err)
		}
	}
	return err
}

// fragment is the one that a file is read in.
func (l *segmentLoads) fragment(f *baseLog) *baseFragment {
	if f.part == nil || f.partAt != f.cursor.at {
		f.part, f.partAt = l.fragmentAt(f, f.cursor.at), f.cursor.at
	}
	return f.part
}

func (l *segmentLoads) fragmentAt(f *baseLog, at int) *baseFragment { return l.fragmentOf(&f.want, at) }

func (l *segmentLoads) fragmentOf(f *catalog.BaseFile, at int) *baseFragment {
	if l == nil || at < 0 || at >= len(f.FragmentIDs) {
		return nil
	}
	return l.fragments[uint64(f.FragmentIDs[at])]
}

func (x *baseFragment) isSkipped() bool { return x != nil && x.skipped }

// skips are the fragments of a base file whose rows came from a primary segment, in
// their order.
func (l *segmentLoads) skips(f *baseLog) (list []*baseFragment) {
	if l == nil {
		return nil
	}
	for at := range f.want.Fragments {
		if x := l.fragmentAt(f, at); x.isSkipped() && x.found > 0 {
			list = append(list, x)
		}
	}
	return list
}
