package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// Writers can be faster than the compactor. While a compaction is due or runs, and the
// log has grown so far beside it that its files would take more than they may, each
// commit makes those who begin to write wait a little: the further, the longer. So the
// log grows more slowly and not without bound. Nobody is refused, nobody waits longer
// than brakeMost at once, and where the compactor keeps up nobody waits at all.
//
// What counts is the log behind the base, less what the live rows have grown since: who
// only inserts is never held back.

const (
	// brakeShare: the files should take no more than this share of what they may, which
	// is CompactRatio times the live rows, and brakeFiles generations.
	brakeShare = 0.8
	brakeFiles = 3
	// brakeGrowth: a log grows by this share of what makes it worth a compaction, at
	// least, before anybody waits.
	brakeGrowth = 0.5
	// Of the bound where it begins, the brake is let go of at this share.
	brakeRelease = 0.75
	// Writers may append so much in a second where the brake begins, and brakeSlowest
	// at the worst.
	brakeFastest = 8 << 20
	brakeSlowest = 128 << 10
	// brakeLeast is what nobody waits for, brakeMost the longest that one waits at once.
	brakeLeast = time.Millisecond
	brakeMost  = 50 * time.Millisecond
)

// brake holds writers back. Guarded by Store.mu.
type brake struct {
	on    bool
	from  int64     // bytes of the log behind the base at which it begins
	worst int64     // where it is the strongest
	until time.Time // when all that was appended with it on would have been at its rate
}

// brakes are what is asked of the brake by those who do not hold mu.
type brakes struct {
	on     atomic.Bool
	until  atomic.Int64 // when who begins to write may go on, in nanoseconds; 0: at once
	waited atomic.Int64 // how long all have waited, in nanoseconds
}

// set says where the brake begins: when a compaction becomes due, with the log as it is
// then. room is what the log may take, step what makes it worth a compaction.
func (b *brake) set(log, room, step int64) {
	grown := int64(brakeGrowth * float64(step))
	b.from = max(room, log+grown)
	b.worst = b.from + grown
}

// appended counts bytes that were appended to the log, which has so much behind the
// base by now, and returns how long the next writers have to wait. due says whether a
// compaction is to free some of it.
func (b *brake) appended(now time.Time, log, bytes int64, due bool) time.Duration {
	least := int64(brakeRelease * float64(b.from))
	b.on = due && log > least && (b.on || log > b.from)
	if !b.on {
		b.until = time.Time{}
		return 0
	}
	left := max(0, float64(b.worst-log)/float64(max(1, b.worst-least)))
	rate := max(brakeSlowest, brakeFastest*left*left)
	if b.until.Before(now) {
		b.until = now
	}
	b.until = b.until.Add(time.Duration(float64(bytes) / rate * float64(time.Second)))
	if last := now.Add(brakeMost); b.until.After(last) {
		b.until = last
	}
	return b.until.Sub(now)
}

// setBrake says what the log may take while a compaction that is due now runs. The
// caller holds mu.
func (s *Store) setBrake(use LogUse) {
	c := &s.compactor
	// Beside the base and its segments there are the live rows once more, as they are
	// written, and a part of the log that is preallocated.
	may := c.limits.ratio*float64(use.Live) + brakeFiles*float64(s.opts.GenerationSize)
	takes := c.base + use.Live + 2*c.segments + s.opts.GenerationSize
	c.brake.set(s.logBehind(use), int64(brakeShare*may)-takes, c.limits.of(use.Live).garbage)
}

// logBehind is what the log has behind the base, less what the live rows have grown
// since. The caller holds mu.
func (s *Store) logBehind(use LogUse) int64 {
	c := &s.compactor
	return use.Used - c.base - max(0, use.Live-c.live)
}

// brake lets the next writers wait if the compactor is behind. The caller holds mu.
func (s *Store) brake(bytes int64) {
	c := &s.compactor
	if !c.asked && !c.brake.on {
		return
	}
	now := time.Now()
	wait := c.brake.appended(now, s.logBehind(s.logUse()), bytes, c.asked)
	s.brakes.on.Store(c.brake.on)
	until := int64(0)
	if wait >= brakeLeast {
		until = now.Add(wait).UnixNano()
	}
	s.brakes.until.Store(until)
}

// releaseBrake ends the waiting of writers, and what is behind it: the log was compacted, or
// it could not be. The caller holds mu.
func (s *Store) releaseBrake() {
	s.compactor.brake.on = false
	s.brakes.on.Store(false)
	s.brakes.until.Store(0)
}

// AwaitCompaction is called by who is going to begin a transaction, while nobody waits for
// him. It returns at once, unless a compaction cannot keep up with the writers:
// then in a moment. It takes no more than half the time that ctx has left.
func (s *Store) AwaitCompaction(ctx context.Context) {
	until := s.brakes.until.Load()
	if until == 0 {
		return
	}
	wait := min(time.Until(time.Unix(0, until)), brakeMost)
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(deadline)/2)
	}
	if wait <= 0 {
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	start := time.Now()
	select {
	case <-t.C:
	case <-ctx.Done():
	case <-s.poisoned:
	case <-s.closing:
	}
	s.brakes.waited.Add(int64(time.Since(start)))
}
