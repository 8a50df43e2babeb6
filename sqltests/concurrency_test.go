package sqltests

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/driver"
)

// TestManyWriters commits from 64 goroutines and counts.
func TestManyWriters(t *testing.T) {
	s := Open(t, "busy_timeout=60s")
	s.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY, w INT, n INT, UNIQUE(w, n))")
	const writers, each = 64, 20
	var wg sync.WaitGroup
	var bad atomic.Pointer[error]
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				if _, err := s.DB.Exec("INSERT INTO t(w, n) VALUES(?,?)", w, n); err != nil {
					bad.Store(&err)
					return
				}
			}
		})
	}
	wg.Wait()
	if e := bad.Load(); e != nil {
		t.Fatal(*e)
	}
	var n, d int
	if err := s.DB.QueryRow("SELECT count(*), count(DISTINCT w*1000+n) FROM t").Scan(&n, &d); err != nil || n != writers*each || d != n {
		t.Fatal(n, d, err)
	}
}

// TestIncrement loses no increment, whatever way transactions are opened.
func TestIncrement(t *testing.T) {
	for _, opts := range []string{"busy_timeout=60s", "busy_timeout=60s&txlock=immediate"} {
		t.Run(opts, func(t *testing.T) {
			s := Open(t, opts)
			s.Exec("CREATE TABLE c(id INTEGER PRIMARY KEY, n INT)")
			s.Exec("INSERT INTO c VALUES(1, 0)")
			var wg sync.WaitGroup
			var done atomic.Int64
			for range 8 {
				wg.Go(func() {
					for range 25 {
						for {
							err := increment(s.DB)
							if err == nil {
								done.Add(1)
								break
							}
							if !errors.Is(err, driver.ErrBusy) {
								t.Error(err)
								return
							}
						}
					}
				})
			}
			wg.Wait()
			var n int64
			if err := s.DB.QueryRow("SELECT n FROM c").Scan(&n); err != nil || n != done.Load() || n != 200 {
				t.Fatalf("n = %d, %d done, %v", n, done.Load(), err)
			}
		})
	}
}

func increment(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var n int64
	if err := tx.QueryRow("SELECT n FROM c WHERE id = 1").Scan(&n); err != nil {
		return err
	}
	if _, err := tx.Exec("UPDATE c SET n = ? WHERE id = 1", n+1); err != nil {
		return err
	}
	return tx.Commit()
}

// TestSnapshotIsolation reads the same rows throughout a transaction while
// another connection writes, and refuses to write on an old snapshot.
func TestSnapshotIsolation(t *testing.T) {
	ctx := context.Background()
	s := Open(t, "busy_timeout=100ms")
	s.Exec("CREATE TABLE t(a)")
	s.Exec("INSERT INTO t VALUES(1)")
	for _, o := range []*sql.TxOptions{nil, {ReadOnly: true}, {Isolation: sql.LevelSerializable}, {Isolation: sql.LevelSnapshot, ReadOnly: true}} {
		tx, err := s.DB.BeginTx(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		first := dump(t, tx, "SELECT a FROM t")
		s.Exec("INSERT INTO t VALUES(2)")
		if got := dump(t, tx, "SELECT a FROM t"); !slices.Equal(first, got) {
			t.Errorf("%v: %v became %v", o, first, got)
		}
		_, err = tx.Exec("INSERT INTO t VALUES(3)")
		switch {
		case o != nil && o.ReadOnly:
			if !errors.Is(err, driver.ErrReadOnly) {
				t.Errorf("write in a read-only transaction: %v", err)
			}
		case !errors.Is(err, driver.ErrBusySnapshot):
			t.Errorf("write on an old snapshot: %v", err)
		}
		tx.Rollback()
	}
	for _, l := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelReadUncommitted, sql.LevelRepeatableRead, sql.LevelLinearizable, sql.LevelWriteCommitted, sql.LevelSnapshot} {
		if tx, err := s.DB.BeginTx(ctx, &sql.TxOptions{Isolation: l}); err == nil {
			t.Errorf("%v accepted", l)
			tx.Rollback()
		}
	}
}

// TestSchemaUnderLoad changes the schema on one connection while others hold
// open rows, prepared statements and transactions; some changes are rolled back.
func TestSchemaUnderLoad(t *testing.T) {
	ctx := context.Background()
	s := Open(t, "busy_timeout=60s")
	s.Exec("CREATE TABLE base(id INTEGER PRIMARY KEY, v TEXT)")
	for i := range 50 {
		s.Exec("INSERT INTO base(v) VALUES(?)", fmt.Sprint(i))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var reads atomic.Int64
	for range 4 {
		wg.Go(func() {
			c, err := s.DB.Conn(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			st, err := c.PrepareContext(ctx, "SELECT count(*), min(v) FROM base WHERE v >= ?")
			if err != nil {
				t.Error(err)
				return
			}
			defer st.Close()
			for {
				select {
				case <-stop:
					return
				default:
				}
				rows, err := c.QueryContext(ctx, "SELECT id FROM base ORDER BY id")
				if err != nil {
					t.Error(err)
					return
				}
				n := 0
				for rows.Next() {
					n++
					if n == 10 { // a second statement while rows are open
						var k int
						var m sql.NullString
						if err := st.QueryRow("").Scan(&k, &m); err != nil || k < 50 {
							t.Errorf("prepared: %d %v", k, err)
						}
					}
				}
				if err := rows.Close(); err != nil || n < 50 {
					t.Errorf("%d rows, %v", n, err)
					return
				}
				tx, err := c.BeginTx(ctx, nil)
				if err != nil {
					t.Error(err)
					return
				}
				a := dump(t, tx, "SELECT count(*) FROM base")
				b := dump(t, tx, "SELECT count(*) FROM base")
				if !slices.Equal(a, b) {
					t.Errorf("%v became %v", a, b)
				}
				tx.Rollback()
				reads.Add(1)
			}
		})
	}
	for i := range 60 {
		name := fmt.Sprintf("x%d", i%7)
		tx, err := s.DB.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []string{
			"CREATE TABLE IF NOT EXISTS " + name + "(a INTEGER PRIMARY KEY, b UNIQUE)",
			"INSERT OR IGNORE INTO " + name + "(b) VALUES(1),(2),(3)",
			"CREATE INDEX " + name + "_b ON " + name + "(b DESC)",
			"INSERT INTO base(v) VALUES('" + name + "')",
			"DROP INDEX " + name + "_b",
		} {
			if _, err := tx.Exec(q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		if i%5 == 4 {
			if _, err := tx.Exec("DROP TABLE " + name); err != nil {
				t.Fatal(err)
			}
		}
		if i%3 == 0 {
			err = tx.Rollback()
		} else {
			err = tx.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	if reads.Load() == 0 {
		t.Error("no reader ran")
	}
	want := dump(t, s.DB, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2")
	s.Reopen()
	if got := dump(t, s.DB, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2"); !slices.Equal(want, got) {
		t.Errorf("schema after reopening:\n%s\nbefore:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPreparedSurvivesDDL uses one prepared statement across schema changes of
// another connection.
func TestPreparedSurvivesDDL(t *testing.T) {
	ctx := context.Background()
	s := Open(t, "")
	s.Exec("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)")
	a, err := s.DB.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ins, err := a.PrepareContext(ctx, "INSERT INTO t(b) VALUES(?)")
	if err != nil {
		t.Fatal(err)
	}
	defer ins.Close()
	sel, err := a.PrepareContext(ctx, "SELECT count(*) FROM t WHERE b = ?")
	if err != nil {
		t.Fatal(err)
	}
	defer sel.Close()
	want := 0
	for i, ddl := range []string{"", "CREATE INDEX t_b ON t(b)", "CREATE TABLE u(x)", "DROP INDEX t_b", "CREATE UNIQUE INDEX t_ab ON t(a, b)", "DROP TABLE t; CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c DEFAULT 7)", "CREATE VIEW v AS SELECT * FROM t"} {
		if ddl != "" {
			s.Exec(ddl)
		}
		if strings.HasPrefix(ddl, "DROP TABLE") {
			want = 0
		}
		if _, err := ins.Exec("x"); err != nil {
			t.Fatalf("step %d after %q: %v", i, ddl, err)
		}
		want++
		var n int
		if err := sel.QueryRow("x").Scan(&n); err != nil || n != want {
			t.Fatalf("step %d after %q: %d rows, want %d, %v", i, ddl, n, want, err)
		}
	}
	if got := dump(t, s.DB, "SELECT c FROM t"); len(got) == 0 || got[0] != "int64:7" {
		t.Errorf("default of the new table: %v", got)
	}
}
