package catalog

import (
	"errors"
	"fmt"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// TestRewrittenFragments: an index that covers a fragment whose rows a base writes
// elsewhere has not caught up any more, until it covers that, too (R19).
func TestRewrittenFragments(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	shard := l.stateNow().Shards[0].ID
	job := l.segmentJob()
	u := l.covering(job, allIndexes...)
	u.Held = []int64{l.stateNow().Retained[0].ObjectID, l.stateNow().Retained[1].ObjectID}
	l.mustInstall(l.indexes(u))
	read := l.stateNow().Timeline.RepresentationID
	if err := l.c.RetainForJob(t.Context(), job.ID, []int64{read}); err != nil {
		t.Fatal(err)
	}
	late := l.covering(job, allIndexes...)
	late.ReadRepresentation = read

	l.publish(l.rotateMany(1)...)
	whole := l.first(3, 1)
	a := l.mustInstall(whole.publication(l.stateNow().Timeline))
	// Table b had no rows in the old fragment, so none of them is elsewhere.
	if l.position(tableA) != 0 || l.position(indexA) != 0 || l.position(tableB) != 2 || len(l.stateNow().Retained) != 3 {
		t.Errorf("positions %v", l.stateNow().IndexState.CaughtUp)
	}
	if fmt.Sprint(a.Lost) != fmt.Sprint([]IndexPosition{{tableA, shard, 2}, {indexA, shard, 2}}) {
		t.Errorf("lost %v", a.Lost)
	}
	// What was read before it proves nothing: not even with other segments.
	a = l.mustInstall(l.indexes(late))
	if len(a.Retired) != 0 || len(l.stateNow().IndexState.CaughtUp) != 0 {
		t.Errorf("retired %v, positions %v", a.Retired, l.stateNow().IndexState.CaughtUp)
	}
	a = l.mustInstall(l.indexes(l.covering(job, allIndexes...)))
	if len(a.Retired) != 3 || l.position(indexA) != 3 {
		t.Errorf("retired %v, positions %v", a.Retired, l.stateNow().IndexState.CaughtUp)
	}
	l.sound()
}

// TestReadBeforeARestore: what an index spans of a state that a restore undid says
// nothing of the one that it restored.
func TestReadBeforeARestore(t *testing.T) {
	ctx := t.Context()
	l := indexedStore(t, Creation{}, 2)
	if _, err := l.c.CreateBranchPoint(ctx, "b", l.stateNow().Timeline); err != nil {
		t.Fatal(err)
	}
	b := l.stateNow().Timeline
	l.publish(l.rotateMany(1)...)
	l.publishBase(l.stateNow().Timeline, l.first(3, 1))
	read := l.stateNow().Timeline.RepresentationID
	job := l.segmentJob()
	if err := l.c.RetainForJob(ctx, job.ID, []int64{read}); err != nil {
		t.Fatal(err)
	}
	u := l.covering(job, allIndexes...)
	u.ReadRepresentation = read
	if _, err := l.c.Restore(ctx, RestoreRequest{Head: l.stateNow().Timeline, BranchPoint: "b", LSN: 100}); err != nil {
		t.Fatal(err)
	}
	a := l.mustInstall(l.indexes(u))
	if s := l.stateNow(); len(a.Retired) != 0 || len(s.IndexState.CaughtUp) != 0 || len(s.Retained) != 2 || fmt.Sprint(s.Timeline.Fingerprint) != fmt.Sprint(b.Fingerprint) {
		t.Errorf("retired %v, %+v", a.Retired, s.IndexState)
	}
}

// TestDeadFragments: a fragment without a live row needs no segment, unless its table
// has no other.
func TestDeadFragments(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	l.publish(l.rotateMany(1)...)
	b := l.increment(3, 1)
	dead := func(o *BaseContribution) {
		o.Deleted[1] = roaring.New()
		o.Deleted[1].AddRange(0, 7)
		o.Live[1].Rows = 0
	}
	dead(&b.base.Objects[1])
	l.publishBase(l.stateNow().Timeline, b)
	all := l.fragmentsOf(tableA)
	if len(all) != 2 {
		t.Fatal(all)
	}
	job := l.segmentJob()
	only := func(fragment uint64) *IndexUpdate {
		return &IndexUpdate{Relied: allIndexes, Indexes: []IndexSegments{{refA, []SegmentRef{l.segment(job, refA, fragment)}}}}
	}
	if l.mustInstall(l.indexes(only(all[1]))); l.position(tableA) != 0 {
		t.Error("an index that spans dead rows only has caught up")
	}
	if l.mustInstall(l.indexes(only(all[0]))); l.position(tableA) != 3 {
		t.Errorf("position %d", l.position(tableA))
	}
	l.sound()

	// With nothing but dead rows they have to be spanned.
	l = indexedStore(t, Creation{}, 2)
	l.publish(l.rotateMany(1)...)
	b = l.increment(3, 1)
	dead(&b.base.Objects[1])
	n := &b.base.Objects[0]
	n.Deleted = make([]*roaring.Bitmap, len(n.Live))
	dead(n)
	l.publishBase(l.stateNow().Timeline, b)
	job = l.segmentJob()
	if l.mustInstall(l.indexes(only(l.fragmentsOf(tableA)[0]))); l.position(tableA) != 0 {
		t.Error("a part of what a table has proves an index")
	}
	if l.mustInstall(l.indexes(l.covering(job, refA))); l.position(tableA) != 3 {
		t.Errorf("position %d", l.position(tableA))
	}
}

// TestUncoveredEmptyGeneration: a generation without a commit does not stay behind a
// base that contains all that was written before it.
func TestUncoveredEmptyGeneration(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	l.publish(l.rotateMany(1)...)
	other := s.Shards[1].ID
	if _, err := c.ReserveGeneration(ctx, other, 2); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCurrentGeneration(ctx, other, 2); err != nil {
		t.Fatal(err)
	}
	for _, g := range l.stateNow().Generations {
		if g.ShardID == other && g.Generation == 1 {
			if err := c.SealGeneration(ctx, Seal{ShardID: other, Generation: 1, ObjectID: g.ObjectID, Extent: 64, FirstLSN: 2, LastLSN: 1, Fingerprint: emptySum}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Register(ctx, ShardGeneration{other, 1}); err != nil {
		t.Fatal(err)
	}
	l.publish(append(l.rotateMany(1), ShardGeneration{other, 1})...)
	b := l.first(2, 1)
	all := b.base.Steps
	if len(all) != 2 {
		t.Fatal(all)
	}
	b.base.Steps = []ShardGeneration{{s.Shards[0].ID, 2}}
	if _, err := l.install(b.publication(l.stateNow().Timeline)); !errors.Is(err, CodeIndex) {
		t.Error(err)
	}
	b.base.Steps = all
	l.mustInstall(b.publication(l.stateNow().Timeline))
	if n := len(l.stateNow().Retained); n != 3 {
		t.Errorf("%d retained", n)
	}
}
