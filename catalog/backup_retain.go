package catalog

import (
	"context"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"
)

// RetainedBy lists the representations that the copy in file is to keep: those of
// heads and branch points.
func RetainedBy(ctx context.Context, file string) (ids []int64, err error) {
	err = onCopy(ctx, "retained", file, func(ctx context.Context, tx *sqlx.Tx) error {
		return tx.SelectContext(ctx, &ids, retained+` ORDER BY 1`)
	})
	return ids, err
}

const retained = `SELECT head_representation_id FROM timelines UNION SELECT representation_id FROM branch_points`

// retainBatch is how many representations one transaction roots: each is held against
// all of its objects, and others wait for the catalog.
const retainBatch = 16

// RetainForJob roots representations by the owner of a running job, so that their
// files stay until it ends. When one is gone, or about to, the error is an
// [ErrConflict], and what was rooted before stays so.
func (c *Catalog) RetainForJob(ctx context.Context, jobID int64, representations []int64) error {
	for batch := range slices.Chunk(representations, retainBatch) {
		if err := c.write(ctx, "retain-for-job", retainForJob(jobID, batch)); err != nil {
			return err
		}
	}
	return nil
}

// CopyForJob copies the catalog to the file dest, which must not exist, and roots what
// the copy is to keep by the owner of a running job, as [RetainForJob] does. No call of
// this process changes the catalog meanwhile, so nothing of the copy can be gone.
func (c *Catalog) CopyForJob(ctx context.Context, jobID int64, dest string) error {
	const op = "copy-for-job"
	unlock, err := c.lock(ctx, op)
	if err != nil {
		return err
	}
	defer unlock()
	// Outside of the transaction, since a full disk at dest is no failure of the
	// catalog.
	if err := Copy(ctx, c.options.Dir, dest); err != nil {
		return err
	}
	ids, err := RetainedBy(ctx, dest)
	if err != nil {
		return err
	}
	return c.writeLocked(ctx, op, retainForJob(jobID, ids))
}

func retainForJob(jobID int64, representations []int64) func(context.Context, *writeTx) error {
	return func(ctx context.Context, tx *writeTx) error {
		var owners []int64
		if err := tx.SelectContext(ctx, &owners, `SELECT owner_id FROM jobs WHERE job_id = ? AND state = 'running'`, jobID); err != nil {
			return err
		}
		if len(owners) == 0 {
			return refuse(CodeUnknown, "", "no running job %d", jobID)
		}
		for _, id := range representations {
			var there bool
			if err := tx.GetContext(ctx, &there, `SELECT EXISTS (SELECT 1 FROM representations WHERE representation_id = ?)`, id); err != nil {
				return err
			}
			if !there {
				return refuse(CodeConflict, "", "representation %d is not retained any more", id)
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO owner_representations(owner_id, representation_id) VALUES (?1, ?2)
				ON CONFLICT DO NOTHING`, owners[0], id)
			if code, _ := classify(err); code == CodeAcquire {
				return refuse(CodeConflict, "", "representation %d: %w", id, err)
			}
			if err != nil {
				return fmt.Errorf("owner_representations: %w", err)
			}
		}
		return nil
	}
}
