package catchup

import (
	"cmp"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Read is the version that a commit read: how far it was compacted, and the
// fragments that were live in it, by table id.
type Read struct {
	Compacted Progress
	Fragments map[int64]*roaring64.Bitmap
}

// Derive returns the positions that a commit leaves. It runs once for a commit
// of whatever kind, when its segments and its progress are final, and has
// no way to fail.
//
// before and after are the segments of all indexes in the head and in the
// commit, tables says which table an index is of, prior are the positions of
// the head. committed is the progress of the commit, its own steps included;
// read is nil when it is not known what the commit read, which proves
// nothing.
//
// An index keeps its position while its segments are the same, and earns a new
// one by spanning its table as it was read: nothing says which fragments a
// generation went to, so that is the only proof there is. What was
// compacted since lies in fragments that the commit did not look at, and what
// the commit compacts itself lies in fragments that no segment has.
func Derive(before, after Segments, tables map[int64]int64, prior Positions, committed Progress, read *Read) Positions {
	credit := creditable(committed, read)
	derived := Positions{}
	for index, segments := range after {
		var kept, earned Progress
		if was, ok := before[index]; ok && unchanged(was, segments) {
			kept = prior[index]
		}
		if table, ok := tables[index]; ok && proven(segments, table, read) {
			earned = credit
		}
		if p := positions(kept, earned, committed); p != nil {
			derived[index] = p
		}
	}
	return derived
}

// positions are those of one index: the higher one of what it keeps and what it
// earns, but never beyond what is compacted. Only shards that were
// compacted have one; an index without any has no entry at all.
func positions(kept, earned, committed Progress) Progress {
	var p Progress
	for shard, compacted := range committed {
		generation := min(max(kept[shard], earned[shard]), compacted)
		if generation == 0 {
			continue
		}
		if p == nil {
			p = Progress{}
		}
		p[shard] = generation
	}
	return p
}

// creditable is what an index can earn that is proven: what the version that
// was read had compacted, as far as the commit has it, too.
func creditable(committed Progress, read *Read) Progress {
	if read == nil {
		return nil
	}
	credit := make(Progress, len(committed))
	for shard, compacted := range committed {
		credit[shard] = min(read.Compacted[shard], compacted)
	}
	return credit
}

// proven reports whether segments span a table as it was read. A table without
// a fragment proves nothing: everything would span it. Neither does an
// index of which one segment is unknown, whatever the others span.
func proven(segments []Segment, table int64, read *Read) bool {
	if read == nil || read.Fragments[table] == nil || read.Fragments[table].IsEmpty() {
		return false
	}
	missing := read.Fragments[table].Clone()
	for _, s := range segments {
		if s.Fragments == nil {
			return false
		}
		missing.AndNot(s.Fragments)
	}
	return missing.IsEmpty()
}

// unchanged reports whether two are the same segments over the same fragments,
// in whatever order. The objects alone do not say so: a segment can lose
// fragments where it is.
func unchanged(before, after []Segment) bool {
	if len(before) != len(after) {
		return false
	}
	byObject := func(a, b Segment) int { return cmp.Compare(a.Object, b.Object) }
	return slices.EqualFunc(slices.SortedFunc(slices.Values(before), byObject), slices.SortedFunc(slices.Values(after), byObject), same)
}

// same: fragments that are unknown are the same as unknown ones only.
func same(a, b Segment) bool {
	if a.Object != b.Object || (a.Fragments == nil) != (b.Fragments == nil) {
		return false
	}
	return a.Fragments == nil || a.Fragments.Equals(b.Fragments)
}

// WouldAdvance reports whether a commit that changes no segment would raise a
// position. head is the head's own progress and fragments: a job that finds
// nothing to build commits if it does, and nothing otherwise.
func WouldAdvance(segments Segments, tables map[int64]int64, prior Positions, head Read) bool {
	return exceeds(Derive(segments, segments, tables, prior, head.Compacted, &head), prior)
}
