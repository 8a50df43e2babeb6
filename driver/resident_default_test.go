package driver

import (
	"database/sql"
	"path/filepath"
	"testing"
)

// The key resident is the default of tables that do not say it themselves.
func TestResidentDefault(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	open := func(query string) *sql.DB {
		t.Helper()
		db, err := sql.Open("tidemark", dir+query)
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open("?resident=keys")
	mustExec(t, db, `CREATE TABLE plain(id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT);
		CREATE TABLE keyed(k TEXT PRIMARY KEY, a, b) WITHOUT ROWID;
		CREATE TABLE strict(x INTEGER, y TEXT) STRICT;
		CREATE TABLE copied AS SELECT 1 AS one;
		CREATE VIRTUAL TABLE said USING tidemark(a, resident=all);
		CREATE VIRTUAL TABLE unsaid USING tidemark(a);
		CREATE VIRTUAL TABLE lost USING tidemark(a, durable=false)`)
	const list = `SELECT group_concat(name || '=' || resident, ' ') FROM (SELECT * FROM tidemark_tables ORDER BY name)`
	const want = "copied=keys keyed=keys lost=all plain=keys said=all strict=keys unsaid=keys"
	expect(t, db, want, list)
	mustExec(t, db, `INSERT INTO keyed VALUES('b', 1, 'x'), ('a', 2, NULL), ('c', 3, ''); UPDATE keyed SET a = a + 10 WHERE k > 'a'; UPDATE keyed SET k = 'd' WHERE k = 'a';
		INSERT INTO plain(a) VALUES('one'), ('two'); DELETE FROM plain WHERE id = 2`)
	// IF NOT EXISTS promises only what it says.
	mustExec(t, db, "CREATE VIRTUAL TABLE IF NOT EXISTS said USING tidemark(a)")
	mustFail(t, db, ErrGeneric, "CREATE VIRTUAL TABLE IF NOT EXISTS said USING tidemark(a, resident=keys)")
	for range 2 {
		expect(t, db, "b,11,x c,13, d,2,", "SELECT group_concat(k || ',' || a || ',' || coalesce(b, ''), ' ') FROM keyed")
		expect(t, db, "c", "SELECT k FROM keyed WHERE a = 13")
		expect(t, db, "ok", "PRAGMA integrity_check")
		expect(t, db, want, list)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		db = open("") // the tables stay what they are
	}
	mustExec(t, db, "CREATE TABLE later(a); INSERT INTO plain(a) VALUES('three')")
	expect(t, db, "all", "SELECT resident FROM tidemark_tables WHERE name = 'later'")
	expect(t, db, 3, "SELECT max(id) FROM plain")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
