package driver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

// TestLikeSQLiteFiles runs the scripts of testdata/like as TestLikeSQLite does:
// directly, through prepared statements, and with the store closed and opened
// again after each statement. A script whose name begins with one_ keeps a
// transaction or a setting of its connection and is not reopened.
func TestLikeSQLiteFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/like/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		run := func(mode string, f func(t *testing.T, o *oracle, s *subject)) {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				f(t, newOracle(t), newSubject(t))
			})
		}
		run("direct", func(t *testing.T, o *oracle, s *subject) {
			compare(t, o, s, string(text))
		})
		run("prepared", func(t *testing.T, o *oracle, s *subject) {
			s.prepare = true
			compare(t, o, s, string(text))
		})
		if strings.HasPrefix(name, "one_") || testing.Short() {
			continue
		}
		run("reopened", func(t *testing.T, o *oracle, s *subject) {
			s.fresh = true
			for statement := range sqltext.Statements(string(text)) {
				compareOne(t, o, s, statement)
				s.close()
				s.open()
			}
		})
	}
}

// TestExplainLikeSQLite wants EXPLAIN and EXPLAIN QUERY PLAN to take what SQLite
// takes, with its errors, and to change nothing.
func TestExplainLikeSQLite(t *testing.T) {
	o, s := newOracle(t), newSubject(t)
	compare(t, o, s, `
		CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT); CREATE TABLE w(k PRIMARY KEY, v) WITHOUT ROWID;
		CREATE INDEX i ON t(a); CREATE VIEW v AS SELECT a FROM t; INSERT INTO t VALUES(1,'x',1);`)
	for _, text := range []string{
		"SELECT * FROM v", "SELECT nope FROM v", "SELECT * FROM nope", "SELECT rowid FROM w", "SELECT rowid FROM t",
		"SELECT * FROM sqlite_schema", "SELECT name FROM pragma_table_info('t')", "SELECT * FROM t INDEXED BY i WHERE a = 'x'",
		"SELECT * FROM t INDEXED BY nope", "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i FROM n) SELECT * FROM n",
		"INSERT INTO t(a) VALUES('y')", "INSERT INTO t(nope) VALUES(1)", "INSERT INTO t SELECT * FROM t", "REPLACE INTO t VALUES(1,2,3)",
		"UPDATE t SET b = 2", "UPDATE t SET b = w.v FROM w WHERE w.k = t.a", "UPDATE t SET nope = 1", "DELETE FROM t", "DELETE FROM nope",
		"DELETE FROM v", "INSERT INTO v VALUES(1)", "CREATE TABLE n(a)", "CREATE TABLE t(a)", "CREATE TABLE n AS SELECT * FROM t", "CREATE INDEX j ON t(b)",
		"CREATE INDEX i ON t(b)", "CREATE VIEW n AS SELECT 1", "DROP TABLE t", "DROP TABLE nope", "DROP INDEX i", "DROP VIEW v", "REINDEX", "REINDEX nope",
		"PRAGMA table_info(t)", "PRAGMA nope.table_info(t)", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "RELEASE a", "VACUUM", "ANALYZE",
		"ATTACH ':memory:' AS x", "DETACH x", "SELECT", "VALUES(1)", "CREATE TEMP TABLE n(a)", "EXPLAIN SELECT 1",
	} {
		for _, explain := range []string{"EXPLAIN ", "EXPLAIN QUERY PLAN "} {
			want, got := o.run(explain+text), s.run(explain+text)
			if got.code != want.code || got.message != want.message || strings.Join(got.columns, " ") != strings.Join(want.columns, " ") {
				t.Errorf("%s%s\n got %s\nwant %s", explain, text, got, want)
			}
		}
	}
	compare(t, o, s, "SELECT type, name, sql FROM sqlite_schema ORDER BY name; SELECT * FROM t; SELECT changes(), total_changes(); BEGIN; COMMIT;")
}
