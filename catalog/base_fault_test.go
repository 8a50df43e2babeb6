package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// compactionSteps are the commits from a head to one that reads a base, with what it
// replaced collected.
var compactionSteps = []string{"start-job", "reserve-object", "seal-base", "prepare-publication", "begin-publication", "adopt-publication", "retire-publication", "end-job", "claim", "collected"}

// compactOnce runs them on the store of compactedStore, and returns the first error.
func compactOnce(t *testing.T) func(ctx context.Context, c *Catalog) error {
	return func(ctx context.Context, c *Catalog) error {
		l := newLog(t, c)
		head, sum := l.stateNow().Timeline, l.covered(4)
		job, err := c.StartJob(ctx, "compact", "")
		if err != nil {
			return err
		}
		r, err := c.ReserveObject(ctx, job.ID)
		if err != nil {
			return err
		}
		if err := c.SealBase(ctx, baseSealOf(r, 4, 0)); err != nil {
			return err
		}
		if err := adoptOnce(ctx, c, Publication{TimelineID: head.ID, ExpectedRevision: head.Revision, ExpectedRepresentation: head.RepresentationID,
			Base: &Base{LSN: 4, Objects: []BaseContribution{{ObjectID: r.ObjectID, Sum: sum}}}}); err != nil {
			return err
		}
		if err := c.EndJob(ctx, job.ID, 1, 1, nil); err != nil {
			return err
		}
		return collectOnce(ctx, c)
	}
}

func collectOnce(ctx context.Context, c *Catalog) error {
	list, err := c.Garbage(ctx, 100)
	if err != nil || len(list) == 0 {
		return err
	}
	claimed, err := c.Claim(ctx, idsOf(list))
	if err != nil {
		return err
	}
	return c.Collected(ctx, idsOf(claimed))
}

// TestCompactionCommits: whichever commit of a compaction goes wrong, the store is as
// before it or as after it. An open settles what is left, and what was written in
// vain or replaced is collected.
func TestCompactionCommits(t *testing.T) {
	base := compactedStore(t)
	for n, step := range compactionSteps {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				dir := interrupt(t, base, step, mode, compactOnce(t))
				done := n // steps that took effect
				if mode != "before" {
					done++
				}
				c := openStore(t, Options{Dir: dir})
				l := newLog(t, c)
				before := l.stateNow() // before anything is resolved
				adopted := done >= 6
				if adopted != (before.BaseLSN == 4 && len(before.Base) == 1) || adopted == (before.BaseLSN == 2 && len(before.Base) == 2) {
					t.Errorf("%d steps done: base %+v", done, before.Base)
				}
				if err := c.Check(ctx, func(text string) { t.Errorf("check: %s", text) }); err != nil {
					t.Fatal(err)
				}
				checkGarbageAgrees(t, c)
				if list, err := c.Garbage(ctx, 100); err != nil || done < 6 && len(list) != 0 {
					t.Errorf("garbage after %d steps: %v, %v", done, list, err)
				}
				if resolved, err := c.ResolvePublications(ctx); err != nil || (resolved == 1) != (done >= 4 && done < 7) {
					t.Errorf("resolved %d, %v", resolved, err)
				}
				if abandoned, err := c.AbandonJobs(ctx); err != nil || (abandoned == 1) != (done >= 1 && done < 8) {
					t.Errorf("abandoned %d, %v", abandoned, err)
				}
				if after := l.stateNow(); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("settling changed the state:\n%+v\n%+v", before, after)
				}
				want := 0
				switch {
				case adopted && done < 10:
					want = 4 // two base objects and two generations
				case !adopted && done >= 2:
					want = 1 // written in vain
				}
				checkGarbageAgrees(t, c)
				list, err := c.Garbage(ctx, 100)
				if err != nil || len(list) != want {
					t.Errorf("garbage %+v, want %d; %v", list, want, err)
				}
				for _, o := range list {
					if o.Rooted || (o.State == "gc_claimed") != (done == 9) || o.Path != ObjectPath(o.ID, o.Kind) {
						t.Errorf("garbage %+v after %d steps", o, done)
					}
				}
				if n := collectAll(t, c); n != want {
					t.Errorf("%d collected, want %d", n, want)
				}
				if !adopted {
					if err := compactOnce(t)(ctx, c); err != nil {
						t.Fatal(err)
					}
				}
				checkCompacted(t, l)
			})
		}
	}
}

// checkGarbageAgrees compares Garbage with the views that say the same.
func checkGarbageAgrees(t *testing.T, c *Catalog) {
	t.Helper()
	list, err := c.Garbage(t.Context(), 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	var want []int64
	if err := c.reads.Select(&want, `SELECT object_id FROM objects WHERE state = 'gc_claimed' UNION ALL SELECT object_id FROM gc_candidates`); err != nil {
		t.Fatal(err)
	}
	got := idsOf(list)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("garbage %v, views say %v", got, want)
	}
}

// checkCompacted expects the base of LSN 4 as the head, generation 5 behind it, and
// nothing left over.
func checkCompacted(t *testing.T, l *log) {
	t.Helper()
	s := l.stateNow()
	if s.BaseLSN != 4 || len(s.Base) != 1 || len(s.Generations) != 2 || s.Generations[0].Generation != 5 || s.Generations[0].InHead {
		t.Errorf("state %+v", s)
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM objects`:                                        3,
		`SELECT count(*) FROM blob_versions`:                                  2,
		`SELECT count(*) FROM fragments`:                                      3,
		`SELECT count(*) FROM seal_receipts`:                                  2,
		`SELECT count(*) FROM gc_work`:                                        0,
		`SELECT count(*) FROM owner_objects`:                                  2,
		`SELECT count(*) FROM owner_blobs`:                                    0,
		`SELECT count(*) FROM owner_representations`:                          1,
		`SELECT count(*) FROM representations`:                                1,
		`SELECT count(*) FROM worlds`:                                         1,
		`SELECT count(*) FROM manifest_entries`:                               1,
		`SELECT count(*) FROM jobs WHERE state NOT IN ('done','failed')`:      0,
		`SELECT count(*) FROM owners WHERE kind = 'job' AND state = 'active'`: 0,
		`SELECT count(*) FROM apparently_unowned_objects`:                     0,
	} {
		if got := one64(l.t, l.c, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	if list, err := l.c.Garbage(t.Context(), 10); err != nil || len(list) != 0 {
		t.Errorf("garbage: %v, %v", list, err)
	}
}

// TestCompactionResolution interrupts the settling of a compaction whose adoption had
// begun.
func TestCompactionResolution(t *testing.T) {
	lost := interrupt(t, compactedStore(t), "adopt-publication", "before", compactOnce(t))
	settle := func(ctx context.Context, c *Catalog) error {
		if _, err := c.ResolvePublications(ctx); err != nil {
			return err
		}
		_, err := c.AbandonJobs(ctx)
		return err
	}
	for _, step := range []string{"reconcile-publications", "resolve-publications", "retire-publications", "abandon-jobs"} {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				c := openStore(t, Options{Dir: interrupt(t, lost, step, mode, settle)})
				l := newLog(t, c)
				settled := step == "abandon-jobs" && mode != "before"
				// While something is not settled, the object is retained, or the claim is refused.
				if list, err := c.Garbage(ctx, 10); err != nil || (len(list) == 1) != settled {
					t.Errorf("garbage %v, %v", list, err)
				}
				frozen := step == "reconcile-publications" && mode != "before" || step == "resolve-publications" && mode == "before"
				all := idsOfObjects(t, c)
				claimed, err := c.Claim(ctx, all)
				if frozen {
					wantCode(t, err, CodeGC)
				} else if err != nil || (len(claimed) == 1) != settled {
					t.Errorf("claimed %v, %v", claimed, err)
				}
				if err := settle(ctx, c); err != nil {
					t.Fatal(err)
				}
				if n := collectAll(t, c); n != 1 {
					t.Errorf("%d collected", n)
				}
				if err := compactOnce(t)(ctx, c); err != nil {
					t.Fatal(err)
				}
				checkCompacted(t, l)
			})
		}
	}
}

func idsOfObjects(t *testing.T, c *Catalog) []int64 {
	t.Helper()
	list, err := c.Objects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return idsOf(list)
}

// TestCompactionConflict: a compaction that was built against a head that moved on
// installs nothing, and what it wrote is collected.
func TestCompactionConflict(t *testing.T) {
	ctx := t.Context()
	c := openStore(t, Options{Dir: compactedStore(t)})
	l := newLog(t, c)
	job := l.compact(4, 1)
	a := l.begin(job.publication(l.stateNow().Timeline))
	l.next[l.state.Shards[0].ID] = 5
	wantCode(t, c.EndJob(ctx, job.job.ID+4711, 0, 0, nil), CodeUnknown)
	// Another one is adopted meanwhile; only one attempt of a timeline may be under way.
	_, err := ptr(Prepared{a.attempt}).Begin(ctx)
	wantCode(t, err, CodeState)
	if err := a.Abandon(ctx); err != nil {
		t.Fatal(err)
	}
	prepared := l.prepare(job.publication(l.stateNow().Timeline))
	l.publish(ShardGeneration{l.state.Shards[0].ID, 5})
	if a, err = prepared.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	_, err = a.Adopt(ctx)
	var conflict *ConflictError
	if wantCode(t, err, CodeConflict); !errors.As(err, &conflict) {
		t.Errorf("%v", err)
	}
	if err := a.Abandon(ctx); err != nil {
		t.Fatal(err)
	}
	if s := l.stateNow(); s.BaseLSN != 2 || !s.Generations[2].InHead {
		t.Errorf("%+v", s)
	}
	// It can be prepared again on the new head.
	l.publishBase(l.stateNow().Timeline, job)
	if s := l.stateNow(); s.BaseLSN != 4 || !s.Generations[2].InHead {
		t.Errorf("%+v", s)
	}
	if n := collectAll(t, c); n != 4 {
		t.Errorf("%d collected", n)
	}
}
