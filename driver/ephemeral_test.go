package driver

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// memoryDB opens a store without a directory.
func memoryDB(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("tidemark", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, db) })
	return db
}

// expectRefusal checks what every refusal has in common: one line with all the
// words, of a kind, and no talk of damage.
func expectRefusal(t *testing.T, what string, err, kind error, words ...string) {
	t.Helper()
	var typed *Error
	if !errors.Is(err, kind) || !errors.As(err, &typed) || errors.Is(err, ErrCorrupt) {
		t.Errorf("%s: %v is not %v", what, err, kind)
		return
	}
	text := err.Error()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: %q does not say %q", what, text, w)
		}
	}
	if strings.Contains(text, "\n") || strings.Contains(strings.ToLower(text), "corrupt") {
		t.Errorf("%s: %q", what, text)
	}
}

// emptyPlace makes an empty directory the working and the temporary one, and
// fails the test when anything is in it at the end.
func emptyPlace(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", dir)
	t.Cleanup(func() {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("files were made: %v, %v", left, err)
		}
	})
}

// TestEphemeral: ENG-17, ENG-AT-08: with ephemeral=1 durable tables do without a
// file; one event tells of it; connections share the store, and another open has
// another one.
func TestEphemeral(t *testing.T) {
	emptyPlace(t)
	db := memoryDB(t, "?ephemeral=1")
	conn := testConn(t, db)
	store, err := Raw(conn)
	if err != nil {
		t.Fatal(err)
	}
	early := store.Events(t.Context())
	mustExec(t, db, "CREATE VIRTUAL TABLE v USING tidemark(a, durable=false)")
	mustExec(t, db, `CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, k TEXT UNIQUE, n INT);
		CREATE INDEX tn ON t(n); CREATE TABLE u AS SELECT 1 AS a; CREATE VIEW w AS SELECT k FROM t WHERE n > 1`)
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"INSERT INTO t(k, n) VALUES('a', 1), ('b', 2), ('c', 3)", "SAVEPOINT s", "DELETE FROM t", "CREATE TABLE x(a)", "ROLLBACK TO s",
		"UPDATE t SET n = n + 10 WHERE k = 'c'", "INSERT INTO v VALUES(1)",
	} {
		if _, err := tx.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	mustFail(t, db, ErrConstraintUnique, "INSERT INTO t(k) VALUES('a')")
	expect(t, db, "b c", "SELECT group_concat(k, ' ') FROM w")
	expect(t, db, "3 1 1 3", "SELECT count(*)||' '||(SELECT count(*) FROM v)||' '||(SELECT a FROM u)||' '||(SELECT seq FROM sqlite_sequence) FROM t")
	expect(t, db, "sqlite_sequence t u v w", "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema WHERE type IN ('table','view') ORDER BY name)")

	// An event for each listener, whenever he comes, and no second one.
	late := store.Events(t.Context())
	mustExec(t, db, "CREATE TABLE y(a)")
	if err := store.Check(t.Context(), func(f Finding) { t.Errorf("check: %v", f) }, nil); err != nil {
		t.Error(err)
	}
	for name, events := range map[string]<-chan Event{"early": early, "late": late} {
		if e := <-events; e.Kind != EventEphemeral {
			t.Errorf("%s: event %v", name, e)
		}
		select {
		case e := <-events:
			t.Errorf("%s: another event %v", name, e)
		default:
		}
	}

	other := memoryDB(t, "?ephemeral=1")
	mustFail(t, other, ErrGeneric, "SELECT * FROM t")
	mustClose(t, other)
	expect(t, db, 3, "SELECT count(*) FROM t")
}

// TestMemoryAdministration: what is about files answers for a store that has none,
// or is refused by name.
func TestMemoryAdministration(t *testing.T) {
	emptyPlace(t)
	db := memoryDB(t, "?ephemeral=1")
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1), (2)")
	expect(t, db, "t 1 2 0", "SELECT name||' '||durable||' '||rows||' '||log_bytes FROM tidemark_tables")
	for _, none := range []string{"tidemark_generations", "tidemark_jobs", "live_object_roots", "catalog.objects", "catalog.tables"} {
		expect(t, db, 0, "SELECT count(*) FROM "+none)
	}
	expect(t, db, "1 ", "SELECT group_concat(value, ' ') FROM (SELECT value FROM tidemark_settings WHERE name IN ('ephemeral', 'path') ORDER BY name)")
	expect(t, db, "ok", "PRAGMA integrity_check")
	mustFail(t, db, ErrReadOnly, "CREATE TABLE catalog.x(a)")
	_, err := db.Exec("INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
	expectRefusal(t, "a checkpoint", err, ErrGeneric, "in memory", "no log", "data path")
	store, err := Raw(testConn(t, db))
	if err != nil {
		t.Fatal(err)
	}
	expectRefusal(t, "Checkpoint", store.Checkpoint(t.Context(), nil), ErrGeneric, "in memory", "no log", "data path")
	if err := CheckFiles(t.Context(), Config{}, nil, nil); !errors.Is(err, ErrMisuse) {
		t.Errorf("CheckFiles: %v", err)
	}
}

// TestMemoryLives: the store outlives any of its connections, and a single
// connection without a pool has one, too.
func TestMemoryLives(t *testing.T) {
	db := memoryDB(t, "?ephemeral=1")
	db.SetMaxIdleConns(0)
	mustExec(t, db, "CREATE TABLE t(a); INSERT INTO t VALUES(1)")
	expect(t, db, 1, "SELECT count(*) FROM t")
	c, err := (&Driver{}).Open("?ephemeral=1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(*conn).ExecContext(t.Context(), "CREATE TABLE t(a); INSERT INTO t VALUES(1)", nil); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestMemoryWriters: writers in turn and readers beside them, as in any store.
func TestMemoryWriters(t *testing.T) {
	db := memoryDB(t, "?ephemeral=1")
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, n INT); INSERT INTO t VALUES(1, 0)")
	done := make(chan error)
	const writers, each = 4, 50
	for range writers {
		go func() {
			for range each {
				if _, err := db.Exec("UPDATE t SET n = n + 1"); err != nil {
					done <- err
					return
				}
				var n int
				if err := db.QueryRow("SELECT n FROM t").Scan(&n); err != nil || n == 0 {
					done <- errors.Join(err, errors.New("own write not seen"))
					return
				}
			}
			done <- nil
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	expect(t, db, writers*each, "SELECT n FROM t")
	// A transaction that read an old state does not write on it.
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	expect(t, tx, writers*each, "SELECT n FROM t")
	mustExec(t, db, "UPDATE t SET n = 0")
	if _, err := tx.Exec("UPDATE t SET n = 1"); !errors.Is(err, ErrBusySnapshot) {
		t.Errorf("a write on an old state: %v", err)
	}
}

// TestNoDataPath: ENG-11, 14, 18, ENG-AT-07, 10, 11: without a path and without
// ephemeral=1 there is room for volatile tables, and silence.
func TestNoDataPath(t *testing.T) {
	emptyPlace(t)
	db := memoryDB(t, "")
	store, err := Raw(testConn(t, db))
	if err != nil {
		t.Fatal(err)
	}
	events := store.Events(t.Context())
	mustExec(t, db, "CREATE VIRTUAL TABLE v USING tidemark(a UNIQUE, durable=false); INSERT INTO v VALUES(1), (2); DELETE FROM v WHERE a = 1")
	expect(t, db, 2, "SELECT a FROM v")
	for _, text := range []string{
		"CREATE TABLE t(a)", "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY AUTOINCREMENT)", "CREATE TABLE t AS SELECT 1 AS a",
		"CREATE VIRTUAL TABLE t USING tidemark(a)", "CREATE VIRTUAL TABLE t USING tidemark(a, durable=true)", "CREATE TABLE t(a); CREATE TABLE t2(a)",
	} {
		_, err := db.Exec(text)
		expectRefusal(t, text, err, ErrNoDataPath, "table t ", "data path", "ephemeral=1", "durable=false")
		var typed *Error
		if !errors.As(err, &typed) || typed.Table != "t" || typed.Hint == "" || strings.Contains(err.Error(), "t2") {
			t.Errorf("%s: %+v", text, typed)
		}
	}
	keys := "CREATE VIRTUAL TABLE k USING tidemark(id INTEGER PRIMARY KEY, resident=keys)"
	for name, db := range map[string]*sql.DB{"no path": db, "ephemeral": memoryDB(t, "?ephemeral=1")} {
		_, err := db.Exec(keys)
		expectRefusal(t, name, err, ErrNoDataPath, "table k ", "only in the log", "data path", "resident=all")
	}
	expect(t, db, "v", "SELECT group_concat(name) FROM sqlite_schema WHERE type = 'table'")
	select {
	case e := <-events:
		t.Errorf("event %v", e)
	default:
	}
}

// TestEphemeralRefusals: ENG-12, 13, ENG-AT-09.
func TestEphemeralRefusals(t *testing.T) {
	emptyPlace(t)
	for dsn, words := range map[string][]string{
		"?ephemeral=0":                 {`"0"`, "only 1"},
		"?ephemeral=true":              {`"true"`, "only 1"},
		"?ephemeral= 1":                {`" 1"`, "only 1"},
		"?ephemeral=":                  {`""`, "only 1"},
		"?ephemeral":                   {`""`, "only 1"},
		"dir?ephemeral=1":              {`"dir"`, "leave out"},
		"dir?ephemeral=no":             {`"no"`, "only 1"},
		"file:dir?ephemeral=1&mode=rw": {`"dir"`, "leave out"},
	} {
		_, err := sql.Open("tidemark", dsn)
		expectRefusal(t, dsn, err, ErrEphemeral, append(words, "ephemeral")...)
	}
	_, err := NewConnector(Config{Path: "dir", Ephemeral: true})
	expectRefusal(t, "Config", err, ErrEphemeral, `"dir"`, "leave out")
	_, err = NewConnector(Config{FS: vfs.NewMem()})
	expectRefusal(t, "FS", err, ErrMisuse, "Config.FS")
	_, err = sql.Open("tidemark", ":memory:")
	expectRefusal(t, ":memory:", err, ErrMisuse, ":memory:", "?ephemeral=1")
}

// TestBadPaths: ENG-16, ENG-AT-12: nothing is made.
func TestBadPaths(t *testing.T) {
	emptyPlace(t)
	for path, words := range map[string][]string{
		"a/b":                          {"a/b", "parent", "does not exist", "make it first"},
		strings.Repeat("n/", 2500):     {"too long"},
		"x/" + strings.Repeat("n", 60): {"parent"},
	} {
		db, err := sql.Open("tidemark", path)
		if err == nil {
			err = errors.Join(db.PingContext(context.Background()), db.Close())
		}
		expectRefusal(t, path, err, ErrCantOpen, words...)
	}
}

// TestTableDiffers: ENG-10, ENG-AT-06: a statement that gives an existing table
// other options is refused and changes no byte; the table can be dropped and made
// anew with them.
func TestTableDiffers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: dir})
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES(1, 'kept')")
	objects := func() string {
		var all strings.Builder
		err := filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			b, err := os.ReadFile(path)
			all.WriteString(path)
			all.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all.String()
	}
	before := objects()
	_, err := db.Exec("CREATE VIRTUAL TABLE IF NOT EXISTS t USING tidemark(id INTEGER PRIMARY KEY, v TEXT, durable=false)")
	expectRefusal(t, "IF NOT EXISTS", err, ErrTableDiffers, "table t ", "store", "durable=true", "DROP TABLE t")
	if objects() != before {
		t.Error("a refusal changed the log")
	}
	expect(t, db, "kept", "SELECT v FROM t")
	mustExec(t, db, "DROP TABLE t; CREATE VIRTUAL TABLE IF NOT EXISTS t USING tidemark(id INTEGER PRIMARY KEY, v TEXT, durable=false)")
	expect(t, db, "t 0 0", "SELECT name||' '||durable||' '||rows FROM tidemark_tables")
}
