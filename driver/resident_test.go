package driver

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A keys table answers every statement as a table in memory does: each runs on
// both, with the store reopened between.
func TestResidentKeys(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	open := func() *sql.DB {
		t.Helper()
		db, err := sql.Open("tidemark", dir+"?generation_size=32KiB")
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	db := open()
	defer func() { db.Close() }()
	for _, r := range []string{"all", "keys"} {
		mustExec(t, db, "CREATE VIRTUAL TABLE t_"+r+" USING tidemark(id INTEGER PRIMARY KEY, u TEXT UNIQUE, a INT, b TEXT COLLATE NOCASE, c, resident="+r+")")
	}
	expect(t, db, "all", "SELECT resident FROM tidemark_tables WHERE name = 't_all'")
	expect(t, db, "keys", "SELECT resident FROM tidemark_tables WHERE name = 't_keys'")
	for i, text := range []string{
		"INSERT INTO % VALUES(1,'one',1,'A',NULL),(2,'two',2,'b',x'00'),(3,'three',3,'',4.5)",
		"INSERT INTO %(u,a,b) SELECT 'x' || value, value % 7, 'n' || (value % 5) FROM (WITH RECURSIVE n(value) AS (SELECT 10 UNION ALL SELECT value+1 FROM n WHERE value < 400) SELECT value FROM n)",
		"UPDATE % SET a = a + 1",
		"UPDATE % SET a = a + 1, b = upper(b) WHERE id % 3 = 0",
		"UPDATE % SET u = 'two' WHERE id = 1",
		"UPDATE OR REPLACE % SET u = 'two' WHERE id = 1",
		"INSERT OR IGNORE INTO %(u) VALUES('x11')",
		"INSERT OR REPLACE INTO %(id,u) VALUES(7,'x11')",
		"DELETE FROM % WHERE a = 3",
		"UPDATE % SET id = id + 10000 WHERE id % 4 = 0",
		"CREATE INDEX i_% ON %(a, b)",
		"UPDATE % SET c = u || a, a = NULL WHERE id % 5 = 0",
		"BEGIN; UPDATE % SET c = 'lost'; SAVEPOINT s; DELETE FROM % WHERE id < 100; ROLLBACK TO s; UPDATE % SET c = 'kept' WHERE id = 50; COMMIT",
		"BEGIN; DELETE FROM %; INSERT INTO %(u) VALUES('new'); ROLLBACK",
		"UPDATE % SET c = c WHERE id > 200",
		"DROP INDEX i_%",
	} {
		var got [2]string
		for k, r := range []string{"all", "keys"} {
			for range 1 + i%2 { // deltas on deltas
				_, err := db.Exec(strings.ReplaceAll(text, "%", "t_"+r))
				got[k] += strings.ReplaceAll(fmt.Sprint(err), "t_"+r, "%") + "\n"
			}
		}
		if got[0] != got[1] {
			t.Fatalf("%s: %s, of the keys table %s", text, got[0], got[1])
		}
		for range 2 {
			for _, query := range []string{
				"SELECT * FROM %", "SELECT * FROM % ORDER BY id DESC LIMIT 7", "SELECT count(*), min(id), max(id), min(u), max(u), sum(a) FROM %",
				"SELECT * FROM % WHERE u = 'x33'", "SELECT * FROM % WHERE b = 'N3' ORDER BY u", "SELECT id FROM % WHERE a > 2 ORDER BY a, id",
				"SELECT a, count(*), max(c) FROM % GROUP BY a", "SELECT x.id, y.u FROM % x JOIN % y ON x.a = y.id ORDER BY 1, 2 LIMIT 50",
				"PRAGMA integrity_check",
			} {
				var got [2]string
				for k, r := range []string{"all", "keys"} {
					got[k] = fmt.Sprint(readAll(t, db, strings.ReplaceAll(query, "%", "t_"+r)))
				}
				if got[0] != got[1] {
					t.Fatalf("after %s: %s: %s, of the keys table %s", text, query, got[0], got[1])
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = open()
		}
		if i == 5 {
			mustExec(t, db, "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')")
		}
	}
}

// readAll is the answer to a query as text.
func readAll(t *testing.T, db *sql.DB, text string) string {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for rows.Next() {
		vals := make([]any, len(cols))
		for i := range vals {
			vals[i] = new(any)
		}
		if err := rows.Scan(vals...); err != nil {
			t.Fatal(err)
		}
		for _, v := range vals {
			fmt.Fprintf(&b, "%#v|", *v.(*any))
		}
		b.WriteByte('\n')
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.String()
}
