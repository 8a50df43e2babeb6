package vtab

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// matrixTypes are columns of every affinity and collation.
var matrixTypes = []string{"INTEGER", "REAL", "TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "BLOB", "NUMERIC", ""}

// matrixLiterals are stored in every column and compared with it.
var matrixLiterals = []string{
	"5", "'5'", "5.0", "0.5", "'0.5'", "'abc'", "'ABC '", "'ABC'", "'abc  '", "x'35'", "NULL", "9007199254740993", "9007199254740992.0",
	"-0.0", "1e999", "-1e999", "'5.0'", "' 5'", "''", "x''", "0", "-1", "'9007199254740993'", "9223372036854775807", "-9223372036854775808", "9223372036854775808.0",
	"x'616263'", "'abd'", "'ab'", "'aBx'",
}

// indexKinds are DDL patterns for an index on column c of table t.
var indexKinds = map[string]string{
	"none":      "",
	"single":    "CREATE INDEX i_%[1]s ON %[1]s(c)",
	"desc":      "CREATE INDEX i_%[1]s ON %[1]s(c DESC)",
	"composite": "CREATE INDEX i_%[1]s ON %[1]s(c, d)",
	"second":    "CREATE INDEX i_%[1]s ON %[1]s(d, c)",
	"nocase":    "CREATE INDEX i_%[1]s ON %[1]s(c COLLATE NOCASE)",
	"unique":    "CREATE UNIQUE INDEX i_%[1]s ON %[1]s(c)",
}

// TestPushdownMatrix compares every kind of comparison on every kind of column
// and index with SQLite's answer: the same rows.
func TestPushdownMatrix(t *testing.T) {
	for kind, index := range indexKinds {
		if testing.Short() && kind != "single" && kind != "desc" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			m := newMatrix(t, index)
			if kind == "second" || kind == "nocase" || kind == "unique" {
				m.step = 3
			}
			for i := range matrixTypes {
				m.column(i)
			}
			t.Logf("%d queries, each with and without pushdown", m.n)
		})
	}
}

type matrix struct {
	*pair
	n    int
	step int // every how many literals
}

func newMatrix(t *testing.T, index string) *matrix {
	var ddl strings.Builder
	for i, typ := range matrixTypes {
		fmt.Fprintf(&ddl, "CREATE TABLE t%d(id INTEGER PRIMARY KEY, c %s, d INT);\n", i, typ)
		if index != "" {
			fmt.Fprintf(&ddl, index+";\n", fmt.Sprintf("t%d", i))
		}
	}
	// other has, in columns of every affinity, values to compare columns with
	ddl.WriteString("CREATE TABLE other(n INT, r REAL, x TEXT, b BLOB, u)")
	m := &matrix{pair: newPair(t, ddl.String(), nil)}
	var fill strings.Builder
	for i := range matrixTypes {
		for k, lit := range matrixLiterals {
			fmt.Fprintf(&fill, "INSERT OR IGNORE INTO t%d(c,d) VALUES(%s,%d),(%s,%d);\n", i, lit, k%3, lit, k%2)
		}
	}
	for _, lit := range matrixLiterals {
		fmt.Fprintf(&fill, "INSERT INTO other VALUES(%[1]s,%[1]s,%[1]s,%[1]s,%[1]s);\n", lit)
	}
	m.exec(fill.String())
	if err := m.plain.Exec(fill.String()); err != nil {
		t.Fatal(err)
	}
	return m
}

// ask runs a query on both, and once more without pushdown; rows are compared
// in the order of the first column. What the query selects is asked a second
// time with the columns an index may have.
func (m *matrix) ask(sql string, args ...row.Value) {
	m.t.Helper()
	if rest, ok := strings.CutPrefix(sql, "SELECT id FROM t"); ok {
		m.askOne("SELECT id, c, typeof(c), d FROM t"+rest, args...)
		m.compare(sql, false, args...)
		return
	}
	m.askOne(sql, args...)
}

func (m *matrix) askOne(sql string, args ...row.Value) {
	m.t.Helper()
	m.compare(sql, true, args...)
}

func (m *matrix) compare(sql string, withOff bool, args ...row.Value) {
	m.t.Helper()
	m.n++
	want, werr := m.plain.Query(sql, args...)
	if werr != nil {
		m.t.Fatalf("%s: sqlite %v", sql, werr)
	}
	w := strings.Split(show(want), "\n")
	if !strings.Contains(sql, "ORDER BY") {
		slices.Sort(w)
	}
	for _, off := range []bool{false, true} {
		if off && !withOff {
			continue
		}
		m.c.PushdownOff = off
		got, gerr := m.run(sql, args...)
		if gerr != nil {
			m.t.Fatalf("%s: %v", sql, gerr)
		}
		g := strings.Split(show(got), "\n")
		if !strings.Contains(sql, "ORDER BY") {
			slices.Sort(g)
		}
		if !slices.Equal(w, g) {
			plan, _ := m.run("EXPLAIN QUERY PLAN "+sql, args...)
			m.t.Errorf("%s\n tidemark %v (pushdown off: %v)\n sqlite   %v\n%s", sql, g, off, w, show(plan))
		}
	}
	m.c.PushdownOff = false
}

// ends asks for the least or greatest value of a table. Which one of several
// that are equal is nobody's promise, so what is compared is what the collations
// and the classes of numbers leave of it.
func (m *matrix) ends(tab, aggregate, rest string) {
	m.t.Helper()
	m.ask("SELECT typeof(v) IN ('integer','real'), CASE WHEN typeof(v) IN ('integer','real') THEN v+0.0 ELSE lower(rtrim(v)) END FROM (SELECT " +
		aggregate + " AS v FROM " + tab + rest + ")")
}

func (m *matrix) column(i int) {
	tab := fmt.Sprintf("t%d", i)
	from := "SELECT id FROM " + tab + " WHERE "
	var values []row.Value
	for _, lit := range matrixLiterals {
		rows, err := m.plain.Query("SELECT " + lit)
		if err != nil {
			m.t.Fatal(err)
		}
		values = append(values, rows[0][0])
	}
	ops := []string{"=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT"}
	step := max(1, m.step)
	if testing.Short() {
		step = 5
	}
	for k := 0; k < len(matrixLiterals); k += step {
		lit := matrixLiterals[k]
		for _, op := range ops {
			m.ask(from + "c " + op + " " + lit)
			m.ask(from+"c "+op+" ?", values[k])
			m.ask(from + lit + " " + op + " c")
			for _, coll := range []string{"BINARY", "NOCASE", "RTRIM"} {
				m.ask(from + "c " + op + " " + lit + " COLLATE " + coll)
			}
			m.ask(from + "d=1 AND c " + op + " " + lit)
			m.ask(from + "+c " + op + " " + lit)
			m.ask(from + "id " + op + " " + lit)
			m.ask(from + "id " + op + " CAST(" + lit + " AS TEXT)")
			m.ask(from + "c " + op + " CAST(" + lit + " AS NUMERIC)")
			m.ask(from + "c " + op + " CAST(" + lit + " AS TEXT)")
		}
		m.ask(from + "c BETWEEN " + lit + " AND " + matrixLiterals[(k+3)%len(matrixLiterals)])
		m.ask(from + "c > " + lit + " AND c <= " + matrixLiterals[(k+5)%len(matrixLiterals)])
		m.ask(from+"c BETWEEN ? AND ?", values[k], values[(k+3)%len(values)])
		m.ask(from+"c IN (?,?,?)", values[k], values[(k+1)%len(values)], values[k])
		m.ask(from+"c LIKE ?", values[k])
		m.ask(from+"c GLOB ?", values[k])
		m.ask(from+"d = ? AND c >= ? COLLATE NOCASE", row.IntValue(1), values[k])
		m.ask(from + "id IN (1,7,NULL,7," + lit + ",'3')")
		m.ask(from + "c IN (NULL," + lit + "," + lit + "," + matrixLiterals[(k+1)%len(matrixLiterals)] + ")")
		for _, row := range []string{"(c,d) < (%s,1)", "(c,d) >= (%s,1)", "(d,c) <= (1,%s)", "(d,c) > (0,%s)", "(c,d) > (SELECT %s, 0)", "(c,d) >= (%s COLLATE NOCASE, 0)", "(c,d) <= (%s, 0 COLLATE NOCASE)", "(%s,1) < (c,d)", "d = 1 AND (c,id) > (%s,20)"} {
			m.ask(from + fmt.Sprintf(row, lit))
			if k%6 == 0 {
				m.ask(from + fmt.Sprintf(row, lit) + " ORDER BY c, d, id LIMIT 5")
				m.ask("SELECT min(id) FROM " + tab + " WHERE " + fmt.Sprintf(row, lit))
				m.ask("SELECT DISTINCT d FROM " + tab + " WHERE " + fmt.Sprintf(row, lit))
			}
		}
		m.ask(from + "c NOT IN (" + lit + "," + matrixLiterals[(k+1)%len(matrixLiterals)] + ")")
		m.ask(from + "d IN (0,1) AND c = " + lit)
		for _, where := range []string{"c > " + lit, "c = " + lit, "d = 1 AND c <= " + lit, "c IS NOT " + lit, "id > 9 AND c <> " + lit, "c IN (NULL, " + lit + ")", "c IS NULL AND d = 1"} {
			if k%4 != 0 {
				break
			}
			m.ends(tab, "min(c)", " WHERE "+where)
			m.ends(tab, "max(c)", " WHERE "+where)
			m.ends(tab, "min(c) FILTER (WHERE "+where+")", "")
			m.ask("SELECT min(c)=max(c), max(d) FROM " + tab + " WHERE " + where)
			m.ask("SELECT min(id) FROM " + tab + " WHERE " + where)
		}
		m.ends(tab, "min(c)", " WHERE d = 99 AND c > "+lit)
		if k%8 == 0 {
			m.ends(tab, "min(a.c)", " a JOIN "+tab+" b ON a.d = b.d WHERE b.c = "+lit)
		}
		m.ask(from + "c LIKE " + lit)
		m.ask(from + "c GLOB " + lit)
	}
	m.ask(from + "c IS NULL")
	m.ask(from + "c IS NOT NULL")
	for _, like := range []string{"LIKE 'ab%'", "LIKE 'AB%'", "LIKE '5%'", "LIKE '%b%'", "GLOB 'ab*'", "GLOB '5*'", "GLOB 'a?*'", "NOT LIKE 'a%'", "LIKE 'a!b%' ESCAPE '!'", "LIKE '-%'"} {
		m.ask(from + "c " + like)
		m.ask(from + "d=1 AND c " + like + " AND c<>5")
		m.ask(from + "c COLLATE NOCASE " + like)
	}
	m.ask(from+"c LIKE ?", row.TextValue("ab%"))
	m.ask(from+"c GLOB ?", row.TextValue("ab*"))
	m.ask("SELECT DISTINCT c, d FROM " + tab + " ORDER BY c, d")
	m.ends(tab, "min(c)", "")
	m.ends(tab, "max(c)", "")
	m.ends(tab, "min(c)", " WHERE d=1")
	m.ask("SELECT max(id), d FROM " + tab + " GROUP BY d ORDER BY d")
	m.ask("SELECT count(*) FROM (SELECT d, c FROM " + tab + " GROUP BY d, c)")
	for _, where := range []string{"", " WHERE rowid % 3 = 1", " WHERE id % 3 = 1", " WHERE d = 1", " WHERE c > 4", " WHERE abs(d) = 1", " WHERE id > 20", " WHERE d > 0 AND c > 'a'"} {
		m.ask("SELECT count(*) FROM (SELECT DISTINCT c FROM " + tab + where + ")")
		m.ask("SELECT count(*) FROM (SELECT DISTINCT d, c FROM " + tab + where + ")")
		m.ask("SELECT DISTINCT d FROM " + tab + where)
		m.ask("SELECT DISTINCT d FROM " + tab + where + " ORDER BY d DESC")
	}
	m.ask("SELECT DISTINCT a.d FROM " + tab + " a JOIN " + tab + " b ON a.rowid = b.rowid + 1 AND b.c = a.c")
	m.ask("SELECT DISTINCT a.d FROM " + tab + " a LEFT JOIN other ON other.rowid = a.id AND a.d = 1 WHERE other.n IS NULL")
	m.ask("SELECT DISTINCT d FROM " + tab + " a WHERE EXISTS (SELECT 1 FROM other WHERE other.rowid = a.rowid - 4)")
	m.ask("SELECT count(*), c IS NULL FROM " + tab + " GROUP BY c IS NULL ORDER BY 2")
	m.ask("SELECT id FROM " + tab + " ORDER BY c DESC, id DESC")
	m.ask("SELECT id FROM " + tab + " ORDER BY c, id")
	m.ask("SELECT id FROM " + tab + " ORDER BY c COLLATE NOCASE, id")
	m.ask("SELECT id FROM " + tab + " WHERE d=1 ORDER BY c DESC, id DESC LIMIT 5")
	m.ask("SELECT id FROM " + tab + " WHERE d=1 ORDER BY c DESC, id")
	m.ask("SELECT id FROM " + tab + " WHERE d IN (2,1) ORDER BY d, c, id")
	m.ask("SELECT id FROM " + tab + " ORDER BY id DESC LIMIT 3")
	m.ask("SELECT id FROM " + tab + " WHERE id IN (9,3,5) ORDER BY id DESC")
	m.ask("SELECT DISTINCT d FROM " + tab)
	m.ask("SELECT count(*), d FROM " + tab + " GROUP BY d ORDER BY d")
	m.ask("SELECT min(id), max(id), count(c) FROM " + tab)
	others := []string{"n", "x", "r", "b", "u", "+n", "+x", "n+0", "x||''", "CAST(n AS TEXT)", "(SELECT n)", "(SELECT x)", "CAST(x AS INT)"}
	if testing.Short() {
		others = others[:2]
	}
	for _, other := range others {
		for _, op := range []string{"=", "<", ">=", "IS"} {
			join := "SELECT id, other.rowid FROM other CROSS JOIN " + tab + " ON "
			m.ask(join + "c " + op + " " + other)
			m.ask(join + "id " + op + " " + other)
			m.ask("SELECT id, other.rowid FROM other LEFT JOIN " + tab + " ON d=1 AND " + other + " " + op + " c")
		}
		m.ask("SELECT id FROM " + tab + " WHERE c IN (SELECT " + other + " FROM other)")
		m.ask("SELECT id FROM " + tab + " WHERE id IN (SELECT " + other + " FROM other)")
		m.ask("SELECT id FROM " + tab + " WHERE (c,d) IN (SELECT " + other + ", 1 FROM other)")
		m.ask("SELECT id FROM " + tab + " WHERE (d,c) IN (SELECT 1, " + other + " FROM other)")
		m.ask("SELECT id FROM " + tab + " WHERE (d,c) IN (SELECT 1, " + other + " COLLATE NOCASE FROM other)")
		m.ask("SELECT id FROM " + tab + " WHERE (c,d) IN (SELECT " + other + " COLLATE BINARY, n FROM other)")
		m.ask("SELECT id FROM " + tab + " WHERE (c COLLATE NOCASE,d) IN (SELECT " + other + ", 1 FROM other)")
		m.ask("SELECT id FROM " + tab + " WHERE (id,c) IN (SELECT id, " + other + " FROM other, " + tab + ")")
		m.ask("SELECT id FROM " + tab + " WHERE (d,c) IN (VALUES(1,5),(0,'abc'),(NULL,5),(2,NULL),(1,x'35'))")
		m.ask("SELECT id FROM " + tab + " WHERE c = (SELECT " + other + " FROM other LIMIT 1)")
	}
	for k := range matrixTypes {
		m.ask(fmt.Sprintf("SELECT a.id, b.id FROM t%d a, t%d b WHERE a.c=b.c", k, i))
		m.ask(fmt.Sprintf("SELECT a.id, b.id FROM t%d a JOIN t%d b ON a.c=b.c AND a.d=b.d AND b.c>4", i, k))
	}
	m.ask(from + "(c,d) = (5,1)")
	m.ask(from + "(c,d) > ('5',0)")
	m.ask(from + "(d,c) >= (1,'abc')")
	m.ask("SELECT id FROM (SELECT n AS v FROM other UNION ALL SELECT x FROM other) JOIN " + tab + " ON c=v")
	m.ask("SELECT id FROM (SELECT x AS v FROM other UNION ALL SELECT n FROM other) JOIN " + tab + " ON v=c")
}
