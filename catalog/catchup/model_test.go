package catchup

import (
	"maps"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"pgregory.net/rapid"
)

// What a random commit is made of. Few of everything, so that they meet.
var (
	anyGeneration = rapid.Uint64Range(0, 4)
	anyProgress   = rapid.MapOfN(rapid.Int64Range(1, 3), anyGeneration, 0, 3)
	anyBitmap     = rapid.Custom(func(t *rapid.T) *roaring64.Bitmap {
		return set(rapid.SliceOfN(rapid.Uint64Range(0, 2), 0, 4).Draw(t, "fragments")...)
	})
	anySegment = rapid.Custom(func(t *rapid.T) Segment {
		s := Segment{Object: rapid.Int64Range(1, 3).Draw(t, "object")}
		if rapid.IntRange(0, 9).Draw(t, "known") > 0 {
			s.Fragments = anyBitmap.Draw(t, "bitmap")
		}
		return s
	})
	anySegments = rapid.Custom(func(t *rapid.T) []Segment {
		return rapid.SliceOfNDistinct(anySegment, 0, 3, func(s Segment) int64 { return s.Object }).Draw(t, "segments")
	})
	anyIndex     = rapid.SampledFrom([]int64{idx, slow, elsewhere})
	anyIndexes   = rapid.MapOfN(anyIndex, anySegments, 0, 3)
	anyPositions = rapid.MapOfN(anyIndex, rapid.MapOfN(rapid.Int64Range(1, 3), anyGeneration, 0, 3), 0, 3)
	anyFragments = rapid.MapOfN(rapid.SampledFrom([]int64{table, second}), anyBitmap, 0, 2)
)

// TestDeriveModel derives along random histories and compares each with the
// rules said one by one, for one fragment at a time.
func TestDeriveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := Segments(anyIndexes.Draw(t, "before"))
		prior := Positions(anyPositions.Draw(t, "prior"))
		for range rapid.IntRange(1, 4).Draw(t, "commits") {
			after := maps.Clone(before)
			for index, segments := range anyIndexes.Draw(t, "changed") {
				after[index] = segments
			}
			if rapid.Bool().Draw(t, "drops") {
				delete(after, anyIndex.Draw(t, "dropped"))
			}
			committed := Progress(anyProgress.Draw(t, "committed"))
			var version *Read
			if rapid.IntRange(0, 4).Draw(t, "is read") > 0 {
				version = &Read{anyProgress.Draw(t, "read"), anyFragments.Draw(t, "live")}
			}
			got := Derive(before, after, tableOf, prior, committed, version)
			for _, index := range []int64{idx, slow, elsewhere} {
				for s := int64(1); s <= 3; s++ {
					checkPosition(t, before, after, prior, committed, version, index, s, got[index][s])
				}
				if p, ok := got[index]; ok && !slices.ContainsFunc(slices.Collect(maps.Values(p)), func(g uint64) bool { return g > 0 }) {
					t.Fatalf("index %d has an entry without a position: %v", index, p)
				}
			}
			marks := Watermarks(committed, got, []int64{idx, slow})
			for s, mark := range marks {
				ok, _ := Retirable(s, mark, committed, got, []int64{idx, slow})
				next, _ := Retirable(s, mark+1, committed, got, []int64{idx, slow})
				if ok != (mark > 0) || next {
					t.Fatalf("shard %d: watermark %d, of which %v is retirable and %v beyond", s, mark, ok, next)
				}
			}
			before, prior = after, got
		}
	})
}

// checkPosition says what a position of one index and shard may be.
func checkPosition(t *rapid.T, before, after Segments, prior Positions, committed Progress, version *Read, index, s int64, got uint64) {
	was, existed := before[index]
	is, exists := after[index]
	same := existed && exists && len(was) == len(is)
	for _, a := range was {
		same = same && slices.ContainsFunc(is, func(b Segment) bool {
			return a.Object == b.Object && (a.Fragments == nil) == (b.Fragments == nil) && (a.Fragments == nil || a.Fragments.Equals(b.Fragments))
		})
	}
	spans := version != nil && version.Fragments[tableOf[index]] != nil && !version.Fragments[tableOf[index]].IsEmpty()
	for _, x := range is {
		spans = spans && x.Fragments != nil
	}
	if spans {
		for _, f := range version.Fragments[tableOf[index]].ToArray() {
			spans = spans && slices.ContainsFunc(is, func(x Segment) bool { return x.Fragments.Contains(f) })
		}
	}
	carried, credit := uint64(0), uint64(0)
	if same {
		carried = min(prior[index][s], committed[s])
	}
	if exists && spans {
		credit = min(version.Compacted[s], committed[s])
	}
	switch {
	case got > committed[s]:
		t.Fatalf("index %d of shard %d is at %d of %d compacted", index, s, got, committed[s])
	case same && got < carried:
		t.Fatalf("unchanged index %d of shard %d fell from %d to %d", index, s, carried, got)
	case !same && got > credit:
		t.Fatalf("changed index %d of shard %d is at %d, having earned %d", index, s, got, credit)
	case got != max(carried, credit):
		t.Fatalf("index %d of shard %d is at %d, want %d or %d", index, s, got, carried, credit)
	}
}
