package driver

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestComputedIndexesLikeSQLite runs statements on tables with indexes on
// expressions and of some rows on plain SQLite and on a store.
func TestComputedIndexesLikeSQLite(t *testing.T) {
	for name, script := range computedIndexScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, newOracle(t), newSubject(t), script)
		})
	}
}

var computedIndexScripts = map[string]string{
	"expressions": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT);
		INSERT INTO t VALUES(1,'Ann',1),(2,'bob',2),(3,NULL,3);
		CREATE UNIQUE INDEX lower_a ON t(lower(a)); CREATE INDEX sums ON t(b, a||b DESC, id+1);
		INSERT INTO t VALUES(4,'ANN',4); INSERT OR IGNORE INTO t VALUES(4,'ANN',4),(5,'Zoe',5),(6,NULL,6);
		INSERT OR REPLACE INTO t VALUES(7,'BOB',7); SELECT * FROM t;
		UPDATE t SET a='ann' WHERE id=5; UPDATE t SET b=b+1; UPDATE t SET a=upper(a); UPDATE OR IGNORE t SET a='x'; UPDATE OR REPLACE t SET a='y' WHERE id<6;
		SELECT * FROM t; SELECT a FROM t WHERE lower(a)='y'; SELECT b FROM t WHERE b>3 ORDER BY b; SELECT a FROM t ORDER BY lower(a), id;
		DELETE FROM t WHERE lower(a)='y'; INSERT INTO t VALUES(20,'Y',1); SELECT * FROM t;
		CREATE UNIQUE INDEX dup ON t(b%1); CREATE UNIQUE INDEX dup ON t(b%1, id);
		PRAGMA index_list(t); PRAGMA index_xinfo(sums); SELECT name, sql FROM sqlite_master;
		DROP INDEX lower_a; INSERT INTO t VALUES(21,'y',1); CREATE UNIQUE INDEX lower_a ON t(lower(a)); DELETE FROM t WHERE id=21; CREATE UNIQUE INDEX lower_a ON t(lower(a));
		INSERT INTO t VALUES(21,'y',1); SELECT * FROM t; PRAGMA table_info(t); PRAGMA table_xinfo(t)`,
	"partial": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, who, state, n INT); INSERT INTO t VALUES(1,'a','open',1),(2,'a','done',2),(3,'b','done',3);
		CREATE UNIQUE INDEX one_open ON t(who) WHERE state='open'; CREATE INDEX big ON t(n) WHERE n>100 AND who IS NOT NULL;
		INSERT INTO t VALUES(4,'a','open',4); INSERT INTO t VALUES(4,'a','done',400),(5,'b','open',500);
		UPDATE t SET state='open' WHERE id=2; UPDATE t SET state='done' WHERE id=1; UPDATE t SET state='open' WHERE id=2; SELECT * FROM t;
		INSERT OR IGNORE INTO t VALUES(6,'a','open',1),(7,'c','open',1),(8,NULL,'open',1),(9,NULL,'open',1);
		INSERT OR REPLACE INTO t VALUES(10,'a','open',1); UPDATE OR REPLACE t SET state='open' WHERE who='a'; SELECT * FROM t;
		SELECT id FROM t WHERE n>100 AND who IS NOT NULL; SELECT id FROM t WHERE who='a' AND state='open'; SELECT count(*) FROM t WHERE state='open';
		CREATE UNIQUE INDEX bad ON t(state) WHERE n>0; CREATE UNIQUE INDEX ok ON t(state) WHERE n>1000; INSERT INTO t VALUES(30,'z','q',1001); INSERT INTO t VALUES(31,'z','q',1001);
		PRAGMA index_list(t); DROP INDEX one_open; INSERT INTO t VALUES(40,'a','open',1); SELECT * FROM t`,
	"both": `
		CREATE TABLE t(a, j); CREATE UNIQUE INDEX i ON t(json_extract(j,'$.k'), abs(a)) WHERE json_valid(j);
		INSERT INTO t VALUES(1,'{"k":1}'),(1,'no json'),(-1,'no json'),(-1,'{"k":2}'); INSERT INTO t VALUES(-1,'{"k":1}'); INSERT INTO t VALUES(-9223372036854775808,'{"k":5}');
		INSERT INTO t VALUES(-9223372036854775808,'x'); UPDATE t SET j='{"k":1}' WHERE a=-1; UPDATE t SET j='{"k":7}' WHERE a<-5; SELECT * FROM t;
		CREATE INDEX k ON t(abs(a)); DELETE FROM t WHERE a<-5; CREATE INDEX k ON t(abs(a)); INSERT INTO t VALUES(-9223372036854775808,'x'); SELECT * FROM t`,
	"collation and order": `
		CREATE TABLE t(a TEXT COLLATE NOCASE, b TEXT, r); CREATE UNIQUE INDEX i ON t(trim(b) COLLATE NOCASE, a||'' DESC); CREATE UNIQUE INDEX r ON t(r||'' COLLATE RTRIM);
		INSERT INTO t VALUES('x',' Q ','1'),('X','q','2'); INSERT INTO t VALUES('x','q','3'); INSERT INTO t VALUES('y','q','1  '); SELECT * FROM t;
		CREATE TABLE n(v); CREATE UNIQUE INDEX ni ON n(v+0); INSERT INTO n VALUES('1'),(2),('3x'); INSERT INTO n VALUES(1.0); INSERT INTO n VALUES('2.0'); INSERT INTO n VALUES(3); SELECT v FROM n`,
	"rowid and generated": `
		CREATE TABLE t(a, g AS (a*2)); CREATE UNIQUE INDEX i ON t(g+1, a); CREATE UNIQUE INDEX j ON t(rowid, a) WHERE g>4; CREATE INDEX k ON t(a+0, rowid);
		INSERT INTO t VALUES(1),(2),(3),(NULL); INSERT INTO t VALUES(3); UPDATE t SET rowid=rowid+10, a=a+1; UPDATE t SET a=2; SELECT rowid, * FROM t;
		CREATE TABLE w(k PRIMARY KEY, v) WITHOUT ROWID; CREATE UNIQUE INDEX wi ON w(v||k) WHERE v<>''; INSERT INTO w VALUES('a','b'),('ab',''),('x','1'); INSERT INTO w VALUES('','ba'); UPDATE w SET v='1x', k='' WHERE k='a'; SELECT * FROM w; DROP INDEX wi; SELECT * FROM w`,
	"errors": `
		CREATE TABLE t(a, b); CREATE INDEX i ON t(random()); CREATE INDEX i ON t((SELECT 1)); CREATE INDEX i ON t(nope+1); CREATE INDEX i ON t(a) WHERE nope; CREATE INDEX i ON t(a) WHERE random()>0;
		CREATE INDEX i ON t(date('now')); INSERT INTO t VALUES(1,2); CREATE INDEX i ON t(date(a)); INSERT INTO t VALUES('now',1); INSERT INTO t VALUES('2024-01-01',1); CREATE INDEX IF NOT EXISTS i ON t(a+1);
		CREATE INDEX i ON t(a+1); DROP INDEX i; CREATE INDEX i ON t(date('now')); SELECT * FROM t`,
	"with upsert, returning and triggers": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, g AS (a*2) UNIQUE, d DEFAULT 5);
		CREATE UNIQUE INDEX i ON t(lower(b)); CREATE UNIQUE INDEX j ON t(a+1) WHERE d>5; CREATE UNIQUE INDEX k ON t(b) WHERE d>100;
		INSERT INTO t(a,b) VALUES(1,'x') ON CONFLICT(lower(b)) DO UPDATE SET a=9 RETURNING *;
		INSERT INTO t(a,b) VALUES(2,'X') ON CONFLICT(lower(b)) DO UPDATE SET a=excluded.a+10, d=g+excluded.g RETURNING *;
		INSERT INTO t VALUES(NULL,12,'y',9) ON CONFLICT(g) DO UPDATE SET d=d+excluded.d RETURNING *;
		INSERT INTO t VALUES(NULL,12,'y',9) ON CONFLICT(a+1) WHERE d>5 DO UPDATE SET d=excluded.g RETURNING *;
		INSERT INTO t VALUES(NULL,5,'q',9) ON CONFLICT(a+1) WHERE d>5 DO UPDATE SET d=excluded.g ON CONFLICT DO NOTHING RETURNING *;
		INSERT INTO t VALUES(NULL,5,'Q',900) ON CONFLICT(b) WHERE d>100 DO NOTHING;
		INSERT INTO t VALUES(NULL,7,'Z',900),(NULL,8,'Z',3) ON CONFLICT(lower(b)) DO UPDATE SET d=excluded.d, a=excluded.a RETURNING id, g, d;
		INSERT INTO t(b) VALUES('r'),('R') ON CONFLICT DO NOTHING RETURNING b;
		INSERT INTO t(a,b) VALUES(1,'s') ON CONFLICT(upper(b)) DO NOTHING;
		INSERT INTO t(g) VALUES(1) ON CONFLICT DO NOTHING;
		INSERT INTO t(a) VALUES(1) ON CONFLICT(g) DO UPDATE SET g=1;
		INSERT INTO t VALUES(1,1,1,1) ON CONFLICT(id) DO UPDATE SET b=t.b||'!' WHERE t.g>0 RETURNING (SELECT count(*) FROM t), *;
		UPDATE t SET a=(SELECT count(*) FROM t AS o WHERE o.id<t.id) RETURNING a, g, (SELECT max(g) FROM t);
		SELECT * FROM t;
		CREATE TABLE log(x); CREATE TRIGGER tr AFTER UPDATE ON t BEGIN INSERT INTO log VALUES(old.g||'>'||new.g); INSERT INTO t(a,b) VALUES(new.a+100,new.b) ON CONFLICT(lower(b)) DO UPDATE SET d=d+1; END;
		UPDATE t SET a=a+20 RETURNING id, a, g, d; SELECT * FROM log; SELECT * FROM t;
		DELETE FROM t WHERE g>40 RETURNING *`,
	"transactions": `
		CREATE TABLE t(a, b); INSERT INTO t VALUES(1,2),(3,4);
		BEGIN; CREATE UNIQUE INDEX i ON t(a+b); INSERT INTO t VALUES(2,1); ROLLBACK; INSERT INTO t VALUES(2,1); SELECT * FROM t; CREATE UNIQUE INDEX i ON t(a+b);
		BEGIN; SAVEPOINT s; CREATE INDEX j ON t(a*b) WHERE a; UPDATE t SET a=a+1; ROLLBACK TO s; CREATE INDEX j ON t(a-b) WHERE b; DROP INDEX j; COMMIT; SELECT * FROM t; SELECT name FROM sqlite_master;
		ALTER TABLE t RENAME COLUMN a TO x; SELECT sql FROM sqlite_master; INSERT INTO t VALUES(0,3); DROP TABLE t; CREATE TABLE t(a); INSERT INTO t VALUES(1); SELECT * FROM t`,
}

// Random rows and changes under random indexes, with the table in memory or on
// disk, opened anew from time to time.
func TestComputedIndexesDifferential(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for round := range 3 {
		o, s := newOracle(t), newSubject(t)
		s.fresh = true
		columns := "id INTEGER PRIMARY KEY, a INT, b TEXT, c INT, g AS (a+c)"
		o.run("CREATE TABLE t(" + columns + ")")
		ddl := "CREATE VIRTUAL TABLE t USING tidemark(" + columns + pick("", ", resident=keys", ", durable=false") + ")"
		if out := s.run(ddl); out.code != 0 {
			t.Fatal(out)
		}
		n := func(k int) string { return strconv.Itoa(r.IntN(k)) }
		indexes := 0
		for range 70 {
			or := pick("", "", "OR IGNORE ", "OR REPLACE ", "OR FAIL ")
			text := ""
			switch r.IntN(8) {
			case 0, 1:
				text = "INSERT " + or + "INTO t(a,b,c) VALUES(" + n(12) + "," + n(12) + "," + n(9) + "),(" + pick(n(12), "NULL") + "," + pick(n(12), "NULL") + "," + n(9) + ")"
			case 2:
				text = "INSERT " + or + "INTO t(b,a,c) SELECT a+" + n(9) + ", b, c FROM t WHERE id<" + n(20) + " ORDER BY id"
			case 3, 4:
				text = "UPDATE t SET " + pick("a=a+1", "b="+n(12), "id=id+40, a="+n(12), "a=b, b=a", "c=c") + " WHERE " + pick("+id>"+n(30), "+g<"+n(20), "+b>'5'", "+a IS NULL")
			case 5:
				text = "DELETE FROM t WHERE " + pick("id%5="+n(5), "g="+n(20), "b='"+n(20)+"'")
			case 6:
				indexes++
				text = "CREATE " + pick("", "UNIQUE ") + "INDEX i" + strconv.Itoa(indexes) + " ON t(" + pick("a+c", "lower(b)", "b", "a", "g*2, b DESC", "id%10, abs(a)", "c, a||b") + ")" +
					pick("", " WHERE a>5", " WHERE b IS NOT NULL", " WHERE g<9")
			case 7:
				text = "DROP INDEX IF EXISTS i" + n(indexes+1)
			}
			compareOne(t, o, s, text)
			compareOne(t, o, s, pick("SELECT * FROM t ORDER BY id", "SELECT id FROM t WHERE a+c="+n(20)+" ORDER BY id", "SELECT id FROM t WHERE a>5 AND b>'3' ORDER BY id", "SELECT id FROM t WHERE a="+n(9)+" ORDER BY id"))
			if r.IntN(15) == 0 && ddl[len(ddl)-6:] != "false)" {
				s.close()
				s.open()
			}
			if t.Failed() {
				t.Fatalf("round %d: %s", round, ddl)
			}
		}
	}
}
