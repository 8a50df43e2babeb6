package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBranchPointsTable: a row inserted makes a branch point, a row deleted removes
// one, and both are affected rows.
func TestBranchPointsTable(t *testing.T) {
	db := openTest(t, Config{})
	if _, err := db.Exec("CREATE TABLE t(a); INSERT INTO t VALUES(1)"); err != nil {
		t.Fatal(err)
	}
	const list = "SELECT name, timeline, world_id > 0, representation_id > 0, created_at LIKE '20__-__-__T%Z', lsn FROM tidemark_branch_points"
	for i, query := range []string{
		"INSERT INTO tidemark_branch_points(name) VALUES('one')",
		"INSERT INTO main.tidemark_branch_points(name, timeline) VALUES('It''s two', 'main')",
		"INSERT INTO tidemark_branch_points(name) SELECT 'three'",
		"INSERT OR ABORT INTO tidemark_branch_points VALUES('four', NULL, NULL, NULL, NULL, NULL)",
	} {
		r, err := db.Exec(query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if n, _ := r.RowsAffected(); n != 1 {
			t.Errorf("%s: %d rows", query, n)
		}
		if _, err := db.Exec("INSERT INTO t VALUES(?)", i); err != nil {
			t.Fatal(err)
		}
	}
	_, got := table(t, db, list)
	if want := []string{"It's two|main|1|1|1|3", "four|main|1|1|1|5", "one|main|1|1|1|2", "three|main|1|1|1|4"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for name, want := range map[string]string{"one": "1", "It's two": "2", "three": "3", "four": "4"} {
		for query, args := range map[string][]any{
			"SELECT count(*) FROM t(?)":                        {name},
			"SELECT count(a) FROM t(?)":                        {name},
			"SELECT count(*) FROM t('" + doubled(name) + "')":  nil,
			"SELECT count(*) FROM t('" + doubled(name) + "')x": nil,
		} {
			if _, got := table(t, db, query, args...); !slices.Equal(got, []string{want}) {
				t.Errorf("%s %v: %q, want %s", query, args, got, want)
			}
		}
	}
	for _, c := range []struct {
		query string
		args  []any
		want  int64
	}{
		{"DELETE FROM tidemark_branch_points WHERE name='nope'", nil, 0},
		{"DELETE FROM tidemark_branch_points WHERE name=?", []any{"It's two"}, 1},
		{"DELETE FROM main.tidemark_branch_points WHERE lsn<3", nil, 1},
	} {
		r, err := db.Exec(c.query, c.args...)
		if err != nil {
			t.Fatalf("%s: %v", c.query, err)
		}
		if n, _ := r.RowsAffected(); n != c.want {
			t.Errorf("%s: %d rows, want %d", c.query, n, c.want)
		}
	}
	if _, got = table(t, db, "SELECT name FROM tidemark_branch_points ORDER BY 1"); !slices.Equal(got, []string{"four", "three"}) {
		t.Errorf("left: %q", got)
	}
	_, got = table(t, db, "SELECT name, revision > 0, world_id > 0, representation_id > 0, created_at <> '' FROM tidemark_timelines")
	if !slices.Equal(got, []string{"main|1|1|1|1"}) {
		t.Errorf("timelines: %q", got)
	}
	if _, got = table(t, db, "SELECT (SELECT count(*) FROM tidemark_sessions), (SELECT count(*) FROM tidemark_pins)"); !slices.Equal(got, []string{"0|0"}) {
		t.Errorf("sessions and pins: %q", got)
	}
}

func doubled(s string) string { return strings.ReplaceAll(s, "'", "''") }

// TestRefusedBranchPoints: what is no order is refused by name, changes nothing and
// leaves the connection usable.
func TestRefusedBranchPoints(t *testing.T) {
	db := openTest(t, Config{})
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY); CREATE VIEW w AS SELECT * FROM t; INSERT INTO tidemark_branch_points(name) VALUES('bp')"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		query, want string
		is          error
	}{
		{"INSERT INTO tidemark_branch_points(name) VALUES('bp')", "UNIQUE constraint failed: tidemark_branch_points.name", ErrConstraintUnique},
		{"INSERT INTO tidemark_branch_points(name) VALUES(NULL)", "NOT NULL constraint failed: tidemark_branch_points.name", ErrConstraintNotNull},
		{"INSERT INTO tidemark_branch_points(timeline) VALUES('main')", "NOT NULL constraint failed: tidemark_branch_points.name", ErrConstraintNotNull},
		{"INSERT INTO tidemark_branch_points(name) VALUES('')", "1 to 255 characters, not 0", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name) VALUES('" + strings.Repeat("ä", 256) + "')", "1 to 255 characters, not 256", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name) VALUES(x'41')", "must be text", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name) VALUES(7)", "must be text", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name) VALUES(CAST(x'ff' AS TEXT))", "must be UTF-8", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name) VALUES('a'||char(0)||'b')", "without a NUL", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name, timeline) VALUES('x', 'other')", "works on timeline main", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name, lsn) VALUES('x', 7)", "name and timeline", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name) VALUES('x'),('y')", "one row", ErrGeneric},
		{"DELETE FROM tidemark_branch_points WHERE name IN (SELECT 'bp') OR 1", "", nil},
		{"INSERT INTO tidemark_branch_points(name) VALUES('bp'); INSERT INTO tidemark_branch_points(name) VALUES('b2'); DELETE FROM tidemark_branch_points", "one row", ErrGeneric},
		{"INSERT OR REPLACE INTO tidemark_branch_points(name) VALUES('bp')", "no OR clause", ErrGeneric},
		{"REPLACE INTO tidemark_branch_points(name) VALUES('bp')", "no OR clause", ErrGeneric},
		{"INSERT OR IGNORE INTO tidemark_branch_points(name) VALUES('bp')", "no OR clause", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name) VALUES('bp') ON CONFLICT DO NOTHING", "no ON CONFLICT", ErrGeneric},
		{"INSERT INTO tidemark_branch_points(name) VALUES('x') RETURNING name", "RETURNING", ErrGeneric},
		{"DELETE FROM tidemark_branch_points RETURNING name", "RETURNING", ErrGeneric},
		{"UPDATE tidemark_branch_points SET name='x'", "no UPDATE", ErrGeneric},
		{"UPDATE tidemark_branch_points SET name='x' WHERE 0", "no UPDATE", ErrGeneric},
		{"BEGIN; INSERT INTO tidemark_branch_points(name) VALUES('x')", "tidemark_branch_points is not written inside a transaction", ErrGeneric},
		{"BEGIN; INSERT INTO t VALUES(1); DELETE FROM tidemark_branch_points", "not written inside a transaction", ErrGeneric},
		{"SAVEPOINT s; DELETE FROM tidemark_branch_points", "not written inside a transaction", ErrGeneric},
		{"CREATE TRIGGER tr INSTEAD OF INSERT ON w BEGIN INSERT INTO tidemark_branch_points(name) VALUES('x'); END; INSERT INTO w VALUES(1)", "statements of their own", ErrGeneric},
		{"DELETE FROM tidemark_sessions", "may not be modified", ErrGeneric},
		{"INSERT INTO tidemark_pins(since) VALUES(1)", "may not be modified", ErrGeneric},
		{"UPDATE tidemark_jobs SET state='done'", "takes only INSERT", ErrGeneric},
		{"CREATE TABLE tidemark_branch_points(a)", "reserved", ErrGeneric},
	} {
		_, err := db.Exec(c.query)
		if c.is == nil && err != nil || c.is != nil && (err == nil || !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.query, err, c.want)
		}
	}
	if _, got := table(t, db, "SELECT name FROM tidemark_branch_points"); !slices.Equal(got, []string{"b2", "bp"}) {
		t.Errorf("branch points: %q", got)
	}
}

// run runs a statement to its end.
func run(q interface {
	Query(string, ...any) (*sql.Rows, error)
}, query string) error {
	rows, err := q.Query(query)
	if err != nil {
		return err
	}
	for rows.Next() {
	}
	return errors.Join(rows.Err(), rows.Close())
}

// TestBranchPointsInMemory: a store without a directory has none.
func TestBranchPointsInMemory(t *testing.T) {
	db := memoryDB(t, "?ephemeral=1")
	if _, err := db.Exec("CREATE TABLE t(a)"); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"INSERT INTO tidemark_branch_points(name) VALUES('x')", "SELECT * FROM t('x')", "SELECT count(*) FROM t('x')"} {
		if err := run(db, query); err == nil || !strings.Contains(err.Error(), "in memory") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if err := run(db, "DELETE FROM tidemark_branch_points"); err != nil {
		t.Error(err)
	}
}

// TestBranchPointWaits: the write lock is waited for as long as the busy timeout
// says, or until the context ends.
func TestBranchPointWaits(t *testing.T) {
	db := openTest(t, Config{BusyTimeout: 20 * time.Millisecond})
	if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO t VALUES(1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO tidemark_branch_points(name) VALUES('bp')"); !errors.Is(err, ErrBusy) {
		t.Errorf("behind a writer: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := db.ExecContext(ctx, "INSERT INTO tidemark_branch_points(name) VALUES('bp')"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a context that ends: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, got := table(t, db, "SELECT count(*) FROM tidemark_branch_points"); !slices.Equal(got, []string{"0"}) {
		t.Errorf("branch points: %q", got)
	}
}

// TestAsOf reads an old state through everything that stands between a statement
// and a table.
func TestAsOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path})
	db.SetMaxOpenConns(1)
	for _, query := range []string{
		`CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT NOT NULL)`,
		`CREATE TABLE orders(id INTEGER PRIMARY KEY AUTOINCREMENT, user INT REFERENCES users(id) ON DELETE CASCADE, sku TEXT COLLATE NOCASE, at TEXT)`,
		`CREATE INDEX orders_sku ON orders(sku)`,
		`CREATE VIRTUAL TABLE audit USING tidemark(k TEXT PRIMARY KEY, v, resident=keys)`,
		`CREATE TABLE kv(k TEXT PRIMARY KEY, v) WITHOUT ROWID`,
		`CREATE VIRTUAL TABLE rate USING tidemark(k TEXT PRIMARY KEY, n INT, durable=false)`,
		`INSERT INTO users VALUES(1,'ann'),(2,'bob')`,
		`INSERT INTO orders(user, sku, at) VALUES(1,'A','x'),(1,'b','y'),(2,'c','z')`,
		`INSERT INTO audit VALUES('p',1),('q',2)`, `INSERT INTO kv VALUES('z',1),('a',2)`, `INSERT INTO rate VALUES('r',1)`,
		`INSERT INTO tidemark_branch_points(name) VALUES('before-import')`,
		`DELETE FROM users WHERE id=1`, `UPDATE orders SET sku='new', at='now'`, `DELETE FROM audit`, `UPDATE kv SET v=v+10`,
		`CREATE TABLE young(a)`, `CREATE VIEW v AS SELECT * FROM orders('before-import') WHERE user=1`,
		`CREATE VIEW diff AS SELECT id, sku, at FROM orders('before-import') EXCEPT SELECT id, sku, at FROM orders`,
		`INSERT INTO tidemark_jobs(kind) VALUES('compact')`,
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	check := func(q interface {
		Query(string, ...any) (*sql.Rows, error)
	}) {
		t.Helper()
		for query, want := range map[string][]string{
			"SELECT * FROM orders('before-import') WHERE sku = 'a'":                                                                        {"1|1|A|x"},
			"SELECT id, at FROM main.orders('before-import') AS o WHERE o.sku>='b' ORDER BY sku":                                           {"2|y", "3|z"},
			"SELECT count(*) FROM orders('before-import')":                                                                                 {"3"},
			"SELECT count(*) AS n FROM orders":                                                                                             {"1"},
			"SELECT u.name, count(*) FROM users('before-import') u JOIN orders('before-import') o ON o.user=u.id GROUP BY u.id ORDER BY 1": {"ann|2", "bob|1"},
			"SELECT * FROM audit('before-import') ORDER BY k DESC":                                                                         {"q|2", "p|1"},
			"SELECT * FROM audit": nil,
			"SELECT k, p.v, n.v FROM kv('before-import') p JOIN kv n USING (k) ORDER BY k": {"a|2|12", "z|1|11"},
			"SELECT * FROM v ORDER BY id":                                                                    {"1|1|A|x", "2|1|b|y"},
			"SELECT * FROM diff ORDER BY id":                                                                 {"1|A|x", "2|b|y", "3|c|z"},
			"SELECT seq FROM sqlite_sequence('before-import')":                                               {"3"},
			"SELECT name FROM pragma_table_info('orders')":                                                   {"id", "user", "sku", "at"},
			"SELECT name FROM pragma_table_xinfo('orders')":                                                  {"id", "user", "sku", "at"},
			"SELECT name FROM pragma_table_info('v')":                                                        {"id", "user", "sku", "at"},
			"WITH p(n) AS (VALUES('before-import')) SELECT count(*) FROM p, orders(p.n)":                     {"3"},
			"SELECT id FROM orders('before-import') WHERE id=2 OR sku='C' OR user=7 ORDER BY id":             {"2", "3"},
			"SELECT rowid FROM orders('before-import') WHERE rowid IN (1,3) ORDER BY 1":                      {"1", "3"},
			"SELECT group_concat(id) FROM (SELECT id FROM orders('before-import') ORDER BY id DESC LIMIT 2)": {"3,2"},
			"SELECT 1": {"1"},
			"SELECT id FROM users WHERE id NOT IN (SELECT user FROM orders('before-import') WHERE user=users.id)": nil,
		} {
			_, got := table(t, q, query)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
		for query, want := range map[string]string{
			"SELECT * FROM orders('nope')":                       "no such branch point: nope",
			"SELECT count(*) FROM orders('nope')":                "no such branch point: nope",
			"SELECT * FROM orders('')":                           "no such branch point: ''",
			"SELECT * FROM orders(NULL)":                         "named by a text",
			"SELECT * FROM young('before-import')":               "no such table: young('before-import')",
			"SELECT count(*) FROM young('before-import')":        "no such table: young('before-import')",
			"SELECT * FROM rate('before-import')":                "table rate is volatile",
			"SELECT count(*) FROM rate('before-import')":         "table rate is volatile",
			"SELECT * FROM nowhere('before-import')":             "no such table",
			"SELECT rowid FROM kv('before-import')":              "no such column: rowid",
			"DELETE FROM orders('before-import')":                "syntax error",
			"UPDATE orders('before-import') SET sku=1":           "syntax error",
			"INSERT INTO orders('before-import') VALUES(1,2,3)":  "no column named before-import",
			"INSERT INTO v VALUES(1,2,3,4)":                      "cannot modify v because it is a view",
			"SELECT * FROM orders('before-import', 'x')":         "too many arguments",
			"SELECT * FROM v('before-import')":                   "'v' is not a function",
			"SELECT * FROM sqlite_schema('before-import')":       "is not a function",
			"SELECT * FROM orders('before-import') INDEXED BY x": "syntax error",
		} {
			if err := run(q, query); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", query, err, want)
			}
		}
	}
	check(db)
	// In transactions, which an old state takes no part in.
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("DELETE FROM orders; DELETE FROM kv; INSERT INTO kv VALUES('a',12),('z',11); INSERT INTO orders(id, user, sku, at) VALUES(3,2,'new','now')"); err != nil {
		t.Fatal(err)
	}
	check(tx)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	db = openTest(t, Config{Path: path})
	db.SetMaxOpenConns(1)
	check(db)
	var id, parent, unused int
	var plan string
	if err := db.QueryRow("EXPLAIN QUERY PLAN SELECT * FROM orders('before-import') WHERE sku='a'").Scan(&id, &parent, &unused, &plan); err != nil || plan != "SEARCH orders USING INDEX orders_sku (sku=?) AS OF ?" {
		t.Errorf("plan %q, %v", plan, err)
	}
	// A table made of an old state; one dropped and made anew is another one.
	for _, query := range []string{
		"CREATE TABLE again AS SELECT * FROM orders('before-import')", "DROP VIEW v", "DROP VIEW diff", "DROP TABLE orders",
		"CREATE TABLE orders(id INTEGER PRIMARY KEY, sku)", "INSERT INTO orders SELECT id, sku FROM again",
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if _, got := table(t, db, "SELECT * FROM again ORDER BY id"); !slices.Equal(got, []string{"1|1|A|x", "2|1|b|y", "3|2|c|z"}) {
		t.Errorf("made of an old state: %q", got)
	}
	if err := run(db, "SELECT * FROM orders('before-import')"); err == nil || !strings.Contains(err.Error(), "was dropped") {
		t.Errorf("a table that was made anew: %v", err)
	}
	// Deleted: a statement that reads goes on, the next one fails.
	rows, err := db.Query("SELECT k FROM audit('before-import')")
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(2)
	if _, err := db.Exec("DELETE FROM tidemark_branch_points"); err != nil {
		t.Fatal(err)
	}
	if !rows.Next() || rows.Next() || rows.Err() != nil {
		t.Errorf("a read of a deleted branch point: %v", rows.Err())
	}
	mustClose(t, rows)
	if err := run(db, "SELECT k FROM audit('before-import')"); err == nil || !strings.Contains(err.Error(), "no such branch point") {
		t.Errorf("after the delete: %v", err)
	}
}

// TestAsOfPrepared: a prepared statement reads what its argument names at each run.
func TestAsOfPrepared(t *testing.T) {
	db := openTest(t, Config{})
	if _, err := db.Exec("CREATE TABLE t(a INTEGER PRIMARY KEY, b); CREATE INDEX tb ON t(b)"); err != nil {
		t.Fatal(err)
	}
	stmt, err := db.Prepare("SELECT count(*), sum(b) FROM t(?) WHERE b>?")
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, stmt)
	for i := range 5 {
		if _, err := db.Exec("INSERT INTO t(b) VALUES(?); INSERT INTO tidemark_branch_points(name) VALUES(?)", i+1, fmt.Sprint("p", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec("DROP INDEX tb"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		var n, sum int
		if err := stmt.QueryRow(fmt.Sprint("p", i), 0).Scan(&n, &sum); err != nil || n != i+1 || sum != (i+1)*(i+2)/2 {
			t.Errorf("p%d: %d rows, sum %d, %v", i, n, sum, err)
		}
	}
	// The name of another state now.
	if _, err := db.Exec("DELETE FROM tidemark_branch_points WHERE name='p0'"); err != nil {
		t.Fatal(err)
	}
	var n, sum int
	if err := stmt.QueryRow("p0", 0).Scan(&n, &sum); err == nil {
		t.Error("a deleted branch point was read")
	}
	if _, err := db.Exec("DELETE FROM t WHERE b<5; INSERT INTO tidemark_branch_points(name) VALUES('p0')"); err != nil {
		t.Fatal(err)
	}
	if err := stmt.QueryRow("p0", 0).Scan(&n, &sum); err != nil || n != 1 || sum != 5 {
		t.Errorf("%d rows, sum %d, %v", n, sum, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stmt.QueryRowContext(ctx, "p1", 0).Scan(&n, &sum); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}
