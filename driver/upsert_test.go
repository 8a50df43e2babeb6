package driver

import (
	"database/sql"
	"sync"
	"testing"
)

// TestUpsertLikeSQLite runs scripts on plain SQLite and on a store, see
// TestLikeSQLite.
func TestUpsertLikeSQLite(t *testing.T) {
	for name, script := range upsertScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, newOracle(t), newSubject(t), script)
		})
	}
}

var upsertScripts = map[string]string{
	"plain": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE, b INT DEFAULT 5, c REAL);
		INSERT INTO t VALUES(1,'x',1,1),(2,'y',2,2);
		INSERT INTO t VALUES(1,'z',3,3) ON CONFLICT DO NOTHING;
		INSERT INTO t VALUES(1,'z',3,3) ON CONFLICT(id) DO NOTHING;
		INSERT INTO t VALUES(1,'z',3,3) ON CONFLICT(id) DO UPDATE SET a=excluded.a, b=excluded.b;
		SELECT * FROM t ORDER BY id;
		INSERT INTO t(a,c) VALUES('y','7') ON CONFLICT(a) DO UPDATE SET b=b+excluded.b, c=excluded.c+t.c;
		SELECT * FROM t ORDER BY id;
		INSERT INTO t(a,c) VALUES('y',9),('new',10),('y',11) ON CONFLICT(a) DO UPDATE SET b=t.b+1, c=excluded.c;
		SELECT changes(), total_changes(), last_insert_rowid();
		SELECT * FROM t ORDER BY id;
		INSERT INTO t(a) VALUES('q') ON CONFLICT(a) DO UPDATE SET b=b+1 WHERE b>100;
		INSERT INTO t(a) VALUES('q') ON CONFLICT(a) DO UPDATE SET b=b+1 WHERE b>100;
		SELECT changes();
		INSERT INTO t(a) VALUES('q') ON CONFLICT(a) DO UPDATE SET b=b+1 WHERE excluded.b IS 5;
		SELECT changes(), last_insert_rowid();
		SELECT * FROM t ORDER BY id;
		INSERT INTO t(id,a) VALUES(1,'y') ON CONFLICT(id) DO UPDATE SET b=-1 ON CONFLICT(a) DO UPDATE SET b=-2;
		INSERT INTO t(id,a) VALUES(1,'y') ON CONFLICT(a) DO UPDATE SET b=-3 ON CONFLICT(id) DO UPDATE SET b=-4;
		INSERT INTO t(id,a) VALUES(1,'y') ON CONFLICT(a) DO NOTHING ON CONFLICT DO UPDATE SET b=-5;
		INSERT INTO t(id,a) VALUES(1,'other') ON CONFLICT(a) DO NOTHING ON CONFLICT DO UPDATE SET b=-5;
		INSERT INTO t(id,a) VALUES(1,'y') ON CONFLICT(id) DO UPDATE SET a='y';
		INSERT INTO t(id,a) VALUES(77,'y') ON CONFLICT(id) DO UPDATE SET a='y';
		INSERT OR REPLACE INTO t(id,a) VALUES(77,'y') ON CONFLICT(id) DO UPDATE SET a='y';
		INSERT OR IGNORE INTO t(id,a) VALUES(1,'x'),(78,'y') ON CONFLICT(id) DO UPDATE SET a='never';
		INSERT OR IGNORE INTO t(id,a) VALUES(1,'x'),(2,'x') ON CONFLICT(id) DO UPDATE SET a='y';
		SELECT * FROM t ORDER BY id;
		INSERT INTO t(id,a) VALUES(1,'w') ON CONFLICT(id) DO UPDATE SET id=id+100;
		INSERT INTO t(id,a) VALUES(101,'w') ON CONFLICT(id) DO UPDATE SET rowid='nope';
		INSERT INTO t(id,a) VALUES(101,'w') ON CONFLICT(id) DO UPDATE SET (a,b)=('w2',17), c=4;
		INSERT INTO t(id,a) VALUES(101,'w') ON CONFLICT(id) DO UPDATE SET (b,c)=(SELECT b+1,c+1 FROM t WHERE id=101);
		SELECT * FROM t ORDER BY id;`,
	"sources": `
		CREATE TABLE s(k, v); INSERT INTO s VALUES('a',1),('b',2),('a',3),('c',4);
		CREATE TABLE t(k PRIMARY KEY, v, n DEFAULT 0);
		INSERT INTO t(k,v) SELECT k,v FROM s WHERE true ON CONFLICT(k) DO UPDATE SET v=excluded.v, n=n+1;
		SELECT * FROM t ORDER BY k;
		INSERT INTO t(k,v) SELECT k,v FROM s ORDER BY v DESC LIMIT 3 ON CONFLICT(k) DO UPDATE SET v=t.v||','||excluded.v;
		SELECT * FROM t ORDER BY k;
		INSERT INTO t SELECT k,v,7 FROM s WHERE 1 ON CONFLICT(k) DO UPDATE SET n=excluded.n;
		INSERT INTO t AS q(k,v) VALUES('a',0) ON CONFLICT(k) DO UPDATE SET v=q.v||excluded.k WHERE q.n=7;
		WITH w(x,y) AS (VALUES('a',50),('z',51)) INSERT INTO t(k,v) SELECT * FROM w WHERE 1 ON CONFLICT(k) DO UPDATE SET v=(SELECT max(y) FROM w);
		INSERT INTO t(k,v) WITH w(x,y) AS (VALUES('a',60),('y',61)) SELECT * FROM w WHERE 1 ON CONFLICT(k) DO UPDATE SET v=excluded.v;
		INSERT INTO t(k,v) VALUES('a',1) UNION SELECT 'm',2 ON CONFLICT(k) DO NOTHING;
		INSERT INTO t DEFAULT VALUES ON CONFLICT DO NOTHING;
		INSERT INTO t(k,v) SELECT k,v FROM s ON CONFLICT(k) DO NOTHING;
		INSERT INTO t(k,v) SELECT k,v FROM t WHERE 1 ON CONFLICT(k) DO UPDATE SET n=n+1;
		SELECT * FROM t ORDER BY k;
		REPLACE INTO t(k,v) VALUES('a',1) ON CONFLICT(k) DO UPDATE SET v='replaced?';
		SELECT * FROM t ORDER BY k;`,
	"targets": `
		CREATE TABLE t(a TEXT COLLATE NOCASE, b TEXT, c INT, UNIQUE(a,b), UNIQUE(c));
		CREATE UNIQUE INDEX bi ON t(b COLLATE NOCASE);
		INSERT INTO t VALUES('a','b',1);
		INSERT INTO t VALUES('A','b',2) ON CONFLICT(b,a) DO UPDATE SET c=10;
		INSERT INTO t VALUES('A','b',2) ON CONFLICT(a,b) DO UPDATE SET c=11;
		INSERT INTO t VALUES('q','B',2) ON CONFLICT(b COLLATE NOCASE) DO UPDATE SET c=12;
		INSERT INTO t VALUES('q','B',2) ON CONFLICT(b) DO UPDATE SET c=13;
		INSERT INTO t VALUES('q','B',2) ON CONFLICT(b COLLATE RTRIM) DO UPDATE SET c=14;
		INSERT INTO t VALUES('q','B',2) ON CONFLICT(a) DO UPDATE SET c=14;
		INSERT INTO t VALUES('q','B',2) ON CONFLICT(nope) DO UPDATE SET c=14;
		INSERT INTO t VALUES('q','B',2) ON CONFLICT(rowid) DO UPDATE SET c=14;
		INSERT INTO t(rowid,a,b,c) VALUES(1,'z','z',99) ON CONFLICT(rowid) DO UPDATE SET c=excluded.c, a=excluded.rowid;
		INSERT INTO t VALUES('q','z',99) ON CONFLICT(c) DO NOTHING ON CONFLICT(c) DO UPDATE SET c=1;
		INSERT INTO t VALUES('q','z',99) ON CONFLICT(t.c) DO UPDATE SET a='qualified';
		INSERT INTO t VALUES('q','z',99) ON CONFLICT(c) DO UPDATE SET nope=1;
		INSERT INTO t VALUES('q','z',99) ON CONFLICT(c) DO UPDATE SET a=nope;
		INSERT INTO t VALUES('q','z',99) ON CONFLICT(c) DO UPDATE SET a=excluded.nope;
		INSERT INTO t VALUES('q','z',99) ON CONFLICT(c) DO UPDATE SET a=count(*);
		INSERT INTO t VALUES('q','z',99) ON CONFLICT(c) DO UPDATE SET a=(SELECT x FROM nope);
		INSERT INTO t VALUES('q','z') ON CONFLICT(c) DO NOTHING;
		INSERT INTO nope VALUES(1) ON CONFLICT DO NOTHING;
		CREATE VIEW v AS SELECT * FROM t;
		INSERT INTO v VALUES(1,2,3) ON CONFLICT DO NOTHING;
		SELECT * FROM t;`,
	"without rowid": `
		CREATE TABLE w(a, b, c, d DEFAULT 'd', PRIMARY KEY(b,a), UNIQUE(c)) WITHOUT ROWID;
		INSERT INTO w(a,b,c) VALUES(1,1,1),(2,2,2);
		INSERT INTO w(a,b,c) VALUES(1,1,3) ON CONFLICT(a,b) DO UPDATE SET d=excluded.d||c||excluded.c;
		INSERT INTO w(a,b,c) VALUES(9,9,2) ON CONFLICT(c) DO UPDATE SET a=excluded.a, b=excluded.b;
		INSERT INTO w(a,b,c) VALUES(9,9,1) ON CONFLICT(c) DO UPDATE SET a=excluded.a, b=excluded.b;
		INSERT INTO w(a,b,c) VALUES(9,9,1) ON CONFLICT(rowid) DO NOTHING;
		INSERT INTO w(a,b,c) VALUES(9,9,1) ON CONFLICT(c) DO UPDATE SET rowid=4;
		INSERT INTO w(a,b,c) VALUES(5,5,5),(5,5,5) ON CONFLICT(a,b) DO UPDATE SET c=6;
		SELECT changes(), last_insert_rowid();
		SELECT * FROM w;`,
	"strict, not null, check": `
		CREATE TABLE s(id INTEGER PRIMARY KEY, a INT NOT NULL, b TEXT, CHECK(a<>13)) STRICT;
		INSERT INTO s VALUES(1,1,'x');
		INSERT INTO s VALUES(1,'2',3) ON CONFLICT(id) DO UPDATE SET a=excluded.a, b=typeof(excluded.a)||typeof(excluded.b);
		INSERT INTO s VALUES(1,NULL,3) ON CONFLICT(id) DO UPDATE SET a=1;
		INSERT INTO s VALUES(1,13,3) ON CONFLICT(id) DO UPDATE SET a=1;
		INSERT INTO s VALUES(1,'x',3) ON CONFLICT(id) DO UPDATE SET a=1;
		INSERT INTO s VALUES(1,1,3) ON CONFLICT(id) DO UPDATE SET a=NULL;
		INSERT INTO s VALUES(1,1,3) ON CONFLICT(id) DO UPDATE SET a=13;
		INSERT INTO s VALUES(1,1,3) ON CONFLICT(id) DO UPDATE SET a='z';
		INSERT OR IGNORE INTO s VALUES(1,1,3),(1,13,3),(2,2,'two') ON CONFLICT(id) DO UPDATE SET a=NULL;
		SELECT * FROM s;
		CREATE TABLE n(id INTEGER PRIMARY KEY, a INT, b REAL, c TEXT, d);
		INSERT INTO n VALUES(1,1,1,1,1);
		INSERT INTO n VALUES(1,'2',3,4,5) ON CONFLICT(id) DO UPDATE SET d=typeof(excluded.a)||typeof(excluded.b)||typeof(excluded.c)||typeof(excluded.d);
		SELECT * FROM n;
		INSERT INTO n VALUES('1','2',3,4,5) ON CONFLICT(id) DO UPDATE SET d=excluded.a<'10', c=excluded.a>10, a=typeof(excluded.id);
		SELECT * FROM n;
		CREATE TABLE r(id INTEGER PRIMARY KEY, a NOT NULL ON CONFLICT REPLACE DEFAULT 'def', u UNIQUE ON CONFLICT REPLACE, w UNIQUE);
		INSERT INTO r VALUES(1,1,1,1),(2,2,2,2),(3,3,3,3);
		INSERT INTO r VALUES(1,NULL,2,9) ON CONFLICT(id) DO UPDATE SET a=excluded.a;
		INSERT INTO r VALUES(1,NULL,2,9) ON CONFLICT(id) DO UPDATE SET u=excluded.u;
		INSERT INTO r VALUES(9,NULL,2,3) ON CONFLICT(w) DO UPDATE SET a=excluded.a||u;
		INSERT INTO r VALUES(9,NULL,2,10) ON CONFLICT(w) DO UPDATE SET a=excluded.a||u;
		SELECT * FROM r ORDER BY id;`,
	"once": `
		CREATE TABLE t(k INTEGER PRIMARY KEY, n, m);
		INSERT INTO t VALUES(1,0,0),(2,0,0),(3,0,0);
		INSERT INTO t VALUES(1,9,9),(10,9,9),(2,9,9),(11,9,9),(3,9,9) ON CONFLICT(k) DO UPDATE SET n=(SELECT count(*) FROM t), m=(SELECT count(*) FROM t WHERE n=excluded.n);
		SELECT * FROM t;
		INSERT INTO t VALUES(1,1,9),(20,9,9),(2,2,9),(21,9,9),(3,2,9) ON CONFLICT(k) DO UPDATE SET n=(SELECT count(*) FROM t) WHERE excluded.n>1;
		SELECT * FROM t;
		INSERT INTO t VALUES(1,1,9),(30,9,9),(2,2,9) ON CONFLICT(k) DO UPDATE SET n=EXISTS(SELECT 1 FROM t WHERE k=30), m=k IN (SELECT k FROM t WHERE k=excluded.k);
		INSERT INTO t VALUES(1,1,9),(2,2,9) ON CONFLICT(k) DO UPDATE SET n=(SELECT max(excluded.k) FROM (SELECT 5 AS k) AS excluded);
		INSERT INTO t VALUES(1,1,9),(40,2,9),(2,2,9) ON CONFLICT(k) DO UPDATE SET (n,m)=(SELECT count(*), max(k) FROM t);
		INSERT INTO t VALUES(1,1,9),(50,2,9),(2,2,9) ON CONFLICT(k) DO UPDATE SET n=(SELECT "k" FROM (SELECT 1)), m=(SELECT "nok" FROM (SELECT 1));
		SELECT * FROM t;
		CREATE TABLE a(k INTEGER PRIMARY KEY, x TEXT, y, z);
		CREATE TABLE b(i INT, s TEXT);
		INSERT INTO b VALUES(5,'5');
		INSERT INTO a VALUES(1,'05',5,'5');
		INSERT INTO a(k,y) VALUES(1,0) ON CONFLICT(k) DO UPDATE SET y=x=(SELECT i FROM b), z=((SELECT s FROM b)=5)||(y BETWEEN (SELECT s FROM b) AND 6)||(x IN (5))||((SELECT CAST(s AS INT) FROM b) IS x);
		INSERT INTO a(k,y) VALUES(1,0),(1,1) ON CONFLICT(k) DO UPDATE SET y=y+5 WHERE x=(SELECT i FROM b);
		SELECT * FROM a;`,
	"autoincrement": `
		CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT, k UNIQUE, n DEFAULT 0);
		INSERT INTO a(k) VALUES('x'),('y');
		INSERT INTO a(k) VALUES('x'),('y'),('z') ON CONFLICT(k) DO UPDATE SET n=n+1;
		SELECT last_insert_rowid(), changes();
		INSERT INTO a(k) VALUES('x'),('y') ON CONFLICT(k) DO NOTHING;
		SELECT * FROM sqlite_sequence;
		INSERT INTO a(k) VALUES('w');
		SELECT * FROM a; SELECT * FROM sqlite_sequence;
		INSERT INTO a(id,k) VALUES(100,'x') ON CONFLICT DO UPDATE SET n=-1;
		SELECT * FROM a; SELECT * FROM sqlite_sequence;`,
	"foreign keys": `
		CREATE TABLE p(id INTEGER PRIMARY KEY, v UNIQUE);
		CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE, q REFERENCES p(v) ON UPDATE SET NULL);
		INSERT INTO p VALUES(1,'a'),(2,'b');
		INSERT INTO c VALUES(1,1,'a'),(2,2,'b');
		INSERT INTO c VALUES(1,9,'a') ON CONFLICT(id) DO UPDATE SET q='b';
		INSERT INTO c VALUES(1,1,'a') ON CONFLICT(id) DO UPDATE SET p=9;
		INSERT INTO p VALUES(1,'z') ON CONFLICT(id) DO UPDATE SET id=11, v=excluded.v;
		SELECT * FROM c;
		INSERT INTO p VALUES(2,'z') ON CONFLICT(id) DO UPDATE SET v='y' ON CONFLICT(v) DO UPDATE SET id=12;
		SELECT * FROM p; SELECT * FROM c;
		BEGIN;
		INSERT INTO c VALUES(1,1,'a') ON CONFLICT(id) DO UPDATE SET p=9;
		INSERT INTO c VALUES(5,11,NULL),(1,9,'y') ON CONFLICT(id) DO UPDATE SET q=excluded.q;
		SELECT * FROM c;
		COMMIT;
		SELECT * FROM c;`,
	"instead of": `
		CREATE TABLE t(k PRIMARY KEY, n, m);
		CREATE VIEW v AS SELECT k, n FROM t;
		CREATE TRIGGER vi INSTEAD OF INSERT ON v BEGIN
			INSERT INTO t VALUES(new.k, new.n, 0) ON CONFLICT(k) DO UPDATE SET n=n+new.n, m=m+excluded.n WHERE new.n<>7;
			INSERT INTO t(k) VALUES('all') ON CONFLICT(k) DO UPDATE SET n=(SELECT count(*) FROM t), m=(SELECT sum(n) FROM t WHERE k<>'all');
		END;
		CREATE TRIGGER vu INSTEAD OF UPDATE ON v BEGIN
			UPDATE t SET n=(SELECT count(*) FROM t x WHERE x.n<=t.n)+new.n WHERE k<>'all';
		END;
		INSERT INTO v VALUES('a',1),('b',2),('a',3),('a',7),('c',4);
		SELECT * FROM t;
		INSERT INTO v SELECT k, n FROM t WHERE k<>'all' ORDER BY k DESC;
		SELECT * FROM t;
		UPDATE v SET n=100 WHERE k='b';
		SELECT * FROM t;
		CREATE TABLE other(a);
		INSERT INTO v VALUES('a',1),('d',2);
		SELECT changes(), last_insert_rowid();
		SELECT * FROM t;
		CREATE TRIGGER bad INSTEAD OF DELETE ON v BEGIN INSERT INTO t(k) VALUES(old.k) ON CONFLICT(n) DO NOTHING; END;
		SELECT * FROM v;
		DROP VIEW v;
		SELECT * FROM t;`,
	"triggers": `
		CREATE TABLE log(n INTEGER PRIMARY KEY, what, x, y);
		CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, n INT, g AS (n*2));
		CREATE TABLE stat(k PRIMARY KEY, n, m);
		CREATE TRIGGER ti AFTER INSERT ON t BEGIN
			INSERT INTO stat VALUES(new.k, 1, new.id) ON CONFLICT(k) DO UPDATE SET n=n+1, m=excluded.m||'+'||m;
			INSERT INTO stat(k,n) VALUES('rows',0) ON CONFLICT(k) DO UPDATE SET n=(SELECT count(*) FROM t), m=(SELECT max(n) FROM t WHERE id<=new.id);
		END;
		CREATE TRIGGER tb BEFORE UPDATE ON t BEGIN INSERT INTO log(what,x,y) VALUES('before', old.n, new.n); END;
		CREATE TRIGGER ta AFTER UPDATE ON t BEGIN INSERT INTO log(what,x,y) VALUES('after', old.g, new.g); END;
		CREATE TRIGGER tk AFTER UPDATE OF k ON t BEGIN INSERT INTO log(what,x,y) VALUES('key', old.k, new.k); END;
		INSERT INTO t(k,n) VALUES('a',1),('b',2);
		INSERT INTO t(k,n) VALUES('a',10),('c',3),('b',20) ON CONFLICT(k) DO UPDATE SET n=n+excluded.n RETURNING id, k, n, g;
		SELECT changes(), total_changes(), last_insert_rowid();
		SELECT * FROM t; SELECT * FROM log; SELECT * FROM stat;
		INSERT INTO t(k,n) VALUES('a',10) ON CONFLICT(k) DO UPDATE SET k='z' WHERE n>5 RETURNING *;
		INSERT INTO t(k,n) VALUES('z',10),('q',3) ON CONFLICT(k) DO NOTHING RETURNING *;
		INSERT INTO t(id,k,n) VALUES(1,'z',10),(9,'y',3) ON CONFLICT DO UPDATE SET n=excluded.g RETURNING id, excluded.n;
		INSERT INTO t(id,k,n) VALUES(1,'z',10),(9,'y',3) ON CONFLICT DO UPDATE SET n=excluded.g RETURNING id, n, (SELECT count(*) FROM t);
		SELECT * FROM t; SELECT * FROM log; SELECT * FROM stat;
		UPDATE t SET n=(SELECT count(*) FROM log WHERE x<=t.n)+n;
		SELECT * FROM t; SELECT * FROM log; SELECT * FROM stat;
		CREATE TRIGGER tr AFTER UPDATE OF n ON t WHEN new.n<1000 BEGIN UPDATE t SET n=n+(SELECT count(*) FROM t u WHERE u.n>t.n) WHERE id<>new.id; END;
		UPDATE t SET n=n+1;
		SELECT * FROM t; SELECT count(*) FROM log;
		CREATE TRIGGER tx BEFORE UPDATE ON t WHEN new.n%2 BEGIN SELECT raise(ignore); END;
		INSERT INTO t(id,n) VALUES(1,5),(2,6) ON CONFLICT(id) DO UPDATE SET n=excluded.n;
		SELECT changes();
		SELECT * FROM t;
		CREATE TABLE x(id INTEGER PRIMARY KEY, b TEXT);
		CREATE TABLE y(c TEXT PRIMARY KEY, d);
		CREATE TRIGGER xi AFTER INSERT ON x BEGIN INSERT INTO y VALUES('k',0) ON CONFLICT(c) DO UPDATE SET d=d+(new.id<'10')*10+(new.b<10)*100+(new.id='5')*1000 WHERE new.id<>'7'; END;
		INSERT INTO y VALUES('k',0);
		INSERT INTO x VALUES(5,'5'),(7,7),(9,9);
		SELECT * FROM y;`,
	"returning of a firing delete": `
		CREATE TABLE log(a);
		CREATE TABLE t(id INTEGER PRIMARY KEY, a);
		CREATE TRIGGER td BEFORE DELETE ON t BEGIN INSERT INTO log VALUES(old.id); END;
		INSERT INTO t VALUES(3,'x'),(6,'y'),(9,'z');
		DELETE FROM t WHERE id>3 RETURNING *, rowid;
		SELECT * FROM log;`,
	"types before triggers": `
		CREATE TABLE log(a);
		CREATE TABLE t(id INTEGER PRIMARY KEY, a INT NOT NULL, b TEXT NOT NULL) STRICT;
		CREATE TRIGGER ti BEFORE INSERT ON t BEGIN INSERT INTO log VALUES(new.a); END;
		CREATE TRIGGER tu BEFORE UPDATE OF a ON t BEGIN INSERT INTO log VALUES(new.a); END;
		INSERT INTO t VALUES(1,'x',NULL);
		INSERT INTO t VALUES(1,2,NULL);
		INSERT INTO t VALUES(1,2,3);
		UPDATE t SET a='y', b=NULL;
		UPDATE t SET a=NULL, b=x'00';
		UPDATE t SET b=x'00';
		UPDATE t SET a='3', b=4;
		SELECT * FROM t; SELECT * FROM log;`,
	"temp": `
		CREATE TABLE t(k PRIMARY KEY, n, m);
		CREATE TABLE u(a, b);
		INSERT INTO u VALUES(1,2);
		CREATE TEMP TABLE u(a);
		INSERT INTO u VALUES(5),(6);
		INSERT INTO t VALUES(1,1,1);
		INSERT INTO t VALUES(1,2,3) ON CONFLICT(k) DO UPDATE SET n=(SELECT max(a) FROM u)+excluded.n;
		INSERT INTO t VALUES(1,2,3) ON CONFLICT(k) DO UPDATE SET n=(SELECT max(a) FROM main.u)+excluded.n;
		INSERT INTO t SELECT 1, a, a FROM u WHERE 1 ON CONFLICT(k) DO UPDATE SET n=n+excluded.n, m=(SELECT count(*) FROM temp.u WHERE a<=excluded.m);
		INSERT INTO t VALUES(1,2,3) ON CONFLICT(k) DO UPDATE SET n=(SELECT b FROM u);
		INSERT INTO t VALUES(1,2,3) ON CONFLICT(nope) DO UPDATE SET n=1;
		INSERT INTO t VALUES(1,2,3) ON CONFLICT(n) DO UPDATE SET n=1;
		INSERT INTO t VALUES(1,2,3) ON CONFLICT(k) DO UPDATE SET nope=1;
		INSERT INTO t VALUES(1,2,3) ON CONFLICT(k) DO UPDATE SET n=nope;
		INSERT INTO t VALUES(1,2,3) ON CONFLICT(k) DO UPDATE SET n=excluded.nope;
		INSERT INTO t VALUES(1,2,3) ON CONFLICT(k) DO UPDATE SET n=(SELECT x FROM nope);
		UPDATE t SET n=(SELECT count(*) FROM u WHERE u.a>t.n);
		SELECT * FROM t;
		CREATE TEMP TRIGGER tt AFTER INSERT ON main.u BEGIN
			INSERT INTO t VALUES(new.a, 1, 1) ON CONFLICT(k) DO UPDATE SET n=n+(SELECT count(*) FROM temp.u), m=m||new.b;
			UPDATE t SET m=(SELECT max(x.m) FROM t x WHERE x.k<=t.k) WHERE k>new.a;
		END;
		INSERT INTO main.u VALUES(1,'p'),(2,'q'),(2,'r'),(1,'s');
		SELECT * FROM t;
		CREATE TEMP TABLE t(k PRIMARY KEY, n);
		INSERT INTO t VALUES(1,'temp'),(1,'again') ON CONFLICT(k) DO UPDATE SET n=excluded.n;
		INSERT INTO main.t AS x VALUES(1,'main',0) ON CONFLICT(k) DO UPDATE SET n=x.n||excluded.n;
		INSERT INTO main.t VALUES(1,'main',0) ON CONFLICT(k) DO UPDATE SET n=t.n||excluded.n;
		SELECT * FROM t; SELECT * FROM main.t;`,
	"generated": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b AS (a+1) UNIQUE, c AS (b||'c') STORED);
		INSERT INTO t VALUES(1,1),(2,2);
		INSERT INTO t VALUES(3,2) ON CONFLICT(b) DO UPDATE SET a=excluded.b*10;
		INSERT INTO t VALUES(1,'7') ON CONFLICT(id) DO UPDATE SET a=typeof(excluded.a)||excluded.c;
		INSERT INTO t VALUES(1,'7') ON CONFLICT(id) DO UPDATE SET b=1;
		INSERT INTO t(a) VALUES(21),('22') ON CONFLICT(b) DO UPDATE SET a=length(c) RETURNING *;
		SELECT * FROM t;`,
	"update sees itself": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, n, k);
		INSERT INTO t VALUES(1,1,'a'),(2,2,'b'),(3,3,'c');
		UPDATE t SET n=(SELECT sum(n) FROM t WHERE id<>t.id);
		UPDATE t SET n=(SELECT sum(x.n) FROM t x WHERE x.id<>t.id);
		SELECT * FROM t;
		UPDATE t SET n=(SELECT sum(n) FROM t);
		SELECT * FROM t;
		UPDATE t AS z SET (n,k)=(SELECT z.n+1, group_concat(k) FROM t WHERE id<=z.id), id=id+10;
		SELECT * FROM t;
		UPDATE OR REPLACE t SET id=id+1, n=n+1;
		SELECT * FROM t;
		UPDATE OR REPLACE t SET id=CASE id WHEN 12 THEN 13 ELSE id+1 END, k=k||id;
		SELECT * FROM t;
		UPDATE t SET n=n+(id IN (SELECT id FROM t WHERE n>5)), n=n;
		UPDATE t SET nope=(SELECT 1 FROM t x WHERE x.id=t.id);
		UPDATE t SET n=(SELECT nope FROM t x WHERE x.id=t.id);
		SELECT * FROM t;
		CREATE TABLE tree(id INTEGER PRIMARY KEY, up REFERENCES tree(id) ON UPDATE CASCADE ON DELETE SET NULL, v);
		INSERT INTO tree VALUES(1,NULL,0),(2,1,0),(3,2,0);
		UPDATE tree SET id=id+10, v=up;
		SELECT * FROM tree;
		UPDATE OR REPLACE tree SET id=12, v=coalesce(up,'none') WHERE id<>12;
		SELECT * FROM tree;`,
}

// TestUpsertParameters binds parameters of all kinds, which move when a statement is
// rewritten.
func TestUpsertParameters(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(k INTEGER PRIMARY KEY, a, b, c)")
	mustExec(t, db, "INSERT INTO t VALUES(1,'a','b','c'),(2,'A','B','C')")
	for _, x := range []struct {
		text string
		args []any
		want string
	}{
		{"INSERT INTO t VALUES(?,?,?,?) ON CONFLICT(k) DO UPDATE SET a=?, b=excluded.b||? WHERE k<?", []any{1, "x", "y", "z", "p", "q", 5}, "p,yq,c"},
		{"INSERT INTO t VALUES(?,?,?,?) ON CONFLICT(k) DO UPDATE SET a=?, b=excluded.b||? WHERE k<?", []any{1, "x", "y", "z", "p2", "q2", 1}, "p,yq,c"},
		{"INSERT INTO t(k,a) VALUES(?1,?3),(?1,?2) ON CONFLICT(k) DO UPDATE SET a=a||excluded.a||?4||?2", []any{1, "2", "3", "4"}, "p342242,yq,c"},
		{"INSERT INTO t(k,a) VALUES(:k,:a),(:k,:b) ON CONFLICT(k) DO UPDATE SET a=:a||@c, c=$d", []any{sql.Named("d", "D"), sql.Named("c", "C"), sql.Named("b", "B"), sql.Named("a", "A"), sql.Named("k", 1)}, "AC,yq,D"},
		{"INSERT INTO t(k,a) VALUES(:k,:a),(:k,:b) ON CONFLICT(k) DO UPDATE SET a=:a||@c, c=$d", []any{1, "one", "two", "three", "four"}, "onethree,yq,four"},
		{"INSERT INTO t(k,a) SELECT ?, ? WHERE ? ON CONFLICT DO UPDATE SET b=(SELECT ?||?||a FROM t WHERE k=?), c=?", []any{1, "n", true, "u", "v", 2, "w"}, "onethree,uvA,w"},
		{"WITH w(x) AS (SELECT ?) INSERT INTO t(k) VALUES(?) ON CONFLICT(k) DO UPDATE SET a=(SELECT x FROM w WHERE x<>?)||excluded.k", []any{"with", 1, "other"}, "with1,uvA,w"},
		{"UPDATE t SET a=?; INSERT INTO t(k,a) VALUES(?,?) ON CONFLICT(k) DO UPDATE SET a=a||excluded.a||?, b=?", []any{"s", 1, "t", "u", "v"}, "stu,v,w"},
		{"UPDATE t SET a=(SELECT ?||x.k||t.k FROM t x WHERE x.k>=t.k AND x.k>?), b=? WHERE k=?", []any{"m", 1, "n", 1}, "m21,n,w"},
		{"INSERT INTO t(k) VALUES(?) ON CONFLICT(k) DO UPDATE SET a=? RETURNING ?||a||b||c", []any{1, "r", "s"}, "r,n,w"},
	} {
		mustExec(t, db, x.text, x.args...)
		expect(t, db, x.want, "SELECT a||','||b||','||c FROM t WHERE k=1")
	}
	mustFail(t, db, ErrRange, "INSERT INTO t(k) VALUES(:k) ON CONFLICT(k) DO UPDATE SET a=:a", sql.Named("k", 1))
}

// TestUpsertFromConnections has connections run the same texts while the schema
// changes: they share what was made of a text.
func TestUpsertFromConnections(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, "CREATE TABLE t(k INTEGER PRIMARY KEY, n INT DEFAULT 0); CREATE TABLE u(k UNIQUE, s)")
	var g sync.WaitGroup
	const workers, rounds = 4, 25
	for range workers {
		g.Go(func() {
			for i := range rounds {
				for _, text := range []string{
					"INSERT INTO t(k,n) VALUES(7,1) ON CONFLICT(k) DO UPDATE SET n=n+excluded.n",
					"INSERT INTO u(k,s) VALUES(1,'x') ON CONFLICT(k) DO UPDATE SET s=(SELECT max(n) FROM t)||excluded.s RETURNING s",
				} {
					if _, err := db.Exec(text); err != nil {
						t.Error(err)
					}
				}
				if i%10 == 5 {
					if _, err := db.Exec("CREATE INDEX IF NOT EXISTS i ON t(n); DROP INDEX IF EXISTS i"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	g.Wait()
	expect(t, db, workers*rounds, "SELECT n FROM t")
}
