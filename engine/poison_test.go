package engine

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// TestFailedSync (ENG-AT-30) follows everybody who is affected by a failed sync: those who
// wait for it, the holder of the write lock, who waits for the lock, who comes
// later, and who reads.
func TestFailedSync(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	o := Options{Dir: t.TempDir(), FS: f}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	wait(t, s, update(t, s, put("t", 1, 1, "acknowledged")))
	durable := dump(s.Durable())

	gate := make(chan struct{})
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			<-gate
			return syscall.EIO
		}
		return nil
	})
	pending := update(t, s, put("t", 2, 2, "pending"))
	built := update(t, s, put("t", 3, 3, "built on it"))
	holder, err := s.Begin(t.Context())
	must(t, err)
	must(t, put("t", 4, 4, "holder")(holder))
	waiting := make(chan error)
	go func() {
		_, err := s.Begin(context.Background())
		waiting <- err
	}()
	close(gate)
	for _, lsn := range []LSN{pending, built} {
		if err := s.WaitDurable(t.Context(), lsn); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, ErrPoisoned) || !errors.Is(err, syscall.EIO) {
			t.Errorf("waiter of %d: %v", lsn, err)
		}
	}
	if err := <-waiting; !errors.Is(err, ErrPoisoned) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("waiter for the lock: %v", err)
	}
	if err := holder.Prepare(); !errors.Is(err, ErrPoisoned) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("Prepare of the holder: %v", err)
	}
	lsn := holder.Commit()
	if err := s.WaitDurable(t.Context(), lsn); !errors.Is(err, ErrPoisoned) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("commit of the holder, of which nothing was written: %v", err)
	}
	if _, err := s.TryBegin(); !errors.Is(err, ErrPoisoned) || !errors.Is(err, syscall.EIO) {
		t.Errorf("a later writer: %v", err)
	}
	if got := dump(s.Durable()); got != durable {
		t.Errorf("readers see\n%s\nwant\n%s", got, durable)
	}
	if s.Head().LSN() != s.Durable().LSN() {
		t.Errorf("head %d, durable %d", s.Head().LSN(), s.Durable().LSN())
	}
	before := f.Count(vfs.SyncOps | vfs.OpWrite)
	if err := s.Close(); !errors.Is(err, ErrPoisoned) {
		t.Errorf("Close: %v", err)
	}
	if n := f.Count(vfs.SyncOps | vfs.OpWrite); n != before {
		t.Errorf("Close of a poisoned store wrote or synced %d times", n-before)
	}

	// The next process finds the pending commits in the page cache. It may
	// keep them, but then it must write them again: the failed sync has made
	// the system forget that they are not on the disk.
	f.Clear()
	again, err := Open(t.Context(), o)
	must(t, err)
	if got := again.Durable().LSN(); got < 2 {
		t.Fatalf("reopened at %d", got)
	}
	kept := dump(again.Durable())
	lost := m.CrashImages(m.Ops(), vfs.CrashOptions{Mixtures: -1})
	must(t, again.Close())
	for name, img := range lost {
		if name != "lost" && name != "synced" {
			continue
		}
		img := img
		o := o
		o.FS = img
		third, err := Open(t.Context(), o)
		must(t, err)
		if got := dump(third.Durable()); got != kept {
			t.Errorf("a reader saw\n%s\nand after a power loss there is\n%s", kept, got)
		}
		must(t, third.Close())
		break
	}
}

// TestCloseMarkNotOnDisk: the sync of a close mark failed, so that it is in the
// page cache and not on the disk. The next process appends behind it, and then
// the power goes.
func TestCloseMarkNotOnDisk(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	o := Options{Dir: t.TempDir(), FS: f}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	f.Fail(vfs.Rule{Kinds: vfs.OpSyncData})
	if err := s.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close: %v", err)
	}
	f.Clear()
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, put("t", 1, 1, "behind the mark")))
	n := m.Ops()
	must(t, s.Close())
	images := 0
	for name, img := range m.CrashImages(n, vfs.CrashOptions{Block: 8}) {
		o := o
		o.FS = img
		again, err := Open(t.Context(), o)
		if err != nil {
			t.Fatalf("image %q: %v", name, err)
		}
		if got := text(t, again.Durable(), "t", 1); got != "behind the mark" {
			t.Errorf("image %q: read %q", name, got)
		}
		must(t, again.Close())
		images++
	}
	t.Logf("%d images", images)
}

func TestFailedAppend(t *testing.T) {
	for _, short := range []int{0, 20} {
		t.Run(fmt.Sprintf("%d bytes written", short), func(t *testing.T) {
			f := vfs.NewFault(vfs.NewMem())
			s := openStore(t, Options{FS: f})
			wait(t, s, update(t, s, createTable("t")))
			f.Fail(vfs.Rule{Kinds: vfs.OpWrite, Match: func(op vfs.Op) bool { return op.Name != lockName }, N: 1, Short: short})
			lsn := update(t, s, put("t", 1, 1, "a"))
			if err := s.WaitDurable(t.Context(), lsn); !errors.Is(err, ErrOutcomeUnknown) {
				t.Errorf("WaitDurable after a failed append: %v", err)
			}
			if err := s.Poisoned(); !errors.Is(err, syscall.EIO) {
				t.Errorf("Poisoned: %v", err)
			}
			if _, err := s.Begin(t.Context()); !errors.Is(err, ErrPoisoned) {
				t.Errorf("Begin: %v", err)
			}
		})
	}
}

// TestCommitThatCannotBePrepared poisons: there is nobody to refuse to.
func TestCommitThatCannotBePrepared(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f})
	wait(t, s, update(t, s, createTable("t")))
	f.SetSpace(0)
	tx, err := s.Begin(t.Context())
	must(t, err)
	must(t, put("t", 1, 1, string(make([]byte, 1<<20)))(tx))
	lsn := tx.Commit()
	if err := s.WaitDurable(t.Context(), lsn); !errors.Is(err, ErrPoisoned) || !errors.Is(err, ErrFull) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("WaitDurable: %v", err)
	}
}

// TestFull fails one transaction for lack of space and nothing else.
func TestFull(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	s := openStore(t, Options{FS: f})
	wait(t, s, update(t, s, createTable("t")))
	path := s.gens[0].path
	before := readFile(t, m, path)
	f.SetSpace(0)
	tx, err := s.Begin(t.Context())
	must(t, err)
	mark := tx.Mark()
	must(t, put("t", 1, 1, string(make([]byte, 1<<20)))(tx))
	for range 2 {
		if err := tx.Prepare(); !errors.Is(err, ErrFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Prepare without space: %v", err)
		}
	}
	if s.Poisoned() != nil {
		t.Fatalf("lack of space poisons: %v", s.Poisoned())
	}
	if string(readFile(t, m, path)) != string(before) {
		t.Error("the refused transaction changed the log")
	}
	// The same transaction may go on with less, in the space there is.
	tx.RollbackTo(mark)
	must(t, put("t", 2, 2, "small")(tx))
	must(t, tx.Prepare())
	wait(t, s, tx.Commit())
	if _, err := tryUpdate(s, put("t", 3, 3, string(make([]byte, 1<<20)))); !errors.Is(err, ErrFull) {
		t.Errorf("second large transaction: %v", err)
	}
	f.SetSpace(-1)
	wait(t, s, update(t, s, put("t", 3, 3, string(make([]byte, 1<<20)))))
	if n := count(s.Durable(), "t"); n != 2 {
		t.Errorf("%d rows", n)
	}
}

// TestFullAtRotation: a next file that cannot be made refuses transactions and
// does not poison; with space the log goes on.
func TestFullAtRotation(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f, GenerationSize: 64 << 10})
	wait(t, s, update(t, s, createTable("t")))
	f.Fail(vfs.Rule{Kinds: vfs.OpCreate, Err: syscall.ENOSPC})
	wait(t, s, update(t, s, put("t", 1, 1, string(make([]byte, 80<<10)))))
	for range 2 {
		if _, err := tryUpdate(s, put("t", 2, 2, "b")); !errors.Is(err, ErrFull) {
			t.Errorf("transaction without a next file: %v", err)
		}
	}
	f.Clear()
	wait(t, s, update(t, s, put("t", 2, 2, "b")))
	if s.Metrics().Rotations != 1 {
		t.Errorf("%v", s.Metrics())
	}
}
