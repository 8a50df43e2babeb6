package driver

import (
	"context"
	"testing"
)

// Rows of a statement that writes are gathered: while SQLite held it active, its
// change would not be committed, nor that of a statement beside it.
func TestOpenRowsOfAWrite(t *testing.T) {
	ctx := context.Background()
	db := testDB(t, "")
	mustExec(t, db, `CREATE TABLE base(a);
		CREATE VIEW v AS SELECT a FROM base;
		CREATE TRIGGER ins INSTEAD OF INSERT ON v BEGIN INSERT INTO base VALUES(new.a); END`)
	c := testConn(t, db)
	mustExec(t, c, "CREATE TEMP TABLE tmp(a)")
	for i, q := range []string{"INSERT INTO v VALUES(1),(2) RETURNING a", "INSERT INTO tmp VALUES(1),(2) RETURNING a"} {
		rows, err := c.QueryContext(ctx, q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		if !rows.Next() {
			t.Fatalf("%s: no row: %v", q, rows.Err())
		}
		mustExec(t, c, "INSERT INTO base VALUES(3)")
		expect(t, c, 3+i, "SELECT count(*) FROM base")
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		expect(t, db, 3+i, "SELECT count(*) FROM base")
	}
}
