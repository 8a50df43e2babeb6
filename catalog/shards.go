package catalog

import (
	"context"
	"database/sql"
	"errors"
)

// BumpEpoch advances a shard's writer epoch by one and returns the new one.
// Every read-write open does so before it writes a generation header, and
// replay refuses a lower epoch after a higher one.
func (c *Catalog) BumpEpoch(ctx context.Context, shardID int64) (int64, error) {
	var epoch int64
	err := c.write(ctx, "bump-epoch", func(ctx context.Context, tx *writeTx) error {
		return c.updateShard(ctx, tx, shardID, func(s *shardRow) error {
			s.WriterEpoch++
			epoch = s.WriterEpoch
			return checkCounter("writer epoch", epoch)
		})
	})
	if err != nil {
		return 0, err
	}
	return epoch, nil
}

// SetCurrentGeneration records which generation the shard appends to. It never
// goes back; naming the current one again changes nothing.
func (c *Catalog) SetCurrentGeneration(ctx context.Context, shardID, generation int64) error {
	return c.write(ctx, "set-current-generation", func(ctx context.Context, tx *writeTx) error {
		if err := checkID("generation", generation); err != nil {
			return err
		}
		return c.updateShard(ctx, tx, shardID, func(s *shardRow) error {
			s.CurrentGeneration = generation
			return nil
		})
	})
}

// updateShard changes one row, verified before and digested after. A change
// that changes nothing is not written.
func (c *Catalog) updateShard(ctx context.Context, tx *writeTx, shardID int64, change func(*shardRow) error) error {
	var row shardRow
	err := tx.GetContext(ctx, &row, shardQuery+` WHERE shard_id = ?`, shardID)
	if errors.Is(err, sql.ErrNoRows) {
		return refuse(CodeUnknown, "", "no shard %d", shardID)
	}
	if err != nil {
		return err
	}
	identity := c.identity()
	if err := checkDigest("shard", row.ID, row.Digest, row.digest(identity)); err != nil {
		return err
	}
	before := row.digest(identity)
	if err := change(&row); err != nil {
		return err
	}
	if row.digest(identity) == before {
		return errUnchanged
	}
	row.Revision++
	digest := row.digest(identity)
	result, err := tx.ExecContext(ctx, `
		UPDATE shards SET writer_epoch = ?, current_generation = ?, replay_from = ?, revision = ?, digest = ?
		WHERE shard_id = ? AND revision = ?`,
		row.WriterEpoch, row.CurrentGeneration, row.ReplayFrom, row.Revision, digest[:], shardID, row.Revision-1)
	return expectOneRow(result, err)
}

// expectOneRow refuses a conditional update that met another revision.
func expectOneRow(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if n != 1 {
		return refuse(CodeRevision, "", "the row changed meanwhile (%d rows matched)", n)
	}
	return nil
}
