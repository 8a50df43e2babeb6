//go:build linux

package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A store that is open with mode=ro refuses every write with SQLite's words, and
// answers everything else.
func TestReadOnlyMode(t *testing.T) {
	path, db := fillProcesses(t)
	mustExec(t, db, `CREATE TABLE auto(id INTEGER PRIMARY KEY AUTOINCREMENT, x); INSERT INTO auto(x) VALUES('x');
		CREATE VIEW ids AS SELECT id FROM a; CREATE TRIGGER tr INSTEAD OF INSERT ON ids BEGIN INSERT INTO a VALUES(new.id, 'v'); END;
		CREATE VIRTUAL TABLE vol USING tidemark(x, durable=false); INSERT INTO vol VALUES(1)`)
	mustExec(t, db, "INSERT INTO tidemark_branch_points(name) VALUES('bp')")
	mustExec(t, db, "INSERT INTO tidemark_timelines(name, source) VALUES('dev', 'main')")
	ro := openTest(t, Config{Path: path, Mode: "ro", Txlock: "immediate"})
	eventually(t, "the store", func() bool { return answerOf(t, ro, "SELECT count(*) FROM auto") == "1" })
	for _, query := range []string{
		"INSERT INTO a VALUES(77,'c')", "UPDATE a SET v='x'", "DELETE FROM k", "REPLACE INTO a VALUES(1,'c')", "INSERT INTO ids VALUES(1)",
		"CREATE TABLE n(a)", "DROP TABLE a", "CREATE INDEX i ON a(v)", "DROP INDEX kv", "DROP VIEW ids", "CREATE VIEW n AS SELECT 1", "ALTER TABLE a ADD COLUMN y",
		"BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "BEGIN; DELETE FROM a", "SAVEPOINT s; CREATE TABLE n(a)", "CREATE TABLE n AS SELECT * FROM a",
		"CREATE VIRTUAL TABLE n USING tidemark(a)", "INSERT INTO vol VALUES(2)", "WITH x AS (SELECT 1) INSERT INTO a SELECT 99, 'n' FROM x",
		"INSERT INTO tidemark_branch_points(name) VALUES('x')", "DELETE FROM tidemark_branch_points", "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')",
		"INSERT INTO tidemark_jobs(kind) VALUES('gc')", "INSERT INTO tidemark_timelines(name) VALUES('x')", "UPDATE tidemark_timelines SET restore_to='bp' WHERE name='main'",
		"DELETE FROM tidemark_timelines WHERE name='dev'", "VACUUM", "ANALYZE", "ANALYZE a", "REINDEX", "REINDEX kv",
	} {
		_, err := ro.Exec(query)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrReadOnly) || e.Code != 8 || !strings.Contains(err.Error(), "attempt to write a readonly database") {
			t.Errorf("%s: %v", query, err)
		}
	}
	for name := range adminTables {
		if _, err := ro.Query("SELECT * FROM " + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for query, want := range map[string]string{
		"SELECT count(*) FROM vol":                                                    "0",
		"SELECT count(*) FROM a('bp')":                                                "20",
		"SELECT count(*) FROM ids":                                                    "20",
		"SELECT state FROM tidemark_sessions":                                         "live",
		"SELECT count(*) >= 1 AND max(objects) > 0 FROM tidemark_pins":                "1",
		"SELECT group_concat(name) FROM tidemark_timelines":                           "dev,main",
		"SELECT value FROM tidemark_stats WHERE name='durable_lsn'":                   answerOf(t, db, "SELECT value FROM tidemark_stats WHERE name='durable_lsn'"),
		"SELECT sum(records) > 0 FROM tidemark_generations":                           "1",
		"SELECT log_bytes > 0 FROM tidemark_tables WHERE name='k'":                    "1",
		"SELECT count(*) FROM pragma_table_info('a')":                                 "2",
		"SELECT seq FROM sqlite_sequence WHERE name='auto'":                           "1",
		"SELECT count(*) FROM k WHERE v >= 'first1' AND v < 'first2'":                 "11",
		"SELECT count(*) FROM catalog.owners WHERE kind='reader' AND state<>'active'": "0",
	} {
		if got := answerOf(t, ro, query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	mustExec(t, ro, "CREATE TEMP TABLE p(x)")
	for _, o := range []*sql.TxOptions{nil, {ReadOnly: true}, {Isolation: sql.LevelSnapshot, ReadOnly: true}, {Isolation: sql.LevelSerializable}} {
		tx, err := ro.BeginTx(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := table(t, tx, "SELECT count(*) FROM a"); !slices.Equal(got, []string{"20"}) {
			t.Errorf("%+v: %s", o, got)
		}
		if _, err := tx.Exec("DELETE FROM a"); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%+v: %v", o, err)
		}
		if err := tx.Commit(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	c, err := ro.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	store, err := Raw(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for what, call := range map[string]error{
		"checkpoint": store.Checkpoint(ctx, nil), "compact": store.Compact(ctx, nil), "gc": store.GC(ctx, nil), "backup": store.Backup(ctx, t.TempDir(), nil),
	} {
		if !errors.Is(call, ErrReadOnly) {
			t.Errorf("%s: %v", what, call)
		}
	}
	if err := store.Check(ctx, func(Finding) {}, nil); !errors.Is(err, ErrMisuse) || !strings.Contains(err.Error(), "mode=ro") {
		t.Errorf("check: %v", err)
	}
	if _, err := store.Metrics(ctx); err != nil {
		t.Error(err)
	}
	if _, err := store.PlanGC(ctx); err != nil {
		t.Error(err)
	}
}

// Pools of one directory share what they read, and both ways of opening it go side by
// side in a process, in any order.
func TestReadOnlyPools(t *testing.T) {
	path, db := fillProcesses(t)
	ro := openTest(t, Config{Path: path, Mode: "ro"})
	again := openTest(t, Config{Path: path, Mode: "ro", Txlock: "immediate"})
	dev := Config{Path: path, Mode: "ro", Timeline: "dev"}
	mustExec(t, db, "INSERT INTO tidemark_branch_points(name) VALUES('bp')")
	mustExec(t, db, "INSERT INTO tidemark_timelines(name) VALUES('dev')")
	past := answerOf(t, db, allRows)
	for n := range 3 {
		changeAll(t, db, fmt.Sprint("next", n))
		want := answerOf(t, db, allRows)
		for _, db := range []*sql.DB{ro, again} {
			eventually(t, "the newest rows", func() bool { return answerOf(t, db, allRows) == want })
		}
	}
	if n := answerOf(t, ro, "SELECT count(*) FROM tidemark_sessions WHERE state='live'"); n != "1" {
		t.Errorf("%s sessions of two pools", n)
	}
	for what, cfg := range map[string]Config{"timeline": dev, "branch point": {Path: path, Mode: "ro", At: "bp"}} {
		if got := answerOf(t, openTest(t, cfg), allRows); got != past {
			t.Errorf("%s: %s", what, got)
		}
	}
	mustClose(t, db)
	want := answerOf(t, ro, allRows)
	w := openTest(t, Config{Path: path, Mode: "rw"})
	changeAll(t, w, "of another writer")
	eventually(t, "the newest rows", func() bool { return answerOf(t, ro, allRows) == answerOf(t, w, allRows) })
	if want == answerOf(t, ro, allRows) {
		t.Error("nothing changed")
	}
}

// What is no store, or none yet, is refused and not made.
func TestReadOnlyRefusals(t *testing.T) {
	dir := t.TempDir()
	path, db := fillProcesses(t)
	for want, cfg := range map[string]Config{
		"there is no store":         {Path: filepath.Join(dir, "missing"), Mode: "ro"},
		"no such timeline: x":       {Path: path, Mode: "ro", Timeline: "x"},
		"no such branch point: x":   {Path: path, Mode: "ro", At: "x"},
		"shards is 3":               {Path: path, Mode: "ro", Shards: 3, Timeline: "dev"},
		"mode=ro without a path":    {Mode: "ro"},
		"open in this process with": {Path: path, Mode: "ro", FS: vfs.NewMem()},
	} {
		mustExec(t, db, "INSERT INTO tidemark_timelines(name) SELECT 'dev' WHERE NOT EXISTS (SELECT 1 FROM catalog.timelines WHERE name='dev')")
		if strings.HasPrefix(want, "open in") {
			defer openTest(t, Config{Path: path, Mode: "ro"}).Ping()
			_ = answerOf(t, openTest(t, Config{Path: path, Mode: "ro"}), "SELECT 1")
		}
		connector, err := NewConnector(cfg)
		if err == nil {
			db := sql.OpenDB(connector)
			err = db.Ping()
			mustClose(t, db)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if n := answerOf(t, db, "SELECT count(*) FROM tidemark_sessions WHERE state='live'"); n != "1" {
		t.Errorf("%s sessions are left", n)
	}
}

// Rows move between accounts while readers add them up: each sees whole transactions,
// in order, whatever else goes on.
func TestReadOnlyBesideTransfers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path, GenerationSize: 8 << 10, Compact: "off"})
	mustExec(t, db, `CREATE TABLE a(id INTEGER PRIMARY KEY, n INT); CREATE VIRTUAL TABLE k USING tidemark(id INTEGER PRIMARY KEY, n INT, s TEXT, resident=keys);
		CREATE INDEX kn ON k(n); CREATE TABLE done(n INT); INSERT INTO done VALUES(0)`)
	for i := range 10 {
		mustExec(t, db, "INSERT INTO a VALUES(?, 100)", i)
		mustExec(t, db, "INSERT INTO k VALUES(?, 100, '')", i)
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 2 {
		c := startChild(t, path+"?mode=ro")
		readers.Go(func() {
			last := ""
			for ctx.Err() == nil {
				got := c.run("SELECT (SELECT sum(n) FROM a) + (SELECT sum(n) FROM k WHERE n > -1000000), (SELECT printf('%09d', n) FROM done)")
				sum, n, _ := strings.Cut(got, "|")
				if sum != "2000" || n < last {
					t.Errorf("%s behind %s", got, last)
					return
				}
				last = n
			}
			if last == "000000000" {
				t.Error("nothing was seen")
			}
			c.end()
		})
	}
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for n := range rounds {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		from, to := []string{"a", "k"}[n%2], []string{"k", "a", "k"}[n%3]
		for _, text := range []string{
			fmt.Sprintf("UPDATE %s SET n = n - 7 WHERE id = %d", from, n%10), fmt.Sprintf("UPDATE %s SET n = n + 7 WHERE id = %d", to, n*7%10), "UPDATE done SET n = n + 1",
			fmt.Sprintf("UPDATE k SET s = '%s' WHERE id = %d", strings.Repeat("s", n%100), n%10),
		} {
			if _, err := tx.Exec(text); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if n%40 == 39 {
			for _, kind := range []string{"compact", "gc", "checkpoint"} {
				mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES(?)", kind)
			}
		}
	}
	stop()
	readers.Wait()
}
