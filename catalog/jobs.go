package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Job is long work on a store, running or over. Times are RFC 3339 in UTC with
// nanoseconds, "" when there is none yet.
type Job struct {
	ID        int64  `db:"job_id"`
	Kind      string `db:"kind"`   // checkpoint, compact, index, gc, verify, backup or rebuild
	Target    string `db:"target"` // what of the store, "": all of it
	State     string `db:"state"`
	Done      int64  `db:"work_consumed"` // of Total, in a unit of the kind
	Total     int64  `db:"work_reserved"`
	StartedAt string `db:"started_at"`
	EndedAt   string `db:"ended_at"`
	Error     string `db:"error"` // why it failed, or what it had to quarantine
}

// States of a job that is over, and of one that is not.
const (
	JobRunning   = "running"
	JobDone      = "done"
	JobFailed    = "failed"
	JobCancelled = "cancelled"
)

// recipeVersion of the jobs so far: the recipe is kind and target.
const recipeVersion = 1

// interrupted is the error of a job whose process is gone.
const interrupted = "interrupted: the process that ran it ended"

const jobQuery = `SELECT job_id, kind, target, state, work_consumed, work_reserved,
	coalesce(started_at, '') AS started_at, coalesce(ended_at, '') AS ended_at, coalesce(error, '') AS error FROM jobs`

// StartJob records a job that begins, with an owner for what it will retain. It
// also removes the oldest jobs that are over, beyond a thousand.
func (c *Catalog) StartJob(ctx context.Context, kind, target string) (Job, error) {
	job := Job{Kind: kind, Target: target, State: JobRunning, StartedAt: timestamp(c.options.Now())}
	err := c.write(ctx, "start-job", func(ctx context.Context, tx *writeTx) error {
		first, err := tx.newIDs(ctx, 2)
		if err != nil {
			return err
		}
		job.ID = first
		owner := first + 1
		if _, err := tx.ExecContext(ctx, `INSERT INTO owners(owner_id, kind) VALUES (?, 'job')`, owner); err != nil {
			return fmt.Errorf("owners: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO jobs(job_id, kind, target, recipe_version, recipe, owner_id) VALUES (?, ?, ?, ?, ?, ?)`,
			job.ID, kind, target, recipeVersion, fmt.Appendf(nil, "%s/%d %q", kind, recipeVersion, target), owner); err != nil {
			return fmt.Errorf("jobs: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `UPDATE jobs SET state = 'running', started_at = ?, revision = revision + 1 WHERE job_id = ?`, job.StartedAt, job.ID); err != nil {
			return fmt.Errorf("jobs: %w", err)
		}
		return prune(ctx, tx, []byte("start-job"), func() error { return pruneJobs(ctx, tx) })
	})
	if err != nil {
		return Job{}, err
	}
	return job, nil
}

// EndJob records how a running job ended: done without a failure, cancelled when
// the failure is the end of a context, else failed. done and total say how far
// it got. What only its owner retained is garbage from then on, but for what is in
// quarantine, and the owner is released, unless it retains some of that. ctx must
// still be alive, so it is not the one whose end cancelled the job.
func (c *Catalog) EndJob(ctx context.Context, id int64, done, total int64, failure error) error {
	return c.write(ctx, "end-job", func(ctx context.Context, tx *writeTx) error {
		if err := errors.Join(checkID("job", id), checkCounter("done", done), checkCounter("total", total)); err != nil {
			return err
		}
		state, text := JobDone, sql.NullString{}
		if failure != nil {
			state, text = JobFailed, sql.NullString{String: failure.Error(), Valid: true}
			if errors.Is(failure, context.Canceled) || errors.Is(failure, context.DeadlineExceeded) {
				state = JobCancelled
			}
		}
		return c.endJob(ctx, tx, id, done, max(done, total), state, text)
	})
}

func (c *Catalog) endJob(ctx context.Context, tx *writeTx, id, done, total int64, state string, text sql.NullString) error {
	var row struct {
		State string `db:"state"`
		Owner int64  `db:"owner_id"`
	}
	err := tx.GetContext(ctx, &row, `SELECT state, owner_id FROM jobs WHERE job_id = ?`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return refuse(CodeUnknown, "", "no job %d", id)
	}
	if err != nil {
		return err
	}
	if row.State != JobRunning {
		return refuse(CodeState, "", "job %d is %s, not running", id, row.State)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE jobs SET state = ?, work_consumed = max(work_consumed, ?), work_reserved = max(work_reserved, ?), ended_at = ?, error = coalesce(?, error), revision = revision + 1
		WHERE job_id = ?`, state, done, total, timestamp(c.options.Now()), text, id); err != nil {
		return fmt.Errorf("jobs: %w", err)
	}
	// It may be the last one to retain what a backup reads.
	var representations []int64
	if err := tx.SelectContext(ctx, &representations, `SELECT representation_id FROM owner_representations WHERE owner_id = ?`, row.Owner); err != nil {
		return err
	}
	if err := endRoots(ctx, tx, row.Owner); err != nil || len(representations) == 0 {
		return err
	}
	return prune(ctx, tx, fmt.Appendf(nil, "job/%d", id), func() error {
		for _, id := range representations {
			if err := pruneRepresentation(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Jobs lists the jobs, by id.
func (c *Catalog) Jobs(ctx context.Context) ([]Job, error) {
	var list []Job
	err := c.read(ctx, "jobs", func(ctx context.Context, tx *sqlx.Tx) error {
		return tx.SelectContext(ctx, &list, jobQuery+` ORDER BY job_id`)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// AbandonJobs ends the jobs that a process left running and returns how many
// there were. It belongs to a read-write open: under the LOCK nobody else can
// run one. What they had quarantined stays so. Without any it writes nothing.
func (c *Catalog) AbandonJobs(ctx context.Context) (n int, err error) {
	const running = jobQuery + ` WHERE state = 'running' ORDER BY job_id`
	var list []Job
	err = c.read(ctx, "abandon-jobs", func(ctx context.Context, tx *sqlx.Tx) error {
		return tx.SelectContext(ctx, &list, running)
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	err = c.write(ctx, "abandon-jobs", func(ctx context.Context, tx *writeTx) error {
		list = nil
		if err := tx.SelectContext(ctx, &list, running); err != nil {
			return err
		}
		for _, j := range list {
			text := interrupted
			if j.Error != "" {
				text += "; before that " + j.Error
			}
			if err := c.endJob(ctx, tx, j.ID, j.Done, j.Total, JobFailed, sql.NullString{String: text, Valid: true}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(list), nil
}
