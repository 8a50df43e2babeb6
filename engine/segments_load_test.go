package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// segmentSpecimen is a store with tables of both kinds and indexes, rows in several
// files of a base and some behind it, and index segments that were written by hand.
type segmentSpecimen struct {
	*specimen
	whole *Snapshot // without segments
	next  int64     // id of the next segment
}

func newSegmentSpecimen(t *testing.T, changes bool) *segmentSpecimen {
	t.Helper()
	r := newCrashRun(t, vfs.NewMem(), 2<<10, 1)
	s := r.open(t)
	rng := rand.New(rand.NewPCG(7, 7))
	commit := func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }
	commit(all(createKeys("k", 3), createTableAs("a", ResidentAll), createKeys("empty", 2), createTableAs("other", ResidentKeys)))
	fill := func(n int) {
		for range n {
			id := rng.Int64N(300) - 100
			var unique any = 1000*id + rng.Int64N(3)
			if id%5 == 0 {
				unique = nil
			}
			commit(all(put("k", id, unique, fmt.Sprint("x", rng.IntN(9)), strings.Repeat("y", rng.IntN(40))), put("a", id, id, fmt.Sprint(rng.IntN(20))), put("other", id, 1, "same")))
		}
	}
	fill(150)
	must(t, s.Compact(t.Context(), nil))
	if changes {
		fill(60)
		gone := 0
		for id := int64(-100); id < 200 && gone < 20; id += 3 {
			if _, found, _ := tableOf(s, "k").Get(id); found {
				commit(remove("k", id))
				gone++
			}
		}
		commit(func(tx *Tx) error {
			return tx.Apply(CreateIndex{Table: tx.Schema().Lookup("a").Table.ID, Index: testIndex("late", false, 0)})
		})
	}
	quiet(t, s)
	sp := &specimen{states: r.states, last: s.Durable().LSN(), id: s.id, closed: true}
	var err error
	sp.state, err = s.cat.State(context.Background())
	must(t, err)
	sp.state.IndexState.Segments = nil // tests write their own
	must(t, s.Close())
	sp.mem = cloneMem(t, r.mem)
	x := &segmentSpecimen{specimen: sp, next: 1 << 40}
	x.whole, err = sp.scan()
	must(t, err)
	verifyRoot(t, (*root)(x.whole))
	return x
}

// placed is a row of a base file.
type placed struct {
	wal.Put
	segment.Merged
}

func (x *segmentSpecimen) placed(t *testing.T, b *catalog.BaseFile) (rows []placed) {
	t.Helper()
	file, err := x.mem.OpenRead(b.Path)
	must(t, err)
	defer func() { must(t, file.Close()) }()
	h, start, err := wal.ReadHeader(file, b.ByteExtent)
	must(t, err)
	sc := wal.NewScanner(file, start, b.ByteExtent, h.Salt)
	at, ordinal := -1, uint32(0)
	for fr, ok := sc.Next(); ok; fr, ok = sc.Next() {
		if fr.Kind != wal.KindPut {
			continue
		}
		m, err := wal.DecodePut(fr)
		must(t, err)
		m.Rec = row.Record(strings.Clone(string(m.Rec)))
		if k := fragmentOf(b, TableID(m.Table)); k != at {
			at, ordinal = k, 0
		}
		rows = append(rows, placed{m, segment.Merged{Rowid: m.Rowid, Fragment: uint64(b.FragmentIDs[at]), Ordinal: ordinal, Offset: fr.Offset, Size: uint32(fr.End() - fr.Offset)}})
		ordinal++
	}
	return rows
}

// write writes a segment over some files of the base and adds it to the state.
func (x *segmentSpecimen) write(t *testing.T, def *TableDef, ix *IndexDef, files ...int) *catalog.Segment {
	t.Helper()
	x.next++
	g := catalog.Segment{ObjectID: x.next, Path: catalog.ObjectPath(x.next, catalog.KindIndex), Fragments: roaring64.New(),
		IndexRef: catalog.IndexRef{IndexID: int64(def.ID), TableID: int64(def.ID)}}
	h := segment.Header{Store: x.id, Object: uint64(x.next), Kind: segment.Primary, Table: uint64(def.ID), Index: uint64(def.ID)}
	if ix != nil {
		h.Kind, h.Index, g.IndexID = segment.Secondary, ix.ID, int64(ix.ID)
	}
	var rows []placed
	for _, i := range files {
		b := &x.state.Base[i]
		if at := fragmentOf(b, def.ID); at >= 0 {
			g.Fragments.Add(uint64(b.FragmentIDs[at]))
		}
		for _, p := range x.placed(t, b) {
			if TableID(p.Table) == def.ID {
				rows = append(rows, p)
			}
		}
	}
	h.Fragments = g.Fragments.ToArray()
	if len(h.Fragments) == 0 {
		return nil
	}
	must(t, x.mem.Mkdir(g.Path[:len("objects/00")]))
	must(t, x.mem.Mkdir(g.Path[:len("objects/00/00")]))
	f, err := x.mem.Create(g.Path)
	must(t, err)
	w, err := segment.NewWriter(f, h)
	must(t, err)
	at := func(p placed) segment.Place {
		return segment.Place{Fragment: uint32(slices.Index(h.Fragments, p.Fragment)), Ordinal: p.Ordinal}
	}
	if ix == nil {
		slices.SortFunc(rows, func(a, b placed) int { return int(a.Merged.Rowid - b.Merged.Rowid) })
		for _, p := range rows {
			must(t, w.AddPrimary(segment.PrimaryEntry{Rowid: p.Merged.Rowid, Place: at(p), Offset: p.Offset, Size: p.Size}))
		}
	} else {
		keys := keyMaker{def: def}
		for i := range rows {
			var key []byte
			key, rows[i].Null = keys.append(nil, ix, rows[i].Rec, rows[i].Merged.Rowid)
			rows[i].Key = string(key)
		}
		slices.SortFunc(rows, func(a, b placed) int { return strings.Compare(a.Key, b.Key) })
		for _, p := range rows {
			must(t, w.AddSecondary([]byte(p.Key), at(p), p.Null))
		}
	}
	sum, err := w.Finish()
	must(t, err)
	must(t, f.Close())
	g.Extent, g.Entries, g.Digest = sum.Extent, sum.Entries, sum.Digest
	x.state.IndexState.Segments = append(x.state.IndexState.Segments, g)
	return &x.state.IndexState.Segments[len(x.state.IndexState.Segments)-1]
}

// writeAll writes segments of all indexes of all tables, each over all files in two
// parts, but for those that skip says.
func (x *segmentSpecimen) writeAll(t *testing.T, skip func(table string, index, part int) bool) {
	t.Helper()
	files := make([]int, len(x.state.Base))
	for i := range files {
		files[i] = i
	}
	parts := [2][]int{files[:len(files)/2], files[len(files)/2:]}
	for _, def := range x.whole.Schema().Tables() {
		for n := -1; n < len(def.Indexes); n++ {
			var ix *IndexDef
			if n >= 0 {
				if ix = def.Indexes[n]; ix.Name == "late" {
					continue
				}
			}
			for part, list := range parts {
				if skip == nil || !skip(def.Name, n, part) {
					x.write(t, def, ix, list...)
				}
			}
		}
	}
}

func (x *segmentSpecimen) wantSame(t *testing.T, what string) {
	t.Helper()
	snap, err := x.scan()
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	verifyRoot(t, (*root)(snap))
	if a, b := dump(snap), dump(x.whole); a != b || snap.LSN() != x.whole.LSN() {
		t.Errorf("%s:\n%s\nwant:\n%s", what, a, b)
	}
	for i, table := range snap.tables {
		if table.sum != x.whole.tables[i].sum {
			t.Errorf("%s: table %q adds up to %x, want %x", what, table.def.Name, table.sum, x.whole.tables[i].sum)
		}
		if d := table.live - x.whole.tables[i].live; d < 0 || d > int64(8*table.Len()) {
			t.Errorf("%s: table %q has %d live bytes, want %d", what, table.def.Name, table.live, x.whole.tables[i].live)
		}
	}
}

// What is loaded with segments is what the rows alone give, whichever segments there are
// and whatever was changed since.
func TestSegmentsLoad(t *testing.T) {
	for _, changes := range []bool{false, true} {
		x := newSegmentSpecimen(t, changes)
		if len(x.state.Base) < 4 {
			t.Fatalf("%d files", len(x.state.Base))
		}
		for what, skip := range map[string]func(table string, index, part int) bool{
			"all":                       nil,
			"no primary":                func(_ string, index, _ int) bool { return index < 0 },
			"half of the primary":       func(_ string, index, part int) bool { return index < 0 && part == 0 },
			"one index of two":          func(_ string, index, _ int) bool { return index == 1 },
			"half of an index":          func(_ string, index, part int) bool { return index == 0 && part == 1 },
			"half of another index":     func(_ string, index, part int) bool { return index == 1 && part == 0 },
			"the primary alone":         func(_ string, index, _ int) bool { return index >= 0 },
			"half of all":               func(_ string, _, part int) bool { return part == 0 },
			"some of each":              func(table string, index, part int) bool { return (len(table)+index+part)%2 == 0 },
			"those of one table":        func(table string, _, _ int) bool { return table != "k" },
			"segments of other tables":  func(table string, _, _ int) bool { return table == "k" },
			"none of what is not there": func(string, int, int) bool { return true },
		} {
			x.state.IndexState.Segments = nil
			x.writeAll(t, skip)
			x.wantSame(t, what)
		}
	}
}

// Rows that were superseded are in segments still, and in no index.
func TestSegmentsLoadDeleted(t *testing.T) {
	x := newSegmentSpecimen(t, false)
	x.writeAll(t, nil)
	gone, sum := supersede(t, x.mem, x.state.Base, defsOf(x.whole))
	lost := 0
	for _, ids := range gone {
		lost += len(ids)
	}
	x.state.Timeline.LiveCount -= int64(lost)
	x.state.Timeline.Fingerprint = sumBytes(sumOf(x.state.Timeline.Fingerprint).Sub(sum))
	list := x.state.IndexState.Segments
	x.state.IndexState.Segments = nil
	var err error
	x.whole, err = x.scan()
	must(t, err)
	x.state.IndexState.Segments = list
	x.wantSame(t, "superseded rows")
	x.state.IndexState.Segments = nil
	x.writeAll(t, func(_ string, index, part int) bool { return index == 0 && part == 1 })
	x.wantSame(t, "superseded rows, half of an index")
}

// With segments, no row of a keys table is read that did not change since.
func TestSegmentsLoadReadsNoRows(t *testing.T) {
	x := newSegmentSpecimen(t, false)
	x.writeAll(t, nil)
	keys := map[string][][2]int64{}
	for i := range x.state.Base {
		b := &x.state.Base[i]
		for _, p := range x.placed(t, b) {
			if x.whole.Table(TableID(p.Table)).src != nil {
				keys[b.Path] = append(keys[b.Path], [2]int64{p.Offset, p.Offset + int64(p.Size)})
			}
		}
	}
	if len(keys) < 2 {
		t.Fatalf("rows in %d files", len(keys))
	}
	// What is damaged in a row tells, if it is read.
	damaged := 0
	for path, rows := range keys {
		file, err := x.mem.Open(path)
		must(t, err)
		for _, r := range rows {
			_, err := file.WriteAt([]byte{0xff}, r[1]-9)
			must(t, err)
			damaged++
		}
		must(t, file.Close())
	}
	if _, err := x.scan(); err != nil {
		t.Errorf("%d rows damaged: %v", damaged, err)
	}
	x.state.IndexState.Segments = nil
	var bad *CorruptError
	if _, err := x.scan(); !errors.As(err, &bad) {
		t.Errorf("without segments: %v", err)
	}
}

// A segment that is missing, damaged or of something else makes an open slower and
// nothing else.
func TestSegmentsLoadDamaged(t *testing.T) {
	x := newSegmentSpecimen(t, true)
	x.writeAll(t, nil)
	list := slices.Clone(x.state.IndexState.Segments)
	for i := range list {
		g := &list[i]
		data := readFile(t, x.mem, g.Path)
		restore := func() {
			file, err := x.mem.Open(g.Path)
			must(t, err)
			must(t, file.Truncate(int64(len(data))))
			_, err = file.WriteAt(data, 0)
			must(t, err)
			must(t, file.Close())
		}
		for _, off := range []int{0, 20, len(data) / 3, len(data) / 2, len(data) - 60, len(data) - 1} {
			file, err := x.mem.Open(g.Path)
			must(t, err)
			_, err = file.WriteAt([]byte{data[off] ^ 4}, int64(off))
			must(t, err)
			must(t, file.Close())
			x.wantSame(t, fmt.Sprintf("segment %d of table %d, index %d: a bit at %d of %d", i, g.TableID, g.IndexID, off, len(data)))
			restore()
		}
		file, err := x.mem.Open(g.Path)
		must(t, err)
		must(t, file.Truncate(int64(len(data)/2)))
		must(t, file.Close())
		x.wantSame(t, "half a file")
		restore()
		must(t, x.mem.Remove(g.Path))
		x.wantSame(t, "no file")
		file, err = x.mem.Create(g.Path)
		must(t, err)
		must(t, file.Close())
		restore()
		// Of other fragments than it says, or of the same as another one.
		for _, other := range list {
			if other.ObjectID != g.ObjectID && other.IndexID == g.IndexID {
				x.state.IndexState.Segments = slices.Clone(list)
				x.state.IndexState.Segments[i].Fragments = roaring64.Or(g.Fragments, other.Fragments)
				x.wantSame(t, "fragments of another segment")
				x.state.IndexState.Segments[i].Fragments = other.Fragments
				x.wantSame(t, "other fragments")
				x.state.IndexState.Segments = list
			}
		}
		if t.Failed() {
			return
		}
	}
	// A segment that lacks a row, or has it at another place.
	x.state.IndexState.Segments = nil
	for n, ix := range []*IndexDef{nil, x.whole.Schema().Lookup("k").Table.Indexes[0]} {
		def := x.whole.Schema().Lookup("k").Table
		x.state.IndexState.Segments = nil
		all := []int{}
		for i := range x.state.Base {
			all = append(all, i)
		}
		g := x.write(t, def, ix, all[1:]...)
		at := fragmentOf(&x.state.Base[0], def.ID)
		if at < 0 {
			t.Fatal("the first file has no row of the table")
		}
		g.Fragments.Add(uint64(x.state.Base[0].FragmentIDs[at]))
		x.wantSame(t, fmt.Sprint("rows missing ", n))
	}
}

// How much of a base is superseded is known although its rows were not read at the open:
// by that the next compaction finds the files that are not worth to be kept.
func TestSegmentsLoadKnowsGarbage(t *testing.T) {
	o := Options{Dir: tempDir(t), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Create: true, Events: nothingFails(t)}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 300, "k"))))
	must(t, s.Compact(t.Context(), nil))
	for round := range int64(4) {
		var steps []func(*Tx) error
		for id := range int64(300) {
			if id >= 100 && id < 200 && id%4 == round {
				steps = append(steps, put("k", id, id, "changed"))
			}
		}
		wait(t, s, update(t, s, all(steps...)))
		_, err := s.RunJob(t.Context(), JobRequest{Kind: JobCompact, auto: true})
		must(t, err)
		baseIsState(t, s, (*root)(s.Durable()))
		must(t, s.Close())
		s, err = Open(t.Context(), o)
		must(t, err)
		baseIsState(t, s, (*root)(s.Durable()))
		for _, f := range s.base {
			if all, live := f.sizes(); 2*live < all {
				t.Errorf("round %d: %s has %d bytes of rows, of which %d are not superseded, and was kept", round, f.path, all, live)
			}
		}
	}
	must(t, s.Close())
}

// Rows that do not fit the memory budget are not all loaded before that is found.
func TestSegmentsLoadBudget(t *testing.T) {
	x := newSegmentSpecimen(t, false)
	x.writeAll(t, nil)
	r := &recovery{replay: newReplay(emptyRoot(newObjects(x.mem)))}
	r.replay.begin(x.whole.Schema())
	r.replay.budget = 1
	l := &segmentLoads{ended: nil, room: r.replay.room}
	if err := l.may(0, 0); err != nil {
		t.Errorf("before there is a row: %v", err)
	}
	if err := l.may(1<<30, 1<<34); !errors.Is(err, ErrNoMemory) {
		t.Errorf("%v", err)
	}
	if r.replay.memory != 0 {
		t.Errorf("%d bytes are counted", r.replay.memory)
	}
	r.replay.budget = 0
	if err := l.may(1<<30, 1<<34); err != nil {
		t.Errorf("without a budget: %v", err)
	}
}
