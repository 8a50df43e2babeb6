package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Timelines lists the timelines of the store, by name, as the catalog has their heads.
func (s *Store) Timelines(ctx context.Context) ([]catalog.Timeline, error) {
	if s.opts.Memory {
		return nil, nil
	}
	if err := s.closed(); err != nil {
		return nil, err
	}
	list, err := s.cat.Timelines(ctx)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return list, nil
}

// Timeline is the name of the timeline that the store is on.
func (s *Store) Timeline() string { return s.opts.Timeline }

// Fork makes a timeline that begins with the present state: every commit that was
// appended before the call, and perhaps some that were appended meanwhile. Volatile
// tables are empty in it. From then on neither sees what the other does. No row is
// copied: both are read from the same files.
//
// As for a branch point, what was written since the last cut is sealed and published
// first. A name that is taken is a catalog.ErrExists.
func (s *Store) Fork(ctx context.Context, name string) (catalog.Timeline, error) {
	return s.ForkWithin(ctx, name, 0)
}

// ForkWithin is Fork that waits for the write lock no longer than lockTimeout, if that is
// not 0: then it returns ErrBusy.
func (s *Store) ForkWithin(ctx context.Context, name string, lockTimeout time.Duration) (catalog.Timeline, error) {
	done, err := s.beginWork()
	if err != nil {
		return catalog.Timeline{}, err
	}
	defer done()
	if err := s.checkpoint(ctx, lockTimeout, nil); err != nil {
		return catalog.Timeline{}, fmt.Errorf("engine: timeline %q: %w", name, err)
	}
	if err := s.publishing.takeWithin(ctx); err != nil {
		return catalog.Timeline{}, err
	}
	defer s.publishing.give()
	if err := s.refusal(); err != nil {
		return catalog.Timeline{}, err
	}
	s.mu.Lock()
	head := s.pub.head
	s.mu.Unlock()
	return s.fork(ctx, catalog.ForkRequest{Name: name, From: head})
}

// ForkFrom makes a timeline that begins with the state of another one, or of a branch
// point, by its name; of the store's own timeline when source is "". ErrAmbiguous
// refuses a name of both, catalog.ErrNotFound one of neither.
func (s *Store) ForkFrom(ctx context.Context, name, source string, lockTimeout time.Duration) (made catalog.Timeline, err error) {
	done, err := s.beginWork()
	if err != nil {
		return made, err
	}
	defer done()
	if source == "" {
		return s.ForkWithin(ctx, name, lockTimeout)
	}
	_, noPoint := s.cat.BranchPoint(ctx, source)
	lines, err := s.cat.Timelines(ctx)
	if err != nil {
		return made, fmt.Errorf("engine: %w", err)
	}
	line := slices.ContainsFunc(lines, func(l catalog.Timeline) bool { return l.Name == source })
	switch {
	case noPoint == nil && line:
		return made, fmt.Errorf("%w: %q", ErrAmbiguous, source)
	case !line:
		return s.ForkBranchPoint(ctx, name, source)
	}
	err = s.WithTimeline(ctx, source, func(t *Store) (err error) {
		made, err = t.ForkWithin(ctx, name, lockTimeout)
		return err
	})
	return made, err
}

// WithTimeline does something with a timeline of the store, which is opened for that
// time if it is not open in this process. Whoever opens the timeline meanwhile, or does
// something with it, waits; so does this for the end of other such work. do is called
// again when a store that others opened was closed before it had done anything: then it
// returned ErrClosed.
func (s *Store) WithTimeline(ctx context.Context, name string, do func(*Store) error) error {
	if s.opts.Memory {
		return ErrInMemory
	}
	if name == s.opts.Timeline { // perhaps for a piece of work, which would wait for itself
		return do(s)
	}
	o := Options{NoCompaction: true, MemoryBudget: s.opts.MemoryBudget, BudgetSource: s.opts.BudgetSource, GenerationSize: s.opts.GenerationSize}
	for {
		t, wait := s.home.shared(name)
		if t != nil {
			err := do(t)
			if t.closed() == nil || !errors.Is(err, ErrClosed) {
				return err
			}
			continue
		}
		if wait != nil {
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return fmt.Errorf("engine: waiting for timeline %q: %w", name, ctx.Err())
			}
		}
		t, err := s.openTimeline(ctx, name, o, true)
		if errors.Is(err, ErrTimelineOpen) {
			continue // just now
		}
		if err != nil {
			return err
		}
		return errors.Join(do(t), t.Close())
	}
}

// ForkBranchPoint makes a timeline that begins with the state of a branch point. An
// unknown one is a catalog.ErrNotFound.
func (s *Store) ForkBranchPoint(ctx context.Context, name, branchPoint string) (catalog.Timeline, error) {
	done, err := s.beginWork()
	if err != nil {
		return catalog.Timeline{}, err
	}
	defer done()
	return s.fork(ctx, catalog.ForkRequest{Name: name, BranchPoint: branchPoint})
}

func (s *Store) fork(ctx context.Context, r catalog.ForkRequest) (catalog.Timeline, error) {
	made, err := s.cat.Fork(ctx, r)
	if err != nil {
		return made, withFull(fmt.Errorf("engine: timeline %q: %w", r.Name, err))
	}
	return made, nil
}

// DropTimeline removes a timeline. Its files go as garbage does. The timeline main stays,
// as does one that is open in this process (ErrTimelineOpen), but for a piece of work of
// [Store.WithTimeline], whose end it waits for, and one that something
// needs (catalog.ErrInUse): a timeline that was forked from it, a branch point that was
// made on it.
func (s *Store) DropTimeline(ctx context.Context, name string) error {
	done, err := s.beginWork()
	if err != nil {
		return err
	}
	defer done()
	err = s.home.unopened(ctx, name, func() error { return s.cat.DropTimeline(ctx, name) })
	if err != nil {
		return withFull(fmt.Errorf("engine: timeline %q: %w", name, err))
	}
	s.mu.Lock()
	s.compactor.failed = true // as after a failed compaction, there may be files to remove
	s.mu.Unlock()
	s.compactor.signal()
	return nil
}
