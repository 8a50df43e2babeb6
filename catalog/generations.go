package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// ReserveGeneration commits the identity of a shard's next generation before
// its file exists: object, root of the timeline's owner and generation row in
// one transaction. A generation that is there already is returned as it is.
func (c *Catalog) ReserveGeneration(ctx context.Context, shardID, generation int64) (Generation, error) {
	const op = "reserve-generation"
	var g Generation
	err := c.write(ctx, op, func(ctx context.Context, tx *writeTx) (err error) {
		if err := errors.Join(checkID("shard", shardID), checkID("generation", generation)); err != nil {
			return err
		}
		row, err := getGeneration(ctx, tx, shardID, generation)
		if err != nil {
			return err
		}
		if row != nil {
			if g, err = row.verified(c.identity()); err != nil {
				return err
			}
			return errUnchanged
		}
		g, err = reserveGeneration(ctx, tx, c.identity(), shardID, generation)
		return err
	})
	if err != nil {
		return Generation{}, err
	}
	return g, nil
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
	objectID, err := tx.newID(ctx)
	if err != nil {
		return Generation{}, err
	}
	incarnation, err := tx.newIncarnation(ctx)
	if err != nil {
		return Generation{}, err
	}
	attempt := randomID()
	row := generationRow{
		ShardID: shardID, Generation: generation, ObjectID: objectID, State: GenerationOpen,
		Kind: KindKV, Path: ObjectPath(objectID, KindKV), Attempt: attempt[:],
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path) VALUES (?, ?, ?, ?, ?)`,
		objectID, KindKV, incarnation, attempt[:], row.Path); err != nil {
		return Generation{}, fmt.Errorf("objects: %w", err)
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
