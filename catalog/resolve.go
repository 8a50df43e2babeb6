package catalog

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// attemptRow is one row of publication_attempts.
type attemptRow struct {
	Operation        []byte `db:"operation_id"`
	TimelineID       int64  `db:"timeline_id"`
	ExpectedID       int64  `db:"expected_representation_id"`
	ExpectedRevision int64  `db:"expected_revision"`
	CandidateID      int64  `db:"candidate_representation_id"`
	OwnerID          int64  `db:"recovery_owner_id"`
	State            string `db:"state"`
}

const attemptQuery = `SELECT operation_id, timeline_id, expected_representation_id, expected_revision, candidate_representation_id, recovery_owner_id, state
	FROM publication_attempts`

func openAttempts(ctx context.Context, q sqlx.QueryerContext) (list []attemptRow, err error) {
	err = sqlx.SelectContext(ctx, q, &list, attemptQuery+` WHERE state <> 'retired' ORDER BY recovery_owner_id`)
	return list, err
}

// reconciling is the domain's reason while outcomes are being established.
const reconciling = "outcomes of publications are being established"

// ResolvePublications settles every attempt that an earlier process left behind
// and returns how many there were. It belongs to a read-write open, before
// anything else is published.
//
// What was only prepared had no effect. Of what may have been adopted, the
// operation's recorded outcome decides, which was written in the transaction that
// moved the head; while that is looked up the storage domain is reconciling, so
// nothing is let go or collected. Then the recovery roots go. Interrupted, the
// next call goes on. Without such an attempt it writes nothing.
func (c *Catalog) ResolvePublications(ctx context.Context) (n int, err error) {
	var open []attemptRow
	err = c.read(ctx, "resolve-publications", func(ctx context.Context, tx *sqlx.Tx) (err error) {
		open, err = openAttempts(ctx, tx)
		return err
	})
	if err != nil || len(open) == 0 {
		return 0, err
	}
	for _, s := range []struct {
		op   string
		step func(ctx context.Context, tx *writeTx, a *attemptRow) (changed bool, err error)
		last func(ctx context.Context, tx *writeTx) error
	}{
		{"reconcile-publications", suspect, func(ctx context.Context, tx *writeTx) error {
			return setDomain(ctx, tx, "normal", "reconciling", reconciling)
		}},
		{"resolve-publications", c.resolve, func(ctx context.Context, tx *writeTx) error { return setDomain(ctx, tx, "reconciling", "normal", nil) }},
		{"retire-publications", func(ctx context.Context, tx *writeTx, a *attemptRow) (bool, error) {
			return true, retire(ctx, tx, a, a.State)
		}, nil},
	} {
		err := c.write(ctx, s.op, func(ctx context.Context, tx *writeTx) error {
			list, err := openAttempts(ctx, tx)
			if err != nil {
				return err
			}
			any := false
			for i := range list {
				changed, err := s.step(ctx, tx, &list[i])
				if err != nil {
					return err
				}
				any = any || changed
			}
			if !any {
				return errUnchanged
			}
			if s.last != nil {
				return s.last(ctx, tx)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return len(open), nil
}

// suspect marks an attempt whose adoption may have happened.
func suspect(ctx context.Context, tx *writeTx, a *attemptRow) (bool, error) {
	if a.State != attemptAttempting {
		return false, nil
	}
	return true, step(ctx, tx, a.Operation, a.State, attemptUnknown)
}

// resolve establishes the outcome of one attempt.
func (c *Catalog) resolve(ctx context.Context, tx *writeTx, a *attemptRow) (bool, error) {
	switch a.State {
	case attemptPrepared:
		return true, rollBack(ctx, tx, a.Operation, a.State)
	case attemptUnknown:
	default:
		return false, nil
	}
	var status string
	if err := tx.GetContext(ctx, &status, `SELECT status FROM operations WHERE operation_id = ?`, a.Operation); err != nil {
		return false, fmt.Errorf("operation %x: %w", a.Operation, err)
	}
	head, err := readHead(ctx, tx, a.TimelineID, c.identity())
	if err != nil {
		return false, err
	}
	selected := head.RepresentationID == a.CandidateID
	sound := !selected
	if status == operationCommitted {
		sound = head.Revision > a.ExpectedRevision+1 || head.Revision == a.ExpectedRevision+1 && selected
	}
	if !sound {
		return false, refuse(CodeCorrupt, "", "operation %x is %s, but the head of timeline %d has revision %d and representation %d: the attempt expected revision %d and to install representation %d",
			a.Operation, status, a.TimelineID, head.Revision, head.RepresentationID, a.ExpectedRevision, a.CandidateID)
	}
	switch status {
	case operationCommitted:
		return true, step(ctx, tx, a.Operation, a.State, attemptCommitted)
	case operationConflict:
		return true, step(ctx, tx, a.Operation, a.State, attemptConflict)
	}
	return true, rollBack(ctx, tx, a.Operation, a.State)
}

// setDomain moves the storage domain; it may be there already.
func setDomain(ctx context.Context, tx *writeTx, from, to string, reason any) error {
	_, err := tx.ExecContext(ctx, `UPDATE storage_domain SET state = ?, reason = ?, revision = revision + 1
		WHERE state = ? AND (reason IS NULL OR reason = ?)`, to, reason, from, reconciling)
	if err != nil {
		return fmt.Errorf("storage_domain: %w", err)
	}
	return nil
}
