package driver

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// expectTable compares the rows of a query.
func expectTable(t *testing.T, db *sql.DB, query string, want ...string) {
	t.Helper()
	if _, got := table(t, db, query); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", query, got, want)
	}
}

// TestAlterAndBranchPoints: an old state keeps the schema it had, and a table as a
// function shows its rows of then by the columns of now.
func TestAlterAndBranchPoints(t *testing.T) {
	for _, resident := range []string{"all", "keys"} {
		t.Run(resident, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			cfg := Config{Path: path, Resident: resident, Compact: "off"}
			db := openTest(t, cfg)
			mustExec(t, db, `CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT, gone INT); CREATE INDEX ix ON t(b)`)
			mustExec(t, db, `INSERT INTO t VALUES(1,'x',10,5),(2,'y',20,6)`)
			mustExec(t, db, `INSERT INTO tidemark_branch_points(name) VALUES('first')`)
			mustExec(t, db, `ALTER TABLE t ADD COLUMN c INT DEFAULT 7; ALTER TABLE t DROP COLUMN gone; ALTER TABLE t RENAME COLUMN b TO bb`)
			mustExec(t, db, `CREATE UNIQUE INDEX uc ON t(c, id); INSERT INTO t VALUES(3,'z',30,8); UPDATE t SET c = 9 WHERE id = 1`)
			mustExec(t, db, `INSERT INTO tidemark_branch_points(name) VALUES('second')`)
			mustExec(t, db, `ALTER TABLE t RENAME TO u; ALTER TABLE u ADD COLUMN d TEXT NOT NULL DEFAULT 'd'; DROP INDEX uc; ALTER TABLE u DROP COLUMN c; DELETE FROM u WHERE id = 2`)
			check := func() {
				t.Helper()
				expectTable(t, db, `SELECT * FROM u`, "1|x|10|d", "3|z|30|d")
				expectTable(t, db, `SELECT * FROM u('first')`, "1|x|10|d", "2|y|20|d")
				expectTable(t, db, `SELECT * FROM u('second')`, "1|x|10|d", "2|y|20|d", "3|z|30|d")
				expectTable(t, db, `SELECT id FROM u('first') WHERE bb = 20`, "2")
				expectTable(t, db, `SELECT n.id FROM u n JOIN u('second') o USING(id) WHERE n.d = o.d ORDER BY 1`, "1", "3")
				first, second := openTest(t, Config{Path: path, At: "first"}), openTest(t, Config{Path: path, At: "second"})
				expectTable(t, first, `SELECT * FROM t`, "1|x|10|5", "2|y|20|6")
				expectTable(t, first, `SELECT sql FROM sqlite_schema WHERE name = 't'`, "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT, gone INT)")
				expectTable(t, first, `SELECT id FROM t WHERE b > 10 AND gone = 6`, "2")
				expectTable(t, second, `SELECT * FROM t`, "1|x|10|9", "2|y|20|7", "3|z|30|8")
				expectTable(t, second, `SELECT id FROM t WHERE c = 7`, "2")
				expectTable(t, second, `SELECT c FROM t ORDER BY c, id`, "7", "8", "9")
				expectTable(t, second, `SELECT sql FROM sqlite_schema WHERE name = 't'`, "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, bb INT, c INT DEFAULT 7)")
				expectTable(t, first, `PRAGMA integrity_check`, "ok")
				expectTable(t, second, `PRAGMA integrity_check`, "ok")
				mustClose(t, first)
				mustClose(t, second)
				expectTable(t, db, `PRAGMA integrity_check`, "ok")
				mustExec(t, db, `INSERT INTO tidemark_jobs(kind) VALUES('verify')`)
			}
			check()
			mustExec(t, db, `INSERT INTO tidemark_jobs(kind) VALUES('compact')`)
			check()
			mustClose(t, db)
			db = openTest(t, cfg)
			check()
			mustExec(t, db, `INSERT INTO tidemark_jobs(kind) VALUES('index')`)
			mustExec(t, db, `ALTER TABLE u ADD COLUMN e DEFAULT x'00'`)
			mustExec(t, db, `INSERT INTO tidemark_jobs(kind) VALUES('compact')`)
			mustExec(t, db, `ALTER TABLE u DROP COLUMN e`)
			check()
			mustClose(t, db)
			db = openTest(t, cfg)
			check()
		})
	}
}

// TestAlterVirtual: the text of a table that was made by CREATE VIRTUAL TABLE stays
// one, with the table's options.
func TestAlterVirtual(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path})
	mustExec(t, db, `CREATE VIRTUAL TABLE v USING tidemark(id INTEGER PRIMARY KEY, "a, b" TEXT DEFAULT 'x,y)' CHECK ("a, b" <> ''), c INT, UNIQUE(c), resident=keys, max_rows=5, on_full=refuse)`)
	mustExec(t, db, `CREATE VIRTUAL TABLE eph USING tidemark(k TEXT, durable=false)`)
	mustExec(t, db, `INSERT INTO v(c) VALUES(1),(2); INSERT INTO eph VALUES('e')`)
	mustExec(t, db, `CREATE VIEW w AS SELECT c FROM v; CREATE TABLE kid(of INT REFERENCES v(c))`)
	mustExec(t, db, `ALTER TABLE v RENAME TO "V 2"; ALTER TABLE "V 2" ADD COLUMN d TEXT DEFAULT 'd'; ALTER TABLE "V 2" RENAME COLUMN c TO cc`)
	mustExec(t, db, `ALTER TABLE eph ADD COLUMN n INT DEFAULT 3; ALTER TABLE eph DROP COLUMN k`)
	mustExec(t, db, `ALTER TABLE "V 2" ADD CONSTRAINT few CHECK (cc < 100); INSERT INTO kid VALUES(2)`)
	check := func() {
		t.Helper()
		expectTable(t, db, `SELECT sql FROM sqlite_schema WHERE name = 'V 2'`,
			`CREATE VIRTUAL TABLE "V 2" USING tidemark(id INTEGER PRIMARY KEY, "a, b" TEXT DEFAULT 'x,y)' CHECK ("a, b" <> ''), cc INT, d TEXT DEFAULT 'd', UNIQUE(cc), CONSTRAINT few CHECK (cc < 100), resident=keys, max_rows=5, on_full=refuse)`)
		expectTable(t, db, `SELECT * FROM "V 2"`, "1|x,y)|1|d", "2|x,y)|2|d")
		expectTable(t, db, `SELECT * FROM w`, "1", "2")
		expectTable(t, db, `SELECT sql FROM sqlite_schema WHERE name = 'kid'`, `CREATE TABLE kid(of INT REFERENCES "V 2"(cc))`)
		expectTable(t, db, `SELECT sql FROM sqlite_schema WHERE name = 'eph'`, `CREATE VIRTUAL TABLE "eph" USING tidemark(n INT DEFAULT 3, durable=false)`)
		mustFail(t, db, ErrConstraintCheck, `INSERT INTO "V 2"(cc) VALUES(100)`)
		mustFail(t, db, ErrConstraintUnique, `INSERT INTO "V 2"(cc) VALUES(2)`)
		mustFail(t, db, ErrConstraintForeignKey, `DELETE FROM "V 2" WHERE id = 2`)
		mustFail(t, db, ErrFull, `INSERT INTO "V 2"(cc) VALUES(3),(4),(5),(6)`)
	}
	check()
	expectTable(t, db, `SELECT * FROM eph`, "3")
	mustClose(t, db)
	db = openTest(t, Config{Path: path})
	check()
	expectTable(t, db, `SELECT count(*) FROM eph`, "0")
	expectTable(t, db, `SELECT name, "rows", durable, resident FROM tidemark_tables ORDER BY name`, "V 2|2|1|keys", "eph|0|0|all", "kid|1|1|all")
}

// TestAlterOneOfTwo: another connection sees the change, its statements are compiled
// anew, and a snapshot of before keeps what it had.
func TestAlterOneOfTwo(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, `CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2)`)
	reader, writer := testConn(t, db), testConn(t, db)
	st, err := reader.PrepareContext(t.Context(), `SELECT * FROM t`)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	columns := func() int {
		t.Helper()
		rows, err := st.QueryContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil || !rows.Next() {
			t.Fatal(err)
		}
		return len(names)
	}
	if n := columns(); n != 2 {
		t.Fatal(n)
	}
	mustExec(t, reader, `BEGIN`)
	expect(t, reader, 1, `SELECT count(*) FROM t`)
	mustExec(t, writer, `ALTER TABLE t ADD COLUMN c DEFAULT 3; ALTER TABLE t DROP COLUMN a`)
	expect(t, reader, 1, `SELECT a FROM t`)
	if n := columns(); n != 2 {
		t.Errorf("%d columns in a transaction of before", n)
	}
	mustExec(t, reader, `COMMIT`)
	expect(t, reader, 3, `SELECT c FROM t`)
	mustExec(t, writer, `ALTER TABLE t ADD COLUMN d DEFAULT 4`)
	if n := columns(); n != 3 {
		t.Errorf("%d columns after the changes", n)
	}
	mustExec(t, writer, `ALTER TABLE t RENAME TO u`)
	if _, err := st.QueryContext(t.Context()); err == nil || !strings.Contains(err.Error(), "no such table: t") {
		t.Errorf("a statement on a renamed table: %v", err)
	}
}

// TestAlterManyTimes: places of dropped columns stay in the definition, and nothing
// else grows.
func TestAlterManyTimes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path})
	mustExec(t, db, `CREATE TABLE t(id INTEGER PRIMARY KEY, keep TEXT); INSERT INTO t VALUES(1, 'k')`)
	for i := range 70 { // past the bits of SQLite's mask of columns
		mustExec(t, db, `ALTER TABLE t ADD COLUMN x DEFAULT 5`)
		if i%10 == 0 {
			mustExec(t, db, `INSERT INTO t(keep, x) VALUES('more', 6)`)
			mustExec(t, db, `CREATE INDEX ix ON t(x, keep)`)
			expect(t, db, 6, `SELECT x FROM t WHERE x > 5 ORDER BY x`)
			mustExec(t, db, `DROP INDEX ix`)
		}
		mustExec(t, db, `ALTER TABLE t DROP COLUMN x`)
	}
	mustExec(t, db, `ALTER TABLE t ADD COLUMN y DEFAULT 'y'; CREATE INDEX iy ON t(y)`)
	for range 2 {
		expect(t, db, 8, `SELECT count(*) FROM t WHERE y = 'y'`)
		expectTable(t, db, `SELECT * FROM t WHERE id = 1`, "1|k|y")
		expectTable(t, db, `SELECT DISTINCT y FROM t`, "y")
		expectTable(t, db, `PRAGMA integrity_check`, "ok")
		mustClose(t, db)
		db = openTest(t, Config{Path: path})
	}
}

// TestAlterLoop: a generated column that needs itself or the time, which SQLite adds
// although it then cannot read the table, is refused.
func TestAlterLoop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path})
	mustExec(t, db, `CREATE TABLE t(a); INSERT INTO t VALUES(1)`)
	if _, err := db.Exec(`ALTER TABLE t ADD COLUMN b AS (b + 1)`); err == nil || !strings.Contains(err.Error(), `generated column loop on "b"`) {
		t.Errorf("a loop: %v", err)
	}
	if _, err := db.Exec(`ALTER TABLE t ADD COLUMN b AS (date('now'))`); err == nil || !strings.Contains(err.Error(), `non-deterministic use of date() in a generated column`) {
		t.Errorf("the time: %v", err)
	}
	mustExec(t, db, `ALTER TABLE t ADD COLUMN b AS (a + 1)`)
	expectTable(t, db, `SELECT * FROM t`, "1|2")
	mustClose(t, db)
	db = openTest(t, Config{Path: path})
	mustExec(t, db, `CREATE TABLE u(a); ALTER TABLE t RENAME b TO c`)
	expectTable(t, db, `SELECT c FROM t`, "2")
}

// TestAlterBesideViews: views that read what only a store has stand in the way of no
// change, unless they read the table itself.
func TestAlterBesideViews(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, `CREATE TABLE t(a, b); INSERT INTO t VALUES(1, 2); CREATE TABLE o(x); INSERT INTO o VALUES(7)`)
	mustExec(t, db, `INSERT INTO tidemark_branch_points(name) VALUES('then')`)
	mustExec(t, db, `CREATE VIEW stats AS SELECT count(*) AS n FROM tidemark_stats; CREATE VIEW on_it AS SELECT n > 0 AS some FROM stats; CREATE VIEW old AS SELECT x FROM o('then'); CREATE VIEW plain AS SELECT a FROM t`)
	mustExec(t, db, `CREATE TRIGGER tr INSTEAD OF DELETE ON stats BEGIN DELETE FROM o; END`)
	mustExec(t, db, `ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME COLUMN a TO c; ALTER TABLE u DROP COLUMN b; ALTER TABLE u ADD COLUMN d DEFAULT 3`)
	expectTable(t, db, `SELECT * FROM u`, "1|3")
	expectTable(t, db, `SELECT * FROM plain`, "1")
	expectTable(t, db, `SELECT * FROM old`, "7")
	expectTable(t, db, `SELECT some FROM on_it`, "1")
	if _, err := db.Exec(`ALTER TABLE o RENAME TO p`); err == nil || !strings.Contains(err.Error(), "DROP VIEW old first") {
		t.Errorf("a table whose old state a view reads: %v", err)
	}
	mustExec(t, db, `CREATE TABLE fresh(z); DELETE FROM stats`)
	expectTable(t, db, `SELECT count(*) FROM o`, "0")
	mustExec(t, db, `DROP VIEW old; ALTER TABLE o RENAME TO p`)
	expectTable(t, db, `SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema ORDER BY name)`, "fresh on_it p plain stats tr u")
	mustExec(t, db, `CREATE VIEW broken AS SELECT nope FROM u`)
	if _, err := db.Exec(`ALTER TABLE p RENAME TO q`); err == nil || !strings.Contains(err.Error(), "error in view broken: no such column: nope") {
		t.Errorf("beside a broken view: %v", err)
	}
	mustExec(t, db, `DROP VIEW broken; ALTER TABLE p RENAME TO q`)
}
