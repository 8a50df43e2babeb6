package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestAsOfBesideWriters: readers of old states, on connections of their own and with
// at=, see each state whole, whatever is written, compacted, named and deleted
// meanwhile; or they are told that it is gone.
func TestAsOfBesideWriters(t *testing.T) {
	path := t.TempDir()
	db := openTest(t, Config{Path: path, Sync: "off", GenerationSize: 8 << 10})
	if _, err := db.Exec(`CREATE TABLE t(id INTEGER PRIMARY KEY, v INT, pad TEXT); CREATE INDEX tv ON t(v);
		WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM g WHERE n<100) INSERT INTO t SELECT n, 0, 'pad' FROM g`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const names = 2
	rounds := 6
	if testing.Short() {
		rounds = 3
	}
	var wg sync.WaitGroup
	gone := func(err error) bool {
		return ctx.Err() != nil || strings.Contains(err.Error(), "no such branch point") || errors.Is(err, ErrBusy)
	}
	for range 3 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprint("bp", n%names)
				var rows, values, least, most, indexed int
				// All rows of a state have one value.
				err := db.QueryRowContext(ctx, `SELECT count(*), count(DISTINCT v), min(v), max(v), (SELECT count(*) FROM t(?1) i WHERE i.v=(SELECT v FROM t(?1) WHERE id=50)) FROM t(?1)`, name).
					Scan(&rows, &values, &least, &most, &indexed)
				switch {
				case err != nil && !gone(err):
					t.Errorf("%s: %v", name, err)
				case err == nil && (rows != 100 || values != 1 || least != most || indexed != 100):
					t.Errorf("%s: %d rows of %d values, %d to %d, %d by the index", name, rows, values, least, most, indexed)
				}
			}
		})
	}
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			connector, err := NewConnector(Config{Path: path, At: fmt.Sprint("bp", n%names)})
			if err != nil {
				t.Error(err)
				return
			}
			old := sql.OpenDB(connector)
			var rows, values int
			err = old.QueryRowContext(ctx, "SELECT count(*), count(DISTINCT v) FROM t").Scan(&rows, &values)
			if err != nil && !gone(err) || err == nil && (rows != 100 || values != 1) {
				t.Errorf("at=bp%d: %d rows of %d values, %v", n%names, rows, values, err)
			}
			if err := old.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	for n := 1; n <= rounds; n++ {
		name := fmt.Sprint("bp", n%names)
		for _, query := range []string{
			"UPDATE t SET v=" + fmt.Sprint(n), "DELETE FROM tidemark_branch_points WHERE name='" + name + "'",
			"INSERT INTO tidemark_branch_points(name) VALUES('" + name + "')", []string{"INSERT INTO tidemark_jobs(kind) VALUES('compact')", "DELETE FROM t WHERE id>100", "INSERT INTO tidemark_jobs(kind) VALUES('gc')"}[n%3],
		} {
			if _, err := db.ExecContext(ctx, query); err != nil {
				t.Errorf("%s: %v", query, err)
			}
		}
	}
	cancel()
	wg.Wait()
	for n := rounds - names + 1; n <= rounds; n++ {
		var rows, v int
		if err := db.QueryRow("SELECT count(*), max(v) FROM t(?)", fmt.Sprint("bp", n%names)).Scan(&rows, &v); err != nil || rows != 100 || v != n {
			t.Errorf("bp%d: %d rows of %d, want %d, %v", n%names, rows, v, n, err)
		}
	}
}
