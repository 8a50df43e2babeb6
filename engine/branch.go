package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// CreateBranchPoint gives the present state a name under which it stays readable
// until the branch point is deleted, see At. It contains every commit that was
// appended before the call, and may contain some that were appended meanwhile.
//
// What was written since the last cut is sealed and published first, as Checkpoint
// does; then the catalog roots the head. No file is written for that: when nothing
// was written since, none is touched at all. ctx ends the wait and takes nothing
// back that was sealed. A name that is taken is a catalog.ErrExists. A store in
// memory has no branch points: ErrInMemory.
func (s *Store) CreateBranchPoint(ctx context.Context, name string) (catalog.BranchPoint, error) {
	return s.CreateBranchPointWithin(ctx, name, 0)
}

// CreateBranchPointWithin is CreateBranchPoint that waits for the write lock as
// JobRequest.LockTimeout says.
func (s *Store) CreateBranchPointWithin(ctx context.Context, name string, lockTimeout time.Duration) (catalog.BranchPoint, error) {
	done, err := s.beginWork()
	if err != nil {
		return catalog.BranchPoint{}, err
	}
	defer done()
	if err := s.checkpoint(ctx, lockTimeout, nil); err != nil {
		return catalog.BranchPoint{}, fmt.Errorf("engine: branch point %q: %w", name, err)
	}
	// Whoever changes the head waits until it has its root.
	if err := s.publishing.takeWithin(ctx); err != nil {
		return catalog.BranchPoint{}, err
	}
	defer s.publishing.give()
	if err := s.refusal(); err != nil {
		return catalog.BranchPoint{}, err
	}
	s.mu.Lock()
	head := s.pub.head
	s.mu.Unlock()
	b, err := s.cat.CreateBranchPoint(ctx, name, head)
	if err != nil {
		return catalog.BranchPoint{}, withFull(fmt.Errorf("engine: branch point %q: %w", name, err))
	}
	return b, nil
}

// DeleteBranchPoint removes a branch point. Files that nothing else needs are
// removed in the background, when no snapshot of this process can be read from them
// any more. An unknown name is a catalog.ErrNotFound.
func (s *Store) DeleteBranchPoint(ctx context.Context, name string) error {
	done, err := s.beginWork()
	if err != nil {
		return err
	}
	defer done()
	b, err := s.cat.BranchPoint(ctx, name)
	if err == nil {
		err = s.cat.DeleteBranchPoint(ctx, name)
	}
	if err != nil {
		return withFull(fmt.Errorf("engine: branch point %q: %w", name, err))
	}
	for _, open := range s.home.open() {
		open.histories.letGo(b.RepresentationID)
	}
	s.removable()
	return nil
}

// BranchPoints lists the branch points, by name.
func (s *Store) BranchPoints(ctx context.Context) ([]catalog.BranchPoint, error) {
	if s.opts.Memory {
		return nil, nil
	}
	if err := s.closed(); err != nil {
		return nil, err
	}
	list, err := s.cat.BranchPoints(ctx)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return list, nil
}

// beginWork lets Close wait for a piece of work that writes to the catalog, until
// done is called. It refuses where nothing can be written.
func (s *Store) beginWork() (done func(), err error) {
	if s.opts.Memory {
		return nil, ErrInMemory
	}
	if s.reader != nil {
		return nil, ErrReadOnly
	}
	if err := s.Poisoned(); err != nil {
		return nil, err
	}
	return s.keepOpen()
}

// keepOpen lets Close wait until done is called.
func (s *Store) keepOpen() (done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.closed(); err != nil {
		return nil, err
	}
	s.jobs.running.Add(1)
	return s.jobs.running.Done, nil
}
