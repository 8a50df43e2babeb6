package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// failing is a seam that fails the COMMITs of a name while it is armed.
func failing(name string, armed *atomic.Bool) *catalog.Seam {
	return &catalog.Seam{Commit: func(n string, commit func() error) error {
		if armed.Load() && n == name {
			return errFence
		}
		return commit()
	}}
}

// checkpointing runs a checkpoint on another goroutine and waits until it has
// rotated, so that n files wait for their seals.
func checkpointing(t *testing.T, s *Store, n int) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Checkpoint(context.Background(), nil) }()
	eventually(t, "the rotation", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.chores.sealing) == n
	})
	return done
}

// TestFenceSealsBeforePublication: a cut is not to be published before all its
// files are sealed.
func TestFenceSealsBeforePublication(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createTable("t")))
	s.sealing.RLock()
	done := checkpointing(t, s, 1)
	s.mu.Lock()
	_, early := s.readyCut()
	s.mu.Unlock()
	s.sealing.RUnlock()
	if early {
		t.Error("a cut whose file is not sealed may be published")
	}
	must(t, <-done)
	checkHead(t, s)
}

// TestFenceCheckpointPoisoned: a checkpoint that a poison meets has not done what
// it is asked for.
func TestFenceCheckpointPoisoned(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createTable("t")))
	s.sealing.RLock()
	done := checkpointing(t, s, 1)
	s.poison(errFence)
	s.sealing.RUnlock()
	if err := <-done; !errors.Is(err, errFence) {
		t.Errorf("Checkpoint: %v", err)
	}
}

// TestFenceCutsInBetween publishes a cut while the files of the next one cannot
// be sealed yet: it has its own files and no others.
func TestFenceCutsInBetween(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f})
	wait(t, s, update(t, s, createTable("t")))
	cut := s.Head().LSN()
	s.sealing.RLock()
	first := checkpointing(t, s, 1)
	gate := make(chan struct{})
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			<-gate
		}
		return nil
	})
	update(t, s, put("t", 1, 1, "not synced"))
	second := checkpointing(t, s, 2)
	s.sealing.RUnlock()
	if err := <-first; err != nil {
		t.Errorf("the first checkpoint: %v", err)
	}
	if got := LSN(headOf(t, s).Timeline.LSN); got != cut {
		t.Errorf("the head is at %d, the cut was at %d", got, cut)
	}
	close(gate)
	must(t, <-second)
	checkHead(t, s)
}

// TestFencePublishedAtOpen: the open publishes what an earlier process left
// sealed, in the order of the log, when the state is that of a cut, and leaves
// it to the next rotation otherwise.
func TestFencePublishedAtOpen(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		for _, more := range []bool{false, true} {
			var armed atomic.Bool
			o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, Create: true, CatalogSeam: failing("register", &armed)}
			s, err := Open(t.Context(), o)
			must(t, err)
			wait(t, s, update(t, s, createTable("t")))
			wait(t, s, update(t, s, wideCommit(s, "t", 0, "a")))
			armed.Store(true)
			s.sealing.RLock()
			first := checkpointing(t, s, shards)
			wait(t, s, update(t, s, wideCommit(s, "t", 1, "b")))
			second := checkpointing(t, s, 2*shards)
			if more {
				wait(t, s, update(t, s, put("t", inShard(s, "t", 0, 2), 1, "in use")))
			}
			s.sealing.RUnlock()
			if err := errors.Join(<-first, <-second); !errors.Is(err, errFence) {
				t.Errorf("checkpoints without a publication: %v", err)
			}
			must(t, s.Close())
			o.CatalogSeam = nil
			o.Events = func(e Event) {
				if e.Kind == EventBackgroundFailed {
					t.Errorf("more %t: %v", more, e)
				}
			}
			s, err = Open(t.Context(), o)
			must(t, err)
			if revision := headOf(t, s).Timeline.Revision; (revision > 0) == more {
				t.Errorf("more %t: the head has revision %d after the open", more, revision)
			}
			must(t, s.Checkpoint(t.Context(), nil))
			checkHead(t, s)
			checkStore(t, s)
			must(t, s.Close())
		}
	})
}

// TestFenceRetired: after a publication nothing is left to be settled.
func TestFenceRetired(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem()}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	must(t, s.Checkpoint(t.Context(), nil))
	must(t, s.Close())
	cat, err := catalog.Open(t.Context(), catalog.Options{Dir: o.Dir})
	must(t, err)
	if n, err := cat.ResolvePublications(t.Context()); n != 0 || err != nil {
		t.Errorf("%d publications to be settled, %v", n, err)
	}
	must(t, cat.Close(t.Context()))
}
