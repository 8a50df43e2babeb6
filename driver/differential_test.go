package driver

import "testing"

// TestLikeSQLite runs scripts on plain SQLite and on a store; every statement
// must give the same rows, names, counts, ids, codes and messages.
func TestLikeSQLite(t *testing.T) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, newOracle(t), newSubject(t), script)
		})
	}
}

var scripts = map[string]string{
	"insert": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT DEFAULT 5, c DEFAULT (1+2), d TEXT DEFAULT 'it''s', e DEFAULT word, f DEFAULT -1.5, g DEFAULT true);
		INSERT INTO t(a) VALUES('x');
		INSERT INTO t(a,b) VALUES('y',NULL),('z',3);
		INSERT INTO t DEFAULT VALUES;
		INSERT INTO t(a) SELECT a FROM t ORDER BY id DESC;
		INSERT INTO t(a) WITH w(x) AS (VALUES(1),(2)) SELECT x FROM w;
		WITH w(x) AS (VALUES(7)) INSERT INTO t(id, a) SELECT 100, x FROM w;
		INSERT INTO t VALUES(1,2,3,4,5,6,7,8);
		INSERT INTO t VALUES(NULL,2,3,4,5,6,7,8);
		INSERT INTO t(a,a) VALUES(1,2);
		INSERT INTO t(a,b) VALUES(1);
		INSERT INTO t(a) VALUES(1),(2,3);
		INSERT INTO t(nope) VALUES(1);
		INSERT INTO nope VALUES(1);
		INSERT INTO t VALUES(1,2);
		SELECT * FROM t ORDER BY id;
		SELECT last_insert_rowid(), changes();
		SELECT count(*) FROM t;
		SELECT COUNT( * ) FROM main.t;
		SELECT count(*) FROM nope;
		SELECT typeof(a), typeof(b), typeof(c), typeof(d), typeof(e), typeof(f), typeof(g) FROM t WHERE id=1;`,
	"constraints": `
		CREATE TABLE t(a INT NOT NULL, b TEXT UNIQUE, c INT CHECK(c > 0), d INT CONSTRAINT positive CHECK (d>=0), PRIMARY KEY(a,b));
		INSERT INTO t VALUES(1,'x',1,1);
		INSERT INTO t VALUES(NULL,'y',1,1);
		INSERT INTO t VALUES(2,'x',1,1);
		INSERT INTO t VALUES(2,'y',0,1);
		INSERT INTO t VALUES(2,'y',1,-1);
		INSERT OR IGNORE INTO t VALUES(2,'x',1,1),(3,'z',1,1);
		INSERT OR REPLACE INTO t VALUES(9,'x',2,2);
		REPLACE INTO t VALUES(10,'z',2,2);
		INSERT OR FAIL INTO t VALUES(11,'f',1,1),(12,'f',1,1),(13,'g',1,1);
		INSERT OR ABORT INTO t VALUES(14,'h',1,1),(15,'f',1,1);
		UPDATE t SET c=0 WHERE a=9;
		UPDATE OR IGNORE t SET b='f';
		UPDATE t SET a=a+1, c=c*2;
		UPDATE OR REPLACE t SET b='q';
		SELECT * FROM t ORDER BY a;
		DELETE FROM t WHERE a>100;
		DELETE FROM t;
		SELECT changes(), total_changes()>0;
		SELECT * FROM t;`,
	"conflict clauses": `
		CREATE TABLE f(a UNIQUE ON CONFLICT FAIL, b NOT NULL, c UNIQUE);
		INSERT INTO f VALUES(1,1,1),(2,2,2),(1,3,3),(4,4,4);
		SELECT * FROM f;
		INSERT INTO f VALUES(5,5,5),(6,NULL,6);
		INSERT INTO f VALUES(7,7,7),(8,8,1);
		INSERT OR ABORT INTO f VALUES(9,9,9),(1,1,10);
		INSERT OR IGNORE INTO f VALUES(1,1,11),(10,10,12);
		UPDATE f SET a=a+1;
		SELECT * FROM f;
		UPDATE f SET a=10 WHERE a<10;
		SELECT * FROM f;
		BEGIN; INSERT INTO f VALUES(20,20,20),(1,1,30); SELECT count(*) FROM f; COMMIT;
		CREATE TABLE r(a UNIQUE ON CONFLICT REPLACE, b NOT NULL ON CONFLICT IGNORE DEFAULT 5, c CHECK(c>0));
		INSERT INTO r VALUES(1,1,1),(1,2,2),(2,NULL,3);
		SELECT * FROM r;
		INSERT OR ABORT INTO r VALUES(1,1,1);
		INSERT OR REPLACE INTO r VALUES(3,NULL,1);
		INSERT INTO r VALUES(4,4,0);
		UPDATE r SET a=1; SELECT * FROM r;
		UPDATE OR ABORT r SET b=NULL;
		CREATE TABLE k(id INTEGER PRIMARY KEY ON CONFLICT IGNORE, v);
		INSERT INTO k VALUES(1,'a'),(1,'b'),(2,'c'); SELECT * FROM k;
		INSERT OR ABORT INTO k VALUES(1,'z');
		CREATE TABLE t(a, b, PRIMARY KEY(a,b) ON CONFLICT REPLACE, UNIQUE(b) ON CONFLICT IGNORE);
		INSERT INTO t VALUES(1,1),(1,1),(2,1),(3,3); SELECT * FROM t;
		CREATE TABLE x(a UNIQUE ON CONFLICT ROLLBACK); INSERT INTO x VALUES(1);
		INSERT INTO x VALUES(2),(1); SELECT * FROM x;`,
	"counts": `
		CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, a);
		SELECT changes(), total_changes(), last_insert_rowid();
		INSERT INTO t(a) VALUES(1),(2),(3);
		SELECT changes(), total_changes(), last_insert_rowid();
		CREATE INDEX i ON t(a);
		CREATE TABLE c AS SELECT * FROM t;
		SELECT changes(), total_changes(), last_insert_rowid();
		UPDATE t SET a=a WHERE id<3;
		BEGIN; CREATE TABLE u(a); CREATE VIEW v AS SELECT * FROM t; SELECT changes(), total_changes(), last_insert_rowid(); COMMIT;
		SELECT changes(), total_changes(), last_insert_rowid();
		DROP TABLE c; DROP VIEW v; DROP INDEX i;
		SELECT changes(), total_changes(), last_insert_rowid();
		DELETE FROM t WHERE id=1;
		DELETE FROM t;
		SELECT changes(), total_changes(), last_insert_rowid();
		INSERT INTO t(a) SELECT 1 WHERE 0;
		SELECT changes(), total_changes(), last_insert_rowid();`,
	"rowid": `
		CREATE TABLE t(a);
		INSERT INTO t VALUES('x'),('y');
		SELECT rowid, oid, _rowid_, a FROM t;
		INSERT INTO t(rowid,a) VALUES(50,'z');
		INSERT INTO t(a) VALUES('after');
		UPDATE t SET rowid=7 WHERE a='x';
		SELECT rowid, a FROM t ORDER BY rowid;
		DELETE FROM t WHERE rowid=51;
		INSERT INTO t(rowid, a) VALUES('abc', 1);
		INSERT INTO t(rowid, a) VALUES(7, 1);
		CREATE TABLE p(id INTEGER PRIMARY KEY, x);
		INSERT INTO p VALUES('12','twelve'),(-3,'minus');
		INSERT INTO p VALUES('abc','no');
		INSERT INTO p VALUES(12,'dup');
		INSERT INTO p(x) VALUES('next');
		SELECT * FROM p ORDER BY id;
		SELECT id, rowid FROM p WHERE rowid=13;`,
	"without rowid": `
		CREATE TABLE w(k TEXT PRIMARY KEY, v INT) WITHOUT ROWID;
		INSERT INTO w VALUES('b',1),('a',2),('c',3);
		SELECT * FROM w;
		INSERT INTO w VALUES('a',9);
		INSERT INTO w VALUES(NULL,9);
		UPDATE w SET v=v+10 WHERE k='a';
		DELETE FROM w WHERE k='b';
		SELECT k, v FROM w ORDER BY k DESC;
		SELECT rowid FROM w;
		CREATE TABLE w2(a,b,c, PRIMARY KEY(b,a)) WITHOUT ROWID;
		INSERT INTO w2 VALUES(1,2,3),(2,1,3);
		SELECT * FROM w2;`,
	"strict": `
		CREATE TABLE s(a INT, b TEXT, c REAL, d BLOB, e ANY) STRICT;
		INSERT INTO s VALUES(1,'x',2,x'00',3);
		INSERT INTO s VALUES('x','x',2,x'00',3);
		INSERT INTO s VALUES('5',6,'7.5',x'00','8');
		INSERT INTO s VALUES(1,'x',2,'text',3);
		SELECT a,typeof(a),b,typeof(b),c,typeof(c),typeof(d),e,typeof(e) FROM s;
		CREATE TABLE s2(a WRONG) STRICT;
		CREATE TABLE s3(a) STRICT;`,
	"autoincrement": `
		SELECT * FROM sqlite_sequence;
		CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT, x);
		SELECT * FROM sqlite_sequence;
		INSERT INTO a(x) VALUES('p'),('q');
		DELETE FROM a WHERE id=2;
		INSERT INTO a(x) VALUES('r');
		INSERT INTO a VALUES(10,'s');
		INSERT INTO a(x) VALUES('t');
		SELECT * FROM a ORDER BY id;
		SELECT name, seq FROM sqlite_sequence;
		UPDATE sqlite_sequence SET seq=100 WHERE name='a';
		INSERT INTO a(x) VALUES('u');
		SELECT max(id) FROM a;
		CREATE TABLE b(id INTEGER PRIMARY KEY AUTOINCREMENT);
		INSERT INTO b DEFAULT VALUES;
		SELECT name, seq FROM sqlite_sequence ORDER BY name;
		DROP TABLE a;
		SELECT name, seq FROM sqlite_sequence ORDER BY name;
		DROP TABLE sqlite_sequence;
		CREATE TABLE bad(id TEXT PRIMARY KEY AUTOINCREMENT);
		DROP TABLE b;
		SELECT * FROM sqlite_sequence;`,
	"ddl errors": `
		CREATE TABLE t(a, b);
		CREATE TABLE t(a);
		CREATE TABLE IF NOT EXISTS t(z);
		CREATE TABLE T(a);
		CREATE INDEX i ON t(a);
		CREATE INDEX i ON t(b);
		CREATE INDEX IF NOT EXISTS i ON t(b);
		CREATE INDEX j ON t(nope);
		CREATE INDEX j ON nope(a);
		CREATE INDEX t ON t(a);
		CREATE TABLE i(a);
		CREATE VIEW t AS SELECT 1;
		CREATE VIEW v AS SELECT a FROM t;
		CREATE VIEW v AS SELECT 2;
		CREATE VIEW IF NOT EXISTS v AS SELECT 2;
		DROP VIEW t;
		DROP TABLE v;
		DROP TABLE nope;
		DROP TABLE IF EXISTS nope;
		DROP INDEX nope;
		DROP INDEX IF EXISTS nope;
		DROP VIEW IF EXISTS nope;
		DROP TRIGGER nope;
		CREATE TABLE x(a, a);
		CREATE TABLE x();
		CREATE TABLE x(a PRIMARY KEY, b PRIMARY KEY);
		CREATE TABLE sqlite_x(a);
		CREATE TABLE x(a CHECK (nope > 1));
		CREATE TABLE x(a) WITHOUT ROWID;
		CREATE TABLE x(a DEFAULT (b));
		CREATE TABEL x(a);
		CREATE TABLE x(a bogus;
		ALTER TABLE nope ADD COLUMN x;
		DROP INDEX sqlite_autoindex_t_1;
		CREATE TABLE u(a UNIQUE);
		DROP INDEX sqlite_autoindex_u_1;
		CREATE TRIGGER tr INSTEAD OF INSERT ON t BEGIN SELECT 1; END;
		CREATE TRIGGER tr AFTER INSERT ON nope BEGIN SELECT 1; END;
		SELECT * FROM v;
		DROP TABLE t;
		SELECT * FROM v;
		DROP VIEW v;
		SELECT name FROM sqlite_schema ORDER BY name;`,
	"schema": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'x' COLLATE NOCASE, b VARCHAR(20) UNIQUE, c REFERENCES u(x) ON DELETE CASCADE, CHECK(b <> ''));
		CREATE TABLE IF NOT EXISTS u ( x  INT PRIMARY KEY , y) WITHOUT ROWID;
		CREATE UNIQUE INDEX  ti ON t (a DESC, c COLLATE RTRIM);
		CREATE VIEW v(p,q) AS SELECT a, b FROM t;
		CREATE TRIGGER vt INSTEAD OF INSERT ON v BEGIN INSERT INTO t(b) VALUES(new.q); END;
		SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name;
		SELECT type, name, tbl_name, sql FROM main.sqlite_schema ORDER BY type, name;
		SELECT s.name FROM sqlite_schema AS s WHERE s.type='table' ORDER BY 1;
		SELECT sqlite_master.name FROM sqlite_master WHERE name IN (SELECT name FROM sqlite_schema WHERE type='index') ORDER BY 1;
		SELECT count(*) FROM sqlite_master;
		PRAGMA table_info(t);
		PRAGMA table_xinfo('t');
		PRAGMA main.table_info("u");
		PRAGMA table_info(nope);
		PRAGMA index_list(t);
		PRAGMA index_info(ti);
		PRAGMA index_xinfo=ti;
		PRAGMA foreign_key_list(t);
		PRAGMA table_info(v);
		SELECT * FROM pragma_table_info('t');
		SELECT m.name, p.name, p."notnull", p.dflt_value FROM sqlite_master m, pragma_table_info(m.name) p WHERE m.type='table' ORDER BY 1, p.cid;
		SELECT il.name, ii.name FROM pragma_index_list('t') il LEFT JOIN pragma_index_xinfo(il.name) ii ORDER BY 1,2;
		SELECT * FROM pragma_foreign_key_list('t');
		SELECT name FROM pragma_table_info('t','main');
		SELECT * FROM pragma_table_list WHERE schema='main' ORDER BY name;
		INSERT INTO v(p,q) VALUES('ignored','kept');
		SELECT * FROM t;
		PRAGMA foreign_keys;
		PRAGMA user_version;
		PRAGMA encoding;`,
	"transactions": `
		CREATE TABLE t(a INT PRIMARY KEY);
		BEGIN; INSERT INTO t VALUES(1); COMMIT;
		BEGIN; INSERT INTO t VALUES(2); ROLLBACK;
		BEGIN TRANSACTION; INSERT INTO t VALUES(3); END TRANSACTION;
		BEGIN IMMEDIATE; INSERT INTO t VALUES(4); SELECT * FROM t; COMMIT;
		BEGIN EXCLUSIVE; COMMIT;
		BEGIN DEFERRED; SELECT * FROM t; COMMIT;
		COMMIT;
		ROLLBACK;
		END;
		BEGIN; BEGIN; ROLLBACK;
		RELEASE x;
		ROLLBACK TO x;
		SAVEPOINT a; INSERT INTO t VALUES(5); SAVEPOINT b; INSERT INTO t VALUES(6); ROLLBACK TO b; INSERT INTO t VALUES(7); RELEASE a;
		SELECT * FROM t;
		SAVEPOINT a; SAVEPOINT "B c"; RELEASE a;
		SAVEPOINT a; SAVEPOINT b; ROLLBACK TO a; RELEASE b; RELEASE a;
		BEGIN; SAVEPOINT a; INSERT INTO t VALUES(8); ROLLBACK TO nope; ROLLBACK TO A; RELEASE a; SELECT * FROM t; COMMIT;
		BEGIN; SAVEPOINT a; SAVEPOINT b; RELEASE b; INSERT INTO t VALUES(9); RELEASE a; ROLLBACK;
		BEGIN; INSERT INTO t VALUES(1); INSERT INTO t VALUES(10); COMMIT;
		SELECT * FROM t;
		SAVEPOINT x; INSERT INTO t VALUES(11); COMMIT;
		SAVEPOINT x; INSERT INTO t VALUES(12); ROLLBACK;
		SELECT count(*) FROM t;
		BEGIN; DELETE FROM t; SELECT count(*) FROM t; ROLLBACK; SELECT count(*) FROM t;`,
	"transactional ddl": `
		CREATE TABLE keep(a);
		BEGIN; CREATE TABLE t(a DEFAULT 3, b); INSERT INTO t(b) VALUES(1); SELECT * FROM t; ROLLBACK;
		SELECT * FROM t;
		BEGIN; CREATE TABLE t(a, b); INSERT INTO t VALUES(1,2); SAVEPOINT s; DROP TABLE t; CREATE TABLE t(x); INSERT INTO t VALUES(9); SELECT * FROM t; ROLLBACK TO s; SELECT * FROM t; COMMIT;
		SELECT * FROM t;
		BEGIN; CREATE INDEX i ON t(a); SELECT b FROM t WHERE a=1; ROLLBACK; SELECT name FROM sqlite_master ORDER BY 1;
		BEGIN; DROP TABLE keep; SELECT * FROM keep; ROLLBACK; SELECT * FROM keep;
		SAVEPOINT a; CREATE TABLE z(a INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO z DEFAULT VALUES; SELECT * FROM sqlite_sequence; ROLLBACK TO a; SELECT * FROM sqlite_sequence; RELEASE a;
		BEGIN; CREATE TABLE keep(z); CREATE TABLE other(z); COMMIT;
		SELECT name FROM sqlite_master ORDER BY 1;
		BEGIN; CREATE VIEW v AS SELECT * FROM t; SELECT * FROM v; ROLLBACK; SELECT * FROM v;
		INSERT INTO t VALUES(1,3);
		CREATE UNIQUE INDEX u ON t(a);
		SELECT name FROM sqlite_master ORDER BY 1;
		CREATE UNIQUE INDEX u ON t(b);
		INSERT INTO t VALUES(5,3);`,
	"select": `
		CREATE TABLE a(id INTEGER PRIMARY KEY, x INT, y TEXT);
		CREATE INDEX ax ON a(x);
		CREATE TABLE b(id INTEGER PRIMARY KEY, a_id INT, z TEXT COLLATE NOCASE);
		INSERT INTO a VALUES(1,10,'one'),(2,20,'two'),(3,NULL,'three'),(4,20,NULL);
		INSERT INTO b VALUES(1,1,'A'),(2,1,'b'),(3,2,'B'),(4,9,'c');
		SELECT a.id, b.z FROM a JOIN b ON b.a_id=a.id ORDER BY 1,2;
		SELECT a.id, b.z FROM a LEFT JOIN b ON b.a_id=a.id ORDER BY 1,2;
		SELECT x, count(*), group_concat(y) FROM a GROUP BY x ORDER BY x;
		SELECT DISTINCT x FROM a ORDER BY x DESC;
		SELECT * FROM a WHERE x=20 ORDER BY id;
		SELECT * FROM a WHERE x>'1' ORDER BY id;
		SELECT * FROM a WHERE x IN (10,20) AND y IS NOT NULL ORDER BY id;
		SELECT id FROM b WHERE z='b' ORDER BY id;
		SELECT id FROM b WHERE z BETWEEN 'a' AND 'B' ORDER BY id;
		SELECT (SELECT max(z) FROM b WHERE a_id=a.id) FROM a ORDER BY id;
		SELECT * FROM a INDEXED BY ax WHERE x=10;
		SELECT * FROM a INDEXED BY nope WHERE x=10;
		UPDATE a INDEXED BY ax SET y=y WHERE x=10;
		DELETE FROM a INDEXED BY nope WHERE x=10;
		DELETE FROM a INDEXED BY ax WHERE x=77;
		SELECT * FROM a NOT INDEXED WHERE x=10;
		SELECT * FROM a ORDER BY x LIMIT 2 OFFSET 1;
		SELECT * FROM a, b WHERE a.id=b.id AND b.id=2;
		SELECT id FROM a UNION SELECT id FROM b EXCEPT SELECT 1 ORDER BY 1;
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5) SELECT sum(i) FROM n;
		SELECT nope FROM a;
		SELECT * FROM nope;
		SELECT abs('x', 1);
		SELEC 1;
		SELECT 'open;
		VALUES(1,2),(3,4);
		SELECT * FROM a WHERE id=2;
		SELECT * FROM a(5);`,
	"update from and views": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, v);
		CREATE TABLE u(id, v);
		INSERT INTO t VALUES(1,'a'),(2,'b'); INSERT INTO u VALUES(1,'A'),(2,'B');
		UPDATE t SET v=u.v FROM u WHERE u.id=t.id;
		SELECT * FROM t;
		UPDATE t SET (id,v)=(SELECT id+10, v||'!' FROM u WHERE u.id=t.id);
		SELECT * FROM t;
		CREATE VIEW w AS SELECT id, v FROM t;
		CREATE TRIGGER wi INSTEAD OF INSERT ON w BEGIN INSERT INTO t VALUES(new.id, new.v); END;
		CREATE TRIGGER wu INSTEAD OF UPDATE ON w BEGIN UPDATE t SET v=new.v WHERE id=old.id; END;
		CREATE TRIGGER wd INSTEAD OF DELETE ON w BEGIN DELETE FROM t WHERE id=old.id; END;
		INSERT INTO w VALUES(50,'fifty');
		UPDATE w SET v='changed' WHERE id=11;
		DELETE FROM w WHERE id=12;
		SELECT * FROM w ORDER BY id;
		DROP TRIGGER wd;
		DELETE FROM w WHERE id=11;
		DROP VIEW w;
		SELECT * FROM w;
		SELECT name FROM sqlite_master ORDER BY name;`,
	"temp": `
		CREATE TABLE t(a); INSERT INTO t VALUES('main');
		CREATE TEMP TABLE x(a DEFAULT 1, b);
		INSERT INTO x(b) VALUES(2);
		SELECT * FROM x;
		CREATE TEMP TABLE t(a); INSERT INTO t VALUES('temp');
		SELECT * FROM t; SELECT * FROM main.t; SELECT * FROM temp.t;
		SELECT name, sql FROM sqlite_temp_master ORDER BY name;
		SELECT m.name FROM temp.sqlite_schema m ORDER BY name;
		SELECT sqlite_temp_schema.name FROM sqlite_temp_schema ORDER BY 1;
		SELECT count(*) FROM t; SELECT count(*) FROM main.t;
		UPDATE t SET a=a||'!'; DELETE FROM main.t;
		SELECT * FROM t; SELECT * FROM main.t;
		PRAGMA table_info(t);
		PRAGMA main.table_info(t);
		SELECT name FROM pragma_table_info('x');
		DROP TABLE t; SELECT * FROM t;
		CREATE INDEX temp.xi ON x(b);
		CREATE INDEX xi2 ON x(a);
		CREATE TEMP VIEW tv AS SELECT b FROM x;
		SELECT * FROM tv;
		CREATE TEMP TRIGGER xt AFTER INSERT ON x BEGIN INSERT INTO main.t VALUES(new.b); END;
		INSERT INTO x VALUES(7,8);
		SELECT * FROM t;
		BEGIN; INSERT INTO x VALUES(9,10); ROLLBACK; SELECT * FROM t; SELECT * FROM x;
		BEGIN; CREATE TEMP TABLE gone(a); ROLLBACK; SELECT * FROM gone;
		ALTER TABLE x ADD COLUMN c;
		SELECT * FROM x;
		INSERT INTO x VALUES(1,1,1) RETURNING a+1;
		INSERT INTO x(a) VALUES(1) ON CONFLICT DO NOTHING;
		CREATE TEMP TABLE tt AS SELECT a FROM t;
		SELECT * FROM tt;
		DROP TABLE x; SELECT * FROM x;`,
	"create as": `
		CREATE TABLE s(a INT, b TEXT, c REAL, d); INSERT INTO s VALUES(1,'x',1.5,NULL),(2,'y',2,x'00');
		CREATE TABLE c AS SELECT a, b AS bb, c, d, a+1 FROM s;
		SELECT * FROM c;
		SELECT sql FROM sqlite_master WHERE name='c';
		PRAGMA table_info(c);
		CREATE TABLE c AS SELECT 1;
		CREATE TABLE IF NOT EXISTS c AS SELECT 1;
		CREATE TABLE d AS SELECT nope FROM s;
		CREATE TABLE e AS VALUES(1,2);
		SELECT * FROM e;`,
	"everyday names": `
		CREATE TABLE jobs(id INTEGER PRIMARY KEY, at TEXT);
		CREATE TABLE sessions(a); CREATE TABLE objects(a); CREATE TABLE "tables"(a, "at"); CREATE TABLE indexes(x);
		INSERT INTO jobs(at) VALUES('now');
		INSERT INTO objects VALUES(1); INSERT INTO "tables" VALUES(1,2);
		SELECT id, at FROM jobs; SELECT * FROM objects; SELECT at FROM tables;
		DROP TABLE objects; INSERT INTO objects VALUES(1); UPDATE objects SET a=1; DELETE FROM objects;
		DROP TABLE objects; DROP TABLE IF EXISTS objects; PRAGMA table_info(objects);
		DROP TABLE owners; CREATE INDEX x ON owners(a); ALTER TABLE owners ADD COLUMN y; CREATE TRIGGER z AFTER INSERT ON owners BEGIN SELECT 1; END;
		INSERT INTO shards VALUES(1); DELETE FROM timelines;
		SELECT name FROM pragma_table_info('owners');`,
	"maintenance": `
		CREATE TABLE t(a); CREATE INDEX i ON t(a);
		VACUUM; REINDEX; REINDEX t; REINDEX i; REINDEX nope;
		ANALYZE; ANALYZE t; ANALYZE nope;
		BEGIN; VACUUM; ROLLBACK;
		PRAGMA journal_mode;
		PRAGMA busy_timeout=1234; PRAGMA busy_timeout;
		PRAGMA integrity_check;
		EXPLAIN QUERY PLAN SELECT 1;`,
	"comments and empty": `
		-- nothing
		; /* x */ ;
		SELECT 1 /* c */ -- d
		;
		CREATE TABLE t(a /* in */, b -- out
		);
		INSERT /* x */ INTO t(a) -- y
		VALUES /* z */ (1);
		SELECT * FROM t`,
}
