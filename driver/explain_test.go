package driver

import (
	"strings"
	"testing"
)

// EXPLAIN QUERY PLAN says what SQLite says of ordinary tables (a DELETE needs of
// a row only its id, which an index has).
func TestExplainQueryPlan(t *testing.T) {
	db := openTest(t, Config{})
	mustExec(t, db, `CREATE TABLE orders(id INTEGER PRIMARY KEY, sku TEXT, qty INT);
		CREATE INDEX orders_sku ON orders(sku);
		CREATE TABLE items(sku TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;
		CREATE VIEW named AS SELECT o.id, i.name FROM orders o JOIN items i ON i.sku = o.sku`)
	for _, q := range []struct{ sql, want string }{
		{"SELECT * FROM orders WHERE sku = 'x'", "SEARCH orders USING INDEX orders_sku (sku=?)"},
		{"SELECT * FROM orders WHERE sku = ?", "SEARCH orders USING INDEX orders_sku (sku=?)"},
		{"SELECT id FROM orders AS o WHERE sku > 'x'", "SEARCH o USING COVERING INDEX orders_sku (sku>?)"},
		{"SELECT * FROM orders WHERE id = 3", "SEARCH orders USING INTEGER PRIMARY KEY (rowid=?)"},
		{"SELECT * FROM orders", "SCAN orders"},
		{"SELECT * FROM orders ORDER BY qty", "SCAN orders\nUSE TEMP B-TREE FOR ORDER BY"},
		{"SELECT * FROM items WHERE sku = 'x'", "SEARCH items USING PRIMARY KEY (sku=?)"},
		{"SELECT name FROM named WHERE id = 1", "SEARCH o USING INTEGER PRIMARY KEY (rowid=?)\nSEARCH i USING PRIMARY KEY (sku=?)"},
		{"UPDATE orders SET qty = 1 WHERE sku = 'x'", "SEARCH orders USING INDEX orders_sku (sku=?)"},
		{"DELETE FROM orders WHERE sku = 'x'", "SEARCH orders USING COVERING INDEX orders_sku (sku=?)"},
		{"DELETE FROM orders WHERE sku = ? RETURNING *, ?", "SEARCH orders USING COVERING INDEX orders_sku (sku=?)"},
		{"UPDATE orders SET qty = 1 WHERE sku = 'x' RETURNING id", "SEARCH orders USING INDEX orders_sku (sku=?)"},
		{"INSERT INTO orders SELECT * FROM orders WHERE sku = ? ON CONFLICT(id) DO UPDATE SET qty = ? WHERE qty > 1 RETURNING *", "SEARCH orders USING INDEX orders_sku (sku=?)"},
		{"INSERT INTO orders VALUES(1, 2, 3) ON CONFLICT DO NOTHING", ""},
	} {
		rows, err := db.Query("EXPLAIN QUERY PLAN "+q.sql, make([]any, strings.Count(q.sql, "?"))...)
		if err != nil {
			t.Fatalf("%s: %v", q.sql, err)
		}
		var lines []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, detail)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if have := strings.Join(lines, "\n"); have != q.want {
			t.Errorf("%s\n%s\nwant\n%s", q.sql, have, q.want)
		}
	}
}

// With pushdown=off tables are read whole.
func TestPushdownOff(t *testing.T) {
	db := openTest(t, Config{Pushdown: "off"})
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT); CREATE INDEX t_a ON t(a); INSERT INTO t(a) VALUES(5),(6),(5)")
	var detail string
	var n, unused int
	if err := db.QueryRow("EXPLAIN QUERY PLAN SELECT * FROM t WHERE a=5 AND id=1").Scan(&unused, &unused, &unused, &detail); err != nil || detail != "SCAN t" {
		t.Errorf("%q, %v", detail, err)
	}
	if err := db.QueryRow("SELECT count(*) FROM t WHERE a=5").Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows, %v", n, err)
	}
}
