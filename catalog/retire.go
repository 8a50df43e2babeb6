package catalog

import (
	"context"
	"fmt"
)

// Retire lets go of what was retained for the case that the adoption's outcome
// had been lost: step 6. It also removes what nothing refers to any more.
// Retiring again changes nothing.
func (a *Adopted) Retire(ctx context.Context) error {
	return a.c.write(ctx, "retire-publication", func(ctx context.Context, tx *writeTx) error {
		state, err := stateOfAttempt(ctx, tx, a.operation)
		switch {
		case err != nil:
			return err
		case state == attemptRetired:
			return errUnchanged
		}
		return retire(ctx, tx, a.row(), state)
	})
}

// Abandon gives a publication up that was not adopted. Abandoning again changes
// nothing; one that was adopted is refused.
func (a *attempt) Abandon(ctx context.Context) error {
	return a.c.write(ctx, "abandon-publication", func(ctx context.Context, tx *writeTx) error {
		state, err := stateOfAttempt(ctx, tx, a.operation)
		if err != nil {
			return err
		}
		switch state {
		case attemptRetired:
			return errUnchanged
		case attemptCommitted:
			return refuse(CodeState, "", "the attempt %x was adopted", a.operation)
		case attemptAttempting:
			// No outcome was recorded, and a handle that lost one answers no more.
			if err := step(ctx, tx, a.operation, state, attemptUnknown); err != nil {
				return err
			}
			state = attemptUnknown
			fallthrough
		case attemptPrepared, attemptUnknown:
			if err := rollBack(ctx, tx, a.operation, state); err != nil {
				return err
			}
			state = attemptRolledBack
		}
		return retire(ctx, tx, a.row(), state)
	})
}

// rollBack settles that an attempt had no effect.
func rollBack(ctx context.Context, tx *writeTx, operation []byte, from string) error {
	if _, err := tx.ExecContext(ctx, `UPDATE operations SET status = ? WHERE operation_id = ? AND status = ?`, operationAbandoned, operation, operationPrepared); err != nil {
		return fmt.Errorf("operations: %w", err)
	}
	return step(ctx, tx, operation, from, attemptRolledBack)
}

func (a *attempt) row() *attemptRow {
	return &attemptRow{Operation: a.operation, TimelineID: a.publication.TimelineID, OwnerID: a.owner,
		ExpectedID: a.publication.ExpectedRepresentation, CandidateID: a.candidate}
}

// retire drops the roots of an attempt whose outcome is settled, releases its
// owner and prunes.
func retire(ctx context.Context, tx *writeTx, a *attemptRow, state string) error {
	if err := dropAllRoots(ctx, tx, a.OwnerID); err != nil {
		return err
	}
	if err := releaseOwner(ctx, tx, a.OwnerID); err != nil {
		return err
	}
	if err := step(ctx, tx, a.Operation, state, attemptRetired); err != nil {
		return err
	}
	return prune(ctx, tx, a.Operation, func() error {
		for _, id := range []int64{a.ExpectedID, a.CandidateID} {
			if err := pruneRepresentation(ctx, tx, id); err != nil {
				return err
			}
		}
		return pruneAttempts(ctx, tx)
	})
}

// dropAllRoots removes all roots of an owner.
func dropAllRoots(ctx context.Context, tx *writeTx, owner int64) error {
	for _, table := range []string{"owner_blobs", "owner_objects", "owner_representations"} {
		if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE owner_id = ?`, owner); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	return nil
}

// releaseOwner takes an owner without roots through its last states.
func releaseOwner(ctx context.Context, tx *writeTx, id int64) error {
	for _, state := range []string{ownerRetiring, ownerReleased} {
		if err := advanceOwner(ctx, tx, id, state); err != nil {
			return err
		}
	}
	return nil
}

// Last states of an owner.
const (
	ownerRetiring = "retiring" // it takes no root any more
	ownerReleased = "released" // it has none
)

func advanceOwner(ctx context.Context, tx *writeTx, id int64, state string) error {
	result, err := tx.ExecContext(ctx, `UPDATE owners SET state = ?, revision = revision + 1 WHERE owner_id = ?`, state, id)
	if err := expectOneRow(result, err); err != nil {
		return fmt.Errorf("owners: %w", err)
	}
	return nil
}
