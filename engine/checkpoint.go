package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
)

// Checkpoint ends the generations that are in use: all shards are cut at one
// LSN, and when Checkpoint returns nil every commit that was appended before
// the call lies in a generation that is durable, sealed and part of the
// timeline's head in the catalog. Shards in which nothing was written since the
// last cut keep their file, so a second checkpoint in a row does nothing.
//
// It waits for the write lock and then, without it, for seals and publication;
// ctx ends the wait and takes nothing back. Without room, for a footer or in the
// catalog, it returns ErrFull, and may be called again. progress, which may be nil, counts bytes of the
// generations to be sealed.
func (s *Store) Checkpoint(ctx context.Context, progress func(done, total int64)) error {
	return s.checkpoint(ctx, 0, progress)
}

func (s *Store) checkpoint(ctx context.Context, lockTimeout time.Duration, progress func(done, total int64)) error {
	if s.opts.Memory {
		return ErrInMemory
	}
	for lsn := LSN(0); ; {
		ok, err := s.acquireWithin(ctx, lockTimeout)
		if err != nil {
			return err
		}
		if !ok {
			return s.refusal()
		}
		var wait *readiness
		lsn, wait, err = s.cut(lsn)
		s.wl.release()
		if err != nil {
			return err
		}
		if wait == nil {
			return s.waitPublished(ctx, lsn, progress)
		}
		if err := s.waitReady(ctx, wait); err != nil {
			return err
		}
	}
}

// cut rotates if there is anything up to a commit to rotate away from, and returns
// that commit; 0 stands for the head. Somebody else may have rotated since: his cut
// will do, or there would be no end of it beside a writer who rotates all the
// time. The caller holds the write lock.
func (s *Store) cut(upTo LSN) (lsn LSN, wait *readiness, err error) {
	if err := s.refusal(); err != nil {
		return 0, nil, err
	}
	if lsn = upTo; lsn == 0 {
		lsn = s.head.Load().lsn
	}
	s.mu.Lock()
	used := slices.ContainsFunc(s.shards, (*shard).used)
	if !used {
		s.takeCut() // unless it is the head already: what a crash or a failure left
	}
	left := used && slices.ContainsFunc(s.shards, func(sh *shard) bool { return sh.used() && sh.gen.info.FirstLSN <= lsn })
	s.mu.Unlock()
	if left {
		wait = s.rotate()
	}
	return lsn, wait, nil
}

// waitPublished waits until every generation that was rotated away from is
// sealed and the head contains commit lsn. What failed before is tried once
// more.
func (s *Store) waitPublished(ctx context.Context, lsn LSN, progress func(done, total int64)) error {
	s.mu.Lock()
	c := &s.chores
	pending := slices.Clone(c.sealing)
	sizes := make([]int64, len(pending))
	var total int64
	for i, g := range pending {
		sizes[i] = g.info.Bytes
		total += sizes[i]
	}
	c.stuck, s.pub.stuck = nil, nil
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
		attempt, failed, cause := c.sealed, cmp.Or(c.stuck, s.pub.stuck), s.pipe.cause
		published := LSN(s.pub.head.LSN) >= lsn
		s.mu.Unlock()
		if progress != nil && total > 0 && done > last {
			last = done
			progress(done, total)
		}
		switch {
		case open == 0 && published:
			return nil
		case cause != nil:
			return cause
		case failed != nil:
			return withFull(failed)
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

// acquireWithin waits for the write lock as writeLock.acquire does, but only for
// so long, if that is not 0. Then it returns ErrBusy.
func (s *Store) acquireWithin(ctx context.Context, timeout time.Duration) (bool, error) {
	switch {
	case timeout == 0:
		return s.wl.acquire(ctx, s.poisoned, s.closing)
	case s.wl.tryAcquire():
		return true, nil
	case timeout < 0:
		return false, ErrBusy
	}
	wait, cancel := context.WithTimeoutCause(ctx, timeout, ErrBusy)
	defer cancel()
	ok, err := s.wl.acquire(wait, s.poisoned, s.closing)
	if err != nil {
		err = context.Cause(wait)
	}
	return ok, err
}
