package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pastStats are the counters of old states: tables loaded, let go of, bytes.
func pastStats(t *testing.T, db *sql.DB) (loaded, dropped, bytes int) {
	t.Helper()
	const query = `SELECT max(iif(name='past_tables_loaded', value, 0)), max(iif(name='past_tables_dropped', value, 0)), max(iif(name='past_memory', value, 0)) FROM tidemark_stats`
	if err := db.QueryRow(query).Scan(&loaded, &dropped, &bytes); err != nil {
		t.Fatal(err)
	}
	return loaded, dropped, bytes
}

// TestPastTables: of an old state the tables are loaded that statements read, as a
// function or through at=; counting rows reads none. A statement's context ends that.
func TestPastTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path, Compact: "off"})
	for n := range 4 {
		for _, query := range []string{
			fmt.Sprintf(`CREATE TABLE t%d(id INTEGER PRIMARY KEY, k TEXT UNIQUE, v)`, n),
			fmt.Sprintf(`WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<300) INSERT INTO t%d SELECT i, 'k'||i, %d*i FROM c`, n, n),
		} {
			if _, err := db.Exec(query); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, query := range []string{`INSERT INTO tidemark_branch_points(name) VALUES('then')`, `DELETE FROM t1`, `DROP TABLE t3`} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	old := openTest(t, Config{Path: path, At: "then"})
	loaded := 0
	for i, step := range []struct {
		db    *sql.DB
		query string
		want  string
		loads int
	}{
		{db, `SELECT count(*) FROM t1('then')`, "300", 0},
		{old, `SELECT count(*) FROM t3`, "300", 0},
		{old, `SELECT name FROM sqlite_schema WHERE type='table' AND name LIKE 't_' ORDER BY name DESC LIMIT 1`, "t3", 0},
		{db, `SELECT v FROM t1('then') WHERE k='k7'`, "7", 1},
		{old, `SELECT v FROM t1 WHERE k='k8'`, "8", 0},
		{old, `SELECT sum(v) FROM t3`, "135450", 1},
		{db, `SELECT a.v + b.v FROM t1('then') a JOIN t2('then') b ON a.k = b.k WHERE a.id = 10`, "30", 1},
	} {
		if _, got := table(t, step.db, step.query); !slices.Equal(got, []string{step.want}) {
			t.Errorf("%s: %q, want %s", step.query, got, step.want)
		}
		loaded += step.loads
		if n, dropped, _ := pastStats(t, db); n != loaded || dropped != 0 {
			t.Errorf("step %d, %s: %d tables were loaded, want %d; %d let go of", i, step.query, n, loaded, dropped)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := old.QueryRowContext(ended, `SELECT v FROM t0 WHERE id=1`).Scan(new(int)); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	if n, _, bytes := pastStats(t, db); n != loaded || bytes == 0 {
		t.Errorf("%d tables are loaded with %d bytes", n, bytes)
	}
}

// TestPastTablesWithinTheBudget: an old state that is larger than the budget is read,
// and a table of it that does not fit alone is refused with what to do.
func TestPastTablesWithinTheBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path, Compact: "off"})
	long := strings.Repeat("x", 2000)
	if _, err := db.Exec(`CREATE TABLE big(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE keyed(id INTEGER PRIMARY KEY, k TEXT UNIQUE);
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<2000) INSERT INTO big SELECT i, ?||i FROM c;
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<2000) INSERT INTO keyed SELECT i, ?||i FROM c;
		INSERT INTO tidemark_branch_points(name) VALUES('then'); DROP TABLE big; DROP TABLE keyed; INSERT INTO tidemark_jobs(kind) VALUES('compact')`, long, long); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	old := openTest(t, Config{Path: path, At: "then", MemoryBudget: 1 << 20})
	if _, got := table(t, old, `SELECT count(*), sum(length(v)), max(v) > min(v) FROM (SELECT * FROM big ORDER BY id)`); !slices.Equal(got, []string{"2000|4006893|1"}) {
		t.Errorf("%q", got)
	}
	err := old.QueryRow(`SELECT id FROM keyed WHERE k = ?`, long+"7").Scan(new(int))
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrNoMem) || e.Table != "keyed" || !strings.Contains(e.Hint, "memory_budget") {
		t.Errorf("a table whose index does not fit: %v", err)
	}
	if _, got := table(t, old, `SELECT substr(v, 2001) FROM big WHERE id = 1234`); !slices.Equal(got, []string{"1234"}) {
		t.Errorf("afterwards: %q", got)
	}
}
