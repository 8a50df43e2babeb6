package driver

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

var (
	alterSeed  = flag.Uint64("alter-seed", 1, "first seed of TestAlterRandom")
	alterSeeds = flag.Int("alter-seeds", 4, "programs of TestAlterRandom")
)

// TestAlterRandom runs random programs of ALTER TABLE, other schema changes and rows on
// plain SQLite and on a store that is opened anew now and then: every statement has the
// same outcome, and behind each change so have all tables.
func TestAlterRandom(t *testing.T) {
	for i := range *alterSeeds {
		seed := *alterSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := &subject{t: t, dir: filepath.Join(t.TempDir(), "store"), fresh: true}
			if seed%2 == 0 {
				s.dir += "?resident=keys"
			}
			s.open()
			t.Cleanup(func() { s.close() })
			g := &alterProgram{t: t, rng: rand.New(rand.NewPCG(seed, 11)), o: newOracle(t), s: s}
			for range 90 {
				g.step()
				if t.Failed() {
					t.Fatalf("program of -alter-seed %d:\n%s", seed, strings.Join(g.done, ";\n"))
				}
			}
		})
	}
}

// alterProgram makes statements of what the oracle has.
type alterProgram struct {
	t    *testing.T
	rng  *rand.Rand
	o    *oracle
	s    *subject
	done []string
	open int // depth of transaction and savepoints
}

func (g *alterProgram) pick(list ...string) string { return list[g.rng.IntN(len(list))] }

// names returns the first column of a query on the oracle.
func (g *alterProgram) names(query string) (list []string) {
	for _, r := range g.o.run(query).rows {
		list = append(list, fmt.Sprint(r[0]))
	}
	return list
}

func (g *alterProgram) some(list []string, other string) string {
	if len(list) == 0 || g.rng.IntN(12) == 0 {
		return other
	}
	return g.pick(list...)
}

func (g *alterProgram) tables() []string {
	return g.names("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
}

func (g *alterProgram) columns(table string) []string {
	return g.names("SELECT name FROM pragma_table_xinfo(" + sqltext.QuoteText(table) + ")")
}

func (g *alterProgram) newName() string {
	return g.pick("a", "b", "c", "d", "e", "F", "with space", "order", "t1", "t2", "T3")
}

func (g *alterProgram) value() string {
	return g.pick("NULL", "0", "1", "2", "-3", "2.5", "'x'", "'X'", "'12'", "x'00'", "'long text'")
}

func (g *alterProgram) columnDef(table, name string) string {
	def := sqltext.Quote(name) + g.pick("", " INT", " TEXT", " REAL", " NUMERIC", " BLOB", " TEXT COLLATE NOCASE")
	if columns := g.columns(table); len(columns) > 0 && g.rng.IntN(6) == 0 {
		return def + " AS (" + sqltext.Quote(g.pick(columns...)) + g.pick(")", " || 'g')", " + 1)", ") STORED", " IS NULL) NOT NULL")
	}
	if g.rng.IntN(2) == 0 {
		def += " DEFAULT " + g.value()
	}
	switch g.rng.IntN(9) {
	case 0:
		def += " NOT NULL"
	case 1:
		def += " CHECK (" + sqltext.Quote(name) + g.pick(" IS NOT 7", " <> 2", " IS NOT 'x'") + ")"
	case 2:
		def += " UNIQUE"
	case 3:
		for _, parent := range g.tables() {
			if keys := g.names("SELECT name FROM pragma_table_info(" + sqltext.QuoteText(parent) + ") WHERE pk = 1 AND type = 'INTEGER'"); len(keys) == 1 {
				def += " REFERENCES " + sqltext.Quote(parent) + g.pick("", "("+sqltext.Quote(keys[0])+")") + g.pick("", " ON DELETE CASCADE", " ON UPDATE SET NULL")
				break
			}
		}
	}
	return def
}

// step runs one statement on both.
func (g *alterProgram) step() {
	q := sqltext.Quote
	table := g.some(g.tables(), "nope")
	columns := g.columns(table)
	column := g.some(columns, "nope")
	switch n := g.rng.IntN(36); {
	case n < 2 || len(columns) == 0:
		var defs []string
		for i, name := range []string{"a", "b", "c", "d"}[:1+g.rng.IntN(4)] {
			def := g.columnDef("", name)
			if i == 0 && g.rng.IntN(2) == 0 {
				def = q(name) + g.pick(" INTEGER PRIMARY KEY", " INTEGER PRIMARY KEY AUTOINCREMENT", " TEXT PRIMARY KEY")
			}
			defs = append(defs, def)
		}
		g.both("CREATE TABLE " + q(g.newName()) + "(" + strings.Join(defs, ", ") + ")")
	case n < 9:
		var vals []string
		for range g.names("SELECT name FROM pragma_table_info(" + sqltext.QuoteText(table) + ")") {
			vals = append(vals, g.value())
		}
		g.both("INSERT" + g.pick("", " OR IGNORE", " OR REPLACE") + " INTO " + q(table) + " VALUES(" + strings.Join(vals, ", ") + ")")
	case n < 11:
		g.both("INSERT INTO " + q(table) + "(" + q(column) + ") VALUES(" + g.value() + "),(" + g.value() + ")")
	case n < 13:
		g.both("UPDATE " + q(table) + " SET " + q(column) + " = " + g.value() + " WHERE rowid % 3 = 1")
	case n < 14:
		g.both("DELETE FROM " + q(table) + " WHERE rowid % 4 = 0")
	case n < 16:
		g.both("SELECT * FROM " + q(table) + " WHERE " + q(column) + g.pick(" = ", " > ", " <= ", " IS ") + g.value() + " ORDER BY rowid")
	case n < 17:
		g.both("SELECT " + q(column) + ", count(*) FROM " + q(table) + " GROUP BY 1 ORDER BY 1")
	case n < 19:
		g.both("CREATE" + g.pick("", " UNIQUE") + " INDEX " + q("i"+g.newName()) + " ON " + q(table) + "(" + q(g.pick(columns...)) + g.pick("", " DESC", " COLLATE NOCASE", " || 'i'", " IS NULL") + ", " + q(g.pick(columns...)) + ")" + g.pick("", "", " WHERE "+q(g.pick(columns...))+" > 1"))
	case n < 20:
		g.both("DROP INDEX " + q(g.some(g.names("SELECT name FROM sqlite_schema WHERE type='index' AND sql IS NOT NULL ORDER BY name"), "nope")))
	case n < 21:
		if g.rng.IntN(2) == 0 {
			g.both("DROP VIEW " + q(g.some(g.names("SELECT name FROM sqlite_schema WHERE type='view' ORDER BY name"), "nope")))
			return
		}
		g.both("CREATE VIEW " + q("v"+g.newName()) + " AS SELECT " + q(column) + " AS x, * FROM " + q(table))
	case n < 22:
		if g.rng.IntN(3) > 0 {
			g.both("DROP TRIGGER " + q(g.some(g.names("SELECT name FROM sqlite_schema WHERE type='trigger' ORDER BY name"), "nope")))
			return
		}
		other := g.pick(g.tables()...)
		g.both("CREATE TRIGGER " + q("tr"+g.newName()) + " AFTER INSERT ON " + q(table) + " BEGIN UPDATE " + q(other) + " SET " + q(g.pick(g.columns(other)...)) + " = NEW." + q(column) + " WHERE rowid = 1; END")
	case n < 24:
		g.transaction()
	case n < 25:
		if g.open == 0 {
			if g.rng.IntN(2) == 0 {
				g.s.run("INSERT INTO tidemark_jobs(kind) VALUES('compact')")
			}
			g.done = append(g.done, "-- opened anew")
			g.s.close()
			g.s.open()
		}
	case n < 29:
		g.alter(table, "ADD COLUMN "+g.columnDef(table, g.newName()))
	case n < 31:
		g.alter(table, "DROP COLUMN "+q(column))
	case n < 32:
		g.alter(table, "RENAME TO "+q(g.newName()))
	case n < 34:
		g.alter(table, "RENAME COLUMN "+q(column)+" TO "+q(g.newName()))
	case n < 35:
		g.alter(table, "ALTER "+q(column)+g.pick(" SET NOT NULL", " DROP NOT NULL"))
	default:
		g.alter(table, g.pick("ADD CONSTRAINT k CHECK ("+q(column)+" IS NOT 12345)", "ADD CHECK ("+q(column)+" <> 2)", "DROP CONSTRAINT k"))
	}
}

func (g *alterProgram) transaction() {
	switch {
	case g.open == 0:
		g.open = 1
		g.both("BEGIN")
	case g.open == 1 && g.rng.IntN(2) == 0:
		g.open = 0
		g.both(g.pick("COMMIT", "ROLLBACK"))
		g.all()
	case g.open == 1:
		g.open = 2
		g.both("SAVEPOINT s")
	default:
		g.open = 1
		if g.rng.IntN(2) == 0 {
			g.both("ROLLBACK TO s")
		}
		g.both("RELEASE s")
		g.all()
	}
}

// both runs a statement on both and compares.
func (g *alterProgram) both(text string) {
	g.done = append(g.done, text)
	compareOne(g.t, g.o, g.s, text)
}

// alter runs an ALTER TABLE on both, and compares all there is.
func (g *alterProgram) alter(table, what string) {
	text := "ALTER TABLE " + sqltext.Quote(table) + " " + what
	g.done = append(g.done, text)
	want, got := g.o.run(text), g.s.run(text)
	if got.code != want.code || got.message != want.message {
		g.t.Errorf("%s\n got %s\nwant %s", text, got, want)
	}
	g.all()
}

// all compares schema and rows.
func (g *alterProgram) all() {
	compareOne(g.t, g.o, g.s, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
	for _, table := range g.tables() {
		name := sqltext.Quote(table)
		compareOne(g.t, g.o, g.s, "SELECT * FROM "+name+" ORDER BY rowid")
		compareOne(g.t, g.o, g.s, "PRAGMA table_info("+name+")")
		compareOne(g.t, g.o, g.s, "PRAGMA index_list("+name+")")
		for _, column := range g.columns(table) {
			compareOne(g.t, g.o, g.s, "SELECT "+sqltext.Quote(column)+" FROM "+name+" ORDER BY 1, rowid")
		}
	}
	if got := g.s.run("PRAGMA integrity_check"); len(got.rows) != 1 || got.rows[0][0] != "ok" {
		g.t.Error(got)
	}
}
