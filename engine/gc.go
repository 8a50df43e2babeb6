package engine

import (
	"context"
	"fmt"
)

// GC removes every file that nothing needs: no head, branch point, pin or job
// reaches it, and no snapshot of this process can be read from it. Removals that
// an earlier process left half done go on. It runs as a job, in small batches,
// each of which can be interrupted anywhere; writers and readers do not wait for
// it. The same is done at every open, at Close, and as leases end: a job of it is
// for who wants it now, and told. progress, which may be nil, counts files.
func (s *Store) GC(ctx context.Context, progress func(done, total int64)) error {
	_, err := s.RunJob(ctx, JobRequest{Kind: JobGC, Progress: progress})
	return err
}

// gc is the work of a job.
func (s *Store) gc(ctx context.Context, _ int64, progress func(done, total int64)) error {
	ctx, cancel := s.jobContext(ctx)
	defer cancel()
	err := s.gcAll(ctx, progress)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// jobContext is a context that ends with the store, too.
func (s *Store) jobContext(ctx context.Context) (_ context.Context, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.untilClose, func() { end(ErrClosed) })
	return ctx, func() {
		stop()
		end(nil)
	}
}

func (s *Store) gcAll(ctx context.Context, progress func(done, total int64)) error {
	if _, err := s.cat.Reap(ctx, nil); err != nil {
		return fmt.Errorf("engine: looking for readers that are gone: %w", err)
	}
	if err := s.reconcile(ctx); err != nil {
		return err
	}
	plan, err := s.PlanGC(ctx)
	if err != nil {
		return err
	}
	total := int64(len(plan.Remove))
	progress(0, total)
	before := s.Metrics()
	done := int64(0)
	for limit := sweepBatch; ; {
		n, found, err := s.sweepSome(ctx, limit, s.held)
		done += int64(n)
		// More may have become garbage meanwhile.
		progress(done, max(done, total))
		if err != nil {
			return err
		}
		if n == 0 && found < limit {
			break
		}
		if n == 0 {
			limit *= 2 // all of them are held
		}
	}
	if plan, err = s.PlanGC(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.stats
	m.GCFreedFiles += uint64(done)
	m.GCFreedBytes += m.CollectedBytes - before.CollectedBytes
	m.GCKeptFiles, m.GCKeptBytes = uint64(len(plan.Keep)), plan.KeptBytes()
	return nil
}
