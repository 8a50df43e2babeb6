package driver

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestMaxRows: ENG-62: a full table refuses the statement that would exceed its
// limit, with what to do, and only that statement.
func TestMaxRows(t *testing.T) {
	for _, durable := range []string{"true", "false"} {
		t.Run("durable="+durable, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			db := openTest(t, Config{Path: path})
			mustExec(t, db, fmt.Sprintf("CREATE VIRTUAL TABLE t USING tidemark(id INTEGER PRIMARY KEY, k TEXT UNIQUE, max_rows=3, durable=%s)", durable))
			mustExec(t, db, "INSERT INTO t VALUES(1, 'a'), (2, 'b')")
			refused := func(on execer, text string) {
				t.Helper()
				_, err := on.ExecContext(t.Context(), text)
				expectRefusal(t, text, err, ErrFull, "table t ", "3 rows", "max_rows is 3", "delete rows", "larger max_rows")
				if volatile := durable == "false"; strings.Contains(err.Error(), "drop_oldest") != volatile {
					t.Errorf("%s: %v", text, err)
				}
				var typed *Error
				if !errors.As(err, &typed) || typed.Table != "t" || typed.Code != 13 {
					t.Errorf("%s: %#v", text, typed)
				}
			}
			refused(db, "INSERT INTO t VALUES(3, 'c'), (4, 'd')")
			expect(t, db, 2, "SELECT count(*) FROM t")
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			mustExec(t, tx, "INSERT INTO t VALUES(3, 'c')")
			refused(tx, "INSERT INTO t VALUES(4, 'd')")
			refused(tx, "INSERT OR IGNORE INTO t VALUES(4, 'd')")
			mustExec(t, tx, "INSERT OR IGNORE INTO t VALUES(4, 'a')") // another reason comes first
			mustExec(t, tx, "UPDATE t SET id = 9 WHERE k = 'a'; REPLACE INTO t VALUES(10, 'a'); DELETE FROM t WHERE k = 'b'; INSERT INTO t VALUES(4, 'd')")
			refused(tx, "INSERT INTO t SELECT id + 100, k || '+' FROM t")
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			expect(t, db, "3c 4d 10a", "SELECT group_concat(id||k, ' ') FROM (SELECT * FROM t ORDER BY id)")
			expect(t, db, "3 refuse", "SELECT max_rows||' '||on_full FROM tidemark_tables")
			mustClose(t, db)
			db = openTest(t, Config{Path: path})
			expect(t, db, true, "SELECT sql LIKE '%, max_rows=3, durable=%' FROM sqlite_schema WHERE name = 't'")
			expect(t, db, "3 refuse", "SELECT max_rows||' '||on_full FROM tidemark_tables")
			if durable == "false" {
				mustExec(t, db, "INSERT INTO t VALUES(3, 'c'), (4, 'd'), (10, 'a')")
			}
			refused(db, "INSERT INTO t VALUES(5, 'e')")
		})
	}
}

// TestDropOldest: ENG-62: a full table drops the row with the smallest id, in the
// same transaction, and a rollback brings it back.
func TestDropOldest(t *testing.T) {
	for name, db := range map[string]*sql.DB{"directory": testDB(t, ""), "memory": memoryDB(t, "")} {
		t.Run(name, func(t *testing.T) {
			mustExec(t, db, `CREATE VIRTUAL TABLE t USING tidemark(id INTEGER PRIMARY KEY, k TEXT UNIQUE, n INT CHECK(n <> 13), durable=false, max_rows=3, on_full=drop_oldest);
				CREATE INDEX tn ON t(n)`)
			rows := func(want string) {
				t.Helper()
				expect(t, db, want, "SELECT group_concat(id||k, ' ') FROM (SELECT * FROM t ORDER BY id)")
				expect(t, db, "ok", "PRAGMA integrity_check")
			}
			mustExec(t, db, "INSERT INTO t(k, n) VALUES('a', 1), ('b', 2), ('c', 3), ('d', 4), ('e', 5)")
			rows("3c 4d 5e")
			expect(t, db, 2, "SELECT value FROM tidemark_stats WHERE name = 'rows_dropped'")
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			mustExec(t, tx, "INSERT INTO t(k) VALUES('f'); SAVEPOINT s; INSERT INTO t(k) VALUES('g'), ('h'); ROLLBACK TO s")
			expect(t, tx, "4d 5e 6f", "SELECT group_concat(id||k, ' ') FROM (SELECT * FROM t ORDER BY id)")
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			rows("3c 4d 5e")
			expect(t, db, 2, "SELECT value FROM tidemark_stats WHERE name = 'rows_dropped'")
			// What fails, is ignored or replaces a row drops nothing.
			mustFail(t, db, ErrConstraintCheck, "INSERT INTO t(k, n) VALUES('x', 13)")
			mustFail(t, db, ErrConstraintUnique, "INSERT INTO t(k) VALUES('x'), ('e')")
			mustExec(t, db, "INSERT OR IGNORE INTO t(k) VALUES('c')")
			mustExec(t, db, "REPLACE INTO t(id, k) VALUES(4, 'D')")
			rows("3c 4D 5e")
			// The smallest id goes, also when the new one is smaller still.
			mustExec(t, db, "INSERT INTO t(id, k) VALUES(1, 'z')")
			rows("1z 4D 5e")
			expect(t, db, 3, "SELECT value FROM tidemark_stats WHERE name = 'rows_dropped'")
			mustExec(t, db, "INSERT INTO t(k, n) SELECT k || '+', 7 FROM t")
			rows("6z+ 7D+ 8e+")
			expect(t, db, "6 7 8", "SELECT group_concat(id, ' ') FROM (SELECT id FROM t WHERE n = 7 ORDER BY id)")
		})
	}
}

// TestLimitOptions: ENG-07, 62: options of a limit that cannot be.
func TestLimitOptions(t *testing.T) {
	db := testDB(t, "")
	mustExec(t, db, `CREATE VIRTUAL TABLE d USING tidemark(id INTEGER PRIMARY KEY, durable=false, max_rows=2, on_full=drop_oldest);
		CREATE VIRTUAL TABLE orphan USING tidemark(id INTEGER PRIMARY KEY, p REFERENCES later(id), durable=false)`)
	before := one[string](t, db, "SELECT group_concat(name||coalesce(sql,'')) FROM sqlite_master")
	for text, words := range map[string][]string{
		"max_rows=0":                         {"max_rows=0", "from 1 on", "max_rows=N"},
		"max_rows=-1":                        {"max_rows=-1", "from 1 on"},
		"max_rows=many":                      {"max_rows=many"},
		"max_rows=1.5":                       {"max_rows=1.5"},
		"max_rows=":                          {"max_rows="},
		"max_rows=99999999999999999999":      {"max_rows=99999999999999999999"},
		"max_rows=1, max_rows=1":             {"max_rows", "twice"},
		"max_rows=1, on_full=wait":           {"on_full=wait", "refuse|drop_oldest"},
		"on_full=refuse":                     {"on_full", "max_rows"},
		"durable=false, on_full=drop_oldest": {"on_full", "max_rows"},
		"max_rows=9, on_full=drop_oldest":    {"drop_oldest", "durable=true", "on_full=refuse", "durable=false"},
		"p REFERENCES d(id), durable=false":  {"d", "drop_oldest", "on_full=refuse", "leave out the foreign key"},
		"p REFERENCES x(a), durable=false, max_rows=9, on_full=drop_oldest": {"refers to table x", "drop_oldest"},
	} {
		_, err := db.Exec("CREATE VIRTUAL TABLE x USING tidemark(a INTEGER PRIMARY KEY, " + text + ")")
		expectRefusal(t, text, err, ErrTableOption, append(words, "table x")...)
	}
	_, err := db.Exec("CREATE VIRTUAL TABLE later USING tidemark(id INTEGER PRIMARY KEY, durable=false, max_rows=2, on_full=drop_oldest)")
	expectRefusal(t, "later", err, ErrTableOption, "orphan", "later", "drop_oldest", "on_full=refuse", "foreign key")
	_, err = db.Exec("CREATE VIRTUAL TABLE IF NOT EXISTS d USING tidemark(id INTEGER PRIMARY KEY, durable=false, max_rows=3, on_full=drop_oldest)")
	expectRefusal(t, "IF NOT EXISTS", err, ErrTableDiffers, "table d ", "max_rows=2", "max_rows=3", "DROP TABLE d")
	mustExec(t, db, "CREATE VIRTUAL TABLE IF NOT EXISTS d USING tidemark(id INTEGER PRIMARY KEY, ON_FULL=Drop_Oldest, durable=false, max_rows='2')")
	expect(t, db, before, "SELECT group_concat(name||coalesce(sql,'')) FROM sqlite_master")
	// With on_full=refuse a table may be referred to.
	mustExec(t, db, `CREATE VIRTUAL TABLE p USING tidemark(id INTEGER PRIMARY KEY, durable=false, max_rows=2);
		CREATE VIRTUAL TABLE c USING tidemark(id INTEGER PRIMARY KEY, p REFERENCES p(id), durable=false, max_rows=2, on_full=drop_oldest)`)
}
