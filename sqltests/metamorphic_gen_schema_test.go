package sqltests

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// note keeps track of what a statement makes likely.
func (g *metaGen) note(text string) {
	words := strings.Fields(text)
	if len(words) < 1 {
		return
	}
	saves := &g.saves[g.now]
	switch words[0] {
	case "BEGIN":
		g.within[g.now] = true
	case "SAVEPOINT":
		g.within[g.now] = true
		*saves = append(*saves, words[1])
	case "RELEASE":
		if i := slices.Index(*saves, words[1]); i >= 0 {
			*saves = (*saves)[:i]
		}
	case "COMMIT", "END", "ROLLBACK":
		if len(words) == 1 {
			g.within[g.now], *saves = false, nil
		}
	}
}

// transaction begins, ends or marks one.
func (g *metaGen) transaction() {
	save := g.one("s", "p", "S")
	known := save
	if open := g.saves[g.now]; len(open) > 0 {
		known = g.one(open...)
	}
	var text string
	switch {
	case g.in(12):
		text = g.one("BEGIN", "COMMIT", "ROLLBACK", "ROLLBACK TO "+save, "RELEASE "+save)
	case !g.within[g.now]:
		text = g.one("BEGIN", "BEGIN", "BEGIN IMMEDIATE", "BEGIN DEFERRED", "BEGIN EXCLUSIVE", "SAVEPOINT "+save)
	case len(g.saves[g.now]) == 0 || g.in(3):
		text = g.one("COMMIT", "COMMIT", "ROLLBACK", "END", "SAVEPOINT "+save, "SAVEPOINT "+save, "SAVEPOINT "+save)
	default:
		text = g.one("RELEASE "+known, "ROLLBACK TO "+known, "ROLLBACK TO "+known, "ROLLBACK TO SAVEPOINT "+known, "SAVEPOINT "+save)
	}
	g.exec(text)
	g.note(text)
	if strings.HasPrefix(text, "ROLLBACK") && g.in(2) {
		g.add(metaOp{verb: metaDump})
	}
}

// read adds a SELECT.
func (g *metaGen) read() {
	text, exact, ordered := g.query()
	o := metaOp{verb: metaRows, text: text, anyOrder: !ordered, canonical: !exact}
	for _, a := range g.used(text) {
		o.args = append(o.args, metaLiteral(a))
	}
	if ordered && g.in(6) {
		o.verb = metaOpen
	}
	g.add(o)
}

// define makes or drops a table, an index or a view.
func (g *metaGen) define() {
	name := g.one(g.names...)
	g.bind, g.args = false, nil
	exists := g.there[name]
	switch g.between(1, 10) {
	case 1, 2, 3:
		if exists && g.in(3) {
			g.exec("DROP " + g.one(kindOfMeta(name), kindOfMeta(name), "TABLE IF EXISTS", "VIEW IF EXISTS") + " " + name)
			delete(g.there, name)
		}
		g.create(name)
		if name[0] != 'v' && g.in(2) {
			g.fill(name)
		}
	case 4:
		g.exec("DROP " + kindOfMeta(name) + g.one("", " IF EXISTS") + " " + name)
		delete(g.there, name)
	case 5:
		g.exec("DROP INDEX " + g.one("", "IF EXISTS ") + g.index())
	default:
		g.createIndex(name)
	}
}

func kindOfMeta(name string) string {
	if name[0] == 'v' {
		return "VIEW"
	}
	return "TABLE"
}

func (g *metaGen) index() string { return g.one("i0", "i1", "i2", "i3", "i4") }

func (g *metaGen) createIndex(table string) {
	unique, columns := "", genColumns
	if g.in(6) {
		unique, columns = "UNIQUE ", genColumns[:4]
	}
	var keys []string
	for _, c := range rapid.Permutation(columns).Draw(g.t, "")[:g.between(1, 3)] {
		keys = append(keys, c+g.one("", "", "", " COLLATE NOCASE", " COLLATE RTRIM")+g.one("", "", " DESC"))
	}
	g.exec(fmt.Sprintf("CREATE %sINDEX %s%s ON %s(%s)", unique, g.one("", "IF NOT EXISTS "), g.index(), table, strings.Join(keys, ", ")))
}

func (g *metaGen) create(name string) {
	g.there[name] = true
	unless := g.one("", "", "IF NOT EXISTS ")
	if name[0] == 'v' {
		from := g.one(g.names...)
		for from[0] == 'v' {
			from = g.one(g.names...)
		}
		g.on = true // SQLite itself is wrong about some LIKEs, and a view may be joined
		where := g.term(scope{{"x", &genTable{name: from}}}, 0)
		g.on = false
		g.exec(fmt.Sprintf("CREATE VIEW %s%s AS SELECT k, a, b, c, d FROM %s AS x WHERE %s", unless, name, from, where))
		return
	}
	if isForeign(name) {
		g.createForeign(name, unless)
		return
	}
	strict := g.strict[name]
	kinds := []string{"INT", "INT", "TEXT", "TEXT", "REAL", "NUMERIC", "BLOB", ""}
	if strict {
		kinds = []string{"INT", "TEXT", "REAL", "ANY", "ANY", "ANY"}
	}
	conflict := func() string {
		c := g.one("", "", "", "", " ON CONFLICT IGNORE", " ON CONFLICT REPLACE", " ON CONFLICT FAIL", " ON CONFLICT ROLLBACK")
		if strict || name[0] == 'a' && strings.HasSuffix(c, "FAIL") {
			return ""
		}
		return c
	}
	collate := func() string { return g.one("", "", "", " COLLATE NOCASE", " COLLATE RTRIM") }
	key, tail, options := g.one("k INTEGER PRIMARY KEY", "k INTEGER PRIMARY KEY", "k INT NOT NULL UNIQUE", "k INT NOT NULL PRIMARY KEY")+conflict(), "", ""
	switch name[0] {
	case 'a':
		key = "k INTEGER PRIMARY KEY AUTOINCREMENT"
	case 'w':
		options = " WITHOUT ROWID"
		key = "k INT PRIMARY KEY"
		if g.in(2) {
			key, tail = "k INT NOT NULL UNIQUE", ", PRIMARY KEY("+g.one("a", "b", "c DESC")+", k"+g.one("", " DESC")+")"+conflict()
		}
	}
	if strict {
		if options != "" {
			options += ","
		}
		options += " STRICT"
	}
	free := "ANY"
	if !strict {
		free = g.one(kinds...)
	}
	columns := []string{
		key,
		"a " + g.one(kinds...) + g.one("", "", "", " NOT NULL"+conflict()+" DEFAULT 0") + collate(),
		"b " + g.one(kinds...) + g.one("", "", "", " UNIQUE"+conflict()) + collate(),
		"c " + g.one(kinds...) + g.one("", "", " CHECK(c IS NULL OR c <> 3)", " DEFAULT 2") + collate(),
		"d " + free + g.one("", " DEFAULT 'd'") + collate(),
	}
	if g.in(6) {
		tail += ", UNIQUE(a, c)" + conflict()
	}
	g.exec(fmt.Sprintf("CREATE TABLE %s%s(%s%s)%s", unless, name, strings.Join(columns, ", "), tail, options))
}
