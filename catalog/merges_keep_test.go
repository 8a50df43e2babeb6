package catalog

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMergeIsEvicted: a merge goes with the last one that waits for it, and when no
// head has its base any more, whatever the transaction is that does it. It costs
// nothing: what is collected is what would be without it.
func TestMergeIsEvicted(t *testing.T) {
	ctx := t.Context()
	drop := func(l *log) {
		l.t.Helper()
		if err := l.c.DropTimeline(ctx, l.name); err != nil {
			l.t.Fatal(err)
		}
	}
	restore := func(l *log) {
		l.t.Helper()
		head := l.stateNow().Timeline
		if _, err := l.c.Restore(ctx, RestoreRequest{Head: head, BranchPoint: "b", LSN: 100}); err != nil {
			l.t.Fatal(err)
		}
	}
	type timelines struct{ main, child, second *log }
	for _, x := range []struct {
		name            string
		do              func(t timelines)
		merges, waiting int64
	}{
		{"nothing", func(timelines) {}, 1, 2},
		{"main publishes", func(t timelines) { t.main.publish(t.main.rotate()...) }, 1, 2},
		{"main compacts again", func(t timelines) { t.main.publish(t.main.rotate()...); t.main.merge(1) }, 0, 0},
		{"main is restored", func(t timelines) { restore(t.main) }, 0, 0},
		{"child publishes", func(t timelines) { t.child.publish(t.child.rotate()...) }, 1, 1},
		{"child is restored", func(t timelines) { restore(t.child) }, 1, 1},
		{"child is dropped", func(t timelines) { drop(t.child) }, 1, 1},
		{"child adopts", func(t timelines) { t.child.adoptShared() }, 1, 1},
		{"child compacts by itself", func(t timelines) { t.child.merge(3) }, 1, 1},
		{"child compacts by itself, unshared", func(t timelines) {
			t.child.publishBase(t.child.stateNow().Timeline, t.child.compact(2, 2))
		}, 1, 1},
		{"both adopt", func(t timelines) { t.child.adoptShared(); t.second.adoptShared() }, 0, 0},
		{"both publish", func(t timelines) { t.child.publish(t.child.rotate()...); t.second.publish(t.second.rotate()...) }, 0, 0},
		{"both are dropped", func(t timelines) { drop(t.second); drop(t.child) }, 0, 0},
		{"both are restored", func(t timelines) { restore(t.second); restore(t.child) }, 0, 0},
		{"child adopts, main goes on", func(t timelines) {
			t.child.adoptShared()
			t.main.publish(t.main.rotate()...)
			t.main.merge(1)
		}, 1, 1},
		{"child adopts, both go on", func(t timelines) {
			t.child.adoptShared()
			for _, l := range []*log{t.main, t.child} {
				l.publish(l.rotate()...)
				l.merge(1)
			}
		}, 0, 0},
		{"a fork has the base", func(t timelines) {
			forkOf(t.main.t, t.main, "third", t.main.stateNow().Timeline)
			t.main.publish(t.main.rotate()...)
			t.main.merge(1)
		}, 1, 2},
		{"a fork that had the base is dropped", func(t timelines) {
			third := forkOf(t.main.t, t.main, "third", t.main.stateNow().Timeline)
			t.main.publish(t.main.rotate()...)
			t.main.merge(1)
			drop(third)
		}, 0, 0},
		{"forks of those that wait", func(t timelines) {
			forkOf(t.main.t, t.child, "third", t.child.stateNow().Timeline)
			if _, err := t.main.c.Fork(ctx, ForkRequest{Name: "fourth", BranchPoint: "before"}); err != nil {
				t.main.t.Fatal(err)
			}
		}, 1, 4},
		{"forks of others", func(t timelines) {
			forkOf(t.main.t, t.main, "third", t.main.stateNow().Timeline)
			if _, err := t.main.c.Fork(ctx, ForkRequest{Name: "fourth", BranchPoint: "b"}); err != nil {
				t.main.t.Fatal(err)
			}
		}, 1, 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, _ := newStore(t, Creation{})
			l := newLog(t, c)
			if _, err := c.CreateBranchPoint(ctx, "b", l.publish(l.rotate()...).Head); err != nil {
				t.Fatal(err)
			}
			head := l.publish(l.rotate()...).Head
			if _, err := c.CreateBranchPoint(ctx, "before", head); err != nil {
				t.Fatal(err)
			}
			s := timelines{l, forkOf(t, l, "child", head), forkOf(t, l, "second", head)}
			l.merge(2)
			checkMergeRows(t, c, 1, 2)
			x.do(s)
			checkMergeRows(t, c, x.merges, x.waiting)
			checkGarbageAgrees(t, c)
			collectAll(t, c)
			// Nothing is there that no head and no branch point reaches, but the log's files.
			if n := one64(t, c, `SELECT count(*) FROM objects o WHERE o.state = 'sealed' AND NOT EXISTS (
				SELECT 1 FROM representation_closure r JOIN (SELECT head_representation_id AS id FROM timelines UNION SELECT representation_id FROM branch_points) h ON h.id = r.representation_id
				WHERE r.object_id = o.object_id) AND NOT EXISTS (SELECT 1 FROM owner_objects x WHERE x.object_id = o.object_id)`); n != 0 {
				t.Errorf("%d objects stay without need", n)
			}
			if x.waiting > 0 {
				var name string
				if err := c.reads.Get(&name, `SELECT max(t.name) FROM completed_merge_waiting w JOIN timelines t USING (timeline_id)`); err != nil {
					t.Fatal(err)
				}
				newLogOf(t, c, name).adoptShared()
			}
		})
	}
}

// TestNewerMergeStays: who could not read what another one made, makes it anew, for the
// others, too.
func TestNewerMergeStays(t *testing.T) {
	c, _ := newStore(t, Creation{})
	l, child := idleFork(t, c)
	second := forkOf(t, l, "second", child.stateNow().Timeline)
	main := l.merge(2)
	own := child.merge(3)
	if got := second.adoptShared(); fmt.Sprint(got.Base) != fmt.Sprint(own.Base) || len(own.Base) == len(main.Base) {
		t.Errorf("%+v, want %+v", got.Base, own.Base)
	}
	checkMergeRows(t, c, 0, 0)
}

// TestMergeNotKept: nothing is kept of a base that did not replace the whole head, by no
// recipe, or for nobody.
func TestMergeNotKept(t *testing.T) {
	t.Run("part of the head", func(t *testing.T) {
		c, _ := newStore(t, Creation{})
		l, child := idleFork(t, c)
		b := l.compact(1, 1)
		b.base.Recipe = theRecipe
		l.publishBase(l.stateNow().Timeline, b)
		checkMergeRows(t, c, 0, 0)
		if _, _, ok := child.shared(); ok {
			t.Error("a base of a part was shared")
		}
	})
	t.Run("of an older commit", func(t *testing.T) {
		// A restore has an LSN that no generation has, so the base of an earlier one can
		// replace the whole head, too.
		c, _ := newStore(t, Creation{})
		l := newLog(t, c)
		head := l.publish(l.rotate()...).Head
		if _, err := c.CreateBranchPoint(t.Context(), "b", head); err != nil {
			t.Fatal(err)
		}
		head, err := c.Restore(t.Context(), RestoreRequest{Head: head, BranchPoint: "b", LSN: 100})
		if err != nil {
			t.Fatal(err)
		}
		child := forkOf(t, l, "child", head)
		b := l.compact(50, 1)
		b.base.Recipe = theRecipe
		l.publishBase(head, b)
		checkMergeRows(t, c, 0, 0)
		if _, _, ok := child.shared(); ok {
			t.Error("a base of an older commit was shared")
		}
	})
	t.Run("no recipe", func(t *testing.T) {
		c, _ := newStore(t, Creation{})
		l, _ := idleFork(t, c)
		l.publishBase(l.stateNow().Timeline, l.compact(2, 1))
		checkMergeRows(t, c, 0, 0)
	})
	t.Run("nobody waits", func(t *testing.T) {
		c, _ := newStore(t, Creation{})
		l, child := idleFork(t, c)
		l.publish(l.rotate()...)
		l.merge(2)
		child.merge(1)
		checkMergeRows(t, c, 0, 0)
	})
}

// TestMergeInBackup: a backup has both timelines and no merge.
func TestMergeInBackup(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l, child := idleFork(t, c)
	l.merge(2)
	dir := copied(t, c)
	file := filepath.Join(dir, FileName)
	if _, _, err := PruneCopy(ctx, file); err != nil {
		t.Fatal(err)
	}
	if _, err := RenewCopy(ctx, file, time.Now()); err != nil {
		t.Fatal(err)
	}
	checkMergeRows(t, c, 1, 1)
	own := openStore(t, Options{Dir: dir})
	checkMergeRows(t, own, 0, 0)
	for _, live := range []*log{l, child} {
		if s := newLogOf(t, own, live.name).stateNow(); s.Timeline.LSN != 2 || len(s.Base) != len(live.stateNow().Base) {
			t.Errorf("%s: %+v", live.name, s)
		}
	}
}

// TestMergeExplained: whoever asks why a file stays is told for whom.
func TestMergeExplained(t *testing.T) {
	c, _ := newStore(t, Creation{})
	l, child := idleFork(t, c)
	forkOf(t, l, "second", child.stateNow().Timeline)
	main := l.merge(1)
	_, kept, err := c.Explain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kept {
		if k.ID != main.Base[0].ObjectID {
			continue
		}
		if i := slices.IndexFunc(k.Reasons, func(r Retainer) bool {
			return strings.HasPrefix(r.String(), "cache for timeline child, second, through blob ")
		}); i < 0 || len(k.Reasons) != 2 {
			t.Errorf("%q", k.Reasons)
		}
		return
	}
	t.Errorf("%+v", kept)
}

// TestCheckOfMerge finds what the guards forbid.
func TestCheckOfMerge(t *testing.T) {
	ctx := t.Context()
	for sql, find := range map[string]string{
		`UPDATE completed_merges SET recipe = x'01'`:                                                               "has key",
		`UPDATE completed_merges SET digest = zeroblob(32)`:                                                        "stored digest",
		`UPDATE completed_merge_outputs SET contribution = zeroblob(16) WHERE ordinal = 1`:                         "stored digest",
		`DELETE FROM completed_merge_outputs WHERE ordinal = 0`:                                                    "stored digest",
		`DELETE FROM completed_merge_waiting`:                                                                      "nobody waits",
		`UPDATE completed_merge_waiting SET timeline_id = (SELECT timeline_id FROM timelines WHERE name = 'main')`: `timeline "main" waits`,
		`UPDATE objects SET state = 'quarantined' WHERE object_id IN (SELECT object_id FROM shared_merges)`:        "must be sealed",
		`DELETE FROM completed_merge_waiting; DELETE FROM completed_merge_outputs; DELETE FROM completed_merges`:   "there is no such merge",
	} {
		t.Run(find, func(t *testing.T) {
			c, err := Open(ctx, Options{Dir: makeStore(t, Options{})})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Close(ctx); err != nil {
					t.Error(err)
				}
			}()
			l, _ := idleFork(t, c)
			l.merge(2)
			withoutGuards(t, c, func(ctx context.Context, tx *writeTx) error {
				if _, err := tx.ExecContext(ctx, `PRAGMA defer_foreign_keys = 1`); err != nil {
					return err
				}
				for _, s := range strings.Split(sql, ";") {
					if _, err := tx.ExecContext(ctx, s); err != nil {
						return err
					}
				}
				return nil
			})
			var findings []string
			if err := c.Check(ctx, func(text string) { findings = append(findings, text) }); err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(findings, func(text string) bool { return strings.Contains(text, find) }) {
				t.Errorf("%s: findings %q, none has %q", sql, findings, find)
			}
		})
	}
}

// TestCheckOfMergeWithoutHead finds a merge that keeps files for nobody's head.
func TestCheckOfMergeWithoutHead(t *testing.T) {
	ctx := t.Context()
	c, err := Open(ctx, Options{Dir: makeStore(t, Options{})})
	must(t, err)
	defer func() { must(t, c.Close(ctx)) }()
	l, _ := idleFork(t, c)
	l.merge(2)
	tables := [][2]string{
		{"owners", "kind = 'cache'"},
		{"owner_blobs", "owner_id IN (SELECT owner_id FROM completed_merges)"},
		{"completed_merges", "1"}, {"completed_merge_outputs", "1"}, {"completed_merge_waiting", "1"},
	}
	run := func(form string) {
		t.Helper()
		withoutGuards(t, c, func(ctx context.Context, tx *writeTx) error {
			for _, x := range tables {
				if _, err := tx.ExecContext(ctx, fmt.Sprintf(form, x[0], x[1])); err != nil {
					return err
				}
			}
			return nil
		})
	}
	run(`CREATE TEMP TABLE saved_%[1]s AS SELECT * FROM %[1]s WHERE %[2]s`)
	l.publish(l.rotate()...)
	l.merge(1)
	checkMergeRows(t, c, 0, 0)
	run(`INSERT INTO %[1]s SELECT * FROM temp.saved_%[1]s -- %[2]s`)
	var findings []string
	must(t, c.Check(ctx, func(text string) { findings = append(findings, text) }))
	if len(findings) != 1 || !strings.Contains(findings[0], "no head has them") {
		t.Errorf("findings %q", findings)
	}
}
