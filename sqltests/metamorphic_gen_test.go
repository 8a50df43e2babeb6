package sqltests

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// metaTables are the tables that refer to nothing. The first letter says what one
// is: a table with rowids, one with AUTOINCREMENT, WITHOUT ROWID. All tables and
// views have the columns k, a, b, c and d, and k tells the rows of each apart.
var metaTables = []string{"t0", "t1", "a0", "w0", "w1"}

// metaNames are all tables and views there may be.
var metaNames = slices.Concat(metaTables, metaForeign, []string{"v0", "v1"})

var metaInto = regexp.MustCompile(`(?i)^(?:WITH .*\) )?(?:INSERT|REPLACE)\b.*?\bINTO (\w+)`)

// metaGen draws lists of operations whose outcome SQLite promises. What depends
// on the order in which a plan meets the rows is left out: statements that insert
// have an ORDER BY, and updates of columns with constraints meet all rows in key
// order, as they use no index.
type metaGen struct {
	selectGen
	rnd    *rand.Rand
	names  []string        // those of metaNames that the list uses
	there  map[string]bool // which of them exist, as far as it can be told
	strict map[string]bool // which of them may be STRICT
	within []bool          // which sessions have a transaction, as far as it can be told
	saves  [][]string      // their savepoints
	ops    []metaOp
	now    int  // the session
	nulls  bool // actions may be SET NULL, and then there is no REPLACE
	faults bool
}

// drawMetaList draws a list of n operations after those that fill some tables.
func drawMetaList(seed uint64, n int) metaList {
	return rapid.Custom(func(t *rapid.T) metaList {
		g := &metaGen{selectGen: selectGen{t: t}, rnd: rand.New(rand.NewPCG(seed, 1)), there: map[string]bool{}, strict: map[string]bool{}}
		g.names, g.nulls = metaNames, g.in(2)
		switch g.between(1, 3) {
		case 1:
			g.names = slices.Concat(metaTables, []string{"v0", "v1"})
		case 2:
			g.names = slices.Concat(metaTables[:1], metaForeign, []string{"v0"})
		}
		for _, name := range metaTables {
			g.strict[name] = g.in(4)
		}
		sessions := []int{1, 1, 2, 2, 3}[g.between(0, 4)]
		g.faults = !g.in(3)
		g.within, g.saves = make([]bool, sessions), make([][]string, sessions)
		for _, name := range g.names {
			if name[0] != 'v' && !g.in(3) {
				g.create(name)
				g.fill(name)
			}
		}
		for start := len(g.ops); len(g.ops) < start+n; {
			if g.in(4) {
				g.now = g.between(0, sessions-1)
			}
			g.operation()
		}
		return metaList{sessions, g.ops}
	}).Example(int(seed))
}

// Choices of the operations are even, unlike those of selectGen.
func (g *metaGen) between(lo, hi int) int  { return lo + g.rnd.IntN(hi-lo+1) }
func (g *metaGen) in(n int) bool           { return g.rnd.IntN(n) == 0 }
func (g *metaGen) one(of ...string) string { return of[g.rnd.IntN(len(of))] }

func (g *metaGen) add(o metaOp) {
	o.session = g.now
	g.ops = append(g.ops, o)
}

// exec adds a statement with the arguments its parameters name.
func (g *metaGen) exec(text string) {
	o := metaOp{verb: metaExec, text: text}
	for _, a := range g.used(text) {
		o.args = append(o.args, metaLiteral(a))
	}
	g.add(o)
}

// metaLiteral is the literal of a parameter's value.
func metaLiteral(v any) string {
	switch x := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + x + "'"
	case []byte:
		return fmt.Sprintf("x'%x'", x)
	case float64:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprint(v)
}

func (g *metaGen) operation() {
	g.aliases, g.args, g.bind, g.on = 0, nil, g.in(3), false
	g.tables = nil
	for _, name := range g.names {
		if g.there[name] {
			g.tables = append(g.tables, &genTable{name, name[0] != 'w' && name[0] != 'v'})
		}
	}
	if len(g.tables) == 0 || g.in(40) {
		g.define()
		return
	}
	switch n := g.between(1, 100); {
	case n <= 18:
		g.insert()
	case n <= 32:
		g.update()
	case n <= 37:
		g.remove()
	case n <= 57:
		g.transaction()
	case n <= 75:
		g.read()
	case n <= 81:
		g.repeat()
	case n <= 88:
		g.define()
	case n <= 90 || n <= 95 && !g.faults:
		g.add(metaOp{verb: metaDump})
	case n <= 95:
		g.fault()
	default:
		o := metaOp{verb: metaVerb(g.one(string(metaCheck), string(metaReopen), string(metaCrash), string(metaCheckpoint), string(metaCompact)))}
		if o.verb == metaCrash {
			o.text = fmt.Sprint(g.between(0, metaCrashes-1))
		}
		if g.add(o); o.verb == metaReopen || o.verb == metaCrash {
			clear(g.within)
			clear(g.saves)
		}
	}
}

// table is one to write to.
func (g *metaGen) target() *genTable {
	for range 4 {
		if t := g.anyTable(); t.name[0] != 'v' {
			return t
		}
	}
	return g.anyTable() // a view refuses by name
}

// or is a conflict clause. A value of a wrong type fails STRICT tables whatever the
// clause says, but SQLite then keeps the rows before it in a transaction, as it
// prepares for an undo only where a constraint may want one.
func (g *metaGen) or(t *genTable, rows int) string {
	if g.strict[t.name] && rows > 1 {
		return g.one("", "OR ABORT ")
	}
	or := g.one("", "", "", "OR IGNORE ", "OR REPLACE ", "OR FAIL ", "OR ABORT ", "OR ROLLBACK ")
	if or == "OR FAIL " && t.name[0] == 'a' {
		return "" // SQLite forgets the numbers it used
	}
	return or
}

// key is a value for k, which few rows have.
func (g *metaGen) key(t *genTable) string {
	if g.in(8) {
		return g.value()
	}
	if t.name[0] != 'w' && g.in(3) {
		return "NULL"
	}
	return fmt.Sprint(g.between(0, 30))
}

func (g *metaGen) row(t *genTable) string {
	return fmt.Sprintf("(%s, %s, %s, %s, %s)", g.key(t), g.value(), g.value(), g.value(), g.value())
}

// fill adds rows that differ.
func (g *metaGen) fill(name string) {
	g.bind = false
	if isForeign(name) {
		g.fillForeign(name)
		return
	}
	var rows []string
	into := "INSERT OR IGNORE INTO " + name + "(k, a, b, c, d) VALUES"
	for k := range g.between(5, 20) {
		row := fmt.Sprintf("(%d, %s, %s, %s, %s)", k, g.value(), g.value(), g.value(), g.value())
		if rows = append(rows, row); g.strict[name] {
			g.exec(into + row)
		}
	}
	if !g.strict[name] {
		g.exec(into + strings.Join(rows, ", "))
	}
}

func (g *metaGen) insert() {
	t := g.target()
	if isForeign(t.name) {
		g.foreign(t.name)
		return
	}
	into := g.one("INSERT "+g.or(t, 1), "INSERT "+g.or(t, 1), "REPLACE ") + "INTO " + t.name
	n := g.between(1, 8)
	if n >= 3 && n <= 6 {
		into = "INSERT " + g.or(t, n) + "INTO " + t.name
	}
	switch n {
	case 1:
		g.exec(into + " DEFAULT VALUES")
	case 2:
		g.exec(fmt.Sprintf("%s(a, c) VALUES(%s, %s)", into, g.value(), g.value()))
	case 3, 4:
		from, a := g.anyTable(), g.alias()
		k := g.one("k", "k + 15", "NULL", "-k")
		g.exec(fmt.Sprintf("%s(k, a, b, c, d) SELECT %s, %s FROM %s AS %s WHERE %s ORDER BY k%s",
			into, k, g.one("a, b, c, d", "d, c, b, a", "c, k, a, b"), from.name, a, g.term(scope{{a, from}}, 1), g.limit()))
	case 5:
		lo := g.between(0, 30)
		g.exec(fmt.Sprintf("WITH RECURSIVE g(n) AS (SELECT %d UNION ALL SELECT n + 1 FROM g WHERE n < %d) %s(k, a, b, c, d) SELECT n, n %% 3, n %% 5, %s, n FROM g",
			lo, lo+g.between(3, 12), into, g.one("n + 100", "'x' || n", "NULL")))
	case 6:
		g.exec(fmt.Sprintf("%s(k, a, b, c, d) VALUES%s, %s, %s", into, g.row(t), g.row(t), g.row(t)))
	default:
		g.exec(fmt.Sprintf("%s(k, a, b, c, d) VALUES%s", into, g.row(t)))
	}
}

// update changes rows. Only d, which no constraint is about, may be set on rows
// that a plan finds in an order of its own.
func (g *metaGen) update() {
	t := g.target()
	if isForeign(t.name) {
		g.foreign(t.name)
		return
	}
	here := scope{{t.name, t}}
	up := "UPDATE " + g.or(t, 1) + t.name + " SET "
	inOrder := " NOT INDEXED"
	if t.name[0] == 'v' {
		inOrder = ""
	}
	column := g.one("a", "b", "c")
	n := g.between(1, 8)
	if g.strict[t.name] && n > 6 {
		n = 1
	}
	switch n {
	case 1:
		g.exec(fmt.Sprintf("UPDATE %s SET d = %s WHERE %s", t.name, g.value(), g.term(here, 2)))
	case 2:
		from := g.anyTable()
		g.exec(fmt.Sprintf("UPDATE %s SET d = s.%s FROM %s AS s WHERE s.k = %s.k AND %s", t.name, g.one("a", "b"), from.name, t.name, g.term(scope{{"s", from}}, 0)))
	case 3:
		or := g.or(t, 2)
		if t.name[0] == 'w' && or == "OR REPLACE " {
			or = "" // SQLite then also updates the row that took the key of one it met later
		}
		g.exec(fmt.Sprintf("UPDATE %s%s%s SET k = %s", or, t.name, inOrder, g.one("k + 1", "-k", "k + 40", "k - 1", "30 - k")))
	case 4:
		g.exec(fmt.Sprintf("%sk = %s WHERE k = %d", up, g.key(t), g.between(0, 20)))
	case 5:
		if t.rowid {
			g.exec(fmt.Sprintf("%srowid = %d, %s = %s WHERE k = %d", up, g.between(0, 60), column, g.value(), g.between(0, 20)))
			return
		}
		fallthrough
	case 6:
		g.exec(fmt.Sprintf("%s%s = %s, d = %s WHERE k = %d", up, column, g.value(), column, g.between(0, 30)))
	default:
		g.exec(fmt.Sprintf("UPDATE %s%s%s SET %s = %s WHERE +%s %s %s", g.or(t, 1), t.name, inOrder, column, g.one(g.value(), "a", "b", "k", "c"), g.column(), g.one("=", ">", "<", "IS NOT"), g.value()))
	}
}

func (g *metaGen) remove() {
	t := g.target()
	if isForeign(t.name) {
		g.foreign(t.name)
		return
	}
	switch g.between(1, 8) {
	case 1:
		g.exec("DELETE FROM " + t.name)
	case 2, 3, 4:
		g.exec(fmt.Sprintf("DELETE FROM %s WHERE k = %d", t.name, g.between(0, 20)))
	default:
		g.exec(fmt.Sprintf("DELETE FROM %s WHERE %s AND +%s > %s", t.name, g.term(scope{{t.name, t}}, 2), g.column(), g.value()))
	}
}

// repeat runs a statement again, which may be kept, with other arguments.
func (g *metaGen) repeat() {
	o := g.ops[g.between(0, len(g.ops)-1)]
	if o.verb != metaExec && o.verb != metaRows {
		o = metaOp{verb: metaDump}
	}
	g.bind = false
	o.args = slices.Clone(o.args)
	for i := range o.args {
		if g.in(2) {
			o.args[i] = g.value()
		}
	}
	g.add(o)
	g.note(o.text)
}
