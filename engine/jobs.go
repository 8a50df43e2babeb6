package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Kinds of jobs, by the method that they run.
const (
	JobCheckpoint = "checkpoint"
	JobCompact    = "compact"
	JobIndex      = "index"
	JobGC         = "gc"
	JobVerify     = "verify"
	JobBackup     = "backup"
)

// Job is a piece of administrative work, as the catalog keeps it.
type Job = catalog.Job

// JobRequest says what RunJob is to do.
type JobRequest struct {
	Kind   string // one of the kinds of jobs
	Target string // of a backup: the directory it goes to; of an index job: a table, an index, or ""; else ""
	// LockTimeout bounds each wait for the write lock: past it the job fails
	// with ErrBusy. 0 waits until the context ends, a negative one not at all.
	LockTimeout time.Duration
	// Progress, when set, is told how far the job is.
	Progress func(done, total int64)

	auto bool // the engine's own
}

// jobs are the running jobs of this process.
type jobs struct {
	running sync.WaitGroup // Add under Store.mu, before closing is closed

	mu   sync.Mutex
	live map[int64]*Job // by id: Done and Total are ahead of the catalog's
}

// RunJob does a piece of administrative work and returns when it has ended. The
// catalog has a row of it from the beginning, with how it ended afterwards; a
// row that still runs when a store is opened belongs to a process that is gone,
// and is marked as failed. The error is the job's; the Job returned tells its id
// in that case, too, unless it never began.
func (s *Store) RunJob(ctx context.Context, r JobRequest) (Job, error) {
	work, err := s.workOf(r)
	if err != nil {
		return Job{}, err
	}
	s.mu.Lock()
	if err := s.closed(); err != nil {
		s.mu.Unlock()
		return Job{}, err
	}
	s.jobs.running.Add(1)
	s.mu.Unlock()
	defer s.jobs.running.Done()
	if err := s.Poisoned(); err != nil {
		return Job{}, err
	}
	job, err := s.cat.StartJob(ctx, r.Kind, r.Target)
	if err != nil {
		return Job{}, fmt.Errorf("engine: starting a job: %w", err)
	}
	live := job
	s.jobs.mu.Lock()
	if s.jobs.live == nil {
		s.jobs.live = map[int64]*Job{}
	}
	s.jobs.live[job.ID] = &live
	s.jobs.mu.Unlock()
	failure := work(ctx, job.ID, func(done, total int64) {
		s.jobs.mu.Lock()
		live.Done, live.Total = done, total
		s.jobs.mu.Unlock()
		if r.Progress != nil {
			r.Progress(done, total)
		}
	})
	s.jobs.mu.Lock()
	job.Done, job.Total = live.Done, live.Total
	s.jobs.mu.Unlock()
	// The work is done, or not, whatever became of the context.
	ended := s.cat.EndJob(context.WithoutCancel(ctx), job.ID, job.Done, job.Total, failure)
	s.jobs.mu.Lock()
	delete(s.jobs.live, job.ID)
	s.jobs.mu.Unlock()
	switch r.Kind {
	case JobCompact:
		s.compacted(failure)
	case JobBackup, JobIndex:
		s.removable() // what only the backup retained, or what the job did not publish
	}
	if failure != nil {
		return job, failure
	}
	if ended != nil {
		return job, fmt.Errorf("engine: recording the end of job %d, which succeeded: %w", job.ID, ended)
	}
	return job, nil
}

// work is what a job does: it is given the job's id.
type work func(ctx context.Context, id int64, progress func(done, total int64)) error

// jobKinds are the kinds that RunJob takes, in the order in which they are told.
var jobKinds = []string{JobCheckpoint, JobCompact, JobIndex, JobGC, JobVerify, JobBackup}

// JobKinds lists the kinds of jobs that RunJob takes.
func JobKinds() []string { return slices.Clone(jobKinds) }

// workOf returns what a job does.
func (s *Store) workOf(r JobRequest) (work, error) {
	if !slices.Contains(jobKinds, r.Kind) {
		return nil, fmt.Errorf("%w: kind %q, must be one of %s", ErrJob, r.Kind, strings.Join(jobKinds, ", "))
	}
	if s.opts.Memory {
		return nil, ErrInMemory
	}
	if s.reader != nil {
		return nil, ErrReadOnly
	}
	switch {
	case r.Kind == JobBackup && r.Target == "":
		return nil, &jobTargetError{"a backup needs a target, the directory that it goes to"}
	case r.Kind != JobBackup && r.Kind != JobIndex && r.Target != "":
		return nil, &jobTargetError{fmt.Sprintf("a job of kind %s takes no target, it is of the whole store", r.Kind)}
	}
	switch r.Kind {
	case JobCompact:
		return func(ctx context.Context, id int64, progress func(done, total int64)) error {
			return s.compact(ctx, id, r.LockTimeout, s.compactMode(r.auto), progress)
		}, nil
	case JobIndex:
		if _, err := s.targetOf(r.Target); err != nil {
			return nil, err
		}
		return func(ctx context.Context, id int64, progress func(done, total int64)) error {
			return s.index(ctx, id, r.Target, !r.auto, progress)
		}, nil
	case JobGC:
		return s.gc, nil
	case JobVerify:
		return s.verifyAll, nil
	case JobBackup:
		return func(ctx context.Context, id int64, progress func(done, total int64)) error {
			return s.backupTo(ctx, id, r.Target, r.LockTimeout, progress)
		}, nil
	}
	return func(ctx context.Context, _ int64, progress func(done, total int64)) error {
		return s.checkpoint(ctx, r.LockTimeout, progress)
	}, nil
}

// Jobs lists the jobs that the catalog keeps, running ones with their progress.
func (s *Store) Jobs(ctx context.Context) ([]Job, error) {
	if s.opts.Memory {
		return nil, nil
	}
	list, err := s.cat.Jobs(ctx)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	for i := range list {
		if live := s.jobs.live[list[i].ID]; live != nil {
			list[i].Done, list[i].Total = live.Done, live.Total
		}
	}
	return list, nil
}
