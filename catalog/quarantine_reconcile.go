package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

const (
	// maxOperation is how many bytes the name of a reconciling operation may have.
	maxOperation = 64
	// maxReconciled is how many objects one transaction reconciles.
	maxReconciled = 256
)

// Quarantined is an object in quarantine that nothing has reconciled yet.
type Quarantined struct {
	Object
	JobID    int64  `db:"job_id"` // that wrote it, 0 when no job retains it
	JobKind  string `db:"job_kind"`
	JobState string `db:"job_state"`
	Cause    string `db:"cause"` // the job's error
}

// JobOperation names a job that is over as the operation that reconciles what it had
// to quarantine.
func JobOperation(id int64) string { return fmt.Sprintf("job/%d", id) }

// quarantinedQuery looks from the few objects in quarantine to their owners and jobs,
// of which there are many; so does what is added to it.
const quarantinedQuery = `SELECT ` + objectColumns + `, coalesce(j.job_id, 0) AS job_id, coalesce(j.kind, '') AS job_kind,
		coalesce(j.state, '') AS job_state, coalesce(j.error, '') AS cause
	FROM objects o LEFT JOIN owner_objects x ON x.object_id = o.object_id LEFT JOIN jobs j ON j.owner_id = x.owner_id
	WHERE o.state = 'quarantined' AND o.reconciled_by IS NULL`

// Reconcilable lists up to limit objects in quarantine whose jobs are over, so that
// [JobOperation] names what reconciles them; job by job. Others stay: nothing here
// says what became of them.
func (c *Catalog) Reconcilable(ctx context.Context, limit int) ([]Quarantined, error) {
	var list []Quarantined
	err := c.read(ctx, "reconcilable", func(ctx context.Context, tx *sqlx.Tx) error {
		return tx.SelectContext(ctx, &list, quarantinedQuery+` AND job_state IN ('done','failed','cancelled') ORDER BY job_id, o.object_id LIMIT ?`, limit)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Reconcile lets go of quarantined objects, all or none: it records which operation
// proved that they are unreachable and drops their roots, so that they are garbage.
// For an output of a job that is [JobOperation]: the job is over, so nobody writes
// the file any more, and none was registered under its name. What it can see for
// itself it verifies: that no root but of jobs that are over is on them, and that
// nothing else reaches them. Up to 256 at once. An object that the same operation
// has reconciled stays as it is. While outcomes are being established it is refused.
func (c *Catalog) Reconcile(ctx context.Context, operation string, ids ...int64) error {
	return c.write(ctx, "reconcile", func(ctx context.Context, tx *writeTx) error {
		if n := len(operation); n == 0 || n > maxOperation {
			return refuse(CodeEncoding, "", "the name of the operation has %d bytes, must have 1 to %d", n, maxOperation)
		}
		if len(ids) > maxReconciled {
			return refuse(CodeLimit, "", "%d objects at once, at most %d", len(ids), maxReconciled)
		}
		if err := unfrozen(ctx, tx); err != nil {
			return err
		}
		var open []int64
		for _, id := range ids {
			done, err := reconciledBy(ctx, tx, id, operation)
			if err != nil {
				return err
			}
			if !done && !slices.Contains(open, id) {
				open = append(open, id)
			}
		}
		if len(open) == 0 {
			return errUnchanged
		}
		return reconcile(ctx, tx, operation, open)
	})
}

// reconciledBy tells whether an operation has reconciled an object, and refuses one
// that is not in quarantine or that another one has.
func reconciledBy(ctx context.Context, tx *writeTx, id int64, operation string) (bool, error) {
	if err := checkID("object", id); err != nil {
		return false, err
	}
	var rows []struct {
		State string `db:"state"`
		By    []byte `db:"reconciled_by"`
	}
	if err := tx.SelectContext(ctx, &rows, `SELECT state, reconciled_by FROM objects WHERE object_id = ?`, id); err != nil {
		return false, err
	}
	switch {
	case len(rows) == 0:
		return false, refuse(CodeUnknown, "", "no object %d", id)
	case rows[0].State != stateQuarantined:
		return false, refuse(CodeState, "", "object %d is %s, not quarantined", id, rows[0].State)
	case rows[0].By != nil && string(rows[0].By) != operation:
		return false, refuse(CodeImmutable, "", "object %d was reconciled by %q", id, rows[0].By)
	}
	return rows[0].By != nil, nil
}

// reachedQuery finds those of some objects that a root may reach. It looks at what is
// next to each, as the guard of claims does: the view reachable_objects looks at all that
// is retained, and publications would wait for that. An object that is not claimed and
// depends on one of them counts as reached, which is on the safe side: no object that is
// to be reconciled was registered for another one to depend on.
const reachedQuery = `SELECT o.object_id FROM json_each(?) i CROSS JOIN objects o ON o.object_id = i.value WHERE
	EXISTS (SELECT 1 FROM owner_objects x WHERE x.object_id = o.object_id)
	OR EXISTS (SELECT 1 FROM object_edges e JOIN objects s ON s.object_id = e.source_object_id
		WHERE e.target_object_id = o.object_id AND s.state NOT IN ('gc_claimed','collected'))
	OR EXISTS (SELECT 1 FROM blob_versions b WHERE (b.native_object_id = o.object_id OR b.index_object_id = o.object_id OR b.secondary_native_object_id = o.object_id)
		AND (EXISTS (SELECT 1 FROM owner_blobs x WHERE x.blob_id = b.blob_id)
			OR EXISTS (SELECT 1 FROM manifest_entries e CROSS JOIN representation_chunks c ON c.chunk_id = e.chunk_id AND c.entries > e.position
				CROSS JOIN owner_representations x ON x.representation_id = c.representation_id WHERE e.blob_id = b.blob_id)))
	OR EXISTS (SELECT 1 FROM index_state_segments s CROSS JOIN representations r ON r.index_state_id = s.index_state_id
		CROSS JOIN owner_representations x ON x.representation_id = r.representation_id WHERE s.object_id = o.object_id)`

func reconcile(ctx context.Context, tx *writeTx, operation string, ids []int64) error {
	text := idText(ids)
	var owners []struct {
		ID     int64  `db:"owner_id"`
		Kind   string `db:"kind"`
		State  string `db:"state"`
		Job    int64  `db:"job_id"`
		Object int64  `db:"object_id"`
	}
	if err := tx.SelectContext(ctx, &owners, `
		SELECT o.owner_id, o.kind, o.state, x.object_id, coalesce(j.job_id, 0) AS job_id
		FROM owner_objects x JOIN owners o ON o.owner_id = x.owner_id LEFT JOIN jobs j ON j.owner_id = o.owner_id
		WHERE x.object_id IN (SELECT value FROM json_each(?)) ORDER BY o.owner_id, x.object_id`, text); err != nil {
		return err
	}
	for _, o := range owners {
		switch {
		case o.Kind != "job" || o.Job == 0:
			return refuse(CodeRecovery, "", "owner %d, a %s, has a root on object %d", o.ID, o.Kind, o.Object)
		case o.State != ownerRetiring:
			return refuse(CodeRecovery, "", "job %d, which wrote object %d, is not over", o.Job, o.Object)
		}
	}
	// The evidence comes first: a root that went without it would be a silent release.
	if _, err := tx.ExecContext(ctx, `UPDATE objects SET reconciled_by = ?, lifecycle_revision = lifecycle_revision + 1
		WHERE object_id IN (SELECT value FROM json_each(?))`, []byte(operation), text); err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM owner_objects WHERE object_id IN (SELECT value FROM json_each(?))`, text); err != nil {
		return fmt.Errorf("owner_objects: %w", err)
	}
	var reached []int64
	if err := tx.SelectContext(ctx, &reached, reachedQuery, text); err != nil {
		return err
	}
	if len(reached) > 0 {
		return refuse(CodeRecovery, "", "object %d is still reached", reached[0])
	}
	var last int64
	for _, o := range owners {
		if o.ID == last {
			continue
		}
		last = o.ID
		if err := releaseEmpty(ctx, tx, o.ID); err != nil {
			return err
		}
	}
	return nil
}
