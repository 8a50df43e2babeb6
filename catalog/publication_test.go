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

// TestPrepareRefusals gives Prepare one wrong value at a time.
func TestPrepareRefusals(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{Shards: 2})
	l := newLog(t, c)
	l.publish(l.rotate()...)
	one, two := l.rotate(), l.rotate()
	if err := c.Register(ctx, append(one, two...)...); err != nil {
		t.Fatal(err)
	}
	three := l.rotate() // sealed, not registered
	open := ShardGeneration{s.Shards[0].ID, 5}
	good := func() Publication {
		p := l.publication(one[0], one[1], two[0], two[1])
		p.LSN, p.LiveCount = 3, 18
		p.Fingerprint = emptySum
		st, err := c.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range st.Generations {
			if g.Generation <= 3 {
				p.Fingerprint = mustAdd(t, p.Fingerprint, g.Fingerprint)
			}
		}
		return p
	}
	for _, bad := range []struct {
		name   string
		change func(p *Publication)
		code   Code
	}{
		{"timeline", func(p *Publication) { p.TimelineID = 4711 }, CodeUnknown},
		{"timeline 0", func(p *Publication) { p.TimelineID = 0 }, CodeRange},
		{"revision", func(p *Publication) { p.ExpectedRevision++ }, CodeConflict},
		{"revision below 0", func(p *Publication) { p.ExpectedRevision = -1 }, CodeRange},
		{"representation", func(p *Publication) { p.ExpectedRepresentation-- }, CodeConflict},
		{"representation 0", func(p *Publication) { p.ExpectedRepresentation = 0 }, CodeRange},
		{"LSN above", func(p *Publication) { p.LSN++ }, CodeGeneration},
		{"LSN below", func(p *Publication) { p.LSN-- }, CodeGeneration},
		{"LSN below 0", func(p *Publication) { p.LSN = -1 }, CodeRange},
		{"live count", func(p *Publication) { p.LiveCount = -1 }, CodeRange},
		{"fingerprint", func(p *Publication) { p.Fingerprint = element(1) }, CodeSum},
		{"contribution", func(p *Publication) { p.Generations[0].Sum = element(1) }, CodeSum},
		{"short contribution", func(p *Publication) { p.Generations[0].Sum = p.Generations[0].Sum[:15] }, CodeEncoding},
		{"short fingerprint", func(p *Publication) { p.Fingerprint = p.Fingerprint[:15] }, CodeEncoding},
		{"schema version", func(p *Publication) { p.Schema.SchemaVersion = -1 }, CodeRange},
		{"nothing", func(p *Publication) { p.Generations = nil }, CodeGeneration},
		{"a generation of the head", func(p *Publication) { p.Generations[0].Generation = 1 }, CodeGeneration},
		{"a generation skipped", func(p *Publication) { p.Generations = p.Generations[1:3] }, CodeGeneration},
		{"a shard left out", func(p *Publication) { p.Generations = []Contribution{p.Generations[0], p.Generations[2]} }, CodeGeneration},
		{"a generation twice", func(p *Publication) { p.Generations[2] = p.Generations[0] }, CodeGeneration},
		{"another shard", func(p *Publication) { p.Generations[0].ShardID = 4711 }, CodeGeneration},
		{"order within a shard", func(p *Publication) { p.Generations[0], p.Generations[2] = p.Generations[2], p.Generations[0] }, CodeGeneration},
		{"one that is not registered", func(p *Publication) { p.Generations, p.LSN = append(p.Generations, contributions(t, c, three)...), 4 }, CodeGeneration},
		{"one that is open", func(p *Publication) {
			p.Generations = append(p.Generations, contributions(t, c, []ShardGeneration{three[0], open})...)
		}, CodeGeneration},
	} {
		p := good()
		bad.change(&p)
		_, err := c.Prepare(ctx, p)
		if !errors.Is(err, bad.code) {
			t.Errorf("%s: %v, want %s", bad.name, err, bad.code)
		}
		var e *Error
		if !errors.As(err, &e) || e.Op != "prepare-publication" {
			t.Errorf("%s: %#v", bad.name, err)
		}
	}
	if n := one64(t, c, `SELECT (SELECT count(*) FROM representations) + (SELECT count(*) FROM operations)`); n != 2 {
		t.Errorf("refused publications left %d rows", n-2)
	}
	adopted := l.adopt(good())
	if err := adopted.Retire(ctx); err != nil {
		t.Fatal(err)
	}
	if n := one64(t, c, `SELECT count(*) FROM representation_entries`); n != 6 {
		t.Errorf("%d entries", n)
	}
}

// TestAdoptRefusals changes an input between Prepare and Adopt. The head stays,
// and what was retained can be let go.
func TestAdoptRefusals(t *testing.T) {
	ctx := t.Context()
	resign := func(c *Catalog, set string, args ...any) func(ctx context.Context, tx *writeTx) error {
		return func(ctx context.Context, tx *writeTx) error {
			if _, err := tx.ExecContext(ctx, `UPDATE manifest_entries SET `+set+` WHERE position = 1`, args...); err != nil {
				return err
			}
			var e entryRow
			if err := tx.GetContext(ctx, &e, `SELECT chunk_id, position, logical_factor_id, blob_id, contribution_role, contribution, digest FROM manifest_entries WHERE position = 1`); err != nil {
				return err
			}
			digest := e.digest(c.identity())
			_, err := tx.ExecContext(ctx, `UPDATE manifest_entries SET digest = ? WHERE position = 1`, digest[:])
			return err
		}
	}
	plain := func(sql string) func(c *Catalog) func(ctx context.Context, tx *writeTx) error {
		return func(*Catalog) func(ctx context.Context, tx *writeTx) error {
			return func(ctx context.Context, tx *writeTx) error {
				_, err := tx.ExecContext(ctx, sql)
				return err
			}
		}
	}
	const world = `(SELECT max(world_id) FROM worlds)`
	for _, bad := range []struct {
		name   string
		change func(c *Catalog) func(ctx context.Context, tx *writeTx) error
		code   Code
	}{
		{"contribution", func(c *Catalog) func(ctx context.Context, tx *writeTx) error {
			return resign(c, `contribution = ?`, element(1))
		}, CodeSum},
		{"contribution without its digest", plain(`UPDATE manifest_entries SET contribution = zeroblob(16) WHERE position = 1`), CodeDigest},
		{"factor", func(c *Catalog) func(ctx context.Context, tx *writeTx) error {
			return resign(c, `logical_factor_id = 4711`)
		}, CodeCorrupt},
		{"role", func(c *Catalog) func(ctx context.Context, tx *writeTx) error {
			return resign(c, `contribution_role = 'base'`)
		}, CodeCorrupt},
		{"declared sum", plain(`UPDATE representations SET contribution_sum = zeroblob(16) WHERE entry_count = 2`), CodeSum},
		{"fingerprint of the world", plain(`UPDATE worlds SET composite_fingerprint = zeroblob(16) WHERE world_id = ` + world), CodeSum},
		{"rows of the world", plain(`UPDATE worlds SET live_count = 0 WHERE world_id = ` + world), CodeCorrupt},
		{"LSN of the world", plain(`UPDATE worlds SET lsn = 0 WHERE world_id = ` + world), CodeCorrupt},
		{"world gone", plain(`UPDATE representations SET world_id = 4711 WHERE entry_count = 2`), CodeUnknown},
		{"entry gone", plain(`DELETE FROM manifest_entries WHERE position = 1`), CodeManifest},
		{"chunks of its own", plain(`UPDATE representation_chunks SET chunk_id = 1 WHERE entries = 2`), CodeCorrupt},
		{"object quarantined", plain(`UPDATE objects SET state = 'quarantined' WHERE object_id = (SELECT max(native_object_id) FROM blob_versions)`), CodeCorrupt},
		{"request", plain(`UPDATE operations SET request = x'00' WHERE status = 'prepared'`), CodeImmutable},
		{"operation over", plain(`UPDATE operations SET status = 'abandoned' WHERE status = 'prepared'`), CodeState},
		{"operation gone", plain(`DELETE FROM operations WHERE status = 'prepared'`), CodeUnknown},
		{"blob gone", plain(`DELETE FROM blob_versions WHERE blob_id = (SELECT max(blob_id) FROM blob_versions)`), CodeGeneration},
	} {
		t.Run(bad.name, func(t *testing.T) {
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
			head := l.publish(l.rotateMany(1)...).Head
			a := l.begin(l.cut(head, l.rotateMany(1)...))
			// References are put off past the end: what is tampered with need not be consistent.
			conn := shell(t, dir)
			conn.SetMaxOpenConns(1)
			if _, err := conn.ExecContext(ctx, `PRAGMA foreign_keys = OFF`); err != nil {
				t.Fatal(err)
			}
			tamper(t, c, conn, bad.change(c))
			_, err = a.Adopt(ctx)
			wantCode(t, err, bad.code)
			if errors.Is(err, ErrPoisoned) {
				t.Fatal(err)
			}
			now, err := readHead(ctx, c.reads, head.ID, c.identity())
			if err != nil || fmt.Sprint(now.timeline()) != fmt.Sprint(head) {
				t.Errorf("the head moved: %+v, %v", now, err)
			}
			if bad.name == "contribution" {
				if err := a.Abandon(ctx); err != nil {
					t.Error(err)
				}
				if n := one64(t, c, `SELECT count(*) FROM representations`); n != 1 {
					t.Errorf("%d representations", n)
				}
			}
		})
	}
}

// TestFactorTwice: a manifest that has a factor already takes no second one.
func TestFactorTwice(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	l.publish(l.rotateMany(2)...)
	err := c.write(ctx, "test", func(ctx context.Context, tx *writeTx) error {
		head, err := readHead(ctx, tx, l.state.Timeline.ID, c.identity())
		if err != nil {
			return err
		}
		entries, err := readEntries(ctx, tx, c.identity(), head.RepresentationID, 0)
		if err != nil {
			return err
		}
		id, err := tx.newIDs(ctx, 2)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO representations VALUES (?, ?, ?, 1, 3, ?)`, id, head.WorldID, head.IndexStateID, emptySum); err != nil {
			return err
		}
		// a chunk of its own, where no key of the chunk refuses it
		e := entries[0]
		e.ChunkID, e.Position = id+1, 0
		digest := e.digest(c.identity())
		for _, s := range []struct {
			sql  string
			args []any
		}{
			{`INSERT INTO representation_chunks SELECT ?, ordinal, chunk_id, entries, first_position FROM representation_chunks`, []any{id}},
			{`INSERT INTO manifest_entries VALUES (?, 0, ?, ?, 'update', ?, ?)`, []any{e.ChunkID, e.FactorID, e.BlobID, e.Contribution, digest[:]}},
		} {
			if _, err := tx.ExecContext(ctx, s.sql, s.args...); err != nil {
				return err
			}
		}
		if err := checkFactors(ctx, tx, id, 2); err != nil {
			t.Errorf("not there yet: %v", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO representation_chunks VALUES (?, 1, ?, 1, 2)`, id, e.ChunkID); err != nil {
			return err
		}
		wantCode(t, wrap("test", checkFactors(ctx, tx, id, 2)), CodeManifest)
		wantCode(t, wrap("test", checkFactors(ctx, tx, id, 0)), CodeManifest)
		return errUnchanged
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestQuarantinedIsNotRegistered: what was set aside becomes no blob.
func TestQuarantinedIsNotRegistered(t *testing.T) {
	dir := makeStore(t, Options{})
	c := openStore(t, Options{Dir: dir})
	l := newLog(t, c)
	gens := l.rotate()
	db := shell(t, dir)
	if _, err := db.ExecContext(t.Context(), objectUpdate(fixSealed, "state = 'quarantined'")); err != nil {
		t.Fatal(err)
	}
	wantCode(t, c.Register(t.Context(), gens...), CodeState)
}
