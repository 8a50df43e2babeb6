package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/tidemarkdb/tidemark/migrations"
)

// Check verifies the whole catalog: SQLite's own integrity and foreign keys,
// the schema, and for every timeline what recovery relies on. It hands each
// finding to report and goes on; the error is for what kept it from checking.
func (c *Catalog) Check(ctx context.Context, report func(text string)) error {
	return c.read(ctx, "check", func(ctx context.Context, tx *sqlx.Tx) error {
		if err := checkFile(ctx, tx, report); err != nil {
			return err
		}
		if err := c.checkStoredSchema(ctx, tx, report); err != nil {
			return err
		}
		var names []string
		if err := tx.SelectContext(ctx, &names, `SELECT name FROM timelines ORDER BY name`); err != nil {
			return err
		}
		for _, name := range names {
			s, err := readState(ctx, tx, name)
			if err == nil && s.forked() {
				// The state has no generations of the parent; the history has.
				_, err = readHistory(ctx, tx, c.identity(), s.Timeline.RepresentationID)
			}
			if err != nil {
				if !isFinding(err) {
					return err
				}
				report(err.Error())
			}
		}
		if err := checkBranchPoints(ctx, tx, report); err != nil {
			return err
		}
		if err := checkMerges(ctx, tx, report); err != nil {
			return err
		}
		if err := checkObjects(ctx, tx, report); err != nil {
			return err
		}
		if err := checkFragments(ctx, tx, report); err != nil {
			return err
		}
		if err := checkIndexes(ctx, tx, report); err != nil {
			return err
		}
		return checkManifests(ctx, tx, report)
	})
}

// isFinding tells what is wrong with the catalog from what kept us from looking.
func isFinding(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Result == 0
}

func (c *Catalog) checkStoredSchema(ctx context.Context, db migrations.Querier, report func(string)) error {
	err := checkSchema(ctx, db, c.options.files)
	if err != nil && isFinding(err) {
		report(err.Error())
		return nil
	}
	return err
}

// checkFile asks SQLite.
func checkFile(ctx context.Context, tx *sqlx.Tx, report func(string)) error {
	var lines []string
	if err := tx.SelectContext(ctx, &lines, `PRAGMA integrity_check(100)`); err != nil {
		return err
	}
	for _, line := range lines {
		if line != "ok" {
			report("integrity: " + line)
		}
	}
	rows, err := tx.QueryContext(ctx, `SELECT "table", rowid, parent FROM pragma_foreign_key_check`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var table, parent string
		var rowid *int64
		if err := rows.Scan(&table, &rowid, &parent); err != nil {
			return err
		}
		report(fmt.Sprintf("foreign key: a row of %s (rowid %d) refers to nothing in %s", table, deref(rowid), parent))
	}
	return rows.Err()
}

// checkBranchPoints verifies every branch point and what its state is made of.
func checkBranchPoints(ctx context.Context, tx *sqlx.Tx, report func(string)) error {
	info, err := readInfo(ctx, tx)
	if err != nil || info == nil {
		return err
	}
	identity := info.identity()
	var rows []branchRow
	if err := tx.SelectContext(ctx, &rows, branchQuery+` ORDER BY b.name`); err != nil {
		return err
	}
	for i := range rows {
		err := rows[i].verify(identity)
		if err == nil {
			_, err = readHistory(ctx, tx, identity, rows[i].RepresentationID)
		}
		if err != nil {
			if !isFinding(err) {
				return err
			}
			report(fmt.Sprintf("branch point %q: %v", rows[i].Name, err))
		}
	}
	return nil
}

// checkObjects looks for what the guards forbid, in case a file was edited
// without them: values below an allocator, sealed objects without a receipt,
// and roots on what is gone.
func checkObjects(ctx context.Context, tx *sqlx.Tx, report func(string)) error {
	for _, q := range []struct{ text, query string }{
		{"object %d was never reserved from the allocators", `
			SELECT object_id FROM objects, catalog_info WHERE object_id >= next_id OR incarnation >= next_incarnation`},
		{"object %d is sealed without a receipt of this catalog", `
			SELECT o.object_id FROM objects o, catalog_info c WHERE o.state = 'sealed' AND NOT EXISTS (
				SELECT 1 FROM seal_receipts s WHERE s.object_id = o.object_id AND s.backing_catalog = c.catalog_identity
					AND s.attempt_id = o.attempt_id AND s.byte_extent = o.byte_extent AND s.integrity_digest = o.integrity_digest)`},
		{"object %d is claimed or collected and still has a root", `
			SELECT o.object_id FROM objects o WHERE o.state IN ('gc_claimed','collected') AND o.object_id IN (SELECT object_id FROM reachable_objects)`},
		{"object %d is a generation to be replayed and its timeline has no root on it", `
			SELECT g.object_id FROM generations g JOIN shards s ON s.shard_id = g.shard_id JOIN timelines t ON t.timeline_id = s.timeline_id
			WHERE g.generation >= s.replay_from AND NOT EXISTS (
				SELECT 1 FROM owner_objects x WHERE x.owner_id = t.owner_id AND x.object_id = g.object_id)`},
		{"object %d is a sealed kv that something needs, no generation, and has no fragments", `
			SELECT o.object_id FROM objects o WHERE o.state = 'sealed' AND o.kind = 'kv' AND NOT EXISTS (SELECT 1 FROM generations WHERE object_id = o.object_id)
				AND NOT EXISTS (SELECT 1 FROM fragments WHERE object_id = o.object_id) AND o.object_id IN (SELECT object_id FROM reachable_objects)`},
		{"object %d is a sealed index that something needs, of no blob, and no segment", `
			SELECT o.object_id FROM objects o WHERE o.state = 'sealed' AND o.kind = 'index' AND NOT EXISTS (SELECT 1 FROM blob_versions WHERE index_object_id = o.object_id)
				AND NOT EXISTS (SELECT 1 FROM segments WHERE object_id = o.object_id) AND o.object_id IN (SELECT object_id FROM reachable_objects)`},
		{"object %d is claimed and has no intent", `
			SELECT o.object_id FROM objects o WHERE o.state = 'gc_claimed' AND NOT EXISTS (SELECT 1 FROM gc_work g WHERE g.object_id = o.object_id AND g.claim_state <> 'done')`},
		{"owner %d of a branch point retains and no branch point selects it", `
			SELECT o.owner_id FROM owners o WHERE o.kind = 'branch_point' AND o.state <> 'released' AND NOT EXISTS (SELECT 1 FROM branch_points b WHERE b.owner_id = o.owner_id)`},
		{"owner %d of a merge retains its outputs and there is no such merge", `
			SELECT DISTINCT o.owner_id FROM owners o JOIN owner_blobs b ON b.owner_id = o.owner_id WHERE o.kind = 'cache'
				AND NOT EXISTS (SELECT 1 FROM completed_merges m WHERE m.owner_id = o.owner_id)`},
		{"owner %d of a merge retains its outputs and no head has them", `
			SELECT m.owner_id FROM completed_merges m WHERE NOT EXISTS (SELECT 1 FROM completed_merge_outputs o
				CROSS JOIN manifest_entries e ON e.blob_id = o.blob_id
				CROSS JOIN representation_chunks c ON c.chunk_id = e.chunk_id AND c.entries > e.position
				CROSS JOIN timelines t ON t.head_representation_id = c.representation_id WHERE o.cache_key = m.cache_key)`},
		{"owner %d of a reader retains for a session that was closed", `
			SELECT o.owner_id FROM owners o JOIN sessions s ON s.session_id = o.session_id WHERE o.state <> 'released' AND s.state = 'closed'`},
		{"object %d depends on one that is claimed or collected, and is neither", `SELECT DISTINCT source_object_id FROM claim_closure_audit`},
	} {
		var ids []int64
		if err := tx.SelectContext(ctx, &ids, q.query); err != nil {
			return err
		}
		for _, id := range ids {
			report(fmt.Sprintf(q.text, id))
		}
	}
	return nil
}

// checkFragments verifies every fragment, also those of objects that no head has.
func checkFragments(ctx context.Context, tx *sqlx.Tx, report func(string)) error {
	info, err := readInfo(ctx, tx)
	if err != nil || info == nil {
		return err
	}
	var rows []fragmentRow
	if err := tx.SelectContext(ctx, &rows, fragmentQuery+` ORDER BY f.object_id, f.ordinal`); err != nil {
		return err
	}
	from := 0
	for i := range rows {
		if rows[i].ObjectID != rows[from].ObjectID {
			from = i
		}
		if err := rows[i].verify(info.identity(), rows[from:i]); err != nil {
			report(err.Error())
		}
	}
	return nil
}

// checkIndexes verifies every index state, every segment and the tables of every
// generation that is sealed, also of those that no head has.
func checkIndexes(ctx context.Context, tx *sqlx.Tx, report func(string)) error {
	info, err := readInfo(ctx, tx)
	if err != nil || info == nil {
		return err
	}
	find := func(err error) error {
		if err != nil && isFinding(err) {
			report(err.Error())
			return nil
		}
		return err
	}
	states, err := readStateRows(ctx, tx, "")
	if err != nil {
		return err
	}
	for i := range states {
		if err := find(checkDigest("index state", states[i].ID, states[i].Digest, states[i].digest(info.identity()))); err != nil {
			return err
		}
	}
	// What a retained one names must be there, too.
	var ids []int64
	if err := tx.SelectContext(ctx, &ids, `SELECT DISTINCT r.index_state_id FROM owner_representations o JOIN representations r ON r.representation_id = o.representation_id ORDER BY 1`); err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := readIndexState(ctx, tx, info.identity(), id); find(err) != nil {
			return err
		}
	}
	if err := tx.SelectContext(ctx, &ids, `SELECT object_id FROM segments ORDER BY object_id`); err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := readSegments(ctx, tx, info.identity(), id); find(err) != nil {
			return err
		}
	}
	var rows []generationRow
	if err := tx.SelectContext(ctx, &rows, generationQuery+` WHERE g.state = 'sealed' AND (g.tables_digest IS NOT NULL OR EXISTS (SELECT 1 FROM generation_tables t WHERE t.object_id = g.object_id))`); err != nil {
		return err
	}
	for i := range rows {
		if _, err := tablesOf(ctx, tx, map[int64]*generationRow{rows[i].ObjectID: &rows[i]}); find(err) != nil {
			return err
		}
	}
	return nil
}

// checkManifests asks the audit and verifies the digest of every entry.
func checkManifests(ctx context.Context, tx *sqlx.Tx, report func(string)) error {
	var problems []string
	if err := tx.SelectContext(ctx, &problems, `
		SELECT 'manifest: ' || coalesce('representation ' || representation_id || ' ', '') || coalesce('chunk ' || chunk_id || ' ', '') || problem FROM manifest_audit`); err != nil {
		return err
	}
	for _, p := range problems {
		report(p)
	}
	info, err := readInfo(ctx, tx)
	if err != nil || info == nil {
		return err
	}
	// Entries no head has, too: they belong to candidates and to what is retained otherwise.
	rows, err := allEntries(ctx, tx)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if err := checkDigest("manifest entry of factor", r.FactorID, r.Digest, r.digest(info.identity())); err != nil {
			report(err.Error())
		}
	}
	return nil
}
