package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// An output whose file could not be written or synced is of no use for ever: a
// sync that succeeds later proves nothing about what the failed one lost. So it is
// quarantined while its job still runs, and nothing can seal, register or name it
// any more. Nor does anything let go of it by itself: neither the end of the job
// nor an open, which ends the jobs of a process that is gone. The order is
//
//	quarantined → end of the job → reconciled, by an operation that is named →
//	claimed → unlinked → collected
//
// and a failure or crash between any two steps leaves the object where it was.

const (
	stateReserved    = "reserved"
	stateSealed      = "sealed"
	stateQuarantined = "quarantined"

	// purposeQuarantine is the only purpose for which a quarantined object is rooted.
	purposeQuarantine = "quarantine"
)

// Quarantine sets an output of a running job aside, whatever its kind: one that is
// reserved or sealed and that nothing but the job retains. The job keeps it, as
// quarantined, beyond its end. Nobody can seal, register, name or acquire it from
// then on, and its file stays until [Catalog.Reconcile]. cause is what happened; the
// job's error says so until the job ends with another one. Repeating it changes
// nothing.
func (c *Catalog) Quarantine(ctx context.Context, jobID, objectID int64, cause error) error {
	return c.write(ctx, "quarantine", func(ctx context.Context, tx *writeTx) error {
		if err := errors.Join(checkID("job", jobID), checkID("object", objectID)); err != nil {
			return err
		}
		owner, err := runningOwner(ctx, tx, jobID)
		if err != nil {
			return err
		}
		o, err := outputOf(ctx, tx, owner, objectID)
		switch {
		case err != nil:
			return err
		case o.Purpose == purposeQuarantine && o.State == stateQuarantined:
			return errUnchanged
		case o.State != stateReserved && o.State != stateSealed:
			return refuse(CodeState, "", "object %d is %s, must be reserved or sealed", objectID, o.State)
		case o.Purpose != "output":
			return refuse(CodeOwner, "", "object %d is no output of job %d", objectID, jobID)
		case o.Needed:
			return refuse(CodeRetire, "", "something else needs object %d", objectID)
		}
		return quarantine(ctx, tx, jobID, owner, objectID, cause)
	})
}

// outputRow is an object as a job's owner sees it.
type outputRow struct {
	State   string `db:"state"`
	Purpose string `db:"purpose"` // of the owner's root, "" for none
	Needed  bool   `db:"needed"`  // by anything but that root
}

// outputOf reads an object. It is needed when anybody else roots it or its blobs,
// when a manifest names it, also one of a candidate, or when another object refers
// to it.
func outputOf(ctx context.Context, tx *writeTx, owner, objectID int64) (outputRow, error) {
	var rows []outputRow
	if err := tx.SelectContext(ctx, &rows, `
		SELECT o.state, coalesce((SELECT x.purpose FROM owner_objects x WHERE x.owner_id = ?1 AND x.object_id = ?2), '') AS purpose,
		       EXISTS (SELECT 1 FROM owner_objects x WHERE x.object_id = ?2 AND x.owner_id <> ?1)
		       OR EXISTS (SELECT 1 FROM object_edges e WHERE e.target_object_id = ?2)
		       OR EXISTS (SELECT 1 FROM index_state_segments s WHERE s.object_id = ?2)
		       OR EXISTS (SELECT 1 FROM blob_versions b WHERE (b.native_object_id = ?2 OR b.index_object_id = ?2 OR b.secondary_native_object_id = ?2)
		              AND (EXISTS (SELECT 1 FROM owner_blobs x WHERE x.blob_id = b.blob_id) OR EXISTS (SELECT 1 FROM manifest_entries e WHERE e.blob_id = b.blob_id))) AS needed
		FROM objects o WHERE o.object_id = ?2`, owner, objectID); err != nil {
		return outputRow{}, err
	}
	if len(rows) == 0 {
		return outputRow{}, refuse(CodeUnknown, "", "no object %d", objectID)
	}
	return rows[0], nil
}

// quarantine changes the object and its root. A root's purpose is fixed, and that of
// a quarantined object can be one only, so one root goes before the other comes.
func quarantine(ctx context.Context, tx *writeTx, jobID, owner, objectID int64, cause error) error {
	text := fmt.Sprintf("object %d is quarantined", objectID)
	if cause != nil {
		text += ": " + cause.Error()
	}
	for _, x := range []struct {
		table, query string
		args         []any
	}{
		{"owner_objects", `DELETE FROM owner_objects WHERE owner_id = ? AND object_id = ?`, []any{owner, objectID}},
		{"objects", `UPDATE objects SET state = 'quarantined', lifecycle_revision = lifecycle_revision + 1 WHERE object_id = ?`, []any{objectID}},
		{"owner_objects", `INSERT INTO owner_objects(owner_id, object_id, purpose) VALUES (?, ?, 'quarantine')`, []any{owner, objectID}},
		// The first cause is the one to know, and a process that dies tells no other.
		{"jobs", `UPDATE jobs SET error = coalesce(error, ?), revision = revision + 1 WHERE job_id = ?`, []any{text, jobID}},
	} {
		result, err := tx.ExecContext(ctx, x.query, x.args...)
		if err := expectOneRow(result, err); err != nil {
			return fmt.Errorf("%s: %w", x.table, err)
		}
	}
	return nil
}

// endRoots drops what the owner of a job that is over retains, but for what is
// quarantined, and releases the owner when that was all. Else it stays as retiring,
// which can take no root, until the last of them is reconciled.
func endRoots(ctx context.Context, tx *writeTx, owner int64) error {
	for _, query := range []string{
		`DELETE FROM owner_blobs WHERE owner_id = ?`,
		`DELETE FROM owner_objects WHERE owner_id = ? AND purpose <> 'quarantine'`,
		`DELETE FROM owner_representations WHERE owner_id = ?`,
	} {
		if _, err := tx.ExecContext(ctx, query, owner); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	if err := advanceOwner(ctx, tx, owner, ownerRetiring); err != nil {
		return err
	}
	return releaseEmpty(ctx, tx, owner)
}

// releaseEmpty releases a retiring owner of a job that retains nothing any more.
func releaseEmpty(ctx context.Context, tx *writeTx, owner int64) error {
	var left sql.NullInt64
	if err := tx.GetContext(ctx, &left, `SELECT (SELECT object_id FROM owner_objects WHERE owner_id = ? LIMIT 1)`, owner); err != nil || left.Valid {
		return err
	}
	return advanceOwner(ctx, tx, owner, ownerReleased)
}
