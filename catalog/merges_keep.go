package catalog

import (
	"bytes"
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// A completed merge is kept for the timelines that wait: those whose head is still
// what it was made of. It goes with the last of them, and when no head has the base
// any more, so it never keeps a file that nobody reads. All of that happens in the
// transactions that move heads, and only in stores of several timelines.

// leaveMerge takes a timeline, whose head is about to move, off the list of those
// that wait. A guard wants that before the head moves.
func leaveMerge(ctx context.Context, tx *writeTx, head *headRow) (left bool, err error) {
	if !head.Others {
		return false, nil
	}
	result, err := tx.ExecContext(ctx, `DELETE FROM completed_merge_waiting WHERE timeline_id = ?`, head.TimelineID)
	if err != nil {
		return false, fmt.Errorf("completed_merge_waiting: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// evictMerges removes the merges that nobody waits for and those whose base no head
// has, but for the head of a timeline that is about to go, 0 for none. There are no
// more of them than timelines.
func evictMerges(ctx context.Context, tx *writeTx, except int64) error {
	var gone []mergeRow
	if err := tx.SelectContext(ctx, &gone, mergeQuery+` AS m
		WHERE NOT EXISTS (SELECT 1 FROM completed_merge_waiting WHERE cache_key = m.cache_key)
			OR NOT EXISTS (SELECT 1 FROM completed_merge_outputs o
				CROSS JOIN manifest_entries e ON e.blob_id = o.blob_id
				CROSS JOIN representation_chunks c ON c.chunk_id = e.chunk_id AND c.entries > e.position
				CROSS JOIN timelines t ON t.head_representation_id = c.representation_id AND t.timeline_id <> ?
				WHERE o.cache_key = m.cache_key AND o.ordinal = 0)`, except); err != nil {
		return err
	}
	for i := range gone {
		if err := gone[i].evict(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// evict removes a merge with its owner, in the order the guards want.
func (r *mergeRow) evict(ctx context.Context, tx *writeTx) error {
	for _, table := range []string{"completed_merge_waiting", "completed_merges", "completed_merge_outputs"} {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE cache_key = ?`, r.Key); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	return dissolveOwner(ctx, tx, r.OwnerID, fmt.Appendf(nil, "merge/%d", r.OwnerID))
}

// keepMerge leaves word of a base that took the place of the whole of a head, for
// the other timelines that have that head. It belongs to the transaction that adopts
// the base: there is no moment at which the base is a head and others that wait are not
// known, and none at which something is kept for a base that became no head.
func (c *Catalog) keepMerge(ctx context.Context, tx *writeTx, head *headRow, base *Base, cut *cut) error {
	if !head.Others {
		return nil
	}
	if err := c.noteMerge(ctx, tx, head, base, cut); err != nil {
		return err
	}
	return evictMerges(ctx, tx, 0)
}

func (c *Catalog) noteMerge(ctx context.Context, tx *writeTx, head *headRow, base *Base, cut *cut) error {
	if base.LSN != head.LSN {
		return nil // the head is of a restore, and the base is older than that
	}
	var waiting []int64
	if err := tx.SelectContext(ctx, &waiting, `SELECT timeline_id FROM timelines WHERE head_representation_id = ? AND timeline_id <> ? ORDER BY timeline_id`,
		head.RepresentationID, head.TimelineID); err != nil {
		return err
	}
	if len(waiting) == 0 || !cut.shareable {
		return nil
	}
	identity := c.identity()
	row := mergeOf(head, base.Recipe, cut.replaced, identity)
	if row == nil {
		return nil
	}
	stored, outputs, err := row.found(ctx, tx, identity)
	if err != nil {
		return err
	}
	if stored != nil && !cut.is(outputs) {
		// Two made it beside each other, or the other one's could not be read: the
		// newer one stays.
		if err := stored.evict(ctx, tx); err != nil {
			return err
		}
		stored = nil
	}
	if stored == nil {
		if err := row.insert(ctx, tx, identity, cut.entries); err != nil {
			return err
		}
	}
	return waitFor(ctx, tx, row.Key, waiting...)
}

// waitFor notes timelines that have the inputs of a merge, whatever else they waited
// for.
func waitFor(ctx context.Context, tx *writeTx, key []byte, timelines ...int64) error {
	for _, id := range timelines {
		if _, err := tx.ExecContext(ctx, `DELETE FROM completed_merge_waiting WHERE timeline_id = ?`, id); err != nil {
			return fmt.Errorf("completed_merge_waiting: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO completed_merge_waiting(timeline_id, cache_key) VALUES (?, ?)`, id, key); err != nil {
			return fmt.Errorf("completed_merge_waiting: %w", err)
		}
	}
	return nil
}

// is reports whether a base is what a merge made.
func (c *cut) is(outputs []mergeOutput) bool {
	if len(outputs) != len(c.entries) {
		return false
	}
	for i := range outputs {
		if e := &c.entries[i]; outputs[i].BlobID != e.BlobID || !bytes.Equal(outputs[i].Contribution, e.Contribution) {
			return false
		}
	}
	return true
}

// insert writes owner, roots, row and outputs, in the order the guards want.
func (r *mergeRow) insert(ctx context.Context, tx *writeTx, identity [16]byte, entries []entryRow) error {
	var err error
	if r.OwnerID, err = tx.newID(ctx); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO owners(owner_id, kind) VALUES (?, 'cache')`, r.OwnerID); err != nil {
		return fmt.Errorf("owners: %w", err)
	}
	if err := rootBlobs(ctx, tx, r.OwnerID, entries); err != nil {
		return fmt.Errorf("owner_blobs: %w", err)
	}
	r.LastOutput = int64(len(entries)) - 1
	outputs := make([]mergeOutput, len(entries))
	for i := range entries {
		outputs[i] = mergeOutput{BlobID: entries[i].BlobID, Contribution: entries[i].Contribution}
	}
	digest := r.digest(identity, outputs)
	if _, err := tx.ExecContext(ctx, `INSERT INTO completed_merges(cache_key, recipe, ordered_inputs, schema_id, owner_id, last_output, digest) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		r.Key, r.Recipe, r.Inputs, r.SchemaID, r.OwnerID, r.LastOutput, digest[:]); err != nil {
		return fmt.Errorf("completed_merges: %w", err)
	}
	for i, o := range outputs {
		if _, err := tx.ExecContext(ctx, `INSERT INTO completed_merge_outputs(cache_key, ordinal, owner_id, blob_id, contribution) VALUES (?, ?, ?, ?, ?)`,
			r.Key, i, r.OwnerID, o.BlobID, o.Contribution); err != nil {
			return fmt.Errorf("completed_merge_outputs: %w", err)
		}
	}
	return nil
}

// inheritWaiting lets a new timeline wait for what those wait for that have its head.
func inheritWaiting(ctx context.Context, tx *writeTx, head *headRow) error {
	var keys [][]byte
	if err := tx.SelectContext(ctx, &keys, `SELECT w.cache_key FROM timelines t CROSS JOIN completed_merge_waiting w ON w.timeline_id = t.timeline_id
		WHERE t.head_representation_id = ? LIMIT 1`, head.RepresentationID); err != nil || len(keys) == 0 {
		return err
	}
	return waitFor(ctx, tx, keys[0], head.TimelineID)
}

// checkMerges verifies every merge, and that whoever waits has its inputs.
func checkMerges(ctx context.Context, tx *sqlx.Tx, report func(string)) error {
	info, err := readInfo(ctx, tx)
	if err != nil || info == nil {
		return err
	}
	identity := info.identity()
	var merges []mergeRow
	if err := tx.SelectContext(ctx, &merges, mergeQuery+` ORDER BY owner_id`); err != nil {
		return err
	}
	for i := range merges {
		err := merges[i].check(ctx, tx, identity, report)
		if err != nil && !isFinding(err) {
			return err
		}
		if err != nil {
			report(err.Error())
		}
	}
	return nil
}

func (r *mergeRow) check(ctx context.Context, tx *sqlx.Tx, identity [16]byte, report func(string)) error {
	outputs, err := r.outputs(ctx, tx, identity)
	if err != nil {
		return err
	}
	for i := range outputs {
		if o := &outputs[i]; o.State != "sealed" {
			report(fmt.Sprintf("object %d of the merge of owner %d is %q, must be sealed", o.ObjectID, r.OwnerID, o.State))
		}
	}
	var heads []headRow
	if err := tx.SelectContext(ctx, &heads, headQuery+` WHERE t.timeline_id IN (SELECT timeline_id FROM completed_merge_waiting WHERE cache_key = ?)`, r.Key); err != nil {
		return err
	}
	if len(heads) == 0 {
		report(fmt.Sprintf("nobody waits for the merge of owner %d", r.OwnerID))
	}
	for i := range heads {
		h := &heads[i]
		entries, err := readEntries(ctx, tx, identity, h.RepresentationID, 0)
		if err != nil {
			return err
		}
		if want := mergeOf(h, string(r.Recipe), entries, identity); want == nil || !bytes.Equal(want.Key, r.Key) {
			report(fmt.Sprintf("timeline %q waits for the merge of owner %d, and its head is of other inputs", h.Name, r.OwnerID))
		}
	}
	return nil
}
