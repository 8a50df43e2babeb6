package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// sealedUpTo fails unless every commit up to lsn is in a sealed generation or in a
// base, which may have outlived the files of its commits.
func sealedUpTo(t testing.TB, s *Store, lsn LSN) {
	t.Helper()
	s.mu.Lock()
	since := s.compactor.since
	s.mu.Unlock()
	for _, g := range s.GenerationInfos() {
		if g.State == catalog.GenerationCollected && g.LastLSN <= since {
			continue
		}
		if g.FirstLSN != 0 && g.FirstLSN <= lsn && (g.State != catalog.GenerationSealed || g.LastLSN > lsn) {
			t.Errorf("after a checkpoint at LSN %d: %+v", lsn, g)
		}
	}
}

func TestCheckpoint(t *testing.T) { overShards(t, checkpoint) }

func checkpoint(t *testing.T, shards int) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, Shards: shards})
	must(t, s.Checkpoint(t.Context(), nil)) // of an empty store: nothing to do
	if n := s.Metrics().Rotations; n != 0 {
		t.Errorf("%d rotations of an empty store", n)
	}
	wait(t, s, update(t, s, createTable("t")))
	var steps []func(*Tx) error
	for i := range int64(20) {
		steps = append(steps, put("t", i, i, "x"))
	}
	lsn := update(t, s, all(steps...)) // not waited for
	var reports []int64
	must(t, s.Checkpoint(t.Context(), func(done, total int64) {
		if done > total || total == 0 {
			t.Errorf("progress %d of %d", done, total)
		}
		reports = append(reports, total-done)
	}))
	if s.Durable().LSN() < lsn {
		t.Errorf("durable is %d after a checkpoint at %d", s.Durable().LSN(), lsn)
	}
	sealedUpTo(t, s, lsn)
	if n := len(reports); n == 0 || reports[n-1] != 0 {
		t.Errorf("progress left %v", reports)
	}
	state, err := s.cat.State(t.Context())
	must(t, err)
	sealed := 0
	for _, g := range state.Generations {
		if g.State == catalog.GenerationSealed {
			sealed++
		}
	}
	if sealed != shards {
		t.Errorf("%d generations are sealed in the catalog", sealed)
	}
	// Nothing was written since: nothing is done.
	settled(t, s)
	ops := m.Ops()
	must(t, s.Checkpoint(t.Context(), nil))
	if n := m.Ops() - ops; n != 0 || s.Metrics().Rotations != 1 {
		t.Errorf("a second checkpoint did %d file operations", n)
	}
	// A shard that was not written to since is left alone.
	wait(t, s, update(t, s, put("t", inShard(s, "t", 0, 0), 1, "y")))
	must(t, s.Checkpoint(t.Context(), nil))
	if n := s.Metrics().Seals; n != uint64(shards)+1 {
		t.Errorf("%d seals", n)
	}
	sealedUpTo(t, s, s.Head().LSN())
	checkGenerations(t, s, s.Head().LSN())
	checkStore(t, s)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Checkpoint(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestCheckpointWaits: for the write lock as long as its context lasts, and for
// seals that a check holds up; a refused wait leaves the seal to be finished.
func TestCheckpointWaits(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), Shards: 3})
	tx, err := s.Begin(t.Context())
	must(t, err)
	must(t, createTable("t")(tx))
	short, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if err := s.Checkpoint(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside a transaction: %v", err)
	}
	lsn := tx.Commit()
	s.sealing.RLock()
	short, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Checkpoint(short, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside a check: %v", err)
	}
	s.sealing.RUnlock()
	must(t, s.Checkpoint(t.Context(), nil)) // waits for the seal of the first one
	sealedUpTo(t, s, lsn)
}

// TestCheckpointFails: without room a checkpoint is refused, and succeeds later;
// a failed sync poisons; after Close there is nothing to do.
func TestCheckpointFails(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f, Shards: 3})
	wait(t, s, update(t, s, all(createTable("t"), put("t", 1, 1, "a"), put("t", 2, 2, "b"))))
	f.Fail(vfs.Rule{Kinds: vfs.OpCreate, Err: syscall.ENOSPC})
	if err := s.Checkpoint(t.Context(), nil); !errors.Is(err, ErrFull) || s.Poisoned() != nil {
		t.Errorf("without room for the next files: %v", err)
	}
	f.Clear()
	f.Fail(vfs.Rule{Kinds: vfs.OpTruncate, Err: syscall.EIO})
	if err := s.Checkpoint(t.Context(), nil); !errors.Is(err, syscall.EIO) || s.Poisoned() != nil {
		t.Errorf("with a file that cannot be cut: %v", err)
	}
	f.Clear()
	must(t, s.Checkpoint(t.Context(), nil))
	sealedUpTo(t, s, s.Head().LSN())
	wait(t, s, update(t, s, all(put("t", 1, 1, "c"), put("t", 2, 2, "d"), put("t", 3, 2, "d"))))
	f.Fail(vfs.Rule{Kinds: vfs.OpSync, Sticky: true})
	if err := s.Checkpoint(t.Context(), nil); !errors.Is(err, ErrPoisoned) || s.Poisoned() == nil {
		t.Errorf("with a failed sync: %v", err)
	}
	if err := s.Checkpoint(t.Context(), nil); !errors.Is(err, ErrPoisoned) {
		t.Errorf("of a poisoned store: %v", err)
	}
	_ = s.Close() // returns the poison
	if err := s.Checkpoint(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}

// TestCheckpointUnderLoad runs checkpoints and checks beside writers.
func TestCheckpointUnderLoad(t *testing.T) { overShards(t, checkpointUnderLoad) }

func checkpointUnderLoad(t *testing.T, shards int) {
	m := vfs.NewMem()
	m.SetJournalLimit(1 << 20)
	s := openStore(t, Options{FS: m, Shards: shards, GenerationSize: 64 << 10})
	wait(t, s, update(t, s, createTable("t")))
	var writers, others sync.WaitGroup
	stop := make(chan struct{})
	enough := 8
	if testing.Short() {
		enough = 3
	}
	var next atomic.Int64
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				time.Sleep(200 * time.Microsecond)
				id := next.Add(3)
				lsn, err := tryUpdate(s, all(put("t", id, w, "a"), put("t", id+1, w, "b"), put("t", id+2, w, strings.Repeat("c", i%150))))
				if err == nil && i%5 != 0 {
					err = s.WaitDurable(context.Background(), lsn)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var checkpoints atomic.Int64
	for _, f := range []func(){
		func() {
			lsn := s.Head().LSN()
			if err := s.Checkpoint(context.Background(), nil); err != nil {
				t.Error(err)
			}
			checkpoints.Add(1)
			if s.Durable().LSN() < lsn {
				t.Errorf("durable is %d after a checkpoint begun at %d", s.Durable().LSN(), lsn)
			}
			for _, g := range s.GenerationInfos() {
				if g.FirstLSN != 0 && g.FirstLSN <= lsn && g.State != catalog.GenerationSealed {
					t.Errorf("checkpoint begun at LSN %d: %+v", lsn, g)
				}
			}
		},
		func() { checkStore(t, s); time.Sleep(100 * time.Millisecond) },
	} {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f()
				}
			}
		})
	}
	eventually(t, "the checkpoints", func() bool { return checkpoints.Load() >= int64(enough) || t.Failed() })
	close(stop)
	writers.Wait()
	others.Wait()
	rows := next.Load()
	wait(t, s, s.Head().LSN())
	quiet(t, s)
	checkGenerations(t, s, s.Head().LSN())
	if got := count(s.Durable(), "t"); int64(got) != rows {
		t.Errorf("%d rows of %d", got, rows)
	}
	t.Logf("%d checkpoints, %v", checkpoints.Load(), s.Metrics())
}

// TestCheckpointCrash crashes at every operation of a program with checkpoints.
// What a checkpoint acknowledged is sealed in every later image.
func TestCheckpointCrash(t *testing.T) { overShards(t, checkpointCrash) }

func checkpointCrash(t *testing.T, shards int) {
	r := newCrashRun(t, vfs.NewMem(), 0, shards)
	s := r.open(t)
	var done []ack
	checkpoint := func() {
		lsn := s.Head().LSN()
		must(t, s.Checkpoint(t.Context(), nil))
		r.acks = append(r.acks, ack{r.mem.Ops(), lsn})
		done = append(done, ack{r.mem.Ops(), lsn})
	}
	r.script(t, s, 0, 4, "a", nil)
	checkpoint()
	r.commit(t, s, step(4, "a"))
	checkpoint()
	r.script(t, s, 5, 8, "a", func(k int) bool { return k > 5 })
	must(t, s.Close())
	s = r.open(t)
	checkpoint()
	r.script(t, s, 8, 10, "a", nil)
	must(t, s.Close())
	n := r.images(t, 0, sharded(40, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 12}, func(t *testing.T, at string, img *vfs.Mem, cat string, lsn LSN) {
		var op int
		if _, err := fmt.Sscanf(at, "op %d,", &op); err != nil {
			t.Fatal(err)
		}
		sealed := LSN(0)
		for _, d := range done {
			if d.op <= op {
				sealed = d.lsn
			}
		}
		dir, clean := restore(t, cat)
		defer clean()
		o := r.o
		o.Dir, o.FS, o.CatalogSeam = dir, img, nil
		again, err := Open(context.Background(), o)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			return
		}
		sealedUpTo(t, again, sealed)
		must(t, again.Close())
	})
	t.Logf("%v", n)
}

// TestCheckpointBesideRotations: who rotates while a checkpoint waits for the next
// files has done its cut for it. A checkpoint that made its own each time could be
// overtaken for ever.
func TestCheckpointBesideRotations(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		fault := vfs.NewFault(vfs.NewMem())
		s := openStore(t, Options{FS: fault, Shards: shards})
		lsn := update(t, s, createTable("t"))
		wait(t, s, lsn)
		gate, making := make(chan struct{}), make(chan struct{}, 64)
		fault.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpCreate {
				making <- struct{}{}
				<-gate
			}
			return nil
		})
		done := make(chan error, 1)
		go func() { done <- s.Checkpoint(t.Context(), nil) }()
		<-making // it waits for a file now
		if ok, err := s.wl.acquire(t.Context(), s.poisoned, s.closing); !ok {
			t.Fatal(err)
		}
		close(gate)
		eventually(t, "the next files", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.unready()) == 0
		})
		if s.rotate() != nil {
			t.Fatal("the log does not rotate")
		}
		tx, _, err := s.begin() // which has the lock now
		must(t, err)
		must(t, put("t", inShard(s, "t", 0, 0), 1, "behind the cut")(tx))
		must(t, tx.Prepare())
		wait(t, s, tx.Commit())
		must(t, <-done)
		if n := s.Metrics().Rotations; n != 1 {
			t.Errorf("%d rotations", n)
		}
		sealedUpTo(t, s, lsn)
		if head := headOf(t, s).Timeline.LSN; head != int64(lsn) {
			t.Errorf("the head is commit %d, must be %d", head, lsn)
		}
	})
}
