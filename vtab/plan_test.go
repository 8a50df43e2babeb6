package vtab

import (
	"strings"
	"testing"
)

// What is read for a query is visible in EXPLAIN QUERY PLAN.
func TestPlans(t *testing.T) {
	f := newFixture(t)
	f.create(`CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, c, d INT);
		CREATE INDEX t_a ON t(a); CREATE UNIQUE INDEX t_b ON t(b COLLATE NOCASE); CREATE INDEX t_cd ON t(c, d DESC);
		CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID; CREATE TABLE x(n INT, s TEXT)`, nil)
	f.exec("WITH RECURSIVE g(v) AS (SELECT 1 UNION ALL SELECT v+1 FROM g WHERE v<2000) INSERT INTO t SELECT v, v, 'x'||v, v%50, v%7 FROM g")
	f.exec("INSERT INTO x SELECT a, b FROM t WHERE a<30")
	for _, q := range []struct{ sql, want string }{
		{"SELECT * FROM t", "SCAN t"},
		{"SELECT * FROM t WHERE id=5", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"},
		{"SELECT * FROM t WHERE rowid='5'", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"},
		{"SELECT * FROM t WHERE id IN (1,2)", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"},
		{"SELECT * FROM t WHERE id IN (1,2) ORDER BY id DESC", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"},
		{"SELECT * FROM t WHERE id>5", "SEARCH t USING INTEGER PRIMARY KEY (rowid>?)"},
		{"SELECT * FROM t AS o WHERE id BETWEEN 5 AND 7 ORDER BY id DESC", "SEARCH o USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		{"SELECT * FROM t ORDER BY id DESC LIMIT 1", "SCAN t"},
		{"SELECT * FROM t WHERE a=5", "SEARCH t USING INDEX t_a (a=?)"},
		{"SELECT * FROM t WHERE a=?", "SEARCH t USING INDEX t_a (a=?)"},
		{"SELECT * FROM t WHERE a='5'", "SEARCH t USING INDEX t_a (a=?)"},
		{"SELECT * FROM t WHERE a IS 5", "SEARCH t USING INDEX t_a (a=?)"},
		{"SELECT * FROM t WHERE a IS NULL", "SEARCH t USING INDEX t_a (a=?)"},
		{"SELECT * FROM t WHERE a IN (1,2,3)", "SEARCH t USING INDEX t_a (a=?)"},
		{"SELECT * FROM t WHERE a>5 AND a<=9", "SEARCH t USING INDEX t_a (a>? AND a<?)"},
		{"SELECT id, a FROM t WHERE a=5", "SEARCH t USING COVERING INDEX t_a (a=?)"},
		{"SELECT count(*) FROM t WHERE a=5", "SEARCH t USING COVERING INDEX t_a (a=?)"},
		{"SELECT min(a) FROM t", "SEARCH t USING COVERING INDEX t_a"},
		{"SELECT min(a) FROM t WHERE d=3", "SEARCH t USING INDEX t_a FILTER (d=?)"},
		{"SELECT min(d), id FROM t WHERE c=3", "SEARCH t USING COVERING INDEX t_cd (c=?)"},
		{"SELECT min(id) FROM t", "SEARCH t"},
		{"SELECT min(a), max(a) FROM t", "SCAN t"},
		{"SELECT min(a) FROM t WHERE abs(d)=3", "SCAN t"},
		{"SELECT max(a) FROM t", "SCAN t USING COVERING INDEX t_a"},
		{"SELECT max(a) FROM t WHERE a<7", "SEARCH t USING COVERING INDEX t_a (a<?)"},
		{"SELECT a FROM t WHERE a=5 AND d=6 AND b<'c'", "SEARCH t USING INDEX t_a (a=?) FILTER (d=? AND b<?)"},
		{"SELECT * FROM t WHERE b='x5' COLLATE NOCASE", "SEARCH t USING INDEX t_b (b=?)"},
		{"SELECT * FROM t WHERE b='x5'", "SCAN t FILTER (b=?)"}, // another collation
		{"SELECT * FROM t WHERE b LIKE 'x5%'", "SEARCH t USING INDEX t_b (b>? AND b<?)"},
		{"SELECT * FROM x WHERE s LIKE 'x5%'", "SCAN x FILTER (s>? AND s<?)"},
		{"SELECT * FROM t WHERE c=5 AND d=6", "SEARCH t USING INDEX t_cd (c=? AND d=?)"},
		{"SELECT * FROM t WHERE c=5 AND d>=6", "SEARCH t USING INDEX t_cd (c=? AND d>?)"},
		{"SELECT * FROM t WHERE c=5", "SEARCH t USING INDEX t_cd (c=?)"},
		{"SELECT * FROM t WHERE c=5 ORDER BY d DESC LIMIT 2", "SEARCH t USING INDEX t_cd (c=?)"},
		{"SELECT * FROM t WHERE c=5 ORDER BY d LIMIT 2", "SEARCH t USING INDEX t_cd (c=?)"},
		{"SELECT c, d, count(*) FROM t GROUP BY d, c", "SCAN t USING COVERING INDEX t_cd"},
		{"SELECT DISTINCT a FROM t", "SCAN t USING COVERING INDEX t_a"},
		{"SELECT * FROM t WHERE d=6", "SCAN t FILTER (d=?)"},
		{"SELECT * FROM t('p')", "SCAN t AS OF ?"},
		{"SELECT * FROM t(?) o WHERE id=5", "SEARCH o USING INTEGER PRIMARY KEY (rowid=?) AS OF ?"},
		{"SELECT id, a FROM t('p') WHERE a=5 AND d=6", "SEARCH t USING INDEX t_a (a=?) FILTER (d=?) AS OF ?"},
		{"SELECT max(a) FROM t('p')", "SCAN t AS OF ?"}, // perhaps there was no index
		{"SELECT * FROM x CROSS JOIN t('p') ON t.d=x.n", "SCAN x\nSEARCH t USING AUTOMATIC COVERING INDEX (d=?) AS OF ?"},
		{"SELECT * FROM t WHERE id>5 AND d=6", "SEARCH t USING INTEGER PRIMARY KEY (rowid>?) FILTER (d=?)"},
		{"SELECT * FROM t WHERE c='a'||1", "SEARCH t USING INDEX t_cd (c=?)"},
		{"SELECT * FROM x CROSS JOIN t ON t.c=x.n", "SCAN x\nSCAN t"}, // compares numbers, the index does not
		{"SELECT * FROM x CROSS JOIN t ON t.c=x.s", "SCAN x\nSEARCH t USING INDEX t_cd (c=?)"},
		{"SELECT * FROM x CROSS JOIN t ON t.a=x.s", "SCAN x\nSEARCH t USING INDEX t_a (a=?)"},
		{"SELECT * FROM x CROSS JOIN t ON t.b=x.n COLLATE NOCASE", "SCAN x\nSCAN t"},
		{"SELECT * FROM x LEFT JOIN t ON t.d=x.n", "SCAN x\nSEARCH t USING AUTOMATIC COVERING INDEX (d=?) LEFT-JOIN"},
		{"SELECT * FROM w", "SCAN w"},
		{"SELECT * FROM w WHERE v=1", "SCAN w FILTER (v=?)"},
		{"SELECT * FROM w WHERE k='a'", "SEARCH w USING PRIMARY KEY (k=?)"},
		{"SELECT * FROM w ORDER BY k DESC", "SCAN w"},
		{"SELECT * FROM x LEFT JOIN t", "SCAN x\nSCAN t LEFT-JOIN"},
		{"SELECT * FROM x CROSS JOIN t ON t.d=x.n AND t.c<x.n", "SCAN x\nSEARCH t USING AUTOMATIC COVERING INDEX (d=?)"},
		{"SELECT * FROM x CROSS JOIN t ON t.d=x.n AND t.d<?", "SCAN x\nSEARCH t USING AUTOMATIC COVERING INDEX (d=?) FILTER (d<?)"},
		{"SELECT d FROM t WHERE a=5 ORDER BY b COLLATE NOCASE", "SEARCH t USING INDEX t_a (a=?)\nUSE TEMP B-TREE FOR ORDER BY"},
		{"SELECT d FROM t WHERE a IN (5,6) ORDER BY c", "SEARCH t USING INDEX t_a (a=?)\nUSE TEMP B-TREE FOR ORDER BY"},
		{"SELECT c FROM t ORDER BY c LIMIT 5", "SCAN t USING COVERING INDEX t_cd"},
		{"SELECT * FROM t WHERE (c,d) > (5,6) ORDER BY c LIMIT 3", "SEARCH t USING INDEX t_cd (c>?)"},
		{"SELECT count(*) FROM t WHERE b COLLATE NOCASE > 'x7'", "SEARCH t USING COVERING INDEX t_b (b>?)"},
		{"SELECT * FROM t WHERE d=lower('A') AND a IN (1,2)", "SEARCH t USING INDEX t_a (a=?) FILTER (d=?)"},
		{"SELECT * FROM t WHERE d=(SELECT 5)", "SCAN t FILTER (d=?)\nSCALAR SUBQUERY 1\nSCAN CONSTANT ROW"},
	} {
		rows, err := f.run("EXPLAIN QUERY PLAN " + q.sql)
		if err != nil {
			t.Fatal(q.sql, err)
		}
		var lines []string
		for _, r := range rows {
			lines = append(lines, Explained(r[3].Bytes()))
		}
		if have := strings.Join(lines, "\n"); have != q.want {
			t.Errorf("%s\n%s\nwant\n%s\n(%s)", q.sql, have, q.want, show(rows))
		}
	}
}

// An index that is no longer what the plan says is an error, never other rows.
func TestPlanOfAnotherIndex(t *testing.T) {
	f := newFixture(t)
	f.create("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); CREATE INDEX i ON t(a); CREATE INDEX j ON t(b)", nil)
	f.exec("INSERT INTO t VALUES(1,2,3)")
	st, _, err := f.c.Prepare("SELECT * FROM t WHERE a=2")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Finalize()
	info := *f.c.tables[len(f.c.tables)-1].info
	def := *info.Def
	def.Indexes = def.Indexes[1:]
	info.Def = &def
	f.c.tables[len(f.c.tables)-1].info = &info
	if _, err := st.Step(); err == nil || !strings.Contains(err.Error(), "indexes have changed") {
		t.Error(err)
	}
	_ = st.Reset()
}
