package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// compactedStore is a closed store whose head is a base of two objects of LSN 2 and
// then the generations 3 and 4; generation 5 is sealed.
func compactedStore(t *testing.T) (dir string) {
	t.Helper()
	ctx := t.Context()
	dir = makeStore(t, Options{})
	c, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(t, c)
	l.publish(l.rotateMany(4)...)
	l.publishBase(l.stateNow().Timeline, l.compact(2, 2))
	collectAll(t, c)
	l.rotateMany(1)
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tampered opens a store, changes rows of it behind the guards in a transaction
// that is rolled back, and hands that over.
func tampered(t *testing.T, c *Catalog, change func(ctx context.Context, tx *writeTx) error, body func(ctx context.Context, tx *writeTx)) {
	t.Helper()
	undo := errors.New("undone")
	err := c.write(t.Context(), "tampered", func(ctx context.Context, tx *writeTx) error {
		if _, err := tx.ExecContext(ctx, `PRAGMA defer_foreign_keys = ON`); err != nil {
			return err
		}
		var names []string
		if err := tx.SelectContext(ctx, &names, `SELECT name FROM sqlite_schema WHERE type = 'trigger'`); err != nil {
			return err
		}
		for _, name := range names {
			if _, err := tx.ExecContext(ctx, `DROP TRIGGER `+name); err != nil {
				return err
			}
		}
		if err := change(ctx, tx); err != nil {
			return err
		}
		body(ctx, tx)
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatal(err)
	}
}

// resign gives every fragment the digest of its row.
func resign(ctx context.Context, tx *writeTx, identity [16]byte) error {
	var rows []fragmentRow
	if err := tx.SelectContext(ctx, &rows, fragmentQuery); err != nil {
		return err
	}
	for i := range rows {
		digest := rows[i].digest(identity)
		if _, err := tx.ExecContext(ctx, `UPDATE fragments SET digest = ? WHERE fragment_id = ?`, digest[:], rows[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// TestTamperedBase edits what the head's base is made of, as it is and signed anew,
// so that only the relations between rows tell; and expects State and Check to
// notice.
func TestTamperedBase(t *testing.T) {
	c, err := Open(t.Context(), Options{Dir: compactedStore(t)})
	if err != nil {
		t.Fatal(err)
	}
	const first, second = `(SELECT min(object_id) FROM fragments)`, `(SELECT max(object_id) FROM fragments)`
	for _, x := range []struct {
		sql  string
		sign bool
		code Code
		find string
	}{
		{`UPDATE fragments SET rows = rows + 1 WHERE ordinal = 1`, false, CodeDigest, "fragment"},
		{`UPDATE fragments SET table_id = 77 WHERE ordinal = 1`, false, CodeDigest, "fragment"},
		{`UPDATE fragments SET lsn = 1`, false, CodeDigest, "fragment"},
		{`UPDATE fragments SET digest = zeroblob(32) WHERE table_id = 0`, false, CodeDigest, "fragment"},
		{`UPDATE fragments SET fragment_id = fragment_id + 100`, false, CodeDigest, "fragment"},
		{`DELETE FROM fragments WHERE ordinal = 2`, false, CodeDigest, "fragment"},
		{`UPDATE objects SET content_id = zeroblob(32) WHERE object_id = ` + second, false, CodeDigest, "fragment"},
		{`UPDATE objects SET integrity_digest = zeroblob(32) WHERE object_id = ` + second, false, CodeDigest, "fragment"},
		{`UPDATE objects SET byte_extent = 1 WHERE object_id = ` + second, false, CodeDigest, "fragment"},
		{`UPDATE objects SET native_fingerprint = zeroblob(16) WHERE object_id = ` + second, false, CodeDigest, "fragment"},
		{`UPDATE objects SET attempt_id = zeroblob(16) WHERE object_id = ` + second, false, CodeDigest, "fragment"},
		{`UPDATE objects SET state = 'quarantined' WHERE object_id = ` + second, false, CodeCorrupt, ""},
		{`UPDATE manifest_entries SET contribution = zeroblob(16) WHERE contribution_role = 'base' AND position = 0`, false, CodeDigest, "manifest entry"},

		{`DELETE FROM fragments WHERE object_id = ` + second, true, CodeCorrupt, "no fragment"},
		{`UPDATE fragments SET lsn = 1 WHERE object_id = ` + second, true, CodeCorrupt, "LSN 2 and 1"},
		{`UPDATE fragments SET lsn = 1 WHERE object_id = ` + first + ` AND ordinal = 1`, true, CodeCorrupt, "LSN 2 and 1"},
		{`UPDATE fragments SET ordinal = 9 WHERE ordinal = 1 AND object_id = ` + second, true, CodeCorrupt, "no fragment 1"},
		{`UPDATE fragments SET table_id = 88 WHERE table_id = 0`, true, CodeCorrupt, "schema"},
		{`UPDATE fragments SET table_id = 0 WHERE object_id = ` + second + ` AND ordinal = 0`, true, CodeCorrupt, "schema"},
		{`DELETE FROM fragments WHERE table_id = 0; UPDATE fragments SET ordinal = ordinal - 1 WHERE object_id = ` + first, true, CodeCorrupt, "schema"},
		{`UPDATE fragments SET lsn = 3`, true, CodeCorrupt, "commits from 3"},
		{`UPDATE fragments SET lsn = 5`, true, CodeCorrupt, "of LSN 5"},
		{`UPDATE fragments SET object_id = (SELECT object_id FROM generations WHERE generation = 3) WHERE object_id = ` + second, true, CodeCorrupt, "no fragment"},
	} {
		t.Run(x.sql, func(t *testing.T) {
			change := func(ctx context.Context, tx *writeTx) error {
				if _, err := tx.ExecContext(ctx, x.sql); err != nil || !x.sign {
					return err
				}
				return resign(ctx, tx, c.identity())
			}
			tampered(t, c, change, func(ctx context.Context, tx *writeTx) {
				_, err := readState(ctx, tx, MainTimeline)
				wantCode(t, wrap("state", err), x.code)
				if x.find != "" && !strings.Contains(err.Error(), x.find) {
					t.Errorf("%v does not say %q", err, x.find)
				}
				// With the state's own finding left out: those are of rows that no head has, too.
				var findings []string
				report := func(text string) { findings = append(findings, text) }
				if err := errors.Join(checkObjects(ctx, tx.Tx, report), checkFragments(ctx, tx.Tx, report), checkManifests(ctx, tx.Tx, report)); err != nil {
					t.Fatal(err)
				}
				switch {
				case strings.Contains(x.find, "schema"), strings.Contains(x.find, "commits from"), strings.Contains(x.find, "of LSN 5"), x.find == "":
				default:
					if len(findings) == 0 {
						t.Error("no finding")
					}
				}
			})
		})
	}
	if s, err := c.State(t.Context()); err != nil || s.BaseLSN != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestContradictingBase signs the entries anew, too: a base entry behind a
// generation, or of a blob that is no base's.
func TestContradictingBase(t *testing.T) {
	c, err := Open(t.Context(), Options{Dir: compactedStore(t)})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct{ sql, find, audit string }{
		"behind a generation": {`UPDATE manifest_entries SET position = 99 WHERE position = 1 AND contribution_role = 'base';
			UPDATE manifest_entries SET position = 1 WHERE position = 2;
			UPDATE manifest_entries SET position = 2 WHERE position = 99`, "behind generations", "base entries up to position"},
		"of another factor": {`UPDATE manifest_entries SET logical_factor_id = 4711 WHERE position = 1`, "of factor 4711", ""},
		"of a generation":   {`UPDATE manifest_entries SET contribution_role = 'base' WHERE position = 2`, "no fragments", "which has no fragment"},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(ctx context.Context, tx *writeTx) error {
				// All entries in one chunk.
				for _, s := range []string{
					`UPDATE manifest_entries SET position = position + 2, chunk_id = (SELECT min(chunk_id) FROM representation_chunks) WHERE contribution_role = 'update' AND
						chunk_id <> (SELECT chunk_id FROM representation_chunks WHERE ordinal = 0)`,
					x.sql,
				} {
					if _, err := tx.ExecContext(ctx, s); err != nil {
						return err
					}
				}
				var rows []entryRow
				if err := tx.SelectContext(ctx, &rows, `SELECT chunk_id, position, logical_factor_id, blob_id, contribution_role, contribution, digest FROM manifest_entries`); err != nil {
					return err
				}
				for i := range rows {
					digest := rows[i].digest(c.identity())
					if _, err := tx.ExecContext(ctx, `UPDATE manifest_entries SET digest = ? WHERE chunk_id = ? AND position = ?`, digest[:], rows[i].ChunkID, rows[i].Position); err != nil {
						return err
					}
				}
				return nil
			}
			tampered(t, c, change, func(ctx context.Context, tx *writeTx) {
				_, err := readState(ctx, tx, MainTimeline)
				wantCode(t, wrap("state", err), CodeCorrupt)
				if !strings.Contains(err.Error(), x.find) {
					t.Errorf("%v does not say %q", err, x.find)
				}
				var audit []string
				if err := tx.SelectContext(ctx, &audit, `SELECT problem FROM manifest_audit`); err != nil {
					t.Fatal(err)
				}
				if all := strings.Join(audit, "\n"); !strings.Contains(all, x.audit) || (x.audit == "") != (all == "") {
					t.Errorf("audit %q, want %q", all, x.audit)
				}
			})
		})
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestReplayedGenerationsAreThere: with all behind it in the base, only the shard
// says where the rows must begin.
func TestReplayedGenerationsAreThere(t *testing.T) {
	c, err := Open(t.Context(), Options{Dir: compactedStore(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := compactOnce(t)(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	for _, number := range []int{4, 5} {
		tampered(t, c, func(ctx context.Context, tx *writeTx) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM generations WHERE generation <= ?`, number)
			return err
		}, func(ctx context.Context, tx *writeTx) {
			if _, err := readState(ctx, tx, MainTimeline); (number == 4) != (err == nil) || err != nil && !errors.Is(err, CodeCorrupt) {
				t.Errorf("without generation %d: %v", number, err)
			}
		})
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestGenerationsBeginAnywhere: rows may be missing before the first one, as far as
// recovery needs none of them.
func TestGenerationsBeginAnywhere(t *testing.T) {
	c, err := Open(t.Context(), Options{Dir: compactedStore(t)})
	if err != nil {
		t.Fatal(err)
	}
	for sql, code := range map[string]Code{
		`SELECT 1`: "", // begins at 3
		`DELETE FROM generations WHERE generation < 4`: CodeCorrupt, // the head has 3
		`DELETE FROM generations WHERE generation = 4`: CodeCorrupt,
		`DELETE FROM generations WHERE generation < 6`: CodeCorrupt,
		`DELETE FROM generations`:                      CodeCorrupt,
	} {
		tampered(t, c, func(ctx context.Context, tx *writeTx) error { _, err := tx.ExecContext(ctx, sql); return err }, func(ctx context.Context, tx *writeTx) {
			_, err := readState(ctx, tx, MainTimeline)
			if code == "" && err != nil {
				t.Error(err)
			}
			if code != "" {
				wantCode(t, wrap("state", err), code)
			}
		})
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
