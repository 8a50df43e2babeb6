package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/zeebo/xxh3"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// What an index is read from at an open is held against the rows, for each state that
// the catalog names:
//
//   - every segment is, byte for byte, what was sealed, and can be read to its end;
//   - each of its entries whose row is in the base's state is the entry of that row, and
//     each row of a fragment that the segments of an index cover has exactly one, or none
//     where the index is partial and does not have it;
//   - no index has caught up with a generation that the base does not contain, and what
//     it has caught up with is in fragments that it covers: each row that a generation
//     up to its position has, unless a later one that is compacted has it, too.

// segmentChecker checks the segments of one representation.
type segmentChecker struct {
	*checker
	name      string // of the branch point, "" for a head
	base      []*baseFile
	fragments []planFragment
	number    map[int64]int
	state     *catalog.IndexState
	retained  []catalog.Generation
	ordinals  map[int64]int64 // of shards

	indexes map[int64]*indexWork // by id, of all schemas that are known
	expect  map[int64][][]uint64 // by index: per fragment the sum of each row's entry, nil for those of other tables
	places  map[rowName]int      // the fragments of rows that are asked for
}

// rowName names a row.
type rowName struct {
	table TableID
	rowid int64
}

// segments checks the segments of a representation. schemas are those that its indexes
// may be of.
func (c *checker) segments(name string, files []catalog.BaseFile, state *catalog.IndexState, retained []catalog.Generation, schemas ...*Schema) error {
	if len(state.Segments) == 0 && len(state.CaughtUp) == 0 {
		return nil
	}
	k := c.segmentsOf(name, files, state, retained, schemas...)
	before := c.damage
	for i := range state.Segments {
		if err := k.file(&state.Segments[i]); err != nil {
			return err
		}
	}
	if c.damage > before {
		return nil // what is missing in them is no other finding
	}
	if err := k.positions(); err != nil {
		return err
	}
	return k.entries()
}

// segmentsOf is what segments are checked with.
func (c *checker) segmentsOf(name string, files []catalog.BaseFile, state *catalog.IndexState, retained []catalog.Generation, schemas ...*Schema) *segmentChecker {
	k := &segmentChecker{checker: c, name: name, state: state, retained: retained, number: map[int64]int{}, indexes: map[int64]*indexWork{}}
	for i := range files {
		f := newBaseFile(&files[i], newBaseLog(files[i]).generation)
		k.base = append(k.base, f)
		for j := range f.fragments {
			x := &f.fragments[j]
			x.id, x.deleted, x.live = files[i].FragmentIDs[j], files[i].Deleted[j], files[i].Live[j].Rows
			if x.table != 0 {
				k.number[x.id] = len(k.fragments)
				k.fragments = append(k.fragments, planFragment{x, f})
			}
		}
	}
	for _, schema := range schemas {
		for _, w := range indexesOf(schema) {
			k.indexes[w.IndexID] = w
		}
	}
	return k
}

func (k *segmentChecker) report(f Finding) {
	if k.name != "" {
		f.Text = fmt.Sprintf("branch point %q: %s", k.name, f.Text)
	}
	k.checker.report(f)
}

func (k *segmentChecker) found(err error) error {
	var bad *CorruptError
	if errors.As(err, &bad) {
		text := bad.Reason
		if strings.HasSuffix(bad.File, "."+catalog.KindIndex) {
			text += "; no answer depends on it: " + segmentCure
		}
		k.report(Finding{Damage, bad.File, bad.Offset, text})
		return nil
	}
	return err
}

// segmentCure is what helps against a segment that is damaged or missing.
const segmentCure = "a job of kind index writes it anew for what is open; one that only a branch point has goes with that, and a backup is made without it"

// file checks a segment by itself.
func (k *segmentChecker) file(g *catalog.Segment) error {
	if k.read[g.ObjectID] {
		return nil
	}
	err := k.sealedBytesOf(catalog.KindIndex, g.ObjectID, g.Path, g.Extent, g.ContentID)
	if err == nil {
		err = k.s.verifySegment(k.ctx, g)
	}
	var bad *CorruptError
	if errors.As(err, &bad) && !k.offline {
		k.s.spoil(g.ObjectID, err) // the next index job writes it anew
	}
	return k.found(err)
}

// entries holds the segments of each index against the rows of the base.
func (k *segmentChecker) entries() error {
	byIndex := map[int64][]*catalog.Segment{}
	var order []int64
	for i := range k.state.Segments {
		g := &k.state.Segments[i]
		if byIndex[g.IndexID] == nil {
			order = append(order, g.IndexID)
		}
		byIndex[g.IndexID] = append(byIndex[g.IndexID], g)
	}
	if err := k.rows(byIndex); err != nil {
		return k.found(err)
	}
	for _, id := range order {
		if k.indexes[id] == nil {
			continue // dropped since; the next publication of indexes lets go of it
		}
		if err := k.index(k.indexes[id], byIndex[id]); err != nil {
			return err
		}
	}
	return nil
}

// rows computes the entry of each live row in each index that has segments.
func (k *segmentChecker) rows(byIndex map[int64][]*catalog.Segment) error {
	k.expect = map[int64][][]uint64{}
	byTable := map[TableID][]*indexWork{}
	for id := range byIndex {
		if w := k.indexes[id]; w != nil {
			byTable[w.def.ID] = append(byTable[w.def.ID], w)
			k.expect[id] = make([][]uint64, len(k.fragments))
		}
	}
	n := 0
	for _, f := range k.base {
		numbers := make([]int, len(f.fragments))
		for at, x := range f.fragments {
			if x.table == 0 {
				continue
			}
			numbers[at] = n
			for _, w := range byTable[x.table] {
				k.expect[w.IndexID][n] = make([]uint64, x.rows)
			}
			n++
		}
		var keys keyMaker
		var buf []byte
		scan := fragmentScan{s: k.s, file: f, ended: k.ended, row: func(at int, ordinal uint32, ids wal.RowIDs, fr wal.Frame) error {
			if name := (rowName{TableID(ids.Table), ids.Rowid}); k.places != nil {
				if _, asked := k.places[name]; asked {
					k.places[name] = numbers[at]
				}
			}
			some := byTable[TableID(ids.Table)]
			if len(some) == 0 {
				return nil
			}
			p, err := wal.DecodePut(fr)
			if err != nil {
				return corruptIn(f.path, fr.Offset, err)
			}
			for _, w := range some {
				sum := primarySum(ids.Rowid, fr.Offset, uint32(fr.End()-fr.Offset))
				if w.ix != nil {
					var null bool
					keys.def = w.def
					if buf, null = keys.append(buf[:0], w.ix, p.Rec, ids.Rowid); len(buf) == 0 {
						continue
					}
					sum = secondarySum(buf, null)
				}
				k.expect[w.IndexID][numbers[at]][ordinal] = sum
			}
			return nil
		}}
		if err := scan.run(); err != nil {
			return err
		}
	}
	return nil
}

// primarySum and secondarySum stand for an entry; 0 stands for none.
func primarySum(rowid, offset int64, size uint32) uint64 {
	var b [20]byte
	binary.LittleEndian.PutUint64(b[:], uint64(rowid))
	binary.LittleEndian.PutUint64(b[8:], uint64(offset))
	binary.LittleEndian.PutUint32(b[16:], size)
	return max(1, xxh3.Hash(b[:]))
}

func secondarySum(key []byte, null bool) uint64 {
	seed := uint64(0)
	if null {
		seed = 1
	}
	return max(1, xxh3.HashSeed(key, seed))
}

// index compares the entries of an index with those that the rows give.
func (k *segmentChecker) index(w *indexWork, segments []*catalog.Segment) error {
	seen := make([]*roaring.Bitmap, len(k.fragments))
	covered := make([]bool, len(k.fragments))
	for _, g := range segments {
		for it := g.Fragments.Iterator(); it.HasNext(); {
			n, ok := k.number[int64(it.Next())]
			if !ok {
				continue // it is not in this base any more
			}
			if k.fragments[n].table != w.def.ID {
				k.report(Finding{Damage, g.Path, 0, fmt.Sprintf("%s covers fragment %d, which is of table %d", w.name(), k.fragments[n].id, k.fragments[n].table)})
				return nil
			}
			if covered[n] {
				k.report(Finding{Damage, g.Path, 0, fmt.Sprintf("%s covers fragment %d twice", w.name(), k.fragments[n].id)})
				return nil
			}
			covered[n], seen[n] = true, roaring.New()
		}
		before := k.damage
		if err := k.found(k.segment(w, g, seen)); err != nil {
			return err
		}
		if k.damage > before {
			return nil
		}
	}
	for n, x := range k.fragments {
		if !covered[n] {
			continue
		}
		want := x.live
		if w.ix != nil && w.ix.Where != 0 {
			want = 0
			for _, sum := range k.expect[w.IndexID][n] {
				if sum != 0 {
					want++
				}
			}
		}
		if int64(seen[n].GetCardinality()) != want {
			k.report(Finding{Damage, x.file.path, 0, fmt.Sprintf("%s has entries of %d rows of fragment %d, which has %d", w.name(), seen[n].GetCardinality(), x.id, want)})
			return nil
		}
	}
	return nil
}

// segment compares the entries of one segment. seen are the rows that had one.
func (k *segmentChecker) segment(w *indexWork, g *catalog.Segment, seen []*roaring.Bitmap) (err error) {
	r, err := k.s.openSegment(g)
	if err != nil {
		return err
	}
	defer func() { _ = r.close() }() // it was only read
	ids := r.Header().Fragments
	places := make([]int, len(ids))
	for i, id := range ids {
		n, ok := k.number[int64(id)]
		if !ok || !g.Fragments.Contains(id) {
			n = -1
		}
		places[i] = n
	}
	entries := 0
	check := func(p segment.Place, sum uint64, what func() string) error {
		if entries++; entries%baseFlush == 0 {
			if err := k.ended(); err != nil {
				return err
			}
		}
		n := places[p.Fragment]
		if n < 0 {
			return nil
		}
		x := &k.fragments[n]
		switch {
		case int64(p.Ordinal) >= x.rows:
			return &CorruptError{File: g.Path, Reason: fmt.Sprintf("%s: an entry of row %d of fragment %d, which has %d", w.name(), p.Ordinal, x.id, x.rows)}
		case x.isDeleted(p.Ordinal):
			return nil
		case k.expect[w.IndexID][n][p.Ordinal] != sum:
			return &CorruptError{File: g.Path, Reason: fmt.Sprintf("%s: entry %d (%s) is not that of row %d of fragment %d", w.name(), entries-1, what(), p.Ordinal, x.id)}
		case !seen[n].CheckedAdd(p.Ordinal):
			return &CorruptError{File: g.Path, Reason: fmt.Sprintf("%s: entry %d (%s) is the second of row %d of fragment %d", w.name(), entries-1, what(), p.Ordinal, x.id)}
		}
		return nil
	}
	err = r.each(func(e *segment.PrimaryEntry) error {
		return check(e.Place, primarySum(e.Rowid, e.Offset, e.Size), func() string { return fmt.Sprintf("row id %d", e.Rowid) })
	}, func(e *segment.SecondaryEntry) error {
		return check(e.Place, secondarySum([]byte(e.Key), e.Null), func() string { return fmt.Sprintf("key %x", e.Key) })
	})
	if err == nil && int64(entries) != g.Entries {
		err = &CorruptError{File: g.Path, Reason: fmt.Sprintf("%d entries, the catalog says %d", entries, g.Entries)}
	}
	return err
}

// positions checks what the indexes are said to have caught up with.
func (k *segmentChecker) positions() error {
	compacted := map[int64]int64{}
	for _, g := range k.state.Compacted {
		compacted[g.ShardID] = g.Generation
	}
	position := map[[2]int64]int64{}
	covered := map[int64]*roaring64.Bitmap{}
	for _, p := range k.state.CaughtUp {
		if p.Generation > compacted[p.ShardID] {
			k.report(Finding{Damage, catalog.FileName, 0, fmt.Sprintf("index %d has caught up with generation %d of shard %d, of which %d is compacted",
				p.IndexID, p.Generation, p.ShardID, compacted[p.ShardID])})
			return nil
		}
		position[[2]int64{p.IndexID, p.ShardID}] = p.Generation
		covered[p.IndexID] = roaring64.New()
	}
	for _, g := range k.state.Segments {
		if b := covered[g.IndexID]; b != nil {
			b.Or(g.Fragments)
		}
	}
	// The newest retained generation that has a row says which index holds the newest
	// version of it that was compacted.
	type newest struct {
		shard, generation int64
		path              string
	}
	last := map[rowName]newest{}
	for _, g := range k.retained {
		if g.Generation > compacted[g.ShardID] {
			k.report(Finding{Damage, catalog.FileName, 0, fmt.Sprintf("%s is retained as compacted, generation %d of shard %d of which %d is", g.Path, g.Generation, g.ShardID, compacted[g.ShardID])})
			return nil
		}
		err := k.records(&g, func(name rowName) { last[name] = newest{g.ShardID, g.Generation, g.Path} })
		if err != nil {
			return k.found(err)
		}
	}
	k.places = make(map[rowName]int, len(last))
	for name := range last {
		k.places[name] = -1
	}
	if err := k.rows(nil); err != nil {
		return k.found(err)
	}
	for name, of := range last {
		n := k.places[name]
		if n < 0 {
			continue // it was deleted, or its table dropped
		}
		for id, b := range covered {
			w := k.indexes[id]
			if w == nil || w.def.ID != name.table || of.generation > position[[2]int64{id, of.shard}] {
				continue
			}
			if !b.Contains(uint64(k.fragments[n].id)) {
				k.report(Finding{Damage, of.path, 0, fmt.Sprintf("%s has caught up with generation %d of shard %d, and does not cover fragment %d, where row %d of it is",
					w.name(), of.generation, of.shard, k.fragments[n].id, name.rowid)})
				return nil
			}
		}
	}
	k.places = nil
	return nil
}

// records reads the rows that a generation has records of.
func (k *segmentChecker) records(c *catalog.Generation, row func(rowName)) error {
	g := newGeneration(*c)
	err := k.s.open(g, k.s.fs.OpenRead)
	if g.file != nil {
		defer func() { _ = g.file.Close() }() // it was only read
	}
	if err != nil {
		return err
	}
	sc := wal.NewScanner(g.file, g.start, g.allocated, g.salt)
	for n := 1; ; n++ {
		if n%baseFlush == 0 {
			if err := k.ended(); err != nil {
				return err
			}
		}
		fr, ok := sc.Next()
		if !ok {
			if stop := sc.Stop(); !stop.Clean() {
				return corruptOrRead(g.path, stop)
			}
			return nil
		}
		if !slices.Contains([]wal.Kind{wal.KindPut, wal.KindDelta, wal.KindTombstone}, fr.Kind) {
			continue
		}
		ids, err := wal.CutRow(fr)
		if err != nil {
			return corruptIn(g.path, fr.Offset, err)
		}
		row(rowName{TableID(ids.Table), ids.Rowid})
	}
}
