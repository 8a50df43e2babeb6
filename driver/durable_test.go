package driver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine"
)

// pendingCommit appends a commit whose sync is held back, and returns what its
// statement will return.
func pendingCommit(t *testing.T, db execer, g *gate, ctx context.Context, text string) <-chan error {
	t.Helper()
	g.close()
	t.Cleanup(func() { g.set(false, g.fail) }) // connections that wait can be closed, also after a failure
	syncs := func() int {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.syncs
	}
	before := syncs()
	done := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(ctx, text)
		done <- err
	}()
	for syncs() == before {
		select {
		case err := <-done:
			t.Fatalf("%s ended before its sync: %v", text, err)
		case <-time.After(time.Millisecond):
		}
	}
	return done
}

func stillWaiting(t *testing.T, done <-chan error, what string) {
	t.Helper()
	select {
	case err := <-done:
		t.Fatalf("%s did not wait: %v", what, err)
	case <-time.After(20 * time.Millisecond):
	}
}

// ENG-AT-29: nobody is handed a row of a commit that is not durable: single SELECTs and
// read-only transactions read the durable state at once, a read-write
// transaction starts from the head and waits with its first row.
func TestPendingCommitIsNotSeen(t *testing.T) {
	db, g := gatedDB(t)
	mustExec(t, db, "CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1)")
	a, b, c, d := testConn(t, db), testConn(t, db), testConn(t, db), testConn(t, db)
	first := pendingCommit(t, a, g, t.Context(), "INSERT INTO t VALUES(2)")

	expect(t, b, 1, "SELECT count(*) FROM t")
	expect(t, b, 1, "SELECT max(a) FROM t")

	mustExec(t, b, "BEGIN")
	read := make(chan error, 1)
	go func() {
		var n int
		err := b.QueryRowContext(context.Background(), "SELECT max(a) FROM t").Scan(&n)
		if err == nil && n != 2 {
			err = errors.New("the head was not read")
		}
		read <- err
	}()
	stillWaiting(t, read, "the first row of a transaction")

	// A writer builds on the pending commit; its counts are known at once, and
	// a constraint that fails because of a pending row is held back.
	mustExec(t, c, "BEGIN")
	r, err := c.ExecContext(t.Context(), "UPDATE t SET a=a+10")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := r.RowsAffected(); n != 2 {
		t.Fatalf("%d rows", n)
	}
	mustExec(t, c, "ROLLBACK")
	unique := make(chan error, 1)
	go func() {
		_, err := d.ExecContext(context.Background(), "INSERT INTO t VALUES(2)")
		unique <- err
	}()
	stillWaiting(t, unique, "a constraint error")
	stillWaiting(t, first, "the commit")

	// The lock is free while all these wait.
	mustExec(t, c, "BEGIN IMMEDIATE; ROLLBACK")

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	mustExec(t, c, "BEGIN")
	if err := c.QueryRowContext(ctx, "SELECT a FROM t").Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("waiting for the first row ended with %v", err)
	}
	mustExec(t, c, "ROLLBACK")

	g.open(nil)
	if err := errors.Join(<-first, <-read); err != nil {
		t.Fatal(err)
	}
	if err := <-unique; !errors.Is(err, ErrConstraintUnique) {
		t.Fatal(err)
	}
	mustExec(t, b, "COMMIT")
	expect(t, c, 2, "SELECT count(*) FROM t")
}

// After the append a context cancels nothing; its deadline leaves the outcome
// unknown.
func TestContextAfterAppend(t *testing.T) {
	db, g := gatedDB(t)
	mustExec(t, db, "CREATE TABLE t(a)")
	a := testConn(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	done := pendingCommit(t, a, g, ctx, "INSERT INTO t VALUES(1)")
	cancel()
	stillWaiting(t, done, "a cancelled commit")
	g.open(nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	done = pendingCommit(t, a, g, ctx, "INSERT INTO t VALUES(2)")
	if err := <-done; !errors.Is(err, ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	g.open(nil)
	mustExec(t, a, "INSERT INTO t VALUES(3)")
	expect(t, a, 3, "SELECT count(*) FROM t")

	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	mustExec(t, tx, "INSERT INTO t VALUES(4)")
	g.close()
	go func() {
		time.Sleep(10 * time.Millisecond)
		g.open(nil)
	}()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// A failed sync: the commit's outcome is unknown, whoever builds on it and all
// later writes get the cause, and the durable state can still be read.
func TestPoison(t *testing.T) {
	db, g := gatedDB(t)
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1)")
	a, b, c := testConn(t, db), testConn(t, db), testConn(t, db)
	first := pendingCommit(t, a, g, t.Context(), "INSERT INTO t VALUES(2)")
	mustExec(t, b, "BEGIN")
	read := make(chan error, 1)
	go func() { read <- b.QueryRowContext(context.Background(), "SELECT a FROM t").Err() }()
	stillWaiting(t, read, "the first row")
	mustExec(t, c, "BEGIN; INSERT INTO t VALUES(3)")

	broken := errors.New("the disk is gone")
	g.open(broken)
	if err := <-first; !errors.Is(err, ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	if err := <-read; !errors.Is(err, ErrPoisoned) || !errors.Is(err, broken) || errors.Is(err, ErrOutcomeUnknown) {
		t.Fatal(err)
	}
	for _, text := range []string{"COMMIT", "ROLLBACK"} {
		if _, err := c.ExecContext(t.Context(), text); text == "COMMIT" && !errors.Is(err, ErrPoisoned) && !errors.Is(err, ErrOutcomeUnknown) {
			t.Fatalf("%s: %v", text, err)
		}
	}
	mustExec(t, b, "ROLLBACK")
	for _, text := range []string{"INSERT INTO t VALUES(4)", "CREATE TABLE u(a)", "BEGIN IMMEDIATE"} {
		mustFail(t, b, ErrPoisoned, text)
	}
	expect(t, b, 1, "SELECT count(*) FROM t")
	expect(t, b, 1, "SELECT max(a) FROM t")
	if phase := phaseOf(t, b); phase != idle {
		t.Fatal(phase)
	}
	var e *Error
	if _, err := b.ExecContext(t.Context(), "DELETE FROM t"); !errors.As(err, &e) || !errors.Is(err, engine.ErrPoisoned) {
		t.Fatal(err)
	}
}
