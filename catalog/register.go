package catalog

import (
	"context"
	"errors"
	"fmt"
)

// layoutNative: a blob of one kv object and nothing else.
const layoutNative = "native"

// Register makes sealed generations blobs, which manifests can name: step 4 of a
// publication. All or none; one that is registered already stays as it is.
func (c *Catalog) Register(ctx context.Context, gens ...ShardGeneration) error {
	return c.write(ctx, "register", func(ctx context.Context, tx *writeTx) error {
		changed := false
		for _, g := range gens {
			if err := errors.Join(checkID("shard", g.ShardID), checkID("generation", g.Generation)); err != nil {
				return err
			}
			row, err := getGeneration(ctx, tx, g.ShardID, g.Generation)
			if err != nil {
				return err
			}
			if row == nil {
				return refuse(CodeUnknown, "", "shard %d has no generation %d", g.ShardID, g.Generation)
			}
			if _, err := row.verified(c.identity()); err != nil {
				return err
			}
			if row.State != GenerationSealed {
				return refuse(CodeBlob, "", "generation %d of shard %d is %s, must be sealed", g.Generation, g.ShardID, row.State)
			}
			if row.BlobID != nil {
				continue
			}
			changed = true
			if err := register(ctx, tx, row); err != nil {
				return err
			}
		}
		if !changed {
			return errUnchanged
		}
		return nil
	})
}

// register makes a generation's object a blob.
func register(ctx context.Context, tx *writeTx, row *generationRow) error {
	_, err := registerObject(ctx, tx, row.ObjectID, row.ObjectRevision, deref(row.Records))
	return err
}

// registerObject gives the object its place in the graph and inserts its native
// blob. The registration takes the same number: both come from one sequence.
func registerObject(ctx context.Context, tx *writeTx, objectID, revision, records int64) (blobID int64, err error) {
	if blobID, err = tx.newID(ctx); err != nil {
		return 0, err
	}
	var next int64
	if err := tx.GetContext(ctx, &next, `UPDATE catalog_info SET next_graph_seq = next_graph_seq + 1 RETURNING next_graph_seq`); err != nil {
		return 0, err
	}
	seq := next - 1
	result, err := tx.ExecContext(ctx, `UPDATE objects SET graph_seq = ?, lifecycle_revision = lifecycle_revision + 1
		WHERE object_id = ? AND lifecycle_revision = ?`, seq, objectID, revision)
	if err := expectOneRow(result, err); err != nil {
		return 0, fmt.Errorf("objects: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO blob_versions(blob_id, layout, native_object_id, native_count, augmented_count, registration_seq)
		VALUES (?, ?, ?, ?, ?, ?)`, blobID, layoutNative, objectID, records, records, seq); err != nil {
		return 0, fmt.Errorf("blob_versions: %w", err)
	}
	return blobID, nil
}
