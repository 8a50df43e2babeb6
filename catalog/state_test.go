package catalog

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestTamperedRowsAreRefused edits each row that recovery relies on, in a way
// no guard or CHECK notices once the triggers are out of the way.
func TestTamperedRowsAreRefused(t *testing.T) {
	base := makeStore(t, Options{})
	c, err := Open(t.Context(), Options{Dir: base})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReserveGeneration(t.Context(), s.Shards[0].ID, 2); err != nil {
		t.Fatal(err)
	}
	if err := c.SealGeneration(t.Context(), sealOf(s.Generations[0])); err != nil {
		t.Fatal(err)
	}
	for _, edit := range []struct {
		sql  string
		code Code
	}{
		{`UPDATE timelines SET revision = revision + 1`, CodeDigest},
		{`UPDATE timelines SET digest = zeroblob(32)`, CodeDigest},
		{`UPDATE timelines SET created_at = '2000-01-01T00:00:00Z'`, CodeDigest},
		{`UPDATE worlds SET lsn = 7`, CodeDigest},
		{`UPDATE worlds SET live_count = 7`, CodeDigest},
		{`UPDATE worlds SET composite_fingerprint = x'0102'`, CodeDigest},
		{`UPDATE representations SET entry_count = 1`, CodeDigest},
		{`UPDATE representations SET contribution_sum = x'0102'`, CodeDigest},
		{`UPDATE schema_contexts SET schema_version = 5`, CodeDigest},
		{`UPDATE index_states SET reader_features = 0, writer_features = 0`, CodeDigest},
		{`UPDATE shards SET writer_epoch = writer_epoch + 1`, CodeDigest},
		{`UPDATE shards SET replay_from = 2`, CodeDigest},
		{`UPDATE shards SET current_generation = 2`, CodeDigest},
		{`UPDATE generations SET last_lsn = last_lsn - 1`, CodeDigest},
		{`UPDATE generations SET records = records + 1`, CodeDigest},
		{`UPDATE generations SET state = 'collected' WHERE state = 'sealed'`, CodeDigest},
		{`UPDATE objects SET byte_extent = byte_extent + 1`, CodeDigest},
		{`UPDATE objects SET integrity_digest = zeroblob(32) WHERE state = 'sealed'`, CodeDigest},
		{`UPDATE objects SET attempt_id = zeroblob(16)`, CodeDigest},
		{`UPDATE catalog_info SET catalog_identity = zeroblob(16)`, CodeDigest},
		{`UPDATE catalog_info SET shards = 2`, CodeCorrupt},
		{`DELETE FROM generations WHERE generation = 1`, CodeCorrupt},
		{`DELETE FROM generations`, CodeCorrupt},
		{`DELETE FROM owner_representations`, CodeCorrupt},
		{`DELETE FROM index_states`, CodeCorrupt},
		{`DELETE FROM worlds`, CodeCorrupt},
		{`DELETE FROM timelines`, CodeCorrupt},
		{`DELETE FROM catalog_info`, CodeUnfinished},
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
			expected, err := embeddedSchema()
			if err != nil {
				t.Fatal(err)
			}
			// References are put off to a COMMIT that never comes.
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

// TestTamperedFile is one of these edits seen from outside.
func TestTamperedFile(t *testing.T) {
	dir := makeStore(t, Options{})
	withoutTrigger(t, dir, "shards_update", `UPDATE shards SET writer_epoch = 3`)
	c, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.State(t.Context())
	wantCode(t, err, CodeDigest)
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "shard 8") {
		t.Errorf("error does not name the row: %v", err)
	}
	_, err = c.BumpEpoch(t.Context(), 8)
	wantCode(t, err, CodeDigest)
	var findings []string
	if err := c.Check(t.Context(), func(text string) { findings = append(findings, text) }); err != nil {
		t.Fatal(err)
	}
	if len(findings) != 1 || !strings.Contains(findings[0], "shard 8") {
		t.Errorf("findings: %q", findings)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestUnknownFeature: feature bits of a newer program refuse the state.
func TestUnknownFeature(t *testing.T) {
	dir := makeStore(t, Options{})
	db := shell(t, dir)
	var identity [16]byte
	var b []byte
	if err := db.QueryRowContext(t.Context(), `SELECT catalog_identity FROM catalog_info`).Scan(&b); err != nil {
		t.Fatal(err)
	}
	copy(identity[:], b)
	row := indexStateRow{ID: fixIndexState, ReaderFeatures: 128 | 256, WriterFeatures: 128}
	digest := row.digest(identity)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	withoutTrigger(t, dir, "index_states_no_update", fmt.Sprintf(`UPDATE index_states SET reader_features = 384, digest = x'%x'`, digest))
	c, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.State(t.Context())
	wantCode(t, err, CodeVersion)
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "0x100") {
		t.Errorf("error: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestUnknownTimeline(t *testing.T) {
	c, _ := newStore(t, Creation{})
	_, err := c.StateOf(t.Context(), "elsewhere")
	wantCode(t, err, CodeUnknown)
	wantCode(t, c.ProjectSchema(t.Context(), Projection{Timeline: "elsewhere"}), CodeUnknown)
}

// TestDigestsCoverEveryColumn: two rows that differ in one column differ in
// their digest, and NULL differs from every value.
func TestDigestsCoverEveryColumn(t *testing.T) {
	one, two := int64(1), int64(2)
	id := [16]byte{1}
	shard := shardRow{ID: 1, TimelineID: 1, Ordinal: 1, ParentShardID: &one, ParentGeneration: &one, WriterEpoch: 1, CurrentGeneration: 1, ReplayFrom: 1, Revision: 1}
	seen := map[[32]byte]string{shard.digest(id): "base", shard.digest([16]byte{2}): "identity"}
	add := func(name string, change func(*shardRow)) {
		r := shard
		change(&r)
		if other, ok := seen[r.digest(id)]; ok {
			t.Errorf("shard digests of %q and %q are equal", name, other)
		}
		seen[r.digest(id)] = name
	}
	add("id", func(r *shardRow) { r.ID = 2 })
	add("timeline", func(r *shardRow) { r.TimelineID = 2 })
	add("ordinal", func(r *shardRow) { r.Ordinal = 2 })
	add("parent", func(r *shardRow) { r.ParentShardID = &two })
	add("no parent", func(r *shardRow) { r.ParentShardID = nil })
	add("parent generation", func(r *shardRow) { r.ParentGeneration = &two })
	add("no parent generation", func(r *shardRow) { r.ParentGeneration = nil })
	add("epoch", func(r *shardRow) { r.WriterEpoch = 2 })
	add("current", func(r *shardRow) { r.CurrentGeneration = 2 })
	add("replay", func(r *shardRow) { r.ReplayFrom = 2 })
	add("revision", func(r *shardRow) { r.Revision = 2 })
}
