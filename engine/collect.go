package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	// sweepEvery is how often the end of leases is looked for, while files wait for it.
	sweepEvery = time.Second
	// sweepBatch is how many files one transaction of the catalog is about.
	sweepBatch = 64
)

// compactLoop compacts the log when that is due and removes files when they may go.
func (s *Store) compactLoop() {
	defer s.loops.Done()
	var look <-chan time.Time
	for {
		select {
		case <-s.closing:
			return
		case <-s.poisoned:
			return // nothing is written any more
		case <-s.compactor.wake:
		case <-look:
		}
		s.mu.Lock()
		due := s.compactor.asked
		s.mu.Unlock()
		if due {
			s.compactNow()
		}
		if err := s.sweepReleased(); err != nil && s.untilClose.Err() == nil && s.refusal() == nil {
			s.event(Event{Kind: EventBackgroundFailed, Err: err})
		}
		s.mu.Lock()
		waiting := len(s.replaced) > 0
		s.mu.Unlock()
		if look = nil; waiting {
			look = time.After(sweepEvery)
		}
	}
}

// sweepReleased removes files when the lease of some has ended, or a compaction
// failed.
func (s *Store) sweepReleased() error {
	held := s.held()
	s.mu.Lock()
	some := len(s.replaced) > len(held) || s.compactor.failed
	s.compactor.failed = false
	s.mu.Unlock()
	if !some {
		return nil
	}
	return s.sweep(s.untilClose, held)
}

// compactNow runs a compaction that was due. One that fails is tried again when the
// log has grown by a part.
func (s *Store) compactNow() {
	_, err := s.RunJob(s.untilClose, JobRequest{Kind: JobCompact})
	s.mu.Lock()
	c := &s.compactor
	c.asked, c.again = false, 0
	if err != nil {
		c.again = s.rowBytes + max(c.limits.floor, s.rowBytes/4)
	} else {
		s.compactIfDue()
	}
	s.mu.Unlock()
	if err != nil && !errors.Is(err, ErrClosed) && s.refusal() == nil {
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
}

// held lists the objects that states of this process may be read from although no
// head names them.
func (s *Store) held() map[int64]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := map[int64]bool{}
	for _, r := range s.replaced {
		if r.lease == noLease || s.opts.untilClose || !s.objects.lease.over(r.lease) {
			list[int64(r.object)] = true
		}
	}
	return list
}

// sweepAtOpen removes what an earlier process left.
func (s *Store) sweepAtOpen(ctx context.Context) {
	if err := s.sweep(ctx, nil); err != nil {
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
}

// sweepAtClose removes what only snapshots were read from, which end here.
func (s *Store) sweepAtClose(ctx context.Context) {
	s.mu.Lock()
	some := len(s.replaced) > 0
	s.mu.Unlock()
	if !some {
		return
	}
	err := s.objects.close()
	if err == nil {
		err = s.sweep(ctx, nil)
	}
	if err != nil {
		s.event(Event{Kind: EventBackgroundFailed, Err: err})
	}
}

// sweep removes all files that nothing reaches, but for the ones held.
func (s *Store) sweep(ctx context.Context, held map[int64]bool) error {
	for {
		list, err := s.cat.Garbage(ctx, sweepBatch+len(held))
		if err != nil {
			return fmt.Errorf("engine: looking for files to remove: %w", err)
		}
		list = slices.DeleteFunc(list, func(o catalog.Object) bool { return held[o.ID] })
		if len(list) == 0 {
			return nil
		}
		if err := s.remove(ctx, list[:min(len(list), sweepBatch)]); err != nil {
			return err
		}
	}
}

// remove takes some objects through the three steps.
func (s *Store) remove(ctx context.Context, list []catalog.Object) error {
	s.sealers.take()
	defer s.sealers.give()
	s.sealing.Lock() // a Check that runs reads them
	defer s.sealing.Unlock()
	ids := make([]int64, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	claimed, err := s.cat.Claim(ctx, ids)
	if err != nil {
		return fmt.Errorf("engine: claiming files to remove: %w", err)
	}
	if len(claimed) == 0 {
		return errors.New("engine: files that nothing seemed to need are needed")
	}
	s.entries.take()
	defer s.entries.give()
	ids = ids[:0]
	dirs := map[string]bool{}
	for _, o := range claimed {
		if err := s.objects.drop(uint64(o.ID)); err != nil {
			return fmt.Errorf("engine: unmapping %s: %w", o.Path, err)
		}
		if err := s.fs.Remove(o.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("engine: removing %s: %w", o.Path, err)
		}
		dirs[path.Dir(o.Path)] = true
		ids = append(ids, o.ID)
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		// Also where nothing was found: the name may have gone without being synced.
		// A directory that was never made has none.
		if err := s.fs.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("engine: sync of %s: %w", dir, err)
		}
	}
	if err := s.cat.Collected(ctx, ids); err != nil {
		return fmt.Errorf("engine: recording what was removed: %w", err)
	}
	s.forget(claimed)
	return nil
}

// forget lets go of what is known of objects that are collected.
func (s *Store) forget(list []catalog.Object) {
	gone := make(map[uint64]bool, len(list))
	for _, o := range list {
		gone[uint64(o.ID)] = true
	}
	s.mu.Lock()
	s.gens = slices.DeleteFunc(slices.Clone(s.gens), func(g *generation) bool { return gone[g.object] })
	s.replaced = slices.DeleteFunc(s.replaced, func(r replaced) bool { return gone[r.object] })
	for _, o := range list {
		s.stats.CollectedFiles++
		s.stats.CollectedBytes += o.ByteExtent
	}
	s.mu.Unlock()
	for _, o := range list {
		s.event(Event{Kind: EventCollected, File: o.Path, Bytes: o.ByteExtent})
	}
}
