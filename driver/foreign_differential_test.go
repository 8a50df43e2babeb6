package driver

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

var (
	foreignSeed  = flag.Uint64("foreign.seed", 0, "seed of the first program of TestForeignKeysLikeSQLite; 0 chooses one")
	foreignCount = flag.Int("foreign.programs", 0, "programs of TestForeignKeysLikeSQLite; 0 is the usual number")
	foreignTrace = flag.Bool("foreign.trace", false, "print the statements of a program that differs")
)

// TestForeignKeysLikeSQLite runs random programs on schemas full of foreign keys:
// all actions, deferred ones, several columns, cycles, tables without rowid,
// missing tables and keys, and tables of all storage modes. Rows, counts, codes and messages
// must be those of plain SQLite after every statement.
func TestForeignKeysLikeSQLite(t *testing.T) {
	programs := 40
	if testing.Short() {
		programs = 8
	}
	if *foreignCount > 0 {
		programs = *foreignCount
	}
	seed := *foreignSeed
	if seed == 0 {
		seed = uint64(rand.Uint32())
	}
	statements, failed := 0, map[Code]int{}
	for i := range programs {
		p := &foreignProgram{rnd: rand.New(rand.NewPCG(seed+uint64(i), 0)), failed: failed}
		if problem := p.run(t); problem != "" {
			if *foreignTrace {
				t.Log(strings.Join(p.trace, ";\n"))
			}
			t.Fatalf("seed %d (-foreign.seed=%d -foreign.programs=1 -foreign.trace): %s", seed, seed+uint64(i), problem)
		}
		statements += len(p.trace)
	}
	t.Logf("seed %d: %d programs, %d statements; errors by code: %v", seed, programs, statements, failed)
	if failed[ErrConstraintForeignKey] == 0 {
		t.Error("no foreign key was violated")
	}
}

// foreignProgram is one schema and a run of statements on it.
type foreignProgram struct {
	rnd    *rand.Rand
	o      *oracle
	s      *subject
	tables []*foreignTable
	index  int
	within bool
	nulls  bool // SET NULL, and then no REPLACE
	fatal  string
	trace  []string
	failed map[Code]int
}

type foreignTable struct {
	name     string
	columns  []string // definitions
	names    []string
	keys     [][]string // unique keys; the first is the primary key
	refs     []string   // table constraints
	parents  []int
	option   string
	volatile bool
	inLog    bool // resident=keys
	there    bool
}

func (p *foreignProgram) n(n int) int            { return p.rnd.IntN(n) }
func (p *foreignProgram) one(s ...string) string { return s[p.n(len(s))] }

func (p *foreignProgram) value() string {
	return p.one("NULL", "NULL", "0", "1", "1", "2", "2", "3", "4", "'1'", "'2'", "'a'", "'A'", "'a '", "1.0", "2.5", "x'61'")
}

// unless returns a text that has REPLACE, where there may be one.
func (p *foreignProgram) unless(replace string) string {
	if p.nulls {
		return ""
	}
	return replace
}

func (p *foreignProgram) draw() {
	// A statement that can REPLACE rows of a table makes SQLite forget to look at
	// the table's foreign keys whose SET NULL it may bring about.
	p.tables, p.nulls = nil, p.n(2) == 0
	for i := range 2 + p.n(3) {
		tb := &foreignTable{name: fmt.Sprintf("t%d", i), names: []string{"id", "a", "b", "c"}, inLog: p.n(3) == 0}
		key := p.one("INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY", "INT PRIMARY KEY", "TEXT PRIMARY KEY", "PRIMARY KEY")
		if p.n(6) == 0 {
			tb.option = " WITHOUT ROWID"
		}
		tb.columns = []string{"id " + key}
		tb.keys = [][]string{{"id"}}
		for _, c := range tb.names[1:] {
			def := c + " " + p.one("INT", "INT", "TEXT", "", "REAL", "NUMERIC", "BLOB") + p.one("", "", "", " COLLATE NOCASE", " COLLATE RTRIM") +
				p.one("", "", "", "", " NOT NULL", " DEFAULT 1", " DEFAULT 'a'", " CHECK("+c+" IS NOT 3)")
			if p.n(3) == 0 {
				def += " UNIQUE" + p.one("", "", "", p.unless(" ON CONFLICT REPLACE"), " ON CONFLICT IGNORE")
				tb.keys = append(tb.keys, []string{c})
			}
			tb.columns = append(tb.columns, def)
		}
		if p.n(2) == 0 {
			k := [][]string{{"a", "b"}, {"b", "c"}, {"c", "id"}}[p.n(3)]
			tb.keys = append(tb.keys, k)
			tb.refs = append(tb.refs, "UNIQUE("+strings.Join(k, ", ")+")")
		}
		p.tables = append(p.tables, tb)
	}
	for _, tb := range p.tables {
		for range p.n(4) {
			p.drawReference(tb)
		}
	}
	p.drawVolatile()
}

func (p *foreignProgram) drawReference(tb *foreignTable) {
	at := p.n(len(p.tables))
	parent := p.tables[at]
	key := parent.keys[p.n(len(parent.keys))]
	from := slices.Clone(tb.names)
	p.rnd.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	name, to := parent.name, "("+strings.Join(key, ", ")+")"
	switch {
	case len(key) == 2 && p.n(3) == 0:
		to = "(" + key[1] + ", " + key[0] + ")"
	case key[0] == "id" && len(key) == 1 && p.n(2) == 0:
		to = ""
	}
	switch p.n(60) {
	case 0:
		name = "nowhere"
	case 1:
		to = "(" + strings.Join([]string{"b", "a"}[:len(key)], ", ") + ")"
	}
	ref := "FOREIGN KEY(" + strings.Join(from[:len(key)], ", ") + ") REFERENCES " + name + to
	for _, event := range []string{"DELETE", "UPDATE"} {
		a := p.one("", "", "NO ACTION", "RESTRICT", "CASCADE", "CASCADE", "SET NULL", "SET NULL", "SET DEFAULT")
		if a == "SET NULL" && !p.nulls {
			a = "CASCADE"
		}
		if a != "" {
			ref += " ON " + event + " " + a
		}
	}
	tb.refs = append(tb.refs, ref+p.one("", "", "", " DEFERRABLE", " NOT DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE INITIALLY DEFERRED", " DEFERRABLE INITIALLY DEFERRED"))
	tb.parents = append(tb.parents, at)
}

// drawVolatile makes tables volatile with all that refer to them, which may not
// be durable then. What makes that impossible keeps all durable.
func (p *foreignProgram) drawVolatile() {
	if p.n(2) == 0 {
		return
	}
	p.tables[p.n(len(p.tables))].volatile = true
	for range p.tables {
		for _, tb := range p.tables {
			for _, at := range tb.parents {
				tb.volatile = tb.volatile || p.tables[at].volatile
			}
		}
	}
	for _, tb := range p.tables {
		if tb.volatile && tb.option != "" {
			for _, tb := range p.tables {
				tb.volatile = false
			}
			return
		}
	}
}

func (p *foreignProgram) run(t *testing.T) string {
	p.draw()
	p.o = newOracle(t)
	dir := t.TempDir()
	if d, err := os.MkdirTemp("/dev/shm", "tidemark"); err == nil {
		dir = d
		defer os.RemoveAll(d)
	}
	p.s = &subject{t: t, dir: filepath.Join(dir, "store") + "?sync=off"}
	p.s.open()
	defer p.s.close()
	for _, tb := range p.tables {
		p.create(tb)
	}
	for range 110 {
		if p.fatal != "" {
			return p.fatal
		}
		p.step()
	}
	if p.within {
		p.both("ROLLBACK")
	}
	return p.fatal
}

func (p *foreignProgram) create(tb *foreignTable) {
	list := strings.Join(slices.Concat(tb.columns, tb.refs), ", ")
	plain := "CREATE TABLE " + tb.name + "(" + list + ")" + tb.option
	here := plain
	switch virtual := "CREATE VIRTUAL TABLE " + tb.name + " USING tidemark(" + list; {
	case tb.volatile:
		here = virtual + ", durable=false)"
	case tb.inLog && tb.option == "":
		here = virtual + ", resident=keys)"
	}
	p.pair(plain, here)
}

func (p *foreignProgram) both(text string) { p.pair(text, text) }

// pair runs a statement on both and compares what can be seen.
func (p *foreignProgram) pair(plain, here string) {
	if p.fatal != "" {
		return
	}
	p.trace = append(p.trace, here)
	total := "SELECT total_changes()"
	before := [2]outcome{p.o.run(total), p.s.run(total)}
	want, got := p.native(plain), p.s.run(here)
	if want.code != 0 {
		p.failed[want.code]++
	}
	if want.code != 0 || got.code != 0 || want.affected == 0 || !p.numbers(plain) { // what a failure leaves is nobody's
		want.lastID, got.lastID = 0, 0
	}
	if strings.HasPrefix(plain, "PRAGMA foreign_key_check") {
		sortRows(want.rows)
		sortRows(got.rows)
	}
	if plain == "PRAGMA foreign_key_check" && want.code == ErrGeneric && got.code == ErrGeneric {
		return // which of several mismatches comes first, a hash of SQLite says
	}
	if want.String() != got.String() {
		p.fatal = fmt.Sprintf("%s\n got %s\nwant %s", here, got, want)
		return
	}
	p.within = !p.o.db.Autocommit()
	if here := p.s.transaction(); here != p.within {
		p.fatal = fmt.Sprintf("%s\n in a transaction: %t, natively %t", plain, here, p.within)
		return
	}
	if want.code == 0 {
		now := [2]outcome{p.o.run(total), p.s.run(total)}
		a, b := now[0].rows[0][0].(int64)-before[0].rows[0][0].(int64), now[1].rows[0][0].(int64)-before[1].rows[0][0].(int64)
		if a != b {
			p.fatal = fmt.Sprintf("%s\n total_changes() grew by %d, natively by %d", here, b, a)
			return
		}
	}
	for _, tb := range p.tables {
		cols := "quote(id), quote(a), quote(b), quote(c)"
		if tb.option == "" {
			cols += ", rowid"
		}
		dump := "SELECT " + cols + " FROM " + tb.name
		a, b := p.o.run(dump), p.s.run(dump)
		sortRows(a.rows)
		sortRows(b.rows)
		if tb.there = a.code == 0; a.code != b.code || !reflect.DeepEqual(a.rows, b.rows) {
			p.fatal = fmt.Sprintf("%s\n%s has %v\n natively %v", here, tb.name, b, a)
			return
		}
	}
}

// numbers reports whether a statement inserts into a table with rowids.
func (p *foreignProgram) numbers(text string) bool {
	return strings.HasPrefix(text, "INSERT") && slices.ContainsFunc(p.tables, func(tb *foreignTable) bool {
		return tb.option == "" && strings.Contains(text, " INTO "+tb.name)
	})
}

// native runs a statement on SQLite, in a savepoint, which cures what a failure
// leaves behind there: a single-row INSERT that violates a deferred key and
// another one stays counted, although no row stays; and rows stay deleted where a
// CASCADE did not mend what the comparison of its own affinities counted.
func (p *foreignProgram) native(text string) outcome {
	if !p.within || !sqltext.Parse(text).Kind.IsDML() {
		return p.o.run(text)
	}
	p.o.run("SAVEPOINT around")
	out := p.o.run(text)
	if out.code != 0 && !strings.Contains(text, "OR FAIL") || out.code == ErrConstraintForeignKey || out.code == restricted {
		p.o.run("ROLLBACK TO around")
	}
	p.o.run("RELEASE around")
	return out
}

// restricted is SQLite's code of RESTRICT, which is a trigger there.
const restricted Code = 1811

func sortRows(rows [][]any) {
	slices.SortFunc(rows, func(a, b []any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

func (p *foreignProgram) step() {
	tb := p.tables[p.n(len(p.tables))]
	if !tb.there && p.n(3) > 0 {
		p.create(tb)
		return
	}
	or := p.one("", "", "", "", " OR IGNORE", p.unless(" OR REPLACE"), p.unless(" OR REPLACE"), " OR FAIL", " OR ABORT", " OR ROLLBACK")
	where := " WHERE " + tb.names[p.n(4)] + p.one(" = ", " = ", " = ", " IS ", " > ", " <> ") + p.value()
	if tb.option != "" { // several rows come in the order of the key there, and of the hidden rowid here
		where = " WHERE id = " + p.value()
	}
	switch k := p.n(100); {
	case k < 40:
		rows := make([]string, 1+max(0, p.n(6)-3))
		for i := range rows {
			v := []string{p.value(), p.value(), p.value(), p.value()}
			if p.n(2) == 0 { // so that parents exist
				v[0] = p.one("1", "2", "3")
			}
			rows[i] = "(" + strings.Join(v, ", ") + ")"
		}
		p.both("INSERT" + or + " INTO " + tb.name + " VALUES" + strings.Join(rows, ", "))
	case k < 44:
		from := p.tables[p.n(len(p.tables))]
		p.both("INSERT" + or + " INTO " + tb.name + " SELECT " + p.one("NULL", "a", "id") + ", b, " + p.one("a", "id", "1") + ", c FROM " + from.name + " ORDER BY +id LIMIT 3") // read before a CASCADE deletes there
	case k < 60:
		var set []string
		for _, c := range tb.names {
			if p.n(3) == 0 {
				set = append(set, c+" = "+p.value())
			}
		}
		if len(set) == 0 {
			set = []string{"a = " + p.value()}
		}
		// In the order of the table, whatever the plan: OR REPLACE keeps the last row.
		where = strings.Replace(where, "WHERE ", "WHERE +", 1)
		p.both("UPDATE" + or + " " + tb.name + " SET " + strings.Join(set, ", ") + where)
	case k < 74:
		if p.n(8) == 0 && tb.option == "" {
			where = ""
		}
		p.both("DELETE FROM " + tb.name + where)
	case k < 90:
		p.transaction()
	case k < 92:
		p.both("PRAGMA foreign_keys=" + p.one("ON", "ON", "OFF"))
	case k < 93:
		p.both("PRAGMA foreign_keys")
		p.both("PRAGMA defer_foreign_keys")
	case k < 95:
		p.both("PRAGMA foreign_key_check")
		p.both("PRAGMA foreign_key_check(" + tb.name + ")")
	case k < 96:
		p.index++
		p.both(fmt.Sprintf("CREATE INDEX i%d ON %s(%s%s, %s)", p.index, tb.name, p.one("a", "b", "c"), p.one("", "", " DESC", " COLLATE NOCASE"), p.one("id", "a", "b")))
	case k < 97:
		p.both("DROP TABLE " + tb.name)
	case k < 98 && !p.within:
		p.reopen()
	default:
		p.both("PRAGMA foreign_keys=ON")
	}
}

func (p *foreignProgram) transaction() {
	text := p.one("BEGIN", "BEGIN", "SAVEPOINT s")
	if p.within {
		text = p.one("COMMIT", "COMMIT", "COMMIT", "ROLLBACK", "SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s", "ROLLBACK TO s", "RELEASE s", "RELEASE s",
			"PRAGMA defer_foreign_keys=ON", "PRAGMA defer_foreign_keys=OFF")
	} else if p.n(20) == 0 {
		text = "PRAGMA defer_foreign_keys=ON"
	}
	p.both(text)
}

// transaction reports whether one is open.
func (s *subject) transaction() (open bool) {
	_ = s.conn.Raw(func(dc any) error {
		open = dc.(*conn).tx.phase != idle
		return nil
	})
	return open
}

// reopen closes the store and opens it again; volatile rows are gone then.
func (p *foreignProgram) reopen() {
	off := p.o.run("PRAGMA foreign_keys").rows[0][0].(int64) == 0
	for _, tb := range p.tables {
		if tb.volatile {
			return
		}
	}
	p.s.close()
	p.s.open()
	if off {
		p.s.run("PRAGMA foreign_keys=OFF")
	}
}
