package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// Kinds of bugs that drivers of database/sql have had, each as one test of a pool with
// a few connections. A store is given anew to each.
var knownBugs = []struct {
	name string
	test func(t *testing.T, db *sql.DB)
}{
	{"cancelled query poisons the next statement", func(t *testing.T, db *sql.DB) {
		db.SetMaxOpenConns(1)
		mustExec(t, db, "CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 1000) INSERT INTO t SELECT i FROM n")
		for i := range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			rows, err := db.QueryContext(ctx, "SELECT a.a FROM t a, t b, t c")
			if err != nil {
				t.Fatal(err)
			}
			for range i {
				rows.Next()
			}
			cancel()
			if err := rows.Close(); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			expect(t, db, 1000, "SELECT count(*) FROM t")
			mustExec(t, db, "UPDATE t SET a = a WHERE a < 10")
		}
	}},
	{"BEGIN succeeds though its context ended", func(t *testing.T, db *sql.DB) {
		db.SetMaxOpenConns(1)
		mustExec(t, db, "CREATE TABLE t(a)")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if tx, err := db.BeginTx(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Fatal(tx, err)
		}
		other, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, other, "INSERT INTO t VALUES(1)")
		if err := other.Commit(); err != nil {
			t.Fatal(err)
		}
	}},
	{"writes are committed one by one after an interrupt", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(a)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, tx, "INSERT INTO t VALUES(1)")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := tx.ExecContext(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) INSERT INTO t SELECT i FROM n"); err == nil {
			t.Fatal("it ended")
		}
		if _, err := tx.Exec("INSERT INTO t VALUES(2)"); err == nil {
			t.Fatal("the transaction went on without its beginning")
		}
		if err := tx.Commit(); err == nil {
			t.Fatal("it was committed")
		}
		expect(t, db, 0, "SELECT count(*) FROM t")
	}},
	{"pooled connection is left inside a transaction after a failed COMMIT", func(t *testing.T, db *sql.DB) {
		db.SetMaxOpenConns(1)
		mustExec(t, db, "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p(id) DEFERRABLE INITIALLY DEFERRED)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, tx, "INSERT INTO c VALUES(7)")
		if err := tx.Commit(); !errors.Is(err, ErrConstraintForeignKey) {
			t.Fatal(err)
		}
		mustExec(t, db, "INSERT INTO p VALUES(1)")
		expect(t, db, 0, "SELECT count(*) FROM c")
		again, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Commit(); err != nil {
			t.Fatal(err)
		}
	}},
	{"DML through Query is never run", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(a)")
		rows, err := db.Query("INSERT INTO t VALUES(1)")
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, rows) // without a Next
		expect(t, db, 1, "SELECT count(*) FROM t")
		rows, err = db.Query("INSERT INTO t VALUES(2), (3) RETURNING a")
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, rows)
		expect(t, db, 3, "SELECT count(*) FROM t")
	}},
	{"busy wait ignores the context", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(a)")
		holder, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, holder, "INSERT INTO t VALUES(1)")
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := db.ExecContext(ctx, "INSERT INTO t VALUES(2)"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if err := holder.Rollback(); err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "INSERT INTO t VALUES(3)")
	}},
	{"times with zones, the monotonic clock and nanoseconds", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, at DATETIME)")
		for i, at := range []time.Time{
			time.Now(), time.Date(2026, 3, 29, 2, 30, 0, 123456789, time.FixedZone("", 5*3600+30*60)), time.Unix(0, 1), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		} {
			mustExec(t, db, "INSERT INTO t VALUES(?, ?)", i, at)
			if got := one[time.Time](t, db, "SELECT at FROM t WHERE id = ?", i); !got.Equal(at) {
				t.Errorf("%v is read as %v", at, got)
			}
			expect(t, db, i, "SELECT id FROM t WHERE at = ?", at.In(time.FixedZone("x", -3600)))
			// An expression has no declared type: what is stored comes as text, and can be read back.
			text := one[string](t, db, "SELECT max(at) FROM t WHERE id = ?", i)
			if got, err := time.Parse(time.RFC3339Nano, text); err != nil || !got.Equal(at) {
				t.Errorf("%v is %q in an expression: %v", at, text, err)
			}
		}
	}},
	{"values at the edges", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
		for i, v := range []any{[]byte{}, nil, "a\x00b", "\xff\xfe", int64(1<<53 + 1), math.Copysign(0, -1), math.Inf(1), math.Inf(-1), strings.Repeat("x", 1<<20)} {
			mustExec(t, db, "INSERT INTO t VALUES(?, ?)", i, v)
			var got any
			if err := db.QueryRow("SELECT v FROM t WHERE id = ?", i).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%T %q", got, fmt.Sprint(got)) != fmt.Sprintf("%T %q", v, fmt.Sprint(v)) && v != math.Copysign(0, -1) {
				t.Errorf("%T(%.20q) is read as %T(%.20q)", v, fmt.Sprint(v), got, fmt.Sprint(got))
			}
		}
		expect(t, db, "blob 0 null", "SELECT typeof(v) || ' ' || length(v) || ' ' || (SELECT typeof(v) FROM t WHERE id = 1) FROM t WHERE id = 0")
		if _, err := db.Exec("INSERT INTO t(v) VALUES(?)", uint64(math.MaxUint64)); err == nil || !strings.Contains(err.Error(), "18446744073709551615") {
			t.Errorf("MaxUint64: %v", err)
		}
	}},
	{"ReadOnly transaction writes", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(a)")
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		mustFail(t, tx, ErrReadOnly, "INSERT INTO t VALUES(1)")
		mustFail(t, tx, ErrReadOnly, "CREATE TABLE u(a)")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "INSERT INTO t VALUES(1)") // the next borrower writes again
		expect(t, db, 1, "SELECT count(*) FROM t")
	}},
	{"unsupported isolation is accepted", func(t *testing.T, db *sql.DB) {
		for _, level := range []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelWriteCommitted, sql.LevelRepeatableRead, sql.LevelLinearizable} {
			if tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level}); err == nil || !strings.Contains(err.Error(), level.String()) {
				t.Errorf("%v: %v, %v", level, tx, err)
			}
		}
	}},
	{"nested query on a pool of one connection", func(t *testing.T, db *sql.DB) {
		db.SetMaxOpenConns(1)
		mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tx.Query("SELECT a FROM t")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			var a int
			if err := rows.Scan(&a); err != nil {
				t.Fatal(err)
			}
			n += one[int](t, tx, "SELECT count(*) FROM t WHERE a >= ?", a)
			mustExec(t, tx, "INSERT INTO t VALUES(?)", -a)
		}
		if err := errors.Join(rows.Err(), rows.Close(), tx.Commit()); err != nil || n != 3 {
			t.Fatal(n, err)
		}
		// Outside a transaction it waits for the connection, and ends with its context.
		rows, err = db.Query("SELECT a FROM t")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		rows.Next()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := db.QueryRowContext(ctx, "SELECT 1").Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}},
	// A panic inside Scan leaves sql.Rows with its own lock held: nothing of it reaches
	// the driver, and a deferred Close of the same goroutine waits for ever.
	{"panic inside a Valuer", func(t *testing.T, db *sql.DB) {
		db.SetMaxOpenConns(1)
		mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)")
		panics := func(run func(string, ...any) (sql.Result, error)) {
			defer func() {
				if recover() == nil {
					t.Error("no panic came out")
				}
			}()
			_, _ = run("INSERT INTO t VALUES(?)", panicking{})
		}
		panics(db.Exec)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, tx, "INSERT INTO t VALUES(3)")
		panics(tx.Exec)
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		expect(t, db, 3, "SELECT count(*) FROM t")
	}},
	{"state of one borrower is seen by the next", func(t *testing.T, db *sql.DB) {
		db.SetMaxOpenConns(1)
		mustExec(t, db, "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p(id))")
		mustExec(t, db, "PRAGMA foreign_keys=OFF; PRAGMA query_only=ON; PRAGMA recursive_triggers=ON; PRAGMA case_sensitive_like=ON; PRAGMA ignore_check_constraints=ON")
		mustFail(t, db, ErrConstraintForeignKey, "INSERT INTO c VALUES(1)")
		expect(t, db, "0 0 1", "SELECT (SELECT query_only FROM pragma_query_only) || ' ' || (SELECT recursive_triggers FROM pragma_recursive_triggers) || ' ' || ('a' LIKE 'A')")
		mustExec(t, db, "BEGIN; INSERT INTO p VALUES(1)") // and left open
		expect(t, db, 0, "SELECT count(*) FROM p")
	}},
	{"statement is used again over DDL", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2)")
		read, err := db.Prepare("SELECT * FROM t WHERE a = ?")
		if err != nil {
			t.Fatal(err)
		}
		write, err := db.Prepare("INSERT INTO t(a) VALUES(?)")
		if err != nil {
			t.Fatal(err)
		}
		defer mustClose(t, read, write)
		for i, ddl := range []string{"CREATE INDEX ta ON t(a)", "ALTER TABLE t ADD COLUMN c DEFAULT 9", "DROP INDEX ta", "CREATE TRIGGER tr AFTER INSERT ON t BEGIN UPDATE t SET b = 5 WHERE a = new.a; END", "ALTER TABLE t DROP COLUMN c", "DROP TABLE t; CREATE TABLE t(a, b, c, d)"} {
			mustExec(t, db, ddl)
			if _, err := write.Exec(100 + i); err != nil {
				t.Fatalf("%s: %v", ddl, err)
			}
			rows, err := read.Query(100 + i)
			if err != nil {
				t.Fatalf("%s: %v", ddl, err)
			}
			columns, err := rows.Columns()
			if err != nil || !rows.Next() || len(columns) != []int{2, 3, 3, 3, 2, 4}[i] {
				t.Fatalf("%s: columns %v, %v, %v", ddl, columns, err, rows.Err())
			}
			mustClose(t, rows)
		}
	}},
	{"LIMIT and OFFSET with filters", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); CREATE INDEX ta ON t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 100) INSERT INTO t SELECT i, i % 5, i % 7 FROM n")
		for _, text := range []string{ // 3, 38 and 73
			"SELECT id FROM t WHERE a = 3 AND b = 3 ORDER BY id LIMIT 1 OFFSET 1",
			"SELECT id FROM t WHERE id > 0 AND a = 3 AND b = 3 LIMIT 1 OFFSET 1",
			"SELECT id FROM t WHERE a IN (3, 30) AND b + 0 = 3 ORDER BY id LIMIT 1 OFFSET 1",
			"SELECT id FROM (SELECT id, b FROM t WHERE a = 3 ORDER BY id LIMIT 12 OFFSET 1) WHERE b = 3 ORDER BY id LIMIT 1",
		} {
			expect(t, db, 38, text)
		}
		expect(t, db, 0, "SELECT count(*) FROM (SELECT 1 FROM t WHERE a = 3 LIMIT 5 OFFSET 20)")
	}},
	{"more than 63 columns", func(t *testing.T, db *sql.DB) {
		var names, marks []string
		var args []any
		for i := range 200 {
			names, marks, args = append(names, fmt.Sprintf("c%d", i)), append(marks, "?"), append(args, i)
		}
		mustExec(t, db, "CREATE TABLE t("+strings.Join(names, ",")+")")
		mustExec(t, db, "INSERT INTO t VALUES("+strings.Join(marks, ",")+")", args...)
		mustExec(t, db, "UPDATE t SET c64 = -1, c199 = -2 WHERE c63 = 63 AND c198 = 198")
		expect(t, db, "62 63 -1 65 -2", "SELECT c62 || ' ' || c63 || ' ' || c64 || ' ' || c65 || ' ' || c199 FROM t WHERE c100 = 100")
	}},
	{"IN with 1,000 elements", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE INDEX ta ON t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 3000) INSERT INTO t SELECT i, 'k' || i FROM n")
		args, keys := make([]any, 1000), make([]any, 1000)
		for i := range args {
			args[i], keys[i] = 2*i+1, fmt.Sprint("k", 2*i+1)
		}
		list := "(" + strings.Repeat("?,", 999) + "?)"
		expect(t, db, 1000, "SELECT count(*) FROM t WHERE id IN "+list, args...)
		expect(t, db, 1000, "SELECT count(*) FROM t WHERE a IN "+list, keys...)
		expect(t, db, 2000, "SELECT count(*) FROM t WHERE a NOT IN "+list, keys...)
	}},
	{"update of a rowid onto another", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES(1, 'x'), (2, 'y')")
		mustFail(t, db, ErrConstraintPrimaryKey, "UPDATE t SET id = 2 WHERE id = 1")
		expect(t, db, "1x2y", "SELECT group_concat(id || a, '') FROM t")
		mustExec(t, db, "UPDATE OR REPLACE t SET id = 2 WHERE id = 1")
		expect(t, db, "2x", "SELECT group_concat(id || a, '') FROM t")
		mustExec(t, db, "UPDATE t SET rowid = 9")
		expect(t, db, "9x", "SELECT group_concat(id || a, '') FROM t")
	}},
	{"failing statement of several rows inside a transaction", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(a UNIQUE)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, tx, "INSERT INTO t VALUES(1)")
		mustFail(t, tx, ErrConstraintUnique, "INSERT INTO t VALUES(2), (3), (1), (4)")
		expect(t, tx, 1, "SELECT count(*) FROM t")
		mustExec(t, tx, "INSERT INTO t VALUES(5)")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		expect(t, db, "1 5", "SELECT group_concat(a, ' ') FROM t")
	}},
	{"failed CREATE loses the open transaction", func(t *testing.T, db *sql.DB) {
		mustExec(t, db, "CREATE TABLE t(a); CREATE TABLE u(a); INSERT INTO u VALUES(1), (1)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, tx, "INSERT INTO t VALUES(1)")
		for _, ddl := range []string{"CREATE TABLE t(b)", "CREATE TABLE v(a, a)", "CREATE UNIQUE INDEX ua ON u(a)", "CREATE VIEW t AS SELECT 1", "ALTER TABLE t ADD COLUMN a", "DROP TABLE nothing", "CREATE TRIGGER tr AFTER INSERT ON nothing BEGIN SELECT 1; END"} {
			if _, err := tx.Exec(ddl); err == nil {
				t.Errorf("%s succeeds", ddl)
			}
		}
		mustExec(t, tx, "INSERT INTO t VALUES(2)")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		expect(t, db, 2, "SELECT count(*) FROM t")
	}},
}

func TestKnownBugs(t *testing.T) {
	for _, bug := range knownBugs {
		for _, resident := range []string{"all", "keys"} {
			t.Run(bug.name+"/"+resident, func(t *testing.T) { bug.test(t, testDB(t, "?resident="+resident)) })
		}
	}
}

// panicking is an argument that panics.
type panicking struct{}

func (panicking) Value() (sqldriver.Value, error) { panic("value") }
