-- Maintenance that keeps a transaction or a temp table.
CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1);
BEGIN; REINDEX t; INSERT INTO t VALUES(2); REINDEX; ROLLBACK;
SELECT * FROM t; SELECT changes();
CREATE TEMP TABLE onlytemp(a);
PRAGMA integrity_check(onlytemp); PRAGMA temp.integrity_check; PRAGMA quick_check(onlytemp);
PRAGMA main.integrity_check(onlytemp);
PRAGMA table_list;
BEGIN; PRAGMA integrity_check; CREATE TABLE u(b); PRAGMA integrity_check(u); ROLLBACK;
PRAGMA integrity_check(u);
