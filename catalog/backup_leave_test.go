package catalog

import (
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// A copy goes on without some of its segments: their indexes have no position, the others
// keep theirs, and what is left is whole.
func TestLeaveSegments(t *testing.T) {
	l := indexedStore(t, Creation{}, 3)
	l.mustInstall(l.indexes(l.covering(l.segmentJob(), allIndexes...)))
	// One index has a second segment, behind the one that goes.
	u := &IndexUpdate{Relied: allIndexes}
	state := l.stateNow().IndexState
	for _, g := range state.Segments {
		if g.IndexRef == refI {
			u.Indexes = append(u.Indexes, IndexSegments{refI, []SegmentRef{{g.ObjectID, g.Fragments}, l.segment(l.segmentJob(), refI)}})
		}
	}
	l.mustInstall(l.indexes(u))
	state = l.stateNow().IndexState
	before := map[int64]int64{}
	for _, p := range state.CaughtUp {
		before[p.IndexID] = p.Generation
	}
	if len(state.Segments) != 4 || before[indexA] == 0 || before[tableA] == 0 {
		t.Fatalf("%+v", state)
	}
	var bad int64
	for _, g := range state.Segments {
		if g.IndexRef == refI {
			bad = g.ObjectID
			break
		}
	}
	dir := copied(t, l.c)
	file := filepath.Join(dir, FileName)
	kept, _, err := PruneCopy(t.Context(), file)
	must(t, err)
	if c, err := LeaveSegments(t.Context(), file, []int64{kept.Objects[0].ID}); err == nil {
		t.Errorf("an object that is no segment: %+v", c)
	}
	left, err := LeaveSegments(t.Context(), file, []int64{bad})
	must(t, err)
	if len(left.Objects) != len(kept.Objects)-1 || left.Identity != kept.Identity || left.Timelines != kept.Timelines {
		t.Errorf("%+v of %+v", left, kept)
	}
	_, err = RenewCopy(t.Context(), file, time.Now())
	must(t, err)
	own := openStore(t, Options{Dir: dir})
	now, err := own.State(t.Context())
	must(t, err)
	if len(now.IndexState.Segments) != 3 {
		t.Errorf("segments %+v", now.IndexState.Segments)
	}
	for _, p := range now.IndexState.CaughtUp {
		if p.IndexID == indexA || p.Generation != before[p.IndexID] {
			t.Errorf("position %+v, was %d", p, before[p.IndexID])
		}
	}
	if len(now.IndexState.CaughtUp) != len(state.CaughtUp)-1 {
		t.Errorf("positions %+v of %+v", now.IndexState.CaughtUp, state.CaughtUp)
	}
	if n := count(t, own.reads.DB, "SELECT count(*) FROM index_state_segments WHERE ordinal > 0"); n != 0 {
		t.Errorf("%d segments are not the first ones of their indexes", n)
	}
	if err := own.Check(t.Context(), func(s string) { t.Error(s) }); err != nil {
		t.Error(err)
	}

	// What is damaged gets no new digest.
	dir = copied(t, l.c)
	file = filepath.Join(dir, FileName)
	_, _, err = PruneCopy(t.Context(), file)
	must(t, err)
	db := shell(t, dir)
	for _, text := range []string{`DROP TRIGGER index_states_no_update`, `UPDATE index_states SET digest = zeroblob(32)`} {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LeaveSegments(t.Context(), file, []int64{bad}); !errors.Is(err, CodeDigest) {
		t.Errorf("a state without its digest: %v", err)
	}
}
