package sqltests

import (
	"database/sql"
	"fmt"
	"testing"
)

// BenchmarkForeignKeys is rows of a table that refers to another one, whose rows
// are looked up by a rowid or a text, and deletes that find what refers to the row
// by an index.
func BenchmarkForeignKeys(b *testing.B) {
	const parents = 10_000
	for _, c := range []struct{ name, setting, child, text string }{
		{"insert/off", "OFF", "p INT REFERENCES parent", "INSERT INTO child(p) VALUES(?)"},
		{"insert/rowid", "ON", "p INT REFERENCES parent", "INSERT INTO child(p) VALUES(?)"},
		{"insert/text", "ON", "p TEXT REFERENCES parent(name)", "INSERT INTO child(p) VALUES('name ' || ?)"},
		{"cascade", "ON", "p INT REFERENCES parent ON DELETE CASCADE", "DELETE FROM parent WHERE id = ?"},
	} {
		b.Run(c.name, func(b *testing.B) {
			both(b, "CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT UNIQUE); CREATE TABLE child(id INTEGER PRIMARY KEY, "+c.child+"); CREATE INDEX child_p ON child(p)", 0, func(b *testing.B, db *sql.DB) {
				db.SetMaxOpenConns(1) // the PRAGMA is the connection's
				n := parents
				if c.name == "cascade" {
					n = b.N
				}
				fill := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < %d) ", n)
				for _, text := range []string{fill + "INSERT INTO parent SELECT i, 'name ' || i FROM n", fill + "INSERT INTO child(p) SELECT i FROM n WHERE " + fmt.Sprint(c.name == "cascade"), "PRAGMA foreign_keys=" + c.setting} {
					if _, err := db.Exec(text); err != nil {
						b.Fatal(err)
					}
				}
				tx, err := db.Begin()
				if err != nil {
					b.Fatal(err)
				}
				st, err := tx.Prepare(c.text)
				if err != nil {
					b.Fatal(err)
				}
				b.ResetTimer()
				for i := range b.N {
					if _, err := st.Exec(i%n + 1); err != nil {
						b.Fatal(err)
					}
				}
				if err := tx.Commit(); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
