package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

// LeaveSegments takes index segments out of the pruned copy in file, those whose files
// cannot be copied, and returns what the copy names then. Every index state of the copy
// that has one of them goes on without it, and the index without its positions: what it
// has left need not hold all that these say, and a missing position claims nothing. Its
// other segments stay. Rows are read from the fragments that no segment covers, and the
// next publication of indexes makes up for it.
func LeaveSegments(ctx context.Context, file string, objects []int64) (c Copied, err error) {
	err = rewriteCopy(ctx, "leave-segments", file, func(ctx context.Context, tx *sqlx.Tx, info *infoRow) error {
		identity := info.identity()
		states, err := readStateRows(ctx, tx, "")
		if err != nil {
			return err
		}
		for i := range states {
			if err := leaveInState(ctx, tx, &states[i], identity, objects); err != nil {
				return err
			}
		}
		for _, id := range objects {
			if err := leaveObject(ctx, tx, id); err != nil {
				return err
			}
		}
		c.Identity = identity
		return c.read(ctx, tx)
	})
	return c, err
}

// leaveInState writes the children of an index state anew, if it has one of the segments.
func leaveInState(ctx context.Context, tx *sqlx.Tx, r *indexStateRow, identity [16]byte, objects []int64) error {
	if err := checkDigest("index state", r.ID, r.Digest, r.digest(identity)); err != nil {
		return err
	}
	changed := map[int64]bool{} // indexes
	next := map[int64]int64{}   // ordinals, by index
	var left []stateSegmentRow
	for _, s := range r.segments {
		if slices.Contains(objects, s.ObjectID) {
			changed[s.IndexID] = true
			continue
		}
		s.Ordinal = next[s.IndexID]
		next[s.IndexID]++
		left = append(left, s)
	}
	if len(changed) == 0 {
		return nil
	}
	r.segments = left
	r.caughtUp = slices.DeleteFunc(r.caughtUp, func(p caughtUpRow) bool { return changed[p.IndexID] })
	for id := range changed {
		for _, table := range []string{"index_state_segments", "index_state_catchup"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE index_state_id = ? AND index_id = ?`, r.ID, id); err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
	}
	for _, s := range left {
		if !changed[s.IndexID] {
			continue
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO index_state_segments(index_state_id, index_id, ordinal, object_id, table_id, fragments) VALUES (?, ?, ?, ?, ?, ?)`,
			s.StateID, s.IndexID, s.Ordinal, s.ObjectID, s.TableID, s.Fragments); err != nil {
			return fmt.Errorf("index_state_segments: %w", err)
		}
	}
	digest := r.digest(identity)
	result, err := tx.ExecContext(ctx, `UPDATE index_states SET digest = ? WHERE index_state_id = ?`, digest[:], r.ID)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("index state %d: %w", r.ID, err)
	}
	return nil
}

// leaveObject removes a segment that no index state has any more. Its number is not
// given out again.
func leaveObject(ctx context.Context, tx *sqlx.Tx, id int64) error {
	result, err := tx.ExecContext(ctx, `DELETE FROM segments WHERE object_id = ?`, id)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("segment %d: %w", id, err)
	}
	for _, text := range []string{
		`DELETE FROM seal_receipts WHERE object_id = ?`,
		`DELETE FROM object_edges WHERE source_object_id = ?`,
		`INSERT INTO identity_tombstones(object_id, relative_path, incarnation, kind)
			SELECT object_id, relative_path, incarnation, kind FROM objects WHERE object_id = ?`,
		`DELETE FROM objects WHERE object_id = ?`,
	} {
		if _, err := tx.ExecContext(ctx, text, id); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}
