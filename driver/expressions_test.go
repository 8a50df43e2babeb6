package driver

import "testing"

// DEFAULTs and CHECKs of all kinds do what they do in SQLite.
func TestDefaultsAndChecksLikeSQLite(t *testing.T) {
	compare(t, newOracle(t), newSubject(t), `
		CREATE TABLE d(a, b DEFAULT 1e2, c DEFAULT -9223372036854775808, d DEFAULT x'0102', e DEFAULT "dq", f DEFAULT NULL, g DEFAULT (1+abs(-2)), h DEFAULT CURRENT_DATE, i TEXT DEFAULT 5, j INT DEFAULT '7', k DEFAULT TRUE, l DEFAULT +3, m DEFAULT (CASE WHEN 1 THEN 'x' END), n DEFAULT false, o DEFAULT 0x10, p DEFAULT 'a''b', q DEFAULT (lower('ABC')), r DEFAULT ('a' || 'b'), s DEFAULT 1.50, t DEFAULT - 4, u DEFAULT [br], v DEFAULT true_, w BOOLEAN DEFAULT 'true', x DEFAULT (random() IS NULL), y DEFAULT ((SELECT 1)));
		CREATE TABLE d(a, b DEFAULT 1e2, c DEFAULT -9223372036854775808, d DEFAULT x'0102', e DEFAULT "dq", f DEFAULT NULL, g DEFAULT (1+abs(-2)), i TEXT DEFAULT 5, j INT DEFAULT '7', k DEFAULT TRUE, l DEFAULT +3, m DEFAULT (CASE WHEN 1 THEN 'x' END), n DEFAULT false, o DEFAULT 0x10, p DEFAULT 'a''b', q DEFAULT (lower('ABC')), r DEFAULT ('a' || 'b'), s DEFAULT 1.50, t DEFAULT - 4, u DEFAULT [br], v DEFAULT true_, w BOOLEAN DEFAULT 'true', x DEFAULT (random() IS NULL));
		INSERT INTO d(a) VALUES(1); INSERT INTO d DEFAULT VALUES; INSERT INTO d(a,f) SELECT 1,2 UNION SELECT 3,4; INSERT INTO d(f,a) VALUES(NULL,NULL) RETURNING *;
		SELECT * FROM d; SELECT typeof(b),typeof(c),typeof(d),typeof(e),typeof(g),typeof(i),typeof(j),typeof(k),typeof(l),typeof(n),typeof(o),typeof(s),typeof(t),typeof(u),typeof(w) FROM d LIMIT 1;
		CREATE TABLE big(a, b DEFAULT 0xffffffffffffffffff); INSERT INTO big(a) VALUES(1); CREATE TABLE big(a, b DEFAULT 0x7fffffffffffffff, c DEFAULT 99999999999999999999); INSERT INTO big(a) VALUES(1); SELECT * FROM big;
		CREATE TABLE n(a, b NOT NULL DEFAULT (upper('q')), c NOT NULL ON CONFLICT REPLACE DEFAULT 7, e TEXT NOT NULL DEFAULT 3); INSERT INTO n VALUES(1,NULL,NULL,1); INSERT OR REPLACE INTO n VALUES(1,NULL,NULL,NULL); INSERT INTO n(a,b,e) VALUES(2,2,2); UPDATE OR REPLACE n SET b=NULL, e=NULL; UPDATE n SET c=NULL; SELECT *, typeof(e) FROM n;
		CREATE TABLE v(a, b DEFAULT (a)); CREATE TABLE v(a, b DEFAULT (count(*)));
		CREATE TABLE c(a CONSTRAINT "pos x" CHECK(a>0) CONSTRAINT other CHECK (a<>7), b CHECK(b IN (1,2,NULL) OR b LIKE 'x%'), c, CHECK(a<>b), CONSTRAINT named CHECK(c IS NULL OR length(c)>1) , CHECK ( c /* com */ <> 'zz' ));
		INSERT INTO c VALUES(0,1,NULL); INSERT INTO c VALUES(7,1,NULL); INSERT INTO c VALUES(5,9,NULL); INSERT INTO c VALUES(1,1,NULL); INSERT INTO c VALUES(3,1,'q'); INSERT INTO c VALUES(3,1,'zz'); INSERT INTO c VALUES(NULL,NULL,NULL),(3,'xyz','ab'); INSERT OR IGNORE INTO c VALUES(0,1,'a'); INSERT OR REPLACE INTO c VALUES(0,1,'a');
		UPDATE c SET a=0; UPDATE c SET c='z'; PRAGMA ignore_check_constraints=ON; UPDATE c SET a=0; PRAGMA ignore_check_constraints=OFF; UPDATE c SET b='xx'; UPDATE c SET a=-1; UPDATE c SET c='okay'; SELECT * FROM c;
		CREATE TABLE cc(a TEXT COLLATE NOCASE CHECK(a='ABC'), b INT CHECK(typeof(b)='integer'), r REAL CHECK(r=1), CHECK(rowid<100), CHECK(cc.a IS NOT NULL)); INSERT INTO cc VALUES('abc','5','1'); INSERT INTO cc VALUES('x',5,1); INSERT INTO cc VALUES('Abc','x',1); INSERT INTO cc(rowid,a,b,r) VALUES(100,'abc',1,1); UPDATE cc SET rowid=200; INSERT INTO cc VALUES(NULL,1,1); SELECT *, typeof(b), typeof(r) FROM cc;
		CREATE TABLE e(a CHECK(abs(a)>1), b CHECK(json_valid(b))); INSERT INTO e VALUES(-9223372036854775808,1); INSERT OR IGNORE INTO e VALUES(-9223372036854775808,1); INSERT INTO e VALUES(2,'{'); INSERT INTO e VALUES(2,'{}'); SELECT * FROM e;
		CREATE TABLE dt(a CHECK(datetime(a) IS NOT NULL), b CHECK(strftime('%s',b)>0), c DEFAULT (strftime('%Y','2020-01-01'))); INSERT INTO dt(a,b) VALUES('2020-01-01','2021-01-01'); INSERT INTO dt(a,b) VALUES('now','2021-01-01'); INSERT INTO dt(a,b) VALUES('2020-01-01','now'); INSERT OR IGNORE INTO dt(a,b) VALUES('2020-01-01','now'); UPDATE dt SET b='now'; SELECT * FROM dt;
		CREATE TABLE x(a CHECK(date('now')>a)); CREATE TABLE x(a CHECK(a IN (SELECT 1))); CREATE TABLE x(a CHECK(nope>1)); CREATE TABLE x(a CHECK(CURRENT_TIMESTAMP>a)); CREATE TABLE x(a CHECK(random()>a));
		INSERT INTO x VALUES(1); SELECT name FROM sqlite_master WHERE name='x'`)
}
