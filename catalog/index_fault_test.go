package catalog

import (
	"context"
	"fmt"
	"testing"
)

// TestKeepingCommits: whichever commit of a base that keeps an object goes wrong, the
// store is as before it or as after it: rows, vectors, progress and what is retained are
// never apart.
func TestKeepingCommits(t *testing.T) {
	l := indexedStore(t, Creation{}, 2)
	job := l.segmentJob()
	l.mustInstall(l.indexes(l.covering(job, allIndexes...)))
	if err := l.c.EndJob(t.Context(), job.ID, 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	l.publish(l.rotateMany(1)...)
	collectAll(t, l.c)
	base := copied(t, l.c)
	keepOnce := func(ctx context.Context, c *Catalog) error {
		l := newLog(t, c)
		s := l.stateNow()
		o := BaseContribution{ObjectID: s.Base[0].ObjectID, Sum: s.Base[0].Sum, Deleted: firstDeleted(s.Base[0], 1), Live: append([]FragmentState{}, s.Base[0].Live...)}
		o.Live[1].Rows--
		sum := mustAdd(t, l.covered(3), negative(o.Sum))
		job, err := c.StartJob(ctx, "compact", "")
		if err != nil {
			return err
		}
		r, err := c.ReserveObject(ctx, job.ID)
		if err != nil {
			return err
		}
		if err := c.SealBase(ctx, baseSealOf(r, 3, 0)); err != nil {
			return err
		}
		b := baseJob{base: Base{LSN: 3, Steps: l.steps(3), Objects: []BaseContribution{{ObjectID: r.ObjectID, Sum: sum}}}}
		l.live(&b)
		b.base.Objects = append(b.base.Objects, o)
		if err := adoptOnce(ctx, c, b.publication(s.Timeline)); err != nil {
			return err
		}
		return c.EndJob(ctx, job.ID, 1, 1, nil)
	}
	for n, step := range compactionSteps[:8] {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				ctx := t.Context()
				c := openStore(t, Options{Dir: interrupt(t, base, step, mode, keepOnce)})
				done := n
				if mode != "before" {
					done++
				}
				l := newLog(t, c)
				before := l.stateNow()
				adopted := done >= 6
				if adopted != (before.BaseLSN == 3) || adopted != (len(before.Base) == 2) || adopted != (len(before.Retained) == 1) ||
					adopted != (before.IndexState.Compacted[0].Generation == 3) || adopted != (before.Base[len(before.Base)-1].Deleted[1] != nil) || l.position(tableA) != 2 {
					t.Errorf("%d steps done: %+v", done, before)
				}
				l.sound()
				if _, err := c.ResolvePublications(ctx); err != nil {
					t.Fatal(err)
				}
				if _, err := c.AbandonJobs(ctx); err != nil {
					t.Fatal(err)
				}
				if after := l.stateNow(); fmt.Sprint(after) != fmt.Sprint(before) {
					t.Errorf("settling changed the state:\n%+v\n%+v", before, after)
				}
				if n := collectAll(t, c); (n == 1) != (!adopted && done >= 2) || n > 1 {
					t.Errorf("%d collected after %d steps", n, done)
				}
				if !adopted {
					if err := keepOnce(ctx, c); err != nil {
						t.Fatal(err)
					}
				}
				if s := l.stateNow(); s.BaseLSN != 3 || len(s.Retained) != 1 {
					t.Errorf("%+v", s)
				}
				l.sound()
			})
		}
	}
}

// TestActivationCommits: an activation that goes wrong has both feature words or none,
// and is done again.
func TestActivationCommits(t *testing.T) {
	c, _ := newStore(t, Creation{IndexCatchup: "legacy"})
	l := newLog(t, c)
	l.publish(l.rotateMany(2)...)
	was := l.stateNow()
	base := copied(t, c)
	activate := func(ctx context.Context, c *Catalog) error {
		_, err := c.ActivateIndexCatchup(ctx, MainTimeline)
		return err
	}
	for _, mode := range []string{"before", "after", "killed"} {
		t.Run(mode, func(t *testing.T) {
			c := openStore(t, Options{Dir: interrupt(t, base, "activate-index-catchup", mode, activate)})
			l := newLog(t, c)
			for i := range 2 {
				s := l.stateNow()
				done := int64(0)
				if i > 0 || mode != "before" {
					done = FeatureIndexCatchup
				}
				if s.IndexState.ReaderFeatures != done || s.IndexState.WriterFeatures != done || (s.Timeline.Revision > was.Timeline.Revision) != (done != 0) ||
					fmt.Sprint(s.Generations) != fmt.Sprint(was.Generations) || fmt.Sprint(s.Timeline.Fingerprint) != fmt.Sprint(was.Timeline.Fingerprint) {
					t.Errorf("%+v", s)
				}
				l.sound()
				if err := activate(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			if n := collectAll(t, c); n != 0 {
				t.Errorf("%d collected", n)
			}
		})
	}
}
