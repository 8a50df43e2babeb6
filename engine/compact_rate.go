package engine

import (
	"context"
	"io"
	"time"
)

// A compaction that nobody waits for leaves the disk to those who do: it reads and
// writes no more than CompactRate bytes in a second, on average. The wait is where
// the bytes are moved, in the compaction's own goroutine, so nothing is held in it
// but the compactor's turn.

// defaultCompactRate is what a compaction by itself moves in a second.
const defaultCompactRate = 64 << 20

// rateSlack is how far a compaction may be ahead of its rate: waits that are shorter
// are not worth a timer.
const rateSlack = 20 * time.Millisecond

// byteRate is how fast bytes may be moved; nil is no bound.
type byteRate struct {
	perSecond int64
	paid      time.Time   // when all bytes so far would have been moved at the rate
	hurry     func() bool // whether there is no bound now; nil: there is
	now       func() time.Time
	sleep     func(ctx context.Context, d time.Duration) error
}

// newByteRate returns nil for a rate that is not positive.
func newByteRate(perSecond int64) *byteRate {
	if perSecond <= 0 {
		return nil
	}
	return &byteRate{perSecond: perSecond, now: time.Now, sleep: sleepFor}
}

// compactRate is the rate of a compaction that nobody waits for. There is none while
// writers are held back until it is done.
func (s *Store) compactRate() *byteRate {
	r := newByteRate(s.opts.CompactRate)
	if r != nil {
		r.hurry = s.brakes.on.Load
	}
	return r
}

// sleepFor waits, and no longer than ctx lasts.
func sleepFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// charge counts bytes that were moved and waits until more may be. Time in which
// none were is not saved up.
func (r *byteRate) charge(ctx context.Context, n int64) error {
	if r == nil || r.hurry != nil && r.hurry() {
		return nil
	}
	now := r.now()
	if r.paid.Before(now) {
		r.paid = now
	}
	r.paid = r.paid.Add(time.Duration(float64(n) / float64(r.perSecond) * float64(time.Second)))
	if ahead := r.paid.Sub(now); ahead > rateSlack {
		return r.sleep(ctx, ahead)
	}
	return nil
}

// ratedReader reads at a rate.
type ratedReader struct {
	io.ReaderAt
	ctx  context.Context
	rate *byteRate
}

// reader is how a file is read at the rate.
func (r *byteRate) reader(ctx context.Context, file io.ReaderAt) io.ReaderAt {
	if r == nil {
		return file
	}
	return ratedReader{file, ctx, r}
}

func (r ratedReader) ReadAt(b []byte, off int64) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	breathe()
	if err := r.rate.charge(r.ctx, int64(len(b))); err != nil {
		return 0, err
	}
	return r.ReaderAt.ReadAt(b, off)
}
