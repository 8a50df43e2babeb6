package sqltests

import (
	"database/sql"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver"
)

// catalogNames are tables of the catalog that are everyday names too.
var catalogNames = []string{"jobs", "sessions", "objects", "tables", "indexes", "owners", "worlds", "timelines", "operations", "generations", "shards"}

// TestEverydayNames uses names of catalog tables as a user's own.
func TestEverydayNames(t *testing.T) {
	s := Open(t, "")
	for _, n := range catalogNames {
		for _, q := range []string{"INSERT INTO " + n + " VALUES(1)", "UPDATE " + n + " SET at = 1", "DELETE FROM " + n, "DROP TABLE " + n, "CREATE INDEX i ON " + n + "(at)"} {
			_, err := s.DB.Exec(q)
			if err == nil || !strings.Contains(err.Error(), "no such table: "+"") || !strings.Contains(err.Error(), n) {
				t.Errorf("%s: %v, want no such table", q, err)
			}
		}
		s.Exec("DROP TABLE IF EXISTS " + n)
		if got := dump(t, s.DB, "PRAGMA table_info("+n+")"); len(got) != 0 {
			t.Errorf("table_info of a missing %s: %v", n, got)
		}
		s.Exec("CREATE TABLE " + n + "(id INTEGER PRIMARY KEY, at TEXT)")
		s.Exec("CREATE INDEX " + n + "_at ON " + n + "(at)")
		s.Exec("INSERT INTO "+n+"(at) VALUES(?)", n)
		s.Exec("UPDATE " + n + " SET at = at || '!'")
		if got := dump(t, s.DB, "SELECT * FROM "+n); len(got) != 1 || got[0] != `int64:1|"`+n+`!"` {
			t.Errorf("%s: %v", n, got)
		}
	}
	s.Reopen()
	for _, n := range catalogNames {
		var at string
		if err := s.DB.QueryRow("SELECT at FROM " + n + " WHERE id = 1").Scan(&at); err != nil || at != n+"!" {
			t.Errorf("%s: %q %v", n, at, err)
		}
		s.Exec("DROP TABLE " + n)
	}
}

// TestStockShell reads the catalog with the sqlite3 program while the store is
// open and written.
func TestStockShell(t *testing.T) {
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("SKIPPED: the program sqlite3 is not installed")
	}
	s := Open(t, "")
	s.Exec("CREATE TABLE orders(id INTEGER PRIMARY KEY, sku TEXT UNIQUE); CREATE INDEX orders_sku ON orders(sku)")
	s.Exec("INSERT INTO orders(sku) VALUES('x')")
	ask := func(q string) string {
		t.Helper()
		out, err := exec.Command(shell, "-readonly", filepath.Join(s.Dir, "catalog.db"), q).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", q, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	waitFor(func() bool { return strings.Contains(ask("SELECT group_concat(name) FROM tables"), "orders") })
	for q, want := range map[string]string{
		"SELECT DISTINCT name FROM tables":                                        "orders",
		"SELECT name FROM indexes WHERE name='orders_sku'":                        "orders_sku",
		"SELECT count(*) > 0 FROM objects":                                        "1",
		"SELECT count(*) > 0 FROM generations WHERE state='open'":                 "1",
		"SELECT name FROM timelines":                                              "main",
		"SELECT count(*) = 1 FROM timeline_heads":                                 "1",
		"SELECT count(*) > 0 FROM live_object_roots":                              "1",
		"SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'": "0",
	} {
		if got := ask(q); got != want {
			t.Errorf("%s: %q, want %q", q, got, want)
		}
	}
}

// TestRefusals names what is refused by name until it is available, and that
// nothing changes.
func TestRefusals(t *testing.T) {
	s := Open(t, "")
	s.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a INT UNIQUE, b)")
	s.Exec("INSERT INTO t VALUES(1,1,1)")
	before := dump(t, s.DB, "SELECT * FROM t")
	schema := dump(t, s.DB, "SELECT * FROM sqlite_master")
	for _, q := range []string{
		"CREATE VIRTUAL TABLE v USING tidemark(a, durable=false, resident=keys)",
		"CREATE VIRTUAL TABLE v USING tidemark(a, mode=x)",
	} {
		_, err := s.DB.Exec(q)
		if err == nil {
			t.Errorf("%s: accepted", q)
			continue
		}
		var e *driver.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %T is not a *driver.Error: %v", q, err, err)
		}
	}
	if after := dump(t, s.DB, "SELECT * FROM t"); strings.Join(after, ";") != strings.Join(before, ";") {
		t.Errorf("rows changed: %v", after)
	}
	if after := dump(t, s.DB, "SELECT * FROM sqlite_master"); strings.Join(after, ";") != strings.Join(schema, ";") {
		t.Errorf("schema changed: %v", after)
	}
}

// TestDSNRefusals opens with keys that are wrong or not yet available.
func TestDSNRefusals(t *testing.T) {
	dir := t.TempDir()
	for _, opt := range []string{"nonsense=1", "mode=zz", "mode=ro", "sync=yes", "sync=full&_sync=off", "shards=65", "resident=some", "timeline=x", "at=b", "ephemeral=1", "foreign_keys=maybe", "busy_timeout=x", "txlock=maybe", "generation_size=many", "mode=rwc&mode=rwc", "migrations=x", "compact=on", "memory_budget=1MB", "index_catchup=never"} {
		db, err := sql.Open("tidemark", filepath.Join(dir, "s")+"?"+opt)
		if err == nil {
			err = db.Ping()
			db.Close()
		}
		if err == nil {
			t.Errorf("%s: accepted", opt)
		} else if key, _, _ := strings.Cut(opt, "="); !strings.Contains(err.Error(), key) {
			t.Errorf("%s: the error does not name the key: %v", opt, err)
		}
	}
}
