package driver

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// atStore makes a store with a branch point "then" whose schema and rows have
// changed since.
func atStore(t *testing.T) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store")
	db = openTest(t, Config{Path: path})
	for _, query := range []string{
		`CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE)`,
		`CREATE TABLE orders(id INTEGER PRIMARY KEY, user INT REFERENCES users(id), qty NUMERIC CHECK(qty > 0))`,
		`CREATE UNIQUE INDEX users_name ON users(name)`,
		`CREATE VIEW totals AS SELECT user, sum(qty) AS qty FROM orders GROUP BY user`,
		`CREATE TRIGGER totals_insert INSTEAD OF INSERT ON totals BEGIN INSERT INTO orders(user, qty) VALUES(NEW.user, NEW.qty); END`,
		`CREATE VIRTUAL TABLE rate USING tidemark(k TEXT PRIMARY KEY, n INT, durable=false)`,
		`INSERT INTO users VALUES(1,'Ann'),(2,'bob')`, `INSERT INTO orders VALUES(1,1,'5'),(2,1,'2.5'),(3,2,1)`, `INSERT INTO rate VALUES('r',1)`,
		`INSERT INTO tidemark_branch_points(name) VALUES('then')`,
		`DROP TRIGGER totals_insert`, `DROP VIEW totals`, `DROP TABLE orders`, `CREATE TABLE orders(id TEXT)`,
		`DROP INDEX users_name`, `DELETE FROM users`, `CREATE TABLE later(a)`, `INSERT INTO later VALUES(1)`,
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	return path, db
}

// TestAt: a connection with at= sees the store as it was, schema and all.
func TestAt(t *testing.T) {
	path, db := atStore(t)
	old := openTest(t, Config{Path: path, At: "then", Sync: "full", Compact: "auto"})
	check := func() {
		t.Helper()
		for query, want := range map[string][]string{
			"SELECT name FROM sqlite_schema ORDER BY name":                                     {"orders", "rate", "sqlite_autoindex_rate_1", "totals", "totals_insert", "users", "users_name"},
			"SELECT sql FROM sqlite_master WHERE name='users'":                                 {"CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE)"},
			"SELECT * FROM users WHERE name='ANN'":                                             {"1|Ann"},
			"SELECT id, qty, typeof(qty) FROM orders WHERE qty>'2' ORDER BY id":                {"1|5|integer", "2|2.5|real"},
			"SELECT * FROM totals ORDER BY user":                                               {"1|7.5", "2|1"},
			"SELECT count(*) FROM orders":                                                      {"3"},
			"SELECT count(*) FROM rate":                                                        {"0"},
			"PRAGMA table_info(orders)":                                                        {"0|id|INTEGER|0||1", "1|user|INT|0||0", "2|qty|NUMERIC|0||0"},
			"SELECT \"table\", \"from\" FROM pragma_foreign_key_list('orders')":                {"users|user"},
			"PRAGMA foreign_key_check":                                                         nil,
			"PRAGMA integrity_check":                                                           {"ok"},
			"SELECT name, \"rows\" FROM tidemark_tables ORDER BY name":                         {"orders|3", "rate|0", "users|2"},
			"SELECT name FROM tidemark_branch_points":                                          {"then"},
			"SELECT value, source FROM tidemark_settings WHERE name='at'":                      {"then|dsn"},
			"SELECT count(*) FROM users('then')":                                               {"2"},
			"SELECT u.name, o.id FROM orders('then') o JOIN users u ON u.id=o.user ORDER BY 2": {"Ann|1", "Ann|2", "bob|3"},
			"SELECT value > 0 FROM tidemark_stats WHERE name='commits'":                        {"1"},
		} {
			if _, got := table(t, old, query); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
	}
	check()
	for _, query := range []string{
		"INSERT INTO users VALUES(3,'c')", "UPDATE users SET name='x'", "DELETE FROM orders", "REPLACE INTO users VALUES(1,'c')",
		"INSERT INTO totals VALUES(1,1)", "CREATE TABLE n(a)", "DROP TABLE users", "CREATE INDEX i ON users(id)", "DROP VIEW totals",
		"CREATE VIEW n AS SELECT 1", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "BEGIN; DELETE FROM users", "SAVEPOINT s; CREATE TABLE n(a)",
		"CREATE TABLE n AS SELECT * FROM users", "CREATE VIRTUAL TABLE n USING tidemark(a)",
		"INSERT INTO tidemark_branch_points(name) VALUES('x')", "DELETE FROM tidemark_branch_points", "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')",
		"WITH x AS (SELECT 1) INSERT INTO users SELECT 9, 'n' FROM x",
	} {
		if _, err := old.Exec(query); !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), "at=then") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if err := run(old, "SELECT * FROM later"); err == nil || !strings.Contains(err.Error(), "no such table: later") {
		t.Errorf("a table made since: %v", err)
	}
	// What is not the store's can be written, and a transaction that reads is one.
	if _, err := old.Exec("CREATE TEMP TABLE x AS SELECT * FROM users; INSERT INTO x VALUES(9,'x'); DROP TABLE x; CREATE TABLE IF NOT EXISTS users(a)"); err != nil {
		t.Error(err)
	}
	tx, err := old.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, got := table(t, tx, "SELECT name FROM users ORDER BY id"); !slices.Equal(got, []string{"Ann", "bob"}) {
		t.Errorf("in a transaction: %q", got)
	}
	if _, err := tx.Exec("DELETE FROM users"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("in a transaction: %v", err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	// The present goes on beside it, and deleting the branch point does not concern it.
	for _, query := range []string{
		"INSERT INTO users VALUES(7,'new')", "INSERT INTO tidemark_jobs(kind) VALUES('compact')", "DELETE FROM tidemark_branch_points",
		"INSERT INTO tidemark_jobs(kind) VALUES('gc')", "INSERT INTO tidemark_branch_points(name) VALUES('then')",
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if _, got := table(t, old, "SELECT name FROM users ORDER BY id"); !slices.Equal(got, []string{"Ann", "bob"}) {
		t.Errorf("after the branch point was deleted: %q", got)
	}
	again := openTest(t, Config{Path: path, At: "then", Txlock: "immediate"})
	if _, got := table(t, again, "SELECT * FROM users"); !slices.Equal(got, []string{"7|new"}) {
		t.Errorf("the new branch point of the name: %q", got)
	}
	if tx, err = again.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// TestAtUnknown: a name that is not there is refused by the connect, and no store is
// made.
func TestAtUnknown(t *testing.T) {
	path, _ := atStore(t)
	for name, c := range map[string]Config{
		"no such branch point: nope": {Path: path, At: "nope"},
		"":                           {Path: filepath.Join(t.TempDir(), "missing"), At: "then"},
	} {
		connector, err := NewConnector(c)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		if err := db.PingContext(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: %v", c, err)
		}
		mustClose(t, db)
		if _, err := os.Stat(filepath.Join(c.Path, catalogFile)); (err == nil) != (c.Path == path) {
			t.Errorf("%s: %v", c.Path, err)
		}
	}
}
