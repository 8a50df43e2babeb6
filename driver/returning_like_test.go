package driver

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestReturningLikeSQLite runs statements with RETURNING on plain SQLite and on a
// store.
func TestReturningLikeSQLite(t *testing.T) {
	for name, script := range returningScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, newOracle(t), newSubject(t), script)
		})
	}
}

var returningScripts = map[string]string{
	"stored values": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT DEFAULT 5, c DEFAULT (1+2), d VARCHAR(10) DEFAULT 'it''s', e REAL);
		INSERT INTO t(a) VALUES(1) RETURNING id;
		INSERT INTO t(a,e) VALUES('x',1),('y','2'),(x'00',NULL) RETURNING *;
		INSERT INTO t DEFAULT VALUES RETURNING id, b, "c" AS cc, t.d, main.t.e, rowid, oid, typeof(c);
		INSERT INTO t DEFAULT VALUES  RETURNING*;
		INSERT INTO t(id, a) VALUES(100, 'z') RETURNING rowid, _rowid_, id+1, id||a, -b, a IS NULL, CASE WHEN id THEN b END, CAST(a AS BLOB);
		INSERT INTO t(a) SELECT a||'!' FROM t WHERE a IS NOT NULL ORDER BY id DESC RETURNING id, a;
		UPDATE t SET b=b+1, e=7 WHERE id<3 RETURNING id, b, e, typeof(e);
		UPDATE t SET id=id+1000 WHERE id<3 RETURNING id, rowid, a;
		DELETE FROM t WHERE id>1000 RETURNING *;
		DELETE FROM t WHERE id>1000 RETURNING *;
		SELECT changes();
		UPDATE t SET b=0 RETURNING id;
		SELECT changes(), last_insert_rowid();
		SELECT * FROM t;
		DELETE FROM t RETURNING id /* returning */ AS "returning";
		SELECT * FROM t`,
	"conflicts": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE, b NOT NULL DEFAULT 9, CHECK(b<>13));
		INSERT INTO t VALUES(1,1,1),(2,2,2),(3,3,3) RETURNING a;
		INSERT OR IGNORE INTO t VALUES(4,1,4),(5,5,5),(6,NULL,NULL),(7,7,13) RETURNING id, a;
		INSERT OR REPLACE INTO t VALUES(10,1,7),(11,2,NULL),(11,3,1) RETURNING *;
		REPLACE INTO t(a) VALUES(5) RETURNING id, b;
		INSERT OR FAIL INTO t VALUES(20,20,20),(21,20,21),(22,22,22) RETURNING id;
		INSERT OR ABORT INTO t VALUES(30,30,30),(31,30,31) RETURNING id;
		BEGIN; INSERT OR ROLLBACK INTO t VALUES(40,40,40),(41,40,41) RETURNING id; ROLLBACK;
		UPDATE OR IGNORE t SET a=20 RETURNING id, a;
		UPDATE OR REPLACE t SET a=20 WHERE id<>20 RETURNING id, a;
		SELECT * FROM t; SELECT changes(), total_changes()`,
	"errors": `
		CREATE TABLE t(a, b); CREATE TABLE w(k PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO t VALUES(1,2),(3,4);
		INSERT INTO t VALUES(5,6) RETURNING nope;
		UPDATE t AS q SET a=1 RETURNING q.a;
		DELETE FROM t AS q RETURNING q.a;
		INSERT INTO t AS q VALUES(5,6) RETURNING q.a;
		DELETE FROM t RETURNING count(*);
		DELETE FROM t RETURNING sum(a);
		DELETE FROM t RETURNING row_number() OVER ();
		DELETE FROM t RETURNING t.*;
		DELETE FROM t RETURNING new.a;
		UPDATE t SET a=1 RETURNING old.a;
		INSERT INTO w VALUES(1,2) RETURNING rowid;
		INSERT INTO w VALUES(1,2) RETURNING k, v, *;
		INSERT INTO nope VALUES(1) RETURNING *;
		INSERT INTO t(nope) VALUES(1) RETURNING *;
		UPDATE t SET b=9 FROM w WHERE k=a RETURNING v;
		DELETE FROM t RETURNING (SELECT 1, 2);
		DELETE FROM t RETURNING max(a, b), (SELECT max(a) FROM t);
		INSERT INTO t VALUES(1,2),(3,-9223372036854775808) RETURNING abs(b);
		SELECT * FROM t;
		BEGIN; INSERT INTO t VALUES(3,-9223372036854775808) RETURNING abs(b); SELECT * FROM t;
		INSERT INTO t VALUES(1,'{'),(2,2) RETURNING b->'x'; SELECT * FROM t;
		UPDATE t SET b=-9223372036854775808 RETURNING abs(b); SELECT * FROM t;
		DELETE FROM t RETURNING abs(-9223372036854775808); SELECT * FROM t;
		COMMIT; SELECT * FROM t`,
	"what the list sees": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE TABLE u(x); INSERT INTO u VALUES(10),(20);
		INSERT INTO t(a) VALUES(1),(2),(3) RETURNING (SELECT count(*) FROM t);
		INSERT INTO t(a) VALUES(4),(5) RETURNING last_insert_rowid(), changes(), total_changes();
		UPDATE t SET a=a*2 RETURNING id, (SELECT sum(a) FROM t), a;
		DELETE FROM t WHERE id<3 RETURNING id, (SELECT count(*) FROM t), a IN (SELECT a FROM t), a IN u, EXISTS(SELECT 1 FROM t AS o WHERE o.id=t.id);
		WITH w(y) AS (SELECT max(x) FROM u) INSERT INTO t(a) SELECT y FROM w RETURNING a, (SELECT y FROM w);
		WITH w AS (SELECT 5 AS y) UPDATE t SET a=(SELECT y FROM w) RETURNING a+(SELECT y FROM w);
		WITH t AS (SELECT 7 AS a) INSERT INTO t(a) SELECT a FROM t RETURNING a;
		INSERT INTO t(a) VALUES((SELECT count(*) FROM sqlite_master)) RETURNING a, (SELECT group_concat(name) FROM sqlite_master);
		INSERT INTO t(a) VALUES('x') RETURNING upper(a), length(a), coalesce(a,1), a LIKE 'X', abs(random())>=0;
		SELECT * FROM t`,
	"update from": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); CREATE TABLE s(k, v);
		INSERT INTO t VALUES(1,10,0),(2,20,0),(3,30,0); INSERT INTO s VALUES(3,'c'),(1,'a'),(2,'b');
		UPDATE t SET b=s.v FROM s WHERE s.k=t.id RETURNING id, b, t.a;
		UPDATE t SET b=s.v||1 FROM s WHERE s.k=t.id RETURNING id, length(b), b;
		INSERT INTO s VALUES(1,'a2'),(1,'a3');
		UPDATE t SET b=s.v FROM s WHERE s.k=t.id RETURNING id;
		UPDATE t SET b=q.n FROM (SELECT count(*) AS n FROM s) AS q RETURNING *;
		SELECT changes(); SELECT * FROM t`,
	"affinity and collation": `
		CREATE TABLE t(a TEXT COLLATE NOCASE, b INT, c REAL, d BLOB, n NUMERIC);
		INSERT INTO t VALUES('Ab', '12', 3, 12, '1e2') RETURNING a='aB', b='12', b<'2', c, d='12', d<'2', n, typeof(n), a COLLATE BINARY = 'ab', a IN ('AB');
		CREATE TABLE st(a INT, b TEXT, c ANY) STRICT;
		INSERT INTO st VALUES('5', 5, '5') RETURNING a, b, c, typeof(c), c=5;
		INSERT INTO st VALUES('x', 5, '5') RETURNING a`,
	"without rowid": `
		CREATE TABLE w(a, b, c DEFAULT 7, PRIMARY KEY(b, a)) WITHOUT ROWID;
		INSERT INTO w(a,b) VALUES(1,2),(1,1),(3,0) RETURNING *;
		REPLACE INTO w(a,b) VALUES(1,2) RETURNING a, b, c;
		UPDATE w SET c=a+b WHERE b=1 RETURNING *;
		DELETE FROM w WHERE b=2 RETURNING c;
		SELECT * FROM w`,
	"views": `
		CREATE TABLE base(id INTEGER PRIMARY KEY, a DEFAULT 3);
		CREATE VIEW v AS SELECT id, a, a*2 AS twice FROM base;
		CREATE TRIGGER vi INSTEAD OF INSERT ON v BEGIN INSERT INTO base(id,a) VALUES(new.id, new.a+1); END;
		CREATE TRIGGER vu INSTEAD OF UPDATE ON v BEGIN UPDATE base SET a=new.a WHERE id=old.id; END;
		CREATE TRIGGER vd INSTEAD OF DELETE ON v BEGIN DELETE FROM base WHERE id=old.id; END;
		INSERT INTO v(id,a) VALUES(1,10),(2,20) RETURNING id, a, twice;
		UPDATE v SET a=a+1 RETURNING *;
		DELETE FROM v WHERE id=1 RETURNING id, a;
		SELECT * FROM base; SELECT * FROM v`,
	"foreign keys": `
		CREATE TABLE p(id INTEGER PRIMARY KEY, a); CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE);
		CREATE TABLE tree(id INTEGER PRIMARY KEY, up REFERENCES tree ON DELETE CASCADE);
		INSERT INTO p VALUES(1,1),(2,2) RETURNING *; INSERT INTO c VALUES(1,1),(2,1),(3,2) RETURNING *;
		INSERT INTO c VALUES(4,9) RETURNING *; INSERT INTO p VALUES(8,8);
		BEGIN; INSERT INTO c VALUES(5,1),(4,9) RETURNING *; INSERT INTO p VALUES(9,9); SELECT * FROM c; COMMIT;
		UPDATE p SET id=5 WHERE id=1 RETURNING *;
		DELETE FROM p RETURNING *; SELECT * FROM c;
		INSERT INTO tree VALUES(1,NULL),(2,1),(3,2),(4,NULL) RETURNING id;
		DELETE FROM tree WHERE id=1 RETURNING id; SELECT * FROM tree`,
	"temporary": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE TEMP TABLE x(a); INSERT INTO x VALUES(5),(6);
		INSERT INTO t(a) SELECT a FROM x RETURNING id, a;
		INSERT INTO t(a) VALUES(1) RETURNING (SELECT sum(a) FROM x);
		DELETE FROM t WHERE a IN (SELECT a FROM x) RETURNING count(*);
		DELETE FROM t WHERE a IN (SELECT a FROM x) RETURNING a;
		INSERT INTO x VALUES(7) RETURNING a, rowid;
		CREATE TEMP TABLE t(z); INSERT INTO t VALUES(1) RETURNING z; INSERT INTO main.t(a) VALUES(2) RETURNING id, a`,
	"transactions": `
		CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, a);
		BEGIN; INSERT INTO t(a) VALUES(1) RETURNING id; SAVEPOINT s; INSERT INTO t(a) VALUES(2) RETURNING id; ROLLBACK TO s;
		INSERT INTO t(a) VALUES(3) RETURNING id; COMMIT; SELECT * FROM t;
		DELETE FROM t RETURNING id; INSERT INTO t(a) VALUES(9) RETURNING id`,
}

// Arguments reach the list, by position and by number.
func TestReturningArguments(t *testing.T) {
	o, s := newOracle(t), newSubject(t)
	compare(t, o, s, "CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)")
	for _, prepare := range []bool{false, true} {
		s.prepare = prepare
		compareOne(t, o, s, "INSERT INTO t(a,b) VALUES(?,?) RETURNING id, a+?, ?", int64(1), "x", int64(5), "last")
		compareOne(t, o, s, "INSERT INTO t(a,b) VALUES(?2,?1) RETURNING ?3, ?1, a, abs(?3)", int64(1), "x", int64(5))
		compareOne(t, o, s, "WITH w(x) AS (SELECT ?1) UPDATE t SET a=?2 WHERE b=?3 RETURNING (SELECT x FROM w), ?2", int64(1), "x", int64(5))
		compareOne(t, o, s, "DELETE FROM t WHERE a=?1 RETURNING ?1||?2", "x", int64(2))
	}
	// By name, over several statements of a text.
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a)")
	expect(t, db, "ab7", "INSERT INTO t(a) VALUES(?); INSERT INTO t(a) VALUES(?) RETURNING (SELECT group_concat(a,'') FROM t)||?", "a", "b", 7)
}

// Random statements give what SQLite gives; from time to time the store is opened
// anew.
func TestReturningDifferential(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for round := range 3 {
		o, s := newOracle(t), newSubject(t)
		s.fresh = true // the store has no last id after it was opened anew
		options := pick("", "", "resident=keys")
		ddl := "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT UNIQUE, b TEXT DEFAULT 'd', c REAL CHECK(c<90))"
		o.run(ddl)
		if options != "" {
			ddl = "CREATE VIRTUAL TABLE t USING tidemark(id INTEGER PRIMARY KEY, a INT UNIQUE, b TEXT DEFAULT 'd', c REAL CHECK(c<90), " + options + ")"
		}
		if out := s.run(ddl); out.code != 0 {
			t.Fatal(out)
		}
		n := func(k int) string { return strconv.Itoa(r.IntN(k)) }
		for range 60 {
			list := pick("*", "id", "id, a, b, c", "rowid, c+a, b||id", "a IS NULL, typeof(c)", "(SELECT count(*) FROM t), id", "length(b), upper(b), a", "(SELECT max(id) FROM t WHERE a<t.a), a")
			or := pick("", "", "OR IGNORE ", "OR REPLACE ", "OR FAIL ", "OR ABORT ")
			text := ""
			switch r.IntN(7) {
			case 0, 1, 2:
				text = "INSERT " + or + "INTO t(a,c) VALUES(" + n(30) + "," + n(95) + "),(" + n(30) + "," + n(95) + ")"
			case 3:
				text = "INSERT " + or + "INTO t(id,a,b) SELECT id+" + n(9) + ", a+" + n(9) + ", b||" + n(5) + " FROM t WHERE id<" + n(20) + " ORDER BY id"
			case 4:
				text = "UPDATE " + or + "t SET a=" + pick("a+1", "a-1", n(30)) + ", c=" + n(92) + " WHERE id>" + n(30)
			case 5:
				text = "UPDATE " + or + "t SET b=q.v FROM (SELECT id AS k, a AS v FROM t) AS q WHERE q.k=t.id AND t.a>" + n(20)
			case 6:
				text = "DELETE FROM t WHERE id%" + strconv.Itoa(2+r.IntN(5)) + "=" + n(3)
			}
			compareOne(t, o, s, text+" RETURNING "+list)
			if r.IntN(15) == 0 {
				s.close()
				s.open()
			}
			if t.Failed() {
				t.Fatalf("round %d", round)
			}
		}
		compareOne(t, o, s, "SELECT * FROM t ORDER BY id")
	}
}
