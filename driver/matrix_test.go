package driver

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
)

// The matrix of README.md: what works, and what is refused by name.
func TestMatrixOfReadme(t *testing.T) {
	db, err := openTest(t, Config{}).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, db)
	side := filepath.Join(t.TempDir(), "side.db")
	for _, statement := range []string{
		`CREATE TABLE a(id INTEGER PRIMARY KEY, b TEXT NOT NULL COLLATE NOCASE, c INT DEFAULT (1 + 1) CHECK (c > 0), UNIQUE(b, c))`,
		`CREATE TABLE k(x TEXT, y INT, PRIMARY KEY(x, y)) WITHOUT ROWID`,
		`CREATE TABLE s(x INTEGER, y TEXT) STRICT`,
		`CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT, a INT REFERENCES a(id))`,
		`CREATE VIRTUAL TABLE v USING tidemark(id INTEGER PRIMARY KEY, who TEXT, durable=true, resident=all)`,
		`CREATE VIRTUAL TABLE kv USING tidemark(id INTEGER PRIMARY KEY, who TEXT, resident=keys)`,
		`CREATE INDEX ai ON a(c DESC, b)`,
		`CREATE UNIQUE INDEX su ON s(x)`,
		`CREATE VIEW w AS SELECT id, b FROM a`,
		`CREATE TRIGGER wt INSTEAD OF INSERT ON w BEGIN INSERT INTO a(b) VALUES(new.b); END`,
		`INSERT INTO w(b) VALUES('through the view')`,
		`INSERT INTO a(b) VALUES('x'), ('y')`,
		`INSERT INTO s SELECT id, b FROM a`,
		`INSERT INTO n DEFAULT VALUES`,
		`INSERT OR IGNORE INTO a(b, c) VALUES('X', 2)`,
		`INSERT OR REPLACE INTO a(id, b) VALUES(2, 'z')`,
		`REPLACE INTO k VALUES('p', 1)`,
		`UPDATE OR FAIL a SET b = b || '!' WHERE c = 2`,
		`DELETE FROM k WHERE x = 'p'`,
		`BEGIN IMMEDIATE`, `SAVEPOINT one`, `INSERT INTO v(who) VALUES('me')`, `ROLLBACK TO one`, `RELEASE one`, `END`,
		`CREATE TEMP TABLE t(x)`, `INSERT INTO t SELECT b FROM a`,
		`ATTACH '` + side + `' AS side`, `CREATE TABLE side.p(x)`, `INSERT INTO side.p SELECT id FROM a`, `DETACH side`,
		`DROP INDEX ai`, `DROP VIEW w`, `DROP TABLE s`,
		`PRAGMA foreign_key_list(n)`,
		`SELECT count(*) FROM catalog.live_object_roots`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	before := schemaText(t, db)
	for _, statement := range []string{
		`PRAGMA user_version = 3`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); !errors.Is(err, ErrNotAvailable) {
			t.Errorf("%s: %v is not ErrNotAvailable", statement, err)
		}
	}
	if after := schemaText(t, db); after != before {
		t.Errorf("a refused statement changed the schema: %q, before %q", after, before)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM a WHERE c = 5 OR b = 'q'").Scan(&n); err != nil || n != 0 {
		t.Errorf("a refused statement changed %d rows, %v", n, err)
	}
}

// schemaText is all of sqlite_schema.
func schemaText(t *testing.T, c *sql.Conn) (text string) {
	t.Helper()
	if err := c.QueryRowContext(t.Context(), "SELECT group_concat(type || ' ' || name || ' ' || ifnull(sql, '-'), char(10)) FROM sqlite_schema").Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// A transaction writes the store or an attached file, not both.
func TestTwoFilesInOneTransaction(t *testing.T) {
	db := openTest(t, Config{})
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE a(x); ATTACH ? AS side", filepath.Join(t.TempDir(), "side.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE side.p(x)"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), &sql.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO a VALUES(1)"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("INSERT INTO side.p SELECT x FROM a"); err == nil {
		t.Error("a transaction wrote both files")
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"a", "side.p"} {
		var n int
		if err := db.QueryRow("SELECT count(*) FROM " + name).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s has %d rows, %v", name, n, err)
		}
	}
}
