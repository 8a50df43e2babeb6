package catalog

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// openPins opens a catalog as a process does that reads beside its writer.
func openPins(t *testing.T, c *Catalog, now func() time.Time) *Catalog {
	t.Helper()
	r, err := Open(t.Context(), Options{Dir: c.options.Dir, ReadOnly: true, Pins: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return r
}

// TestAcquire: a reader roots the head and all that is behind it, in one transaction
// with its session, and writes nothing else.
func TestAcquire(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	l.publish(l.rotate()...)
	l.rotate() // a cut that no head has
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	r := openPins(t, c, func() time.Time { return now })
	got, err := r.Acquire(ctx, 0, someProcess, MainTimeline)
	if err != nil {
		t.Fatal(err)
	}
	want := c.mustState(t)
	if got.State.Timeline.Revision != want.Timeline.Revision || len(got.State.Generations) != len(want.Generations) || got.Session.Process != someProcess || got.Session.State != SessionLive {
		t.Errorf("%+v", got)
	}
	var behind []int64
	for _, g := range want.Generations {
		if !g.InHead {
			behind = append(behind, g.ObjectID)
		}
	}
	slices.Sort(behind)
	if len(behind) < 4 || !slices.Equal(got.Pin.Objects, behind) || got.Pin.RepresentationID != want.Timeline.RepresentationID {
		t.Errorf("%+v, behind the head are %v", got.Pin, behind)
	}
	// The heartbeat is renewed by the next pin, not sooner than it is old.
	heartbeat := func() string {
		list, err := c.Sessions(ctx)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		return list[0].Heartbeat
	}
	for range 2 {
		if _, err := r.Acquire(ctx, got.Session.ID, Process{}, MainTimeline); err != nil || heartbeat() != "" {
			t.Errorf("%v, heartbeat %q", err, heartbeat())
		}
	}
	now = now.Add(heartbeatEvery)
	if _, err := r.Acquire(ctx, got.Session.ID, Process{}, MainTimeline); err != nil || heartbeat() != timestamp(now) {
		t.Errorf("%v, heartbeat %q", err, heartbeat())
	}
	// One that nobody was sure of lives.
	if _, err := c.Reap(ctx, func(Process) (bool, string, bool) { return false, "", false }); err != nil {
		t.Error(err)
	}
	if again, err := r.Acquire(ctx, got.Session.ID, Process{}, MainTimeline); err != nil || again.Session.State != SessionLive {
		t.Errorf("%+v, %v", again.Session, err)
	}
	if err := r.CloseSession(ctx, got.Session.ID); err != nil {
		t.Error(err)
	}
	_, err = r.Acquire(ctx, got.Session.ID, Process{}, MainTimeline)
	wantCode(t, err, CodeSession)
	if list, err := c.Pins(ctx); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := r.Acquire(ctx, 0, someProcess, "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown timeline: %v", err)
	}
	if _, err := r.Acquire(ctx, 4711, Process{}, MainTimeline); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown session: %v", err)
	}
	if list, err := c.Sessions(ctx); err != nil || len(list) != 1 {
		t.Errorf("a refusal left a session: %+v, %v", list, err)
	}
}

// TestAcquireBranchPoint: what a branch point is read from outlives it.
func TestAcquireBranchPoint(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	head := l.publish(l.rotate()...).Head
	made, err := c.CreateBranchPoint(ctx, "bp", head)
	if err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotate()...)
	l.publishBase(l.stateNow().Timeline, l.compact(2, 1))
	r := openPins(t, c, time.Now)
	s, err := r.OpenSession(ctx, someProcess)
	if err != nil {
		t.Fatal(err)
	}
	b, pin, err := r.AcquireBranchPoint(ctx, s.ID, "bp")
	if err != nil || b != made || pin.RepresentationID != head.RepresentationID {
		t.Fatalf("%+v, %+v, %v", b, pin, err)
	}
	if err := c.DeleteBranchPoint(ctx, "bp"); err != nil {
		t.Fatal(err)
	}
	if n := collectAll(t, c); n != 1 { // the other superseded generation
		t.Errorf("%d collected under the pin", n)
	}
	if _, err := r.HistoryOf(ctx, pin.RepresentationID); err != nil {
		t.Error(err)
	}
	if _, _, err := r.AcquireBranchPoint(ctx, s.ID, "bp"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a branch point that is gone: %v", err)
	}
	if err := r.Unpin(ctx, pin.OwnerID); err != nil {
		t.Error(err)
	}
	if n := collectAll(t, c); n != 1 {
		t.Errorf("%d collected behind the pin", n)
	}
}

// TestReadersWrites: a handle that pins refuses every other transaction, and one of a
// catalog at rest all of them.
func TestReadersWrites(t *testing.T) {
	ctx := t.Context()
	c, st := newStore(t, Creation{})
	r := openPins(t, c, time.Now)
	refused := func(c *Catalog) map[string]error {
		_, reap := c.Reap(ctx, func(Process) (bool, string, bool) { return false, EvidenceGone, true })
		_, point := c.CreateBranchPoint(ctx, "x", st.Timeline)
		_, ids := c.ReserveIDs(ctx, 1)
		_, job := c.StartJob(ctx, "gc", "")
		_, claim := c.Claim(ctx, []int64{st.Generations[0].ObjectID})
		_, epoch := c.BumpEpochs(ctx, st.Shards[0].ID)
		return map[string]error{"reap": reap, "branch point": point, "ids": ids, "job": job, "claim": claim, "epoch": epoch, "drop": c.DropTimeline(ctx, "x")}
	}
	if _, err := r.OpenSession(ctx, someProcess); err != nil {
		t.Fatal(err)
	}
	for what, err := range refused(r) {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := r.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	still, err := Open(ctx, Options{Dir: c.options.Dir, ReadOnly: true, Immutable: true})
	if err != nil {
		t.Fatal(err)
	}
	defer still.Close(ctx)
	if s, err := still.State(ctx); err != nil || s.Timeline.Revision != st.Timeline.Revision {
		t.Errorf("%+v, %v", s, err)
	}
	for what, err := range refused(still) {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("at rest, %s: %v", what, err)
		}
	}
	for _, o := range []Options{{Pins: true}, {Immutable: true}, {ReadOnly: true, Pins: true, Immutable: true}} {
		o.Dir = c.options.Dir
		if _, err := Open(ctx, o); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
