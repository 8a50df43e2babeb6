package engine

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// relaxed runs a test with the modes that acknowledge before the sync.
func relaxed(t *testing.T, f func(t *testing.T, mode SyncMode)) {
	for _, mode := range []SyncMode{SyncNormal, SyncOff} {
		t.Run(mode.String(), func(t *testing.T) { f(t, mode) })
	}
}

func (s *Store) isSynced(lsn LSN) func() bool {
	return func() bool { return s.synced.Load().lsn >= lsn }
}

// TestRelaxedIsVisibleAtOnce: while the disk does not answer, commits are
// acknowledged, seen and built on; schema changes wait.
func TestRelaxedIsVisibleAtOnce(t *testing.T) {
	relaxed(t, func(t *testing.T, mode SyncMode) {
		fault := vfs.NewFault(vfs.NewMem())
		s := openStore(t, Options{Dir: t.TempDir(), FS: fault, Sync: mode})
		wait(t, s, update(t, s, createTable("t")))
		gate := make(chan struct{})
		fault.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpSyncData {
				<-gate
			}
			return nil
		})
		for i := range int64(10) {
			lsn := update(t, s, put("t", i, i, "x"))
			wait(t, s, lsn)
			if s.Durable().LSN() != lsn || count(s.Durable(), "t") != int(i)+1 {
				t.Fatalf("after commit %d readers see %d with %d rows", lsn, s.Durable().LSN(), count(s.Durable(), "t"))
			}
		}
		synced := s.synced.Load().lsn
		ddl := update(t, s, createTable("u"))
		done := make(chan error, 1)
		go func() { done <- s.WaitDurable(t.Context(), ddl) }()
		wait(t, s, update(t, s, put("u", 1, 1, "built on it")))
		if got := s.synced.Load().lsn; got != synced {
			t.Errorf("synced up to %d without a sync", got)
		}
		select {
		case err := <-done:
			t.Errorf("the schema change was acknowledged before its sync: %v", err)
		default:
		}
		close(gate)
		must(t, <-done)
		if got := s.synced.Load().lsn; got < ddl {
			t.Errorf("the schema change %d was acknowledged, synced is %d", ddl, got)
		}
	})
}

// TestWhenRelaxedSyncs: normal by itself, off only when something asks for it.
func TestWhenRelaxedSyncs(t *testing.T) {
	relaxed(t, func(t *testing.T, mode SyncMode) {
		fault := vfs.NewFault(vfs.NewMem())
		o := Options{Dir: t.TempDir(), FS: fault, Sync: mode, GenerationSize: 4 << 10}
		s := openStore(t, o)
		wait(t, s, update(t, s, createTable("t")))
		before := fault.Count(vfs.OpSyncData)
		lsn := update(t, s, put("t", 1, 1, "x"))
		wait(t, s, lsn)
		if mode == SyncNormal {
			eventually(t, "the sync of a commit", s.isSynced(lsn))
		} else {
			for i := range int64(10) {
				wait(t, s, update(t, s, put("t", i, i, "x")))
			}
			if n := fault.Count(vfs.OpSyncData); n != before {
				t.Errorf("%d syncs that nobody asked for", n-before)
			}
		}
		must(t, s.Checkpoint(t.Context(), nil))
		if s.synced.Load().lsn != s.Head().LSN() {
			t.Errorf("after a checkpoint %d of %d is synced", s.synced.Load().lsn, s.Head().LSN())
		}
		// A generation that is full is synced, whatever the mode.
		for i := range int64(12) {
			lsn = update(t, s, put("t", i, i, strings.Repeat("y", 600)))
			wait(t, s, lsn)
		}
		rotated := s.GenerationInfos()
		eventually(t, "the sync of a full generation", s.isSynced(rotated[len(rotated)-2].LastLSN))
		lsn = update(t, s, put("t", 99, 99, "last"))
		wait(t, s, lsn)
		must(t, s.Close())
		if s.synced.Load().lsn != lsn {
			t.Errorf("after Close %d of %d is synced", s.synced.Load().lsn, lsn)
		}
	})
}

// TestRelaxedLosesASuffix crashes a program of acknowledged commits, over one
// shard and three, with rotations: what is opened is a state that some commit
// left, nothing that was synced is missing, and commits that were only
// acknowledged do go missing.
func TestRelaxedLosesASuffix(t *testing.T) {
	relaxed(t, func(t *testing.T, mode SyncMode) {
		overShards(t, func(t *testing.T, shards int) {
			r := newCrashRun(t, vfs.NewMem(), 2<<10, shards)
			r.o.Sync = mode
			s := r.open(t)
			var last LSN
			// The last but one is a schema change: the syncer is done with what the
			// rotation before it asked for when the last one comes.
			for k := range 26 {
				last = r.commit(t, s, step(k, "a"))
				must(t, s.WaitDurable(t.Context(), last))
				synced := s.synced.Load().lsn
				r.acks = append(r.acks, ack{r.mem.Ops(), synced})
			}
			// What follows a checkpoint is not synced, unless by the clock.
			must(t, s.Checkpoint(t.Context(), nil))
			r.acks = append(r.acks, ack{r.mem.Ops(), s.synced.Load().lsn})
			for i := range int64(3) {
				last = r.commit(t, s, put("t1", i, i, "not synced"))
				must(t, s.WaitDurable(t.Context(), last))
			}
			lost := 0
			c := r.images(t, 0, sharded(120, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 24}, nil)
			// The crash behind the last commit, as often as it has images.
			n := r.mem.Ops()
			for name, img := range r.mem.CrashImages(n, vfs.CrashOptions{Seed: *crashSeed, Mixtures: 24, Boundaries: r.boundaries}) {
				if lsn := r.one(t, fmt.Sprintf("end, image %q", name), img, r.cats.at(n), r.acked(n)); lsn < last {
					lost++
				}
			}
			if mode == SyncOff && lost == 0 {
				t.Error("no image lost a commit, although none was synced")
			}
			must(t, s.Close())
			t.Logf("%v, %d of the last ones without the last commit", c, lost)
		})
	})
}

// TestRelaxedPoison: a failed sync ends writing; what was acknowledged stays
// visible, and a schema change that waits for that sync has no known outcome.
func TestRelaxedPoison(t *testing.T) {
	relaxed(t, func(t *testing.T, mode SyncMode) {
		fault := vfs.NewFault(vfs.NewMem())
		o := Options{Dir: t.TempDir(), FS: fault, Sync: mode}
		s, err := Open(t.Context(), Options{Dir: o.Dir, FS: o.FS, Sync: mode, Create: true})
		must(t, err)
		wait(t, s, update(t, s, createTable("t")))
		fault.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpSyncData {
				return syscall.EIO
			}
			return nil
		})
		acked := update(t, s, put("t", 1, 1, "acknowledged"))
		wait(t, s, acked)
		ddl, err := tryUpdate(s, createTable("u"))
		must(t, err)
		if err := s.WaitDurable(t.Context(), ddl); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, syscall.EIO) {
			t.Errorf("the schema change: %v", err)
		}
		if _, err := s.TryBegin(); !errors.Is(err, ErrPoisoned) || !errors.Is(err, syscall.EIO) {
			t.Errorf("a later writer: %v", err)
		}
		if err := s.WaitDurable(t.Context(), acked); err != nil {
			t.Errorf("the acknowledged commit: %v", err)
		}
		if text(t, s.Durable(), "t", 1) != "acknowledged" {
			t.Error("an acknowledged row went from view")
		}
		if err := s.Close(); !errors.Is(err, ErrPoisoned) {
			t.Errorf("Close: %v", err)
		}
		fault.Clear()
		again, err := Open(t.Context(), o)
		must(t, err)
		if lsn := again.Durable().LSN(); lsn < acked-1 || lsn > ddl {
			t.Errorf("reopened at %d", lsn)
		}
		wait(t, again, update(t, again, put("t", 5, 5, "goes on")))
		checkStore(t, again)
		must(t, again.Close())
	})
}
