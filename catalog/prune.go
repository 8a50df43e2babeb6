package catalog

import (
	"context"
	"errors"
	"fmt"
)

// Descriptive rows retain nothing, and those that describe the past would grow
// for ever. Some are kept for a person to read.
const (
	keptAttempts = 100  // retired attempts to publish, with their operations
	keptJobs     = 1000 // jobs that are over

	// pruneLimit is how many of either one transaction removes, more than one adds.
	pruneLimit = 16
)

// prune runs fn with the metadata-GC gate open. A transaction that left it open
// could not commit.
func prune(ctx context.Context, tx *writeTx, operation []byte, fn func() error) error {
	if _, err := tx.ExecContext(ctx, `UPDATE metadata_gc SET active_operation = ?`, operation); err != nil {
		return fmt.Errorf("metadata_gc: %w", err)
	}
	if err := fn(); err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE metadata_gc SET active_operation = NULL`); err != nil {
		return fmt.Errorf("metadata_gc: %w", err)
	}
	return nil
}

// pruneRepresentation removes a representation that nothing retains and no open
// attempt names, its world, index state and schema context when they were only its own, and
// the entries of its chunks that no other representation has.
func pruneRepresentation(ctx context.Context, tx *writeTx, id int64) error {
	var of []struct {
		WorldID  int64 `db:"world_id"`
		SchemaID int64 `db:"schema_id"`
		StateID  int64 `db:"index_state_id"`
	}
	if err := tx.SelectContext(ctx, &of, `
		SELECT r.world_id, w.schema_id, r.index_state_id FROM representations r JOIN worlds w ON w.world_id = r.world_id WHERE r.representation_id = ?1
			AND NOT EXISTS (SELECT 1 FROM owner_representations WHERE representation_id = ?1)
			AND NOT EXISTS (SELECT 1 FROM publication_attempts WHERE candidate_representation_id = ?1 AND state <> 'retired')
			AND NOT EXISTS (SELECT 1 FROM publication_attempts WHERE expected_representation_id = ?1 AND state <> 'retired')`, id); err != nil || len(of) == 0 {
		return err
	}
	var tails []struct {
		ChunkID int64 `db:"chunk_id"`
		Kept    int64 `db:"kept"` // entries that another representation has
	}
	if err := tx.SelectContext(ctx, &tails, `
		SELECT chunk_id, kept FROM (
			SELECT c.chunk_id, c.entries,
			       coalesce((SELECT max(o.entries) FROM representation_chunks o WHERE o.chunk_id = c.chunk_id AND o.representation_id <> c.representation_id), 0) AS kept
			FROM representation_chunks c WHERE c.representation_id = ?)
		WHERE kept < entries`, id); err != nil {
		return err
	}
	var errs []error
	run := func(query string, args ...any) {
		if len(errs) == 0 {
			if _, err := tx.ExecContext(ctx, query, args...); err != nil {
				errs = append(errs, err)
			}
		}
	}
	run(`DELETE FROM representation_chunks WHERE representation_id = ?`, id)
	for _, t := range tails {
		run(`DELETE FROM entry_fragments WHERE chunk_id = ? AND position >= ?`, t.ChunkID, t.Kept)
		run(`DELETE FROM manifest_entries WHERE chunk_id = ? AND position >= ?`, t.ChunkID, t.Kept)
	}
	run(`DELETE FROM representations WHERE representation_id = ?`, id)
	run(`DELETE FROM worlds WHERE world_id = ?1 AND NOT EXISTS (SELECT 1 FROM representations WHERE world_id = ?1)`, of[0].WorldID)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := pruneIndexState(ctx, tx, of[0].StateID); err != nil {
		return err
	}
	return pruneSchemaContext(ctx, tx, of[0].SchemaID)
}

// unreferenced is the end of a statement about a schema context, ?1, that nothing refers to.
const unreferenced = ` schema_id = ?1 AND NOT EXISTS (SELECT 1 FROM worlds WHERE schema_id = ?1)
	AND NOT EXISTS (SELECT 1 FROM tables WHERE schema_id = ?1) AND NOT EXISTS (SELECT 1 FROM indexes WHERE schema_id = ?1)`

// pruneSchemaContext removes a context that nothing refers to. The context of a
// head, or of a schema that no head has yet, is the log's to need.
func pruneSchemaContext(ctx context.Context, tx *writeTx, id int64) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM schema_contexts WHERE schema_version < (
		SELECT min(c.schema_version) FROM timelines t JOIN worlds w ON w.world_id = t.head_world_id JOIN schema_contexts c ON c.schema_id = w.schema_id) AND`+unreferenced, id)
	return err
}

// pruneAttempts removes the oldest retired attempts beyond those kept. Owners'
// ids only grow, so they give the order.
func pruneAttempts(ctx context.Context, tx *writeTx) error {
	var old []attemptRow
	if err := tx.SelectContext(ctx, &old, attemptQuery+` WHERE state = 'retired' ORDER BY recovery_owner_id DESC LIMIT ? OFFSET ?`, pruneLimit, keptAttempts); err != nil {
		return err
	}
	for i := range old {
		if err := old[i].remove(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a retired attempt with its operation and owner.
func (a *attemptRow) remove(ctx context.Context, tx *writeTx) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM publication_attempts WHERE operation_id = ?`, a.Operation); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM operations WHERE operation_id = ?`, a.Operation); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM owners WHERE owner_id = ?`, a.OwnerID)
	return err
}

// pruneJobs removes the oldest jobs that are over beyond those kept.
func pruneJobs(ctx context.Context, tx *writeTx) error {
	var old []struct {
		ID      int64 `db:"job_id"`
		OwnerID int64 `db:"owner_id"`
	}
	// One that waits for what it quarantined to be reconciled stays.
	if err := tx.SelectContext(ctx, &old, `
		SELECT job_id, owner_id FROM (SELECT job_id, owner_id FROM jobs WHERE state IN ('done','failed','cancelled') ORDER BY job_id DESC LIMIT -1 OFFSET ?) j
		WHERE (SELECT state FROM owners o WHERE o.owner_id = j.owner_id) = 'released' LIMIT ?`, keptJobs, pruneLimit); err != nil {
		return err
	}
	for _, j := range old {
		if _, err := tx.ExecContext(ctx, `DELETE FROM jobs WHERE job_id = ?`, j.ID); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM owners WHERE owner_id = ?`, j.OwnerID); err != nil {
			return err
		}
	}
	return nil
}
