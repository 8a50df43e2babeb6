package engine

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// Segments that could not be written, as on a full disk, are written while the store is
// open, without anybody who asks.
func TestFailedIndexesAreTriedAgain(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f, GenerationSize: 4 << 10})
	wait(t, s, update(t, s, all(createTable("a"), manyRows("a", 40, "a"))))
	f.Fail(vfs.Rule{Kinds: vfs.OpWrite, Match: func(op vfs.Op) bool { return strings.HasSuffix(op.Name, ".index") }, Sticky: true, Err: syscall.ENOSPC})
	must(t, s.Compact(t.Context(), nil))
	if n := len(stateOf(t, s).IndexState.Segments); n != 0 {
		t.Fatalf("%d segments", n)
	}
	f.Clear()
	eventually(t, "segments", func() bool { return len(stateOf(t, s).IndexState.Segments) == 2 })
	eventually(t, "generations to be retired", func() bool { return len(stateOf(t, s).Retained) == 0 })
	caughtUp(t, s)
}

// They are tried less and less often, and as often as at first after a success.
func TestIndexRetry(t *testing.T) {
	r := indexRetry{first: time.Hour, most: 5 * time.Hour}
	for _, want := range []time.Duration{1, 2, 4, 5, 5} {
		r.plan(true)
		if r.due == nil || r.wait != want*time.Hour {
			t.Errorf("%v, want %d hours", r.wait, want)
		}
		due := r.due
		if r.plan(true); r.due != due {
			t.Error("what waits is put off")
		}
		r.due = nil // it has come
	}
	if r.plan(false); r.due != nil {
		t.Error("nothing is tried again")
	}
	if r.plan(true); r.wait != time.Hour {
		t.Errorf("%v behind a success", r.wait)
	}
}

// The indexes behind a compaction that nobody waits for are written at its rate: what is
// read of the base, what is written, and what is read of it for its digest. Who ends it
// has not found out that a file is unsound.
func TestIndexesAreRated(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), GenerationSize: 64 << 10, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createTable("a"), manyRows("a", 2000, "a"))))
	s.compactor.unindexed = true
	must(t, s.Compact(t.Context(), nil))
	s.compactor.turn <- struct{}{}
	base := int64(0)
	for _, f := range s.base {
		all, _ := f.sizes()
		base += all
	}
	const rate = 64 << 10
	for end := 1; ; end++ { // the sleep that the job is ended in
		now := time.Unix(1000, 0)
		r := newByteRate(rate)
		r.now = func() time.Time { return now }
		ctx, cancel := context.WithCancel(t.Context())
		var slept time.Duration
		sleeps := 0
		r.sleep = func(ctx context.Context, d time.Duration) error {
			now, slept = now.Add(d), slept+d
			if sleeps++; sleeps == end {
				cancel()
			}
			return ctx.Err()
		}
		job, err := s.cat.StartJob(t.Context(), JobIndex, "")
		must(t, err)
		err = s.indexBase(ctx, job.ID, nil, false, r, nil)
		must(t, s.cat.EndJob(t.Context(), job.ID, 0, 0, nil))
		ended := ctx.Err() != nil
		cancel()
		wrote := s.Metrics().SegmentBytes
		if ended && (!errors.Is(err, context.Canceled) || wrote != 0) {
			t.Fatalf("ended in sleep %d: %v, %d bytes", end, err, wrote)
		}
		quarantined, qerr := s.cat.Reconcilable(t.Context(), 10)
		must(t, qerr)
		if len(quarantined) > 0 {
			t.Fatalf("ended in sleep %d: %v is quarantined", end, quarantined)
		}
		if ended {
			continue
		}
		must(t, err)
		moved := int64(slept.Seconds() * rate)
		if least := base + 2*wrote - 8<<10; moved < least || moved > least+80<<10 || wrote == 0 || end < 5 {
			t.Errorf("%d bytes were charged for %d bytes of a base and %d of segments, in %d sleeps", moved, base, wrote, sleeps)
		}
		break
	}
	<-s.compactor.turn
}
