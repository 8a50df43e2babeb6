package driver

import "testing"

// TestTriggersLikeSQLite runs scripts with triggers on tables on plain SQLite and on
// a store.
func TestTriggersLikeSQLite(t *testing.T) {
	for name, script := range triggerScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, newOracle(t), newSubject(t), script)
		})
	}
}

var triggerScripts = map[string]string{
	"after insert": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT DEFAULT 5);
		CREATE TABLE log(n INTEGER PRIMARY KEY, what, id, a DEFAULT 'none');
		CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO log(what, id) VALUES('ins', NEW.id); END;
		INSERT INTO t(a) VALUES('x'),('y');
		SELECT changes(), total_changes(), last_insert_rowid();
		SELECT * FROM log;
		INSERT INTO t SELECT id+10, a, b FROM t;
		SELECT * FROM log;
		SELECT changes(), total_changes(), last_insert_rowid();
		SELECT type, name, tbl_name, sql FROM sqlite_schema;
		DROP TRIGGER tr;
		INSERT INTO t(a) VALUES('z');
		SELECT count(*) FROM log;
		CREATE TRIGGER tr AFTER INSERT ON t WHEN NEW.id > '50' BEGIN INSERT INTO log(what, id) VALUES('when', NEW.id); END;
		INSERT INTO t VALUES(40,1,1),(60,1,1);
		SELECT * FROM log ORDER BY n;
		DROP TABLE t;
		SELECT name FROM sqlite_schema;`,
	"events": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, b INT DEFAULT 5);
		CREATE TABLE log(n INTEGER PRIMARY KEY, what, o1, o2, o3, n1, n2, n3, c);
		CREATE TRIGGER bi BEFORE INSERT ON t BEGIN INSERT INTO log VALUES(NULL,'bi',NULL,NULL,NULL,NEW.id,NEW.a,NEW.b,changes()); END;
		CREATE TRIGGER ai AFTER INSERT ON t BEGIN INSERT INTO log VALUES(NULL,'ai',NULL,NULL,NULL,NEW.id,NEW.a,NEW.b,changes()); END;
		CREATE TRIGGER bu BEFORE UPDATE ON t BEGIN INSERT INTO log VALUES(NULL,'bu',OLD.rowid,OLD.a,OLD.b,NEW.id,NEW.a,NEW.b,changes()); END;
		CREATE TRIGGER au AFTER UPDATE ON t BEGIN INSERT INTO log VALUES(NULL,'au',OLD.id,OLD.a,OLD.b,NEW.oid,NEW.a,NEW.b,changes()); END;
		CREATE TRIGGER auo AFTER UPDATE OF b ON t BEGIN INSERT INTO log VALUES(NULL,'auo',OLD.id,OLD.a,OLD.b,NEW.id,NEW.a,NEW.b,changes()); END;
		CREATE TRIGGER bd BEFORE DELETE ON t BEGIN INSERT INTO log VALUES(NULL,'bd',OLD.id,OLD.a,OLD.b,NULL,NULL,NULL,changes()); END;
		CREATE TRIGGER ad AFTER DELETE ON t BEGIN INSERT INTO log VALUES(NULL,'ad',OLD.id,OLD.a,OLD.b,NULL,NULL,OLD.a='X',last_insert_rowid()); END;
		INSERT INTO t(a) VALUES('x'),('y');
		INSERT INTO t VALUES(7,'z','8');
		INSERT INTO t VALUES('abc','z','8');
		UPDATE t SET a = a || '1' WHERE id < 3;
		UPDATE t SET b = b + 1;
		UPDATE t SET id = id + 20;
		SELECT changes(), total_changes(), last_insert_rowid();
		INSERT OR REPLACE INTO t VALUES(21,'r',1);
		DELETE FROM t WHERE id > 21;
		SELECT changes(), total_changes(), last_insert_rowid();
		BEGIN; DELETE FROM t; SELECT count(*) FROM log; ROLLBACK;
		SELECT * FROM log; SELECT * FROM t;`,
	"raise": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a);
		CREATE TABLE log(x);
		CREATE TRIGGER b BEFORE INSERT ON t BEGIN
			INSERT INTO log VALUES('b' || NEW.a);
			SELECT CASE NEW.a WHEN 'ig' THEN RAISE(IGNORE) WHEN 'ab' THEN RAISE(ABORT, 'aborted') WHEN 'fa' THEN RAISE(FAIL, 'failed') WHEN 'ro' THEN RAISE(ROLLBACK, 'rolled') END; END;
		INSERT INTO t(a) VALUES(1),('ig'),(2);
		SELECT changes(), total_changes(), last_insert_rowid();
		INSERT INTO t(a) VALUES(3),('ab'),(4);
		SELECT * FROM t; SELECT * FROM log;
		INSERT INTO t(a) VALUES(5),('fa'),(6);
		SELECT * FROM t; SELECT * FROM log;
		INSERT INTO t(a) VALUES(7),('ro'),(8);
		SELECT * FROM t; SELECT * FROM log;
		BEGIN; INSERT INTO t(a) VALUES('ab'); SELECT * FROM log; INSERT INTO t(a) VALUES(5),('fa'),(6); SELECT * FROM t; SELECT * FROM log; COMMIT;
		BEGIN; INSERT INTO t(a) VALUES(9); INSERT INTO t(a) VALUES('ro'); SELECT * FROM t; SELECT * FROM log; COMMIT;
		INSERT OR IGNORE INTO t(a) VALUES(10),('ab'),(11);
		SELECT * FROM t; SELECT * FROM log;`,
	"recursion": `
		CREATE TABLE t(a INTEGER PRIMARY KEY);
		CREATE TRIGGER r AFTER INSERT ON t WHEN NEW.a < 60 BEGIN INSERT INTO t VALUES(NEW.a+1); END;
		INSERT INTO t VALUES(1); SELECT count(*) FROM t; DELETE FROM t;
		PRAGMA recursive_triggers=ON;
		INSERT INTO t VALUES(1); SELECT count(*), total_changes() FROM t; DELETE FROM t;
		DROP TRIGGER r;
		CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO t VALUES(NEW.a+1); END;
		INSERT INTO t VALUES(1); SELECT count(*) FROM t;
		CREATE TRIGGER d BEFORE DELETE ON t BEGIN DELETE FROM t WHERE a = OLD.a+1; END;
		DROP TRIGGER r;
		INSERT INTO t VALUES(1),(2),(3),(4);
		CREATE TABLE log(x); CREATE TRIGGER l AFTER DELETE ON t BEGIN INSERT INTO log VALUES(OLD.a); END;
		REPLACE INTO t VALUES(2);
		SELECT * FROM t; SELECT * FROM log;`,
	"temporary": `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a, b DEFAULT 7); CREATE TABLE log(n INTEGER PRIMARY KEY, x, y DEFAULT 'd');
		CREATE TRIGGER m1 AFTER INSERT ON t BEGIN INSERT INTO log(x) VALUES('m1'); END;
		CREATE TEMP TRIGGER c1 AFTER INSERT ON t BEGIN INSERT INTO log(x) VALUES('c1'); END;
		CREATE TEMP TRIGGER a2 AFTER INSERT ON main.t BEGIN INSERT INTO log(x) VALUES('a2 ' || NEW.b); END;
		CREATE TEMP TRIGGER b3 BEFORE INSERT ON t BEGIN INSERT INTO log(x) VALUES('b3'); END;
		CREATE TRIGGER m2 AFTER INSERT ON t BEGIN INSERT INTO log(x) VALUES('m2'); END;
		CREATE TEMP TRIGGER d4 AFTER INSERT ON t BEGIN INSERT INTO log(x) VALUES('d4'); END;
		INSERT INTO t(a) VALUES(1);
		SELECT * FROM log;
		SELECT type, name, tbl_name, sql FROM sqlite_temp_master ORDER BY name;
		SELECT type, name FROM sqlite_master ORDER BY name;
		CREATE TEMP TRIGGER a2 AFTER INSERT ON main.t BEGIN SELECT 1; END;
		CREATE TEMP TRIGGER IF NOT EXISTS a2 AFTER INSERT ON main.t BEGIN SELECT 1; END;
		CREATE TEMP TRIGGER a3 INSTEAD OF INSERT ON main.t BEGIN SELECT 1; END;
		CREATE TEMP TRIGGER a3 AFTER INSERT ON main.nope BEGIN SELECT 1; END;
		DROP TRIGGER c1; DROP TRIGGER temp.b3; DROP TRIGGER c1;
		DELETE FROM log; INSERT INTO t(a) VALUES(2); SELECT * FROM log;
		CREATE TEMP TABLE notes(x, y DEFAULT 'note');
		CREATE TEMP TRIGGER e5 AFTER UPDATE OF a ON t BEGIN INSERT INTO notes(x) VALUES(OLD.a || NEW.a); END;
		UPDATE t SET a = a + 1; UPDATE t SET b = 1; SELECT * FROM notes;
		BEGIN; UPDATE t SET a = a + 1; SELECT * FROM notes; ROLLBACK; SELECT * FROM notes; SELECT * FROM t;
		BEGIN; CREATE TEMP TRIGGER f6 AFTER DELETE ON t BEGIN INSERT INTO notes VALUES('del', OLD.id); END; DELETE FROM t WHERE id=1; SELECT * FROM notes; ROLLBACK;
		DELETE FROM t WHERE id=1; SELECT * FROM notes;
		SAVEPOINT s; DROP TRIGGER e5; UPDATE t SET a = 5; ROLLBACK TO s; UPDATE t SET a = 6; SELECT * FROM notes; RELEASE s;
		BEGIN; DROP TABLE t; SELECT name FROM sqlite_temp_master ORDER BY name; ROLLBACK;
		SELECT name FROM sqlite_temp_master ORDER BY name;
		UPDATE t SET a = 7; SELECT * FROM notes;
		CREATE INDEX ti ON t(a); UPDATE t SET a = 8; SELECT * FROM notes;
		DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); SELECT name FROM sqlite_temp_master ORDER BY name;
		INSERT INTO t(a) VALUES(9); UPDATE t SET a = 1; SELECT * FROM notes; SELECT count(*) FROM log;`,
}
