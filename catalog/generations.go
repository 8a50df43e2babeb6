package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// ReserveGenerations commits the identities of shards' next generations before
// their files exist: for each an object, a root of the timeline's owner and a
// generation row, all in one transaction. A generation that is there already
// is returned as it is.
func (c *Catalog) ReserveGenerations(ctx context.Context, wanted ...ShardGeneration) ([]Generation, error) {
	const op = "reserve-generation"
	gs := make([]Generation, len(wanted))
	err := c.write(ctx, op, func(ctx context.Context, tx *writeTx) error {
		changed := false
		for i, w := range wanted {
			if err := errors.Join(checkID("shard", w.ShardID), checkID("generation", w.Generation)); err != nil {
				return err
			}
			row, err := getGeneration(ctx, tx, w.ShardID, w.Generation)
			if err != nil {
				return err
			}
			if row != nil {
				gs[i], err = row.verified(c.identity())
			} else {
				changed = true
				gs[i], err = reserveGeneration(ctx, tx, c.identity(), w.ShardID, w.Generation)
			}
			if err != nil {
				return err
			}
		}
		if !changed {
			return errUnchanged
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return gs, nil
}

// reserveGeneration inserts object, root and generation, in the order the guards
// want them.
func reserveGeneration(ctx context.Context, tx *writeTx, identity [16]byte, shardID, generation int64) (Generation, error) {
	var ownerID int64
	err := tx.GetContext(ctx, &ownerID, `SELECT t.owner_id FROM shards s JOIN timelines t ON t.timeline_id = s.timeline_id WHERE s.shard_id = ?`, shardID)
	if errors.Is(err, sql.ErrNoRows) {
		return Generation{}, refuse(CodeUnknown, "", "no shard %d", shardID)
	}
	if err != nil {
		return Generation{}, err
	}
	objectID, attempt, err := reserveObject(ctx, tx, KindKV)
	if err != nil {
		return Generation{}, err
	}
	row := generationRow{
		ShardID: shardID, Generation: generation, ObjectID: objectID, State: GenerationOpen,
		Kind: KindKV, Path: ObjectPath(objectID, KindKV), Attempt: attempt[:],
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owner_objects(owner_id, object_id, purpose) VALUES (?, ?, 'active')`, ownerID, objectID); err != nil {
		return Generation{}, fmt.Errorf("owner_objects: %w", err)
	}
	digest := row.digest(identity)
	row.Digest = digest[:]
	if _, err := tx.ExecContext(ctx, `INSERT INTO generations(shard_id, generation, object_id, digest) VALUES (?, ?, ?, ?)`,
		shardID, generation, objectID, row.Digest); err != nil {
		return Generation{}, fmt.Errorf("generations: %w", err)
	}
	return row.verified(identity)
}

// getGeneration returns nil when the shard has no such generation.
func getGeneration(ctx context.Context, q sqlx.QueryerContext, shardID, generation int64) (*generationRow, error) {
	var row generationRow
	err := sqlx.GetContext(ctx, q, &row, generationQuery+` WHERE g.shard_id = ? AND g.generation = ?`, shardID, generation)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &row, nil
}
