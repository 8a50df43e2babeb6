package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
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

func mustExec(t *testing.T, db execer, text string, args ...any) {
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

// A context ends a running statement, and with a write the transaction; the
// connection stays good.
func TestInterrupt(t *testing.T) {
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) "
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a)")
	c := testConn(t, db)
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	if err := c.QueryRowContext(soon(), endless+"SELECT count(*) FROM n").Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if _, err := c.ExecContext(soon(), endless+"INSERT INTO t SELECT i FROM n"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	expect(t, c, 0, "SELECT count(*) FROM t")
	rows, err := c.QueryContext(soon(), endless+"SELECT i FROM n")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	if err := rows.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	mustExec(t, c, "BEGIN; INSERT INTO t VALUES(1)")
	if _, err := c.ExecContext(soon(), endless+"INSERT INTO t SELECT i FROM n"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	mustFail(t, c, errAbortRollback, "INSERT INTO t VALUES(2)")
	mustExec(t, c, "ROLLBACK; INSERT INTO t VALUES(3)")
	expect(t, c, 1, "SELECT count(*) FROM t")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.ExecContext(done, "INSERT INTO t VALUES(4)"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	expect(t, c, 3, "SELECT a FROM t")
}

// The context of one statement ends that one alone.
func TestInterruptSparesOthers(t *testing.T) {
	db := testDB(t, "")
	c := testConn(t, db)
	const text = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 50) SELECT i FROM n"
	other, err := c.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for other.Next() {
		ctx, cancel := context.WithCancel(t.Context())
		rows, err := c.QueryContext(ctx, text)
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		cancel()
		for rows.Next() {
		}
		if err := rows.Err(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		expect(t, c, 50, "SELECT count(*) FROM ("+text+")")
		rows.Close()
	}
	if err := other.Err(); err != nil {
		t.Fatal(err)
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
	mustFail(t, c, ErrReadOnly, "CREATE TABLE u(a)")
	mustExec(t, c, "PRAGMA query_only=0; INSERT INTO t VALUES(3)")

	db.SetMaxOpenConns(2)
	mustExec(t, db, "BEGIN IMMEDIATE; INSERT INTO t VALUES(4)") // back in the pool
	mustExec(t, c, "INSERT INTO t VALUES(5)")
	expect(t, c, "2,3,5", "SELECT group_concat(a) FROM t")
}

// The catalog can be read by bare names that nobody else uses, and not written.
func TestCatalogIsReadable(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a)")
	if n := one[int](t, db, "SELECT count(*) FROM live_object_roots"); n == 0 {
		t.Error("no live object roots")
	}
	expect(t, db, "t", "SELECT name FROM catalog.tables WHERE name='t'")
	mustFail(t, db, ErrReadOnly, "DELETE FROM catalog.objects")
	mustFail(t, db, ErrGeneric, "DELETE FROM objects")
	mustExec(t, db, "CREATE TABLE objects(mine); INSERT INTO objects VALUES('x')")
	expect(t, db, "x", "SELECT mine FROM objects")
	mustExec(t, db, "DROP TABLE objects")
	if n := one[int](t, db, "SELECT count(*) FROM objects"); n == 0 {
		t.Error("the catalog's table is hidden")
	}
}

// Prepared statements see the tables of now, whoever changed them.
func TestPreparedAcrossDDL(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a DEFAULT 'old', b)")
	c, d := testConn(t, db), testConn(t, db)
	sel, err := c.PrepareContext(t.Context(), "SELECT * FROM t WHERE b=?")
	if err != nil {
		t.Fatal(err)
	}
	defer sel.Close()
	ins, err := c.PrepareContext(t.Context(), "INSERT INTO t(b) VALUES(?)")
	if err != nil {
		t.Fatal(err)
	}
	defer ins.Close()
	get := func(arg any) []any {
		t.Helper()
		rows, err := sel.QueryContext(t.Context(), arg)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		cols, err := rows.Columns()
		if err != nil || !rows.Next() {
			t.Fatal("no row", err, rows.Err())
		}
		vals, ptrs := make([]any, len(cols)), make([]any, len(cols))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		return vals
	}
	put := func(arg any) {
		t.Helper()
		if _, err := ins.ExecContext(t.Context(), arg); err != nil {
			t.Fatal(err)
		}
	}
	put(1)
	if v := get(1); v[0] != "old" || len(v) != 2 {
		t.Fatal(v)
	}
	mustExec(t, d, "CREATE INDEX i ON t(b); CREATE TABLE other(x)")
	put(2)
	if v := get(2); v[0] != "old" {
		t.Fatal(v)
	}
	mustExec(t, d, "DROP TABLE t; CREATE TABLE t(a DEFAULT 'new', b, c DEFAULT 7)")
	put(3)
	if v := get(3); len(v) != 3 || v[0] != "new" || v[2] != int64(7) {
		t.Fatal(v)
	}
	mustExec(t, d, "BEGIN; DROP TABLE t; CREATE TABLE t(z); ROLLBACK")
	put(4)
	if v := get(4); len(v) != 3 {
		t.Fatal(v)
	}
	mustExec(t, d, "DROP TABLE t")
	if _, err := ins.ExecContext(t.Context(), 5); err == nil || !strings.Contains(err.Error(), "no such table: t") {
		t.Fatal(err)
	}
	mustExec(t, d, "CREATE TABLE t(b)")
	put(6)
	if v := get(6); len(v) != 1 {
		t.Fatal(v)
	}
}

// Rows that are open keep what they see, and keep their table from being
// changed by their own connection only.
func TestOpenRows(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a); CREATE TABLE u(a); INSERT INTO t VALUES(1),(2),(3)")
	c := testConn(t, db)
	rows, err := c.QueryContext(t.Context(), "SELECT a FROM t")
	if err != nil {
		t.Fatal(err)
	}
	rows.Next()
	mustFail(t, c, ErrTableBusy, "DROP TABLE t")
	mustFail(t, c, ErrTableBusy, "CREATE INDEX i ON t(a)")
	mustExec(t, c, "CREATE TABLE w(a)")
	mustExec(t, c, "INSERT INTO t VALUES(4)")
	expect(t, c, 4, "SELECT count(*) FROM t")
	expect(t, c, 4, "SELECT count(a) FROM t")
	mustExec(t, c, "BEGIN; INSERT INTO t VALUES(5)")
	mustExec(t, c, "ROLLBACK")
	n := 1
	for rows.Next() {
		n++
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || n != 3 {
		t.Fatalf("%d rows, %v", n, err)
	}
	if rows, err = c.QueryContext(t.Context(), "SELECT a FROM t"); err != nil {
		t.Fatal(err)
	}
	rows.Next()
	mustExec(t, db, "CREATE INDEX i ON t(a); DROP TABLE u; INSERT INTO t VALUES(9)") // another connection
	for n = 1; rows.Next(); n++ {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || n != 4 {
		t.Fatalf("%d rows, %v", n, err)
	}
	expect(t, c, 5, "SELECT count(*) FROM t")
	mustExec(t, c, "DROP TABLE t")
}

// The same prepared statement may be stepped twice at once.
func TestStatementInUse(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1),(2)")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	st, err := tx.Prepare("SELECT a FROM t ORDER BY a")
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []func() (*sql.Rows, error){
		func() (*sql.Rows, error) { return st.Query() },
		func() (*sql.Rows, error) { return tx.Query("SELECT a FROM t ORDER BY a") },
	} {
		outer, err := query()
		if err != nil {
			t.Fatal(err)
		}
		pairs := 0
		for outer.Next() {
			inner, err := query()
			if err != nil {
				t.Fatal(err)
			}
			for inner.Next() {
				pairs++
			}
			if err := errors.Join(inner.Err(), inner.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(outer.Err(), outer.Close()); err != nil || pairs != 4 {
			t.Fatalf("%d pairs, %v", pairs, err)
		}
	}
}

// Numbers of parameters run through a text; names mean the same everywhere.
func TestParameters(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a, b)")
	mustExec(t, db, "INSERT INTO t VALUES(?,?); INSERT INTO t VALUES(?,?)", 1, 2, 3, 4)
	mustExec(t, db, "INSERT INTO t VALUES(?2,?1); INSERT INTO t VALUES(?1,?)", 5, 6, 7)
	mustExec(t, db, "INSERT INTO t VALUES(:x,@y); INSERT INTO t VALUES($y,:x)", sql.Named("x", 8), sql.Named("y", 9))
	mustExec(t, db, "INSERT INTO t VALUES(:x,?)", 10, 11)
	expect(t, db, "1 2,3 4,6 5,5 7,8 9,9 8,10 11", "SELECT group_concat(a||' '||b) FROM t")
	expect(t, db, 3, "DELETE FROM t; INSERT INTO t VALUES(?,?); SELECT a+b+? FROM t", 1, 2, 0)
	for _, c := range []struct {
		text string
		args []any
	}{
		{"INSERT INTO t VALUES(?,?)", []any{1}},
		{"INSERT INTO t VALUES(?,?)", []any{1, 2, 3}},
		{"INSERT INTO t VALUES(1,2)", []any{1}},
		{"INSERT INTO t VALUES(:x,:y)", []any{sql.Named("x", 1)}},
		{"INSERT INTO t VALUES(?,?); INSERT INTO t VALUES(?,?)", []any{1, 2}},
	} {
		mustFail(t, db, ErrRange, c.text, c.args...)
	}
	expect(t, db, 1, "SELECT count(*) FROM t")
	st, err := db.Prepare("SELECT ?1 + ?1 + ?3")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var n int
	if err := st.QueryRow(1, 2, 3).Scan(&n); err != nil || n != 5 {
		t.Fatal(n, err)
	}
	if err := st.QueryRow(1, 2).Scan(&n); err == nil {
		t.Fatal("two arguments for three parameters")
	}
}

// Nothing that is refused leaves a trace.
func TestRefused(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); INSERT INTO t VALUES(1,2,3); CREATE VIEW v AS SELECT * FROM t")
	before := one[string](t, db, "SELECT group_concat(name||coalesce(sql,'')) FROM sqlite_master")
	for _, text := range []string{
		"INSERT INTO t VALUES(1,2,3) ON CONFLICT DO NOTHING",
		"INSERT INTO t VALUES(1,2,3) ON CONFLICT(id) DO UPDATE SET a=9",
		"INSERT INTO t(a) VALUES(1) RETURNING id", "UPDATE t SET a=9 RETURNING *", "DELETE FROM t RETURNING id",
		"ALTER TABLE t ADD COLUMN c", "ALTER TABLE t RENAME TO u", "ALTER TABLE t DROP COLUMN a", "ALTER TABLE t RENAME a TO z",
		"CREATE TABLE g(a, b AS (a+1))", "CREATE TABLE g(a, b GENERATED ALWAYS AS (a) STORED)",
		"CREATE INDEX i ON t(a) WHERE a>1", "CREATE INDEX i ON t(a+1)", "CREATE UNIQUE INDEX i ON t(lower(a))",
		"CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END", "CREATE TEMP TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END",
		"CREATE TRIGGER r INSTEAD OF INSERT ON v BEGIN INSERT INTO t(a) VALUES(1) ON CONFLICT DO NOTHING; END",
		"CREATE VIRTUAL TABLE w USING tidemark(a, durable=false)", "CREATE VIRTUAL TABLE w USING tidemark(a, resident=keys)",
		"PRAGMA user_version=3", "VACUUM INTO 'x'", "PRAGMA foreign_key_check",
		"CREATE TABLE c(a COLLATE mine)",
	} {
		if _, err := db.Exec(text); !errors.Is(err, ErrNotAvailable) && !strings.Contains(text, "COLLATE mine") || err == nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"CREATE VIRTUAL TABLE w USING tidemark(a, nope=1)", "CREATE VIRTUAL TABLE w USING fts5(a)", "CREATE TABLE tidemark_x(a)",
		"DETACH catalog", "PRAGMA writable_schema=1", "DROP TABLE temp.tidemark_tx", "UPDATE temp.tidemark_tx SET op='x'",
		"UPDATE catalog.objects SET kind='x'", "DROP TABLE catalog.objects",
	} {
		if _, err := db.Exec(text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	expect(t, db, before, "SELECT group_concat(name||coalesce(sql,'')) FROM sqlite_master")
	expect(t, db, 1, "SELECT count(*) FROM t WHERE a=2")
	mustExec(t, db, "CREATE VIRTUAL TABLE w USING tidemark(id INTEGER PRIMARY KEY, a TEXT DEFAULT 'd', UNIQUE(a), durable=true, resident=all)")
	mustExec(t, db, "INSERT INTO w(id) VALUES(3)")
	mustFail(t, db, ErrConstraintUnique, "INSERT INTO w(id) VALUES(4)")
	expect(t, db, "d", "SELECT a FROM w")
	expect(t, db, "CREATE VIRTUAL TABLE w USING tidemark(id INTEGER PRIMARY KEY, a TEXT DEFAULT 'd', UNIQUE(a), durable=true, resident=all)", "SELECT sql FROM sqlite_master WHERE name='w'")
}

// An attached file is ordinary SQLite, apart from the transaction of the store.
func TestAttachedFile(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1)")
	c := testConn(t, db)
	mustExec(t, c, "ATTACH ? AS side", filepath.Join(t.TempDir(), "side.db"))
	mustExec(t, c, "CREATE TABLE side.s(a UNIQUE); INSERT INTO side.s SELECT a FROM t; INSERT INTO s VALUES(2) ON CONFLICT DO NOTHING")
	expect(t, c, 3, "SELECT sum(a) FROM s")
	expect(t, c, 4, "SELECT sum(s.a)+t.a FROM s, t")
	mustExec(t, c, "BEGIN; INSERT INTO t VALUES(5)")
	expect(t, c, 2, "SELECT count(*) FROM s")
	mustFail(t, c, ErrGeneric, "INSERT INTO s VALUES(5)")
	mustFail(t, c, ErrGeneric, "CREATE TABLE side.x(a)")
	mustExec(t, c, "COMMIT; BEGIN; INSERT INTO s VALUES(6)")
	mustFail(t, c, ErrGeneric, "INSERT INTO t VALUES(6)")
	mustFail(t, c, ErrGeneric, "CREATE TABLE x(a)")
	mustExec(t, c, "COMMIT")
	expect(t, c, "1,5", "SELECT group_concat(a) FROM t")
	expect(t, c, 3, "SELECT count(*) FROM side.s")
	expect(t, c, "a", "SELECT name FROM pragma_table_info('s')")
	mustExec(t, c, "DETACH side")
	mustFail(t, c, ErrGeneric, "INSERT INTO s VALUES(7)")
	var dir string
	if err := c.Raw(func(dc any) error { dir = dc.(*conn).sh.inst.key; return nil }); err != nil {
		t.Fatal(err)
	}
	mustFail(t, c, ErrReadOnly, "ATTACH ? AS mine", filepath.Join(dir, catalogFile))
}

// A panic in a function of the program costs the connection, not the pool.
func TestPanicInFunction(t *testing.T) {
	registerBoom()
	db := testDB(t, "?busy_timeout=100ms")
	db.SetMaxOpenConns(2)
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1)")
	for range 4 {
		mustFail(t, db, ErrInternal, "INSERT INTO t SELECT boom(a) FROM t")
		if err := db.QueryRow("SELECT boom(a) FROM t").Err(); !errors.Is(err, ErrInternal) {
			t.Fatal(err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, tx, "INSERT INTO t VALUES(2)")
		mustFail(t, tx, ErrInternal, "UPDATE t SET a=boom(a)")
		if err := tx.Rollback(); !errors.Is(err, sqldriver.ErrBadConn) {
			t.Fatal(err)
		}
		expect(t, db, 1, "SELECT count(*) FROM t")
	}
	mustExec(t, db, "INSERT INTO t VALUES(3)")
}
