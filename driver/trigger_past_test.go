package driver

import "testing"

// A trigger may read old states, whatever statement fires it.
func TestTriggersReadOldStates(t *testing.T) {
	db := openTest(t, Config{Path: t.TempDir() + "/store"})
	db.SetMaxOpenConns(1) // of the temporary trigger
	mustExec(t, db, `CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c TEXT, g AS (b||c)); INSERT INTO t(b) VALUES('x'),('y')`)
	mustExec(t, db, "INSERT INTO tidemark_branch_points(name) VALUES('then')")
	mustExec(t, db, `CREATE TRIGGER ins AFTER INSERT ON t BEGIN UPDATE t SET c=(SELECT max(b) FROM t('then')) WHERE a=NEW.a; END;
		CREATE TRIGGER upd BEFORE UPDATE OF b ON t BEGIN SELECT RAISE(ABORT, 'was there') FROM t('then') WHERE b=NEW.b; END;
		CREATE TEMP TRIGGER del AFTER DELETE ON t BEGIN INSERT INTO t(b) SELECT b||'again' FROM t('then') WHERE a=OLD.a; END`)
	for _, text := range []string{
		"INSERT INTO t(b) VALUES('z')",
		"INSERT INTO t(b) VALUES('zz') RETURNING a, b",
		"INSERT INTO t(a, b) VALUES(1, 'w'), (9, 'v') ON CONFLICT(a) DO UPDATE SET b=excluded.b||1",
		"INSERT INTO t(a, b) VALUES(1, 'w'), (10, 'v') ON CONFLICT(a) DO UPDATE SET b=excluded.b||2 RETURNING *, b IS NULL",
		"UPDATE t SET b=b||(SELECT count(*) FROM t) WHERE a=2 RETURNING b",
		"UPDATE t SET b=b||'.' WHERE a>2",
		"DELETE FROM t WHERE a=2",
	} {
		mustExec(t, db, text)
	}
	if _, err := db.Exec("UPDATE t SET b='x' WHERE a=1 RETURNING *"); err == nil || err.Error() != "was there" {
		t.Errorf("the trigger saw no old state: %v", err)
	}
	expectTable(t, db, "SELECT a, b, c FROM t ORDER BY a", "1|w2|", "3|z.|y", "4|zz.|y", "9|v.|y", "10|v.|y", "11|yagain|y")
}
