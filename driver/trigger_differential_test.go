package driver

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	triggerSeed  = flag.Uint64("trigger.seed", 1, "seed of the first program of TestTriggersDifferential")
	triggerCount = flag.Int("trigger.programs", 0, "programs of TestTriggersDifferential; 0 is the usual number")
	triggerFail  = flag.Bool("trigger.fail", false, "with FAIL, which is not SQLite's everywhere: see the package's documentation")
	triggerAll   = flag.Bool("trigger.all", false, "go on after a program that differs")
)

// TestTriggersDifferential runs random programs on tables with triggers. Rows,
// counts, ids, codes and messages must be those of plain SQLite after every
// statement, and so must be the rows of all tables.
func TestTriggersDifferential(t *testing.T) {
	programs := 30
	if testing.Short() {
		programs = 8
	}
	if *triggerCount > 0 {
		programs = *triggerCount
	}
	// The usual run is always the same: about one program in some hundred meets what is
	// known to be another, the code of a statement that breaks two constraints at once.
	seed := *triggerSeed
	statements, differ := 0, 0
	for i := range uint64(programs) {
		script := newTriggerProgram(seed + i).script()
		statements += len(script)
		at, _ := runTriggerScript(t, script)
		if at < 0 {
			continue
		}
		differ++
		script = shrinkScript(t, runTriggerScript, script[:at+1])
		_, why := runTriggerScript(t, script)
		var b strings.Builder
		for _, s := range script {
			b.WriteString(s[1] + ";\n")
		}
		t.Errorf("-trigger.seed=%d -trigger.programs=1:\n%s\n%s", seed+i, b.String(), why)
		if !*triggerAll {
			break
		}
	}
	t.Logf("seed %d: %d programs, %d statements, %d programs differ", seed, programs, statements, differ)
}

// pairText is a statement as it runs natively and on a store.
type pairText [2]string

// runTriggerScript returns the first statement that differs, or -1.
func runTriggerScript(t *testing.T, script []pairText) (at int, why string) {
	o := newOracle(t)
	if err := o.db.Exec("PRAGMA foreign_keys=OFF"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if d, err := os.MkdirTemp("/dev/shm", "tidemark"); err == nil {
		dir = d
		defer os.RemoveAll(d)
	}
	s := &subject{t: t, dir: filepath.Join(dir, "store") + "?sync=off&foreign_keys=off"}
	s.open()
	defer s.close()
	for i, text := range script {
		if why := compareTrigger(o, s, text); why != "" {
			return i, why
		}
	}
	return -1, ""
}

func compareTrigger(o *oracle, s *subject, text pairText) string {
	const total = "SELECT total_changes()"
	was := [2]outcome{o.run(total), s.run(total)}
	want, got := o.run(text[0]), s.run(text[1])
	on := o.run("PRAGMA foreign_keys").rows[0][0] == int64(1)
	if want.code != 0 || on { // what a failed statement leaves is nobody's
		want.lastID, got.lastID = 0, 0
	}
	if len(want.columns)+len(got.columns) == 0 {
		want.columns, got.columns = nil, nil
	}
	if want.String() != got.String() {
		return fmt.Sprintf("%s\n got %s\nwant %s", text[1], got, want)
	}
	if a, b := !o.db.Autocommit(), s.transaction(); a != b {
		return fmt.Sprintf("%s\n in a transaction: %t, natively %t", text[1], b, a)
	}
	now := [2]outcome{o.run(total), s.run(total)}
	if want.code == 0 && fmt.Sprint(now[0].rows[0][0].(int64)-was[0].rows[0][0].(int64)) != fmt.Sprint(now[1].rows[0][0].(int64)-was[1].rows[0][0].(int64)) {
		return fmt.Sprintf("%s\n total_changes() %v after %v, natively %v after %v", text[1], now[1].rows, was[1].rows, now[0].rows, was[0].rows)
	}
	const tables = "SELECT name FROM sqlite_schema WHERE type='table' AND name<>'sqlite_sequence'"
	for _, r := range o.run(tables).rows {
		q := fmt.Sprintf("SELECT * FROM %v", r[0])
		want, got := o.run(q), s.run(q)
		want.lastID, got.lastID = 0, 0
		if want.String() != got.String() {
			return fmt.Sprintf("%s\nthen %s\n got %s\nwant %s", text[1], q, got, want)
		}
	}
	return ""
}

// triggerProgram draws one program.
type triggerProgram struct {
	rnd      *rand.Rand
	tables   []*triggerTable
	triggers int
	keys     bool // foreign keys
	ends     bool // ROLLBACK
	temp     bool
}

type triggerTable struct {
	name    string
	columns []string
	id      bool // id is its rowid
	keyed   bool // it is WITHOUT ROWID
	unique  []string
	shown   []string // columns that are not set: generated ones
}

func newTriggerProgram(seed uint64) *triggerProgram {
	return &triggerProgram{rnd: rand.New(rand.NewPCG(seed, 7))}
}

func (p *triggerProgram) n(n int) int            { return p.rnd.IntN(n) }
func (p *triggerProgram) in(n int) bool          { return p.n(n) == 0 }
func (p *triggerProgram) one(s ...string) string { return s[p.n(len(s))] }
func (p *triggerProgram) any() *triggerTable     { return p.tables[p.n(len(p.tables))] }

func (p *triggerProgram) script() (out []pairText) {
	p.keys, p.ends, p.temp = p.in(3), p.in(3), p.in(4)
	add := func(text string) { out = append(out, pairText{text, text}) }
	add("CREATE TABLE log(a,b,c,d,e,f)")
	if p.keys {
		add("PRAGMA foreign_keys=ON")
	}
	if p.in(3) {
		add("PRAGMA recursive_triggers=ON")
	}
	for k := range 2 + p.n(2) {
		out = append(out, p.table(k))
	}
	for range 5 {
		add(p.change(p.any(), nil))
	}
	for range 1 + p.n(4) {
		add(p.trigger())
	}
	for range 22 {
		if p.in(5) {
			add(p.one("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "RELEASE s", "ROLLBACK TO s", "SAVEPOINT u", "ROLLBACK TO u"))
		}
		if p.in(14) {
			add(p.trigger())
		}
		if p.in(20) {
			add(fmt.Sprintf("DROP TRIGGER r%d", 1+p.n(p.triggers)))
		}
		if p.in(6) {
			add("SELECT changes(), last_insert_rowid()")
		}
		text := p.change(p.any(), nil)
		if p.in(6) {
			text += p.one(" RETURNING *", " RETURNING a, typeof(b)")
		}
		add(text)
	}
	if p.ends || p.keys {
		// What a failed row had changed before, and what last_insert_rowid() is after
		// a failure, is nobody's.
		r := strings.NewReplacer(",changes()", ",0", "SELECT changes(),", "SELECT 0,", "last_insert_rowid()", "0")
		for i := range out {
			out[i] = pairText{r.Replace(out[i][0]), r.Replace(out[i][1])}
		}
	}
	return out
}

func (p *triggerProgram) clause() string {
	if !p.in(5) {
		return ""
	}
	list := []string{"IGNORE", "REPLACE", "ABORT"}
	if p.ends {
		list = append(list, "ROLLBACK")
	}
	if *triggerFail {
		list = append(list, "FAIL")
	}
	return " ON CONFLICT " + p.one(list...)
}

func (p *triggerProgram) or() string {
	if !p.in(3) {
		return ""
	}
	list := []string{"OR IGNORE ", "OR REPLACE ", "OR ABORT "}
	if p.ends {
		list = append(list, "OR ROLLBACK ")
	}
	if *triggerFail {
		list = append(list, "OR FAIL ")
	}
	return p.one(list...)
}

func (p *triggerProgram) table(k int) pairText {
	t := &triggerTable{name: fmt.Sprintf("t%d", k)}
	var defs []string
	tail := ""
	switch p.n(5) {
	case 0, 1, 2:
		defs = append(defs, "id INTEGER PRIMARY KEY"+p.clause()+p.one("", "", "", " AUTOINCREMENT"))
		t.columns, t.id, t.unique = []string{"id"}, true, []string{"id"}
	case 3:
		defs = append(defs, "id INTEGER")
		t.columns, t.unique, t.keyed = []string{"id"}, []string{"id"}, true
		tail = ", PRIMARY KEY(id)) WITHOUT ROWID"
	}
	column := func(name, typ string, unique int) {
		def := name + " " + typ
		if p.in(unique) {
			def += " UNIQUE" + p.clause()
			t.unique = append(t.unique, name)
		}
		if p.in(4) {
			def += " DEFAULT " + p.one("3", "-2", "(1+1)", "'5'", "'q'")
		}
		if p.in(5) {
			def += " NOT NULL" + p.clause()
		}
		if p.in(6) {
			def += " CHECK(" + name + p.one("<8", "<>4", " IS NOT 'a'", "<'7'") + ")"
		}
		defs, t.columns = append(defs, def), append(t.columns, name)
	}
	column("a", p.one("INTEGER", "INT", "", "TEXT"), 3)
	column("b", p.one("TEXT", "TEXT COLLATE NOCASE", "VARCHAR(10)", ""), 4)
	column("c", p.one("REAL", "NUMERIC", "", "BLOB"), 8)
	if p.in(4) {
		defs = append(defs, "g "+p.one("INT", "TEXT", "")+" AS ("+p.one("a+1", "a||b", "coalesce(c,0)*2", "b")+")"+p.one("", " STORED"))
		t.shown = []string{"g"}
	}
	if p.keys && k > 0 && !p.in(3) {
		if parent := p.any(); len(parent.unique) > 0 {
			defs = append(defs, fmt.Sprintf("FOREIGN KEY(%s) REFERENCES %s(%s)%s%s%s", p.one("a", "c"), parent.name, parent.unique[0],
				p.one("", " ON DELETE CASCADE", " ON DELETE CASCADE", " ON DELETE SET DEFAULT", " ON DELETE RESTRICT"),
				p.one("", " ON UPDATE CASCADE", " ON UPDATE CASCADE", " ON UPDATE RESTRICT"),
				p.one("", "", " DEFERRABLE INITIALLY DEFERRED")))
		}
	}
	if p.keys && t.id && p.in(4) {
		defs = append(defs, "FOREIGN KEY(c) REFERENCES "+t.name+"(id)"+p.one("", " ON DELETE CASCADE"))
	}
	p.tables = append(p.tables, t)
	list := strings.Join(defs, ", ")
	if tail == "" {
		tail = ")"
	}
	plain := "CREATE TABLE " + t.name + "(" + list + tail
	here := plain
	if tail == ")" && p.in(4) {
		here = "CREATE VIRTUAL TABLE " + t.name + " USING tidemark(" + list + ", resident=keys)"
	}
	return pairText{plain, here}
}

// value draws an expression over columns in scope.
func (p *triggerProgram) value(scope []string) string {
	switch p.n(9) {
	case 0:
		return "NULL"
	case 1, 2, 3:
		return fmt.Sprint(p.n(10))
	case 4:
		return "'" + p.one("a", "A", "b", "x", "5", "7") + "'"
	case 5:
		return fmt.Sprintf("%d.5", p.n(5))
	}
	if len(scope) == 0 {
		return fmt.Sprint(p.n(6))
	}
	s := p.one(scope...)
	switch p.n(4) {
	case 0:
		return s + "+1"
	case 1:
		return "abs(" + s + ")%7"
	}
	return s
}

// condition draws one that no index helps with: the order of rows is the table's.
func (p *triggerProgram) condition(columns, scope []string) string {
	c := "+" + p.one(columns...)
	switch p.n(5) {
	case 0:
		return c + " IS " + p.value(scope)
	case 1:
		return c + ">" + p.value(scope)
	case 2:
		return c + "<" + p.value(scope)
	case 3:
		return c + "=" + p.value(scope)
	}
	return c + " IN (" + p.value(scope) + "," + p.value(scope) + "," + p.value(scope) + ")"
}

func (p *triggerProgram) change(t *triggerTable, scope []string) string {
	switch p.n(7) {
	case 0, 1, 2, 3:
		return p.insert(t, scope)
	case 4, 5:
		return p.update(t, scope)
	}
	if t.keyed { // a row at a time: the order of several is another one
		return "DELETE FROM " + t.name + " WHERE id IS " + p.value(scope)
	}
	return "DELETE FROM " + t.name + " WHERE " + p.condition(append(slices.Clone(t.columns), t.shown...), scope)
}

func (p *triggerProgram) insert(t *triggerTable, scope []string) string {
	var columns []string
	for _, c := range t.columns {
		if !p.in(5) || c == "id" && !t.id {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		columns = t.columns
	}
	list := "(" + strings.Join(columns, ",") + ")"
	if len(columns) == len(t.columns) && p.in(2) {
		list = ""
	}
	into := "INSERT " + p.or() + "INTO " + t.name + list + " "
	row := func(scope []string) string {
		values := make([]string, len(columns))
		for i := range values {
			values[i] = p.value(scope)
		}
		return strings.Join(values, ",")
	}
	conflict := p.upsert(t, scope)
	if p.in(4) {
		from := p.any()
		order := make([]string, len(columns))
		for i := range order {
			order[i] = fmt.Sprint(i + 1)
		}
		return into + "SELECT " + row(append(append([]string(nil), scope...), from.columns...)) + " FROM " + from.name +
			" WHERE " + p.condition(from.columns, scope) + " ORDER BY " + strings.Join(order, ",") + conflict
	}
	text := into + "VALUES(" + row(scope) + ")"
	for range p.n(3) {
		text += ",(" + row(scope) + ")"
	}
	return text + conflict
}

// upsert draws ON CONFLICT clauses, or none.
func (p *triggerProgram) upsert(t *triggerTable, scope []string) string {
	if !p.in(4) {
		return ""
	}
	target := ""
	if len(t.unique) > 0 && !p.in(4) {
		target = "(" + p.one(t.unique...) + ")"
	}
	if p.in(4) {
		return " ON CONFLICT" + target + " DO NOTHING"
	}
	values := append([]string(nil), scope...)
	for _, c := range t.columns {
		values = append(values, "excluded."+c, t.name+"."+c, c)
	}
	return " ON CONFLICT" + target + " DO UPDATE SET " + p.one(t.columns...) + "=" + p.value(values) + "," + p.one(t.columns...) + "=" + p.value(values)
}

func (p *triggerProgram) update(t *triggerTable, scope []string) string {
	values := append(append([]string(nil), scope...), t.columns...)
	columns := t.columns
	if t.keyed {
		columns = columns[1:] // one that is replaced may be the one to come
	}
	set := p.one(columns...) + "=" + p.value(values)
	if p.in(2) {
		set += "," + p.one(columns...) + "=" + p.value(values)
	}
	return "UPDATE " + p.or() + t.name + " SET " + set + " WHERE " + p.condition(t.columns, scope)
}

func (p *triggerProgram) trigger() string {
	p.triggers++
	t := p.any()
	event := p.one("INSERT", "UPDATE", "DELETE", "UPDATE OF a", "UPDATE OF b, c")
	var scope []string
	kind := p.one("BEFORE", "AFTER", "AFTER", "")
	named := slices.Clone(t.columns)
	if kind == "AFTER" { // SQLite shows old values or none before
		named = append(named, t.shown...)
	}
	for _, c := range named {
		if event != "DELETE" {
			scope = append(scope, "new."+c)
		}
		if event != "INSERT" {
			scope = append(scope, "old."+c)
		}
	}
	if t.id && event != "DELETE" {
		scope = append(scope, "new.rowid")
	}
	temp := ""
	if p.temp && p.in(2) {
		temp = "TEMP "
	}
	s := fmt.Sprintf("CREATE %sTRIGGER r%d %s %s ON %s ", temp, p.triggers, kind, event, t.name)
	if p.in(3) {
		s += "WHEN " + p.condition(scope, scope) + " "
	}
	s += "BEGIN "
	for range 1 + p.n(2) {
		switch p.n(7) {
		case 0, 1, 2:
			s += fmt.Sprintf("INSERT INTO log SELECT 'r%d',%s,%s,%s,last_insert_rowid(),changes(); ", p.triggers, p.one(scope...), p.one(scope...), p.one(scope...))
		case 6:
			actions := []string{"IGNORE", "ABORT, 'boom'"}
			if p.ends {
				actions = append(actions, "ROLLBACK, 'rolled back'")
			}
			if *triggerFail {
				actions = append(actions, "FAIL, 'failed'")
			}
			s += fmt.Sprintf("SELECT RAISE(%s) WHERE %s; ", p.one(actions...), p.condition(scope, scope))
		default:
			s += p.change(p.any(), scope) + "; "
		}
	}
	return s + "END"
}
