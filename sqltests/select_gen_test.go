package sqltests

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"pgregory.net/rapid"
)

// selectGen draws schemas, rows and SELECTs whose result does not depend on the
// plan, up to what canonical makes equal.
type selectGen struct {
	t       *rapid.T
	tables  []*genTable
	aliases int
	on      bool // the condition is that of a join
	bind    bool // values are parameters
	args    []any
}

// genTable is a table of the columns k, a, b, c and d; k tells its rows apart.
type genTable struct {
	name  string
	rowid bool // has one
}

// scope is what a term may name: alias and table.
type scope []struct {
	alias string
	table *genTable
}

var genColumns = []string{"k", "a", "b", "c", "d"}

func (g *selectGen) one(of ...string) string {
	return rapid.SampledFrom(of).Draw(g.t, "")
}

func (g *selectGen) between(lo, hi int) int { return rapid.IntRange(lo, hi).Draw(g.t, "") }

// in is true in one of n cases.
func (g *selectGen) in(n int) bool { return rapid.IntRange(1, n).Draw(g.t, "") == n }

func (g *selectGen) column() string { return g.one("a", "a", "b", "b", "c", "d", "k") }

func (g *selectGen) alias() string {
	g.aliases++
	return fmt.Sprint("x", g.aliases)
}

// value is a literal or a parameter for one.
func (g *selectGen) value() string {
	text := g.literal()
	if !g.bind {
		return text
	}
	g.args = append(g.args, literalValue(text))
	return fmt.Sprint("?", len(g.args))
}

// literalValue is the Go value of a literal.
func literalValue(text string) any {
	if text == "NULL" {
		return nil
	}
	if text[0] == 'x' {
		b, _ := hex.DecodeString(strings.Trim(text[1:], "'"))
		return append([]byte{}, b...)
	}
	if text[0] == '\'' {
		return strings.Trim(text, "'")
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

var parameterNumber = regexp.MustCompile(`\?(\d+)`)

// used returns the arguments up to the last that the text names.
func (g *selectGen) used(text string) []any {
	last := 0
	for _, m := range parameterNumber.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		last = max(last, n)
	}
	return g.args[:last]
}

// literal is one of few, which meet each other often.
func (g *selectGen) literal() string {
	return g.one("NULL", "0", "1", "2", "3", "-1", "1.0", "2.0", "1.5", "'1'", "'2'", "'1.0'", "'01'", "' 1'", "'a'", "'A'", "'a '", "'b'", "'B'", "'ab'", "''",
		"x'61'", "x''", "9007199254740993", "9007199254740992.0", "'2e0'", "7", "12")
}

// table returns the statements that make a table and fill it.
func (g *selectGen) table(name string) (out []string) {
	g.bind = false
	t := &genTable{name: name, rowid: true}
	strict := g.in(5)
	var columns []string
	for _, c := range genColumns[1:] {
		kind := ""
		if strict {
			kind = g.one("INT", "TEXT", "REAL", "BLOB", "ANY")
		} else {
			kind = g.one("INT", "INT", "TEXT", "TEXT", "REAL", "NUMERIC", "BLOB", "")
		}
		columns = append(columns, c+" "+kind+g.one("", "", "", " COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY"))
	}
	options := []string{}
	if strict {
		options = append(options, "STRICT")
	}
	key := g.one("k INTEGER PRIMARY KEY", "k INTEGER PRIMARY KEY", "k INT", "k INT UNIQUE")
	tail := ""
	if g.in(3) {
		t.rowid = false
		options = append(options, "WITHOUT ROWID")
		if key = "k INT"; g.in(2) {
			tail = ", PRIMARY KEY(k)"
		} else {
			tail = ", PRIMARY KEY(" + g.one("a", "b", "c") + g.one("", " DESC") + ", " + g.one("k", "d DESC, k", "k DESC") + ")"
		}
	}
	out = append(out, fmt.Sprintf("CREATE TABLE %s(%s, %s%s) %s", name, key, strings.Join(columns, ", "), tail, strings.Join(options, ", ")))
	var indexes []string
	for i := range g.between(0, 4) {
		var keys []string
		for _, c := range rapid.Permutation(genColumns).Draw(g.t, "")[:g.between(1, 3)] {
			keys = append(keys, c+g.one("", "", "", " COLLATE NOCASE", " COLLATE BINARY")+g.one("", "", " DESC"))
		}
		if g.in(6) { // a column may be in an index twice
			keys = append(keys, g.one(genColumns...)+g.one("", " COLLATE NOCASE", " DESC"))
		}
		unique := ""
		if g.in(6) {
			unique = "UNIQUE "
		}
		indexes = append(indexes, fmt.Sprintf("CREATE %sINDEX %s_i%d ON %s(%s)", unique, name, i, name, strings.Join(keys, ", ")))
	}
	if before := g.in(2); before {
		out, indexes = append(out, indexes...), nil
	}
	rows := g.between(0, 30)
	if !g.in(8) {
		rows = max(rows, 12)
	}
	for k := range rows {
		out = append(out, fmt.Sprintf("INSERT INTO %s(k, a, b, c, d) VALUES(%d, %s, %s, %s, %s)", name, k, g.value(), g.value(), g.value(), g.value()))
	}
	g.tables = append(g.tables, t)
	return append(out, indexes...)
}

func (g *selectGen) anyTable() *genTable { return rapid.SampledFrom(g.tables).Draw(g.t, "") }

func (g *selectGen) ref(s scope) string {
	x := s[g.between(0, len(s)-1)]
	if x.table != nil && x.table.rowid && g.in(12) {
		return x.alias + ".rowid"
	}
	return x.alias + "." + g.column()
}

func (g *selectGen) op() string { return g.one("=", "=", "=", "=", "<", "<=", ">", ">=", "<>", "IS") }

func (g *selectGen) list() string {
	var v []string
	for range g.between(0, 5) {
		v = append(v, g.value())
	}
	return strings.Join(v, ", ")
}

// operand is a column or something computed of one.
func (g *selectGen) operand(s scope) string {
	r := g.ref(s)
	switch g.between(1, 14) {
	case 1:
		return "+" + r
	case 2:
		return r + " COLLATE " + g.one("NOCASE", "BINARY", "RTRIM")
	case 3:
		return "CAST(" + r + " AS " + g.one("TEXT", "INT", "REAL", "NUMERIC") + ")"
	}
	return r
}

// term is a condition on the tables of s.
func (g *selectGen) term(s scope, depth int) string {
	if depth > 0 {
		switch g.between(1, 9) {
		case 1, 2:
			return "(" + g.term(s, depth-1) + " AND " + g.term(s, depth-1) + ")"
		case 3, 4:
			return "(" + g.term(s, depth-1) + " OR " + g.term(s, depth-1) + g.one("", " OR "+g.term(s, 0)) + ")"
		case 5:
			return "NOT " + g.term(s, depth-1)
		case 6:
			return g.nested(s, depth)
		}
	}
	r := g.operand(s)
	switch g.between(1, 14) {
	case 1:
		return r + g.one(" IS NULL", " IS NOT NULL")
	case 2, 3:
		return fmt.Sprintf("%s %sIN (%s)", r, g.one("", "", "NOT "), g.list())
	case 4:
		return fmt.Sprintf("%s %sBETWEEN %s AND %s", r, g.one("", "", "NOT "), g.value(), g.value())
	case 5:
		like := "GLOB"
		if !g.on { // with an index SQLite itself loses rows of an outer join on LIKE
			like = g.one("LIKE", "GLOB", "NOT LIKE")
		}
		return fmt.Sprintf("%s %s %s", g.ref(s), like, g.one("'a%'", "'A*'", "'1%'", "'%'", "'a'", "'B'", "'_'", "'[aA]*'"))
	case 6:
		return fmt.Sprintf("(%s, %s) %s (%s, %s)", r, g.ref(s), g.one("=", "<", ">", "<=", ">=", "IS", "<>"), g.value(), g.value())
	case 7:
		return fmt.Sprintf("(%s, %s) IN (VALUES(%s, %s), (%s, %s))", r, g.ref(s), g.value(), g.value(), g.value(), g.value())
	case 8, 9:
		return r + " " + g.op() + " " + g.operand(s)
	case 10:
		return g.value() + " " + g.op() + " " + r
	case 11:
		return r + " IS " + g.one("", "NOT ") + g.value()
	}
	return r + " " + g.op() + " " + g.value()
}

// nested is a condition with a query inside.
func (g *selectGen) nested(s scope, depth int) string {
	t, a := g.anyTable(), g.alias()
	inner := scope{{a, t}}
	link := fmt.Sprintf("%s.%s %s %s", a, g.column(), g.one("=", "=", "=", "IS", "<", ">"), g.ref(s))
	where := g.one(link, link+" AND "+g.term(inner, 0), g.term(inner, depth-1))
	r := g.ref(s)
	switch g.between(1, 6) {
	case 1, 2:
		return fmt.Sprintf("%sEXISTS (SELECT 1 FROM %s AS %s WHERE %s)", g.one("", "NOT "), t.name, a, where)
	case 3:
		return fmt.Sprintf("%s %sIN (SELECT %s FROM %s AS %s WHERE %s)", r, g.one("", "NOT "), g.column(), t.name, a, where)
	case 4:
		return fmt.Sprintf("(%s, %s) IN (SELECT %s, %s FROM %s AS %s WHERE %s)", r, g.ref(s), g.column(), g.column(), t.name, a, where)
	case 5:
		return fmt.Sprintf("%s %s (SELECT %s FROM %s AS %s WHERE %s)", r, g.op(), g.one("max(k)", "min(k)", "count(*)", "max(k + 0)"), t.name, a, where)
	}
	return fmt.Sprintf("%s IN (SELECT %s FROM %s)", r, g.column(), t.name)
}

// from draws the FROM clause.
func (g *selectGen) from() (string, scope) {
	var b strings.Builder
	var s scope
	for i := range g.between(1, 3) {
		t, a := g.anyTable(), g.alias()
		item := t.name + " AS " + a
		table := t
		if g.in(8) {
			item = fmt.Sprintf("(SELECT * FROM %s AS %s WHERE %s) AS %s", t.name, "i"+a, g.term(scope{{"i" + a, t}}, 1), a)
			table = nil
		}
		join := ""
		if i > 0 {
			join = g.one(", ", " JOIN ", " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " CROSS JOIN ")
		}
		b.WriteString(join + item)
		left := s
		s = append(s[:len(s):len(s)], struct {
			alias string
			table *genTable
		}{a, table})
		if i == 0 || join == ", " {
			continue
		}
		on := fmt.Sprintf("%s.%s %s %s", a, g.column(), g.one("=", "=", "=", "=", "IS", "<", "<="), g.ref(left))
		g.on = true
		switch g.between(1, 6) {
		case 1:
			on += " AND " + g.term(s, 1)
		case 2:
			on = g.term(s, 1)
		case 3:
			on += fmt.Sprintf(" AND %s.%s = %s", a, g.column(), g.ref(left))
		}
		g.on = false
		b.WriteString(" ON " + on)
	}
	return b.String(), s
}

// ordering makes ORDER BY terms of the columns given, each once.
func (g *selectGen) ordering(columns []string, collate bool) string {
	var out []string
	for _, c := range rapid.Permutation(columns).Draw(g.t, "") {
		if collate && g.in(8) {
			c += " COLLATE " + g.one("NOCASE", "BINARY")
		}
		out = append(out, c+g.one("", "", " DESC")+g.one("", "", "", "", " NULLS FIRST", " NULLS LAST"))
	}
	return strings.Join(out, ", ")
}

func (g *selectGen) limit() string {
	return g.one("", "", fmt.Sprintf(" LIMIT %d", g.between(0, 6)), fmt.Sprintf(" LIMIT %d OFFSET %d", g.between(1, 5), g.between(0, 4)))
}

func (g *selectGen) where(s scope) string {
	if g.in(6) {
		return ""
	}
	return " WHERE " + g.term(s, g.between(0, 3))
}

// query draws a SELECT. Of one that is not exact the rows are compared by their
// canonical values; one that is ordered gives them in a total order.
func (g *selectGen) query() (text string, exact, ordered bool) {
	g.aliases, g.args, g.bind = 0, nil, g.in(3)
	from, s := g.from()
	tail := from + g.where(s)
	switch g.between(1, 10) {
	case 1, 2: // DISTINCT
		cols := g.columnList(s, 1, 3)
		text = "SELECT DISTINCT " + strings.Join(cols, ", ") + " FROM " + tail
		if g.in(3) {
			return text, false, false
		}
		return text + " ORDER BY " + g.ordering(cols, false) + g.limit(), false, true
	case 3, 4: // GROUP BY
		cols := g.columnList(s, 1, 2)
		r := g.ref(s)
		out := strings.Join(cols, ", ") + ", " + g.aggregates(r)
		text = "SELECT " + out + " FROM " + tail + " GROUP BY " + strings.Join(cols, ", ")
		if g.in(4) {
			text += " HAVING " + g.one("count(*) > 1", "count("+r+") < 3", "max("+s[0].alias+".k) > 4")
		}
		if g.in(3) {
			return text, false, false
		}
		return text + " ORDER BY " + g.ordering(cols, false) + g.limit(), false, true
	case 5: // one row of aggregates
		return "SELECT " + g.aggregates(g.ref(s)) + " FROM " + tail, false, true
	case 6: // the shape that min and max are optimised in
		return "SELECT " + g.one("min", "max") + "(" + g.ref(s) + ") FROM " + tail, false, true
	case 7: // compound
		n := g.between(1, 2)
		text = "SELECT " + g.compared(s, n) + " FROM " + tail
		for range g.between(1, 2) {
			from, s := g.from()
			text += g.one(" UNION ", " UNION ALL ", " EXCEPT ", " INTERSECT ") + "SELECT " + g.compared(s, n) + " FROM " + from + g.where(s)
		}
		if g.in(2) {
			return text, false, false
		}
		return text + " ORDER BY " + g.ordering([]string{"1", "2"}[:n], false) + g.limit(), false, true
	}
	cols := g.columnList(s, 1, 3)
	keys := cols
	for _, x := range s {
		keys = append(keys[:len(keys):len(keys)], x.alias+".k")
	}
	text = "SELECT " + strings.Join(keys, ", ") + " FROM " + tail
	if g.in(3) {
		return text, true, false
	}
	// Some columns in front, then the keys, which make the order total.
	order := g.ordering(keys[len(cols):], false)
	if !g.in(4) {
		order = g.ordering(cols, true) + ", " + order
	}
	return text + " ORDER BY " + order + g.limit(), true, true
}

func (g *selectGen) columnList(s scope, lo, hi int) (out []string) {
	for range g.between(lo, hi) {
		out = append(out, g.ref(s))
	}
	return out
}

// compared lists columns for a compound, which compares all rows by the collation
// of its first SELECT. A rowid has none, and SQLite would take the next one's.
func (g *selectGen) compared(s scope, n int) string {
	var out []string
	for range n {
		out = append(out, s[g.between(0, len(s)-1)].alias+"."+g.one("a", "b", "c", "d"))
	}
	return strings.Join(out, ", ")
}

func (g *selectGen) aggregates(r string) string {
	var out []string
	for range g.between(1, 3) {
		out = append(out, g.one("count(*)", "count("+r+")", "min("+r+")", "max("+r+")", "count(DISTINCT "+r+")", "sum(typeof("+r+") = 'integer')", "count(*) FILTER (WHERE "+r+" > 1)"))
	}
	return strings.Join(out, ", ")
}
