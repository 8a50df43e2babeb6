package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// CAT-77: neither the end of the job nor an open lets go of what is in quarantine; an
// operation that is named does, and then it is garbage.
func TestReconcile(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	c := openStore(t, Options{Dir: dir})
	job, list := startJob(t, c, "compact", 3)
	kept, object, plain := list[0].ObjectID, list[1].ObjectID, list[2].ObjectID
	must(t, c.Quarantine(ctx, job.ID, kept, errSync))
	must(t, c.Quarantine(ctx, job.ID, object, errSync))
	operation := JobOperation(job.ID)
	stays := func() {
		t.Helper()
		checkGarbageAgrees(t, c)
		if claimed, err := c.Claim(ctx, []int64{kept, object}); err != nil || len(claimed) != 0 {
			t.Errorf("claimed %v, %v", claimed, err)
		}
		for _, id := range []int64{kept, object} {
			if text := stateAndPurpose(t, c, id); text != "quarantined quarantine" {
				t.Errorf("object %d is %s", id, text)
			}
		}
	}
	wantCode(t, c.Reconcile(ctx, operation, object), CodeRecovery) // it may write yet
	stays()
	must(t, c.EndJob(ctx, job.ID, 0, 1, errSync))
	stays()
	if list, err := c.Garbage(ctx, 10); err != nil || len(list) != 1 || list[0].ID != plain {
		t.Errorf("garbage %v, %v: it is the output that is not in quarantine", list, err)
	}
	if n, err := c.AbandonJobs(ctx); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, x := range []struct {
		operation string
		ids       []int64
		code      Code
	}{
		{"", []int64{object}, CodeEncoding},
		{strings.Repeat("x", maxOperation+1), []int64{object}, CodeEncoding},
		{operation, make([]int64, maxReconciled+1), CodeLimit},
		{operation, []int64{0}, CodeRange},
		{operation, []int64{object, 4711}, CodeUnknown},
		{operation, []int64{object, plain}, CodeState},
	} {
		wantCode(t, c.Reconcile(ctx, x.operation, x.ids...), x.code)
		stays()
	}
	must(t, c.Reconcile(ctx, operation, object, object))
	must(t, c.Reconcile(ctx, operation, object)) // again
	wantCode(t, c.Reconcile(ctx, "another", object), CodeImmutable)
	if n := one64(t, c, `SELECT count(*) FROM objects WHERE object_id = ? AND state = 'quarantined' AND reconciled_by = CAST(? AS BLOB)`, object, operation); n != 1 {
		t.Error("the operation is not recorded")
	}
	checkGarbageAgrees(t, c)
	if n := one64(t, c, `SELECT count(*) FROM owners WHERE kind = 'job' AND state = 'retiring'`); n != 1 {
		t.Errorf("%d owners wait", n)
	}
	must(t, c.Reconcile(ctx, strings.Repeat("x", maxOperation), kept))
	if n := one64(t, c, `SELECT count(*) FROM owners WHERE kind = 'job' AND state = 'released'`); n != 1 {
		t.Errorf("%d owners are released", n)
	}
	if n := collectAll(t, c); n != 3 {
		t.Errorf("%d collected", n)
	}
	for _, r := range list {
		if n := one64(t, c, `SELECT count(*) FROM identity_tombstones WHERE object_id = ? AND relative_path = ?`, r.ObjectID, r.Path); n != 1 {
			t.Errorf("object %d left no tombstone", r.ObjectID)
		}
	}
	must(t, c.Check(ctx, func(text string) { t.Errorf("check: %s", text) }))
}

// TestReconcileLooksAround: the evidence costs nothing that grows with what is retained.
func TestReconcileLooksAround(t *testing.T) {
	c, _ := newStore(t, Creation{})
	var plan []struct {
		ID      int64  `db:"id"`
		Parent  int64  `db:"parent"`
		NotUsed int64  `db:"notused"`
		Detail  string `db:"detail"`
	}
	must(t, c.reads.Select(&plan, `EXPLAIN QUERY PLAN `+reachedQuery, "[1]"))
	for _, step := range plan {
		if strings.HasPrefix(step.Detail, "SCAN") && !strings.HasPrefix(step.Detail, "SCAN i ") {
			t.Error(step.Detail)
		}
	}
	if len(plan) < 5 {
		t.Errorf("%+v", plan)
	}
}

// TestReconcileRefuses what it cannot see to be unreachable, and while outcomes are
// being established.
func TestReconcileRefuses(t *testing.T) {
	ctx := t.Context()
	c, err := Open(ctx, Options{Dir: makeStore(t, Options{})}) // a check would find what is edited here
	must(t, err)
	t.Cleanup(func() { must(t, c.Close(context.Background())) })
	l := newLog(t, c)
	l.publish(l.rotateMany(2)...)
	rooted := orphan(t, c, 1)
	edit(t, c.options.Dir, objectUpdate(rooted, "state = 'quarantined'"), newOwner("cache"),
		fmt.Sprintf(`INSERT INTO owner_objects VALUES (%d, %d, 'quarantine')`, fixFree, rooted))
	wantCode(t, c.Reconcile(ctx, "test", rooted), CodeRecovery)

	// Reached by nothing but a branch point, a blob's root, or what depends on it.
	inPoint := l.stateNow().Generations[0].ObjectID
	_, err = c.CreateBranchPoint(ctx, "b", l.stateNow().Timeline)
	must(t, err)
	l.publishBase(l.stateNow().Timeline, l.compact(2, 1))
	edit(t, c.options.Dir, objectUpdate(inPoint, "state = 'quarantined'"))
	wantCode(t, c.Reconcile(ctx, "test", inPoint), CodeRecovery)
	must(t, c.DeleteBranchPoint(ctx, "b"))
	must(t, c.Reconcile(ctx, "test", inPoint))
	inHead := l.stateNow().Base[0].ObjectID
	for what, statement := range map[string]string{
		"a blob's root": fmt.Sprintf(`INSERT INTO owner_blobs SELECT %d, blob_id FROM blob_versions WHERE native_object_id = ?`, fixFree),
		"a dependent":   fmt.Sprintf(`INSERT INTO object_edges VALUES (%d, ?, 'value')`, inHead),
	} {
		b := l.compact(2, 1)
		must(t, c.EndJob(ctx, b.job.ID, 1, 1, nil))
		id := b.reserved[0].ObjectID
		withoutGuards(t, c, func(ctx context.Context, tx *writeTx) error {
			_, err := tx.ExecContext(ctx, statement, id)
			_, err2 := tx.ExecContext(ctx, objectUpdate(id, "state = 'quarantined'"))
			return errors.Join(err, err2)
		})
		if err := c.Reconcile(ctx, "test", id); !errors.Is(err, CodeRecovery) {
			t.Errorf("%s: %v", what, err)
		}
	}
	job, list := startJob(t, c, "compact", 1)
	must(t, c.Quarantine(ctx, job.ID, list[0].ObjectID, errSync))
	must(t, c.EndJob(ctx, job.ID, 0, 0, errSync))
	edit(t, c.options.Dir, objectUpdate(inHead, "state = 'quarantined'"))
	wantCode(t, c.Reconcile(ctx, "test", inHead), CodeRecovery)
	edit(t, c.options.Dir, freeze)
	wantCode(t, c.Reconcile(ctx, JobOperation(job.ID), list[0].ObjectID), CodeGC)
	if n := one64(t, c, `SELECT count(*) FROM objects WHERE reconciled_by IS NOT NULL`); n != 1 {
		t.Errorf("%d objects are reconciled", n)
	}
}

// quarantineSteps are the commits of a job that has to quarantine an output, up to the
// record that the file is gone.
var quarantineSteps = []string{"start-job", "reserve-object", "quarantine", "end-job", "reconcile", "claim", "collected"}

func quarantineOnce(ctx context.Context, c *Catalog) error {
	job, err := c.StartJob(ctx, "compact", "")
	if err != nil {
		return err
	}
	r, err := c.ReserveObject(ctx, job.ID)
	if err != nil {
		return err
	}
	if err := c.Quarantine(ctx, job.ID, r.ObjectID, errSync); err != nil {
		return err
	}
	if err := c.EndJob(ctx, job.ID, 0, 1, errSync); err != nil {
		return err
	}
	return settleQuarantine(ctx, c)
}

// settleQuarantine reconciles what jobs that are over quarantined, and collects.
func settleQuarantine(ctx context.Context, c *Catalog) error {
	list, err := c.Reconcilable(ctx, 100)
	if err != nil {
		return err
	}
	for i := range list {
		if err := c.Reconcile(ctx, JobOperation(list[i].JobID), list[i].ID); err != nil {
			return err
		}
	}
	return collectOnce(ctx, c)
}

// TestQuarantineCommits: whichever commit goes wrong, on the way into quarantine or
// out of it, nothing is sealed or lost, and an open that settles what is left by the
// name of the job removes it.
func TestQuarantineCommits(t *testing.T) {
	base := compactedStore(t)
	for n, step := range quarantineSteps {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				done := n // steps that took effect
				if mode != "before" {
					done++
				}
				c := openStore(t, Options{Dir: interrupt(t, base, step, mode, quarantineOnce)})
				l := newLog(t, c)
				before := l.stateNow()
				var object int64
				if done >= 2 {
					object = one64(t, c, `SELECT max(object_id) FROM (SELECT object_id FROM objects UNION SELECT object_id FROM identity_tombstones)`)
				}
				if n, err := c.AbandonJobs(ctx); err != nil || (n == 1) != (done >= 1 && done < 4) {
					t.Errorf("abandoned %d, %v", n, err)
				}
				want := []string{"gone", "gone", "reserved unrooted", "quarantined quarantine", "quarantined quarantine", "quarantined unrooted", "gc_claimed unrooted", "gone"}[done]
				if got := stateAndPurpose(t, c, object); got != want {
					t.Errorf("after %d steps: %q, want %q", done, got, want)
				}
				checkGarbageAgrees(t, c)
				if list, err := c.Garbage(ctx, 10); err != nil || (len(list) == 1) != (done == 2 || done == 5 || done == 6) {
					t.Errorf("garbage %v, %v", list, err)
				}
				if list, err := c.Reconcilable(ctx, 10); err != nil || (len(list) == 1) != (done == 3 || done == 4) ||
					len(list) == 1 && !strings.Contains(list[0].Cause, errSync.Error()) {
					t.Errorf("quarantined %+v, %v", list, err)
				}
				must(t, c.Check(ctx, func(text string) { t.Errorf("check: %s", text) }))
				must(t, settleQuarantine(ctx, c))
				if done >= 2 {
					if got := stateAndPurpose(t, c, object); got != "gone" {
						t.Errorf("at last it is %q", got)
					}
				}
				if after := l.stateNow(); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("settling changed the state:\n%+v\n%+v", before, after)
				}
				if err := compactOnce(t)(ctx, c); err != nil {
					t.Fatal(err)
				}
				checkCompacted(t, l)
			})
		}
	}
}
