package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
)

// idleStore is a closed store of an idle fork: of main before its merge, or behind it.
func idleStore(t *testing.T, merged bool) (dir string) {
	t.Helper()
	ctx := t.Context()
	dir = makeStore(t, Options{})
	c, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l, _ := idleFork(t, c)
	if merged {
		l.merge(2)
		collectAll(t, c)
	}
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shareSteps are the commits from a head to one that reads another one's base.
var shareSteps = []string{"start-job", "retain-merge", "prepare-publication", "begin-publication", "adopt-publication", "retire-publication", "end-job"}

// shareOnce runs them for child and returns the first error.
func shareOnce(ctx context.Context, c *Catalog) error {
	s, err := c.StateOf(ctx, "child")
	if err != nil {
		return err
	}
	head := s.Timeline
	job, err := c.StartJob(ctx, "compact", "")
	if err != nil {
		return err
	}
	files, ok, err := c.RetainMerge(ctx, MergeRequest{Head: head, LSN: head.LSN, Recipe: theRecipe}, job.ID)
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("there is no merge")
	}
	base := baseOf(head.LSN, files)
	if err := adoptOnce(ctx, c, Publication{TimelineID: head.ID, ExpectedRevision: head.Revision, ExpectedRepresentation: head.RepresentationID, Base: &base}); err != nil {
		return err
	}
	return c.EndJob(ctx, job.ID, 1, 1, nil)
}

// TestSharedMergeCommits: whichever commit goes wrong while a base is adopted from
// another timeline, the head is as before it or as after it, the merge is kept as
// long as it is of use, and no object of it goes.
func TestSharedMergeCommits(t *testing.T) {
	base := idleStore(t, true)
	for n, step := range shareSteps {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				dir := interrupt(t, base, step, mode, shareOnce)
				done := n // steps that took effect
				if mode != "before" {
					done++
				}
				c := openStore(t, Options{Dir: dir})
				l, child := newLog(t, c), newLogOf(t, c, "child")
				main, before := l.stateNow(), child.stateNow()
				adopted := done >= 5
				if adopted != (before.BaseLSN == 2) || len(main.Base) != 2 {
					t.Errorf("%d steps done: %+v", done, before)
				}
				merges := int64(1)
				if adopted {
					merges = 0
				}
				checkMergeRows(t, c, merges, merges)
				checkGarbageAgrees(t, c)
				if resolved, err := c.ResolvePublications(ctx); err != nil || (resolved == 1) != (done >= 3 && done < 6) {
					t.Errorf("resolved %d, %v", resolved, err)
				}
				if abandoned, err := c.AbandonJobs(ctx); err != nil || (abandoned == 1) != (done >= 1 && done < 7) {
					t.Errorf("abandoned %d, %v", abandoned, err)
				}
				if after := child.stateNow(); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("settling changed the state:\n%+v\n%+v", before, after)
				}
				checkMergeRows(t, c, merges, merges)
				collectAll(t, c)
				if !adopted {
					if err := shareOnce(ctx, c); err != nil {
						t.Fatal(err)
					}
				}
				if now := child.stateNow(); fmt.Sprint(now.Base) != fmt.Sprint(main.Base) || fmt.Sprint(l.stateNow().Timeline, l.stateNow().Base) != fmt.Sprint(main.Timeline, main.Base) {
					t.Errorf("%+v", now)
				}
				checkMergeRows(t, c, 0, 0)
				collectAll(t, c)
				if n := one64(t, c, `SELECT count(*) FROM objects WHERE state = 'sealed'`); n != 2 {
					t.Errorf("%d objects in the end", n)
				}
			})
		}
	}
}

// TestKeptMergeCommits: a merge is known from the commit on that makes its base the
// head, and not before.
func TestKeptMergeCommits(t *testing.T) {
	base := idleStore(t, false)
	for _, step := range []string{"begin-publication", "adopt-publication", "retire-publication"} {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				dir := interrupt(t, base, step, mode, func(ctx context.Context, c *Catalog) error {
					l := newLog(t, c)
					b := l.compact(2, 2)
					b.base.Recipe = theRecipe
					return adoptOnce(ctx, c, b.publication(l.stateNow().Timeline))
				})
				c := openStore(t, Options{Dir: dir})
				l, child := newLog(t, c), newLogOf(t, c, "child")
				merges := int64(0)
				if l.stateNow().BaseLSN == 2 {
					merges = 1
				}
				if step == "adopt-publication" && merges == 1 != (mode != "before") {
					t.Errorf("%d merges", merges)
				}
				checkMergeRows(t, c, merges, merges)
				if _, err := c.ResolvePublications(ctx); err != nil {
					t.Fatal(err)
				}
				if _, err := c.AbandonJobs(ctx); err != nil {
					t.Fatal(err)
				}
				collectAll(t, c)
				checkMergeRows(t, c, merges, merges)
				if merges == 1 {
					child.adoptShared()
				}
			})
		}
	}
}

// TestRetainMergeAgainstClaim lets a timeline that retains a merge race with one that
// lets go of it and claims its objects: exactly one of them wins.
func TestRetainMergeAgainstClaim(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	l.publish(l.rotate()...)
	retained := 0
	for round := range rounds {
		head := l.publish(l.rotate()...).Head
		child := forkOf(t, l, fmt.Sprint("child", round), head)
		var ids []int64
		for _, f := range l.merge(2).Base {
			ids = append(ids, f.ObjectID)
		}
		next := l.publish(l.rotate()...).Head
		again := l.compact(next.LSN, 1)
		attempt := l.begin(again.publication(next))
		job, err := c.StartJob(ctx, "compact", "")
		if err != nil {
			t.Fatal(err)
		}
		start := child.stateNow().Timeline
		var files []BaseFile
		var ok bool
		var claimed []Object
		var errs [2]error
		racers := []func(){
			func() {
				files, ok, errs[0] = c.RetainMerge(ctx, MergeRequest{Head: start, LSN: start.LSN, Recipe: theRecipe}, job.ID)
			},
			func() {
				adopted, err := attempt.Adopt(ctx)
				if err == nil {
					err = adopted.Retire(ctx)
				}
				if err == nil {
					claimed, err = c.Claim(ctx, ids)
				}
				errs[1] = err
			},
		}
		// Now and then one is over before the other one begins.
		var wg sync.WaitGroup
		wg.Go(racers[round%2])
		if round%5 < 2 {
			wg.Wait()
		}
		wg.Go(racers[1-round%2])
		wg.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		if ok != (len(claimed) == 0) || ok != (len(files) == 2) {
			t.Fatalf("round %d: retained %t %+v, claimed %+v", round, ok, files, claimed)
		}
		if ok {
			retained++
			// The base is still good although nobody else has it any more.
			base := baseOf(start.LSN, files)
			child.adoptAndRetire(Publication{TimelineID: start.ID, ExpectedRevision: start.Revision, ExpectedRepresentation: start.RepresentationID, Base: &base})
		} else if err := c.Collected(ctx, idsOf(claimed)); err != nil {
			t.Fatal(err)
		}
		for _, id := range []int64{job.ID, again.job.ID} {
			if err := c.EndJob(ctx, id, 0, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		if n := one64(t, c, `SELECT count(*) FROM completed_merges`); n != 0 {
			t.Fatalf("round %d: %d merges are left", round, n)
		}
		if err := c.DropTimeline(ctx, child.name); err != nil {
			t.Fatal(err)
		}
		collectAll(t, c)
	}
	t.Logf("%d of %d rounds were the merge's", retained, rounds)
	if retained == 0 || retained == rounds {
		t.Errorf("%d of %d rounds were the merge's, and some must be", retained, rounds)
	}
}
