package driver

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testDB opens a store in a fresh directory.
func testDB(t *testing.T, query string) *sql.DB {
	t.Helper()
	db, err := sql.Open("tidemark", filepath.Join(t.TempDir(), "store")+query)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

type execer interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

func mustExec(t testing.TB, db execer, text string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func mustFail(t *testing.T, db execer, want error, text string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text, args...); !errors.Is(err, want) {
		t.Fatalf("%s: error %v, want %v", text, err, want)
	}
}

type queryer interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

func one[T any](t *testing.T, db queryer, text string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRowContext(t.Context(), text, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func expect[T comparable](t *testing.T, db queryer, want T, text string, args ...any) {
	t.Helper()
	if got := one[T](t, db, text, args...); got != want {
		t.Fatalf("%s: %v, want %v", text, got, want)
	}
}

func testConn(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
			t.Error(err)
		}
	})
	return c
}

func phaseOf(t *testing.T, c *sql.Conn) (p phase) {
	t.Helper()
	if err := c.Raw(func(dc any) error { p = dc.(*conn).tx.phase; return nil }); err != nil {
		t.Fatal(err)
	}
	return p
}

// A deferred transaction takes no lock until it writes; then others wait no
// longer than their busy timeout.
func TestWriteLock(t *testing.T) {
	db := testDB(t, "?busy_timeout=30ms")
	mustExec(t, db, "CREATE TABLE t(a)")
	a, b := testConn(t, db), testConn(t, db)
	for _, begin := range []string{"BEGIN", "SAVEPOINT x"} {
		mustExec(t, a, begin)
		mustExec(t, b, "INSERT INTO t VALUES(1)") // a holds nothing yet
		mustExec(t, a, "INSERT INTO t VALUES(2)")
		mustFail(t, b, ErrBusy, "INSERT INTO t VALUES(3)")
		mustFail(t, b, ErrBusy, "CREATE TABLE u(a)")
		mustFail(t, b, ErrBusy, "BEGIN IMMEDIATE")
		if p := phaseOf(t, b); p != idle {
			t.Fatalf("a refused BEGIN left phase %v", p)
		}
		mustExec(t, a, "ROLLBACK")
		mustExec(t, b, "DELETE FROM t")
	}
	for _, begin := range []string{"BEGIN IMMEDIATE", "BEGIN EXCLUSIVE TRANSACTION"} {
		mustExec(t, a, begin)
		mustFail(t, b, ErrBusy, "INSERT INTO t VALUES(3)")
		expect(t, b, 0, "SELECT count(*) FROM t")
		mustExec(t, a, "COMMIT")
	}
	mustExec(t, b, "PRAGMA busy_timeout=60000")
	mustExec(t, a, "BEGIN IMMEDIATE")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.ExecContext(ctx, "INSERT INTO t VALUES(1)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("waiting for the lock ended with %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := b.ExecContext(context.Background(), "INSERT INTO t VALUES(9)")
		done <- err
	}()
	mustExec(t, a, "COMMIT")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestTxlockImmediate(t *testing.T) {
	db := testDB(t, "?busy_timeout=10ms&txlock=immediate")
	mustExec(t, db, "CREATE TABLE t(a)")
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	mustFail(t, db, ErrBusy, "INSERT INTO t VALUES(1)")
	if _, err := db.BeginTx(t.Context(), nil); !errors.Is(err, ErrBusy) {
		t.Fatalf("second transaction: %v", err)
	}
	ro, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tx.Commit(), ro.Commit()); err != nil {
		t.Fatal(err)
	}
	c := testConn(t, db)
	mustExec(t, c, "BEGIN DEFERRED") // says so itself
	mustExec(t, db, "INSERT INTO t VALUES(1)")
	mustExec(t, c, "COMMIT")
}

// A transaction that has read cannot write once somebody else has committed.
func TestBusySnapshot(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a)")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	expect(t, tx, 0, "SELECT count(*) FROM t")
	mustExec(t, tx, "INSERT INTO t VALUES(1)") // nobody came between
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if tx, err = db.Begin(); err != nil {
		t.Fatal(err)
	}
	expect(t, tx, 1, "SELECT a FROM t")
	mustExec(t, db, "INSERT INTO t VALUES(2)")
	expect(t, tx, 1, "SELECT count(a) FROM t") // its snapshot stays
	mustFail(t, tx, ErrBusySnapshot, "INSERT INTO t VALUES(3)")
	mustFail(t, tx, ErrBusySnapshot, "CREATE TABLE u(a)")
	mustFail(t, tx, ErrBusy, "DELETE FROM t")
	expect(t, tx, 1, "SELECT count(*) FROM t")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	expect(t, db, 2, "SELECT count(*) FROM t")
}

// A statement that is refused before it runs holds no lock and fixes no snapshot.
func TestRefusedStatementHoldsNothing(t *testing.T) {
	db := testDB(t, "?busy_timeout=0")
	mustExec(t, db, "CREATE TABLE t(a)")
	a, b := testConn(t, db), testConn(t, db)
	rows := 0
	for _, begin := range []string{"BEGIN", "SAVEPOINT x; SAVEPOINT y"} {
		for _, text := range []string{
			"INSERT INTO t SELECT a FROM nope", "INSERT INTO t(nope) VALUES(1)", "UPDATE t SET nope = 1", "DELETE FROM t WHERE nope",
			"CREATE TABLE t(a)", "CREATE INDEX i ON t(nope)", "DROP TABLE nope", "CREATE TABLE u AS SELECT nope FROM t", "SELECT nope FROM t",
		} {
			mustExec(t, a, begin)
			mustFail(t, a, ErrGeneric, text)
			mustExec(t, b, "INSERT INTO t VALUES(1)")
			rows++
			expect(t, a, rows, "SELECT count(a) FROM t") // the snapshot is of now
			mustFail(t, a, ErrGeneric, text)
			mustExec(t, b, "UPDATE t SET a = a + 1")
			rows++
			mustExec(t, b, "INSERT INTO t VALUES(1)")
			expect(t, a, rows-1, "SELECT count(a) FROM t")
			mustFail(t, a, ErrBusySnapshot, "DELETE FROM t")
			mustExec(t, a, "ROLLBACK")

			mustExec(t, a, begin) // one that wrote before keeps what it wrote
			mustExec(t, a, "INSERT INTO t VALUES(1)")
			mustFail(t, a, ErrGeneric, text)
			mustFail(t, b, ErrBusy, "DELETE FROM t")
			mustExec(t, a, "COMMIT")
			rows++
			expect(t, b, rows, "SELECT count(a) FROM t")
		}
	}
}

func TestReadOnlyTx(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1)")
	for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelSerializable, sql.LevelSnapshot} {
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true, Isolation: level})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			"INSERT INTO t VALUES(2)", "UPDATE t SET a=2", "DELETE FROM t", "CREATE TABLE u(a)", "DROP TABLE t",
			"CREATE INDEX i ON t(a)", "CREATE VIEW v AS SELECT 1", "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x",
			"ANALYZE", "REINDEX t",
		} {
			mustFail(t, tx, ErrReadOnly, text)
		}
		expect(t, tx, 1, "SELECT a FROM t")
		mustExec(t, db, "UPDATE t SET a=a+1")
		expect(t, tx, 1, "SELECT a FROM t")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "UPDATE t SET a=1")
	}
	for _, opts := range []sql.TxOptions{
		{Isolation: sql.LevelReadUncommitted}, {Isolation: sql.LevelReadCommitted}, {Isolation: sql.LevelRepeatableRead},
		{Isolation: sql.LevelSnapshot}, {Isolation: sql.LevelLinearizable}, {Isolation: sql.LevelReadCommitted, ReadOnly: true},
	} {
		if _, err := db.BeginTx(t.Context(), &opts); err == nil || !strings.Contains(err.Error(), opts.Isolation.String()) {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// A transaction that SQLite ends by itself refuses everything until it is rolled
// back: else the rest of it would be committed statement by statement. One begun
// by text ends where its text asked for it, as in SQLite.
func TestBrokenTransaction(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a UNIQUE); CREATE TABLE r(a UNIQUE ON CONFLICT ROLLBACK); INSERT INTO t VALUES(1); INSERT INTO r VALUES(1)")
	c := testConn(t, db)
	for _, text := range []string{"INSERT OR ROLLBACK INTO t VALUES(1)", "INSERT INTO r VALUES(1)"} {
		mustExec(t, c, "BEGIN; INSERT INTO t VALUES(2)")
		mustFail(t, c, ErrConstraintUnique, text)
		if p := phaseOf(t, c); p != idle {
			t.Fatalf("%s: phase %v", text, p)
		}
		mustExec(t, db, "INSERT INTO t VALUES(4); DELETE FROM t WHERE a=4") // the lock is free
		mustFail(t, c, ErrConstraint, text)                                 // in autocommit there is nothing to end
		expect(t, c, "1", "SELECT group_concat(a) FROM t")

		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, tx, "CREATE TABLE u(a); INSERT INTO u VALUES(1); INSERT INTO t VALUES(2)")
		mustFail(t, tx, ErrConstraint, text)
		for _, text := range []string{"INSERT INTO t VALUES(3)", "SELECT 1", "CREATE TABLE w(a)", "COMMIT", "BEGIN", "SAVEPOINT x", "SELECT count(*) FROM t"} {
			mustFail(t, tx, errAbortRollback, text)
		}
		mustExec(t, db, "INSERT INTO t VALUES(4); DELETE FROM t WHERE a=4")
		if err := tx.Commit(); !errors.Is(err, errAbortRollback) {
			t.Fatalf("commit: %v", err)
		}
		mustFail(t, db, ErrGeneric, "INSERT INTO u VALUES(3)")
		expect(t, db, "1", "SELECT group_concat(a) FROM t")
	}
}

// What a borrower left open is rolled back when the connection is put back, and
// what it set is undone.
func TestResetSession(t *testing.T) {
	db := testDB(t, "?busy_timeout=100ms")
	db.SetMaxOpenConns(1)
	mustExec(t, db, "CREATE TABLE t(a)")
	mustExec(t, db, "BEGIN; INSERT INTO t VALUES(1); PRAGMA busy_timeout=1; PRAGMA query_only=1")
	expect(t, db, 0, "SELECT count(*) FROM t")
	mustExec(t, db, "SAVEPOINT x")
	expect(t, db, 100, "PRAGMA busy_timeout")
	mustFail(t, db, ErrGeneric, "RELEASE x")
	mustExec(t, db, "INSERT INTO t VALUES(2); PRAGMA query_only=1")
	c := testConn(t, db)
	mustExec(t, c, "PRAGMA query_only=1")
	mustFail(t, c, ErrReadOnly, "INSERT INTO t VALUES(3)")
	for _, text := range []string{"CREATE TABLE u(a)", "VACUUM", "ANALYZE", "REINDEX"} {
		mustFail(t, c, ErrReadOnly, text)
	}
	for _, text := range []string{"ANALYZE nope", "REINDEX nope", "BEGIN; VACUUM"} { // that comes first, in SQLite, too
		mustFail(t, c, ErrGeneric, text)
	}
	mustExec(t, c, "ROLLBACK; PRAGMA query_only=0; VACUUM; ANALYZE; REINDEX; INSERT INTO t VALUES(3)")

	db.SetMaxOpenConns(2)
	mustExec(t, db, "BEGIN IMMEDIATE; INSERT INTO t VALUES(4)") // back in the pool
	mustExec(t, c, "INSERT INTO t VALUES(5)")
	expect(t, c, "2,3,5", "SELECT group_concat(a) FROM t")
}
