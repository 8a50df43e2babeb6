package driver

import (
	"context"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// jobsTable lists jobs, and runs one for a row inserted.
const jobsTable = "tidemark_jobs"

const jobColumns = "job_id INT, kind TEXT, target TEXT, state TEXT, done INT, total INT, started_at DATETIME, ended_at DATETIME, error TEXT"

// jobRows are the rows of tidemark_jobs, oldest first.
func jobRows(c *conn) ([][]row.Value, error) {
	list, err := c.store.Jobs(context.Background())
	if err != nil {
		return nil, err
	}
	text := func(s string) row.Value {
		if s == "" {
			return row.Value{}
		}
		return row.TextValue(s)
	}
	rows := make([][]row.Value, len(list))
	for i, j := range list {
		rows[i] = []row.Value{
			row.IntValue(j.ID), row.TextValue(j.Kind), text(j.Target), row.TextValue(j.State),
			row.IntValue(j.Done), row.IntValue(j.Total), text(j.StartedAt), text(j.EndedAt), text(j.Error),
		}
	}
	return rows, nil
}

// orderJob notes a row inserted into tidemark_jobs.
func (c *conn) orderJob(vals []row.Value) error {
	if err := c.onlyOrder(jobsTable); err != nil {
		return err
	}
	for i, v := range vals {
		if i != 1 && i != 2 && !v.IsNull() {
			return newError("", ErrGeneric, "%s takes kind and target; the store fills in the rest", jobsTable)
		}
	}
	r := engine.JobRequest{LockTimeout: c.lockTimeout()}
	for i, to := range []*string{&r.Kind, &r.Target} {
		switch v := vals[1+i]; {
		case v.IsNull():
		case v.Kind() == row.Text:
			*to = strings.Clone(v.Bytes())
		default:
			return newError("", ErrGeneric, "%s must be text", []string{"kind", "target"}[i])
		}
	}
	if r.Kind == "" {
		return newError("", ErrGeneric, "a job needs a kind: %s", strings.Join(engine.JobKinds(), ", "))
	}
	c.order = func(ctx context.Context) error {
		job, err := c.store.RunJob(ctx, r)
		if job.ID != 0 {
			c.db.SetLastInsertRowid(job.ID)
		}
		return err
	}
	return nil
}

// onlyInsert refuses what is no order.
func onlyInsert(s *sqltext.Stmt) error {
	if s.Kind == sqltext.Insert {
		return nil
	}
	e := newError("", ErrGeneric, "%s takes only INSERT", jobsTable)
	e.Table = jobsTable
	return e
}
