package driver

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// indexStore is a store with a table of so many rows, of which an index is made by
// reading them from files: whoever reads waits for what meanwhile does first.
type indexStore struct {
	*sql.DB
	mu        sync.Mutex
	meanwhile func()
}

func openIndexStore(t *testing.T, rows int) *indexStore {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	s := &indexStore{}
	fault := vfs.NewFault(vfs.OS(dir))
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind != vfs.OpRead {
			return nil
		}
		s.mu.Lock()
		f := s.meanwhile
		s.meanwhile = nil // once, and not for what it reads itself
		s.mu.Unlock()
		if f != nil {
			f()
		}
		return nil
	})
	s.DB = openTest(t, Config{Path: dir, FS: fault, Resident: "keys", Compact: "off"})
	for _, text := range []string{"CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)", "CREATE TABLE small(a)"} {
		if _, err := s.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < ?) INSERT INTO t SELECT i, i, 'b'||i FROM n", rows)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// during lets f run while the next statement reads a row.
func (s *indexStore) during(f func()) {
	s.mu.Lock()
	s.meanwhile = f
	s.mu.Unlock()
}

// ran reports whether that has happened.
func (s *indexStore) ran() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meanwhile == nil
}

// write runs a statement of another connection that waits for no lock for long.
func (s *indexStore) write(t *testing.T, text string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := s.ExecContext(ctx, text); err != nil {
		t.Errorf("%s: %v", text, err)
	}
}

func (s *indexStore) indexes(t *testing.T) (n int) {
	t.Helper()
	if err := s.QueryRow("SELECT count(*) FROM sqlite_schema WHERE type = 'index'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCreateIndexBesideWriters: others write while the index of a large table is
// made, and the index has what they wrote.
func TestCreateIndexBesideWriters(t *testing.T) {
	s := openIndexStore(t, 3000)
	s.during(func() {
		s.write(t, "UPDATE t SET a = a + 10000 WHERE id % 100 = 0")
		s.write(t, "DELETE FROM t WHERE id % 100 = 1")
		s.write(t, "INSERT INTO t VALUES(5000, 5000, 'new')")
	})
	if _, err := s.Exec("CREATE UNIQUE INDEX t_a ON t(a DESC)"); err != nil {
		t.Fatal(err)
	}
	if !s.ran() {
		t.Fatal("nobody wrote meanwhile")
	}
	for text, want := range map[string]int{
		"SELECT count(*) FROM t WHERE a > 10000": 30, "SELECT count(*) FROM t WHERE a = 101": 0, "SELECT count(*) FROM t WHERE a = 5000": 1,
		"SELECT count(*) FROM t WHERE a = 100": 0, "SELECT count(*) FROM t WHERE a >= 0": 3000 - 30 + 1,
	} {
		var n int
		if err := s.QueryRow(text).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d, want %d, %v", text, n, want, err)
		}
	}
	var plan string
	if err := s.QueryRow("EXPLAIN QUERY PLAN SELECT * FROM t WHERE a = 7").Scan(new(int), new(int), new(int), &plan); err != nil || !strings.Contains(plan, "t_a") {
		t.Errorf("%s, %v", plan, err)
	}
	if _, err := s.Exec("INSERT INTO t VALUES(6000, 5000, '')"); !errors.Is(err, ErrConstraintUnique) {
		t.Errorf("%v", err)
	}
}

// TestCreateIndexIsUsed: no row is read while the lock is held.
func TestCreateIndexIsUsed(t *testing.T) {
	s := openIndexStore(t, 3000)
	n := 0
	var f func()
	f = func() {
		n++
		if s.write(t, "INSERT INTO small VALUES(1)"); !t.Failed() {
			s.during(f)
		}
	}
	s.during(f)
	if _, err := s.Exec("CREATE INDEX t_a ON t(a)"); err != nil {
		t.Error(err)
	}
	s.during(nil)
	if n == 0 {
		t.Error("no row was read")
	}
}

// TestCreateIndexUnique: rows that are equal are refused in SQLite's words if they
// still are when the index is there for all.
func TestCreateIndexUnique(t *testing.T) {
	for _, c := range []struct {
		name, before, during string
		refused              bool
	}{
		{"they stay", "UPDATE t SET a = 1 WHERE id = 9", "SELECT 1", true},
		{"they appear", "SELECT 1", "UPDATE t SET a = 1 WHERE id = 9", true},
		{"they go", "UPDATE t SET a = 1 WHERE id = 9", "DELETE FROM t WHERE id = 1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openIndexStore(t, 2000)
			s.write(t, c.before)
			s.during(func() { s.write(t, c.during) })
			_, err := s.Exec("CREATE UNIQUE INDEX t_a ON t(a)")
			if !s.ran() {
				t.Fatal("nobody wrote meanwhile")
			}
			if !c.refused {
				if err != nil || s.indexes(t) != 1 {
					t.Errorf("%v, %d indexes", err, s.indexes(t))
				}
				return
			}
			if !errors.Is(err, ErrConstraintUnique) || err.Error() != "UNIQUE constraint failed: t.a" || s.indexes(t) != 0 {
				t.Errorf("%v, %d indexes", err, s.indexes(t))
			}
			s.write(t, "UPDATE t SET a = id")
			s.write(t, "CREATE UNIQUE INDEX t_a ON t(a)")
		})
	}
}

// TestCreateIndexCancelled: a context that ends while the index is made leaves
// nothing of it, and nobody waits for the lock.
func TestCreateIndexCancelled(t *testing.T) {
	s := openIndexStore(t, 3000)
	ctx, cancel := context.WithCancel(t.Context())
	s.during(cancel)
	if _, err := s.ExecContext(ctx, "CREATE INDEX t_a ON t(a)"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	s.write(t, "INSERT INTO t VALUES(5000, 5000, 'new')")
	if n := s.indexes(t); n != 0 {
		t.Errorf("%d indexes", n)
	}
	s.write(t, "CREATE INDEX t_a ON t(a)")
}

// TestCreateIndexNames: what changes meanwhile decides what the statement says.
func TestCreateIndexNames(t *testing.T) {
	for _, c := range []struct{ name, during, text, want string }{
		{"the table is dropped", "DROP TABLE t", "CREATE INDEX t_a ON t(a)", "no such table: main.t"},
		{"the index is made", "CREATE INDEX t_a ON small(a)", "CREATE INDEX t_a ON t(a)", "index t_a already exists"},
		{"the index is made, and need not be", "CREATE INDEX t_a ON small(a)", "CREATE INDEX IF NOT EXISTS t_a ON t(a)", ""},
		{"another index is made", "CREATE INDEX t_b ON t(b)", "CREATE INDEX t_a ON t(a)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openIndexStore(t, 2000)
			s.during(func() { s.write(t, c.during) })
			_, err := s.Exec(c.text)
			if !s.ran() {
				t.Fatal("nobody wrote meanwhile")
			}
			if err == nil && c.want != "" || err != nil && err.Error() != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
			s.write(t, "INSERT INTO small VALUES(1)")
		})
	}
}

// TestCreateIndexInTransaction: a transaction has the lock while it makes an index
// of its rows, whoever they are seen by.
func TestCreateIndexInTransaction(t *testing.T) {
	s := openIndexStore(t, 2000)
	tx, err := s.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for _, text := range []string{"UPDATE t SET a = 1 WHERE id = 2", "DELETE FROM t WHERE id = 1", "CREATE UNIQUE INDEX t_a ON t(a)", "SAVEPOINT s",
		"CREATE INDEX t_b ON t(b)", "ROLLBACK TO s"} {
		if _, err := tx.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := s.indexes(t); n != 1 {
		t.Errorf("%d indexes", n)
	}
	// Beside rows that are open the table is locked: the index is made under the lock,
	// so that the newest state stays the one of the rows.
	conn, err := s.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	rows, err := conn.QueryContext(t.Context(), "SELECT id FROM t ORDER BY id")
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	other, err := s.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.ExecContext(t.Context(), "PRAGMA busy_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	s.during(func() {
		if _, err := other.ExecContext(t.Context(), "INSERT INTO small VALUES(1)"); !errors.Is(err, ErrBusy) {
			t.Errorf("another writer: %v", err)
		}
	})
	if _, err := conn.ExecContext(t.Context(), "CREATE INDEX t_b ON t(b)"); err == nil || err.Error() != "database table is locked" || !s.ran() {
		t.Errorf("%v", err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
}

// TestCreateIndexInMemory: a store in memory has writers, too.
func TestCreateIndexInMemory(t *testing.T) {
	connector, err := NewConnector(Config{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer mustClose(t, db)
	for _, text := range []string{
		"CREATE TABLE t(id INTEGER PRIMARY KEY, a COLLATE NOCASE)",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 3000) INSERT INTO t SELECT i, 'A'||i FROM n",
		"CREATE UNIQUE INDEX t_a ON t(a)",
	} {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	var id int
	if err := db.QueryRow("SELECT id FROM t INDEXED BY t_a WHERE a = 'a1234'").Scan(&id); err != nil || id != 1234 {
		t.Errorf("%d, %v", id, err)
	}
}
