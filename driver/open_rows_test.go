package driver

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
)

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
