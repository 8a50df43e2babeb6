package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// A file is removed in three steps: [Catalog.Claim], after which nothing can
// acquire the object any more; the engine unlinks the file and syncs the
// directory; [Catalog.Collected]. A crash leaves the object claimed, and
// [Catalog.Garbage] lists it again: the name is never free for another file.

const objectColumns = `o.object_id, o.kind, o.incarnation, o.relative_path, o.state, coalesce(o.byte_extent, 0) AS byte_extent, 0 AS rooted`

// Claim claims objects for removal, in one BEGIN IMMEDIATE: each only if nothing
// reaches it. It returns those that are claimed now, also if they were before; the
// others stay as they are. From then on nothing can name a claimed object, and
// its file may be unlinked. Each claim is an intent in gc_work.
func (c *Catalog) Claim(ctx context.Context, ids []int64) ([]Object, error) {
	var claimed []Object
	err := c.write(ctx, "claim", func(ctx context.Context, tx *writeTx) error {
		if err := unfrozen(ctx, tx); err != nil {
			return err
		}
		list, err := objectsInOrder(ctx, tx, ids)
		if err != nil {
			return err
		}
		changed := false
		for _, o := range list {
			if o.State != stateClaimed {
				if o.State == stateCollected {
					continue
				}
				ok, err := claim(ctx, tx, o.ID)
				if err != nil {
					return err
				}
				if !ok {
					continue
				}
				o.State, changed = stateClaimed, true
			}
			claimed = append(claimed, o)
		}
		if !changed {
			return errUnchanged
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// States of an object that is on its way out.
const (
	stateClaimed   = "gc_claimed"
	stateCollected = "collected"
)

// unfrozen refuses while outcomes are being established: any file may be needed.
func unfrozen(ctx context.Context, tx *writeTx) error {
	var state string
	if err := tx.GetContext(ctx, &state, `SELECT state FROM storage_domain`); err != nil {
		return err
	}
	if state != "normal" {
		return refuse(CodeGC, "", "frozen: storage domain is %s", state)
	}
	return nil
}

// objectsInOrder reads objects, dependents first. One that is gone is left out.
func objectsInOrder(ctx context.Context, tx *writeTx, ids []int64) (list []Object, err error) {
	for _, id := range ids {
		if err := checkID("object", id); err != nil {
			return nil, err
		}
	}
	err = tx.SelectContext(ctx, &list, `SELECT `+objectColumns+` FROM objects o WHERE o.object_id IN (SELECT value FROM json_each(?))
		ORDER BY o.graph_seq IS NULL DESC, o.graph_seq DESC, o.object_id`, idText(ids))
	return list, err
}

// claim claims one object. The guard decides: it knows every way to reach one, and
// what it refuses leaves the transaction as it was.
func claim(ctx context.Context, tx *writeTx, id int64) (bool, error) {
	_, err := tx.ExecContext(ctx, `UPDATE objects SET state = 'gc_claimed', lifecycle_revision = lifecycle_revision + 1 WHERE object_id = ?`, id)
	if code, _ := classify(err); err != nil && (code == CodeGC || code == CodeRecovery) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("objects: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO gc_work(object_id, deletion_generation)
		SELECT ?1, coalesce(max(deletion_generation), 0) + 1 FROM gc_work WHERE object_id = ?1`, id); err != nil {
		return false, fmt.Errorf("gc_work: %w", err)
	}
	return true, nil
}

// Collected records that the files of claimed objects are gone and that the
// directories they were in are synced. The objects and what only describes them
// leave, but for a tombstone that keeps id, path and incarnation from being used
// again. The row of a generation waits, as collected, for those before it in its
// shard. What was recorded before stays as it is; an object that is not claimed is
// refused, and then nothing is recorded.
func (c *Catalog) Collected(ctx context.Context, ids []int64) error {
	return c.write(ctx, "collected", func(ctx context.Context, tx *writeTx) error {
		list, err := objectsInOrder(ctx, tx, ids)
		if err != nil {
			return err
		}
		if err := onlyCollected(ctx, tx, ids, list); err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(o Object) bool { return o.State == stateCollected })
		if len(list) == 0 {
			return errUnchanged
		}
		return c.collect(ctx, tx, list)
	})
}

// onlyCollected refuses ids of objects that are neither claimed nor collected, and
// of none.
func onlyCollected(ctx context.Context, tx *writeTx, ids []int64, list []Object) error {
	here := make(map[int64]bool, len(list))
	for _, o := range list {
		if o.State != stateClaimed && o.State != stateCollected {
			return refuse(CodeGC, "", "object %d is %s, not claimed", o.ID, o.State)
		}
		here[o.ID] = true
	}
	for _, id := range ids {
		if here[id] {
			continue
		}
		var kept int64
		err := tx.GetContext(ctx, &kept, `SELECT object_id FROM identity_tombstones WHERE object_id = ?`, id)
		if errors.Is(err, sql.ErrNoRows) {
			return refuse(CodeUnknown, "", "no object %d", id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// collect takes objects from claimed to gone, dependents first.
func (c *Catalog) collect(ctx context.Context, tx *writeTx, list []Object) error {
	ids := make([]int64, len(list))
	for i, o := range list {
		ids[i] = o.ID
	}
	text := idText(ids)
	// What is done is recorded step by step: the guards know no other way.
	for _, step := range []struct{ state, outcome string }{{"unlinking", ""}, {"unlinked", ""}, {"synced", ""}, {"done", "unlinked"}} {
		if _, err := tx.ExecContext(ctx, `UPDATE gc_work SET claim_state = ?, outcome = nullif(?, ''), revision = revision + 1
			WHERE claim_state <> 'done' AND object_id IN (SELECT value FROM json_each(?))`, step.state, step.outcome, text); err != nil {
			return fmt.Errorf("gc_work: %w", err)
		}
	}
	if _, err := tx.ExecContext(ctx, `UPDATE objects SET state = 'collected', lifecycle_revision = lifecycle_revision + 1
		WHERE object_id IN (SELECT value FROM json_each(?))`, text); err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	shards, err := c.collectGenerations(ctx, tx, text)
	if err != nil {
		return err
	}
	return prune(ctx, tx, []byte("collected"), func() error {
		if err := pruneDescriptions(ctx, tx, text); err != nil {
			return err
		}
		for _, shard := range shards {
			if err := pruneGenerations(ctx, tx, shard); err != nil {
				return err
			}
		}
		return pruneObjects(ctx, tx, text)
	})
}

// collectGenerations marks those of the objects that are generations, and returns
// their shards.
func (c *Catalog) collectGenerations(ctx context.Context, tx *writeTx, text string) (shards []int64, err error) {
	var rows []generationRow
	if err := tx.SelectContext(ctx, &rows, generationQuery+` WHERE g.object_id IN (SELECT value FROM json_each(?))`, text); err != nil {
		return nil, err
	}
	identity := c.identity()
	for i := range rows {
		r := &rows[i]
		if _, err := r.verified(identity); err != nil {
			return nil, err
		}
		r.State = GenerationCollected
		r.Revision++
		digest := r.digest(identity)
		result, err := tx.ExecContext(ctx, `UPDATE generations SET state = 'collected', revision = ?, digest = ? WHERE shard_id = ? AND generation = ? AND revision = ?`,
			r.Revision, digest[:], r.ShardID, r.Generation, r.Revision-1)
		if err := expectOneRow(result, err); err != nil {
			return nil, fmt.Errorf("generations: %w", err)
		}
		if !slices.Contains(shards, r.ShardID) {
			shards = append(shards, r.ShardID)
		}
	}
	return shards, nil
}

// pruneDescriptions removes what describes objects but their own rows.
func pruneDescriptions(ctx context.Context, tx *writeTx, text string) error {
	// A representation that nothing retains may have stayed, if nobody released it
	// through a publication.
	var representations []int64
	if err := tx.SelectContext(ctx, &representations, `
		SELECT DISTINCT c.representation_id FROM blob_versions b
		CROSS JOIN manifest_entries e ON e.blob_id = b.blob_id
		CROSS JOIN representation_chunks c ON c.chunk_id = e.chunk_id AND c.entries > e.position
		WHERE b.native_object_id IN (SELECT value FROM json_each(?1)) OR b.index_object_id IN (SELECT value FROM json_each(?1))
			OR b.secondary_native_object_id IN (SELECT value FROM json_each(?1))
		UNION SELECT r.representation_id FROM index_state_segments s CROSS JOIN representations r ON r.index_state_id = s.index_state_id
		WHERE s.object_id IN (SELECT value FROM json_each(?1))`, text); err != nil {
		return err
	}
	for _, id := range representations {
		if err := pruneRepresentation(ctx, tx, id); err != nil {
			return err
		}
	}
	// Blobs refer to those registered before them.
	var blobs []int64
	if err := tx.SelectContext(ctx, &blobs, `
		SELECT blob_id FROM blob_versions
		WHERE native_object_id IN (SELECT value FROM json_each(?1)) OR index_object_id IN (SELECT value FROM json_each(?1))
			OR secondary_native_object_id IN (SELECT value FROM json_each(?1)) ORDER BY registration_seq DESC`, text); err != nil {
		return err
	}
	for _, id := range blobs {
		if _, err := tx.ExecContext(ctx, `DELETE FROM blob_versions WHERE blob_id = ?`, id); err != nil {
			return fmt.Errorf("blob_versions: %w", err)
		}
	}
	for _, query := range []string{
		`DELETE FROM object_edges WHERE source_object_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM object_edges WHERE target_object_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM fragments WHERE object_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM segments WHERE object_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM generation_tables WHERE object_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM seal_receipts WHERE object_id IN (SELECT value FROM json_each(?))`,
		`DELETE FROM gc_work WHERE object_id IN (SELECT value FROM json_each(?))`,
	} {
		if _, err := tx.ExecContext(ctx, query, text); err != nil {
			return err
		}
	}
	return nil
}

// pruneGenerations removes the collected generations that a shard begins with, and
// their objects.
func pruneGenerations(ctx context.Context, tx *writeTx, shardID int64) error {
	var first int64 // that stays
	if err := tx.GetContext(ctx, &first, `SELECT generation FROM generations WHERE shard_id = ? AND state <> 'collected' ORDER BY generation LIMIT 1`, shardID); err != nil {
		return fmt.Errorf("generations of shard %d: %w", shardID, err)
	}
	var ids []int64
	if err := tx.SelectContext(ctx, &ids, `SELECT object_id FROM generations WHERE shard_id = ? AND generation < ? ORDER BY generation`, shardID, first); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM generations WHERE shard_id = ? AND generation < ?`, shardID, first); err != nil {
		return fmt.Errorf("generations: %w", err)
	}
	return pruneObjects(ctx, tx, idText(ids))
}

// pruneObjects removes the rows of collected objects that no generation is left of.
func pruneObjects(ctx context.Context, tx *writeTx, text string) error {
	for _, query := range []string{
		`INSERT INTO identity_tombstones(object_id, relative_path, incarnation, kind)
			SELECT o.object_id, o.relative_path, o.incarnation, o.kind FROM objects o
			WHERE o.object_id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.object_id = o.object_id)`,
		`DELETE FROM objects WHERE object_id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM generations g WHERE g.object_id = objects.object_id)`,
	} {
		if _, err := tx.ExecContext(ctx, query, text); err != nil {
			return fmt.Errorf("objects: %w", err)
		}
	}
	return nil
}
