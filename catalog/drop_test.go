package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestDropTimeline: everything that describes a timeline leaves with it, and its
// files are garbage.
func TestDropTimeline(t *testing.T) {
	ctx := t.Context()
	c, l, _ := forked(t)
	counts := func() (s string) {
		for _, table := range []string{"owners WHERE kind <> 'job'", "shards", "generations", "timelines", "tables", "worlds", "representations", "schema_contexts", "publication_attempts",
			"operations", "owner_objects", "owner_representations", "manifest_entries"} {
			s += fmt.Sprintf("%s %d ", table, one64(t, c, `SELECT count(*) FROM `+table))
		}
		return s
	}
	before, main := counts(), l.stateNow()
	if _, err := c.Fork(ctx, ForkRequest{Name: "child", BranchPoint: "b"}); err != nil {
		t.Fatal(err)
	}
	if err := c.ProjectSchema(ctx, Projection{Timeline: "child", SchemaVersion: 3, Tables: []TableRow{table(40, 3, "orders")}}); err != nil {
		t.Fatal(err)
	}
	child := newLogOf(t, c, "child")
	child.publish(child.rotate()...)
	child.publishBase(child.stateNow().Timeline, child.compact(3, 1))
	if n := collectAll(t, c); n != 2 {
		t.Errorf("%d collected", n)
	}
	child.publish(child.rotate()...)
	child.rotate()
	if err := c.DropTimeline(ctx, "child"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.StateOf(ctx, "child"); !errors.Is(err, ErrNotFound) {
		t.Errorf("state: %v", err)
	}
	// Its base, two cuts of two shards and their open generations.
	if n := collectAll(t, c); n != 7 {
		t.Errorf("%d collected", n)
	}
	if after := counts(); after != before {
		t.Errorf("rows are %s\nwere     %s", after, before)
	}
	if s := l.stateNow(); fmt.Sprint(s) != fmt.Sprint(main) {
		t.Errorf("main is %+v, was %+v", s, main)
	}
	if n := one64(t, c, `SELECT count(*) FROM objects WHERE state = 'collected'`); n != 0 {
		t.Errorf("%d collected objects without a generation", n)
	}
	if err := c.DropTimeline(ctx, "child"); !errors.Is(err, ErrNotFound) {
		t.Errorf("again: %v", err)
	}
	// The name is free.
	if _, err := c.Fork(ctx, ForkRequest{Name: "child", From: main.Timeline}); err != nil {
		t.Error(err)
	}
}

// TestDropTimelineInUse: whoever needs it is named.
func TestDropTimelineInUse(t *testing.T) {
	ctx := t.Context()
	wantCode(t, func() error { c, _ := newStore(t, Creation{}); return c.DropTimeline(ctx, MainTimeline) }(), CodeIdentity)

	c, _, _ := forked(t)
	if _, err := c.Fork(ctx, ForkRequest{Name: "child", BranchPoint: "b"}); err != nil {
		t.Fatal(err)
	}
	child := newLogOf(t, c, "child")
	refused := func(by string) {
		t.Helper()
		err := c.DropTimeline(ctx, "child")
		var use *InUseError
		if !errors.Is(err, ErrInUse) || !errors.As(err, &use) || use.Timeline != "child" || !strings.HasPrefix(use.By, by) {
			t.Fatalf("%v, want %s", err, by)
		}
		if !strings.Contains(err.Error(), by) {
			t.Errorf("%v does not name it", err)
		}
	}
	child.publish(child.rotate()...)
	if _, err := c.CreateBranchPoint(ctx, "mine", child.stateNow().Timeline); err != nil {
		t.Fatal(err)
	}
	refused(`branch_point "mine" retains generation 4`)

	if _, err := c.Fork(ctx, ForkRequest{Name: "grandchild", From: child.stateNow().Timeline}); err != nil {
		t.Fatal(err)
	}
	refused(`timeline "grandchild" was forked from it`)
	if err := c.DropTimeline(ctx, "grandchild"); err != nil {
		t.Fatal(err)
	}
	refused(`branch_point "mine"`)
	if err := c.DeleteBranchPoint(ctx, "mine"); err != nil {
		t.Fatal(err)
	}

	session, err := c.OpenSession(ctx, someProcess)
	if err != nil {
		t.Fatal(err)
	}
	pin, err := c.Pin(ctx, session.ID, child.stateNow().Timeline.RepresentationID, nil)
	if err != nil {
		t.Fatal(err)
	}
	refused(fmt.Sprintf(`reader "session %d of pid 7" retains generation 4`, session.ID))
	if err := c.Unpin(ctx, pin.OwnerID); err != nil {
		t.Fatal(err)
	}
	main := c.mustState(t).Timeline
	open := child.stateNow().Generations[1]
	if pin, err = c.Pin(ctx, session.ID, main.RepresentationID, []int64{open.ObjectID}); err != nil {
		t.Fatal(err)
	}
	refused(fmt.Sprintf(`reader "session %d of pid 7" retains generation 5`, session.ID))
	if err := c.Unpin(ctx, pin.OwnerID); err != nil {
		t.Fatal(err)
	}

	gens := child.rotate()
	if err := c.Register(ctx, gens...); err != nil {
		t.Fatal(err)
	}
	prepared := child.prepare(child.publication(gens...))
	refused("a publication is under way")
	if err := prepared.Abandon(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.DropTimeline(ctx, "child"); err != nil {
		t.Fatal(err)
	}
}

// TestBranchPointOutlivesItsTimeline: of what is only in base objects, nothing needs
// the timeline, and a fork of it has no parent.
func TestBranchPointOutlivesItsTimeline(t *testing.T) {
	ctx := t.Context()
	c, _, _ := forked(t)
	if _, err := c.Fork(ctx, ForkRequest{Name: "child", BranchPoint: "b"}); err != nil {
		t.Fatal(err)
	}
	child := newLogOf(t, c, "child")
	child.publish(child.rotate()...)
	child.publishBase(child.stateNow().Timeline, child.compact(3, 2))
	if _, err := c.CreateBranchPoint(ctx, "mine", child.stateNow().Timeline); err != nil {
		t.Fatal(err)
	}
	if err := c.DropTimeline(ctx, "child"); err != nil {
		t.Fatal(err)
	}
	collectAll(t, c)
	b, err := c.BranchPoint(ctx, "mine")
	if err != nil || b.Timeline != "child" {
		t.Fatalf("%+v, %v", b, err)
	}
	if h, err := c.HistoryOf(ctx, b.RepresentationID); err != nil || h.BaseLSN != 3 || len(h.Generations) != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := c.Fork(ctx, ForkRequest{Name: "child", BranchPoint: "mine"}); err != nil {
		t.Fatal(err)
	}
	again := newLogOf(t, c, "child")
	if s := again.stateNow(); s.Shards[0].ParentShardID != 0 || s.Generations[0].Generation != 1 || s.BaseLSN != 3 {
		t.Errorf("%+v", s)
	}
	if head := again.publish(again.rotate()...).Head; head.LSN != 4 {
		t.Errorf("%+v", head)
	}
}

// TestTimelineFaults loses the outcome of each commit: after a reopen it took effect
// as a whole or not at all.
func TestTimelineFaults(t *testing.T) {
	ctx := t.Context()
	for _, step := range []string{"fork", "restore", "drop-timeline"} {
		for _, mode := range []string{"before", "after"} {
			t.Run(step+" "+mode, func(t *testing.T) {
				c, l, _ := forked(t)
				head := l.stateNow().Timeline
				if step == "drop-timeline" {
					if _, err := c.Fork(ctx, ForkRequest{Name: "child", From: head}); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.Close(ctx); err != nil {
					t.Fatal(err)
				}
				fault := &stepFault{step: step, mode: mode}
				broken, err := Open(ctx, Options{Dir: c.options.Dir, Fault: fault.seam()})
				if err != nil {
					t.Fatal(err)
				}
				switch step {
				case "fork":
					_, err = broken.Fork(ctx, ForkRequest{Name: "child", From: head})
				case "restore":
					_, err = broken.Restore(ctx, RestoreRequest{Head: head, BranchPoint: "b", LSN: 9})
				default:
					err = broken.DropTimeline(ctx, "child")
				}
				if !errors.Is(err, errInjected) {
					t.Fatal(err)
				}
				if err := broken.Close(ctx); err != nil {
					t.Logf("close: %v", err)
				}
				again := openStore(t, Options{Dir: c.options.Dir})
				took := mode == "after"
				list, err := again.Timelines(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if want := step == "fork" && took || step == "drop-timeline" && !took; want != (len(list) == 2) {
					t.Errorf("%+v", list)
				}
				main := again.mustState(t).Timeline
				if restored := step == "restore" && took; restored != (main.LSN == 9) || !restored && fmt.Sprint(main) != fmt.Sprint(head) {
					t.Errorf("%+v, was %+v", main, head)
				}
			})
		}
	}
}
