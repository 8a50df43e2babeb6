package catalog

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// TestSealSegment: a segment is sealed once, under a root, over fragments of its table.
func TestSealSegment(t *testing.T) {
	ctx := t.Context()
	l := indexedStore(t, Creation{}, 2)
	job := l.segmentJob()
	reserve := func() int64 {
		r, err := l.c.ReserveSegment(ctx, job.ID)
		if err != nil {
			t.Fatal(err)
		}
		return r.ObjectID
	}
	seal := SegmentSeal{ObjectID: reserve(), Extent: 512, IndexRef: refI, Fragments: setOf(l.fragmentsOf(tableA)...), Entries: 7}
	for name, x := range map[string]struct {
		code   Code
		change func(s *SegmentSeal)
	}{
		"no object":                 {CodeUnknown, func(s *SegmentSeal) { s.ObjectID = 4711 }},
		"a base object":             {CodeIndex, func(s *SegmentSeal) { s.ObjectID = l.stateNow().Base[0].ObjectID }},
		"no fragments":              {CodeIndex, func(s *SegmentSeal) { s.Fragments = nil }},
		"fragment of another table": {CodeIndex, func(s *SegmentSeal) { s.Fragments = setOf(l.fragmentsOf(tableB)...) }},
		"fragment that is not":      {CodeIndex, func(s *SegmentSeal) { s.Fragments = setOf(4711) }},
		"no table":                  {CodeRange, func(s *SegmentSeal) { s.TableID = 0 }},
	} {
		s := seal
		x.change(&s)
		if err := l.c.SealSegment(ctx, s); !errors.Is(err, x.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 2 { // again with the same values changes nothing
		if err := l.c.SealSegment(ctx, seal); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(s *SegmentSeal){
		"extent":    func(s *SegmentSeal) { s.Extent++ },
		"content":   func(s *SegmentSeal) { s.ContentID[0]++ },
		"digest":    func(s *SegmentSeal) { s.Digest[0]++ },
		"index":     func(s *SegmentSeal) { s.IndexID++ },
		"entries":   func(s *SegmentSeal) { s.Entries++ },
		"fragments": func(s *SegmentSeal) { s.Fragments = roaring64.New() },
	} {
		s := seal
		change(&s)
		if err := l.c.SealSegment(ctx, s); !errors.Is(err, CodeImmutable) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	late := seal
	late.ObjectID = reserve()
	if err := l.c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.c.SealSegment(ctx, late); !errors.Is(err, CodeAcquire) {
		t.Error(err)
	}
}

// TestLiveRows: what an entry says of its fragments fits them, and has one spelling.
func TestLiveRows(t *testing.T) {
	for name, x := range map[string]struct {
		live    FragmentState
		deleted *roaring.Bitmap
		want    Code
	}{
		"all":           {FragmentState{7, emptySum}, nil, ""},
		"unknown sum":   {FragmentState{7, nil}, nil, ""},
		"one deleted":   {FragmentState{6, emptySum}, roaring.BitmapOf(6), ""},
		"beyond":        {FragmentState{6, emptySum}, roaring.BitmapOf(7), CodeFragment},
		"too many live": {FragmentState{7, emptySum}, roaring.BitmapOf(6), CodeFragment},
		"short sum":     {FragmentState{7, []byte{1}}, nil, CodeEncoding},
	} {
		if err := checkLive(1, 0, 7, x.live, x.deleted); (x.want == "") != (err == nil) || x.want != "" && !errors.Is(err, x.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := encodeDeleted(roaring.BitmapOf(3))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := decodeDeleted(text); err != nil || !b.Equals(roaring.BitmapOf(3)) {
		t.Error(b, err)
	}
	none, err := roaring.New().ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{{}, text[:len(text)-1], append(bytes.Clone(text), 0), none} {
		if b, err := decodeDeleted(bad); err == nil {
			t.Errorf("%x is %v", bad, b)
		}
	}
	f := BaseFile{Fragments: make([]Fragment, 2), Deleted: make([]*roaring.Bitmap, 2), Live: make([]FragmentState, 2)}
	if err := f.fill(&entryRow{live: make([]liveRow, 1)}); !errors.Is(err, CodeCorrupt) {
		t.Error(err)
	}
}

// TestReadBaseEntries reads the base from manifests in which it ends before, at and
// behind the end of a chunk.
func TestReadBaseEntries(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{1, chunkEntries - 1, chunkEntries, chunkEntries + 2} {
		c, _ := newStore(t, Creation{})
		l := newLog(t, c)
		l.publish(l.rotateMany(3)...)
		b := l.compact(2, n)
		l.live(&b)
		b.base.Steps = l.steps(2)
		head := l.publishBase(l.stateNow().Timeline, b)
		all, err := readEntries(ctx, c.reads, c.identity(), head.RepresentationID, 0)
		if err != nil {
			t.Fatal(err)
		}
		bases, err := readBaseEntries(ctx, c.reads, c.identity(), head.RepresentationID)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) != n+3 || len(bases) != n || !slices.EqualFunc(bases, all[:n], func(a, b entryRow) bool { return a.equal(&b) }) {
			t.Errorf("%d entries of %d, want %d", len(bases), len(all), n)
		}
	}
}

// TestProgressAlone: states that differ in progress only, in a position or in what a
// segment stands for are two.
func TestProgressAlone(t *testing.T) {
	s := IndexState{Segments: []Segment{{ObjectID: 9, Fragments: setOf(5)}}, Compacted: []ShardGeneration{{1, 2}}, CaughtUp: []IndexPosition{{40, 1, 2}}}
	same := IndexState{ID: 7, Segments: []Segment{{ObjectID: 9, Fragments: setOf(5)}}, Compacted: slices.Clone(s.Compacted), CaughtUp: slices.Clone(s.CaughtUp)}
	further, behind, fewer := same, same, same
	fewer.Segments = []Segment{{ObjectID: 9, Fragments: setOf()}}
	further.Compacted = []ShardGeneration{{1, 3}}
	behind.CaughtUp = []IndexPosition{{40, 1, 1}}
	if !s.equal(&same) || s.equal(&further) || s.equal(&behind) || s.equal(&fewer) {
		t.Error("states are compared by something else than what they say")
	}
}

// TestDroppedTables: the indexes of a table that is gone leave the state with it, and
// it holds no generation; neither does a volatile one.
func TestDroppedTables(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	job := l.segmentJob()
	u := l.covering(job, allIndexes...)
	u.Retire = false
	l.mustInstall(l.indexes(u))
	l.schema.Tables[0].Until, l.schema.SchemaVersion = 4, 4
	if err := l.c.ProjectSchema(t.Context(), l.schema); err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotateMany(1)...)
	for _, x := range l.stateNow().IndexState.Segments {
		if x.TableID == tableA {
			t.Errorf("segment %d of index %d is still there", x.ObjectID, x.IndexID)
		}
	}
	a := l.mustInstall(l.indexes(&IndexUpdate{Relied: []IndexRef{refB}, Retire: true}))
	if len(a.Retired) != 2 {
		t.Errorf("retired %v", a.Retired)
	}
}
