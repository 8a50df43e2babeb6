package engine

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A check of a store whose first commits are not durable yet looks at nothing
// that was appended since.
func TestCheckBeforeFirstSync(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f})
	gate := make(chan struct{})
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			<-gate
		}
		return nil
	})
	lsn := update(t, s, createTable("t"))
	checkStore(t, s)
	close(gate)
	wait(t, s, lsn)
}

// A check that is told to stop does so in the middle of the log.
func TestCheckEndsWhileReplaying(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createTable("t")))
	for i := range int64(50) {
		wait(t, s, update(t, s, put("t", i, i, strings.Repeat("x", 1000))))
	}
	r := newRecovery(s, s.objects, 1)
	stop := errors.New("stop")
	r.ended = func() error {
		if r.last == 10 {
			return stop
		}
		return nil
	}
	state, err := s.cat.State(t.Context())
	must(t, err)
	r.shards[0].shard, r.shards[0].cat = &shard{id: uint64(state.Shards[0].ID)}, state.Shards[0]
	defer func() {
		for _, f := range r.shards[0].files {
			_ = f.file.Close()
		}
	}()
	c := &checker{ctx: context.Background(), s: s, target: s.durable.Load(), report: func(Finding) {}, open: map[uint64]extent{}}
	for _, g := range s.gens {
		c.open[g.object] = extent{appended: g.info.Bytes}
	}
	for _, g := range state.Generations {
		must(t, c.openFile(r.shards[0], g))
	}
	if err := r.merge(); !errors.Is(err, stop) || r.last != 10 {
		t.Errorf("the replay ends with %v behind commit %d", err, r.last)
	}
}

// A footer that was written in part is written again by the next attempt.
func TestCheckpointAfterTornFooter(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		t.Run(cause.Error(), func(t *testing.T) {
			f := vfs.NewFault(vfs.NewMem())
			s := openStore(t, Options{FS: f})
			wait(t, s, update(t, s, createTable("t")))
			wait(t, s, update(t, s, put("t", 1, 1, "x")))
			path, n := s.shards[0].gen.path, 0
			f.Fail(vfs.Rule{Match: func(op vfs.Op) bool {
				if op.Name == path && op.Kind == vfs.OpWrite {
					n++
					return n == 1
				}
				return false
			}, Err: cause, Short: 24})
			if err := s.Checkpoint(t.Context(), nil); !errors.Is(err, cause) || errors.Is(err, ErrFull) != (cause == syscall.ENOSPC) {
				t.Errorf("a torn footer: %v", err)
			}
			if err := s.Checkpoint(t.Context(), nil); err != nil {
				t.Errorf("the attempt behind it: %v", err)
			}
		})
	}
}

// A sealed file that cannot be closed is sealed: a later attempt would have no
// file to seal.
func TestCheckpointOfFileThatDoesNotClose(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	told := 0
	s := openStore(t, Options{FS: f, Events: func(e Event) {
		if e.Kind == EventBackgroundFailed && errors.Is(e.Err, syscall.EIO) {
			told++
		}
	}})
	wait(t, s, update(t, s, all(createTable("t"), put("t", 1, 1, "x"))))
	f.Fail(vfs.Rule{Kinds: vfs.OpClose, N: 1})
	for range 2 {
		if err := s.Checkpoint(t.Context(), nil); err != nil {
			t.Errorf("a file that does not close: %v", err)
		}
	}
	quiet(t, s)
	if told != 1 {
		t.Errorf("it was told of %d times", told)
	}
}

// A row that could not be replayed is refused before anything of it happens.
func TestRowTooLarge(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, all(createTable("t"), put("t", 1, 1, "x"))))
	defer func(n int) { maxRecord = n }(maxRecord)
	maxRecord = 100
	for _, id := range []int64{1, 2} {
		if _, err := tryUpdate(s, put("t", id, 1, strings.Repeat("y", 200))); !errors.Is(err, ErrTooLarge) {
			t.Errorf("row %d: %v", id, err)
		}
	}
	if n := count(s.Durable(), "t"); n != 1 {
		t.Errorf("%d rows", n)
	}
}
