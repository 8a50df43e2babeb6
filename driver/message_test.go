package driver

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the oracle
)

// Messages are about what the user wrote: SQLite's own, of ordinary tables, and
// never of the virtual tables that main has in their place.
func TestMessagesOfWhatIsWritten(t *testing.T) {
	db := openTest(t, Config{})
	lite, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer lite.Close()
	lite.SetMaxOpenConns(1)
	const schema = `CREATE TABLE x(a PRIMARY KEY, b); CREATE TABLE k(id INTEGER PRIMARY KEY, p)`
	mustExec(t, db, schema)
	mustExec(t, lite, schema)
	for _, text := range []string{
		"CREATE TRIGGER t AFTER INSERT ON x BEGIN INSERT INTO k DEFAULT VALUES; END",
		"CREATE TRIGGER t AFTER INSERT ON x BEGIN WITH q AS (SELECT 1) INSERT INTO k(p) SELECT * FROM q; END",
		"CREATE TRIGGER t AFTER INSERT ON x BEGIN PRAGMA foo; END",
		"CREATE TRIGGER t AFTER INSERT ON x BEGIN END",
		"CREATE TRIGGER t AFTER INSERT ON x BEGIN CREATE TABLE q(a); END",
		"CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1 END",
		"CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1;",
		"CREATE TRIGGER IF NOT EXISTS t INSERT ON k BEGIN FOO; END",
		"CREATE TRIGGER t AFTER UPDATE ON k BEGIN DELETE FROM x WHERE a=new.id LIMIT 1; END",
		"CREATE TEMP TRIGGER t AFTER UPDATE ON k BEGIN FOO; END",
		"CREATE TRIGGER t AFTER INSERT ON x BEGIN INSERT INTO k(p) VALUES(?); END",
		"CREATE TRIGGER t AFTER INSERT ON x WHEN :n BEGIN SELECT 1; END",
		"CREATE TEMP TRIGGER t AFTER INSERT ON x WHEN :n BEGIN SELECT 1; END",
		"CREATE INDEX i ON x(a+?)",
		"CREATE INDEX i ON x(a) WHERE b = ?",
		"CREATE VIEW v AS SELECT ?",
		"UPDATE x SET b=1 FROM nope RETURNING *",
		"UPDATE x SET b=nope RETURNING *",
		"DELETE FROM x WHERE a IN (SELECT 1 FROM nope) RETURNING *",
		"INSERT INTO x SELECT 1, 2 FROM nope WHERE true ON CONFLICT DO NOTHING RETURNING *",
		"INSERT INTO x SELECT 1, 2 FROM nope WHERE true ON CONFLICT(a) DO UPDATE SET b=nope",
		"EXPLAIN QUERY PLAN UPDATE x SET b=1 RETURNING nope",
		"EXPLAIN QUERY PLAN UPDATE x SET nope=1 RETURNING *",
		"EXPLAIN QUERY PLAN UPDATE nope SET a=1 RETURNING *",
		"EXPLAIN QUERY PLAN INSERT INTO x VALUES(1,2) ON CONFLICT(b) DO NOTHING",
	} {
		said := func(db *sql.DB) string {
			rows, err := db.QueryContext(context.Background(), text)
			if err == nil {
				err = rows.Err()
				rows.Close()
			}
			if err == nil {
				return ""
			}
			return strings.TrimSuffix(strings.TrimPrefix(err.Error(), "SQL logic error: "), " (1)")
		}
		if got, want := said(db), said(lite); got != want || want == "" {
			t.Errorf("%s:\n\t%s\nSQLite says\n\t%s", text, got, want)
		}
	}
}
