package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A lost fence shows late or never in a run without a fault. The tests whose
// names begin with Fence each build the one moment in which a fence counts; the
// list of fences (mutations) says which.

var errFence = errors.New("another cause")

// notYet fails when something happens although it must wait.
func notYet(t *testing.T, done chan error, what string) {
	t.Helper()
	select {
	case err := <-done:
		t.Errorf("%s did not wait: %v", what, err)
		done <- err
	case <-time.After(20 * time.Millisecond):
	}
}

// waiting waits for a commit on another goroutine.
func waiting(s *Store, lsn LSN) chan error {
	done := make(chan error, 1)
	go func() { done <- s.WaitDurable(context.Background(), lsn) }()
	return done
}

// wideCommit writes one row in each shard.
func wideCommit(s *Store, name string, k int, text string) func(tx *Tx) error {
	var steps []func(*Tx) error
	for i := range s.shards {
		steps = append(steps, put(name, inShard(s, name, i, k), k, text))
	}
	return all(steps...)
}

// TestFenceRepeat: what a second Prepare encodes does not add up with the first,
// whatever shards they touch.
func TestFenceRepeat(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), Shards: 3})
	wait(t, s, update(t, s, createTable("t")))
	tx, err := s.Begin(t.Context())
	must(t, err)
	mark := tx.Mark()
	must(t, wideCommit(s, "t", 0, "a")(tx))
	must(t, tx.Prepare())
	tx.RollbackTo(mark)
	must(t, put("t", inShard(s, "t", 1, 1), 1, "b")(tx))
	must(t, tx.Prepare())
	must(t, put("t", inShard(s, "t", 2, 1), 1, "c")(tx))
	wait(t, s, tx.Commit())
}

// TestFenceRowInItsShard: a row's frame goes to the log that shardOf names, which
// is on disk, and to no other.
func TestFenceRowInItsShard(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), Shards: 3})
	wait(t, s, update(t, s, createTable("t")))
	for k := range 3 {
		before := tails(s)
		wait(t, s, update(t, s, put("t", inShard(s, "t", k, 0), k, "x")))
		for i, at := range tails(s) {
			if (at > before[i]) != (i == k) {
				t.Errorf("a row of shard %d: the log of shard %d went from %d to %d", k, i, before[i], at)
			}
		}
	}
}

// TestFencePreparedAgain: what is written after a Prepare is in the log, too,
// whether it is prepared again or not.
func TestFencePreparedAgain(t *testing.T) {
	for _, again := range []bool{false, true} {
		for _, before := range []bool{false, true} {
			t.Run(fmt.Sprintf("before %t, again %t", before, again), func(t *testing.T) {
				o := Options{Dir: t.TempDir(), FS: vfs.NewMem()}
				s := openStore(t, o)
				wait(t, s, update(t, s, createTable("t")))
				tx, err := s.Begin(t.Context())
				must(t, err)
				must(t, put("t", 1, 1, "first")(tx))
				if before {
					must(t, tx.Prepare())
				}
				must(t, put("t", 2, 2, "second")(tx))
				if again {
					must(t, tx.Prepare())
				}
				wait(t, s, tx.Commit())
				want := dump(s.Durable())
				must(t, s.Close())
				s, err = Open(t.Context(), o)
				must(t, err)
				if got := dump(s.Durable()); got != want {
					t.Errorf("reopened with\n%s\nwant\n%s", got, want)
				}
				must(t, s.Close())
			})
		}
	}
}

// TestFencePoisonedMeanwhile: a poison from elsewhere while a commit is being
// synced, and while one is being appended.
func TestFencePoisonedMeanwhile(t *testing.T) {
	t.Run("synced", func(t *testing.T) {
		f := vfs.NewFault(vfs.NewMem())
		s := openStore(t, Options{FS: f})
		wait(t, s, update(t, s, createTable("t")))
		gate, entered := make(chan struct{}), make(chan struct{}, 9)
		f.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpSyncData {
				entered <- struct{}{}
				<-gate
			}
			return nil
		})
		lsn := update(t, s, put("t", 1, 1, "x"))
		nudge(s)
		<-entered
		s.poison(errFence)
		s.poison(syscall.EIO)
		close(gate)
		if err := s.WaitDurable(t.Context(), lsn); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, errFence) || errors.Is(err, syscall.EIO) {
			t.Errorf("WaitDurable: %v", err)
		}
		if err := s.Close(); !errors.Is(err, errFence) {
			t.Errorf("Close: %v", err)
		}
		if got := s.Durable().LSN(); got >= lsn {
			t.Errorf("a commit of unknown outcome is visible at %d", got)
		}
	})
	t.Run("appended", func(t *testing.T) {
		f := vfs.NewFault(vfs.NewMem())
		s := openStore(t, Options{FS: f})
		wait(t, s, update(t, s, createTable("t")))
		f.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpWrite && op.Name != lockName {
				s.poison(errFence)
			}
			return nil
		})
		lsn := update(t, s, put("t", 1, 1, "x"))
		if err := s.WaitDurable(t.Context(), lsn); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, errFence) {
			t.Errorf("WaitDurable: %v", err)
		}
		if s.Head().LSN() != s.Durable().LSN() || s.Durable().LSN() >= lsn {
			t.Errorf("head %d, durable %d", s.Head().LSN(), s.Durable().LSN())
		}
	})
}

// TestFenceVolatilePoison: a poison between what a volatile commit may be refused
// for and its end shows none of its rows.
func TestFenceVolatilePoison(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createVolatile("v")))
	tx, err := s.Begin(t.Context())
	must(t, err)
	must(t, put("v", 1, 1, "x")(tx))
	must(t, tx.Prepare())
	s.poison(errFence)
	lsn := tx.commitVolatile()
	tx.end()
	if err := s.WaitDurable(t.Context(), lsn); !errors.Is(err, errFence) {
		t.Errorf("WaitDurable: %v", err)
	}
	if count(s.Durable(), "v") != 0 || count(s.Head(), "v") != 0 {
		t.Error("its rows are seen")
	}
}

// TestFenceEveryShardIsSynced holds back the sync of one shard's file and then
// fails it: the commit waits for it, and its outcome is that sync's.
func TestFenceEveryShardIsSynced(t *testing.T) {
	for k := range 3 {
		t.Run(fmt.Sprint("shard ", k), func(t *testing.T) {
			f := vfs.NewFault(vfs.NewMem())
			s := openStore(t, Options{FS: f, Shards: 3})
			wait(t, s, update(t, s, createTable("t")))
			gate, entered := make(chan struct{}), make(chan struct{}, 9)
			path := s.shards[k].gen.path
			f.SetHook(func(op vfs.Op) error {
				if op.Kind == vfs.OpSyncData && op.Name == path {
					entered <- struct{}{}
					<-gate
					return syscall.EIO
				}
				return nil
			})
			lsn := update(t, s, wideCommit(s, "t", 0, "x"))
			done := waiting(s, lsn)
			select {
			case <-entered:
				if s.synced.Load().lsn >= lsn {
					t.Error("claimed to be synced")
				}
				notYet(t, done, "a commit that is not synced in one shard")
			case err := <-done:
				t.Fatalf("acknowledged without a sync of shard %d: %v", k, err)
			}
			close(gate)
			if err := <-done; !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, syscall.EIO) {
				t.Errorf("a commit whose sync failed in shard %d: %v", k, err)
			}
		})
	}
}

// TestFenceSchemaChangeIsSynced: with sync=normal and off, too, a schema change
// is acknowledged by a sync, which it asks for.
func TestFenceSchemaChangeIsSynced(t *testing.T) {
	relaxed(t, func(t *testing.T, mode SyncMode) {
		f := vfs.NewFault(vfs.NewMem())
		s := openStore(t, Options{FS: f, Sync: mode})
		gate := make(chan struct{})
		f.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpSyncData {
				<-gate
			}
			return nil
		})
		lsn := update(t, s, createTable("t"))
		if s.Acknowledged(lsn) {
			t.Error("a schema change is acknowledged without a sync")
		}
		close(gate)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		must(t, s.WaitDurable(ctx, lsn))
		if s.synced.Load().lsn < lsn {
			t.Errorf("synced is %d", s.synced.Load().lsn)
		}
	})
}

// TestFenceCloseSyncs: what was only written is synced by Close, before it says
// that all is.
func TestFenceCloseSyncs(t *testing.T) {
	relaxed(t, func(t *testing.T, mode SyncMode) {
		m := vfs.NewMem()
		s := openStore(t, Options{FS: m, Sync: mode})
		wait(t, s, update(t, s, createTable("t")))
		quiet(t, s)
		lsn := update(t, s, put("t", 1, 1, "x"))
		must(t, s.Close())
		if got := s.synced.Load().lsn; got != lsn {
			t.Errorf("synced up to %d of %d", got, lsn)
		}
	})
}

// TestFenceProjection: the catalog is told what is synced and nothing else, and
// the committer of a schema change waits until it was told of this change.
func TestFenceProjection(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	var hold chan struct{}
	var fail error
	told := make(chan struct{}, 9)
	o := Options{Dir: t.TempDir(), FS: f, CatalogSeam: &catalog.Seam{Commit: func(name string, commit func() error) error {
		if name != "project-schema" {
			return commit()
		}
		if hold != nil {
			told <- struct{}{}
			<-hold
		}
		if fail != nil {
			return fail
		}
		return commit()
	}}}
	s := openStore(t, o)
	quiet(t, s)
	projected := func() *Schema {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.chores.projected
	}
	// The housekeeper has something to do while a schema change is not synced.
	gate := make(chan struct{})
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			<-gate
		}
		return nil
	})
	before := projected()
	lsn := update(t, s, createTable("a"))
	s.lowOnIDs()
	eventually(t, "the housekeeper", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.chores.refill
	})
	if projected() != before {
		t.Error("the catalog shows a schema change that is not synced")
	}
	close(gate)
	wait(t, s, lsn)
	quiet(t, s)

	// While the catalog is being told of one change, the next is appended.
	hold = make(chan struct{})
	first := update(t, s, createTable("b"))
	done := waiting(s, first)
	<-told
	notYet(t, done, "a schema change that the catalog was not told")
	gate = make(chan struct{})
	second := update(t, s, createTable("c"))
	release := hold
	close(release)
	must(t, <-done)
	if !s.isSchemaChange(second) {
		t.Error("a schema change is let go by the projection of another one")
	}
	hold = nil
	close(gate)
	wait(t, s, second)
	quiet(t, s)

	// What could not be told is told by the next open, which a check compares.
	fail = errFence
	wait(t, s, update(t, s, createTable("d")))
	must(t, s.Close())
}

// TestFencePoisonedChores: housekeeper and sealer of a poisoned store find
// nothing to do, whatever there is.
func TestFencePoisonedChores(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	lsn := update(t, s, createTable("t"))
	wait(t, s, lsn)
	quiet(t, s)
	s.poison(errFence)
	if err := s.Close(); !errors.Is(err, errFence) {
		t.Errorf("Close: %v", err)
	}
	s.chores.projected = nil
	s.chores.sealing = s.gens[:1]
	if s.nextChore() != nil {
		t.Error("a chore")
	}
	if g, c := s.nextSeal(); g != nil || c.lsn != 0 {
		t.Error("a seal or a publication")
	}
}

// TestFenceLostCatalog: a log that can never go on in another file takes no more
// writes at all.
func TestFenceLostCatalog(t *testing.T) {
	armed := false
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 1 << 10, CatalogSeam: &catalog.Seam{Commit: func(name string, commit func() error) error {
		if armed && name == "reserve-generation" {
			return errFence
		}
		return commit()
	}}}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	quiet(t, s)
	armed = true
	// Its sync may come before the poison or behind it.
	_ = s.WaitDurable(t.Context(), update(t, s, put("t", 1, 1, strings.Repeat("x", 2000))))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := s.Begin(ctx); !errors.Is(err, errFence) {
		t.Errorf("Begin without a next file: %v", err)
	}
	eventually(t, "the poison", func() bool { return errors.Is(s.Poisoned(), errFence) })
}
