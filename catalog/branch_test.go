package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestBranchPoint keeps a state while the timeline goes on and is compacted: its
// files stay, everything else is collected, and what it retained is collected
// after it is gone.
func TestBranchPoint(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	l.publish(l.rotate()...)
	head := l.publish(l.rotate()...).Head
	b, err := c.CreateBranchPoint(ctx, "before", head)
	if err != nil {
		t.Fatal(err)
	}
	if b.Name != "before" || b.Timeline != MainTimeline || b.TimelineID != head.ID || b.WorldID != head.WorldID || b.RepresentationID != head.RepresentationID ||
		b.LSN != 2 || b.LiveCount != 12 || b.CreatedAt == "" {
		t.Errorf("%+v", b)
	}
	if got, err := c.BranchPoint(ctx, "before"); err != nil || got != b {
		t.Errorf("%+v, %v", got, err)
	}
	before, err := c.HistoryOf(ctx, b.RepresentationID)
	if err != nil {
		t.Fatal(err)
	}
	if before.LSN != 2 || before.LiveCount != 12 || len(before.Generations) != 4 || len(before.ShardOrdinal) != 2 || !bytes.Equal(before.Fingerprint, head.Fingerprint) ||
		before.ShardOrdinal[before.Generations[1].ShardID] != 1 || before.BaseLSN != 0 {
		t.Errorf("%+v", before)
	}
	l.publish(l.rotate()...)
	l.publishBase(l.stateNow().Timeline, l.compact(3, 2))
	l.publish(l.rotate()...)
	if n := collectAll(t, c); n != 2 {
		t.Errorf("%d collected beside the branch point, the third cut's two were free", n)
	}
	after, err := c.HistoryOf(ctx, b.RepresentationID)
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%+v, %v\nwas %+v", after, err, before)
	}
	if h, err := c.HistoryOf(ctx, l.stateNow().Timeline.RepresentationID); err != nil || h.BaseLSN != 3 || len(h.Base) != 2 || len(h.Generations) != 2 || h.LSN != 4 {
		t.Errorf("%+v, %v", h, err)
	}
	if err := c.DeleteBranchPoint(ctx, "before"); err != nil {
		t.Fatal(err)
	}
	if n := collectAll(t, c); n != 4 {
		t.Errorf("%d collected after the branch point", n)
	}
	for what, query := range map[string]string{
		"owners":          `SELECT count(*) FROM owners WHERE kind = 'branch_point'`,
		"representations": fmt.Sprintf(`SELECT count(*) FROM representations WHERE representation_id = %d`, b.RepresentationID),
		"worlds":          fmt.Sprintf(`SELECT count(*) FROM worlds WHERE world_id = %d`, b.WorldID),
	} {
		if n := one64(t, c, query); n != 0 {
			t.Errorf("%d %s are left", n, what)
		}
	}
	if _, err := c.HistoryOf(ctx, b.RepresentationID); !errors.Is(err, ErrNotFound) {
		t.Errorf("history of what is gone: %v", err)
	}
}

// TestBranchPointsOfOneState: the last one that retains a representation takes it along.
func TestBranchPointsOfOneState(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	head := l.publish(l.rotate()...).Head
	for _, name := range []string{"b", "a", strings.Repeat("ä", 255)} {
		if _, err := c.CreateBranchPoint(ctx, name, head); err != nil {
			t.Fatal(err)
		}
	}
	l.publish(l.rotate()...)
	list, err := c.BranchPoints(ctx)
	if err != nil || len(list) != 3 || list[0].Name != "a" || list[1].Name != "b" {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, b := range list {
		if _, err := c.HistoryOf(ctx, head.RepresentationID); err != nil {
			t.Fatalf("before %d: %v", i, err)
		}
		if err := c.DeleteBranchPoint(ctx, b.Name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.HistoryOf(ctx, head.RepresentationID); !errors.Is(err, ErrNotFound) {
		t.Errorf("after all: %v", err)
	}
	// The head shares the chunk of what was pruned.
	if h, err := c.HistoryOf(ctx, l.stateNow().Timeline.RepresentationID); err != nil || len(h.Generations) != 2 {
		t.Errorf("%+v, %v", h, err)
	}
}

// TestBranchPointDeletedUnderAJob: what a job retains beyond the branch point goes
// when the job ends, although all of its files stay with the head.
func TestBranchPointDeletedUnderAJob(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	b, err := c.CreateBranchPoint(ctx, "b", l.publish(l.rotate()...).Head)
	if err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotate()...)
	job, err := c.StartJob(ctx, "backup", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.RetainForJob(ctx, job.ID, []int64{b.RepresentationID}), c.DeleteBranchPoint(ctx, "b")); err != nil {
		t.Fatal(err)
	}
	if h, err := c.HistoryOf(ctx, b.RepresentationID); err != nil || len(h.Generations) != 1 {
		t.Errorf("%+v, %v", h, err)
	}
	if err := c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.HistoryOf(ctx, b.RepresentationID); !errors.Is(err, ErrNotFound) {
		t.Errorf("its rows are left: %v", err)
	}
}

func TestBranchPointRefusals(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	head := s.Timeline
	for _, name := range []string{"", strings.Repeat("x", 256), "\xff", "a\x00b"} {
		_, err := c.CreateBranchPoint(ctx, name, head)
		wantCode(t, err, CodeEncoding)
	}
	if _, err := c.CreateBranchPoint(ctx, "x", head); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CreateBranchPoint(ctx, "x", head); !errors.Is(err, ErrExists) {
		t.Errorf("name twice: %v", err)
	}
	if _, err := c.CreateBranchPoint(ctx, "X", head); err != nil {
		t.Errorf("names differ by case: %v", err)
	}
	for name, h := range map[string]Timeline{
		"revision":       {ID: head.ID, Revision: 1, RepresentationID: head.RepresentationID},
		"representation": {ID: head.ID, RepresentationID: head.RepresentationID + 1},
	} {
		_, err := c.CreateBranchPoint(ctx, name, h)
		var conflict *ConflictError
		if !errors.Is(err, ErrConflict) || !errors.As(err, &conflict) || conflict.ObservedRepresentation != head.RepresentationID {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := c.CreateBranchPoint(ctx, "y", Timeline{ID: 4711})
	wantCode(t, err, CodeUnknown)
	if _, err := c.BranchPoint(ctx, "y"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	if err := c.DeleteBranchPoint(ctx, "y"); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
	if list, err := c.BranchPoints(ctx); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestBranchPointFaults loses the outcome of each commit: after a reopen it is
// there or it is not.
func TestBranchPointFaults(t *testing.T) {
	ctx := t.Context()
	for _, op := range []string{"create", "delete"} {
		for _, mode := range []string{"before", "after"} {
			t.Run(op+" "+mode, func(t *testing.T) {
				dir := makeStore(t, Options{})
				c := openStore(t, Options{Dir: dir})
				l := newLog(t, c)
				head := l.publish(l.rotate()...).Head
				if op == "delete" {
					if _, err := c.CreateBranchPoint(ctx, "b", head); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.Close(ctx); err != nil {
					t.Fatal(err)
				}
				fault := &seamAt{n: 2, mode: mode} // behind the diagnostics
				broken, err := Open(ctx, Options{Dir: dir, Fault: fault.seam()})
				if err != nil {
					t.Fatal(err)
				}
				if op == "create" {
					_, err = broken.CreateBranchPoint(ctx, "b", head)
				} else {
					err = broken.DeleteBranchPoint(ctx, "b")
				}
				if !errors.Is(err, errInjected) || fault.seen[1] != op+"-branch-point" {
					t.Fatalf("%v, commits %v", err, fault.seen)
				}
				if err := broken.Close(ctx); err != nil {
					t.Logf("close: %v", err)
				}
				again := openStore(t, Options{Dir: dir})
				list, err := again.BranchPoints(ctx)
				if want := (op == "create") == (mode == "after"); err != nil || want != (len(list) == 1) {
					t.Errorf("%+v, %v", list, err)
				}
			})
		}
	}
}

// TestBranchPointFrozen: while outcomes are being established nothing is released.
func TestBranchPointFrozen(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	c := openStore(t, Options{Dir: dir})
	s, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	edit(t, dir, freeze)
	if _, err := c.CreateBranchPoint(ctx, "b", s.Timeline); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.DeleteBranchPoint(ctx, "b"), CodeRetire)
	if _, err := c.BranchPoint(ctx, "b"); err != nil {
		t.Error(err)
	}
}

// TestBranchPointDamage: every column of a branch point, of its world and of its
// representation is covered by a digest.
func TestBranchPointDamage(t *testing.T) {
	for _, damage := range []string{
		`UPDATE branch_points SET name = 'c' WHERE name = 'b'`,
		`UPDATE branch_points SET timeline = 'x'`,
		`UPDATE branch_points SET timeline_id = timeline_id + 1`,
		`UPDATE branch_points SET created_at = created_at || 'Z'`,
		`UPDATE branch_points SET branch_id = branch_id - 1`,
		`UPDATE worlds SET lsn = lsn + 1 WHERE world_id = (SELECT world_id FROM branch_points)`,
		`UPDATE worlds SET live_count = live_count + 1 WHERE world_id = (SELECT world_id FROM branch_points)`,
		`UPDATE worlds SET composite_fingerprint = zeroblob(16) WHERE world_id = (SELECT world_id FROM branch_points)`,
		`UPDATE representations SET entry_count = entry_count + 1 WHERE representation_id = (SELECT representation_id FROM branch_points)`,
		`UPDATE representations SET contribution_sum = zeroblob(16) WHERE representation_id = (SELECT representation_id FROM branch_points)`,
		`DELETE FROM worlds WHERE world_id = (SELECT world_id FROM branch_points)`,
		`DELETE FROM representations WHERE representation_id = (SELECT representation_id FROM branch_points)`,
		`DELETE FROM owner_representations WHERE owner_id = (SELECT owner_id FROM branch_points)`,
		`UPDATE manifest_entries SET contribution = zeroblob(16) WHERE position = 0`,
		`UPDATE generations SET records = records + 1 WHERE generation = 1`,
		`UPDATE generations SET state = 'collected' WHERE generation = 1`,
		`UPDATE shards SET digest = zeroblob(32)`,
		`DELETE FROM generations WHERE generation = 1`,
	} {
		ctx := t.Context()
		dir := makeStore(t, Options{})
		c, err := Open(ctx, Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		l := newLog(t, c)
		b, err := c.CreateBranchPoint(ctx, "b", l.publish(l.rotate()...).Head)
		if err != nil {
			t.Fatal(err)
		}
		l.publish(l.rotate()...)
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
		db := shell(t, dir)
		db.SetMaxOpenConns(1)
		if _, err := db.ExecContext(ctx, `PRAGMA foreign_keys = 0`); err != nil {
			t.Fatal(err)
		}
		tamper(t, c, db, func(ctx context.Context, tx *writeTx) error { _, err := tx.ExecContext(ctx, damage); return err })
		if c, err = Open(ctx, Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		_, err1 := c.BranchPoint(ctx, "b")
		_, err2 := c.HistoryOf(ctx, b.RepresentationID)
		if err := errors.Join(err1, err2); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", damage, err)
		}
		findings := 0
		if err := c.Check(ctx, func(string) { findings++ }); err != nil || findings == 0 {
			t.Errorf("%s: %d findings, %v", damage, findings, err)
		}
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
