package driver

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

// TestAlterLikeSQLite runs ALTER TABLE on plain SQLite and on a store, over tables
// with rows.
func TestAlterLikeSQLite(t *testing.T) {
	for name, script := range alterScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareAltered(t, newOracle(t), newSubject(t), script)
		})
	}
}

// TestAlterReopened runs the same with what a store does between: tables of which
// only keys are in memory, compactions, and stores that are opened anew behind every
// ALTER TABLE.
func TestAlterReopened(t *testing.T) {
	for name, script := range alterScripts {
		if name == "temp" {
			continue
		}
		for _, mode := range []string{"reopened", "keys", "keys compacted"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				s := &subject{t: t, dir: filepath.Join(t.TempDir(), "store"), fresh: true}
				if mode != "reopened" {
					s.dir += "?resident=keys"
				}
				s.open()
				t.Cleanup(func() { s.close() })
				s.altered = func() {
					if mode == "keys compacted" {
						if out := s.run("INSERT INTO tidemark_jobs(kind) VALUES('compact')"); out.code != 0 {
							t.Fatal(out)
						}
					}
					s.close()
					s.open()
				}
				compareAltered(t, newOracle(t), s, script)
			})
		}
	}
}

// compareAltered is compare without the columns of the queries that SQLite runs for
// an ALTER TABLE. Behind one outside of a transaction it calls s.altered.
func compareAltered(t *testing.T, o *oracle, s *subject, script string) {
	t.Helper()
	open := false
	for text := range sqltext.Statements(script) {
		switch st := sqltext.Parse(text); st.Kind {
		case sqltext.Begin:
			open = true
		case sqltext.Commit, sqltext.Rollback:
			open = false
		case sqltext.AlterTable:
			want, got := o.run(text), s.run(text)
			if got.code != want.code || got.message != want.message {
				t.Errorf("%s\n got %s\nwant %s", strings.TrimSpace(text), got, want)
			}
			if s.altered != nil && !open {
				s.altered()
			}
			continue
		}
		if s.fresh && strings.Contains(text, "total_changes()") {
			continue // they count from the opening on
		}
		compareOne(t, o, s, text)
	}
	if got := s.run("PRAGMA integrity_check"); len(got.rows) != 1 || got.rows[0][0] != "ok" {
		t.Error(got)
	}
}

var alterScripts = map[string]string{
	"rename table": `
		CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT UNIQUE, c INT CHECK (t.c > 0));
		CREATE INDEX ix ON t(c DESC, b COLLATE NOCASE);
		CREATE TABLE kid(id INTEGER PRIMARY KEY, of INT REFERENCES t(a) ON DELETE CASCADE);
		CREATE VIEW v AS SELECT t.a, b FROM t WHERE c > 1;
		CREATE VIEW w AS SELECT * FROM v;
		CREATE TRIGGER tr INSTEAD OF INSERT ON v BEGIN INSERT INTO t(a, b, c) VALUES(NEW.a, NEW.b, 5); UPDATE t SET c = t.c + 1 WHERE t.a = NEW.a; END;
		INSERT INTO t VALUES(1,'x',1),(2,'y',2);
		INSERT INTO kid VALUES(1,1),(2,2);
		ALTER TABLE t RENAME TO "new name";
		SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name;
		SELECT * FROM "new name";
		SELECT * FROM t;
		SELECT * FROM v; SELECT * FROM w;
		INSERT INTO v VALUES(3,'z'); SELECT * FROM "new name" ORDER BY c;
		INSERT INTO "new name" VALUES(9,'x',1);
		INSERT INTO "new name" VALUES(9,'q',0);
		PRAGMA foreign_keys=ON;
		INSERT INTO kid VALUES(5,77);
		DELETE FROM "new name" WHERE a=1; SELECT * FROM kid;
		ALTER TABLE "new name" RENAME TO T;
		SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name;
		PRAGMA foreign_key_list(kid);
		PRAGMA index_list(t);
		CREATE TABLE t(x);
		DROP TABLE T; SELECT count(*) FROM sqlite_schema;
		SELECT * FROM kid;`,
	"rename refused": `
		CREATE TABLE t(a); CREATE TABLE u(a); CREATE INDEX i ON t(a); CREATE VIEW v AS SELECT a FROM t; INSERT INTO t VALUES(1);
		ALTER TABLE t RENAME TO u;
		ALTER TABLE t RENAME TO U;
		ALTER TABLE t RENAME TO i;
		ALTER TABLE t RENAME TO v;
		ALTER TABLE t RENAME TO t;
		ALTER TABLE t RENAME TO sqlite_x;
		ALTER TABLE v RENAME TO w;
		ALTER TABLE nope RENAME TO w;
		ALTER TABLE t RENAME COLUMN nope TO w;
		ALTER TABLE u RENAME COLUMN a TO b; ALTER TABLE u ADD COLUMN c; ALTER TABLE u RENAME b TO c;
		ALTER TABLE v RENAME COLUMN a TO b;
		CREATE VIEW broken AS SELECT zzz FROM t;
		ALTER TABLE t RENAME TO w;
		ALTER TABLE t RENAME COLUMN a TO b;
		ALTER TABLE t DROP COLUMN a;
		SELECT name, sql FROM sqlite_schema ORDER BY type, name;
		SELECT * FROM t;`,
	"rename column": `
		CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT UNIQUE, c INT NOT NULL CHECK (c > 0) DEFAULT 7);
		CREATE INDEX ix ON t(c, b);
		CREATE TABLE kid(id INTEGER PRIMARY KEY, of TEXT REFERENCES t(b));
		CREATE VIEW v AS SELECT b, c AS d FROM t;
		CREATE TRIGGER tr INSTEAD OF INSERT ON v BEGIN INSERT INTO t(b, c) VALUES(NEW.b, NEW.d); END;
		INSERT INTO t(b) VALUES('x'),('y'); INSERT INTO kid VALUES(1,'x');
		ALTER TABLE t RENAME COLUMN b TO "B b";
		ALTER TABLE t RENAME c TO e;
		SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name;
		SELECT * FROM t; SELECT "B b", e FROM t WHERE e = 7; SELECT * FROM v;
		SELECT b FROM t;
		INSERT INTO v VALUES('z', 3); INSERT INTO v VALUES('z', 3); INSERT INTO v VALUES('w', 0);
		INSERT INTO t("B b", e) VALUES('k', NULL);
		INSERT INTO t("B b") VALUES('k'); SELECT * FROM t;
		ALTER TABLE t RENAME COLUMN a TO id;
		INSERT INTO t(id, e) VALUES(99, 1); INSERT INTO t(e) VALUES(2); SELECT id, rowid, e FROM t; SELECT * FROM sqlite_sequence;
		PRAGMA table_info(t); PRAGMA index_xinfo(ix);
		UPDATE t SET e = e + 1 WHERE id > 2; DELETE FROM t WHERE "B b" = 'y'; SELECT * FROM t ORDER BY e;`,
	"add column": `
		CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT); INSERT INTO t VALUES(1,'x'),(2,'y');
		ALTER TABLE t ADD COLUMN c; SELECT * FROM t;
		ALTER TABLE t ADD COLUMN d INT DEFAULT 5; SELECT * FROM t;
		ALTER TABLE t ADD e TEXT NOT NULL DEFAULT 12; SELECT *, typeof(e) FROM t;
		ALTER TABLE t ADD COLUMN f REAL DEFAULT 3; ALTER TABLE t ADD COLUMN g DEFAULT x'0102'; ALTER TABLE t ADD COLUMN h DEFAULT word; ALTER TABLE t ADD COLUMN i INT DEFAULT true;
		ALTER TABLE t ADD COLUMN j TEXT COLLATE NOCASE DEFAULT 'AbC'; ALTER TABLE t ADD COLUMN k NUMERIC DEFAULT '3.0';
		SELECT *, typeof(f), typeof(g), typeof(h), typeof(i), typeof(k) FROM t;
		SELECT a FROM t WHERE d = 5; SELECT a FROM t WHERE j = 'abc'; SELECT d, count(*) FROM t GROUP BY d; SELECT min(d), max(d), sum(d) FROM t;
		SELECT a FROM t ORDER BY d, a DESC; SELECT x.a, y.a FROM t x JOIN t y ON x.d = y.d ORDER BY 1, 2;
		INSERT INTO t(b) VALUES('z'); INSERT INTO t(b, d, e) VALUES('w', NULL, NULL); INSERT INTO t(b, d, e) VALUES('w', NULL, 'e');
		SELECT * FROM t;
		UPDATE t SET d = d + 1 WHERE a = 1; UPDATE t SET b = 'q' WHERE a = 2; SELECT * FROM t;
		CREATE INDEX ix ON t(d, j); SELECT a, d FROM t WHERE d = 5 ORDER BY j; SELECT d FROM t WHERE d >= 5 ORDER BY d; SELECT a FROM t WHERE d IS NULL;
		CREATE UNIQUE INDEX un ON t(e);
		DELETE FROM t WHERE d = 5; SELECT * FROM t;
		SELECT sql FROM sqlite_schema ORDER BY type, name;
		PRAGMA table_info(t);
		ALTER TABLE t ADD COLUMN l INT NOT NULL;
		ALTER TABLE t ADD COLUMN l INT UNIQUE;
		ALTER TABLE t ADD COLUMN l INT PRIMARY KEY;
		ALTER TABLE t ADD COLUMN l DEFAULT (1+1);
		ALTER TABLE t ADD COLUMN l DEFAULT CURRENT_TIMESTAMP;
		ALTER TABLE t ADD COLUMN b; ALTER TABLE t ADD COLUMN B;
		ALTER TABLE t ADD COLUMN l INT DEFAULT 0 CHECK (l > 0);
		ALTER TABLE t ADD COLUMN l INT DEFAULT 1 CHECK (l > a);
		ALTER TABLE t ADD COLUMN l INT CHECK (l > a);
		INSERT INTO t(a, e, l) VALUES(50, 'f', 3);
		INSERT INTO t(a, e, l) VALUES(50, 'f', 51);
		ALTER TABLE t ADD COLUMN m COLLATE nope;
		ALTER TABLE t ADD COLUMN m CHECK (nope > 1);
		PRAGMA foreign_keys=ON;
		ALTER TABLE t ADD COLUMN m INT REFERENCES t(a) DEFAULT 1;
		ALTER TABLE t ADD COLUMN m INT REFERENCES t(a); INSERT INTO t(e, m) VALUES('g', 12345); INSERT INTO t(e, m) VALUES('g', 50);
		SELECT * FROM t; SELECT changes(), total_changes();`,
	"add to an empty table": `
		CREATE TABLE t(a);
		ALTER TABLE t ADD COLUMN b NOT NULL; ALTER TABLE t ADD COLUMN c DEFAULT (1+1); ALTER TABLE t ADD COLUMN d DEFAULT CURRENT_DATE; ALTER TABLE t ADD COLUMN e CHECK (e > 1);
		INSERT INTO t(a) VALUES(1); INSERT INTO t(a, b) VALUES(1, 2); SELECT a, b, c, d = date('now') FROM t;
		CREATE TABLE s(a INT) STRICT; INSERT INTO s VALUES(1);
		ALTER TABLE s ADD COLUMN b INT DEFAULT 'abc'; ALTER TABLE s ADD COLUMN b INT DEFAULT '12'; SELECT b, typeof(b) FROM s; ALTER TABLE s ADD COLUMN c ANY DEFAULT '12'; SELECT c, typeof(c) FROM s;
		ALTER TABLE s ADD COLUMN d; ALTER TABLE s ADD COLUMN d NOPE; INSERT INTO s VALUES(1, 'x', 1);`,
	"drop column": `
		CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INT, d INT CHECK (d > 0), e TEXT UNIQUE, f);
		CREATE INDEX ix ON t(c); CREATE VIEW v AS SELECT a, f FROM t;
		INSERT INTO t VALUES(1,'x',1,1,'e',9),(2,'y',2,2,'f',8);
		ALTER TABLE t DROP COLUMN a; ALTER TABLE t DROP COLUMN c; ALTER TABLE t DROP COLUMN e; ALTER TABLE t DROP f; ALTER TABLE t DROP COLUMN nope;
		ALTER TABLE t DROP COLUMN b; SELECT * FROM t; SELECT b FROM t;
		INSERT INTO t VALUES(3,3,3,'g',7); INSERT INTO t VALUES(4,3,0,'h',7); INSERT INTO t VALUES(4,'x',3,3,'g',7);
		INSERT INTO t(c) VALUES(9); UPDATE t SET c = 77 WHERE a = 2; SELECT * FROM t; SELECT a FROM t WHERE c = 77; SELECT c FROM t ORDER BY c; SELECT e FROM t WHERE e > 'e';
		ALTER TABLE t DROP COLUMN d;
		SELECT * FROM t; INSERT INTO t(a, c) VALUES(20, 20); SELECT * FROM v;
		ALTER TABLE t ADD COLUMN b INT DEFAULT 4; SELECT * FROM t; SELECT b FROM t WHERE b = 4; UPDATE t SET b = a; SELECT * FROM t;
		DROP INDEX ix; ALTER TABLE t DROP COLUMN c; DROP VIEW v; ALTER TABLE t DROP COLUMN f; SELECT * FROM t;
		ALTER TABLE t DROP COLUMN b; ALTER TABLE t DROP COLUMN e; ALTER TABLE t DROP COLUMN a;
		SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name; PRAGMA table_info(t);
		DELETE FROM t WHERE e = 'e'; SELECT a, e FROM t; SELECT rowid FROM t WHERE a > 2;
		CREATE TABLE kid(a REFERENCES t(a), b, FOREIGN KEY(b) REFERENCES t(e)); ALTER TABLE kid DROP COLUMN a; ALTER TABLE kid DROP COLUMN b;
		CREATE TABLE w(k TEXT PRIMARY KEY, v, x) WITHOUT ROWID; INSERT INTO w VALUES('b',1,2),('a',3,4);
		ALTER TABLE w DROP COLUMN k; ALTER TABLE w DROP COLUMN v; SELECT * FROM w; ALTER TABLE w ADD COLUMN y DEFAULT 'y'; SELECT * FROM w; UPDATE w SET y = 1 WHERE k = 'a'; REPLACE INTO w VALUES('b', 0, 0); SELECT * FROM w;`,
	"names of checks": `
		CREATE TABLE t(a CHECK ("a" > 0), b CHECK ([b] > 0), c CHECK ('x' || c > 'x0'), d CHECK (` + "`d`" + ` > 0), e CHECK ("e""" > 0), f CHECK ((("f")) > 0), CHECK( "a" + b < 100 ));
		INSERT INTO t(a) VALUES(0); INSERT INTO t(b) VALUES(0); INSERT INTO t(c) VALUES(''); INSERT INTO t(d) VALUES(0); INSERT INTO t(f) VALUES(0); INSERT INTO t(a, b) VALUES(50, 50);`,
	"constraints": `
		CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INT, CONSTRAINT one CHECK (c <> 1)); INSERT INTO t VALUES(1,'x',5),(2,NULL,6);
		ALTER TABLE t ALTER b SET NOT NULL; ALTER TABLE t ALTER COLUMN c SET NOT NULL; ALTER TABLE t ALTER nope SET NOT NULL; ALTER TABLE t ALTER a SET NOT NULL;
		INSERT INTO t VALUES(3,'z',NULL); INSERT INTO t VALUES(3,NULL,3); INSERT INTO t VALUES(4,'z',1);
		ALTER TABLE t ALTER c DROP NOT NULL; INSERT INTO t VALUES(5,'z',NULL); ALTER TABLE t ALTER b DROP NOT NULL; ALTER TABLE t ALTER nope DROP NOT NULL;
		ALTER TABLE t DROP CONSTRAINT nope; ALTER TABLE t DROP CONSTRAINT one; INSERT INTO t VALUES(6,'z',1);
		ALTER TABLE t ADD CONSTRAINT two CHECK (c < 6); ALTER TABLE t ADD CONSTRAINT two CHECK (c < 60); ALTER TABLE t ADD CHECK (nope); ALTER TABLE t ADD CHECK (c IS NOT NULL); ALTER TABLE t ADD CHECK (a + c < 1000);
		ALTER TABLE t ADD CONSTRAINT two CHECK (c < 70);
		INSERT INTO t VALUES(7,'z',61); INSERT INTO t VALUES(900,'z',50); INSERT INTO t VALUES(900,'z',NULL);
		ALTER TABLE t DROP CONSTRAINT two; INSERT INTO t VALUES(7,'z',61);
		UPDATE t SET c = 0; ALTER TABLE t ALTER c SET NOT NULL ON CONFLICT IGNORE; INSERT INTO t VALUES(8,'z',NULL),(9,'z',9);
		SELECT * FROM t; SELECT sql FROM sqlite_schema; PRAGMA table_info(t);
		CREATE VIEW v AS SELECT * FROM t; ALTER TABLE v ALTER a SET NOT NULL; ALTER TABLE v DROP CONSTRAINT x; ALTER TABLE v ADD CHECK (a > 1);`,
	"in transactions": `
		CREATE TABLE t(a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES(1,'x');
		BEGIN; ALTER TABLE t ADD COLUMN c DEFAULT 5; INSERT INTO t VALUES(2,'y',6); SELECT * FROM t; SAVEPOINT s; ALTER TABLE t DROP COLUMN b; SELECT * FROM t; INSERT INTO t VALUES(3,7);
		ALTER TABLE t RENAME TO u; SELECT * FROM u; INSERT INTO u VALUES(4, 8); ROLLBACK TO s; SELECT * FROM t; SELECT * FROM u; INSERT INTO t VALUES(5,'z',9); ALTER TABLE t RENAME c TO d; RELEASE s; SELECT * FROM t; COMMIT;
		SELECT b, d FROM t; SELECT sql FROM sqlite_schema;
		BEGIN; ALTER TABLE t RENAME TO w; ALTER TABLE w ADD COLUMN e DEFAULT 'e'; UPDATE w SET e = 'f' WHERE a = 1; ROLLBACK; SELECT * FROM t; SELECT sql FROM sqlite_schema; SELECT * FROM w;
		BEGIN; ALTER TABLE t ADD COLUMN e NOT NULL; INSERT INTO t VALUES(9,9,9); ALTER TABLE t ADD CHECK (a < 9); ALTER TABLE t ADD CHECK (a < 10); COMMIT; INSERT INTO t VALUES(10,1,1); SELECT * FROM t;
		CREATE TABLE x(a); BEGIN; INSERT INTO x VALUES(1); ALTER TABLE x ADD COLUMN b NOT NULL; DELETE FROM x; ALTER TABLE x ADD COLUMN b NOT NULL; INSERT INTO x VALUES(1,2); COMMIT; SELECT * FROM x;`,
	"triggers": `
		CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INT DEFAULT 3); CREATE TABLE log(x, y); INSERT INTO t VALUES(1,'x',1);
		CREATE TRIGGER tr AFTER UPDATE OF b ON t WHEN NEW.c > 0 BEGIN INSERT INTO log VALUES(OLD.b, NEW.b); UPDATE t SET c = t.c + 1 WHERE a = NEW.a; END;
		CREATE TRIGGER ti AFTER INSERT ON t BEGIN INSERT INTO log SELECT count(*), NEW.b FROM t; END;
		UPDATE t SET b = 'y'; SELECT * FROM t; SELECT * FROM log;
		ALTER TABLE t RENAME TO u; UPDATE u SET b = 'z'; INSERT INTO u(b) VALUES('n'); SELECT * FROM u; SELECT * FROM log;
		ALTER TABLE u RENAME COLUMN b TO bb; UPDATE u SET bb = 'zz'; SELECT * FROM u; SELECT * FROM log;
		ALTER TABLE log RENAME x TO was; ALTER TABLE log ADD COLUMN at DEFAULT 'now'; UPDATE u SET bb = 'yy'; SELECT * FROM log;
		ALTER TABLE log ADD COLUMN more; INSERT INTO u(bb) VALUES('m');
		SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name;
		ALTER TABLE u DROP COLUMN bb; ALTER TABLE u DROP COLUMN c; DROP TRIGGER tr; ALTER TABLE u DROP COLUMN c; DROP TRIGGER ti; ALTER TABLE u DROP COLUMN bb; SELECT * FROM u; SELECT * FROM log;
		CREATE TRIGGER td BEFORE DELETE ON u BEGIN INSERT INTO log(was) VALUES(OLD.a); END; ALTER TABLE u RENAME TO t; DELETE FROM t WHERE a = 1; SELECT * FROM log;
		BEGIN; ALTER TABLE t RENAME TO q; DELETE FROM q; ROLLBACK; SELECT * FROM t; DELETE FROM t; SELECT * FROM log;`,
	"generated": `
		CREATE TABLE t(a INTEGER PRIMARY KEY, b INT, g INT AS (b * 2) STORED, v TEXT GENERATED ALWAYS AS ('v' || g || b)); INSERT INTO t(b) VALUES(1),(2);
		ALTER TABLE t DROP COLUMN b; ALTER TABLE t RENAME b TO c; SELECT * FROM t; UPDATE t SET c = c + 1; INSERT INTO t(c) VALUES(9); SELECT * FROM t; SELECT * FROM t WHERE g = 4;
		ALTER TABLE t ADD COLUMN d DEFAULT 4; SELECT * FROM t; INSERT INTO t VALUES(20, 5, 6); UPDATE t SET c = d WHERE a = 1; SELECT * FROM t;
		ALTER TABLE t DROP COLUMN v; SELECT * FROM t; UPDATE t SET c = 0; SELECT * FROM t; ALTER TABLE t RENAME g TO gg; ALTER TABLE t RENAME TO u; INSERT INTO u(c) VALUES(7); SELECT * FROM u;
		ALTER TABLE u DROP COLUMN gg; SELECT * FROM u; ALTER TABLE u DROP COLUMN c; SELECT * FROM u; INSERT INTO u VALUES(30, 31); SELECT * FROM u; SELECT sql FROM sqlite_schema;`,
	"computed indexes": `
		CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c INT); INSERT INTO t VALUES(1,'X',1),(2,'y',2),(3,NULL,3);
		CREATE UNIQUE INDEX lo ON t(lower(b)) ; CREATE UNIQUE INDEX part ON t(c) WHERE c > 1 AND b IS NOT NULL; CREATE INDEX both ON t(c + a, b) WHERE b <> 'q';
		ALTER TABLE t DROP COLUMN b; ALTER TABLE t DROP COLUMN c;
		ALTER TABLE t ADD COLUMN d INT DEFAULT 5; INSERT INTO t(b) VALUES('x'); INSERT INTO t(b, c) VALUES('z', 2); INSERT INTO t(b, c) VALUES('z', 1);
		ALTER TABLE t RENAME COLUMN b TO "bb b"; ALTER TABLE t RENAME c TO cc; SELECT name, sql FROM sqlite_schema ORDER BY name;
		INSERT INTO t("bb b") VALUES('Z'); INSERT INTO t("bb b", cc) VALUES('w', 2); UPDATE t SET cc = 2 WHERE a = 1; UPDATE t SET "bb b" = 'Y' WHERE a = 3; UPDATE t SET "bb b" = 'k' WHERE a = 3; SELECT * FROM t;
		CREATE UNIQUE INDEX dd ON t(d, a) WHERE d = 5; CREATE INDEX de ON t(d * 2); ALTER TABLE t RENAME TO u; UPDATE u SET d = d + 1; INSERT INTO u(cc) VALUES(3); SELECT * FROM u; SELECT * FROM u WHERE d * 2 = 12;
		ALTER TABLE u DROP COLUMN d; DROP INDEX dd; DROP INDEX de; ALTER TABLE u DROP COLUMN d; SELECT * FROM u; INSERT INTO u VALUES(90, 'X', 90);
		DROP INDEX lo; DROP INDEX both; DROP INDEX part; ALTER TABLE u DROP COLUMN "bb b"; ALTER TABLE u ADD COLUMN b DEFAULT 'b'; SELECT * FROM u; CREATE UNIQUE INDEX lo ON u(upper(b)); CREATE UNIQUE INDEX lo ON u(upper(b) || a); INSERT INTO u(b) VALUES('c'); SELECT * FROM u; PRAGMA index_list(u); PRAGMA index_xinfo(lo);`,
	"add generated": `
		CREATE TABLE t(a INTEGER PRIMARY KEY, b INT); INSERT INTO t VALUES(1,1),(2,NULL);
		ALTER TABLE t ADD COLUMN g INT AS (b * 2); SELECT * FROM t; ALTER TABLE t ADD COLUMN s AS (b) STORED; ALTER TABLE t ADD COLUMN n AS (b) NOT NULL; ALTER TABLE t ADD COLUMN h AS (coalesce(g, 0) + 1) NOT NULL CHECK (h < 10); SELECT * FROM t;
		INSERT INTO t(b) VALUES(3); INSERT INTO t(b) VALUES(30); UPDATE t SET b = 4 WHERE a = 1; SELECT * FROM t; CREATE INDEX ig ON t(g); SELECT a FROM t WHERE g = 8; ALTER TABLE t DROP COLUMN g; ALTER TABLE t ADD COLUMN k AS (a + b) CHECK (k < 6);
		ALTER TABLE t ADD COLUMN k TEXT AS (a || b); SELECT k, typeof(k) FROM t; ALTER TABLE t ADD COLUMN bad AS (nope); SELECT * FROM t;
		BEGIN; ALTER TABLE t ADD COLUMN z AS (k || 'z'); SELECT z FROM t; UPDATE t SET b = 0; SELECT z FROM t; ROLLBACK; SELECT * FROM t; ALTER TABLE t RENAME b TO bb; UPDATE t SET bb = 1; SELECT * FROM t; SELECT sql FROM sqlite_schema ORDER BY name;`,
	"sequence": `
		CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT, b); INSERT INTO t(b) VALUES(1),(2); CREATE TABLE o(a INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO o VALUES(40);
		ALTER TABLE t RENAME TO u; SELECT * FROM sqlite_sequence; DELETE FROM u; INSERT INTO u(b) VALUES(3); SELECT * FROM u; SELECT * FROM sqlite_sequence;
		BEGIN; ALTER TABLE u RENAME TO w; INSERT INTO w(b) VALUES(4); SELECT * FROM sqlite_sequence; ROLLBACK; SELECT * FROM sqlite_sequence; INSERT INTO u(b) VALUES(5); SELECT * FROM u;
		ALTER TABLE sqlite_sequence RENAME TO x; ALTER TABLE sqlite_sequence ADD COLUMN x; ALTER TABLE sqlite_schema ADD COLUMN x; SELECT changes(), total_changes(), last_insert_rowid();`,
	"temp": `
		CREATE TEMP TABLE t(a); INSERT INTO t VALUES(1); ALTER TABLE t ADD COLUMN b DEFAULT 2; SELECT * FROM t; ALTER TABLE t RENAME TO u; SELECT * FROM temp.u; ALTER TABLE temp.u DROP COLUMN a; SELECT * FROM u;
		CREATE TABLE m(a); INSERT INTO m VALUES(1); ALTER TABLE main.m ADD COLUMN b DEFAULT 2; SELECT * FROM m; ALTER TABLE temp.m ADD COLUMN c; CREATE TEMP TABLE m(x); ALTER TABLE m ADD COLUMN y; SELECT * FROM main.m; SELECT * FROM m;`,
}
