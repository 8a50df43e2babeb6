package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// forked is a store of two shards with two published cuts, a branch point of the
// second one, and a third cut published behind it.
func forked(t *testing.T) (c *Catalog, l *log, b BranchPoint) {
	t.Helper()
	c, _ = newStore(t, Creation{Shards: 2})
	l = newLog(t, c)
	l.publish(l.rotate()...)
	head := l.publish(l.rotate()...).Head
	b, err := c.CreateBranchPoint(t.Context(), "b", head)
	if err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotate()...)
	return c, l, b
}

// TestFork begins timelines with a head and with a branch point: each goes on with
// the numbers of its parent and publishes and compacts by itself.
func TestFork(t *testing.T) {
	ctx := t.Context()
	for _, from := range []string{"head", "branch point"} {
		t.Run(from, func(t *testing.T) {
			c, l, b := forked(t)
			parent := l.stateNow()
			r, lsn := ForkRequest{Name: "child", From: parent.Timeline}, int64(3)
			if from != "head" {
				r, lsn = ForkRequest{Name: "child", BranchPoint: "b"}, 2
			}
			made, err := c.Fork(ctx, r)
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.StateOf(ctx, "child")
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(s.Timeline) != fmt.Sprint(made) || made.LSN != lsn || made.Revision != 0 || made.LiveCount != 6*lsn || made.ID == parent.Timeline.ID || fmt.Sprint(s.IndexState) != fmt.Sprint(parent.IndexState) {
				t.Errorf("%+v", made)
			}
			if from == "head" && made.RepresentationID != parent.Timeline.RepresentationID || from != "head" && made.RepresentationID != b.RepresentationID {
				t.Errorf("representation %d", made.RepresentationID)
			}
			for i, sh := range s.Shards {
				p, g := parent.Shards[i], s.Generations[i]
				if sh.ParentShardID != p.ID || sh.ParentGeneration != 3 || sh.ReplayFrom != 4 || sh.CurrentGeneration != 4 || sh.WriterEpoch != 0 || sh.Ordinal != p.Ordinal {
					t.Errorf("%+v of %+v", sh, p)
				}
				if g.Generation != 4 || g.State != GenerationOpen || g.ShardID != sh.ID || g.InHead {
					t.Errorf("%+v", g)
				}
			}
			if after := l.stateNow(); fmt.Sprint(after) != fmt.Sprint(parent) {
				t.Errorf("the parent is %+v, was %+v", after, parent)
			}

			// Both go on.
			child := newLogOf(t, c, "child")
			head := child.publish(child.rotate()...).Head
			l.publish(l.rotate()...)
			h, err := c.HistoryOf(ctx, head.RepresentationID)
			if err != nil || int64(len(h.Generations)) != 2*lsn+2 || len(h.ShardOrdinal) != 4 || h.LSN != lsn+1 || h.ShardOrdinal[s.Shards[1].ID] != 1 {
				t.Errorf("%+v, %v", h, err)
			}
			job := child.compact(lsn, 2)
			child.publishBase(child.stateNow().Timeline, job)
			if s := child.stateNow(); s.BaseLSN != lsn || len(s.Base) != 2 {
				t.Errorf("%+v", s)
			}
			if h, err := c.HistoryOf(ctx, child.stateNow().Timeline.RepresentationID); err != nil || len(h.Generations) != 2 || len(h.ShardOrdinal) != 2 {
				t.Errorf("%+v, %v", h, err)
			}
			if n := collectAll(t, c); n != 0 {
				t.Errorf("%d collected of what the parent has", n)
			}
			list, err := c.Timelines(ctx)
			if err != nil || len(list) != 2 || list[0].Name != "child" || list[1].Name != MainTimeline {
				t.Errorf("%+v, %v", list, err)
			}
			// A grandchild of the child, whose history goes back to main.
			if _, err := c.Fork(ctx, ForkRequest{Name: "grandchild", From: child.stateNow().Timeline}); err != nil {
				t.Fatal(err)
			}
			if s, err := c.StateOf(ctx, "grandchild"); err != nil || s.Shards[0].ParentGeneration != 4 || s.Generations[0].Generation != 5 || s.BaseLSN != lsn {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// TestCheckOfFork: a check verifies what a fork has of its parent.
func TestCheckOfFork(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	c, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	l := newLog(t, c)
	head := l.publish(l.rotate()...).Head
	if _, err := c.Fork(ctx, ForkRequest{Name: "child", From: head}); err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotate()...)
	l.publishBase(l.stateNow().Timeline, l.compact(2, 1))
	tamper(t, c, shell(t, dir), func(ctx context.Context, tx *writeTx) error {
		_, err := tx.ExecContext(ctx, `UPDATE generations SET digest = zeroblob(32) WHERE generation = 1`)
		return err
	})
	var findings []string
	if err := c.Check(ctx, func(text string) { findings = append(findings, text) }); err != nil {
		t.Fatal(err)
	}
	if len(findings) != 2 { // as a generation of main, and in the history of child
		t.Errorf("%q", findings)
	}
}

// TestForkOfNothing: a store without a commit has nothing sealed.
func TestForkOfNothing(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	if _, err := c.Fork(ctx, ForkRequest{Name: "child", From: s.Timeline}); err != nil {
		t.Fatal(err)
	}
	child := newLogOf(t, c, "child")
	if g := child.stateNow().Generations; len(g) != 1 || g[0].Generation != 2 {
		t.Errorf("%+v", g)
	}
	if head := child.publish(child.rotate()...).Head; head.LSN != 1 {
		t.Errorf("%+v", head)
	}
}

func TestForkRefusals(t *testing.T) {
	ctx := t.Context()
	c, l, _ := forked(t)
	head := l.stateNow().Timeline
	for _, name := range []string{"", strings.Repeat("x", 256), "\xff", "a\x00b"} {
		_, err := c.Fork(ctx, ForkRequest{Name: name, From: head})
		wantCode(t, err, CodeEncoding)
	}
	if _, err := c.Fork(ctx, ForkRequest{Name: MainTimeline, From: head}); !errors.Is(err, ErrExists) {
		t.Errorf("name taken: %v", err)
	}
	old := head
	old.Revision--
	if _, err := c.Fork(ctx, ForkRequest{Name: "x", From: old}); !errors.Is(err, ErrConflict) {
		t.Errorf("old head: %v", err)
	}
	if _, err := c.Fork(ctx, ForkRequest{Name: "x", BranchPoint: "none"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("no branch point: %v", err)
	}
	if _, err := c.Fork(ctx, ForkRequest{Name: "x"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("from nothing: %v", err)
	}
	if list, err := c.Timelines(ctx); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestRestore takes a timeline back to a branch point, and on from there.
func TestRestore(t *testing.T) {
	ctx := t.Context()
	c, l, b := forked(t)
	if err := c.ProjectSchema(ctx, Projection{SchemaVersion: 1, Tables: []TableRow{table(40, 1, "orders")}}); err != nil {
		t.Fatal(err)
	}
	was, err := c.HistoryOf(ctx, b.RepresentationID)
	if err != nil {
		t.Fatal(err)
	}
	undone := l.rotate() // sealed, and not published: the commit at LSN 4
	before := l.stateNow()
	head, err := c.Restore(ctx, RestoreRequest{Head: before.Timeline, BranchPoint: "b", LSN: 5})
	if err != nil {
		t.Fatal(err)
	}
	s := l.stateNow()
	if fmt.Sprint(s.Timeline) != fmt.Sprint(head) || head.LSN != 5 || head.SchemaVersion != 5 || head.LiveCount != b.LiveCount || head.Revision != before.Timeline.Revision+1 ||
		!bytes.Equal(head.Fingerprint, was.Fingerprint) || head.WorldID == b.WorldID || head.RepresentationID == b.RepresentationID {
		t.Errorf("%+v", head)
	}
	if n := one64(t, c, fmt.Sprintf(`SELECT restored_from FROM worlds WHERE world_id = %d`, head.WorldID)); n != b.RepresentationID {
		t.Errorf("restored from %d", n)
	}
	for _, sh := range s.Shards {
		if sh.ReplayFrom != 5 || sh.CurrentGeneration != 5 {
			t.Errorf("%+v", sh)
		}
	}
	for _, g := range s.Generations {
		if g.InHead != (g.Generation <= 2) {
			t.Errorf("%+v", g)
		}
	}
	now, err := c.HistoryOf(ctx, head.RepresentationID)
	if err != nil || fmt.Sprint(now.Generations) != fmt.Sprint(was.Generations) {
		t.Errorf("%+v, %v", now, err)
	}
	// What was undone, published or not, is garbage: two generations of two shards.
	if n := collectAll(t, c); n != 4 || len(undone) != 2 {
		t.Errorf("%d collected", n)
	}
	// The log goes on behind the restore, at the LSN behind its own.
	l.reload()
	next := l.publish(l.rotate()...).Head
	if next.LSN != 6 || next.LiveCount != b.LiveCount+6 {
		t.Errorf("%+v", next)
	}
	l.publishBase(next, l.compact(6, 2))
	if err := c.DeleteBranchPoint(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if n := collectAll(t, c); n != 6 {
		t.Errorf("%d collected in the end", n)
	}
	if n := one64(t, c, `SELECT count(*) FROM worlds`); n != 1 {
		t.Errorf("%d worlds are left", n)
	}
}

// TestRestoreAgain: two restores to one branch point, one behind the other, and one
// to a branch point that is the head.
func TestRestoreAgain(t *testing.T) {
	ctx := t.Context()
	c, l, _ := forked(t)
	for lsn := int64(10); lsn < 13; lsn++ {
		head := l.stateNow().Timeline
		head, err := c.Restore(ctx, RestoreRequest{Head: head, BranchPoint: "b", LSN: lsn})
		if err != nil || head.LSN != lsn {
			t.Fatalf("%+v, %v", head, err)
		}
	}
	if _, err := c.CreateBranchPoint(ctx, "here", l.stateNow().Timeline); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Restore(ctx, RestoreRequest{Head: l.stateNow().Timeline, BranchPoint: "here", LSN: 13}); err != nil {
		t.Fatal(err)
	}
	l.reload()
	if head := l.publish(l.rotate()...).Head; head.LSN != 14 {
		t.Errorf("%+v", head)
	}
}

func TestRestoreRefusals(t *testing.T) {
	ctx := t.Context()
	c, l, _ := forked(t)
	head := l.stateNow().Timeline
	restore := func(change func(r *RestoreRequest)) error {
		r := RestoreRequest{Head: head, BranchPoint: "b", LSN: 5}
		change(&r)
		_, err := c.Restore(ctx, r)
		return err
	}
	if err := restore(func(r *RestoreRequest) { r.Head.Revision-- }); !errors.Is(err, ErrConflict) {
		t.Errorf("old head: %v", err)
	}
	if err := restore(func(r *RestoreRequest) { r.BranchPoint = "none" }); !errors.Is(err, ErrNotFound) {
		t.Errorf("no branch point: %v", err)
	}
	if err := restore(func(r *RestoreRequest) { r.Head.ID++ }); !errors.Is(err, ErrNotFound) {
		t.Errorf("no timeline: %v", err)
	}
	wantCode(t, restore(func(r *RestoreRequest) { r.LSN = 0 }), CodeRange)
	wantCode(t, restore(func(r *RestoreRequest) { r.LSN = head.LSN }), CodeGeneration)
	l.rotate() // the commit at LSN 4
	wantCode(t, restore(func(r *RestoreRequest) { r.LSN = 4 }), CodeGeneration)
	if after := l.stateNow().Timeline; fmt.Sprint(after) != fmt.Sprint(head) {
		t.Errorf("%+v, was %+v", after, head)
	}
}

// A crash can leave a generation without commits before the current one.
func TestRestoreBeforeTheCurrentGeneration(t *testing.T) {
	ctx := t.Context()
	c, l, _ := forked(t)
	head := l.stateNow().Timeline
	l.rotate() // the commit at LSN 4
	s := l.stateNow()
	shard, current := s.Shards[0].ID, s.Shards[0].CurrentGeneration
	if _, err := c.ReserveGenerations(ctx, ShardGeneration{shard, current + 1}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCurrentGenerations(ctx, ShardGeneration{shard, current + 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Restore(ctx, RestoreRequest{Head: head, BranchPoint: "b", LSN: 5}); err != nil {
		t.Fatal(err)
	}
	for i, after := range l.stateNow().Shards {
		if after.ReplayFrom != s.Shards[i].CurrentGeneration {
			t.Errorf("replay begins at %d, want %d", after.ReplayFrom, s.Shards[i].CurrentGeneration)
		}
	}
}

// TestRestoreIntoSealed: the current generation must be one that can be written to.
func TestRestoreIntoSealed(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	if _, err := c.CreateBranchPoint(ctx, "b", s.Timeline); err != nil {
		t.Fatal(err)
	}
	if err := c.SealGeneration(ctx, sealOf(s.Generations[0])); err != nil {
		t.Fatal(err)
	}
	_, err := c.Restore(ctx, RestoreRequest{Head: s.Timeline, BranchPoint: "b", LSN: 50})
	wantCode(t, err, CodeGeneration)
}

// TestRestoreFromAnotherTimeline takes main to what was done on a fork.
func TestRestoreFromAnotherTimeline(t *testing.T) {
	ctx := t.Context()
	c, l, _ := forked(t)
	if _, err := c.Fork(ctx, ForkRequest{Name: "child", BranchPoint: "b"}); err != nil {
		t.Fatal(err)
	}
	child := newLogOf(t, c, "child")
	tip, err := c.CreateBranchPoint(ctx, "tip", child.publish(child.rotate()...).Head)
	if err != nil {
		t.Fatal(err)
	}
	child.publish(child.rotate()...)
	if _, err := c.CreateBranchPoint(ctx, "later", child.stateNow().Timeline); err != nil {
		t.Fatal(err)
	}
	_, err = c.Restore(ctx, RestoreRequest{Head: l.stateNow().Timeline, BranchPoint: "later", LSN: 4})
	wantCode(t, err, CodeGeneration) // its own commits go up to 4
	if err := c.DeleteBranchPoint(ctx, "later"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Restore(ctx, RestoreRequest{Head: l.stateNow().Timeline, BranchPoint: "tip", LSN: 9}); err != nil {
		t.Fatal(err)
	}
	h, err := c.HistoryOf(ctx, l.stateNow().Timeline.RepresentationID)
	if err != nil || len(h.Generations) != 6 || h.LiveCount != tip.LiveCount || h.LSN != 9 {
		t.Errorf("%+v, %v", h, err)
	}
	if err := c.DeleteBranchPoint(ctx, "tip"); err != nil {
		t.Fatal(err)
	}
	err = c.DropTimeline(ctx, "child")
	var use *InUseError
	if !errors.Is(err, ErrInUse) || !errors.As(err, &use) || !strings.HasPrefix(use.By, `timeline "main" retains generation 4`) {
		t.Errorf("main has its generation: %v", err)
	}
}
