package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile is a schema of names, types and values that are easily got wrong.
const hostile = `
CREATE TABLE "a.b ""q' x"("sel ect" INTEGER PRIMARY KEY AUTOINCREMENT, "group" TEXT, "é" BLOB, "rowid" REAL, n);
INSERT INTO "a.b ""q' x" VALUES
 (-9223372036854775808, 'x'||char(0)||'y'||char(13,10)||'z'||char(13), x'0001', '5', -0.0),
 (9223372036854775807, '', x'', 9e999, -9e999),
 (7, NULL, NULL, 0.1, 1e-320),
 (8, '123', NULL, 1.7976931348623157e308, '123'),
 (9, ' ', '1', 5e-324, x'00'),
 (10, 'it''s; -- no comment', '1.50', 123456789012345678, 9007199254740993.0),
 (11, '/* " ' || char(10) || char(10) || '.quit' || char(10), x'78', 2.2250738585072014e-308, 1e23);
DELETE FROM "a.b ""q' x" WHERE "sel ect" = 9223372036854775807;
INSERT INTO "a.b ""q' x" VALUES(12, '', x'', 9e999, -9e999);
CREATE TABLE "sqlite stat"(a);
INSERT INTO "sqlite stat"(rowid, a) VALUES(-4, 1), (100, 'x''y'), (-9223372036854775808, 0.3), (9223372036854775807, NULL);
CREATE TABLE empty(x, y);
CREATE TABLE wr(k TEXT, j INT, v, PRIMARY KEY(k, j)) WITHOUT ROWID;
INSERT INTO wr VALUES('a', 1, 2.5), ('b', 'x', NULL), ('a', 0, 'x''00''');
CREATE TABLE st(a INT, b ANY, c TEXT, d REAL, e BLOB) STRICT;
INSERT INTO st VALUES(1, '1', '007', 3, x''), (2, 2.0, 'x''00''', 0.30000000000000004, x'ff');
CREATE TABLE rr(rowid, _rowid_, oid);
INSERT INTO rr VALUES(1, 2, 3);
CREATE TABLE pd(id INTEGER PRIMARY KEY DESC, z);
INSERT INTO pd(rowid, id, z) VALUES(77, 1, 2), (5, NULL, 3);
CREATE TABLE dates(d DATETIME, b BOOLEAN, t TIMESTAMP, c DATE);
INSERT INTO dates VALUES('2024-01-01 00:00:00', 1, 1700000000, 'soon'), ('2024-01-01T00:00:00Z', 0, 0.5, x'00');
CREATE TABLE auto(id INTEGER PRIMARY KEY AUTOINCREMENT);
CREATE TABLE "select"("from" TEXT COLLATE NOCASE DEFAULT 'a,b)' CHECK("from" <> 'c'), "" INT);
INSERT INTO "select" VALUES('x', 5);
CREATE TABLE one(only);
INSERT INTO one VALUES(NULL), (''), (NULL);
CREATE UNIQUE INDEX "i x" ON "a.b ""q' x"("group" COLLATE NOCASE DESC, n);
CREATE VIEW v1 AS SELECT * FROM "sqlite stat";
CREATE VIEW v2 AS SELECT a FROM v1 -- over a view
;
CREATE VIEW nowhere AS SELECT * FROM missing;
CREATE TRIGGER tg INSTEAD OF INSERT ON v2 BEGIN INSERT INTO "sqlite stat" VALUES(CASE WHEN new.a THEN 1 ELSE 2 END); SELECT 1; END;
`

// What SQLite holds goes through a store and comes back, bit by bit.
func TestHostileTransfer(t *testing.T) {
	original := makeFile(t, hostile)
	want := fileContents(t, original)

	dir := newDir(t)
	must(t, "import", dir, original)
	same(t, "import of a SQLite file", storeContents(t, dir), want)

	script := writeFile(t, "hostile.sql", hostile)
	scripted := newDir(t)
	must(t, "import", scripted, script)
	same(t, "import of a script", storeContents(t, scripted), want)

	file := filepath.Join(t.TempDir(), "out.db")
	must(t, "export", dir, file)
	same(t, "export to a SQLite file", fileContents(t, file), want)

	dumped := must(t, "export", dir, "-")
	same(t, "the dump in SQLite", fileContents(t, makeFile(t, dumped)), want)
	again := newDir(t)
	status, _, stderr := tidemark(t, dumped, "import", "-format=sql", again, "-")
	if status != statusDone {
		t.Fatal(stderr)
	}
	same(t, "the dump in a store", storeContents(t, again), want)
	if shell := shellOutput(t, dir, ".dump\n"); shell != dumped {
		t.Error("the shell's .dump is not what export writes")
	}
}

// Every value goes through CSV into a table of the same definition.
func TestHostileCSV(t *testing.T) {
	from := newDir(t)
	must(t, "import", from, makeFile(t, hostile))
	to := newDir(t)
	must(t, "import", to, writeFile(t, "schema.sql", shellOutput(t, from, ".schema\n")))
	for _, name := range []string{`a.b "q' x`, "wr", "st", "rr", "select", "one", "empty", "dates"} {
		text := must(t, "export", from, "-.csv", name)
		status, _, stderr := tidemark(t, text, "import", "-format=csv", "-header=yes", to, "-", name)
		if status != statusDone {
			t.Fatalf("%s: %s\n%s", name, stderr, text)
		}
	}
	keep := func(lines []string) (kept []string) {
		for _, l := range lines {
			if !strings.HasPrefix(l, "sqlite stat:") && !strings.HasPrefix(l, "pd:") && !strings.HasPrefix(l, `"sequence"`) {
				kept = append(kept, l)
			}
		}
		return kept
	}
	same(t, "the tables through CSV", keep(storeContents(t, to)), keep(storeContents(t, from)))
}

// Many columns and long values.
func TestWideRows(t *testing.T) {
	var columns, values []string
	for i := range 900 {
		columns = append(columns, fmt.Sprintf("c%d", i))
		values = append(values, fmt.Sprint(i))
	}
	original := makeFile(t, "CREATE TABLE wide("+strings.Join(columns, ",")+"); INSERT INTO wide VALUES("+strings.Join(values, ",")+
		"); CREATE TABLE long(a, b); INSERT INTO long VALUES(zeroblob(1500000), printf('%.*c', 700000, 'x'))")
	dir := newDir(t)
	must(t, "import", dir, original)
	same(t, "import", storeContents(t, dir), fileContents(t, original))
	same(t, "dump", fileContents(t, makeFile(t, must(t, "export", dir, "-"))), fileContents(t, original))
}

// A table made with options is an ordinary one for others.
func TestExportOfVirtualTables(t *testing.T) {
	dir := newDir(t)
	must(t, "sql", dir, `CREATE VIRTUAL TABLE "v t" USING tidemark(id INTEGER PRIMARY KEY, k TEXT DEFAULT 'a,b)', CHECK(k IN ('x','a,b)')), durable=true, resident=all);
		INSERT INTO "v t"(k) VALUES('x')`)
	file := filepath.Join(t.TempDir(), "out.db")
	must(t, "export", dir, file)
	same(t, "export", fileContents(t, file),
		fileContents(t, makeFile(t, `CREATE TABLE "v t"(id INTEGER PRIMARY KEY, k TEXT DEFAULT 'a,b)', CHECK(k IN ('x','a,b)'))); INSERT INTO "v t" VALUES(1, 'x')`)))
}

// One table takes its indexes and triggers along and nothing else.
func TestTransferOfOneTable(t *testing.T) {
	original := makeFile(t, `CREATE TABLE a(x); CREATE INDEX ai ON a(x); INSERT INTO a VALUES(1); CREATE TABLE b(y); INSERT INTO b VALUES(2); CREATE VIEW v AS SELECT * FROM b`)
	want := fileContents(t, makeFile(t, `CREATE TABLE a(x); CREATE INDEX ai ON a(x); INSERT INTO a VALUES(1)`))
	dir := newDir(t)
	must(t, "import", dir, original, "A")
	same(t, "import", storeContents(t, dir), want)
	all := newDir(t)
	must(t, "import", all, original)
	same(t, "export", fileContents(t, makeFile(t, must(t, "export", all, "-", "a"))), want)
}

// An export never shows half a file and never takes a file's place unasked.
func TestExportFiles(t *testing.T) {
	dir := newStore(t)
	folder := t.TempDir()
	for _, name := range []string{"out.db", "out.sql", "out.csv"} {
		file := filepath.Join(folder, name)
		args := []string{dir, file}
		if name == "out.csv" {
			args = append(args, "t")
		}
		if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := tidemark(t, "", append([]string{"export"}, args...)...)
		if status != statusRefused || !strings.Contains(stderr, "-force") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %q", name, status, stderr)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != "precious" {
			t.Errorf("%s was touched: %q, %v", name, b, err)
		}
		// Asked to replace it with something that is not there, it stays, too.
		status, _, _ = tidemark(t, "", "export", "-force", dir, file, "missing")
		if b, err := os.ReadFile(file); status != statusRefused || err != nil || string(b) != "precious" {
			t.Errorf("%s after a failed export: status %d, %q, %v", name, status, b, err)
		}
		must(t, append([]string{"export", "-force"}, args...)...)
		if b, err := os.ReadFile(file); err != nil || string(b) == "precious" {
			t.Errorf("%s was not replaced", name)
		}
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 3 {
		t.Errorf("files left: %v, %v", left, err)
	}
	fileContents(t, filepath.Join(folder, "out.db"))
}
