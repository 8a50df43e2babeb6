package driver

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"testing"
	"time"
)

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

// A scan that finds nothing ends with its context, too.
func TestInterruptInsideScan(t *testing.T) {
	db := testDB(t, "")
	c := testConn(t, db)
	mustExec(t, c, "CREATE TABLE a(r REAL, g); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000) INSERT INTO a(r) SELECT i*1.5 FROM n")
	for _, text := range []string{
		"SELECT count(*) FROM a x, a y WHERE y.r < -x.r",
		"SELECT count(*) FROM a x WHERE EXISTS (SELECT 1 FROM a y WHERE y.r < -x.r)",
		"UPDATE a SET g = (SELECT count(*) FROM a b WHERE b.r < -a.r)",
		"DELETE FROM a WHERE EXISTS (SELECT 1 FROM a b WHERE b.r < -a.r)",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		if _, err := c.ExecContext(ctx, text); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", text, err)
		}
		cancel()
	}
	expect(t, c, 20000, "SELECT count(*) FROM a WHERE g IS NULL")
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
