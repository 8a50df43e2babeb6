package driver

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine"
)

// fillUp inserts rows one by one until one is refused, and returns how many fit.
func fillUp(t *testing.T, db execer, text string) (rows int, err error) {
	t.Helper()
	for {
		if _, err := db.ExecContext(t.Context(), text, rows+1); err != nil {
			return rows, err
		}
		if rows++; rows > 1_000_000 {
			t.Fatal("a million rows fit")
		}
	}
}

// expectNoMem checks the error of a write that does not fit.
func expectNoMem(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	expectRefusal(t, what, err, ErrNoMem, append(words, "out of memory", "rows in", "1048576 bytes", "memory_budget")...)
	var typed *Error
	if !errors.As(err, &typed) || typed.Code != 7 || typed.Table == "" || typed.Hint == "" {
		t.Errorf("%s: %#v", what, err)
	}
}

// TestMemoryBudget: ENG-60, 61, ENG-AT-35: the row that does not fit is refused
// and leaves nothing, the transaction goes on, and what is deleted makes room.
func TestMemoryBudget(t *testing.T) {
	for _, tc := range []struct {
		name, dsn, options string
		words              []string
	}{
		{"durable", "dir", "durable=true", []string{"resident=keys"}},
		{"volatile", "dir", "durable=false", []string{"max_rows"}},
		{"keys", "dir", "resident=keys", []string{"map and the indexes", "alone exceed", "delete rows"}},
		{"ephemeral", "?ephemeral=1", "durable=true", []string{"max_rows"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dsn := strings.Replace(tc.dsn, "dir", filepath.Join(t.TempDir(), "store?"), 1) + "&memory_budget=1MiB&sync=off"
			db := memoryDB(t, dsn)
			store, err := Raw(testConn(t, db))
			if err != nil {
				t.Fatal(err)
			}
			events := store.Events(t.Context())
			mustExec(t, db, `CREATE VIRTUAL TABLE t USING tidemark(id INTEGER PRIMARY KEY, k TEXT UNIQUE, n INT, `+tc.options+`); CREATE INDEX tn ON t(n);
				CREATE VIRTUAL TABLE small USING tidemark(id INTEGER PRIMARY KEY, v TEXT, `+tc.options+`); INSERT INTO small VALUES(1, 'x')`)
			c := testConn(t, db)
			for _, text := range []string{"BEGIN", "INSERT INTO small VALUES(2, 'before')"} {
				mustExec(t, c, text)
			}
			rows, err := fillUp(t, c, "INSERT INTO t VALUES(?1, 'key ' || ?1, ?1 % 10)")
			expectNoMem(t, "insert", err, append(tc.words, "table t has", fmt.Sprint(rows))...)
			if rows < 1000 {
				t.Errorf("%d rows fit", rows)
			}
			// The transaction goes on; a row for a row fits again.
			expect(t, c, rows, "SELECT count(*) FROM t")
			mustExec(t, c, "DELETE FROM t WHERE id = 5; INSERT INTO t VALUES(5, 'key 5', 5)")
			// A shorter row than the one that was refused might fit.
			_, err = c.ExecContext(t.Context(), "INSERT INTO t VALUES(?1, 'key ' || ?1, ?1 % 10)", rows+1)
			expectNoMem(t, "one more", err, tc.words...)
			_, err = c.ExecContext(t.Context(), "UPDATE small SET v = printf('%.*c', 50000, 'v')")
			expectNoMem(t, "update", err, append(tc.words, "for table small", "table t has")...)
			mustExec(t, c, "COMMIT")
			expect(t, db, fmt.Sprintf("%d x before", rows), "SELECT (SELECT count(*) FROM t)||' '||group_concat(v, ' ') FROM small")
			expect(t, db, "ok", "PRAGMA integrity_check")
			expect(t, db, int64(rows), "SELECT count(*) FROM t INDEXED BY tn WHERE n >= 0")
			if err := store.Check(t.Context(), func(f Finding) { t.Errorf("check: %v", f) }, nil); err != nil {
				t.Error(err)
			}
			// What is published adds up.
			estimate := one[int64](t, db, "SELECT value FROM tidemark_stats WHERE name = 'memory_estimate'")
			expect(t, db, estimate, "SELECT sum(resident_bytes) FROM tidemark_tables")
			expect(t, db, 1<<20, "SELECT value FROM tidemark_stats WHERE name = 'memory_budget'")
			expect(t, db, "1MiB dsn", "SELECT value||' '||source FROM tidemark_settings WHERE name = 'memory_budget'")
			if least := int64(1<<20 - 16<<10); tc.name != "keys" && (estimate < least || estimate > 1<<20) {
				t.Errorf("an estimate of %d bytes", estimate)
			}
			mustExec(t, db, "DELETE FROM t WHERE id > 100; INSERT INTO t SELECT id + 1000, k || '+', n FROM t; UPDATE small SET v = printf('%.*c', 50000, 'v')")
			n := 0
			for more := true; more; {
				select {
				case e := <-events:
					if e.Kind == EventMemoryFull {
						n++
						if e.Table != "t" || !errors.Is(e.Err, engine.ErrNoMemory) || strings.Contains(e.String(), "\n") {
							t.Errorf("event %v", e)
						}
					}
				default:
					more = false
				}
			}
			if n != 1 {
				t.Errorf("%d events of a full memory", n)
			}
		})
	}
}

// TestMemoryBudgetOfStatements: a statement of many rows goes as a whole, an index
// that does not fit is not made, and savepoints give back what they took.
func TestMemoryBudgetOfStatements(t *testing.T) {
	db := memoryDB(t, "?ephemeral=1&memory_budget=1MiB")
	mustExec(t, db, "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 600) INSERT INTO t SELECT n, printf('%.*c', 1000, 'v') FROM c")
	before := one[int64](t, db, "SELECT sum(resident_bytes) FROM tidemark_tables")
	_, err := db.Exec("INSERT INTO t SELECT id + 1000, v FROM t")
	expectNoMem(t, "INSERT SELECT", err, "table t has")
	expect(t, db, 600, "SELECT count(*) FROM t")
	expect(t, db, before, "SELECT sum(resident_bytes) FROM tidemark_tables")
	_, err = db.Exec("CREATE INDEX tv ON t(v)")
	expectNoMem(t, "CREATE INDEX", err, "table t has")
	mustExec(t, db, "CREATE INDEX ti ON t(id)")
	c := testConn(t, db)
	mustExec(t, c, "BEGIN; SAVEPOINT s; INSERT INTO t SELECT id + 1000, v FROM t WHERE id < 200; ROLLBACK TO s; INSERT INTO t SELECT id + 1000, v FROM t WHERE id < 200; ROLLBACK TO s; DROP INDEX ti; INSERT INTO t SELECT id + 1000, v FROM t WHERE id < 200; COMMIT")
	expect(t, db, 799, "SELECT count(*) FROM t")
	expect(t, db, one[int64](t, db, "SELECT value FROM tidemark_stats WHERE name = 'memory_estimate'"), "SELECT sum(resident_bytes) FROM tidemark_tables")
	mustExec(t, db, "DROP TABLE t")
	expect(t, db, 0, "SELECT value FROM tidemark_stats WHERE name = 'memory_estimate'")
}

// TestMemoryBudgetAtOpen: ENG-AT-36: a log that does not fit is refused by the
// same line, and opens with a larger budget.
func TestMemoryBudgetAtOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path, Sync: "off"})
	mustExec(t, db, "CREATE TABLE small(a); CREATE TABLE big(id INTEGER PRIMARY KEY, v TEXT UNIQUE); WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 20000) INSERT INTO big SELECT n, printf('%040d', n) FROM c; INSERT INTO small SELECT id FROM big LIMIT 10")
	estimate := one[int64](t, db, "SELECT value FROM tidemark_stats WHERE name = 'memory_estimate'")
	mustClose(t, db)
	for _, size := range []int64{1 << 20, estimate * 8 / 10} { // rows alone are too much; with the index
		connector, err := NewConnector(Config{Path: path, MemoryBudget: size})
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		err = db.PingContext(t.Context())
		expectRefusal(t, "open", err, ErrNoMem, "out of memory while the log is read", "table big has 20000 rows", fmt.Sprint(size), "memory_budget", "raise memory_budget", "resident=keys")
		var typed *Error
		if !errors.As(err, &typed) || typed.Op != "open" || typed.Table != "big" {
			t.Errorf("%#v", err)
		}
		mustClose(t, db)
	}
	db = openTest(t, Config{Path: path, MemoryBudget: estimate + estimate/10})
	expect(t, db, 20000, "SELECT count(*) FROM big")
	// An engine has one budget.
	other, err := NewConnector(Config{Path: path, MemoryBudget: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	second := sql.OpenDB(other)
	expectRefusal(t, "second open", second.PingContext(t.Context()), ErrMisuse, "memory_budget", "64MiB")
	mustClose(t, second)
	second = openTest(t, Config{Path: path})
	expect(t, second, "process", "SELECT source FROM tidemark_settings WHERE name = 'memory_budget'")
}

// TestMemoryBudgetUnset: without the key the budget is the machine's.
func TestMemoryBudgetUnset(t *testing.T) {
	db := memoryDB(t, "")
	source := one[string](t, db, "SELECT source FROM tidemark_settings WHERE name = 'memory_budget'")
	if !strings.Contains(source, "cgroup") && !strings.Contains(source, "MemAvailable") && !strings.Contains(source, "no limit") {
		t.Errorf("source %q", source)
	}
	expect(t, db, !strings.Contains(source, "no limit"), "SELECT value >= 1048576 FROM tidemark_stats WHERE name = 'memory_budget'")
}

// heapInUse is what is in use once the garbage is gone: objects, and the pages
// they lie in.
func heapInUse() (objects, pages int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.HeapInuse)
}

// TestEstimateOfMemory: ENG-37, ENG-AT-37: what tidemark_tables says of a table is
// within a tenth of the memory it takes, of its objects as it was filled, and after a
// reopen of the pages, too, among which filling leaves holes; a transaction on a resident=keys table holds its rows until it is in the log.
func TestEstimateOfMemory(t *testing.T) {
	const rows = 100_000
	for name, columns := range map[string]string{
		"int":  "id INTEGER PRIMARY KEY, a INT, b INT",
		"text": "id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT",
		"wide": "id INTEGER PRIMARY KEY, a TEXT UNIQUE, b TEXT, c TEXT",
	} {
		t.Run(name, func(t *testing.T) {
			value := "n * 7919"
			if name != "int" {
				value = "printf('%040x', n * 7919)"
			}
			fill := "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?1) INSERT INTO t SELECT n" + strings.Repeat(", "+value, strings.Count(columns, ",")) + " FROM c"
			path := filepath.Join(t.TempDir(), "store")
			db := openTest(t, Config{Path: path, Sync: "off"})
			mustExec(t, db, "CREATE TABLE t("+columns+"); CREATE TABLE warm(a); INSERT INTO warm VALUES(1)")
			var objects, pages int64
			compare := func(when string) {
				t.Helper()
				estimate := one[int64](t, db, "SELECT resident_bytes FROM tidemark_tables WHERE name = 't'")
				o, p := heapInUse()
				t.Logf("%s: estimate %d, objects %d, pages %d", when, estimate, o-objects, p-pages)
				actual := o - objects
				if when == "opened" {
					actual = p - pages
				}
				off := float64(estimate)/float64(actual) - 1
				if math.Abs(off) > 0.10 {
					t.Errorf("%s: estimate %d, in use %d: %+.1f%%", when, estimate, actual, 100*off)
				}
			}
			objects, pages = heapInUse()
			if _, err := db.Exec(fill, rows); err != nil {
				t.Fatal(err)
			}
			compare("filled")
			mustClose(t, db)
			objects, pages = heapInUse()
			db = openTest(t, Config{Path: path, Sync: "off"})
			expect(t, db, 1, "SELECT count(*) FROM warm")
			compare("opened")
		})
	}
	t.Run("keys", func(t *testing.T) {
		db := openTest(t, Config{Sync: "off"})
		mustExec(t, db, "CREATE VIRTUAL TABLE t USING tidemark(id INTEGER PRIMARY KEY, v TEXT, resident=keys)")
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, tx, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 5000) INSERT INTO t SELECT n, printf('%0200d', n) FROM c")
		held := one[int64](t, tx, "SELECT resident_bytes FROM tidemark_tables")
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if kept := one[int64](t, db, "SELECT resident_bytes FROM tidemark_tables"); held < 5000*200 || kept > held/5 {
			t.Errorf("%d bytes before the commit, %d after it", held, kept)
		}
		expect(t, db, one[int64](t, db, "SELECT resident_bytes FROM tidemark_tables"), "SELECT value FROM tidemark_stats WHERE name = 'memory_estimate'")
	})
}
