package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestPublish takes cuts of two shards through all steps and looks at the state
// in between.
func TestPublish(t *testing.T) {
	ctx := t.Context()
	c, first := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	one := l.rotate()
	wantCode(t, c.Register(ctx, ShardGeneration{first.Shards[0].ID, 2}), CodeBlob)
	wantCode(t, c.Register(ctx, ShardGeneration{first.Shards[0].ID, 9}), CodeUnknown)
	for range 2 {
		if err := c.Register(ctx, one...); err != nil {
			t.Fatal(err)
		}
	}
	p := l.publication(one...)
	prepared := l.prepare(p)
	before, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if before.Timeline.RepresentationID != first.Timeline.RepresentationID || !before.Generations[0].Registered || before.Generations[0].InHead || before.Generations[1].Registered {
		t.Errorf("prepared: %+v", before)
	}
	attempting, err := prepared.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = prepared.Begin(ctx)
	wantCode(t, err, CodeState)
	adopted, err := attempting.Adopt(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = attempting.Adopt(ctx)
	wantCode(t, err, CodeState)
	wantCode(t, attempting.Abandon(ctx), CodeState)
	for range 2 {
		if err := adopted.Retire(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := attempting.Abandon(ctx); err != nil {
		t.Errorf("abandoning what is retired: %v", err)
	}
	after, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(after.Timeline) != fmt.Sprint(adopted.Head) {
		t.Errorf("head %+v, state %+v", adopted.Head, after.Timeline)
	}
	h := after.Timeline
	if h.Revision != 1 || h.LSN != p.LSN || h.LiveCount != p.LiveCount || !bytes.Equal(h.Fingerprint, p.Fingerprint) || h.RepresentationID == first.Timeline.RepresentationID {
		t.Errorf("head: %+v", h)
	}
	for _, s := range after.Shards {
		if s.ReplayFrom != 2 || s.CurrentGeneration != 2 {
			t.Errorf("shard: %+v", s)
		}
	}
	for _, g := range after.Generations {
		if want := g.Generation == 1; g.InHead != want || g.Registered != want {
			t.Errorf("generation: %+v", g)
		}
	}
	// Only the manifest keeps what it contains, and it does.
	for query, want := range map[string]int{
		`SELECT count(*) FROM owner_objects`:                                                   2,
		`SELECT count(*) FROM owner_blobs`:                                                     0,
		`SELECT count(*) FROM owner_representations`:                                           1,
		`SELECT count(*) FROM representations`:                                                 1,
		`SELECT count(*) FROM worlds`:                                                          1,
		`SELECT count(*) FROM reachable_objects`:                                               4,
		`SELECT count(*) FROM live_object_closure`:                                             4,
		`SELECT count(*) FROM apparently_unowned_objects`:                                      0,
		`SELECT count(*) FROM manifest`:                                                        2,
		`SELECT count(*) FROM representation_closure`:                                          2,
		`SELECT count(*) FROM unresolved_publications`:                                         0,
		`SELECT count(*) FROM publication_attempts WHERE state = 'retired'`:                    1,
		`SELECT count(*) FROM operations WHERE status = 'committed' AND kind = 'publish'`:      1,
		`SELECT count(*) FROM owners WHERE kind = 'recovery' AND state = 'released'`:           1,
		`SELECT count(*) FROM storage_domain WHERE state = 'normal' AND revision = 0`:          1,
		`SELECT count(*) FROM metadata_gc WHERE active_operation IS NULL`:                      1,
		`SELECT count(*) FROM manifest_audit`:                                                  0,
		`SELECT max_representation_entries FROM catalog_info`:                                  1 << 20,
		`SELECT count(*) FROM generation_files WHERE is_replayed`:                              2,
		`SELECT sum(position) FROM representation_entries`:                                     1,
		`SELECT count(*) FROM representation_chunks`:                                           1,
		`SELECT count(*) FROM objects WHERE state = 'sealed' AND graph_seq IN (1, 2)`:          2,
		`SELECT count(*) FROM blob_versions WHERE layout = 'native' AND augmented_count = 3`:   2,
		`SELECT count(*) FROM schema_contexts`:                                                 1,
		`SELECT count(*) FROM dependency_closure WHERE depth = 0 AND root_object_id=object_id`: 4,
	} {
		if got := one64(t, c, query); got != int64(want) {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	// And on: two cuts in one publication.
	l.publish(append(l.rotate(), l.rotate()...)...)
	last, err := c.State(ctx)
	if err != nil || last.Timeline.Revision != 2 || last.Timeline.LSN != 3 || last.Shards[1].ReplayFrom != 4 {
		t.Errorf("%+v, %v", last, err)
	}
}

// one64 reads one number.
func one64(t testing.TB, c *Catalog, query string, args ...any) (n int64) {
	t.Helper()
	if err := c.reads.GetContext(context.Background(), &n, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// TestConflict: of two publications built against one head the second meets the
// first, installs nothing and lets go of what it held.
func TestConflict(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	gens := l.rotate()
	if err := c.Register(ctx, gens...); err != nil {
		t.Fatal(err)
	}
	p := l.publication(gens...)
	first, second, third := l.prepare(p), l.prepare(p), l.prepare(p)
	if n := one64(t, c, `SELECT count(*) FROM unresolved_publications`); n != 3 {
		t.Errorf("%d unresolved", n)
	}
	a, err := first.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = second.Begin(ctx) // one at a time may be under way
	wantCode(t, err, CodeUnique)
	adopted, err := a.Adopt(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b, err := second.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Adopt(ctx)
	wantCode(t, err, CodeConflict)
	var conflict *ConflictError
	if !errors.Is(err, ErrConflict) || !errors.As(err, &conflict) {
		t.Fatalf("error is %v", err)
	}
	if *conflict != (ConflictError{p.ExpectedRevision, p.ExpectedRepresentation, 1, adopted.Head.RepresentationID, adopted.Head.WorldID}) {
		t.Errorf("observed %+v", conflict)
	}
	if n := one64(t, c, `SELECT count(*) FROM operations WHERE status = 'conflict' AND CAST(outcome AS TEXT) = ?`,
		fmt.Sprintf("conflict/1 revision=1 representation=%d world=%d", adopted.Head.RepresentationID, adopted.Head.WorldID)); n != 1 {
		t.Errorf("%d recorded conflicts", n)
	}
	for _, abandon := range []func(context.Context) error{b.Abandon, b.Abandon, third.Abandon, third.Abandon, adopted.Retire} {
		if err := abandon(ctx); err != nil {
			t.Fatal(err)
		}
	}
	_, err = c.Prepare(ctx, p) // stale from the start
	wantCode(t, err, CodeConflict)
	s, err := c.State(ctx)
	if err != nil || fmt.Sprint(s.Timeline) != fmt.Sprint(adopted.Head) {
		t.Errorf("%+v, %v", s.Timeline, err)
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM representations`:                     1,
		`SELECT count(*) FROM worlds`:                              1,
		`SELECT count(*) FROM manifest_entries`:                    1,
		`SELECT count(*) FROM owner_representations`:               1,
		`SELECT count(*) FROM owner_blobs`:                         0,
		`SELECT count(*) FROM unresolved_publications`:             0,
		`SELECT count(*) FROM operations WHERE status='abandoned'`: 1,
		`SELECT count(*) FROM owners WHERE state='released'`:       3,
	} {
		if got := one64(t, c, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}
