package vtab

import (
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Loops inside others answer from a hash table what a scan would give: whatever
// the comparison, with alternatives, behind outer joins, in subqueries that
// come back for each row, and while the statement changes the table.
func TestHashedLoops(t *testing.T) {
	p := newPair(t, `CREATE TABLE a(id INTEGER PRIMARY KEY, n INT, r REAL, s TEXT COLLATE NOCASE, b BLOB, u);
		CREATE TABLE z(id INTEGER PRIMARY KEY, n INT, r REAL, s TEXT, b BLOB, u);
		CREATE TABLE y(id INTEGER PRIMARY KEY, n INT, d INT, s TEXT, u); CREATE INDEX y_s ON y(s); CREATE INDEX y_dn ON y(d, n);
		CREATE TABLE w(k TEXT, m INT, v, PRIMARY KEY(k, m)) WITHOUT ROWID`, nil)
	fill := ""
	for _, tab := range []string{"a", "z"} {
		fill += "WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM g WHERE i<90) INSERT INTO " + tab +
			" SELECT i, nullif(i%11,3), (i%7)/2.0, CASE i%5 WHEN 0 THEN NULL WHEN 1 THEN 'Ab'||i%4 ELSE 'aB'||i%6 END," +
			" CASE i%4 WHEN 0 THEN i%3 WHEN 1 THEN ''||i%3 WHEN 2 THEN x'35' END, CASE i%3 WHEN 0 THEN i%9 WHEN 1 THEN ''||i%9 END FROM g;"
	}
	fill += "INSERT INTO y SELECT id, n, id%7, 's'||(id*37%91), id%5 FROM a;"
	fill += "INSERT INTO w SELECT s, id, n FROM a WHERE s IS NOT NULL"
	p.exec(fill)
	if err := p.plain.Exec(fill); err != nil {
		t.Fatal(err)
	}
	m := &matrix{pair: p}
	hashed := 0
	p.c.trace = func(callback string, _ *table, _ int32) {
		if callback == "Hash" {
			hashed++
		}
	}
	ask := m.askOne
	cols := []string{"n", "r", "s", "b", "u"}
	for _, l := range cols {
		for _, r := range cols {
			for _, op := range []string{"=", "IS"} {
				on := "a." + l + " " + op + " z." + r
				ask("SELECT a.id, z.id FROM a CROSS JOIN z ON " + on)
				ask("SELECT a.id, z.id FROM a LEFT JOIN z ON " + on + " AND z.id > 40")
				ask("SELECT a.id, z.id FROM a LEFT JOIN z ON " + on + " AND z.n < 5 WHERE z.id IS NULL")
				ask("SELECT a.id, z.id FROM a FULL JOIN z ON " + on)
				ask("SELECT a.id, z.id FROM a JOIN z ON " + on + " OR a.n = z.n")
				ask("SELECT a.id, z.id FROM a JOIN z ON " + on + " AND a.n = z.n AND z.r >= 1")
				ask("SELECT a.id, (SELECT count(*) FROM z WHERE " + on + "), (SELECT min(id) FROM z WHERE " + on + ") FROM a")
				ask("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM z WHERE " + on + " AND z.id % 2)")
				ask("SELECT a.id, z.id FROM a CROSS JOIN z ON a." + l + " COLLATE NOCASE " + op + " z." + r + " ORDER BY a.id, z.id DESC")
				ask("SELECT a.id, z.id FROM a CROSS JOIN z ON " + on + " ORDER BY a.id, z.id LIMIT 20")
			}
		}
	}
	ask("SELECT a.id, w.m FROM a CROSS JOIN w ON a.n = w.v")
	ask("SELECT a.id, w.k, w.m FROM a CROSS JOIN w ON a.n = w.v AND a.r = w.m")
	ask("SELECT x.id, y.id, z.id FROM a x, a y, z WHERE x.n = y.n AND y.r = z.r AND z.n = 4")
	ask("SELECT a.id, z.id FROM a CROSS JOIN z ON a.n = z.n AND z.s = ?", row.TextValue("Ab1"))
	if hashed < 100 {
		t.Errorf("%d hash tables were made for %d queries", hashed, m.n)
	}
	// An index that only orders the rows goes on doing so.
	for _, q := range []string{
		"SELECT a.id, (SELECT y.id FROM y WHERE y.u=a.u ORDER BY y.s LIMIT 1) FROM a",
		"SELECT a.id, (SELECT y.id FROM y WHERE y.u=a.id%5 ORDER BY y.s DESC LIMIT 1) FROM a",
		"SELECT a.id, (SELECT max(c) FROM (SELECT count(*) c FROM y WHERE y.u=a.id%5 GROUP BY y.d)) FROM a",
		"SELECT a.id, (SELECT group_concat(d) FROM (SELECT DISTINCT d FROM y WHERE y.u=a.id%5 ORDER BY d)) FROM a",
		"SELECT a.id, y.id FROM a CROSS JOIN y ON y.u=a.id%5 ORDER BY a.id, y.s LIMIT 50",
		"SELECT a.id, (SELECT id FROM y WHERE y.u >= a.id%5 ORDER BY id LIMIT 1) FROM a",
		"SELECT a.id, (SELECT id FROM y WHERE y.u = a.id%5 ORDER BY id DESC LIMIT 1) FROM a",
		"SELECT a.id, EXISTS (SELECT 1 FROM y WHERE y.u = a.id%9) FROM a",
		"SELECT min(id) FROM y WHERE (id,d) > (7,0)", "SELECT min(id) FROM y WHERE (id,d) >= (6,100) AND u=1", "SELECT max(id) FROM y WHERE (id,d) < (7,0)",
		"SELECT min(d) FROM y WHERE (d,n) > (2,3)", "SELECT min(d) FROM y WHERE d IN (5,3,4)", "SELECT DISTINCT d FROM y WHERE (d,n) > (2,3)",
	} {
		ask(q)
	}
	for _, q := range []string{
		"SELECT a.id, z.id FROM a LEFT JOIN z ON z.n COLLATE BINARY LIKE 'a%'", "SELECT a.id, z.id FROM a LEFT JOIN z ON z.b GLOB 'q*' AND z.id < 5",
	} {
		ask(q)
	}
	for _, change := range []string{
		"UPDATE a SET n = (SELECT count(*) FROM a AS o WHERE o.u = a.u)",
		"UPDATE a SET n = z.id FROM z WHERE z.s = a.s AND z.u = a.u",
		"DELETE FROM a WHERE (SELECT count(*) FROM a AS o WHERE o.r = a.r AND o.n = a.n) > 1",
		"INSERT INTO a(n, u) SELECT z.id, y.u FROM z JOIN a AS y ON y.u = z.u WHERE z.id < 50",
	} {
		p.exec(change)
		if err := p.plain.Exec(change); err != nil {
			t.Fatal(err)
		}
		ask("SELECT * FROM a ORDER BY id")
	}
}
