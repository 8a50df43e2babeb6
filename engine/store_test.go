package engine

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

func TestStoreRoundTrip(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"disk": nil, "memory": vfs.NewMem()} {
		t.Run(name, func(t *testing.T) {
			o := Options{Dir: t.TempDir(), FS: fs}
			s := openStore(t, o)
			wait(t, s, update(t, s, createTable("t")))
			wait(t, s, update(t, s, all(put("t", 1, 1, "a"), put("t", 2, 2, "b"), put("t", 3, 3, "c"))))
			wait(t, s, update(t, s, all(put("t", 1, 1, "A"), remove("t", 3))))
			want := dump(s.Durable())
			checkStore(t, s)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatalf("second close: %v", err)
			}
			o.Create = false
			again, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if got := dump(again.Durable()); got != want {
				t.Errorf("after reopen:\n%s\nbefore:\n%s", got, want)
			}
			if again.Durable().LSN() != 3 || again.Head().LSN() != 3 {
				t.Errorf("at %d and %d", again.Durable().LSN(), again.Head().LSN())
			}
			if err := again.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestVisibleOnlyWhenDurable(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f})
	wait(t, s, update(t, s, createTable("t")))
	gate := make(chan struct{})
	entered := make(chan struct{}, 8)
	f.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			entered <- struct{}{}
			<-gate
		}
		return nil
	})
	first := update(t, s, put("t", 1, 1, "a"))
	nudge(s)
	<-entered
	if n := count(s.Durable(), "t"); n != 0 {
		t.Errorf("%d rows are visible before the sync", n)
	}
	// The next writer builds on the pending commit, without waiting for it.
	second := update(t, s, func(tx *Tx) error {
		if tx.Base() != first {
			t.Errorf("base %d, pending commit is %d", tx.Base(), first)
		}
		if n := tx.Len(tx.Schema().Lookup("t").Table.ID); n != 1 {
			t.Errorf("the writer sees %d rows", n)
		}
		return put("t", 2, 2, "b")(tx)
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WaitDurable(ctx, second); !errors.Is(err, ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled wait: %v", err)
	}
	if s.Durable().LSN() != 1 || s.Head().LSN() != second {
		t.Errorf("durable %d, head %d", s.Durable().LSN(), s.Head().LSN())
	}
	close(gate)
	wait(t, s, second)
	if n := count(s.Durable(), "t"); n != 2 {
		t.Errorf("%d rows after the sync", n)
	}
	if err := s.WaitDurable(t.Context(), 99); err == nil {
		t.Error("waiting for a commit that does not exist succeeds")
	}
}

func TestWriteLock(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createTable("t")))
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.TryBegin(); !errors.Is(err, ErrBusy) {
		t.Errorf("TryBegin beside a transaction: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Begin with a deadline: %v", err)
	}
	if err := s.Close(); !errors.Is(err, ErrBusy) {
		t.Errorf("Close beside a transaction: %v", err)
	}
	waiting := make(chan error)
	go func() {
		next, err := s.Begin(context.Background())
		if err == nil {
			next.Rollback()
		}
		waiting <- err
	}()
	if lsn := tx.Commit(); lsn != 0 {
		t.Errorf("an empty transaction got LSN %d", lsn)
	}
	if err := <-waiting; err != nil {
		t.Errorf("the waiter got %v", err)
	}
	tx.Rollback() // after the end: nothing happens
	if err := tx.Prepare(); !errors.Is(err, ErrTxDone) {
		t.Errorf("Prepare after the end: %v", err)
	}
	if tx, err = s.TryBegin(); err != nil {
		t.Fatal(err)
	}
	tx.Rollback()
}

func TestBeginAfterClose(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Begin: %v", err)
	}
	if _, err := s.TryBegin(); !errors.Is(err, ErrClosed) {
		t.Errorf("TryBegin: %v", err)
	}
	if err := s.Check(t.Context(), func(Finding) {}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Check: %v", err)
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	o := Options{Dir: t.TempDir()}
	openStore(t, o)
	if _, err := Open(t.Context(), o); !errors.Is(err, ErrLocked) {
		t.Errorf("second open: %v", err)
	}
}

func TestOpenRefusals(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(t.Context(), Options{Dir: dir}); !errors.Is(err, ErrNotStore) {
		t.Errorf("open of an empty directory: %v", err)
	}
	if names, err := vfs.OS(dir).List("."); err != nil || len(names) > 0 {
		t.Errorf("the refused open left %v, %v", names, err)
	}
	if _, err := Open(t.Context(), Options{Dir: dir + "/a/b", Create: true}); err == nil {
		t.Error("a missing parent was made")
	}
	for _, o := range []Options{{}, {Dir: dir, Shards: MaxShards + 1}, {Dir: dir, Shards: -1}, {Dir: dir, GenerationSize: 1}} {
		if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "Options.") {
			t.Errorf("%v: %v", o, err)
		}
	}
}

func TestPrepareIsRepeatable(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, createTable("t")))
	tx, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	must(t, put("t", 1, 1, "a")(tx))
	must(t, tx.Prepare())
	must(t, tx.Prepare())
	mark := tx.Mark()
	must(t, put("t", 2, 2, strings.Repeat("b", 5000))(tx))
	must(t, tx.Prepare())
	tx.RollbackTo(mark)
	must(t, put("t", 3, 3, "c")(tx))
	// Commit prepares what was written since.
	lsn := tx.Commit()
	wait(t, s, lsn)
	if got := count(s.Durable(), "t"); got != 2 {
		t.Errorf("%d rows", got)
	}
}

func TestLockContents(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m})
	wait(t, s, update(t, s, createTable("t")))
	must(t, s.Close())
	got := string(readFile(t, m, lockName))
	if !strings.HasPrefix(got, "pid ") || !strings.Contains(got, "\nlsn                    1\nsum ") {
		t.Errorf("LOCK holds %q", got)
	}
	if told, whole := parseLock([]byte(got)); !whole || !maps.Equal(told, map[string]LSN{"main": 1}) {
		t.Errorf("LOCK tells %v, %v", told, whole)
	}
	long := string(lockContents(1<<20, map[string]LSN{"main": 1 << 40, "a \"b\"\nlsn 7": 3, "c": 4}))
	if told, whole := parseLock([]byte(long)); !whole || !maps.Equal(told, map[string]LSN{"main": 1 << 40, "a \"b\"\nlsn 7": 3, "c": 4}) {
		t.Errorf("%q tells %v, %v", long, told, whole)
	}
	for at := range got { // of two contents, or cut
		for _, torn := range []string{got[:at], long[:at] + got[at:], got[:at] + long[at:]} {
			if told, whole := parseLock([]byte(torn)); whole && torn != "" && torn != got && torn != long {
				t.Errorf("%q tells %v", torn, told)
			}
		}
	}
}

func TestCloseMarkOnlyOnce(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	must(t, s.Close())
	size := s.gens[0].tail
	for range 3 {
		again, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		must(t, again.Close())
		if again.gens[0].tail != size {
			t.Errorf("an open without a commit left %d bytes, %d before", again.gens[0].tail, size)
		}
	}
}

// TestCloseBesideCheckpoint: a checkpoint has the write lock for moments, in
// which a Close is not refused.
func TestCloseBesideCheckpoint(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	if !s.wl.tryAcquire() { // as a checkpoint does
		t.Fatal("the lock is taken")
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	time.Sleep(10 * time.Millisecond)
	s.wl.release()
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
}
