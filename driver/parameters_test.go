package driver

import (
	"database/sql"
	"testing"
)

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
