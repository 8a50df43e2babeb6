package catalog

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestJobs(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	dir := makeStore(t, Options{})
	c := openStore(t, Options{Dir: dir, Now: func() time.Time { now = now.Add(time.Second); return now }})
	if list, err := c.Jobs(ctx); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	var jobs []Job
	for _, kind := range []string{"checkpoint", "compact", "index", "gc", "verify", "backup", "rebuild"} {
		j, err := c.StartJob(ctx, kind, "t-"+kind)
		if err != nil || j.State != JobRunning || j.StartedAt == "" || j.Kind != kind || j.Target != "t-"+kind || j.EndedAt != "" {
			t.Fatalf("%+v, %v", j, err)
		}
		jobs = append(jobs, j)
	}
	_, err := c.StartJob(ctx, "party", "")
	wantCode(t, err, CodeCheck)
	for i, end := range []struct {
		done, total int64
		failure     error
		want        string
	}{
		{3, 5, nil, "done 3/5 "},
		{3, 5, errors.New("no space"), "failed 3/5 no space"},
		{3, 5, fmt.Errorf("stopped: %w", context.Canceled), "cancelled 3/5 stopped: context canceled"},
		{0, 0, context.DeadlineExceeded, "cancelled 0/0 context deadline exceeded"},
		{7, 5, nil, "done 7/7 "}, // an estimate was too low
	} {
		if err := c.EndJob(ctx, jobs[i].ID, end.done, end.total, end.failure); err != nil {
			t.Fatal(err)
		}
		list, err := c.Jobs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		j := list[i]
		if got := fmt.Sprintf("%s %d/%d %s", j.State, j.Done, j.Total, j.Error); got != end.want || j.ID != jobs[i].ID || j.EndedAt <= j.StartedAt || j.StartedAt != jobs[i].StartedAt {
			t.Errorf("%+v: %q, want %q", j, got, end.want)
		}
		wantCode(t, c.EndJob(ctx, jobs[i].ID, 1, 1, nil), CodeState)
	}
	wantCode(t, c.EndJob(ctx, 4711, 1, 1, nil), CodeUnknown)
	wantCode(t, c.EndJob(ctx, jobs[5].ID, -1, 1, nil), CodeRange)
	wantCode(t, c.EndJob(ctx, jobs[5].ID, 1, MaxID+1, nil), CodeRange)
	if n := one64(t, c, `SELECT count(*) FROM owners WHERE kind = 'job' AND state = 'released'`); n != 5 {
		t.Errorf("%d owners released", n)
	}
	if n := one64(t, c, `SELECT count(*) FROM job_progress WHERE state = 'running'`); n != 2 {
		t.Errorf("%d running", n)
	}
	// The process ends; the next one finds its jobs.
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, Options{Dir: dir})
	for _, want := range []int{2, 0} {
		if n, err := again.AbandonJobs(ctx); n != want || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	list, err := again.Jobs(ctx)
	if err != nil || len(list) != 7 {
		t.Fatal(list, err)
	}
	for _, j := range list[5:] {
		if j.State != JobFailed || j.Error != interrupted || j.EndedAt == "" {
			t.Errorf("%+v", j)
		}
	}
}

// TestJobCommits: each commit of a job goes wrong once.
func TestJobCommits(t *testing.T) {
	base := makeStore(t, Options{})
	run := func(ctx context.Context, c *Catalog) error {
		j, err := c.StartJob(ctx, "gc", "")
		if err != nil {
			return err
		}
		return c.EndJob(ctx, j.ID, 1, 1, nil)
	}
	for n, step := range []string{"start-job", "end-job"} {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				c := openStore(t, Options{Dir: interrupt(t, base, step, mode, run)})
				done := n
				if mode != "before" {
					done++
				}
				list, err := c.Jobs(t.Context())
				if err != nil || (len(list) == 1) != (done > 0) || done > 0 && list[0].State != []string{JobRunning, JobDone}[done-1] {
					t.Errorf("%d steps: %+v, %v", done, list, err)
				}
				if n, err := c.AbandonJobs(t.Context()); err != nil || (n == 1) != (done == 1) {
					t.Errorf("abandoned %d, %v", n, err)
				}
			})
		}
	}
	running := interrupt(t, base, "end-job", "before", run)
	for _, mode := range []string{"before", "after", "killed"} {
		c := openStore(t, Options{Dir: interrupt(t, running, "abandon-jobs", mode, func(ctx context.Context, c *Catalog) error { _, err := c.AbandonJobs(ctx); return err })})
		if n, err := c.AbandonJobs(t.Context()); err != nil || (n == 1) != (mode == "before") {
			t.Errorf("%s: abandoned %d, %v", mode, n, err)
		}
	}
}

// TestJobsLetGo: with its end, or that of its process, a job's owner retains
// nothing any more; what nothing else retains is garbage.
func TestJobsLetGo(t *testing.T) {
	ctx := t.Context()
	base := t.TempDir()
	copyTemplate(t, base)
	c, err := Open(ctx, Options{Dir: base})
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(t, c)
	l.publish(l.rotateMany(1)...)
	job := l.compact(1, 2)
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	owner := fmt.Sprintf(`(SELECT owner_id FROM jobs WHERE job_id = %d)`, job.job.ID)
	edit(t, base, fmt.Sprintf(`INSERT INTO owner_blobs SELECT %s, min(blob_id) FROM blob_versions`, owner),
		fmt.Sprintf(`INSERT INTO owner_representations SELECT %s, head_representation_id FROM timelines`, owner))
	end := func(ctx context.Context, c *Catalog) error {
		return c.EndJob(ctx, job.job.ID, 0, 1, errors.New("no space"))
	}
	abandon := func(ctx context.Context, c *Catalog) error { _, err := c.AbandonJobs(ctx); return err }
	for step, run := range map[string]func(context.Context, *Catalog) error{"end-job": end, "abandon-jobs": abandon} {
		for _, mode := range []string{"before", "after", "killed"} {
			t.Run(step+"-"+mode, func(t *testing.T) {
				c := openStore(t, Options{Dir: interrupt(t, base, step, mode, run)})
				roots := one64(t, c, `SELECT (SELECT count(*) FROM owner_blobs) + (SELECT count(*) FROM owner_representations) + (SELECT count(*) FROM owner_objects)`)
				list, err := c.Garbage(ctx, 10)
				if err != nil {
					t.Fatal(err)
				}
				if mode == "before" {
					if roots != 6 || len(list) != 0 {
						t.Errorf("%d roots, garbage %v", roots, list)
					}
				} else if roots != 2 || len(list) != 2 {
					t.Errorf("%d roots, garbage %v", roots, list)
				}
				if n, err := c.AbandonJobs(ctx); err != nil || (n == 1) != (mode == "before") {
					t.Errorf("%d, %v", n, err)
				}
				if n := collectAll(t, c); n != 2 {
					t.Errorf("%d collected", n)
				}
			})
		}
	}
}

// TestOldJobsGo: beyond the newest thousand, a few with every new one.
func TestOldJobsGo(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	const more = pruneLimit + 5
	edit(t, dir, `UPDATE catalog_info SET next_id = 100000`,
		`WITH RECURSIVE n(i) AS (SELECT 10000 UNION ALL SELECT i + 2 FROM n WHERE i < 10000 + 2*(`+fmt.Sprint(keptJobs+more-1)+`)) INSERT INTO owners(owner_id, kind) SELECT i, 'job' FROM n`,
		`INSERT INTO jobs(job_id, kind, target, recipe_version, recipe, owner_id) SELECT owner_id + 1, 'gc', '', 1, x'01', owner_id FROM owners WHERE kind = 'job'`,
		`UPDATE jobs SET state = 'cancelled', ended_at = '2026-01-01T00:00:00Z', revision = 1`,
		`UPDATE owners SET state = 'retiring', revision = 1 WHERE kind = 'job'`,
		`UPDATE owners SET state = 'released', revision = 2 WHERE kind = 'job'`)
	c := openStore(t, Options{Dir: dir})
	for _, want := range []int64{keptJobs + 5 + 1, keptJobs + 2, keptJobs + 3} {
		if _, err := c.StartJob(ctx, "gc", ""); err != nil {
			t.Fatal(err)
		}
		if n := one64(t, c, `SELECT count(*) FROM jobs`); n != want {
			t.Errorf("%d jobs, want %d", n, want)
		}
		if n := one64(t, c, `SELECT count(*) FROM owners WHERE kind = 'job'`); n != want {
			t.Errorf("%d owners, want %d", n, want)
		}
	}
	list, err := c.Jobs(ctx)
	if err != nil || list[0].ID != 10001+2*more || list[keptJobs].State != JobRunning {
		t.Errorf("%+v, %v", list[0], err)
	}
}
