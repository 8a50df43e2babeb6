package catalog

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// RenewCopy makes the copy in file a catalog with an identity of its own: the one
// it had is lineage from then on, digests are computed anew, and every sealed
// object has a receipt. The caller has verified each of these objects, where the
// copy is to name them, by its digest, and synced files and directories.
func RenewCopy(ctx context.Context, file string, now time.Time) (identity [16]byte, err error) {
	err = rewriteCopy(ctx, "renew-copy", file, func(ctx context.Context, tx *sqlx.Tx, info *infoRow) error {
		old := info.identity()
		identity = randomID()
		if _, err := tx.ExecContext(ctx, `UPDATE catalog_info SET catalog_identity = ?`, identity[:]); err != nil {
			return fmt.Errorf("catalog_info: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO store_lineage(catalog_identity, since) VALUES (?, ?)`, old[:], timestamp(now)); err != nil {
			return fmt.Errorf("store_lineage: %w", err)
		}
		if err := redigest(ctx, tx, old, identity); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM seal_receipts`); err != nil {
			return fmt.Errorf("seal_receipts: %w", err)
		}
		_, err := tx.ExecContext(ctx, `
			INSERT INTO seal_receipts(object_id, backing_catalog, attempt_id, barrier, directory_synced, byte_extent, integrity_digest)
			SELECT object_id, ?, attempt_id, ?, 1, byte_extent, integrity_digest FROM objects WHERE state = 'sealed'`, identity[:], barrier())
		if err != nil {
			return fmt.Errorf("seal_receipts: %w", err)
		}
		return nil
	})
	return identity, err
}

// redigester replaces the digests of one kind of rows.
type redigester struct {
	ctx      context.Context
	tx       *sqlx.Tx
	old, new [16]byte
	kind     string
}

// row replaces one digest. A row that does not have the digest of its old catalog
// is damaged, and must not get one that says otherwise.
func (d *redigester) row(id int64, stored []byte, digest func(identity [16]byte) [32]byte, update string, key ...any) error {
	was := digest(d.old)
	if !bytes.Equal(stored, was[:]) {
		return checkDigest(d.kind, id, stored, was)
	}
	now := digest(d.new)
	result, err := d.tx.ExecContext(d.ctx, update, append([]any{now[:]}, key...)...)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("%s %d: %w", d.kind, id, err)
	}
	return nil
}

// redigest replaces every digest that covers the identity of the catalog.
func redigest(ctx context.Context, tx *sqlx.Tx, old, identity [16]byte) error {
	d := redigester{ctx: ctx, tx: tx, old: old, new: identity}
	for _, step := range []func(*redigester) error{
		redigestHeads, redigestBranches, redigestIndexStates, redigestShards, redigestGenerations, redigestEntries, redigestFragments, redigestSegments,
	} {
		if err := step(&d); err != nil {
			return err
		}
	}
	return nil
}

func redigestHeads(d *redigester) error {
	d.kind = "timeline"
	var rows []headRow
	if err := d.tx.SelectContext(d.ctx, &rows, headQuery); err != nil {
		return err
	}
	var all int
	if err := d.tx.GetContext(d.ctx, &all, `SELECT count(*) FROM timelines`); err != nil {
		return err
	}
	if all != len(rows) {
		return refuse(CodeCorrupt, "", "%d of %d heads have no world or representation", all-len(rows), all)
	}
	for i := range rows {
		r := &rows[i]
		if err := d.row(r.TimelineID, r.Digest, r.digest, `UPDATE timelines SET digest = ? WHERE timeline_id = ?`, r.TimelineID); err != nil {
			return err
		}
	}
	return nil
}

func redigestBranches(d *redigester) error {
	d.kind = "branch point"
	var rows []branchRow
	if err := d.tx.SelectContext(d.ctx, &rows, branchQuery); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if err := d.row(r.BranchID, r.Digest, r.digest, `UPDATE branch_points SET digest = ? WHERE branch_id = ?`, r.BranchID); err != nil {
			return err
		}
	}
	return nil
}

func redigestIndexStates(d *redigester) error {
	d.kind = "index state"
	rows, err := readStateRows(d.ctx, d.tx, "")
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if err := d.row(r.ID, r.Digest, r.digest, `UPDATE index_states SET digest = ? WHERE index_state_id = ?`, r.ID); err != nil {
			return err
		}
	}
	return nil
}

func redigestShards(d *redigester) error {
	d.kind = "shard"
	var rows []shardRow
	if err := d.tx.SelectContext(d.ctx, &rows, shardQuery); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if err := d.row(r.ID, r.Digest, r.digest, `UPDATE shards SET digest = ? WHERE shard_id = ?`, r.ID); err != nil {
			return err
		}
	}
	return nil
}

func redigestGenerations(d *redigester) error {
	d.kind = "generation of shard"
	var rows []generationRow
	if err := d.tx.SelectContext(d.ctx, &rows, generationQuery); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if err := d.row(r.ShardID, r.Digest, r.digest, `UPDATE generations SET digest = ? WHERE shard_id = ? AND generation = ?`, r.ShardID, r.Generation); err != nil {
			return err
		}
	}
	return nil
}

func redigestEntries(d *redigester) error {
	d.kind = "manifest entry of factor"
	rows, err := allEntries(d.ctx, d.tx)
	if err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if err := d.row(r.FactorID, r.Digest, r.digest, `UPDATE manifest_entries SET digest = ? WHERE chunk_id = ? AND position = ?`, r.ChunkID, r.Position); err != nil {
			return err
		}
	}
	return nil
}

func redigestFragments(d *redigester) error {
	d.kind = "fragment"
	var rows []fragmentRow
	if err := d.tx.SelectContext(d.ctx, &rows, fragmentQuery); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if err := d.row(r.ID, r.Digest, r.digest, `UPDATE fragments SET digest = ? WHERE fragment_id = ?`, r.ID); err != nil {
			return err
		}
	}
	return nil
}

func redigestSegments(d *redigester) error {
	d.kind = "segment"
	var rows []segmentRow
	if err := d.tx.SelectContext(d.ctx, &rows, segmentQuery); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if err := d.row(r.ObjectID, r.Digest, r.digest, `UPDATE segments SET digest = ? WHERE object_id = ?`, r.ObjectID); err != nil {
			return err
		}
	}
	return nil
}
