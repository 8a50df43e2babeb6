package catalog

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// TestIndexLifecycle goes through the whole protocol: a base retains what it contains,
// segments over it earn positions, the generations are retired in the same transaction
// and collected; then once more with a base that keeps files of the first one.
func TestIndexLifecycle(t *testing.T) {
	ctx := t.Context()
	l := indexedStore(t, Creation{}, 3)
	s := l.stateNow()
	shard := s.Shards[0].ID
	if len(s.Retained) != 3 || len(s.Base) != 1 || s.BaseLSN != 3 || fmt.Sprint(s.IndexState.Compacted) != fmt.Sprint([]ShardGeneration{{shard, 3}}) || len(s.IndexState.CaughtUp) != 0 {
		t.Fatalf("after the base: %+v", s)
	}
	for _, g := range s.Generations {
		if g.InHead {
			t.Errorf("generation %d is to be read", g.Generation)
		}
	}
	if n := collectAll(t, l.c); n != 0 {
		t.Errorf("%d objects are garbage", n)
	}
	job := l.segmentJob()
	// The primary alone: the table's other index holds them.
	a := l.mustInstall(l.indexes(l.covering(job, refA)))
	if len(a.Retired) != 0 || l.position(tableA) != 3 || l.position(indexA) != 0 {
		t.Fatalf("retired %v, positions %v", a.Retired, l.stateNow().IndexState.CaughtUp)
	}
	a = l.mustInstall(l.indexes(l.covering(job, refI)))
	// Table b has no records in them, so nobody waits for its index.
	if len(a.Retired) != 3 || len(a.Lost) != 0 || len(l.stateNow().Retained) != 0 || l.position(tableB) != 0 {
		t.Fatalf("retired %v", a.Retired)
	}
	if err := l.c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	l.sound()
	if n := collectAll(t, l.c); n != 3 {
		t.Errorf("%d objects are garbage", n)
	}

	l.publish(l.rotateMany(2)...)
	if p := l.position(indexA); p != 3 {
		t.Errorf("position %d", p)
	}
	l.publishBase(l.stateNow().Timeline, l.increment(5, 1))
	s = l.stateNow()
	if len(s.Base) != 2 || s.BaseLSN != 5 || s.Base[1].LSN != 3 || s.Base[1].Deleted[1].GetCardinality() != 1 || s.Base[1].Live[1].Rows != 6 || len(s.Retained) != 2 {
		t.Fatalf("incremental base: %+v", s)
	}
	if l.position(indexA) != 3 || l.position(tableA) != 3 {
		t.Errorf("positions %v", s.IndexState.CaughtUp)
	}
	job = l.segmentJob()
	u := &IndexUpdate{Relied: allIndexes, Retire: true}
	for _, ref := range allIndexes {
		var list []SegmentRef
		covered := roaring64.New()
		for _, x := range s.IndexState.Segments {
			if x.IndexRef == ref {
				list = append(list, SegmentRef{x.ObjectID, x.Fragments})
				covered.Or(x.Fragments)
			}
		}
		var more []uint64
		for _, id := range l.fragmentsOf(ref.TableID) {
			if !covered.Contains(id) {
				more = append(more, id)
			}
		}
		u.Indexes = append(u.Indexes, IndexSegments{ref, append(list, l.segment(job, ref, more...))})
	}
	a = l.mustInstall(l.indexes(u))
	if len(a.Retired) != 2 || l.position(indexA) != 5 || l.position(tableB) != 5 || len(a.Lost) != 0 {
		t.Errorf("retired %v, positions %v", a.Retired, l.stateNow().IndexState.CaughtUp)
	}
	if err := l.c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	l.sound()
	collectAll(t, l.c)
	// A reopened store has the same.
	before := l.stateNow()
	l.reopen()
	if now := l.stateNow(); fmt.Sprintf("%+v", now.IndexState.CaughtUp) != fmt.Sprintf("%+v", before.IndexState.CaughtUp) || len(now.IndexState.Segments) != len(before.IndexState.Segments) {
		t.Errorf("%+v", now.IndexState)
	}
}

// TestNothingToPublish: an update that changes nothing writes nothing; one that only
// records what is proven does (B2, B3).
func TestNothingToPublish(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	job := l.segmentJob()
	u := l.covering(job, allIndexes...)
	u.Retire = false
	l.mustInstall(l.indexes(u))
	// The same again: nothing.
	before := l.stateNow()
	if _, err := l.install(l.indexes(u)); !errors.Is(err, ErrNothing) {
		t.Fatal(err)
	}
	if _, err := l.install(l.indexes(&IndexUpdate{Relied: allIndexes})); !errors.Is(err, ErrNothing) {
		t.Fatal(err)
	}
	if now := l.stateNow(); now.Timeline.Revision != before.Timeline.Revision || now.IndexState.ID != before.IndexState.ID {
		t.Errorf("%+v", now.Timeline)
	}
	// A base that adds no fragment of a: what its index spans is proven by the next one.
	l.publish(l.rotateMany(1)...)
	l.publishBase(l.stateNow().Timeline, l.increment(3, 1))
	if l.position(tableA) != 2 {
		t.Error(l.position(tableA))
	}
	// Retiring alone is something, too.
	if a := l.mustInstall(l.indexes(&IndexUpdate{Relied: allIndexes, Retire: true})); len(a.Retired) != 2 {
		t.Errorf("%+v", a.Retired)
	}
	if _, err := l.install(l.indexes(&IndexUpdate{Relied: allIndexes, Retire: true})); !errors.Is(err, ErrNothing) {
		t.Fatal(err)
	}
}

// TestHeld: what a root reads stays, and so does a generation of which nothing is known
// until every index has caught up.
func TestHeld(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	held := l.stateNow().Retained[0]
	job := l.segmentJob()
	u := l.covering(job, refA, refI)
	u.Held = []int64{held.ObjectID}
	a := l.mustInstall(l.indexes(u))
	if len(a.Retired) != 1 || a.Retired[0].ObjectID == held.ObjectID {
		t.Errorf("retired %+v", a.Retired)
	}
	a = l.mustInstall(l.indexes(&IndexUpdate{Relied: allIndexes, Retire: true}))
	if len(a.Retired) != 1 || a.Retired[0].ObjectID != held.ObjectID {
		t.Errorf("retired %+v", a.Retired)
	}

	l.tables = nil // as an older program sealed
	l.publish(l.rotateMany(1)...)
	l.publishBase(l.stateNow().Timeline, l.first(3, 1))
	a = l.mustInstall(l.indexes(l.covering(job, refA, refI)))
	if len(a.Retired) != 0 {
		t.Errorf("retired %+v", a.Retired)
	}
	// A primary that the caller forgets does not make its table one without indexes.
	u = &IndexUpdate{Relied: []IndexRef{refA, refI}, Retire: true}
	if _, err := l.install(l.indexes(u)); !errors.Is(err, ErrNothing) {
		t.Error(err)
	}
	a = l.mustInstall(l.indexes(l.covering(job, refB)))
	if len(a.Retired) != 1 {
		t.Errorf("retired %+v", a.Retired)
	}
}

// TestReadRepresentation: what is proven is proven of what was read, whatever landed
// meanwhile (B5, R8).
func TestReadRepresentation(t *testing.T) {
	ctx := t.Context()
	l := indexedStore(t, Creation{}, 2)
	read := l.stateNow().Timeline.RepresentationID
	job := l.segmentJob()
	if err := l.c.RetainForJob(ctx, job.ID, []int64{read}); err != nil {
		t.Fatal(err)
	}
	u := l.covering(job, allIndexes...)
	u.ReadRepresentation = read
	l.publish(l.rotateMany(1)...)
	l.publishBase(l.stateNow().Timeline, l.increment(3, 1))
	a := l.mustInstall(l.indexes(u))
	if l.position(tableA) != 2 || len(a.Retired) != 2 {
		t.Errorf("position %d, retired %v", l.position(tableA), a.Retired)
	}
	// Nothing is proven of what is gone.
	again := l.covering(job, refA)
	again.ReadRepresentation = read
	if err := l.c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	job = l.segmentJob()
	again.Indexes = l.covering(job, refA).Indexes
	a = l.mustInstall(l.indexes(again))
	if l.position(tableA) != 0 || fmt.Sprint(a.Lost) != fmt.Sprint([]IndexPosition{{tableA, l.stateNow().Shards[0].ID, 2}}) {
		t.Errorf("position %d, lost %v", l.position(tableA), a.Lost)
	}
}

// TestWithdrawal: an index keeps its position only as it is (R9, R12): fewer fragments,
// a dropped index and another segment end it.
func TestWithdrawal(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	job := l.segmentJob()
	l.mustInstall(l.indexes(l.covering(job, allIndexes...)))
	l.publish(l.rotateMany(1)...)
	l.publishBase(l.stateNow().Timeline, l.increment(3, 1))
	s := l.stateNow()
	i := slices.IndexFunc(s.IndexState.Segments, func(x Segment) bool { return x.IndexID == indexA })
	narrow := SegmentRef{s.IndexState.Segments[i].ObjectID, roaring64.New()}
	a := l.mustInstall(l.indexes(&IndexUpdate{Relied: allIndexes, Indexes: []IndexSegments{{refI, []SegmentRef{narrow}}}}))
	if l.position(indexA) != 0 || len(a.Lost) != 1 || l.position(tableA) != 2 {
		t.Errorf("position %d, lost %v", l.position(indexA), a.Lost)
	}
	// Dropped from the schema: the next publication of generations leaves it out.
	l.schema.Indexes[0].Until = 4
	l.schema.SchemaVersion = 4
	l.publish(l.rotateMany(1)...)
	if slices.ContainsFunc(l.stateNow().IndexState.Segments, func(x Segment) bool { return x.IndexID == indexA }) {
		t.Error("the dropped index is still there")
	}
	// And from the list.
	a = l.mustInstall(l.indexes(&IndexUpdate{Relied: []IndexRef{refB}}))
	if l.position(tableA) != 0 || l.position(tableB) != 2 || len(a.Lost) != 1 {
		t.Errorf("lost %v", a.Lost)
	}
	l.sound()
}

// TestIndexRefusals: what is refused publishes nothing.
func TestIndexRefusals(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	job := l.segmentJob()
	ref := l.segment(job, refA, l.fragmentsOf(tableA)...)
	other := l.segment(job, refA, l.fragmentsOf(tableA)...)
	before := l.stateNow()
	for name, x := range map[string]struct {
		code Code
		u    *IndexUpdate
	}{
		"index relied on twice":    {CodeIndex, &IndexUpdate{Relied: []IndexRef{refA, refA}}},
		"segments not relied on":   {CodeIndex, &IndexUpdate{Relied: []IndexRef{refB}, Indexes: []IndexSegments{{refA, []SegmentRef{ref}}}}},
		"two lists":                {CodeIndex, &IndexUpdate{Relied: allIndexes, Indexes: []IndexSegments{{refA, []SegmentRef{ref}}, {refA, nil}}}},
		"segment of another index": {CodeIndex, &IndexUpdate{Relied: allIndexes, Indexes: []IndexSegments{{refI, []SegmentRef{ref}}}}},
		"no segment":               {CodeIndex, &IndexUpdate{Relied: allIndexes, Indexes: []IndexSegments{{refA, []SegmentRef{{before.Base[0].ObjectID, nil}}}}}},
		"segment twice":            {CodeIndex, &IndexUpdate{Relied: allIndexes, Indexes: []IndexSegments{{refA, []SegmentRef{{ref.ObjectID, roaring64.New()}, ref}}}}},
		"overlapping segments":     {CodeIndex, &IndexUpdate{Relied: allIndexes, Indexes: []IndexSegments{{refA, []SegmentRef{ref, other}}}}},
		"more fragments than of the seal": {CodeIndex, &IndexUpdate{Relied: allIndexes,
			Indexes: []IndexSegments{{refA, []SegmentRef{{ref.ObjectID, roaring64.BitmapOf(append(l.fragmentsOf(tableA), 4711)...)}}}}}},
		"bad id": {CodeRange, &IndexUpdate{Relied: []IndexRef{{0, 1}}}},
	} {
		if _, err := l.install(l.indexes(x.u)); !errors.Is(err, x.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := l.indexes(&IndexUpdate{Relied: allIndexes})
	p.Base = &Base{LSN: 2}
	if _, err := l.install(p); !errors.Is(err, CodeIndex) {
		t.Error(err)
	}
	// A segment that nothing roots any more.
	if err := l.c.EndJob(t.Context(), job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := l.install(l.indexes(&IndexUpdate{Relied: allIndexes, Indexes: []IndexSegments{{refA, []SegmentRef{ref}}}})); !errors.Is(err, CodeIndex) {
		t.Error(err)
	}
	if now := l.stateNow(); now.Timeline.Revision != before.Timeline.Revision || now.IndexState.ID != before.IndexState.ID {
		t.Errorf("%+v", now.Timeline)
	}
}
