package catalog

import (
	"errors"
	"testing"
)

// TestActivation: a legacy store earns nothing and retires nothing; activated without
// progress it does, for good (C1, C2, C4, C6, C8, C9, C11).
func TestActivation(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{IndexCatchup: "legacy"})
	l := newLog(t, c)
	l.schema, l.tables = schemaOfIndexes(1), []TableRecords{{tableA, 2}}
	if err := c.ProjectSchema(ctx, l.schema); err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotateMany(2)...)
	before, err := c.CreateBranchPoint(ctx, "before", l.stateNow().Timeline)
	if err != nil {
		t.Fatal(err)
	}
	// A publication that was prepared meets a conflict, and can be tried again.
	next := l.rotateMany(1)
	attempt := l.begin(l.publication(next...))
	head, err := c.ActivateIndexCatchup(ctx, MainTimeline)
	if err != nil || head.Revision != l.stateNow().Timeline.Revision || head.RepresentationID != l.stateNow().Timeline.RepresentationID {
		t.Fatal(head, err)
	}
	if _, err := attempt.Adopt(ctx); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	if err := attempt.Abandon(ctx); err != nil {
		t.Fatal(err)
	}
	l.publish(next...)
	again, err := c.ActivateIndexCatchup(ctx, MainTimeline)
	if err != nil || again.Revision != l.stateNow().Timeline.Revision {
		t.Fatal(again, err)
	}
	l.publishBase(l.stateNow().Timeline, l.first(3, 1))
	job := l.segmentJob()
	if a := l.mustInstall(l.indexes(l.covering(job, allIndexes...))); len(a.Retired) != 3 || l.position(indexA) != 3 {
		t.Errorf("%+v", a.Retired)
	}
	revision := l.stateNow().Timeline.Revision
	if _, err := c.ActivateIndexCatchup(ctx, MainTimeline); err != nil || l.position(indexA) != 3 || l.stateNow().Timeline.Revision != revision {
		t.Errorf("position %d, %v", l.position(indexA), err)
	}
	if s := l.stateNow().IndexState; s.ReaderFeatures != FeatureIndexCatchup || s.WriterFeatures != FeatureIndexCatchup {
		t.Errorf("%+v", s)
	}
	// Back behind it there is no way, but for a timeline of its own (C12, C13).
	l.rotateMany(1)
	_, err = c.Restore(ctx, RestoreRequest{Head: l.stateNow().Timeline, BranchPoint: "before", BranchID: before.ID, LSN: 100})
	wantCode(t, err, CodeIndex)
	child := forkOf(t, l, "child", l.stateNow().Timeline).stateNow()
	if child.IndexState.ID != l.stateNow().IndexState.ID {
		t.Errorf("%+v", child.IndexState)
	}
	old, err := c.Fork(ctx, ForkRequest{Name: "old", BranchPoint: "before"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := c.StateOf(ctx, old.Name); err != nil || s.IndexState.ReaderFeatures != 0 {
		t.Errorf("%+v, %v", s.IndexState, err)
	}
	_, err = c.ActivateIndexCatchup(ctx, "nowhere")
	wantCode(t, err, CodeUnknown)
}

// TestLegacy: without maintained positions nothing is earned and nothing retired, and
// progress that was recorded refuses the activation (B4, C7, C15).
func TestLegacy(t *testing.T) {
	l := indexedStore(t, Creation{IndexCatchup: "legacy"}, 2)
	job := l.segmentJob()
	a := l.mustInstall(l.indexes(l.covering(job, allIndexes...)))
	if s := l.stateNow(); len(a.Retired) != 0 || len(s.IndexState.CaughtUp) != 0 || len(s.Retained) != 2 || len(s.IndexState.Segments) != 3 {
		t.Errorf("%+v", s.IndexState)
	}
	before := l.stateNow()
	_, err := l.c.ActivateIndexCatchup(t.Context(), MainTimeline)
	wantCode(t, err, CodeIndex)
	if now := l.stateNow(); now.Timeline.Revision != before.Timeline.Revision {
		t.Errorf("%+v", now.Timeline)
	}
}

// TestLegacyRetiresNothing: not even a generation without a record that anybody could
// ask for.
func TestLegacyRetiresNothing(t *testing.T) {
	c, _ := newStore(t, Creation{IndexCatchup: "legacy"})
	l := newLog(t, c)
	l.schema, l.tables = schemaOfIndexes(1), []TableRecords{}
	l.publish(l.rotateMany(2)...)
	l.publishBase(l.stateNow().Timeline, l.first(2, 1))
	a := l.mustInstall(l.indexes(l.covering(l.segmentJob(), refA)))
	if len(a.Retired) != 0 || len(l.stateNow().Retained) != 2 {
		t.Errorf("retired %v", a.Retired)
	}
}
