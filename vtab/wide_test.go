package vtab

import (
	"fmt"
	"strings"
	"testing"
)

// Columns beyond the 63rd share a bit of SQLite's mask of used columns: indexes
// that have them, alone or with others, still give the right values.
func TestIndexesOfWideTables(t *testing.T) {
	var cols []string
	for i := range 100 {
		cols = append(cols, fmt.Sprintf("c%d INT", i))
	}
	p := newPair(t, "CREATE TABLE t(id INTEGER PRIMARY KEY, "+strings.Join(cols, ", ")+`);
		CREATE INDEX i_70 ON t(c70); CREATE INDEX i_3_80 ON t(c3, c80); CREATE INDEX i_61_62 ON t(c61, c62, c63)`, nil)
	var fill strings.Builder
	for r := range 120 {
		fmt.Fprintf(&fill, "INSERT INTO t(c0, c3, c61, c62, c63, c64, c70, c71, c80, c99) VALUES(%d,%d,%d,%d,%d,%d,%d,%d,%d,%d);\n",
			r, r%7, r%5, r%3, r%4, r%6, r%11, r%13, r%9, -r)
	}
	p.exec(fill.String())
	if err := p.plain.Exec(fill.String()); err != nil {
		t.Fatal(err)
	}
	m := &matrix{pair: p}
	for _, sql := range []string{
		"SELECT c70 FROM t WHERE c70 = 4", "SELECT c70, c71, c99 FROM t WHERE c70 > 8", "SELECT c80 FROM t WHERE c3 = 2",
		"SELECT c3, c99 FROM t WHERE c3 = 2 AND c80 < 5", "SELECT c61, c62 FROM t WHERE c61 = 1", "SELECT c62, c63 FROM t WHERE c61 = 1 AND c62 = 2",
		"SELECT c63, c64 FROM t WHERE c61 = 1", "SELECT count(*) FROM t WHERE c99 = -5", "SELECT a.c99, b.c99 FROM t a JOIN t b ON a.c99 = b.c99 AND b.c71 = 3",
		"SELECT a.id, b.c98 FROM t a LEFT JOIN t b ON a.c64 = b.c80 AND b.c70 = a.c71", "SELECT min(c70), max(c70) FROM t", "SELECT min(c70) FROM t", "SELECT max(c80) FROM t WHERE c3 = 4",
		"SELECT DISTINCT c70 FROM t", "SELECT c3, c80, count(*) FROM t GROUP BY c80, c3 ORDER BY c3, c80",
	} {
		m.askOne(sql)
	}
}
