package sqltests

import (
	"fmt"
	"regexp"
	"strings"
)

// metaForeign are the tables that refer to each other, each to those before it, p
// also back to c: with all actions, deferred or not. Their statements are a kind of
// their own, as SQLite is known to be wrong about some others:
//
//   - it does not see what a REPLACE lets refer to nothing where SET NULL is an
//     action; a list has one of the two;
//   - expressions that read columns which actions change are left out, as a store
//     sees the state before the statement.
var metaForeign = []string{"p0", "p1", "c0", "c1"}

func isForeign(name string) bool { return name[0] == 'p' || name[0] == 'c' }

// metaIntoForeign finds statements that write such tables.
var metaIntoForeign = regexp.MustCompile(`^(?:REPLACE|INSERT|UPDATE|DELETE)\b(?: OR \w+)?(?: INTO| FROM)? [pc]\d\b`)

// small is a value that is often a key.
func (g *metaGen) small() string {
	if g.in(12) {
		return g.one("NULL", "'1'", "'a'", "1.0", "x'61'", "99")
	}
	return fmt.Sprint(g.between(0, 6))
}

func (g *metaGen) reference() string {
	if g.in(3) {
		return "NULL"
	}
	return g.small()
}

// replaces returns a text that has REPLACE, where there may be one.
func (g *metaGen) replaces(text string) string {
	if g.nulls {
		return ""
	}
	return text
}

func (g *metaGen) actions() (text string) {
	for _, event := range []string{"DELETE", "UPDATE"} {
		action := g.one("", "NO ACTION", "RESTRICT", "CASCADE", "CASCADE", "CASCADE", "SET NULL", "SET NULL", "SET DEFAULT")
		if action == "SET NULL" && !g.nulls {
			action = "CASCADE"
		}
		if action != "" {
			text += " ON " + event + " " + action
		}
	}
	return text + g.one("", "", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE")
}

// createForeign makes a table of metaForeign. All have the keys k and (a, b), so
// that no reference lacks one whatever the other tables are made anew as.
func (g *metaGen) createForeign(name, unless string) {
	conflict := func() string { return g.one("", "", "", " ON CONFLICT IGNORE", g.replaces(" ON CONFLICT REPLACE")) }
	kind := func() string {
		return g.one("INT", "INT", "INT", "", "NUMERIC", "TEXT") + g.one("", "", "", " COLLATE NOCASE")
	}
	list := []string{g.one("k INTEGER PRIMARY KEY", "k INTEGER PRIMARY KEY", "k INT NOT NULL UNIQUE", "k INT NOT NULL PRIMARY KEY") + conflict()}
	for _, c := range []string{"a", "b", "c", "d"} {
		list = append(list, c+" "+kind()+g.one("", "", "", " DEFAULT 1", " DEFAULT 2"))
	}
	list = append(list, "UNIQUE(a, b)"+conflict())
	refer := func(columns, to string) {
		list = append(list, "FOREIGN KEY("+columns+") REFERENCES "+to+g.actions())
	}
	switch name[0] {
	case 'p':
		if g.in(3) {
			refer("d", g.one("c0", "c1", "p0")+"(k)")
		}
	case 'c':
		refer("c", g.one("p0", "p0", "p1")+"(k)")
		if g.in(2) {
			refer("d", g.one("c0", "c1")+"(k)")
		}
		if g.in(3) {
			refer("a, b", g.one("p0", "p1")+"(a, b)")
		}
	}
	g.exec(fmt.Sprintf("CREATE TABLE %s%s(%s)", unless, name, strings.Join(list, ", ")))
}

func (g *metaGen) foreignRow(k string) string {
	return fmt.Sprintf("(%s, %s, %s, %s, %s)", k, g.small(), g.small(), g.reference(), g.reference())
}

// fillForeign adds rows one by one: most of them may be there.
func (g *metaGen) fillForeign(name string) {
	for k := range g.between(5, 9) {
		g.exec(fmt.Sprintf("INSERT INTO %s(k, a, b, c, d) VALUES(%d, %s, %d, %s, %s)", name, k, g.small(), k, g.reference(), g.reference()))
	}
}

// foreign writes a table of metaForeign.
func (g *metaGen) foreign(name string) {
	or := g.one("", "", "", "", " OR IGNORE", g.replaces(" OR REPLACE"), g.replaces(" OR REPLACE"), " OR FAIL", " OR ABORT", " OR ROLLBACK")
	where := fmt.Sprintf(" WHERE +%s %s %s", g.one("k", "k", "a", "b", "c", "d"), g.one("=", "=", "=", "IS", ">", "<>"), g.small())
	switch n := g.between(1, 20); {
	case n <= 6:
		rows := []string{g.foreignRow(g.small())}
		for range g.between(0, 4) - 2 {
			rows = append(rows, g.foreignRow(g.small()))
		}
		g.exec("INSERT" + or + " INTO " + name + "(k, a, b, c, d) VALUES" + strings.Join(rows, ", "))
	case n <= 7:
		// Read before an action deletes there.
		g.exec(fmt.Sprintf("INSERT%s INTO %s(k, a, b, c, d) SELECT %s, b, a, %s, d FROM %s ORDER BY +k LIMIT 4", or, name, g.one("k", "k + 3", "6 - k"), g.one("c", "k", "NULL"), g.one(metaForeign...)))
	case n <= 12:
		column := g.one("k", "a", "b", "c", "c", "d", "d")
		set := column + " = " + g.reference()
		if column == "c" || column == "d" || g.in(3) {
			set += g.one("", ", a = 3", ", b = "+g.small())
		}
		g.exec("UPDATE" + or + " " + name + " SET " + set + where)
	case n <= 13:
		g.exec("UPDATE" + g.one("", " OR ABORT", " OR ROLLBACK") + " " + name + " NOT INDEXED SET k = " + g.one("k + 1", "k + 10", "k - 1", "-k"))
	case n <= 14:
		g.exec("DELETE FROM " + name + g.one("", where))
	case n <= 18:
		g.exec("DELETE FROM " + name + where)
	case n <= 19 && g.within[g.now]:
		g.exec("PRAGMA defer_foreign_keys = ON") // OFF forgets what was violated, and rows may refer to nothing
	default:
		g.add(metaOp{verb: metaRows, text: "PRAGMA foreign_key_check", anyOrder: true})
	}
}
