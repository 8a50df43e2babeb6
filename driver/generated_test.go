package driver

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestGeneratedLikeSQLite runs statements on tables with generated columns on
// plain SQLite and on a store.
func TestGeneratedLikeSQLite(t *testing.T) {
	for name, script := range generatedScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, newOracle(t), newSubject(t), script)
		})
	}
}

var generatedScripts = map[string]string{
	"values": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, v AS (a+b) STORED, a INT, b INT DEFAULT 5, w INT GENERATED ALWAYS AS (v*2) VIRTUAL, x TEXT AS (a), y REAL AS (w), z AS (id||'/'||x));
		INSERT INTO t(a) VALUES(1);
		INSERT INTO t VALUES(NULL,2,3),(7,'4',NULL);
		INSERT INTO t VALUES(8,1,2,3);
		INSERT INTO t VALUES(8,1);
		INSERT INTO t DEFAULT VALUES;
		INSERT INTO t AS q SELECT id+100, a, b FROM t;
		INSERT INTO t SELECT * FROM t;
		INSERT INTO t(v) VALUES(1);
		INSERT INTO t(a,w) VALUES(1,1);
		UPDATE t SET v=1;
		UPDATE t SET a=1, w=2;
		UPDATE t SET (a,v)=(1,2);
		REPLACE INTO t VALUES(1,9,9) RETURNING *;
		SELECT * FROM t;
		SELECT typeof(v), typeof(w), typeof(x), typeof(y), z FROM t ORDER BY id;
		UPDATE t SET a=a+1 WHERE id<5;
		UPDATE t SET id=id+1000, b=0 WHERE id=7 RETURNING *;
		UPDATE t SET b=v;
		SELECT id, v, w, x, y, z, a, b FROM t ORDER BY w, id;
		SELECT count(*) FROM t WHERE v=w/2;
		DELETE FROM t WHERE w>10 RETURNING id, w;
		SELECT * FROM t; PRAGMA table_info(t); PRAGMA table_xinfo(t); SELECT sql FROM sqlite_master`,
	"constraints": `
		CREATE TABLE t(a INT, b INT, s AS (a+b) UNIQUE, n AS (nullif(a,9)) NOT NULL, c AS (a*b) STORED CHECK(c<100), UNIQUE(n, s), CHECK(s<>77));
		INSERT INTO t VALUES(1,2); INSERT INTO t VALUES(2,1);
		INSERT OR IGNORE INTO t VALUES(2,1),(3,1),(9,1),(50,50),(70,7);
		INSERT INTO t VALUES(9,1); INSERT INTO t VALUES(50,50); INSERT INTO t VALUES(70,7);
		INSERT OR REPLACE INTO t VALUES(0,3); INSERT OR REPLACE INTO t VALUES(9,3);
		SELECT * FROM t;
		UPDATE t SET a=9; UPDATE OR IGNORE t SET a=9; UPDATE OR REPLACE t SET b=10-a; SELECT * FROM t;
		UPDATE t SET b=1000 WHERE a>0; UPDATE t SET a=a, b=b; SELECT changes();
		CREATE TABLE f(a, g AS (upper(a)) UNIQUE ON CONFLICT REPLACE, h AS (a||1) NOT NULL ON CONFLICT IGNORE);
		INSERT INTO f VALUES('x'),('X'),(NULL),('y'); SELECT * FROM f`,
	"collation, affinity, types": `
		CREATE TABLE t(a TEXT COLLATE NOCASE, eq AS (a='ABC'), n INT, lt AS (n<'7'), c TEXT COLLATE NOCASE AS (a||'!') UNIQUE, i INT AS (a));
		INSERT INTO t VALUES('abc','12'),('7','3'); INSERT INTO t VALUES('ABC',1);
		SELECT *, c='ABC!', typeof(i) FROM t; SELECT a FROM t WHERE c='Abc!';
		CREATE TABLE st(a INT, b TEXT AS (a||'x'), c INT AS (a+1) STORED, d INT AS (b)) STRICT;
		INSERT INTO st VALUES(1);
		CREATE TABLE su(a INT, b TEXT AS (a||'x'), c INT AS (a+1), d ANY AS (b)) STRICT;
		INSERT INTO su VALUES(1),(NULL); SELECT *, typeof(d) FROM su; SELECT * FROM st`,
	"indexes and joins": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, j TEXT, name AS (json_extract(j,'$.name')), age INT AS (json_extract(j,'$.age')) STORED);
		CREATE INDEX byname ON t(name); CREATE UNIQUE INDEX byage ON t(age DESC, name);
		INSERT INTO t(j) VALUES('{"name":"ann","age":30}'),('{"name":"bob","age":"20"}'),('{}'),('{}');
		SELECT id FROM t WHERE name='bob'; SELECT id, age FROM t ORDER BY age DESC; SELECT max(age), min(name) FROM t;
		INSERT INTO t(j) VALUES('{"name":"ann","age":30}');
		UPDATE t SET j=json_set(j,'$.name','zoe') WHERE name='ann'; SELECT name, age FROM t WHERE name>'b' ORDER BY name;
		INSERT INTO t(j) VALUES('not json'); INSERT OR IGNORE INTO t(j) VALUES('not json');
		SELECT a.id, b.id FROM t a JOIN t b ON a.age=b.age; SELECT name, count(*) FROM t GROUP BY name; SELECT DISTINCT age FROM t ORDER BY age`,
	"without rowid": `
		CREATE TABLE w(k TEXT, b, c AS (k||b) STORED, d AS (c||c), PRIMARY KEY(k), UNIQUE(d)) WITHOUT ROWID;
		INSERT INTO w VALUES('a',1),('b',2); INSERT INTO w VALUES('a1','') ; SELECT * FROM w;
		UPDATE w SET k='c' WHERE k='a'; SELECT * FROM w WHERE d='c1c1'; DELETE FROM w WHERE c='b2'; SELECT * FROM w`,
	"errors": `
		CREATE TABLE t(a AS (b), b AS (a)); CREATE TABLE t(x, a AS (b), b AS (a));
		INSERT INTO t VALUES(1); INSERT INTO t(x) VALUES(1);
		CREATE TABLE u(a AS (1)); CREATE TABLE u(a, b AS (SELECT 1)); CREATE TABLE u(a, b AS (random())); CREATE TABLE u(a, b AS (a) DEFAULT 1);
		CREATE TABLE u(a, b AS (a) PRIMARY KEY); CREATE TABLE u(a, b AS (nope)); CREATE TABLE u(a, b AS (rowid));
		CREATE TABLE d(a, b AS (date(a)), c AS (a+abs(a)));
		INSERT INTO d VALUES('2024-05-06'); INSERT INTO d VALUES('now'); INSERT INTO d VALUES(-9223372036854775808); INSERT OR IGNORE INTO d VALUES('now');
		SELECT * FROM d; UPDATE d SET a='now'; SELECT * FROM d;
		CREATE TABLE e(a CHECK(date(a)<'3000'), b DEFAULT (date('now')>'2000')); INSERT INTO e(a) VALUES('2024-01-01'); INSERT INTO e(a) VALUES('now'); SELECT * FROM e;
		CREATE TABLE g(a, b AS (datetime('now'))); INSERT INTO g VALUES(1);
		CREATE TABLE h(a, b AS (strftime('%Y', a, 'localtime'))); INSERT INTO h VALUES('2024-01-01'); SELECT count(*) FROM h`,
	"foreign keys": `
		CREATE TABLE p(a, b, k AS (a||b) STORED UNIQUE); CREATE TABLE c(x, r AS (x||'2') REFERENCES p(k), q REFERENCES p(k) ON UPDATE CASCADE ON DELETE SET NULL, up AS (upper(q)));
		INSERT INTO p VALUES(1,2),(3,2); INSERT INTO c VALUES(1,'32'); INSERT INTO c VALUES(7,NULL);
		UPDATE p SET a=5 WHERE a=3; SELECT * FROM c; UPDATE p SET a=9 WHERE a=1; DELETE FROM p WHERE a=5; SELECT * FROM c; SELECT * FROM p`,
	"triggers": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a, g AS (a*2), h AS (g+1) STORED); CREATE TABLE log(w, a, g, h, og);
		CREATE TRIGGER bi BEFORE INSERT ON t BEGIN INSERT INTO log VALUES('bi', new.a, new.g, new.h, NULL); END;
		CREATE TRIGGER ai AFTER INSERT ON t BEGIN INSERT INTO log VALUES('ai', new.a, new.g, new.h, NULL); END;
		CREATE TRIGGER au AFTER UPDATE ON t WHEN new.g<>old.g BEGIN INSERT INTO log VALUES('au', new.a, new.g, new.h, old.g); END;
		CREATE TRIGGER ug AFTER UPDATE OF g ON t BEGIN INSERT INTO log VALUES('ug', new.a, new.g, new.h, old.g); END;
		CREATE TRIGGER ad AFTER DELETE ON t BEGIN INSERT INTO log VALUES('ad', old.a, old.g, old.h, NULL); END;
		INSERT INTO t(a) VALUES(1),('x'),(3) RETURNING id, h; UPDATE t SET a=a+1; UPDATE t SET id=id+10; DELETE FROM t WHERE h>5 RETURNING g; SELECT * FROM log; SELECT * FROM t`,
	"views and temp": `
		CREATE TABLE t(a, b AS (a*2)); CREATE VIEW v AS SELECT * FROM t;
		CREATE TRIGGER i INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES(new.a); UPDATE t SET a=a+1; END;
		INSERT INTO v(a) VALUES(5); SELECT * FROM v; CREATE TEMP TABLE x(a); INSERT INTO x VALUES(8);
		INSERT INTO t SELECT a FROM x; INSERT INTO t(b) SELECT a FROM x; UPDATE t SET a=(SELECT a FROM x); SELECT * FROM t`,
}

// Random rows and changes, with the table in memory or on disk, opened anew from
// time to time.
func TestGeneratedDifferential(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for round := range 3 {
		o, s := newOracle(t), newSubject(t)
		s.fresh = true
		columns := "id INTEGER PRIMARY KEY, a INT, s " + pick("INT", "TEXT", "") + " AS (a+coalesce(b,0)) " + pick("", "STORED") + pick("", " UNIQUE") +
			", b INT, t TEXT AS (s||'-'||id)" + pick("", " COLLATE NOCASE") + ", n AS (nullif(a,3))" + pick("", " NOT NULL") + ", CHECK(s<>20)"
		o.run("CREATE TABLE t(" + columns + ")")
		ddl := "CREATE VIRTUAL TABLE t USING tidemark(" + columns + pick("", ", resident=keys") + ")"
		if out := s.run(ddl); out.code != 0 {
			t.Fatal(out)
		}
		if r.IntN(2) == 0 {
			compareOne(t, o, s, "CREATE INDEX i ON t(t, b)")
		}
		n := func(k int) string { return strconv.Itoa(r.IntN(k)) }
		for range 60 {
			or := pick("", "", "OR IGNORE ", "OR REPLACE ", "OR FAIL ")
			text := ""
			switch r.IntN(6) {
			case 0, 1:
				text = "INSERT " + or + "INTO t VALUES(NULL," + n(12) + "," + n(12) + "),(" + n(30) + "," + pick(n(12), "NULL") + "," + pick(n(9), "NULL") + ")"
			case 2:
				text = "INSERT " + or + "INTO t(b,a) SELECT a+" + n(9) + ", b FROM t WHERE id<" + n(20) + " ORDER BY id"
			case 3, 4:
				text = "UPDATE t SET " + pick("a=a+1", "b="+n(12), "id=id+40, a="+n(12), "a=b, b=a", "b=b") + " WHERE " + pick("+id>"+n(30), "+s<"+n(20), "+t>'5'", "+n IS NULL")
			case 5:
				text = "DELETE FROM t WHERE " + pick("id%5="+n(5), "s="+n(20), "t='"+n(20)+"-"+n(20)+"'")
			}
			compareOne(t, o, s, text)
			compareOne(t, o, s, pick("SELECT * FROM t ORDER BY id", "SELECT id FROM t WHERE s="+n(20)+" ORDER BY id", "SELECT t, b FROM t ORDER BY t, id"))
			if r.IntN(15) == 0 {
				s.close()
				s.open()
			}
			if t.Failed() {
				t.Fatalf("round %d: %s", round, ddl)
			}
		}
	}
}

// ADD COLUMN computes a generated column of the rows there are.
func TestAddGeneratedColumn(t *testing.T) {
	compareAltered(t, newOracle(t), newSubject(t), `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT); INSERT INTO t VALUES(1,1,'x'),(2,2,NULL),(3,3,'z');
		ALTER TABLE t ADD COLUMN g INT AS (a*2); SELECT * FROM t; SELECT id FROM t WHERE g>2 ORDER BY g DESC;
		ALTER TABLE t ADD COLUMN h TEXT GENERATED ALWAYS AS (b||'-'||g) VIRTUAL COLLATE NOCASE CHECK(h<>'q'); SELECT *, h='X-2' FROM t;
		ALTER TABLE t ADD COLUMN s AS (a) STORED; ALTER TABLE t ADD COLUMN n AS (b) NOT NULL; ALTER TABLE t ADD COLUMN c AS (a) CHECK(c<3); ALTER TABLE t ADD COLUMN u AS (a) UNIQUE;
		ALTER TABLE t ADD COLUMN p INT DEFAULT 7; ALTER TABLE t ADD COLUMN q AS (p+g) NOT NULL; SELECT * FROM t;
		INSERT INTO t VALUES(4,4,'w',40); INSERT INTO t(a) VALUES(5); INSERT INTO t(g) VALUES(1); UPDATE t SET p=1, b='B' WHERE id<3; SELECT * FROM t;
		CREATE UNIQUE INDEX i ON t(q, lower(h)); INSERT INTO t VALUES(9,4,'W',40); ALTER TABLE t RENAME COLUMN b TO bb; ALTER TABLE t DROP COLUMN p; ALTER TABLE t RENAME TO tt;
		SELECT sql FROM sqlite_master; INSERT INTO tt VALUES(10,4,'W',40); INSERT INTO tt VALUES(10,6,'W',1); SELECT * FROM tt; DROP INDEX i; ALTER TABLE tt DROP COLUMN q; ALTER TABLE tt DROP COLUMN h; SELECT * FROM tt; INSERT INTO tt VALUES(11,7,'v',3); SELECT * FROM tt;
		BEGIN; ALTER TABLE tt ADD COLUMN z AS (a||bb); UPDATE tt SET a=0; SELECT z FROM tt; ROLLBACK; SELECT * FROM tt; ALTER TABLE tt ADD COLUMN z AS (id+0); SELECT * FROM tt;
		CREATE TABLE e(a); ALTER TABLE e ADD COLUMN s AS (a||1) STORED; INSERT INTO e VALUES(1); SELECT * FROM e;
		CREATE TABLE st(a INT, b TEXT) STRICT; INSERT INTO st VALUES(1,'x'); ALTER TABLE st ADD COLUMN c INT AS (b); ALTER TABLE st ADD COLUMN c INT AS (a+1); ALTER TABLE st ADD COLUMN d TEXT AS (a); SELECT *, typeof(d) FROM st`)
}
