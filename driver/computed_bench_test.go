package driver

import (
	"path/filepath"
	"testing"
)

// BenchmarkComputed tells what a row costs, in INSERTs of 1,000 rows each in
// transactions that are rolled back: into a plain table, with RETURNING of a
// column and of what is evaluated row by row, and into tables with columns that
// are computed.
func BenchmarkComputed(b *testing.B) {
	const rows = 1000
	for _, bm := range []struct{ name, ddl, returning string }{
		{"plain", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT)", ""},
		{"returning", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT)", " RETURNING id"},
		{"returning each", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT)", " RETURNING upper(b)"},
		{"check", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, CHECK(a>=0))", ""},
		{"generated", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, g AS (a+1))", ""},
		{"two levels", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, g AS (a+1), h AS (g*2))", ""},
		{"index", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT); CREATE INDEX i ON t(a)", ""},
		{"index on an expression", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT); CREATE INDEX i ON t(a+1)", ""},
		{"partial index", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT); CREATE INDEX i ON t(a) WHERE a>500", ""},
	} {
		b.Run(bm.name, func(b *testing.B) {
			db := openTest(b, Config{Path: filepath.Join(b.TempDir(), "store"), Sync: "off", Compact: "off"})
			mustBench(b, db, bm.ddl)
			c, err := db.Conn(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			run := func(text string) {
				if _, err := c.ExecContext(b.Context(), text); err != nil {
					b.Fatal(err)
				}
			}
			run("CREATE TEMP TABLE n(i); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000) INSERT INTO temp.n SELECT i FROM n")
			text := "INSERT INTO t(a,b) SELECT i, 'some text' FROM n" + bm.returning
			b.ReportAllocs()
			for b.Loop() {
				run("BEGIN")
				list, err := c.QueryContext(b.Context(), text)
				if err != nil {
					b.Fatal(err)
				}
				for list.Next() {
				}
				if err := list.Close(); err != nil {
					b.Fatal(err)
				}
				run("ROLLBACK")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
