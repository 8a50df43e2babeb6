package catalog

import (
	"context"
	"fmt"
	"testing"

	"github.com/jmoiron/sqlx"
)

// chunks lists a representation's references as "chunk×entries", with chunks
// numbered in the order they were made.
func chunks(t *testing.T, c *Catalog, representation int64) (list []string) {
	t.Helper()
	if err := c.reads.SelectContext(t.Context(), &list, `
		SELECT (SELECT count(DISTINCT chunk_id) FROM manifest_entries m WHERE m.chunk_id <= c.chunk_id) || '×' || entries
		FROM representation_chunks c WHERE representation_id = ? ORDER BY ordinal`, representation); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestChunksAreShared: a manifest grows its last chunk up to its size and shares
// all others; what a publication inserts does not depend on the length.
func TestChunksAreShared(t *testing.T) {
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	for _, step := range []struct {
		more int
		want string
	}{
		{1, "[1×1]"}, {2, "[1×3]"}, {252, "[1×255]"}, {1, "[1×256]"}, {1, "[1×256 2×1]"}, {300, "[1×256 2×256 3×45]"}, {1, "[1×256 2×256 3×46]"},
	} {
		before := one64(t, c, `SELECT count(*) FROM manifest_entries`)
		adopted := l.publish(l.rotateMany(step.more)...)
		if got := fmt.Sprint(chunks(t, c, adopted.Head.RepresentationID)); got != step.want {
			t.Errorf("%d more: %s, want %s", step.more, got, step.want)
		}
		if after := one64(t, c, `SELECT count(*) FROM manifest_entries`); after != before+int64(step.more) {
			t.Errorf("%d more entries: %d instead of %d", step.more, after, before)
		}
		if _, err := c.State(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// positions and factors, in the order of the log
	if n := one64(t, c, `SELECT count(*) FROM (SELECT position, row_number() OVER (ORDER BY logical_factor_id) - 1 AS place FROM representation_entries) WHERE position = place`); n != 558 {
		t.Errorf("%d entries are in their places", n)
	}
}

// TestDivergingCandidates: two candidates on one head cannot both grow its last
// chunk; the second begins a new one, and what the loser appended goes with it.
func TestDivergingCandidates(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	l.publish(l.rotateMany(3)...)
	first := l.publication(l.rotateMany(1)...)
	next := l.rotateMany(1)[0]
	second := l.publication(first.Generations[0].ShardGeneration, next)

	a, again := l.prepare(first), l.prepare(first)
	b := l.prepare(second)
	for _, want := range []struct {
		candidate int64
		chunks    string
	}{{a.candidate, "[1×4]"}, {again.candidate, "[1×4]"}, {b.candidate, "[1×5]"}} {
		if got := fmt.Sprint(chunks(t, c, want.candidate)); got != want.chunks {
			t.Errorf("candidate %d: %s, want %s", want.candidate, got, want.chunks)
		}
	}
	// The shorter one again: the tail is not its own.
	shorter := l.prepare(first)
	if got := fmt.Sprint(chunks(t, c, shorter.candidate)); got != "[1×4]" {
		t.Errorf("shorter: %s", got)
	}
	attempting, err := shorter.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	adopted, err := attempting.Adopt(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// A third generation instead of the second: a new chunk behind the shared part.
	third := l.cut(adopted.Head, next, l.rotateMany(1)[0])
	same := l.prepare(third)
	if got := fmt.Sprint(chunks(t, c, same.candidate)); got != "[1×6]" {
		t.Errorf("same tail: %s", got)
	}
	if err := b.Abandon(ctx); err != nil {
		t.Fatal(err)
	}
	if n := one64(t, c, `SELECT count(*) FROM manifest_entries`); n != 6 {
		t.Errorf("%d entries with a candidate that has 6", n)
	}
	for _, abandon := range []func(context.Context) error{same.Abandon, a.Abandon, again.Abandon, adopted.Retire} {
		if err := abandon(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := one64(t, c, `SELECT count(*) FROM manifest_entries`); n != 4 {
		t.Errorf("%d entries are left of 4", n)
	}
	if n := one64(t, c, `SELECT count(*) FROM representations`); n != 1 {
		t.Errorf("%d representations", n)
	}
}

// TestForeignTail: behind a head's part of a chunk stands what another
// representation appended; a candidate then leaves the chunk alone.
func TestForeignTail(t *testing.T) {
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	l.publish(l.rotateMany(3)...)
	one := l.rotateMany(1)
	// A candidate that appended something else, as a merge would.
	err := c.write(t.Context(), "test", func(ctx context.Context, tx *writeTx) error {
		var blob, chunk int64
		if err := tx.GetContext(ctx, &blob, `SELECT max(blob_id) FROM blob_versions`); err != nil {
			return err
		}
		if err := tx.GetContext(ctx, &chunk, `SELECT max(chunk_id) FROM manifest_entries`); err != nil {
			return err
		}
		e := entryRow{ChunkID: chunk, Position: 3, FactorID: 777, BlobID: blob, Role: "merged", Contribution: emptySum}
		digest := e.digest(c.identity())
		_, err := tx.ExecContext(ctx, `INSERT INTO manifest_entries VALUES (?, 3, 777, ?, 'merged', ?, ?)`, chunk, blob, emptySum, digest[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	adopted := l.publish(one...)
	if got := fmt.Sprint(chunks(t, c, adopted.Head.RepresentationID)); got != "[1×3 2×1]" {
		t.Error(got)
	}
	adopted = l.publish(l.rotateMany(2)...)
	if got := fmt.Sprint(chunks(t, c, adopted.Head.RepresentationID)); got != "[1×3 2×3]" {
		t.Error(got)
	}
	if s, err := c.State(t.Context()); err != nil || !s.Generations[5].InHead {
		t.Errorf("%+v, %v", s.Generations, err)
	}
}

// TestTamperedManifest edits what the head's manifest is made of, behind all
// guards, and expects State to notice; and Check, without a word too many.
func TestTamperedManifest(t *testing.T) {
	base, _ := sealedStore(t)
	c, err := Open(t.Context(), Options{Dir: base})
	if err != nil {
		t.Fatal(err)
	}
	expected, err := embeddedSchema()
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range []struct {
		sql  string
		code Code
	}{
		{`UPDATE manifest_entries SET contribution = zeroblob(16) WHERE position = 0`, CodeDigest},
		{`UPDATE manifest_entries SET contribution_role = 'base' WHERE position = 0`, CodeDigest},
		{`UPDATE manifest_entries SET logical_factor_id = 4 WHERE position = 0`, CodeDigest},
		{`UPDATE manifest_entries SET blob_id = (SELECT max(blob_id) FROM blob_versions) WHERE position = 0`, CodeDigest},
		{`UPDATE manifest_entries SET digest = zeroblob(32) WHERE position = 1`, CodeDigest},
		{`UPDATE manifest_entries SET position = 2 WHERE position = 1`, CodeCorrupt},
		{`UPDATE manifest_entries SET chunk_id = chunk_id + 1`, CodeCorrupt},
		{`DELETE FROM manifest_entries WHERE position = 1`, CodeCorrupt},
		{`DELETE FROM manifest_entries WHERE position = 0`, CodeCorrupt},
		{`UPDATE representation_chunks SET entries = 1`, CodeCorrupt},
		{`UPDATE representation_chunks SET first_position = 1`, CodeCorrupt},
		{`UPDATE representation_chunks SET chunk_id = chunk_id + 1`, CodeCorrupt},
		{`DELETE FROM representation_chunks`, CodeCorrupt},
		{`DELETE FROM blob_versions`, CodeCorrupt},
		{`UPDATE blob_versions SET native_object_id = native_object_id + 100`, CodeCorrupt},
		{`UPDATE objects SET state = 'quarantined' WHERE object_id = (SELECT min(object_id) FROM generations)`, CodeCorrupt},
		{`UPDATE representations SET entry_count = 1`, CodeDigest},
		{`UPDATE shards SET replay_from = 1`, CodeDigest},
	} {
		t.Run(edit.sql, func(t *testing.T) {
			ctx := t.Context()
			tx, err := c.writes.BeginTxx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := tx.Rollback(); err != nil {
					t.Error(err)
				}
			}()
			statements := []string{"PRAGMA defer_foreign_keys = ON"}
			for _, o := range expected {
				if o.Type == "trigger" {
					statements = append(statements, "DROP TRIGGER "+o.Name)
				}
			}
			for _, s := range append(statements, edit.sql) {
				if _, err := tx.ExecContext(ctx, s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
			_, err = readState(ctx, tx, MainTimeline)
			wantCode(t, wrap("state", err), edit.code)
		})
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestContradictingHead signs the rows anew, so that only the relations between them
// tell.
func TestContradictingHead(t *testing.T) {
	base, _ := sealedStore(t)
	for name, change := range map[string]func(ctx context.Context, c *Catalog, tx *writeTx, head *headRow) error{
		"replayed and in the head": func(ctx context.Context, c *Catalog, tx *writeTx, head *headRow) error {
			var s shardRow
			if err := tx.GetContext(ctx, &s, shardQuery+` LIMIT 1`); err != nil {
				return err
			}
			s.ReplayFrom = 1
			digest := s.digest(c.identity())
			_, err := tx.ExecContext(ctx, `UPDATE shards SET replay_from = 1, digest = ? WHERE shard_id = ?`, digest[:], s.ID)
			return err
		},
		"declared sum": func(ctx context.Context, c *Catalog, tx *writeTx, head *headRow) error {
			head.ContributionSum = element(1)
			_, err := tx.ExecContext(ctx, `UPDATE representations SET contribution_sum = ?`, head.ContributionSum)
			return err
		},
		"fingerprint of the world": func(ctx context.Context, c *Catalog, tx *writeTx, head *headRow) error {
			head.Fingerprint = element(1)
			_, err := tx.ExecContext(ctx, `UPDATE worlds SET composite_fingerprint = ?`, head.Fingerprint)
			return err
		},
		"one entry more declared": func(ctx context.Context, c *Catalog, tx *writeTx, head *headRow) error {
			head.EntryCount++
			_, err := tx.ExecContext(ctx, `UPDATE representations SET entry_count = ?`, head.EntryCount)
			return err
		},
		"factor twice": func(ctx context.Context, c *Catalog, tx *writeTx, head *headRow) error {
			var e entryRow
			if err := tx.GetContext(ctx, &e, `SELECT chunk_id, position, logical_factor_id, blob_id, contribution_role, contribution, digest FROM manifest_entries WHERE position = 0`); err != nil {
				return err
			}
			// a second chunk of one entry, which adds nothing
			head.EntryCount++
			e.ChunkID, e.Position, e.Contribution, e.Role = e.ChunkID+1, 0, emptySum, "base"
			digest := e.digest(c.identity())
			for _, s := range []struct {
				sql  string
				args []any
			}{
				{`INSERT INTO manifest_entries VALUES (?, 0, ?, ?, 'base', ?, ?)`, []any{e.ChunkID, e.FactorID, e.BlobID, emptySum, digest[:]}},
				{`INSERT INTO representation_chunks VALUES (?, 1, ?, 1, 2)`, []any{head.RepresentationID, e.ChunkID}},
				{`UPDATE representations SET entry_count = ?`, []any{head.EntryCount}},
			} {
				if _, err := tx.ExecContext(ctx, s.sql, s.args...); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copyStore(t, base)
			c, err := Open(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			withoutGuards(t, c, func(ctx context.Context, tx *writeTx) error {
				head, err := readHead(ctx, tx, fixTimelineOf(t, c), c.identity())
				if err != nil {
					return err
				}
				if err := change(ctx, c, tx, head); err != nil {
					return err
				}
				digest := head.digest(c.identity())
				_, err = tx.ExecContext(ctx, `UPDATE timelines SET digest = ?`, digest[:])
				return err
			})
			_, err = c.State(t.Context())
			wantCode(t, err, CodeCorrupt)
			if err := c.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func fixTimelineOf(t *testing.T, c *Catalog) int64 {
	return one64(t, c, `SELECT timeline_id FROM timelines`)
}

// withoutGuards runs a write with every trigger out of the way.
func withoutGuards(t *testing.T, c *Catalog, fn func(ctx context.Context, tx *writeTx) error) {
	t.Helper()
	err := c.write(t.Context(), "without guards", func(ctx context.Context, tx *writeTx) error {
		type trigger struct {
			Name string `db:"name"`
			SQL  string `db:"sql"`
		}
		var triggers []trigger
		if err := sqlx.SelectContext(ctx, tx, &triggers, `SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`); err != nil {
			return err
		}
		for _, g := range triggers {
			if _, err := tx.ExecContext(ctx, `DROP TRIGGER `+g.Name); err != nil {
				return err
			}
		}
		if err := fn(ctx, tx); err != nil {
			return err
		}
		for _, g := range triggers {
			if _, err := tx.ExecContext(ctx, g.SQL); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
