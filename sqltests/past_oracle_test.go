package sqltests

import (
	"database/sql"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver"
)

var pastSeed = flag.Uint64("past.seed", 0, "seed of TestPastOracle; 0 draws one")

// pastTables have the same columns and are kept in the ways there are. % is the
// name.
var pastTables = []struct{ name, store, native string }{
	{"alias", "CREATE TABLE %(id INTEGER PRIMARY KEY, n INT, s TEXT COLLATE NOCASE, v)", ""},
	{"keyed", "CREATE TABLE %(id INT, n INT, s TEXT COLLATE NOCASE, v, PRIMARY KEY(id DESC, s)) WITHOUT ROWID", ""},
	{"disk", "CREATE VIRTUAL TABLE % USING tidemark(id INTEGER PRIMARY KEY AUTOINCREMENT, n INT, s TEXT, v, resident=keys)",
		"CREATE TABLE %(id INTEGER PRIMARY KEY AUTOINCREMENT, n INT, s TEXT, v)"},
	{"plain", "CREATE TABLE %(id INT, n NUMERIC, s TEXT COLLATE RTRIM, v, UNIQUE(n, s))", ""},
}

// pastIndexes are made and dropped as it comes.
var pastIndexes = []string{"n", "s, n DESC", "s COLLATE NOCASE", "v, id", "n DESC, id"}

// pastQueries read an old state, P, and perhaps another one, O, and the present, N. %d
// and %s are a number and a text.
var pastQueries = []string{
	"SELECT id, n, s, v FROM P", "SELECT id, n, s, v FROM P WHERE id=%d", "SELECT id, n, s, v FROM P WHERE n=%d", "SELECT id, v FROM P WHERE s=%s",
	"SELECT id, n FROM P WHERE s=%s COLLATE NOCASE", "SELECT id FROM P WHERE n BETWEEN %d AND 30", "SELECT id FROM P WHERE id>%d AND n<>3",
	"SELECT id, s FROM P WHERE n IN (%d, 4, 9) AND s>=%s", "SELECT id FROM P WHERE id IN (1, %d, 7)", "SELECT id FROM P WHERE n IS NULL", "SELECT id FROM P WHERE s LIKE 'a%%'",
	"SELECT id FROM P WHERE n=%d OR s=%s OR v=3", "SELECT id FROM P WHERE (n, id)>(%d, 3)", "SELECT id FROM P WHERE v=%d AND id<40",
	"SELECT count(*) FROM P", "SELECT count(*), count(n), sum(n), min(n), max(n), min(id), max(id) FROM P", "SELECT min(n) FROM P WHERE s>%s", "SELECT max(n) FROM P WHERE id<%d",
	"SELECT n, count(*), sum(id) FROM P GROUP BY n", "SELECT DISTINCT n FROM P", "SELECT DISTINCT n, id FROM P WHERE n>%d",
	"SELECT id, n FROM P ORDER BY n, id LIMIT 7", "SELECT id, n FROM P ORDER BY n DESC, id DESC LIMIT 5 OFFSET 2", "SELECT id FROM P ORDER BY id", "SELECT n, id FROM P WHERE s=%s ORDER BY n DESC, id",
	"SELECT x.id, y.id FROM P x JOIN N y ON x.n=y.n AND y.id<%d", "SELECT x.id, y.id FROM P x JOIN O y ON x.s=y.s AND x.n=y.n", "SELECT x.id FROM P x LEFT JOIN O y ON y.id=x.id WHERE y.id IS NULL",
	"SELECT x.id, y.n FROM N x LEFT JOIN P y ON y.id=x.id AND y.n>%d", "SELECT x.id, y.id FROM P x JOIN O y ON x.v=y.v WHERE x.n<%d",
	"SELECT id, n, hex(s) FROM P EXCEPT SELECT id, n, hex(s) FROM N", "SELECT id, n, hex(s) FROM O INTERSECT SELECT id, n, hex(s) FROM P", "SELECT id FROM N WHERE n IN (SELECT n FROM P WHERE id>%d)",
	"SELECT id, (SELECT count(*) FROM P p WHERE p.n=N.n) FROM N", "SELECT sum(x.n*y.n) FROM P x, O y WHERE x.id=y.id", "SELECT id FROM P p WHERE EXISTS (SELECT 1 FROM O o WHERE o.n=p.id AND o.s<=%s)",
}

// branchPoint is one that the store has, beside copies in plain SQLite of what the
// tables were: name@table.
type branchPoint struct {
	name   string
	tables map[string]int // and which of the name: they are dropped and made anew
}

type pastOracle struct {
	t      *testing.T
	rng    *rand.Rand
	native *sql.Conn
	s      *Store
	conn   *sql.Conn
	made   map[string]int
	points []branchPoint
	named  int
	count  map[string]int
	tx     bool
}

// TestPastOracle: a random program changes rows and schema, and makes branch points
// at random moments. What t('bp') reads from then on, by any index, in any order, in
// aggregates and joined with the present, equals a copy of the table in plain SQLite
// that was made at that moment; through compactions, collections and restarts, and
// inside of transactions, and with at=.
func TestPastOracle(t *testing.T) {
	steps := 700
	if testing.Short() {
		steps = 250
	}
	for i, options := range []string{
		"sync=off&generation_size=8KiB", "sync=off&generation_size=8KiB&resident=keys&shards=3", "sync=off&pushdown=off&compact=off",
	} {
		t.Run(options, func(t *testing.T) {
			seed := *pastSeed
			if seed == 0 {
				seed = rand.Uint64()>>1 + 1
			}
			t.Logf("repeat with -past.seed=%d", seed)
			o := newPastOracle(t, seed, options)
			for range steps {
				o.step()
			}
			if o.tx {
				o.both("ROLLBACK")
				o.tx = false
			}
			// Whatever the seed, each kind of step was taken.
			o.mark()
			o.mark() // of the two one is left when the next is deleted
			o.anew(i)
			o.index()
			o.job("compact")
			o.unmark()
			o.mark()
			o.job("gc")
			o.restart()
			for n := 0; n < 40 || o.count["refused"] == 0 && n < 2000; n++ {
				o.query()
			}
			if o.at(); o.count["refused"] == 0 {
				t.Error("a table that was made anew was read as the old one")
			}
			t.Logf("%d steps: %s", steps, countsOf(o.count))
		})
	}
}

func newPastOracle(t *testing.T, seed uint64, options string) *pastOracle {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "native.db")+"?_pragma=synchronous(off)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	native, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { native.Close() })
	o := &pastOracle{t: t, rng: rand.New(rand.NewPCG(seed, 6)), native: native, s: Open(t, options), made: map[string]int{}, count: map[string]int{}}
	o.connect()
	t.Cleanup(func() { o.conn.Close() })
	for i := range pastTables {
		o.create(i)
	}
	return o
}

func (o *pastOracle) connect() {
	o.t.Helper()
	var err error
	if o.conn, err = o.s.DB.Conn(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
}

// ddl is what makes a table in plain SQLite.
func ddl(i int, name string) string {
	text := pastTables[i].native
	if text == "" {
		text = pastTables[i].store
	}
	return strings.Replace(text, "%", name, 1)
}

func (o *pastOracle) create(i int) {
	o.t.Helper()
	name := pastTables[i].name
	o.must(o.native, ddl(i, name))
	o.must(o.conn, strings.Replace(pastTables[i].store, "%", name, 1))
	o.made[name]++
}

func (o *pastOracle) must(on *sql.Conn, text string, args ...any) {
	o.t.Helper()
	if _, err := on.ExecContext(o.t.Context(), text, args...); err != nil {
		o.t.Fatalf("%s: %v", text, err)
	}
}

// both runs a statement on both sides, which say the same of it.
func (o *pastOracle) both(text string) {
	o.t.Helper()
	exec := func(on *sql.Conn) string {
		r, err := on.ExecContext(o.t.Context(), text)
		if err != nil {
			return fmt.Sprintf("error %d", code(err))
		}
		verb, _, _ := strings.Cut(text, " ")
		if n, _ := r.RowsAffected(); slices.Contains([]string{"INSERT", "UPDATE", "DELETE"}, verb) {
			return fmt.Sprintf("%d rows", n)
		}
		return "done"
	}
	if got, want := exec(o.conn), exec(o.native); got != want {
		o.t.Fatalf("%s: %s, plain SQLite says %s", text, got, want)
	}
}

func (o *pastOracle) table() string { return pastTables[o.rng.IntN(len(pastTables))].name }

func (o *pastOracle) word() string {
	return []string{"'a'", "'A'", "'ab'", "'b '", "'b'", "'longer, so that it takes a place of its own'", "''"}[o.rng.IntN(7)]
}

func (o *pastOracle) change() {
	o.count["change"]++
	table, id, n := o.table(), o.rng.IntN(50), o.rng.IntN(30)
	or := []string{"", " OR IGNORE", " OR REPLACE", " OR REPLACE"}[o.rng.IntN(4)]
	switch o.rng.IntN(9) {
	case 0, 1, 2, 3:
		o.both(fmt.Sprintf("INSERT%s INTO %s(id, n, s, v) VALUES(%d, %d, %s, %d)", or, table, id, n, o.word(), n%7))
	case 4:
		o.both(fmt.Sprintf("INSERT OR IGNORE INTO %s(id, n, s, v) SELECT id+%d, nullif(n, 5), s, x'0102' FROM %s WHERE id<15 ORDER BY id, n, s", table, o.rng.IntN(60), o.table()))
	case 5:
		o.both(fmt.Sprintf("UPDATE OR IGNORE %s SET n=n+1, v=v||'x' WHERE id=%d", table, id))
	case 6:
		o.both(fmt.Sprintf("UPDATE OR IGNORE %s SET s=%s WHERE n=%d AND id=%d", table, o.word(), n, id))
	case 7:
		o.both(fmt.Sprintf("DELETE FROM %s WHERE id=%d", table, id))
	case 8:
		o.both(fmt.Sprintf("DELETE FROM %s WHERE n=%d", table, n))
	}
}

func (o *pastOracle) step() {
	o.t.Helper()
	switch k := o.rng.IntN(100); {
	case o.tx && k < 15:
		o.both([]string{"COMMIT", "ROLLBACK"}[k%2])
		o.tx = false
	case k < 40:
		o.change()
	case k < 75:
		if len(o.points) > 0 {
			o.query()
		}
	case o.tx: // what follows is not for transactions
	case k < 80:
		o.both("BEGIN")
		o.tx = true
		o.count["transaction"]++
	case k < 86:
		o.mark()
	case k < 88:
		o.unmark()
	case k < 92:
		o.index()
	case k < 93:
		o.anew(o.rng.IntN(len(pastTables)))
	case k < 96:
		o.job([]string{"compact", "gc", "checkpoint"}[k-93])
	case k < 98:
		o.restart()
	case len(o.points) > 0 && k < 99:
		o.at()
	}
}

// anew drops a table and makes it again.
func (o *pastOracle) anew(i int) {
	o.count["anew"]++
	o.both("DROP TABLE " + pastTables[i].name)
	o.create(i)
}

func (o *pastOracle) job(kind string) {
	o.count[kind]++
	o.must(o.conn, "INSERT INTO tidemark_jobs(kind) VALUES(?)", kind)
}

// index makes or drops one.
func (o *pastOracle) index() {
	o.count["index"]++
	table, k := o.table(), o.rng.IntN(len(pastIndexes))
	name := fmt.Sprintf("%s_%d", table, k)
	if _, err := o.native.ExecContext(o.t.Context(), "DROP INDEX "+name); err == nil {
		o.must(o.conn, "DROP INDEX "+name)
		return
	}
	o.both(fmt.Sprintf("CREATE INDEX %s ON %s(%s)", name, table, pastIndexes[k]))
}

// mark makes a branch point, and copies of the tables.
func (o *pastOracle) mark() {
	o.t.Helper()
	o.count["mark"]++
	if len(o.points) == 6 {
		o.unmark()
	}
	o.named++
	p := branchPoint{name: fmt.Sprintf("bp %d", o.named), tables: map[string]int{}}
	o.must(o.conn, "INSERT INTO tidemark_branch_points(name) VALUES(?)", p.name)
	for i, table := range pastTables {
		p.tables[table.name] = o.made[table.name]
		o.must(o.native, ddl(i, p.copyOf(table.name)))
		o.must(o.native, "INSERT INTO "+p.copyOf(table.name)+" SELECT * FROM "+table.name)
	}
	o.points = append(o.points, p)
}

func (p branchPoint) copyOf(table string) string { return `"` + p.name + "@" + table + `"` }

func (o *pastOracle) unmark() {
	o.t.Helper()
	if len(o.points) == 0 {
		return
	}
	o.count["unmark"]++
	i := o.rng.IntN(len(o.points))
	p := o.points[i]
	o.points = slices.Delete(o.points, i, i+1)
	o.must(o.conn, "DELETE FROM tidemark_branch_points WHERE name=?", p.name)
	for _, table := range pastTables {
		o.must(o.native, "DROP TABLE "+p.copyOf(table.name))
	}
	if _, err := o.conn.ExecContext(o.t.Context(), "SELECT * FROM alias(?)", p.name); err == nil {
		o.t.Fatalf("%s is deleted, and read", p.name)
	}
}

// restart opens the store anew.
func (o *pastOracle) restart() {
	o.t.Helper()
	o.count["restart"]++
	o.conn.Close()
	o.s.Reopen()
	o.connect()
}

// read runs a query; without ORDER BY the rows are sorted.
func (o *pastOracle) read(on *sql.Conn, text string) (string, error) {
	rows, err := on.QueryContext(o.t.Context(), text)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	out, err := readRows(rows)
	if !strings.Contains(text, "ORDER BY") {
		slices.Sort(out)
	}
	return strings.Join(out, "\n"), err
}

// fill puts constants into a query.
func (o *pastOracle) fill(text string) string {
	for {
		i := strings.IndexByte(text, '%')
		if i < 0 {
			return strings.ReplaceAll(text, "\x00", "%")
		}
		switch text[i+1] {
		case 'd':
			text = text[:i] + fmt.Sprint(o.rng.IntN(30)) + text[i+2:]
		case 's':
			text = text[:i] + o.word() + text[i+2:]
		default:
			text = text[:i] + "\x00" + text[i+2:]
		}
	}
}

// alone reports whether a query reads nothing but P.
func alone(text string) bool {
	for _, other := range []string{"FROM N", "FROM O", "JOIN", ", O "} {
		if strings.Contains(text, other) {
			return false
		}
	}
	return true
}

// query compares one query on old states.
func (o *pastOracle) query() {
	o.t.Helper()
	o.count["query"]++
	table := o.table()
	p, q := o.points[o.rng.IntN(len(o.points))], o.points[o.rng.IntN(len(o.points))]
	text := o.fill(pastQueries[o.rng.IntN(len(pastQueries))])
	named := func(p branchPoint) string { return fmt.Sprintf("%s('%s')", table, p.name) }
	in := func(past, other, now string) string {
		words := strings.NewReplacer("FROM P", "FROM "+past, "JOIN P", "JOIN "+past, "FROM O", "FROM "+other, "JOIN O", "JOIN "+other, ", O ", ", "+other+" ",
			"FROM N", "FROM "+now, "JOIN N", "JOIN "+now, "=N.", "="+now+".")
		return words.Replace(text)
	}
	theirs := in(named(p), named(q), table)
	got, err := o.read(o.conn, theirs)
	now := o.made[table]
	if p.tables[table] != now || strings.Contains(theirs, named(q)) && q.tables[table] != now {
		switch {
		case err != nil && strings.Contains(err.Error(), "was dropped"):
			o.count["refused"]++
		case err != nil || p.tables[table] != now && alone(text):
			o.t.Fatalf("%s, made anew since: %s, %v", theirs, got, err)
		} // else nothing had to be read of it
		return
	}
	want, failed := o.read(o.native, in(p.copyOf(table), q.copyOf(table), table))
	if failed != nil || err != nil || got != want {
		o.t.Fatalf("%s:\n%s\n%v\nplain SQLite:\n%s\n%v", theirs, got, err, want, failed)
	}
}

// at opens the store as it was, and compares queries that know nothing of that.
func (o *pastOracle) at() {
	o.t.Helper()
	o.count["at"]++
	p := o.points[o.rng.IntN(len(o.points))]
	cfg, err := driver.ParseDSN(o.s.DSN)
	if err != nil {
		o.t.Fatal(err)
	}
	cfg.At = p.name
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		o.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	conn, err := db.Conn(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	defer conn.Close()
	for range 15 {
		text := pastQueries[o.rng.IntN(len(pastQueries))]
		if !alone(text) {
			continue
		}
		table := o.table()
		text = o.fill(text)
		got, err := o.read(conn, strings.Replace(text, "FROM P", "FROM "+table, 1))
		want, failed := o.read(o.native, strings.Replace(text, "FROM P", "FROM "+p.copyOf(table), 1))
		if failed != nil || err != nil || got != want {
			o.t.Fatalf("at %s: %s of %s:\n%s\n%v\nplain SQLite:\n%s\n%v", p.name, text, table, got, err, want, failed)
		}
	}
}
