package engine

import (
	"context"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Checkpoint ends the generations that are in use: all shards are cut at one
// LSN, and when Checkpoint returns nil every commit that was appended before
// the call lies in a generation that is durable, sealed and recorded in the
// catalog. Shards in which nothing was written since the last cut keep their
// file, so a second checkpoint in a row does nothing.
//
// It waits for the write lock and then, without it, for the seals; ctx ends the
// wait and takes nothing back. Without room for a footer it returns ErrFull,
// and may be called again. progress, which may be nil, counts bytes of the
// generations to be sealed.
func (s *Store) Checkpoint(ctx context.Context, progress func(done, total int64)) error {
	for {
		ok, err := s.wl.acquire(ctx, s.poisoned, s.closing)
		if err != nil {
			return err
		}
		if !ok {
			return s.refusal()
		}
		wait, err := s.cut()
		s.wl.release()
		if err != nil {
			return err
		}
		if wait == nil {
			return s.waitSealed(ctx, progress)
		}
		if err := s.waitReady(ctx, wait); err != nil {
			return err
		}
	}
}

// cut rotates if there is anything to rotate away from. The caller holds the
// write lock.
func (s *Store) cut() (wait *readiness, err error) {
	if err := s.refusal(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	used := false
	for _, sh := range s.shards {
		used = used || sh.used()
	}
	s.mu.Unlock()
	if used {
		wait = s.rotate()
	}
	return wait, nil
}

// waitSealed waits until every generation that was rotated away from is sealed.
// A seal that failed before is tried once more.
func (s *Store) waitSealed(ctx context.Context, progress func(done, total int64)) error {
	s.mu.Lock()
	c := &s.chores
	pending := slices.Clone(c.sealing)
	sizes := make([]int64, len(pending))
	var total int64
	for i, g := range pending {
		sizes[i] = g.info.Bytes
		total += sizes[i]
	}
	c.stuck = nil
	c.seals.Signal()
	s.mu.Unlock()
	for last := int64(-1); ; {
		s.mu.Lock()
		var done int64
		open := 0
		for i, g := range pending {
			if g.info.State == catalog.GenerationSealed {
				done += sizes[i]
			} else {
				open++
			}
		}
		attempt, failed, cause := c.sealed, c.stuck, s.pipe.cause
		s.mu.Unlock()
		if progress != nil && total > 0 && done > last {
			last = done
			progress(done, total)
		}
		switch {
		case open == 0:
			return nil
		case cause != nil:
			return cause
		case failed != nil:
			return failed
		}
		select {
		case <-attempt:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing:
			return ErrClosed
		}
	}
}
