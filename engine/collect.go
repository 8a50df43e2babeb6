package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Files go in three steps: the catalog claims what no root reaches (from then on
// nothing can come to need it), the file is removed and its directory synced, the
// catalog records that and forgets the object. An interrupted removal goes on at
// the next open. A file that a snapshot of this process may be read from is not
// claimed before its lease is over.

// replaced is a file that the base stands for now.
type replaced struct {
	*generation
	lease uint64 // up to which states may name it
}

const (
	// noLease: states to come may name the file, too.
	noLease = math.MaxUint64
	// sweepEvery is how often the end of leases is looked for, while files wait for it,
	// at first, and sweepMost at last.
	sweepEvery = time.Second
	sweepMost  = time.Minute
	// sweepBatch is how many files one transaction of the catalog is about.
	sweepBatch = 32
)

// sweepReleased removes files when the lease of some has ended, or a compaction
// failed, and returns how many.
func (s *Store) sweepReleased() (swept int, err error) {
	over := s.released()
	gone := s.histories.reap()
	s.mu.Lock()
	some := len(over) > 0 || gone > 0 || s.compactor.failed
	s.compactor.failed = false // a branch point that is deleted meanwhile sets it again
	s.mu.Unlock()
	if !some {
		return 0, nil
	}
	if swept, err = s.sweep(s.untilClose, s.home.held); err == nil {
		err = s.leave(over)
	}
	if err != nil {
		s.mu.Lock()
		s.compactor.failed = true
		s.mu.Unlock()
	}
	return swept, err
}

// released lists the objects that no state of the log can be read from any more.
func (s *Store) released() map[uint64]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := map[uint64]bool{}
	for _, r := range s.replaced {
		if !s.mayRead(r) {
			list[r.object] = true
		}
	}
	return list
}

// mayRead reports whether states of the log may be read from what was replaced. The
// caller holds mu.
func (s *Store) mayRead(r replaced) bool {
	return r.lease == noLease || s.opts.untilClose || !s.objects.lease.over(r.lease)
}

// leave lets go of replaced files that a sweep left, although nothing of the log is
// read from them: something in the catalog needs them, a branch point as a rule. When
// it does not any more, they are found there.
func (s *Store) leave(over map[uint64]bool) error {
	s.letting.take()
	defer s.letting.give()
	s.mu.Lock()
	var left []uint64
	s.replaced = slices.DeleteFunc(s.replaced, func(r replaced) bool {
		gone := over[r.object] && !s.mayRead(r) // a restore may have taken it up again since
		if gone {
			left = append(left, r.object)
		}
		return gone
	})
	s.mu.Unlock()
	var errs []error
	for _, id := range left {
		errs = append(errs, s.objects.drop(id))
	}
	return errors.Join(errs...)
}

// addHeld adds the objects that states of this store may be read from although no
// head names them.
func (s *Store) addHeld(list map[int64]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.replaced {
		if s.mayRead(r) {
			list[int64(r.object)] = true
		}
	}
	for id := range s.restoring {
		list[int64(id)] = true
	}
	s.histories.addHeld(list)
}

// sweepAtOpen removes what an earlier process left.
func (s *Store) sweepAtOpen(ctx context.Context) {
	if _, err := s.cat.Reap(ctx, nil); err != nil { // then their files stay
		s.event(Event{Kind: EventBackgroundFailed, Err: fmt.Errorf("engine: looking for readers that are gone: %w", err)})
	}
	if _, err := s.sweep(ctx, s.home.held); err != nil {
		s.mu.Lock()
		s.compactor.failed = true
		s.mu.Unlock()
		s.compactor.signal()
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
}

// sweepAtClose removes what only snapshots were read from, which end here.
func (s *Store) sweepAtClose(ctx context.Context) {
	s.mu.Lock()
	some := len(s.replaced) > 0 || s.compactor.failed || s.histories.some()
	s.mu.Unlock()
	if !some {
		return
	}
	err := errors.Join(s.histories.close(), s.objects.close())
	if err == nil {
		s.mu.Lock()
		s.replaced = nil // nothing is read from them any more
		s.mu.Unlock()
		_, err = s.sweep(ctx, s.home.held)
	}
	if err != nil {
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
}

// sweep removes all files that nothing reaches, but for the ones held, and returns
// how many. held is asked behind each look at the catalog: a compaction notes what
// it replaces before it lets go of it there.
func (s *Store) sweep(ctx context.Context, held func() map[int64]bool) (swept int, err error) {
	if err := s.reconcile(ctx); err != nil {
		return 0, err
	}
	for limit := sweepBatch; ; {
		n, found, err := s.sweepSome(ctx, limit, held)
		swept += n
		switch {
		case err != nil:
			return swept, err
		case n == 0 && found < limit:
			return swept, nil
		case n == 0:
			limit *= 2 // all of them are held
		}
	}
}

// sweepSome takes one batch of up to limit files that nothing reaches and removes
// those of them that are not held. It returns how many it removed and how many
// there were. Sweeps take turns: two of one file would count it twice.
func (s *Store) sweepSome(ctx context.Context, limit int, held func() map[int64]bool) (n, found int, err error) {
	s.sweeps.take()
	defer s.sweeps.give()
	list, err := s.cat.Garbage(ctx, limit)
	if err != nil {
		return 0, 0, fmt.Errorf("engine: looking for files to remove: %w", err)
	}
	found = len(list)
	kept := held()
	list = slices.DeleteFunc(list, func(o catalog.Object) bool { return kept[o.ID] })
	if len(list) == 0 {
		return 0, found, nil
	}
	n, err = s.remove(ctx, list[:min(len(list), sweepBatch)])
	return n, found, err
}

// remove takes some objects through the three steps, those that can be claimed, and
// returns how many they were.
func (s *Store) remove(ctx context.Context, list []catalog.Object) (int, error) {
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	claimed, err := s.cat.Claim(ctx, ids)
	if err != nil {
		return 0, fmt.Errorf("engine: claiming files to remove: %w", err)
	}
	if len(claimed) == 0 {
		return 0, errors.New("engine: files that nothing seemed to need are needed")
	}
	ids = ids[:0]
	for i := range claimed {
		if err := s.unlink(&claimed[i]); err != nil {
			return 0, err
		}
		ids = append(ids, claimed[i].ID)
	}
	if err := s.cat.Collected(ctx, ids); err != nil {
		return 0, fmt.Errorf("engine: recording what was removed: %w", err)
	}
	s.forget(claimed)
	return len(claimed), nil
}

// unlink removes the file of a claimed object, durably.
func (s *Store) unlink(o *catalog.Object) error {
	s.sealers.take()
	defer s.sealers.give()
	s.sealing.Lock() // a Check that runs reads it
	defer s.sealing.Unlock()
	s.entries.take()
	defer s.entries.give()
	for _, open := range s.home.open() {
		if err := open.objects.drop(uint64(o.ID)); err != nil {
			return fmt.Errorf("engine: closing %s: %w", o.Path, err)
		}
	}
	err := s.fs.Remove(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = s.unlinkAgain(o.Path)
	}
	if err != nil {
		return fmt.Errorf("engine: removing %s: %w", o.Path, err)
	}
	// A directory that was never made has no entry.
	if err := s.fs.SyncDir(path.Dir(o.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("engine: sync of %s: %w", path.Dir(o.Path), err)
	}
	// A directory goes with its last file. Nothing depends on that, and one that is
	// not empty stays; whoever makes it again syncs all above it.
	for dir := path.Dir(o.Path); dir != objectsDir; dir = path.Dir(dir) {
		if delete(s.lasting, dir); s.fs.Remove(dir) != nil {
			break
		}
	}
	return nil
}

// unlinkAgain makes and removes a name that is gone: an earlier removal may have
// failed to be synced, and only what is changed anew is part of the next sync.
func (s *Store) unlinkAgain(name string) error {
	f, err := s.fs.Create(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nor is there the directory
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), s.fs.Remove(name))
}

// forget lets go of what is known of objects that are collected.
func (s *Store) forget(list []catalog.Object) {
	gone := make(map[uint64]bool, len(list))
	for _, o := range list {
		gone[uint64(o.ID)] = true
	}
	for _, open := range s.home.usable() {
		open.mu.Lock()
		open.gens = slices.DeleteFunc(slices.Clone(open.gens), func(g *generation) bool { return gone[g.object] })
		open.replaced = slices.DeleteFunc(open.replaced, func(r replaced) bool { return gone[r.object] })
		open.mu.Unlock()
	}
	s.mu.Lock()
	for _, o := range list {
		s.stats.CollectedFiles++
		s.stats.CollectedBytes += o.ByteExtent
	}
	s.mu.Unlock()
	for _, o := range list {
		s.event(Event{Kind: EventCollected, File: o.Path, Bytes: o.ByteExtent})
	}
}
