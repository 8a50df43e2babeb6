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
)

var (
	residencySeeds = flag.Int("residency.seeds", 3, "seeds of TestResidencyOracle")
	residencySteps = flag.Int("residency.steps", 0, "steps of TestResidencyOracle per seed; 0 is the usual number")
	residencySeed  = flag.Uint64("residency.seed", 0, "first seed of TestResidencyOracle; 0 draws one")
)

// ENG-AT-15, ENG-AT-23: the same random statements run on four tables at once, of
// plain SQLite and, in one store, resident=all, resident=keys and durable=false,
// with checkpoints, compactions and restarts between. After each step rows, order,
// index hits and errors are equal. A restart empties the volatile table, which is then
// filled again from one of the others.
func TestResidencyOracle(t *testing.T) {
	steps := *residencySteps
	if steps == 0 {
		if steps = 10_000; testing.Short() {
			steps = 600
		}
	}
	first := *residencySeed
	if first == 0 {
		first = rand.Uint64()>>1 + 1
	}
	for seed := first; seed < first+uint64(*residencySeeds); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Logf("repeat with -residency.seed=%d -residency.seeds=1 -residency.steps=%d", seed, steps)
			o := newResidencyOracle(t, seed)
			for n := range steps {
				o.step(n)
			}
			if o.tx != nil {
				o.run("COMMIT", false)
			}
			o.restart()
			if o.count["compact"] == 0 || o.count["restart"] == 0 {
				t.Errorf("no compaction or no restart: %s", countsOf(o.count))
			}
			t.Logf("%d steps: %s", steps, countsOf(o.count))
		})
	}
}

func countsOf(count map[string]int) string {
	var out []string
	for k, n := range count {
		out = append(out, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

type residencyOracle struct {
	t      *testing.T
	rng    *rand.Rand
	native *sql.Conn
	s      *Store
	conn   *sql.Conn
	count  map[string]int
	tx     []string // open savepoints, not nil in a transaction
}

// residencyTables are the tables in the store; the first one is the model that
// is compared with plain SQLite.
var residencyTables = []string{"r_all", "r_keys", "r_volatile"}

func newResidencyOracle(t *testing.T, seed uint64) *residencyOracle {
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
	shards := []string{"1", "3"}[seed%2]
	o := &residencyOracle{t: t, rng: rand.New(rand.NewPCG(seed, 15)), native: native, s: Open(t, "sync=off&generation_size=16KiB&shards="+shards), count: map[string]int{}}
	o.connect()
	t.Cleanup(func() { o.conn.Close() })
	const columns = "id INTEGER PRIMARY KEY, u TEXT UNIQUE, a INT, b TEXT COLLATE NOCASE, c, UNIQUE(a, b)"
	for table, text := range map[string]string{
		"r_native": "CREATE TABLE r_native(" + columns + ")", "r_all": "CREATE VIRTUAL TABLE r_all USING tidemark(" + columns + ", resident=all)",
		"r_keys":     "CREATE VIRTUAL TABLE r_keys USING tidemark(" + columns + ", resident=keys)",
		"r_volatile": "CREATE VIRTUAL TABLE r_volatile USING tidemark(" + columns + ", durable=false)",
	} {
		on := o.conn
		if table == "r_native" {
			on = native
		}
		for _, text := range []string{text, "CREATE INDEX " + table + "_c ON " + table + "(c, a)"} {
			if _, err := on.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
	}
	return o
}

func (o *residencyOracle) connect() {
	o.t.Helper()
	var err error
	if o.conn, err = o.s.DB.Conn(o.t.Context()); err != nil {
		o.t.Fatal(err)
	}
}

// run runs a statement, with % for the name of the table, on all tables; inStore
// says that it is one of the store as a whole.
func (o *residencyOracle) run(text string, each bool) {
	o.t.Helper()
	exec := func(on *sql.Conn, table string) string {
		res, err := on.ExecContext(o.t.Context(), strings.ReplaceAll(text, "%", table))
		if err != nil {
			return fmt.Sprintf("error %d", code(err))
		}
		if !each {
			return "done"
		}
		n, err := res.RowsAffected()
		if err != nil {
			o.t.Fatal(err)
		}
		return fmt.Sprintf("%d rows", n)
	}
	want := exec(o.native, "r_native")
	if !each {
		if got := exec(o.conn, ""); got != want {
			o.t.Fatalf("%s: %s, plain SQLite says %s", text, got, want)
		}
		return
	}
	for _, table := range residencyTables {
		if got := exec(o.conn, table); got != want {
			o.t.Fatalf("%s: %s of %s, plain SQLite says %s", text, got, table, want)
		}
	}
}

// compare runs a query on all tables.
func (o *residencyOracle) compare(text string, tables ...string) {
	o.t.Helper()
	read := func(on *sql.Conn, table string) string {
		rows, err := on.QueryContext(o.t.Context(), strings.ReplaceAll(text, "%", table))
		if err != nil {
			o.t.Fatalf("%s: %v", text, err)
		}
		defer rows.Close()
		out, err := readRows(rows)
		if err != nil {
			o.t.Fatalf("%s, of %s: %v", text, table, err)
		}
		return strings.Join(out, "\n")
	}
	want := read(o.native, "r_native")
	for _, table := range tables {
		if got := read(o.conn, table); got != want {
			o.t.Fatalf("%s, of %s:\n%s\nplain SQLite:\n%s", text, table, got, want)
		}
	}
}

func (o *residencyOracle) text() string {
	return []string{"NULL", "''", "'t'", "'T'", "'longer than that'"}[o.rng.IntN(5)]
}

// change is a random statement that writes.
func (o *residencyOracle) change() string {
	id, u, a := o.rng.IntN(60), o.rng.IntN(50), o.rng.IntN(30)
	key := fmt.Sprintf("'u%d'", u)
	or := []string{"", "", " OR IGNORE", " OR REPLACE"}[o.rng.IntN(4)]
	switch n := o.rng.IntN(20); {
	case n < 6:
		return fmt.Sprintf("INSERT%s INTO %% VALUES(%d, %s, %d, %s, x'%02x')", or, id, key, a, o.text(), a)
	case n < 8:
		return fmt.Sprintf("INSERT%s INTO %%(u, a) VALUES('n%d', NULL), (%s, %d)", or, o.rng.IntN(200), key, a)
	case n < 11:
		return fmt.Sprintf("UPDATE %% SET c = %d.5 WHERE id = %d", a, id)
	case n < 12:
		return fmt.Sprintf("UPDATE%s %% SET u = %s WHERE id = %d", or, key, id)
	case n < 14:
		return fmt.Sprintf("UPDATE%s %% SET a = a + 100, b = %s WHERE u = %s", or, o.text(), key)
	case n < 15:
		return fmt.Sprintf("UPDATE %% SET c = c || 'x' WHERE a < %d", a)
	case n < 16:
		return fmt.Sprintf("UPDATE%s %% SET id = %d WHERE id = %d", or, o.rng.IntN(60), id)
	case n < 18:
		return fmt.Sprintf("DELETE FROM %% WHERE id = %d", id)
	}
	return fmt.Sprintf("DELETE FROM %% WHERE a = %d OR u > 'u%d' AND id > 70", a, u)
}

func (o *residencyOracle) step(n int) {
	o.t.Helper()
	switch k := o.rng.IntN(100); {
	case k < 6 && o.tx == nil:
		o.count["transaction"]++
		o.run("BEGIN", false)
		o.tx = []string{}
	case k < 8 && o.tx != nil:
		name := fmt.Sprintf("s%d", n)
		o.run("SAVEPOINT "+name, false)
		o.tx = append(o.tx, name)
	case k < 12 && len(o.tx) > 0:
		o.count["rollback to"]++
		o.run("ROLLBACK TO "+o.tx[len(o.tx)-1], false)
	case k < 25 && o.tx != nil:
		end := []string{"COMMIT", "COMMIT", "ROLLBACK"}[o.rng.IntN(3)]
		o.count[end]++
		o.run(end, false)
		o.tx = nil
	case (k == 96 || k == 97) && o.tx == nil:
		o.job("compact")
		// Of files that are kept, a tenth may be superseded.
		if n := one(o.t, o.conn, "SELECT max(0, sum(iif(name = 'log_garbage_bytes', value, -value / 10))) FROM tidemark_stats WHERE name IN ('log_garbage_bytes', 'log_used_bytes')"); n != 0 {
			o.t.Errorf("%d bytes of garbage behind a compaction", n)
		}
		if o.rng.IntN(2) == 0 { // at once, so that all is read from the base
			o.restart()
		}
	case k == 98 && o.tx == nil:
		o.job("checkpoint")
	case k == 99 && o.tx == nil:
		o.restart()
	default:
		o.count["change"]++
		o.run(o.change(), true)
	}
	o.compare("SELECT * FROM % ORDER BY id", residencyTables...)
	o.compare([]string{
		"SELECT * FROM %", "SELECT count(*), min(id), max(id), max(u), min(a) FROM %", "SELECT * FROM % ORDER BY id DESC LIMIT 5",
		fmt.Sprintf("SELECT * FROM %% WHERE id = %d", o.rng.IntN(60)), fmt.Sprintf("SELECT * FROM %% WHERE u = 'u%d'", o.rng.IntN(50)),
		fmt.Sprintf("SELECT id, c FROM %% WHERE c > %d ORDER BY c, a, id", o.rng.IntN(30)),
		fmt.Sprintf("SELECT * FROM %% WHERE a BETWEEN %d AND 40 ORDER BY a, b, id", o.rng.IntN(30)),
		"SELECT b, count(*), group_concat(u) FROM (SELECT * FROM % ORDER BY id) GROUP BY b ORDER BY b",
	}[o.rng.IntN(8)], residencyTables...)
}

// job has the store do a piece of work, of which plain SQLite knows nothing.
func (o *residencyOracle) job(kind string) {
	o.t.Helper()
	o.count[kind]++
	if _, err := o.conn.ExecContext(o.t.Context(), "INSERT INTO tidemark_jobs(kind) VALUES(?)", kind); err != nil {
		o.t.Fatalf("%s: %v", kind, err)
	}
}

// restart opens the store anew.
func (o *residencyOracle) restart() {
	o.t.Helper()
	o.count["restart"]++
	o.conn.Close()
	o.s.Reopen()
	o.connect()
	o.compare("SELECT * FROM %", "r_all", "r_keys")
	if n := one(o.t, o.conn, "SELECT count(*) FROM r_volatile"); n != 0 {
		o.t.Fatalf("%d rows of a volatile table after a restart", n)
	}
	if _, err := o.conn.ExecContext(o.t.Context(), "INSERT INTO r_volatile SELECT * FROM r_keys"); err != nil {
		o.t.Fatal(err)
	}
	o.compare("SELECT * FROM %", residencyTables...)
	o.s.Check()
}

// one reads a number.
func one(t testing.TB, conn *sql.Conn, text string) (n int) {
	t.Helper()
	if err := conn.QueryRowContext(t.Context(), text).Scan(&n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}
