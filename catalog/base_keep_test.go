package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// TestIncrementalRefusals: a base that keeps files of the head, or that says what it
// contains, and contradicts itself or the head, publishes nothing (B8, B13 to B18).
func TestIncrementalRefusals(t *testing.T) {
	ctx := t.Context()
	l := indexedStore(t, Creation{}, 2)
	shard := l.stateNow().Shards[0].ID
	l.publish(l.rotateMany(2)...)
	l.publishBase(l.stateNow().Timeline, l.increment(3, 1)) // kept: one object with a deleted row
	l.publish(l.rotateMany(1)...)
	before := l.stateNow()
	job := l.increment(5, 2)
	says := map[string]string{ // where another refusal has the same code
		"lower generation":  "the step is stale",
		"equal generation":  "the step is stale",
		"duplicate shard":   "two newest generations",
		"kept object first": "begins with a new object",
		"kept object twice": "in the base twice",
	}
	for name, x := range map[string]struct {
		code   Code
		change func(b *Base)
	}{
		"lower generation":       {CodeIndex, func(b *Base) { b.Steps[0].Generation = 2 }},
		"equal generation":       {CodeIndex, func(b *Base) { b.Steps[0].Generation = 3 }},
		"duplicate shard":        {CodeIndex, func(b *Base) { b.Steps = append(b.Steps, ShardGeneration{shard, 4}) }},
		"generation not there":   {CodeIndex, func(b *Base) { b.Steps[0].Generation = 6 }},
		"shard not there":        {CodeIndex, func(b *Base) { b.Steps[0].ShardID = 4711 }},
		"generation not covered": {CodeIndex, func(b *Base) { b.Steps[0].Generation = 4 }},
		"no step":                {CodeIndex, func(b *Base) { b.Steps = nil }},
		"bad shard":              {CodeRange, func(b *Base) { b.Steps[0].ShardID = 0 }},
		"older LSN":              {CodeIndex, func(b *Base) { b.LSN = 4 }},
		"kept object first":      {CodeFragment, func(b *Base) { b.Objects[0], b.Objects[2] = b.Objects[2], b.Objects[0] }},
		"new object behind kept": {CodeFragment, func(b *Base) { b.Objects[1], b.Objects[2] = b.Objects[2], b.Objects[1] }},
		"kept out of order":      {CodeFragment, func(b *Base) { b.Objects[2], b.Objects[3] = b.Objects[3], b.Objects[2] }},
		"object not in the head": {CodeFragment, func(b *Base) { b.Objects[2].ObjectID = before.Generations[0].ObjectID }},
		"kept object twice":      {CodeFragment, func(b *Base) { b.Objects[2] = b.Objects[3] }},
		"kept object left out":   {CodeSum, func(b *Base) { b.Objects = b.Objects[:3] }},
		"deleted row lost":       {CodeFragment, func(b *Base) { o := &b.Objects[3]; o.Deleted = nil; o.Live[1].Rows = 7 }},
		"another row deleted":    {CodeFragment, func(b *Base) { b.Objects[3].Deleted[1] = roaring.BitmapOf(3, 4) }},
		"deleted row beyond":     {CodeFragment, func(b *Base) { b.Objects[3].Deleted[1] = roaring.BitmapOf(0, 1, 7); b.Objects[3].Live[1].Rows = 4 }},
		"live rows wrong":        {CodeFragment, func(b *Base) { b.Objects[3].Live[1].Rows++ }},
		"live missing":           {CodeFragment, func(b *Base) { b.Objects[3].Live = b.Objects[3].Live[:2] }},
		"vectors missing":        {CodeFragment, func(b *Base) { b.Objects[3].Deleted = b.Objects[3].Deleted[:2] }},
		"fragment sums":          {CodeSum, func(b *Base) { b.Objects[0].Live[1].Sum = element(7) }},
		"short sum":              {CodeEncoding, func(b *Base) { b.Objects[0].Live[1].Sum = []byte{1} }},
		"sum of same rows": {CodeSum, func(b *Base) {
			b.Objects[3].Live[0].Sum, b.Objects[3].Live[2].Sum = b.Objects[3].Live[2].Sum, b.Objects[3].Live[0].Sum
		}},
		"sum of all": {CodeSum, func(b *Base) { b.Objects[0].Sum = element(9); b.Objects[0].Live[0].Sum = element(9) }},
	} {
		b := job
		b.base.Steps = append([]ShardGeneration{}, job.base.Steps...)
		b.base.Objects = append([]BaseContribution{}, job.base.Objects...)
		for i := range b.base.Objects {
			o := &b.base.Objects[i]
			o.Live = append([]FragmentState{}, o.Live...)
			if o.Deleted != nil {
				o.Deleted = append([]*roaring.Bitmap{}, o.Deleted...)
			}
		}
		x.change(&b.base)
		if _, err := l.install(b.publication(before.Timeline)); !errors.Is(err, x.code) {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(err.Error(), says[name]) {
			t.Errorf("%s: %v does not say %q", name, err, says[name])
		}
		if now := l.stateNow(); now.Timeline.Revision != before.Timeline.Revision || now.IndexState.ID != before.IndexState.ID || fmt.Sprint(now.Base) != fmt.Sprint(before.Base) {
			t.Fatalf("%s: %+v", name, now.Timeline)
		}
	}
	// As it is, it is published; another one on the same head meets a conflict, and
	// again on the new head it is stale.
	if _, err := l.install(job.publication(before.Timeline)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.install(job.publication(before.Timeline)); !errors.Is(err, ErrConflict) {
		t.Error(err)
	}
	if _, err := l.install(job.publication(l.stateNow().Timeline)); !errors.Is(err, CodeIndex) {
		t.Error(err)
	}
	if err := l.c.EndJob(ctx, job.job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	s := l.stateNow()
	if len(s.Base) != 4 || s.Base[3].Deleted[1].GetCardinality() != 2 || s.Base[3].Live[1].Rows != 5 || fmt.Sprint(s.IndexState.Compacted) != fmt.Sprint([]ShardGeneration{{shard, 5}}) {
		t.Errorf("%+v", s)
	}
	if len(s.Retained) != 5 || s.Timeline.LiveCount != before.Timeline.LiveCount || fmt.Sprint(s.Timeline.Fingerprint) != fmt.Sprint(before.Timeline.Fingerprint) {
		t.Errorf("retained %v, %+v", s.Retained, s.Timeline)
	}
	h, err := l.c.HistoryOf(ctx, s.Timeline.RepresentationID)
	if err != nil || fmt.Sprint(h.Retained) != fmt.Sprint(s.Retained) || h.IndexState.ID != s.IndexState.ID || len(h.Generations) != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestIndexPublicationChangesNoRow: a publication of indexes leaves the world and the
// base as they are (B7), and several shards are recorded independently (B10).
func TestIndexPublicationChangesNoRow(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	l.schema, l.tables = schemaOfIndexes(1), []TableRecords{{tableB, 1}}
	if err := c.ProjectSchema(ctx, l.schema); err != nil {
		t.Fatal(err)
	}
	publish := func() {
		gens := l.rotate()
		if err := c.Register(ctx, gens...); err != nil {
			t.Fatal(err)
		}
		l.publish(gens...)
	}
	publish()
	publish()
	l.publishBase(l.stateNow().Timeline, l.first(1, 1))
	l.publishBase(l.stateNow().Timeline, l.increment(2, 1))
	job := l.segmentJob()
	before := l.stateNow()
	a := l.mustInstall(l.indexes(l.covering(job, allIndexes...)))
	now := l.stateNow()
	if len(a.Retired) != 4 || now.Timeline.WorldID != before.Timeline.WorldID || now.Timeline.LiveCount != before.Timeline.LiveCount ||
		fmt.Sprint(now.Base) != fmt.Sprint(before.Base) || fmt.Sprint(now.IndexState.Compacted) != fmt.Sprint(before.IndexState.Compacted) {
		t.Errorf("%+v\n%+v", now, before)
	}
	for _, sh := range s.Shards {
		for _, ref := range allIndexes {
			found := false
			for _, p := range now.IndexState.CaughtUp {
				found = found || p == IndexPosition{ref.IndexID, sh.ID, 2}
			}
			if !found {
				t.Errorf("index %d has not caught up with shard %d: %v", ref.IndexID, sh.ID, now.IndexState.CaughtUp)
			}
		}
	}
	// Publications that touch no index go on with the same state (R13).
	publish()
	if l.stateNow().IndexState.ID != now.IndexState.ID {
		t.Error("the index state was written anew")
	}
	l.c = c
	l.sound()
}

// TestRestoreTakesTheIndexState: a restore goes on with what the branch point had, and
// retained generations come back with it.
func TestRestoreTakesTheIndexState(t *testing.T) {
	ctx := t.Context()
	l := indexedStore(t, Creation{}, 2)
	b, err := l.c.CreateBranchPoint(ctx, "b", l.stateNow().Timeline)
	if err != nil {
		t.Fatal(err)
	}
	was := l.stateNow()
	job := l.segmentJob()
	l.mustInstall(l.indexes(l.covering(job, allIndexes...)))
	l.publish(l.rotateMany(1)...)
	l.publishBase(l.stateNow().Timeline, l.increment(3, 1))
	collectAll(t, l.c)
	if _, err := l.c.Restore(ctx, RestoreRequest{Head: l.stateNow().Timeline, BranchPoint: "b", BranchID: b.ID, LSN: 50}); err != nil {
		t.Fatal(err)
	}
	s := l.stateNow()
	if s.IndexState.ID != was.IndexState.ID || len(s.Retained) != 2 || len(s.Inherited) != 0 {
		t.Errorf("%+v", s)
	}
	// The log goes on, and so does what is compacted.
	l.reload()
	l.lsn = 50
	l.schema.SchemaVersion = 50
	l.publish(l.rotateMany(1)...)
	l.publishBase(l.stateNow().Timeline, l.increment(51, 1))
	if s := l.stateNow(); fmt.Sprint(s.IndexState.Compacted) != fmt.Sprint([]ShardGeneration{{s.Shards[0].ID, 4}}) || len(s.Retained) != 3 {
		t.Errorf("%+v, %+v", s.IndexState, s.Retained)
	}
	l.mustInstall(l.indexes(l.covering(job, allIndexes...)))
	if l.position(indexA) != 4 || len(l.stateNow().Retained) != 0 {
		t.Errorf("position %d", l.position(indexA))
	}
	l.sound()
}

// TestForkGoesOnWithTheIndexState: a fork has the parent's state, retains the parent's
// generations, and retires them by itself.
func TestForkGoesOnWithTheIndexState(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	f := forkOf(t, l, "child", l.stateNow().Timeline)
	if s := f.stateNow(); s.IndexState.ID != l.stateNow().IndexState.ID || len(s.Retained) != 2 || len(s.Inherited) != 0 {
		t.Fatalf("%+v", s)
	}
	f.schema = l.schema
	f.schema.Timeline = "child"
	if err := l.c.ProjectSchema(t.Context(), f.schema); err != nil {
		t.Fatal(err)
	}
	job := f.segmentJob()
	a := f.mustInstall(f.indexes(f.covering(job, allIndexes...)))
	if len(a.Retired) != 2 || len(l.stateNow().Retained) != 2 {
		t.Errorf("retired %v, the parent retains %v", a.Retired, l.stateNow().Retained)
	}
	if n := collectAll(t, l.c); n != 0 {
		t.Errorf("%d collected", n)
	}
	l.sound()
}
