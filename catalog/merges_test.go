package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// theRecipe of the bases of these tests.
const theRecipe = "test/1"

// idleFork is a store of two shards with two published cuts whose timelines main
// and child have the same head.
func idleFork(t testing.TB, c *Catalog) (l, child *log) {
	t.Helper()
	l = newLog(t, c)
	l.publish(l.rotate()...)
	head := l.publish(l.rotate()...).Head
	return l, forkOf(t, l, "child", head)
}

// forkOf makes a timeline on the head of another one.
func forkOf(t testing.TB, l *log, name string, head Timeline) *log {
	t.Helper()
	if _, err := l.c.Fork(context.Background(), ForkRequest{Name: name, From: head}); err != nil {
		t.Fatal(err)
	}
	return newLogOf(t, l.c, name)
}

// merge makes and adopts a base of the head that others may adopt, too.
func (l *log) merge(n int) State {
	l.t.Helper()
	head := l.stateNow().Timeline
	b := l.compact(head.LSN, n)
	b.base.Recipe = theRecipe
	l.publishBase(head, b)
	return l.stateNow()
}

// shared starts a job and retains the merge of the head, if there is one.
func (l *log) shared() (b baseJob, files []BaseFile, ok bool) {
	l.t.Helper()
	ctx := context.Background()
	job, err := l.c.StartJob(ctx, "compact", "")
	if err != nil {
		l.t.Fatal(err)
	}
	head := l.stateNow().Timeline
	files, ok, err = l.c.RetainMerge(ctx, MergeRequest{Head: head, LSN: head.LSN, Recipe: theRecipe}, job.ID)
	if err != nil {
		l.t.Fatal(err)
	}
	return baseJob{job: job, base: baseOf(head.LSN, files)}, files, ok
}

// baseOf is the base that the files of another timeline are.
func baseOf(lsn int64, files []BaseFile) Base {
	b := Base{LSN: lsn, Recipe: theRecipe}
	for _, f := range files {
		b.Objects = append(b.Objects, BaseContribution{ObjectID: f.ObjectID, Sum: f.Sum})
	}
	return b
}

// adoptShared runs all steps of a compaction that writes nothing.
func (l *log) adoptShared() State {
	l.t.Helper()
	b, _, ok := l.shared()
	if !ok {
		l.t.Fatalf("%s finds no merge", l.name)
	}
	l.publishBase(l.stateNow().Timeline, b)
	return l.stateNow()
}

// checkMergeRows expects so many merges and so many timelines that wait, and no
// owner more.
func checkMergeRows(t testing.TB, c *Catalog, merges, waiting int64) {
	t.Helper()
	for query, want := range map[string]int64{
		`SELECT count(*) FROM completed_merges`:                         merges,
		`SELECT count(*) FROM owners WHERE kind = 'cache'`:              merges,
		`SELECT count(*) FROM completed_merge_waiting`:                  waiting,
		`SELECT count(DISTINCT cache_key) FROM completed_merge_outputs`: merges,
		`SELECT count(*) FROM owner_blobs b JOIN owners o USING (owner_id) WHERE o.kind = 'cache' AND NOT EXISTS (
			SELECT 1 FROM completed_merge_outputs m WHERE m.owner_id = b.owner_id AND m.blob_id = b.blob_id)`: 0,
	} {
		var got int64
		if err := c.reads.Get(&got, query); err != nil || got != want {
			t.Errorf("%s: %d, want %d; %v", query, got, want, err)
		}
	}
	if err := c.Check(context.Background(), func(text string) { t.Errorf("check: %s", text) }); err != nil {
		t.Fatal(err)
	}
}

// TestSharedMerge: a fork that is compacted behind its parent gets its base, and from
// then on each goes on by itself.
func TestSharedMerge(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 2})
	l, child := idleFork(t, c)
	was := child.stateNow()
	main := l.merge(2)
	checkMergeRows(t, c, 1, 1)
	if now := child.stateNow(); fmt.Sprint(now) != fmt.Sprint(was) {
		t.Errorf("the merge of another timeline changed\n%+v to\n%+v", was, now)
	}
	if n := one64(t, c, `SELECT count(*) FROM shared_merges WHERE waiting = 'child' AND recipe = 'test/1'`); n != 2 {
		t.Errorf("%d lines of the view", n)
	}
	objects := one64(t, c, `SELECT count(*) FROM objects`)

	b, files, ok := child.shared()
	if !ok || fmt.Sprint(files) != fmt.Sprint(main.Base) {
		t.Fatalf("%t, %+v\nwant %+v", ok, files, main.Base)
	}
	// What is retained stays although everybody else lets go of it.
	if n := one64(t, c, fmt.Sprintf(`SELECT count(*) FROM owner_objects x JOIN jobs j USING (owner_id) WHERE j.job_id = %d AND purpose = 'cache'`, b.job.ID)); n != 2 {
		t.Errorf("%d objects are retained", n)
	}
	if again, ok, err := c.RetainMerge(ctx, MergeRequest{Head: was.Timeline, LSN: 2, Recipe: theRecipe}, b.job.ID); err != nil || !ok || len(again) != 2 {
		t.Errorf("retained again: %+v, %v", again, err)
	}
	child.publishBase(was.Timeline, b)
	now := child.stateNow()
	if now.BaseLSN != 2 || fmt.Sprint(now.Base) != fmt.Sprint(main.Base) || now.Timeline.WorldID != was.Timeline.WorldID || now.Timeline.RepresentationID == main.Timeline.RepresentationID {
		t.Errorf("%+v", now)
	}
	if after := l.stateNow(); fmt.Sprint(after) != fmt.Sprint(main) {
		t.Errorf("adopting changed\n%+v to\n%+v", main, after)
	}
	checkMergeRows(t, c, 0, 0)
	if n := one64(t, c, `SELECT count(*) FROM objects`); n != objects {
		t.Errorf("%d objects, were %d", n, objects)
	}
	if n := collectAll(t, c); n != 4 {
		t.Errorf("%d collected, the generations of two cuts in two shards are free", n)
	}

	child.publish(child.rotate()...)
	child.merge(1)
	if after := l.stateNow(); fmt.Sprint(after.Base) != fmt.Sprint(main.Base) {
		t.Errorf("%+v", after.Base)
	}
	if n := collectAll(t, c); n != 2 {
		t.Errorf("%d collected, two generations of child are free", n)
	}
	l.publish(l.rotate()...)
	l.merge(1)
	if n := collectAll(t, c); n != 4 {
		t.Errorf("%d collected, two generations of main and its old base are free", n)
	}
	checkMergeRows(t, c, 0, 0)
}

// TestMergeIsNotShared: only exactly the same is.
func TestMergeIsNotShared(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	head := l.publish(l.rotate()...).Head
	l.seed = element(77)
	twin := forkOf(t, l, "twin", head)
	twin.seed = l.seed
	// Equal commits, counts, schemas and fingerprints, of other objects.
	head = l.publish(l.rotate()...).Head
	twin.publish(twin.rotate()...)
	if s := twin.stateNow(); fmt.Sprint(s.Timeline.Fingerprint, s.Timeline.LSN, s.Timeline.SchemaID, s.Timeline.LiveCount) != fmt.Sprint(head.Fingerprint, head.LSN, head.SchemaID, head.LiveCount) {
		t.Fatalf("the twin is %+v, not like %+v", s.Timeline, head)
	}
	child := forkOf(t, l, "child", head)
	l.merge(2)
	checkMergeRows(t, c, 1, 1)
	if _, files, ok := twin.shared(); ok {
		t.Errorf("equal fingerprints of other objects: %+v", files)
	}
	job, err := c.StartJob(ctx, "compact", "")
	if err != nil {
		t.Fatal(err)
	}
	roots := one64(t, c, `SELECT count(*) FROM owner_objects`)
	now := child.stateNow().Timeline
	good := MergeRequest{Head: now, LSN: now.LSN, Recipe: theRecipe}
	for what, change := range map[string]func(r *MergeRequest){
		"another recipe":         func(r *MergeRequest) { r.Recipe = "test/2" },
		"no recipe":              func(r *MergeRequest) { r.Recipe = "" },
		"a long recipe":          func(r *MergeRequest) { r.Recipe = strings.Repeat("x", 257) },
		"an older commit":        func(r *MergeRequest) { r.LSN-- },
		"a head that moved":      func(r *MergeRequest) { r.Head.Revision++ },
		"another representation": func(r *MergeRequest) { r.Head.RepresentationID-- },
	} {
		r := good
		change(&r)
		if files, ok, err := c.RetainMerge(ctx, r, job.ID); ok || err != nil {
			t.Errorf("%s: %+v, %v", what, files, err)
		}
	}
	if n := one64(t, c, `SELECT count(*) FROM owner_objects`); n != roots {
		t.Errorf("%d roots, were %d", n, roots)
	}
	unknown := good
	unknown.Head.ID = 4711
	if files, ok, err := c.RetainMerge(ctx, unknown, job.ID); ok || err != nil {
		t.Errorf("an unknown timeline: %+v, %v", files, err)
	}
	_, _, err = c.RetainMerge(ctx, good, 4711)
	wantCode(t, err, CodeUnknown)
	_, _, err = c.RetainMerge(ctx, MergeRequest{Head: now}, job.ID)
	wantCode(t, err, CodeRange)
	if err := c.EndJob(ctx, job.ID, 0, 0, nil); err != nil {
		t.Fatal(err)
	}
	_, _, err = c.RetainMerge(ctx, good, job.ID)
	wantCode(t, err, CodeState)
	child.adoptShared()
}

// TestMergeOfNobody: who waits for no merge does not wait for the writer to learn that
// there is none.
func TestMergeOfNobody(t *testing.T) {
	ctx := t.Context()
	c, err := Open(ctx, Options{Dir: makeStore(t, Options{}), BusyTimeout: 30 * time.Millisecond})
	must(t, err)
	defer func() { must(t, c.Close(ctx)) }()
	l, child := idleFork(t, c)
	l.merge(2)
	job, err := c.StartJob(ctx, "compact", "")
	must(t, err)
	main, waits := l.stateNow().Timeline, child.stateNow().Timeline
	other := shell(t, c.options.Dir)
	if _, err := other.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if files, ok, err := c.RetainMerge(ctx, MergeRequest{Head: main, LSN: 2, Recipe: theRecipe}, job.ID); ok || err != nil {
		t.Errorf("%+v, %v", files, err)
	}
	_, _, err = c.RetainMerge(ctx, MergeRequest{Head: waits, LSN: 2, Recipe: theRecipe}, job.ID)
	wantCode(t, err, CodeBusy)
	if _, err := other.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	must(t, c.EndJob(ctx, job.ID, 0, 0, nil))
	child.adoptShared()
}

// TestMergeKey: whatever of the key differs, the row is not found, even if a row has
// got hold of the key.
func TestMergeKey(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 2})
	l, child := idleFork(t, c)
	l.merge(2)
	identity := c.identity()
	head := child.stateNow().Timeline
	row := &headRow{worldRow: worldRow{LSN: head.LSN, SchemaID: head.SchemaID}}
	entries, err := readEntries(ctx, c.reads, identity, head.RepresentationID, 0)
	if err != nil {
		t.Fatal(err)
	}
	find := func(change func(h *headRow, recipe *string, entries []entryRow)) bool {
		h, recipe, list := *row, theRecipe, slices.Clone(entries)
		change(&h, &recipe, list)
		want := mergeOf(&h, recipe, list, identity)
		exact, err := want.exact(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		// The same with the key of the row that is there.
		if err := c.reads.Get(&want.Key, `SELECT cache_key FROM completed_merges`); err != nil {
			t.Fatal(err)
		}
		forged, err := want.exact(ctx, c)
		if err != nil || forged != exact {
			t.Errorf("found by its key %t, by a forged one %t, %v", exact, forged, err)
		}
		return exact
	}
	if !find(func(*headRow, *string, []entryRow) {}) {
		t.Error("the merge is not found")
	}
	for what, change := range map[string]func(h *headRow, recipe *string, entries []entryRow){
		"another schema":       func(h *headRow, _ *string, _ []entryRow) { h.SchemaID++ },
		"another commit":       func(h *headRow, _ *string, _ []entryRow) { h.LSN++ },
		"another recipe":       func(_ *headRow, recipe *string, _ []entryRow) { *recipe += " " },
		"another order":        func(_ *headRow, _ *string, e []entryRow) { e[0], e[1] = e[1], e[0] },
		"another object":       func(_ *headRow, _ *string, e []entryRow) { e[3].ObjectID++ },
		"another role":         func(_ *headRow, _ *string, e []entryRow) { e[0].Role = roleBase },
		"another contribution": func(_ *headRow, _ *string, e []entryRow) { e[0].Contribution = element(1) },
	} {
		if find(change) {
			t.Errorf("%s: found", what)
		}
	}
	if mergeInputs(1, make([]entryRow, 1<<18)) != nil {
		t.Error("a list of inputs beyond the limit")
	}
}

func (r *mergeRow) exact(ctx context.Context, c *Catalog) (bool, error) {
	stored, outputs, err := r.found(ctx, c.reads, c.identity())
	return stored != nil && len(outputs) == 2, err
}

// TestMergeNotAcquirable: outputs that are on their way out, or in quarantine, are
// not handed out, and nothing is retained.
func TestMergeNotAcquirable(t *testing.T) {
	ctx := t.Context()
	for _, state := range []string{"quarantined", "gc_claimed"} {
		t.Run(state, func(t *testing.T) {
			c, err := Open(ctx, Options{Dir: makeStore(t, Options{})})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := c.Close(ctx); err != nil {
					t.Error(err)
				}
			}()
			l, child := idleFork(t, c)
			main := l.merge(2)
			withoutGuards(t, c, func(ctx context.Context, tx *writeTx) error {
				_, err := tx.ExecContext(ctx, objectUpdate(main.Base[1].ObjectID, "state = '"+state+"'"))
				return err
			})
			job, err := c.StartJob(ctx, "compact", "")
			if err != nil {
				t.Fatal(err)
			}
			roots := one64(t, c, `SELECT count(*) FROM owner_objects`)
			head := child.stateNow().Timeline
			files, ok, err := c.RetainMerge(ctx, MergeRequest{Head: head, LSN: head.LSN, Recipe: theRecipe}, job.ID)
			if ok || files != nil || !errors.Is(err, ErrNotAcquirable) {
				t.Errorf("%+v, %v", files, err)
			}
			if n := one64(t, c, `SELECT count(*) FROM owner_objects`); n != roots {
				t.Errorf("%d roots, were %d", n, roots)
			}
		})
	}
}

// TestMergeIsWhole: a merge without all its outputs, with one that its owner does not
// root, or of another one's, is refused by COMMIT.
func TestMergeIsWhole(t *testing.T) {
	f := newFixture(t)
	rooted := []string{newOwner("cache"), fmt.Sprintf(`INSERT INTO owner_blobs VALUES (%d, %d)`, fixFree, fixBaseBlob)}
	for what, statements := range map[string][]string{
		"an output is missing":       append(rooted[:2:2], merge(2, fixFree, 1), addOutput(2, 0, fixFree, fixBaseBlob)),
		"the merge is missing":       append(rooted[:2:2], addOutput(2, 0, fixFree, fixBaseBlob)),
		"of another owner":           append(rooted[:2:2], merge(2, fixFree, 0), addOutput(2, 0, fixMerge, fixBaseBlob)),
		"an output stays":            {stopWaiting, `DELETE FROM completed_merges`},
		"the root of an output goes": {fmt.Sprintf(`DELETE FROM owner_blobs WHERE owner_id = %d`, fixMerge)},
	} {
		if got := f.run(t, true, statements...); got.code != CodeForeignKey {
			t.Errorf("%s: %q %s", what, got.code, got.text)
		}
	}
}
