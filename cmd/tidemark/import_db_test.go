package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a store cannot hold is named and left out where that loses no rows of
// tables.
func TestImportLeavesOut(t *testing.T) {
	original := makeFile(t, `CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2);
		CREATE VIRTUAL TABLE docs USING fts5(body); INSERT INTO docs VALUES('x');
		CREATE VIEW v AS SELECT a FROM t; ANALYZE`)
	dir := newDir(t)
	status, _, stderr := tidemark(t, "", "import", dir, original)
	if status != statusDone || strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, "virtual table docs is left out") ||
		!strings.HasSuffix(stderr, "import: 1 row into 1 table\n") {
		t.Errorf("status %d, %q", status, stderr)
	}
	same(t, "the rest", storeContents(t, dir), fileContents(t, makeFile(t, `CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2); CREATE VIEW v AS SELECT a FROM t`)))
}

// unavailable reports whether this version refuses a statement by name.
func unavailable(t *testing.T, statements string) bool {
	t.Helper()
	status, _, stderr := tidemark(t, "", "sql", newDir(t), statements)
	if status != statusDone && status != statusRefused {
		t.Fatalf("%s: status %d, %s", statements, status, stderr)
	}
	return status == statusRefused
}

// A table that cannot be made ends the import, or is left out when asked for,
// with all that belongs to it; generated columns are computed and not copied.
func TestImportOfGeneratedColumns(t *testing.T) {
	const rest = `CREATE TABLE t(a); INSERT INTO t VALUES(1);`
	original := makeFile(t, rest+`CREATE TABLE g(a, b AS (a + 1), c AS (a * 2) STORED, d); INSERT INTO g(a, d) VALUES(1, 2), (NULL, 'x');
		CREATE INDEX gi ON g(d); CREATE TRIGGER gt AFTER INSERT ON g BEGIN SELECT 1; END`)
	refused := makeFile(t, `CREATE VIRTUAL TABLE docs USING fts5(body); CREATE TABLE g(a, b AS (a + 1))`)
	dir := newDir(t)
	status, _, stderr := tidemark(t, "", "import", dir, original)
	if !unavailable(t, "CREATE TABLE g(a, b AS (a + 1), c AS (a * 2) STORED)") {
		want := original
		if unavailable(t, "CREATE TABLE t(a); CREATE TRIGGER gt AFTER INSERT ON t BEGIN SELECT 1; END") {
			want = makeFile(t, must(t, "export", dir, "-"))
		}
		if status != statusDone {
			t.Fatal(stderr)
		}
		same(t, "import", storeContents(t, dir), fileContents(t, want))
		return
	}
	if status != statusRefused || !strings.Contains(stderr, "table g") || !strings.Contains(stderr, "-partial") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, %q", status, stderr)
	}
	if status, _, stderr := tidemark(t, "", "import", dir, refused); status != statusRefused || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a refusal after something to tell: status %d, %q", status, stderr)
	}
	if left := must(t, "sql", dir, "SELECT name FROM sqlite_schema"); left != "" {
		t.Errorf("left: %q", left)
	}
	status, _, stderr = tidemark(t, "", "import", "-partial", dir, original)
	if status != statusDone || !strings.Contains(stderr, "table g is left out") || strings.Count(stderr, "\n") != 2 {
		t.Errorf("partial: status %d, %q", status, stderr)
	}
	same(t, "the rest", storeContents(t, dir), fileContents(t, makeFile(t, rest)))
}

// Indexes and triggers that this version refuses are named, and the rows are
// there.
func TestImportOfRefusedObjects(t *testing.T) {
	const table = `CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2);`
	dir, lines := newDir(t), 1
	objects := []string{`CREATE INDEX part ON t(a) WHERE b > 0`, `CREATE INDEX expr ON t(a + b)`, `CREATE TRIGGER tr AFTER DELETE ON t BEGIN SELECT 1; END`}
	want := table
	for _, o := range objects {
		if unavailable(t, table+o) {
			lines++
		} else {
			want += o + ";"
		}
	}
	status, _, stderr := tidemark(t, "", "import", dir, makeFile(t, table+strings.Join(objects, ";")))
	if status != statusDone || strings.Count(stderr, "\n") != lines || strings.Count(stderr, "is left out: ") != lines-1 {
		t.Errorf("status %d, %q, want %d lines", status, stderr, lines)
	}
	same(t, "the rest", storeContents(t, dir), fileContents(t, makeFile(t, want)))
}

// What an application keeps in the header of its file is named when it has no
// place.
func TestImportOfUserVersion(t *testing.T) {
	dir := newDir(t)
	status, _, stderr := tidemark(t, "", "import", dir, makeFile(t, "PRAGMA user_version=7; CREATE TABLE t(a)"))
	if status != statusDone {
		t.Fatal(stderr)
	}
	kept := !unavailable(t, "PRAGMA user_version=7") && must(t, "sql", dir, "PRAGMA user_version") == "7\n"
	if named := strings.Contains(stderr, "user_version 7 is left out"); named == kept {
		t.Errorf("kept %v, named %v: %q", kept, named, stderr)
	}
}

// The encoding and the journal of a SQLite file do not matter, nor does a name
// that an address would read otherwise.
func TestImportOfOtherFiles(t *testing.T) {
	const script = `CREATE TABLE t(a TEXT, b); INSERT INTO t VALUES('é' || char(0x1f600), x'00'), ('', 0.1)`
	want := fileContents(t, makeFile(t, script))
	for _, pragma := range []string{"PRAGMA encoding='UTF-16le';", "PRAGMA encoding='UTF-16be';", "PRAGMA journal_mode=WAL;", "PRAGMA page_size=512;"} {
		made := makeFile(t, pragma+script)
		odd := filepath.Join(filepath.Dir(made), "a b?c#d%41.db")
		if err := os.Rename(made, odd); err != nil {
			t.Fatal(err)
		}
		dir := newDir(t)
		must(t, "import", dir, odd)
		same(t, pragma, storeContents(t, dir), want)
		must(t, "export", "-force", dir, odd)
		same(t, "export to "+odd, storeContentsOf(t, odd), want)
	}
}

// storeContentsOf are the contents of a SQLite file of any name, through a copy.
func storeContentsOf(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fileContents(t, writeFile(t, "copy.db", string(b)))
}

// A script as the sqlite3 shell writes it.
func TestImportOfSQLiteDump(t *testing.T) {
	const dumped = `PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE IF NOT EXISTS "order"(id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT, r REAL, b, FOREIGN KEY(b) REFERENCES later(x));
INSERT INTO "order" VALUES(1,replace('two\nlines','\n',char(10)),0.10000000000000000555,X'00ff');
INSERT INTO "order" VALUES(7,'it''s; fine',1e999,NULL);
CREATE TABLE later(x UNIQUE);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('order',40);
CREATE VIEW v AS SELECT note FROM "order";
CREATE TRIGGER g INSTEAD OF INSERT ON v BEGIN INSERT INTO "order"(note) VALUES(new.note); END;
COMMIT;
`
	dir := newDir(t)
	must(t, "import", dir, writeFile(t, "dump.sql", dumped))
	want := fileContents(t, makeFile(t, dumped))
	same(t, "import", storeContents(t, dir), want)
	must(t, "sql", dir, `INSERT INTO v VALUES('next')`)
	if got := must(t, "sql", dir, `SELECT max(id) FROM "order"`); got != "41\n" {
		t.Errorf("the sequence goes on with %q", got)
	}
}
