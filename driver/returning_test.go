package driver

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
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

// The rows of a RETURNING are handed out when the change is durable; those of a
// transaction, when what it builds on is.
func TestReturningWaitsForTheCommit(t *testing.T) {
	db, g := gatedDB(t)
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
	a, b := testConn(t, db), testConn(t, db)
	g.close()
	t.Cleanup(func() { g.set(false, nil) })
	query := func(c *sql.Conn) <-chan error {
		done := make(chan error, 1)
		go func() {
			var id int
			err := c.QueryRowContext(context.Background(), "INSERT INTO t(a) VALUES('x') RETURNING id").Scan(&id)
			if err == nil && id == 0 {
				err = errors.New("no id")
			}
			done <- err
		}()
		return done
	}
	first := query(a)
	stillWaiting(t, first, "the row of an autocommit")
	mustExec(t, b, "BEGIN IMMEDIATE")
	second := query(b)
	stillWaiting(t, second, "the row of a transaction")
	g.open(nil)
	if err := errors.Join(<-first, <-second); err != nil {
		t.Fatal(err)
	}
	mustExec(t, b, "ROLLBACK")
	expect(t, db, 1, "SELECT count(*) FROM t")
}

// Exec drops the rows and tells id and count; what the list runs into it tells
// too. Types come with the rows.
func TestReturningResults(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, at TIMESTAMP DEFAULT '2024-01-02 03:04:05', ok BOOLEAN NOT NULL DEFAULT 1, n INT)")
	r, err := db.Exec("INSERT INTO t(n) VALUES(1),(2) RETURNING id, n")
	if err != nil {
		t.Fatal(err)
	}
	id, _ := r.LastInsertId()
	if n, _ := r.RowsAffected(); id != 2 || n != 2 {
		t.Errorf("id %d, %d rows", id, n)
	}
	if _, err := db.Exec("INSERT INTO t(n) VALUES(-9223372036854775808) RETURNING abs(n)"); err == nil {
		t.Error("the list's error is lost")
	}
	expect(t, db, 2, "SELECT count(*) FROM t")
	var at time.Time
	var ok any
	if err := db.QueryRow("UPDATE t SET n=5 WHERE id=1 RETURNING at, ok").Scan(&at, &ok); err != nil || at.Year() != 2024 || ok != true {
		t.Errorf("%v %v %v", at, ok, err)
	}
	rows, err := db.Query("DELETE FROM t RETURNING id, ok, n+1 AS m")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	if null, known := types[1].Nullable(); null || !known || types[1].DatabaseTypeName() != "BOOLEAN" || types[2].Name() != "m" {
		t.Errorf("types: %v %v %q %q", null, known, types[1].DatabaseTypeName(), types[2].Name())
	}
	if err := db.QueryRow("DELETE FROM t WHERE id=77 RETURNING id").Scan(new(int)); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("no row: %v", err)
	}
}
