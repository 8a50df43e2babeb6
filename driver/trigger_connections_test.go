package driver

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A trigger may be made and dropped while rows are open, and fires from then on.
func TestTriggersBesideOpenRows(t *testing.T) {
	db := openTest(t, Config{})
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	exec := func(text string) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	exec("CREATE TABLE t(a); CREATE TABLE log(a); INSERT INTO t VALUES(1), (2), (3)")
	rows, err := conn.QueryContext(t.Context(), "SELECT a FROM t")
	if err != nil {
		t.Fatal(err)
	}
	rows.Next()
	exec("CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO log VALUES(NEW.a); END")
	exec("INSERT INTO t VALUES(4)")
	rows.Next()
	exec("DROP TRIGGER r")
	exec("INSERT INTO t VALUES(5)")
	n := 2
	for rows.Next() {
		n++
	}
	if err := rows.Err(); err != nil || n != 3 {
		t.Errorf("%d rows, %v", n, err)
	}
	rows.Close()
	var log string
	if err := conn.QueryRowContext(t.Context(), "SELECT group_concat(a) FROM log").Scan(&log); err != nil || log != "4" {
		t.Errorf("the log has %q, %v", log, err)
	}
}

// Triggers are those of all connections, also of later ones, which make many at
// once, and of the store when it is opened again.
func TestTriggersOfOtherConnections(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: dir})
	one, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	two, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := func(c execer, text string) {
		t.Helper()
		if _, err := c.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	run(two, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE TABLE log(x)")
	run(two, "INSERT INTO t(a) VALUES(0)")
	for i := range 20 {
		run(one, fmt.Sprintf("CREATE TRIGGER r%d AFTER INSERT ON t WHEN NEW.a = %d BEGIN INSERT INTO log VALUES(%d); END", i, i, i))
	}
	run(two, "INSERT INTO t(a) VALUES(3), (19)")
	run(one, "DROP TRIGGER r3")
	run(two, "INSERT INTO t(a) VALUES(3), (4)")
	one.Close()
	two.Close()
	fresh, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run(fresh, "INSERT INTO t(a) VALUES(5)")
	fresh.Close()
	mustClose(t, db)
	db = openTest(t, Config{Path: dir})
	mustExec(t, db, "INSERT INTO t(a) VALUES(3), (6)")
	expect(t, db, "3,19,4,5,6", "SELECT group_concat(x) FROM log")
	expect(t, db, 19, "SELECT count(*) FROM sqlite_schema WHERE type='trigger' AND tbl_name='t'")
	expect(t, db, 0, "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%' || char(1) || '%' OR sql LIKE '%' || char(1) || '%'")
}

// No trigger gives an order to the store, and none of temp has a statement write
// both the store and an attached file.
func TestTriggersStayInTheStore(t *testing.T) {
	db := openTest(t, Config{})
	db.SetMaxOpenConns(1)
	mustExec(t, db, "CREATE TABLE t(a); CREATE TABLE u(a)")
	if _, err := db.Exec("CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO tidemark_jobs(kind) VALUES('checkpoint'); END"); err == nil {
		if _, err := db.Exec("INSERT INTO t VALUES(1)"); err == nil {
			t.Error("a trigger gave an order")
		}
		mustExec(t, db, "DROP TRIGGER r")
	}
	mustExec(t, db, "CREATE TEMP TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO tidemark_jobs(kind) VALUES('checkpoint'); END")
	if _, err := db.Exec("INSERT INTO t VALUES(1)"); err == nil || !strings.Contains(err.Error(), "administrative") {
		t.Errorf("a temporary trigger gave an order: %v", err)
	}
	mustExec(t, db, "DROP TRIGGER r")
	mustExec(t, db, "ATTACH '"+filepath.Join(t.TempDir(), "side.db")+"' AS side; CREATE TABLE side.s(a)")
	mustExec(t, db, "CREATE TEMP TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO u VALUES(NEW.a); INSERT INTO side.s VALUES(NEW.a); END")
	if _, err := db.Exec("INSERT INTO t VALUES(1)"); err == nil {
		t.Error("a statement wrote the store and a file")
	}
	expect(t, db, 0, "SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM u) + (SELECT count(*) FROM side.s)")
}

// A carrier is made anew when what its text depends on has changed, and only then.
func TestTriggerTextsFollowTheSchema(t *testing.T) {
	db := openTest(t, Config{})
	db.SetMaxOpenConns(1)
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE TABLE log(x)")
	mustExec(t, db, "CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO later(x) VALUES(NEW.a); UPDATE log SET x = x + (SELECT max(x) FROM log); END")
	mustExec(t, db, "CREATE TABLE later(x, y DEFAULT 'first')")
	mustExec(t, db, "INSERT INTO log VALUES(1), (2)")
	mustExec(t, db, "INSERT INTO t(a) VALUES(1)")
	expect(t, db, "first", "SELECT y FROM later")
	mustExec(t, db, "DROP TABLE later; CREATE TABLE later(x, y DEFAULT 'second')")
	mustExec(t, db, "INSERT INTO t(a) VALUES(2)")
	expect(t, db, "second", "SELECT y FROM later")
	// From here on an UPDATE of log changes it under way.
	mustExec(t, db, "DELETE FROM log; INSERT INTO log VALUES(1), (2)")
	mustExec(t, db, "CREATE TRIGGER u AFTER UPDATE ON log WHEN OLD.rowid = 1 BEGIN UPDATE log SET x = 100 WHERE rowid = 2; END")
	mustExec(t, db, "INSERT INTO t(a) VALUES(3)")
	expect(t, db, "3,102", "SELECT group_concat(x) FROM log")
}
