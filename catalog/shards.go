package catalog

import (
	"context"
	"database/sql"
	"errors"
)

// ShardGeneration names a generation of a shard.
type ShardGeneration struct {
	ShardID    int64
	Generation int64
}

// BumpEpochs advances the writer epochs of shards by one, all or none, and
// returns the new ones. Every read-write open does so before it writes a
// generation header, and replay refuses a lower epoch after a higher one.
func (c *Catalog) BumpEpochs(ctx context.Context, shardIDs ...int64) ([]int64, error) {
	epochs := make([]int64, len(shardIDs))
	err := c.write(ctx, "bump-epoch", func(ctx context.Context, tx *writeTx) error {
		for i, id := range shardIDs {
			err := c.updateShard(ctx, tx, id, func(s *shardRow) error {
				s.WriterEpoch++
				epochs[i] = s.WriterEpoch
				return checkCounter("writer epoch", s.WriterEpoch)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return epochs, nil
}

// SetCurrentGenerations records which generation each shard appends to, all or
// none. It never goes back; naming the current one again changes nothing.
func (c *Catalog) SetCurrentGenerations(ctx context.Context, current ...ShardGeneration) error {
	return c.write(ctx, "set-current-generation", func(ctx context.Context, tx *writeTx) error {
		changed := false
		for _, g := range current {
			if err := checkID("generation", g.Generation); err != nil {
				return err
			}
			err := c.updateShard(ctx, tx, g.ShardID, func(s *shardRow) error {
				s.CurrentGeneration = g.Generation
				return nil
			})
			if err != nil && !errors.Is(err, errUnchanged) {
				return err
			}
			changed = changed || err == nil
		}
		if !changed {
			return errUnchanged
		}
		return nil
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
