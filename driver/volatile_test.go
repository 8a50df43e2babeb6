package driver

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestTableOptions: ENG-07 to ENG-10 and ENG-AT-02, 03: what the options of a
// table cannot be is refused in one line that names the table and what to write,
// and makes nothing.
func TestTableOptions(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, `CREATE VIRTUAL TABLE vol USING tidemark(id INTEGER PRIMARY KEY, v TEXT, durable=false);
		CREATE TABLE dur(id INTEGER PRIMARY KEY);
		CREATE TABLE orphan(id INTEGER PRIMARY KEY, p REFERENCES later(id))`)
	before := one[string](t, db, "SELECT group_concat(name||coalesce(sql,'')) FROM sqlite_master")
	for _, c := range []struct {
		text string
		want []string
	}{
		{"CREATE VIRTUAL TABLE x USING tidemark(a, mode=ram)", []string{"x", "mode", "durable=true|false", "resident=all|keys"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(a, cold=true)", []string{"x", "cold", "durable=true|false"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(a, tiered=1)", []string{"x", "tiered"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(a, ram=1)", []string{"x", "ram"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(a, durable=maybe)", []string{"x", "durable=maybe", "durable=true|false"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(a, resident=some)", []string{"x", "resident=some", "resident=all|keys"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(a, durable=true, durable=true)", []string{"x", "durable", "twice"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(a, durable=false, DURABLE=true)", []string{"x", "durable", "twice"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(a INTEGER PRIMARY KEY, durable=false, resident=keys)", []string{"x", "durable=false", "resident=keys", "neither in the log nor in memory"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(id INTEGER PRIMARY KEY AUTOINCREMENT, durable=false)", []string{"x", "AUTOINCREMENT", "durable=true"}},
		{"CREATE VIRTUAL TABLE x USING tidemark", []string{"x", "no columns", "before the options"}},
		{"CREATE VIRTUAL TABLE x USING tidemark()", []string{"x", "no columns", "before the options"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(resident=keys, max_rows=3)", []string{"x", "no columns", "before the options"}},
		{"CREATE VIRTUAL TABLE x USING tidemark(" + columnList(2000) + ", durable=false)", []string{"too many columns on x: 2000, at most 1999"}},
		{"CREATE TABLE x(id INTEGER PRIMARY KEY, p REFERENCES vol(id))", []string{"x", "vol", "durable=true", "durable=false"}},
		{"CREATE TABLE x(id INTEGER PRIMARY KEY, p, FOREIGN KEY(p) REFERENCES VOL)", []string{"x", "vol", "durable=true", "durable=false"}},
		{"CREATE VIRTUAL TABLE later USING tidemark(id INTEGER PRIMARY KEY, durable=false)", []string{"orphan", "later", "durable=true", "durable=false"}},
		{"CREATE VIRTUAL TABLE IF NOT EXISTS vol USING tidemark(id INTEGER PRIMARY KEY, v TEXT)", []string{"vol", "durable=false", "durable=true", "DROP TABLE"}},
		{"CREATE VIRTUAL TABLE IF NOT EXISTS dur USING tidemark(id INTEGER PRIMARY KEY, durable=false)", []string{"dur", "durable=true", "durable=false"}},
	} {
		_, err := db.Exec(c.text)
		if err == nil || errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		for _, word := range c.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v does not say %q", c.text, err, word)
			}
		}
	}
	expect(t, db, before, "SELECT group_concat(name||coalesce(sql,'')) FROM sqlite_master")
	// The reverse reference, and the same options again, are legal.
	mustExec(t, db, `CREATE VIRTUAL TABLE child USING tidemark(id INTEGER PRIMARY KEY, p REFERENCES dur(id), durable=false);
		CREATE VIRTUAL TABLE IF NOT EXISTS vol USING tidemark(id INTEGER PRIMARY KEY, v TEXT, durable=false, resident=all)`)
	expect(t, db, "child:0 dur:1 orphan:1 vol:0", "SELECT group_concat(name||':'||durable, ' ') FROM (SELECT * FROM tidemark_tables ORDER BY name)")
}

// columnList is n columns.
func columnList(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("c", i)
	}
	return strings.Join(list, ", ")
}

// TestVolatileTables: the whole of SQL on a table that leaves nothing behind.
// ENG-AT-04, 05.
func TestVolatileTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path})
	mustExec(t, db, `CREATE VIRTUAL TABLE v USING tidemark(id INTEGER PRIMARY KEY, k TEXT UNIQUE, n INT DEFAULT 7 CHECK (n > 0), durable=false);
		CREATE VIRTUAL TABLE w USING tidemark(a TEXT, b INT, PRIMARY KEY(a, b), durable=false);
		CREATE INDEX vn ON v(n);
		CREATE TABLE d(id INTEGER PRIMARY KEY, k TEXT)`)
	logged := func() int64 { return one[int64](t, db, "SELECT sum(bytes) FROM tidemark_generations") }
	before := logged()
	mustExec(t, db, `INSERT INTO v(k) VALUES('a'), ('b'), ('c'); UPDATE v SET n = n + id; DELETE FROM v WHERE k = 'b';
		INSERT OR IGNORE INTO v(k) VALUES('a'); REPLACE INTO v(id, k) VALUES(1, 'z'); INSERT INTO w SELECT k, n FROM v`)
	mustFail(t, db, ErrConstraintUnique, "INSERT INTO v(k) VALUES('z')")
	mustFail(t, db, ErrConstraintCheck, "INSERT INTO v(k, n) VALUES('y', -1)")
	mustFail(t, db, ErrConstraintPrimaryKey, "INSERT INTO w SELECT * FROM w LIMIT 1")
	expect(t, db, "1z7 3c10", "SELECT group_concat(id||k||n, ' ') FROM v")
	expect(t, db, "c", "SELECT k FROM v WHERE n = 10")
	if got := logged(); got != before {
		t.Errorf("volatile rows took %d bytes of the log", got-before)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"INSERT INTO v(k) VALUES('in tx')", "SAVEPOINT s", "DELETE FROM v", "ROLLBACK TO s", "INSERT INTO d VALUES(1, 'with it')", "UPDATE v SET n = 99 WHERE k = 'z'",
	} {
		if _, err := tx.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	expect(t, db, 0, "SELECT count(*) FROM v WHERE n = 99") // by another connection
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	expect(t, db, "99 3 1", "SELECT max(n)||' '||count(*)||' '||(SELECT count(*) FROM d) FROM v")
	mustClose(t, db)
	db = openTest(t, Config{Path: path})
	expect(t, db, "0 0 1", "SELECT (SELECT count(*) FROM v)||' '||(SELECT count(*) FROM w)||' '||count(*) FROM d")
	mustExec(t, db, "INSERT INTO v(k) VALUES('again')")
	expect(t, db, "1again7", "SELECT id||k||n FROM v")
}

// TestVolatileConflict: a transaction that read a volatile table and then writes
// fails when another one changed the table meanwhile, as with any table.
func TestVolatileConflict(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE VIRTUAL TABLE v USING tidemark(id INTEGER PRIMARY KEY, n INT, durable=false); INSERT INTO v VALUES(1, 1)")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			t.Error(err)
		}
	}()
	var n int
	if err := tx.QueryRow("SELECT n FROM v").Scan(&n); err != nil {
		t.Fatal(err)
	}
	mustExec(t, db, "UPDATE v SET n = 5")
	if _, err := tx.Exec("UPDATE v SET n = ?", n+1); !errors.Is(err, ErrBusySnapshot) {
		t.Errorf("a write on an old snapshot: %v", err)
	}
	expect(t, db, 5, "SELECT n FROM v")
}
