package driver

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
)

var (
	upsertSeed  = flag.Uint64("upsert.seed", 0, "seed of the first program of TestUpsertsDifferential")
	upsertCount = flag.Int("upsert.programs", 0, "programs of TestUpsertsDifferential; 0 is the usual number")
	upsertFor   = flag.Duration("upsert.for", 0, "how long TestUpsertsDifferential goes on instead")
	upsertAll   = flag.Bool("upsert.all", false, "go on after a program that differs")
)

// TestUpsertsDifferential runs random programs of INSERTs with ON CONFLICT clauses
// and of UPDATEs that read what they change. Rows, names, counts, ids, codes and
// messages must be those of plain SQLite after every statement, and so must be the
// rows of all tables.
func TestUpsertsDifferential(t *testing.T) {
	programs := 25
	if testing.Short() {
		programs = 8
	}
	if *upsertCount > 0 {
		programs = *upsertCount
	}
	// The usual run is always the same: about one program in a thousand meets what
	// is known to differ, such as the order of rows WITHOUT ROWID under a trigger.
	seed := max(*upsertSeed, 1)
	statements, differ, n, start := 0, 0, 0, time.Now()
	for ; n < programs || time.Since(start) < *upsertFor; n++ {
		script := newUpsertProgram(seed + uint64(n)).script()
		statements += len(script)
		at, _ := runUpsertScript(t, script)
		if at < 0 {
			continue
		}
		differ++
		script = shrinkScript(t, runUpsertScript, script[:at+1])
		_, why := runUpsertScript(t, script)
		var b strings.Builder
		for _, s := range script {
			b.WriteString(s.here + ";")
			if len(s.args) > 0 {
				fmt.Fprintf(&b, " -- %v", s.args)
			}
			b.WriteByte('\n')
		}
		t.Errorf("-upsert.seed=%d -upsert.programs=1:\n%s\n%s", seed+uint64(n), b.String(), why)
		if !*upsertAll {
			break
		}
	}
	t.Logf("seed %d: %d programs, %d statements, %d programs differ", seed, n, statements, differ)
}

// step is a statement as it runs natively and on a store; "reopen" is neither.
type step struct {
	plain, here string
	args        []any
}

// runUpsertScript returns the first statement that differs, or -1.
func runUpsertScript(t *testing.T, script []step) (at int, why string) {
	o := newOracle(t)
	dir := t.TempDir()
	if d, err := os.MkdirTemp("/dev/shm", "tidemark"); err == nil {
		dir = d
		defer os.RemoveAll(d)
	}
	s := &subject{t: t, dir: filepath.Join(dir, "store") + "?sync=off"}
	s.open()
	defer s.close()
	for i, st := range script {
		if why := compareUpsert(o, s, st); why != "" {
			return i, why
		}
	}
	return -1, ""
}

func compareUpsert(o *oracle, s *subject, st step) string {
	if st.here == "reopen" {
		if o.db.Autocommit() {
			s.close()
			s.open()
			o.db.SetLastInsertRowid(0)
		}
		return ""
	}
	const total = "SELECT total_changes()"
	was := [2]outcome{o.run(total), s.run(total)}
	got := s.run(st.here, st.args...)
	if strings.Contains(got.message, ErrNotAvailable.Error()) {
		return ""
	}
	want := o.native(st.plain, st.args...)
	if want.code != 0 { // what a failed statement leaves is nobody's
		want.lastID, got.lastID = 0, 0
		o.db.SetLastInsertRowid(0)
		_ = s.conn.Raw(func(dc any) error { dc.(*conn).db.SetLastInsertRowid(0); return nil })
	}
	if len(want.columns)+len(got.columns) == 0 {
		want.columns, got.columns = nil, nil
	}
	if want.String() != got.String() {
		return fmt.Sprintf("%s\n got %s\nwant %s", st.here, got, want)
	}
	if a, b := !o.db.Autocommit(), s.transaction(); a != b {
		return fmt.Sprintf("%s\n in a transaction: %t, natively %t", st.here, b, a)
	}
	now := [2]outcome{o.run(total), s.run(total)}
	if want.code == 0 && fmt.Sprint(now[0].rows[0][0].(int64)-was[0].rows[0][0].(int64)) != fmt.Sprint(now[1].rows[0][0].(int64)-was[1].rows[0][0].(int64)) {
		return fmt.Sprintf("%s\n total_changes() %v after %v, natively %v after %v", st.here, now[1].rows, was[1].rows, now[0].rows, was[0].rows)
	}
	const tables = "SELECT name, sql LIKE '%WITHOUT ROWID' FROM sqlite_schema WHERE type='table'"
	for _, r := range o.run(tables).rows {
		q := fmt.Sprintf("SELECT rowid, * FROM %v", r[0])
		if r[1] == int64(1) {
			q = fmt.Sprintf("SELECT * FROM %v", r[0])
		}
		if r[0] == "sqlite_sequence" { // SQLite enters a table that has had no row
			q = "SELECT name, seq FROM sqlite_sequence WHERE seq<>0 ORDER BY name"
		}
		want, got := o.run(q), s.run(q)
		want.lastID, got.lastID = 0, 0
		if r[1] == int64(1) { // in which order, an index may say
			sortRows(want.rows)
			sortRows(got.rows)
		}
		if want.String() != got.String() {
			return fmt.Sprintf("%s\nthen %s\n got %s\nwant %s", st.here, q, got, want)
		}
	}
	return ""
}

// native runs a statement so that all of one is undone that fails by the types of a
// STRICT table: SQLite leaves the rows before the failing one in a transaction.
func (o *oracle) native(text string, args ...any) outcome {
	if o.db.Autocommit() || !sqltext.Parse(text).Kind.IsDML() {
		return o.run(text, args...)
	}
	o.run("SAVEPOINT around")
	out := o.run(text, args...)
	if out.code == ErrConstraintDatatype {
		o.run("ROLLBACK TO around")
	}
	o.run("RELEASE around")
	return out
}

// upsertProgram draws one program.
type upsertProgram struct {
	rnd      *rand.Rand
	tables   []*upsertTable
	triggers int
	indexes  int
	keys     bool   // foreign keys
	fail     string // FAIL or, in a program without it, ABORT
	args     []any
	params   bool // literals become parameters
	trigger  bool // a body is drawn, which has none
}

type upsertTable struct {
	name     string
	columns  []string // that can be given
	all      []string // with generated ones
	targets  []string
	id       bool // id is its rowid
	strict   bool
	without  bool
	replaces bool // a constraint says ON CONFLICT REPLACE
}

func newUpsertProgram(seed uint64) *upsertProgram {
	return &upsertProgram{rnd: rand.New(rand.NewPCG(seed, 11))}
}

func (p *upsertProgram) n(n int) int            { return p.rnd.IntN(n) }
func (p *upsertProgram) in(n int) bool          { return p.n(n) == 0 }
func (p *upsertProgram) one(s ...string) string { return s[p.n(len(s))] }
func (p *upsertProgram) any() *upsertTable      { return p.tables[p.n(len(p.tables))] }

func (p *upsertProgram) script() (out []step) {
	p.keys, p.fail = p.in(4), p.one("FAIL", "ABORT")
	add := func(text string) { out = append(out, step{text, text, p.args}); p.args = nil }
	add("CREATE TABLE log(a,b,c)")
	for k := range 1 + p.n(2) {
		out = append(out, p.table(k))
	}
	for range p.n(4) {
		add(p.index())
	}
	for range p.n(3) {
		add(p.drawTrigger())
	}
	for range 30 {
		switch p.n(30) {
		case 0, 1, 2:
			add(p.one("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "RELEASE s", "ROLLBACK TO s"))
		case 3:
			add("reopen")
		case 4:
			add(p.index())
		}
		p.params = p.in(4)
		text := p.change(p.any(), nil)
		p.params = false
		add(text)
	}
	return out
}

func (p *upsertProgram) clause(t *upsertTable) string {
	if !p.in(7) {
		return ""
	}
	c := p.one("IGNORE", "REPLACE", "ABORT", p.fail, "ROLLBACK")
	t.replaces = t.replaces || c == "REPLACE"
	return " ON CONFLICT " + c
}

func (p *upsertProgram) or() string {
	if !p.in(4) {
		return ""
	}
	return "OR " + p.one("IGNORE", "REPLACE", "ABORT", p.fail, "ROLLBACK") + " "
}

func (p *upsertProgram) table(k int) step {
	t := &upsertTable{name: fmt.Sprintf("t%d", k), strict: p.in(8)}
	var defs []string
	tail, auto := "", " AUTOINCREMENT"
	if p.fail == "FAIL" { // SQLite forgets the numbers of what FAIL leaves
		auto = ""
	}
	switch p.n(5) {
	case 0, 1, 2:
		defs = append(defs, "id INTEGER PRIMARY KEY"+p.clause(t)+p.one("", "", "", auto))
		t.columns, t.id, t.targets = []string{"id"}, true, []string{"id"}
	case 3:
		defs, t.columns = append(defs, "id INTEGER"), []string{"id"}
		tail, t.without = ", PRIMARY KEY(id"+p.one(")", ",a)")+p.clause(t), true
		t.targets = []string{strings.TrimSuffix(strings.TrimPrefix(strings.Split(tail, ")")[0], ", PRIMARY KEY("), ")")}
	default:
		t.targets = []string{"rowid"}
	}
	column := func(name, typ string, unique int) {
		def := name + " " + typ
		if t.strict {
			def = name + " " + p.one("INT", "TEXT", "REAL", "ANY", "ANY")
		}
		if p.in(unique) {
			def += " UNIQUE" + p.clause(t)
			t.targets = append(t.targets, name)
		}
		if p.in(3) {
			def += " DEFAULT " + p.one("3", "-2", "(1+1)", "'5'", "'q'", "x")
		}
		if p.in(5) {
			def += " NOT NULL" + p.clause(t)
		}
		if p.in(6) {
			def += " CHECK(" + name + p.one("<8", "<>4", " IS NOT 'a'", "<'7'") + ")"
		}
		defs, t.columns = append(defs, def), append(t.columns, name)
	}
	column("a", p.one("INTEGER", "INT", "", "TEXT"), 2)
	column("b", p.one("TEXT", "TEXT COLLATE NOCASE", "VARCHAR(10)", ""), 3)
	column("c", p.one("REAL", "NUMERIC", "", "BLOB"), 6)
	t.all = append(t.all, t.columns...)
	if !t.strict && p.in(4) {
		def := "g " + p.one("INT", "TEXT", "") + " AS (" + p.one("a+1", "a||b", "coalesce(c,0)*2", "b") + ")" + p.one("", " STORED")
		if p.in(2) {
			def, t.targets = def+" UNIQUE", append(t.targets, "g")
		}
		defs, t.all = append(defs, def), append(t.all, "g")
	}
	if p.in(5) {
		defs, t.targets = append(defs, "UNIQUE(a,b)"+p.clause(t)), append(t.targets, "a,b", "b,a")
	}
	if p.keys && k > 0 && len(p.tables[0].targets) > 0 && !p.tables[0].without && p.tables[0].targets[0] != "rowid" {
		defs = append(defs, fmt.Sprintf("FOREIGN KEY(%s) REFERENCES t0(%s)%s%s%s", p.one("a", "c"), p.tables[0].targets[0],
			p.one("", " ON DELETE CASCADE", " ON DELETE SET NULL", " ON DELETE RESTRICT"),
			p.one("", " ON UPDATE CASCADE", " ON UPDATE SET NULL", " ON UPDATE RESTRICT"),
			p.one("", "", " DEFERRABLE INITIALLY DEFERRED")))
	}
	if p.keys && t.id && p.in(2) {
		defs = append(defs, "FOREIGN KEY(c) REFERENCES "+t.name+"(id)"+p.one("", " ON UPDATE CASCADE", " ON DELETE CASCADE"))
	}
	p.tables = append(p.tables, t)
	list := strings.Join(defs, ", ")
	options := ""
	if t.without {
		tail, options = tail+")", "WITHOUT ROWID"
	} else {
		tail = ")"
	}
	if t.strict {
		options = strings.TrimPrefix(options+", STRICT", ", ")
	}
	plain := "CREATE TABLE " + t.name + "(" + list + tail + options
	here := plain
	if options == "" && p.in(4) {
		here = "CREATE VIRTUAL TABLE " + t.name + " USING tidemark(" + list + ", resident=keys)"
	}
	return step{plain: plain, here: here}
}

func (p *upsertProgram) index() string {
	p.indexes++
	t := p.any()
	what, where := p.one("a,b", "b,c", "a+1", "lower(b)", "b COLLATE NOCASE", "c", "b COLLATE BINARY"), ""
	if p.in(3) {
		where = " WHERE " + p.one("a>0", "b IS NOT NULL", "c<3")
	}
	if t.strict && strings.Contains(what, "lower") {
		what = "c,a"
	}
	unique := p.one("UNIQUE ", "UNIQUE ", "")
	if unique != "" {
		t.targets = append(t.targets, what+")"+where)
	}
	return fmt.Sprintf("CREATE %sINDEX i%d ON %s(%s)%s", unique, p.indexes, t.name, what, where)
}

// literal draws a constant, which may be a parameter.
func (p *upsertProgram) literal() string {
	var v any
	switch p.n(6) {
	case 0:
		v = nil
	case 1:
		v = p.one("a", "A", "b", "x", "5", "7")
	case 2:
		v = float64(p.n(5)) + .5
	default:
		v = int64(p.n(9))
	}
	if p.params && !p.trigger && p.in(2) {
		p.args = append(p.args, v)
		switch n := len(p.args); p.n(3) {
		case 0:
			return fmt.Sprintf("?%d", n)
		case 1:
			return fmt.Sprintf(":p%d", n)
		}
		return "?"
	}
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return "'" + v + "'"
	}
	return fmt.Sprint(v)
}

// value draws an expression over columns in scope.
func (p *upsertProgram) value(scope []string) string {
	if len(scope) == 0 || p.in(2) {
		return p.literal()
	}
	s := p.one(scope...)
	switch p.n(8) {
	case 0:
		return s + "+1"
	case 1:
		return "abs(" + s + ")%7"
	case 2:
		return s + "||" + p.literal()
	case 3:
		return "(" + s + p.one("<", "=", ">") + p.literal() + ")"
	}
	return s
}

// query draws a scalar subquery; scope is what is around it.
func (p *upsertProgram) query(scope []string) string {
	t := p.any()
	what := p.one("count(*)", "max(q.a)", "min(q.b)", "sum(q.c)", "q.a")
	if what == "q.a" {
		return "(SELECT q.a FROM " + t.name + " AS q ORDER BY q.a, q.b, q.c LIMIT 1)"
	}
	text := "(SELECT " + what + " FROM " + t.name + " AS q"
	switch p.n(4) {
	case 0:
		text += " WHERE q." + p.one(t.columns...) + p.one("=", "<", ">") + p.literal()
	case 1:
		if len(scope) > 0 {
			text += " WHERE q." + p.one(t.columns...) + p.one("=", "<", ">") + p.one(scope...)
		}
	}
	return text + ")"
}

func (p *upsertProgram) expression(scope []string) string {
	switch p.n(9) {
	case 0:
		return p.query(scope)
	case 1:
		return "coalesce(" + p.query(scope) + "," + p.value(scope) + ")" // + would not look at the query beside a NULL
	case 2:
		t := p.any()
		return "EXISTS(SELECT 1 FROM " + t.name + " AS q WHERE q." + p.one(t.columns...) + "=" + p.value(scope) + ")"
	}
	return p.value(scope)
}

// condition draws one that no index helps with: the order of rows is the table's.
func (p *upsertProgram) condition(columns, scope []string) string {
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

func (p *upsertProgram) change(t *upsertTable, scope []string) string {
	switch k := p.n(12); {
	case k < 9:
		return p.insert(t, scope)
	case k < 11:
		return p.update(t, scope)
	}
	return "DELETE FROM " + t.name + " WHERE " + p.condition(t.columns, scope) + p.returning(t, true)
}
