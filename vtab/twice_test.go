package vtab

import "testing"

// An index may have a column twice, and a comparison is answered by one of them.
func TestColumnTwiceInIndex(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(k INTEGER PRIMARY KEY, a INT, b INT); CREATE INDEX ti ON t(a, a, b); CREATE INDEX tj ON t(b, a DESC, b DESC, a)`, nil)
	fill := "WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM g WHERE i<60) INSERT INTO t SELECT i, i%5, i%7 FROM g"
	p.exec(fill)
	if err := p.plain.Exec(fill); err != nil {
		t.Fatal(err)
	}
	m := &matrix{pair: p}
	for _, where := range []string{"a=1", "a=1 AND b=3", "a=1 AND b>3", "a>1 AND a<4", "b=3 AND a>1", "b IN (1,3) AND a=2", "a IS 1 AND a=1", "a=1 AND a IN (1,2)"} {
		m.ask("SELECT k FROM t WHERE " + where)
		m.ask("SELECT a, b FROM t WHERE " + where)
		m.ask("SELECT min(b), max(b) FROM t WHERE " + where)
		m.ask("SELECT min(b) FROM t WHERE " + where)
		m.ask("SELECT k FROM t WHERE " + where + " ORDER BY a, b, k")
	}
}
