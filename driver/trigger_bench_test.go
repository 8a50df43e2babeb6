package driver

import (
	"fmt"
	"testing"
)

// BenchmarkTriggers inserts and updates rows, a thousand a statement, of tables with
// and without triggers. The rows that a trigger writes cost what rows cost: "write"
// beside "two" tells what firing adds to writing them.
func BenchmarkTriggers(b *testing.B) {
	const rows = 1000
	fill := fmt.Sprintf("WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<%d) ", rows)
	for _, k := range []struct{ name, schema, run string }{
		{"insert/none", "", "INSERT INTO t(a, b) SELECT i, 'some text' FROM n"},
		{"insert/empty", "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END", "INSERT INTO t(a, b) SELECT i, 'some text' FROM n"},
		{"insert/when", "CREATE TRIGGER r AFTER INSERT ON t WHEN NEW.a < 0 BEGIN INSERT INTO u VALUES(NEW.id); END", "INSERT INTO t(a, b) SELECT i, 'some text' FROM n"},
		{"insert/write", "CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO u VALUES(NEW.id); END", "INSERT INTO t(a, b) SELECT i, 'some text' FROM n"},
		{"insert/two", "", "INSERT INTO u SELECT i FROM n"},
		{"update/none", "", "UPDATE t SET b = 'other text'"},
		{"update/other", "CREATE TRIGGER r AFTER UPDATE OF a ON t BEGIN INSERT INTO u VALUES(NEW.id); END", "UPDATE t SET b = 'other text'"},
		{"update/write", "CREATE TRIGGER r AFTER UPDATE OF b ON t BEGIN INSERT INTO u VALUES(OLD.id); END", "UPDATE t SET b = 'other text'"},
	} {
		b.Run(k.name, func(b *testing.B) {
			db := openTest(b, Config{Sync: "off"})
			mustExec(b, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT); CREATE TABLE u(a)")
			run := k.run
			if run[0] == 'U' {
				mustExec(b, db, fill+"INSERT INTO t(a, b) SELECT i, 'some text' FROM n")
			} else {
				run = fill + run
			}
			if k.schema != "" {
				mustExec(b, db, k.schema)
			}
			tx, err := db.Begin()
			if err != nil {
				b.Fatal(err)
			}
			defer tx.Rollback()
			for b.Loop() {
				if _, err := tx.Exec(run); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
