package vtab

import (
	"testing"
	"time"
)

// DISTINCT over an index goes on whatever the rows between two kinds are tested
// for: a jump never goes back.
func TestDistinctPastRowsThatFail(t *testing.T) {
	p := newPair(t, `CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b INT, c INT); CREATE INDEX ti ON t(a, b); CREATE INDEX td ON t(c DESC, b)`, nil)
	fill := `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1500) INSERT INTO t(a, b, c) SELECT i, i IN (1, 700, 1400), i/600 FROM n;
		INSERT INTO t(a, b, c) SELECT 700, 0, 1 FROM t LIMIT 400; INSERT INTO t(a, b, c) SELECT 2, 5, 9 FROM t LIMIT 300`
	p.exec(fill)
	if err := p.plain.Exec(fill); err != nil {
		t.Fatal(err)
	}
	m := &matrix{pair: p}
	// Without the rule this does not end.
	done := time.AfterFunc(time.Minute, func() { panic("DISTINCT goes round in circles") })
	defer done.Stop()
	for _, q := range []string{
		"SELECT DISTINCT a FROM t WHERE b=1", "SELECT DISTINCT a FROM t WHERE b=5 AND a>0", "SELECT DISTINCT a FROM t WHERE b=1 ORDER BY a DESC",
		"SELECT DISTINCT c FROM t WHERE b=1", "SELECT DISTINCT c FROM t WHERE b=5 ORDER BY c", "SELECT DISTINCT c, b FROM t WHERE b<>0", "SELECT DISTINCT a, b FROM t WHERE b>0",
		"SELECT count(*) FROM (SELECT DISTINCT a FROM t WHERE b=7)", "SELECT DISTINCT a FROM t WHERE a BETWEEN 600 AND 800 AND b=1",
	} {
		m.askOne(q)
	}
}
