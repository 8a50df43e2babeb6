package vtab

import (
	"fmt"
	"strings"
	"testing"
)

// What is read for a query is visible in EXPLAIN QUERY PLAN: idxNum:idxStr.
func TestPlans(t *testing.T) {
	f := newFixture(t)
	f.create(`CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b TEXT, c, d INT);
		CREATE INDEX t_a ON t(a); CREATE UNIQUE INDEX t_b ON t(b COLLATE NOCASE); CREATE INDEX t_cd ON t(c, d DESC);
		CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID; CREATE TABLE x(n INT, s TEXT)`, nil)
	f.exec("WITH RECURSIVE g(v) AS (SELECT 1 UNION ALL SELECT v+1 FROM g WHERE v<2000) INSERT INTO t SELECT v, v, 'x'||v, v%50, v%7 FROM g")
	f.exec("INSERT INTO x SELECT a, b FROM t WHERE a<30")
	const (
		lower, lowerExcl, upper, upperExcl = planLower, planLower | planLowerExcl, planUpper, planUpper | planUpperExcl
	)
	index := func(at, terms int32) int32 { return planIndex | at<<planIndexAt | terms<<planTerms }
	for _, q := range []struct {
		sql, str string
		num      int32
	}{
		{"SELECT * FROM t", "", planScan},
		{"SELECT * FROM t WHERE id=5", "", planRowid},
		{"SELECT * FROM t WHERE rowid='5'", "", planRowid},
		{"SELECT * FROM t WHERE id IN (1,2)", "", planList},
		{"SELECT * FROM t WHERE id IN (1,2) ORDER BY id DESC", "", planList | planDesc},
		{"SELECT * FROM t WHERE id>5", "", planScan | lowerExcl},
		{"SELECT * FROM t WHERE id BETWEEN 5 AND 7 ORDER BY id DESC", "", planScan | lower | upper | planDesc},
		{"SELECT * FROM t ORDER BY id DESC LIMIT 1", "", planScan | planDesc},
		{"SELECT * FROM t WHERE a=5", "n:t_a", index(0, 1)},
		{"SELECT * FROM t WHERE a='5'", "n:t_a", index(0, 1)},
		{"SELECT * FROM t WHERE a IS 5", "N:t_a", index(0, 1)},
		{"SELECT * FROM t WHERE a IS NULL", "B:t_a", index(0, 1)},
		{"SELECT * FROM t WHERE a IN (1,2,3)", "n:t_a", index(0, 1)},
		{"SELECT * FROM t WHERE a>5 AND a<=9", "nn:t_a", index(0, 0) | lowerExcl | upper},
		{"SELECT * FROM t WHERE b='x5' COLLATE NOCASE", "t:t_b", index(1, 1)},
		{"SELECT * FROM t WHERE b='x5'", "", planScan}, // another collation
		{"SELECT * FROM t WHERE c=5 AND d=6", "bn:t_cd", index(2, 2)},
		{"SELECT * FROM t WHERE c=5 AND d>=6", "bn:t_cd", index(2, 1) | lower},
		{"SELECT * FROM t WHERE c=5", "b:t_cd", index(2, 1)},
		{"SELECT * FROM t WHERE c=5 ORDER BY d DESC LIMIT 2", "b:t_cd", index(2, 1)},
		{"SELECT * FROM t WHERE c=5 ORDER BY d LIMIT 2", "b:t_cd", index(2, 1) | planDesc},
		{"SELECT * FROM t WHERE d=6", "", planScan},
		{"SELECT * FROM t WHERE c='a'||1", "b:t_cd", index(2, 1)},
		{"SELECT * FROM x CROSS JOIN t ON t.c=x.n", "", planScan}, // compares numbers, the index does not
		{"SELECT * FROM x CROSS JOIN t ON t.c=x.s", "b:t_cd", index(2, 1)},
		{"SELECT * FROM x CROSS JOIN t ON t.a=x.s", "n:t_a", index(0, 1)},
		{"SELECT * FROM x CROSS JOIN t ON t.b=x.n COLLATE NOCASE", "", planScan},
		{"SELECT * FROM w", ":sqlite_autoindex_w_1", index(0, 0)},
		{"SELECT * FROM w WHERE k='a'", "t:sqlite_autoindex_w_1", index(0, 1)},
	} {
		rows, err := f.run("EXPLAIN QUERY PLAN " + q.sql)
		if err != nil {
			t.Fatal(q.sql, err)
		}
		text := show(rows)
		want := "VIRTUAL TABLE INDEX " + fmt.Sprintf("%d:%s", q.num, q.str)
		if !strings.Contains(text, want+"'") {
			t.Errorf("%s\n%s want %s", q.sql, text, want)
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
