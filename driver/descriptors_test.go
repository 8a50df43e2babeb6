package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// openFiles counts the process's descriptors of files below a directory.
func openFiles(t *testing.T, dir string) int {
	t.Helper()
	const fds = "/proc/self/fd"
	list, err := os.ReadDir(fds)
	if err != nil {
		t.Skipf("%s does not list the open files here: %v", fds, err)
	}
	n := 0
	for _, e := range list {
		if name, err := os.Readlink(filepath.Join(fds, e.Name())); err == nil && strings.HasPrefix(name, dir) {
			n++
		}
	}
	return n
}

// A statement of an sql.Conn, of which database/sql keeps no list, does not keep
// the store's files open beyond the sql.DB.
func TestOpenStatementLeavesNoFileOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	for range 2 {
		db, err := sql.Open("tidemark", dir)
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "CREATE TABLE IF NOT EXISTS t(a)")
		c, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st, err := c.PrepareContext(t.Context(), "SELECT * FROM t")
		if err != nil {
			t.Fatal(err)
		}
		if openFiles(t, dir) == 0 {
			t.Fatal("an open store has no file open")
		}
		mustClose(t, c, db)
		if n := openFiles(t, dir); n != 0 {
			t.Fatalf("%d files of the store are open after Close", n)
		}
		mustClose(t, st)
	}
}

// What is left open on a connection ends with it: no file stays open, and what is
// left fails without harm.
func TestConnCloseEndsWhatIsOpen(t *testing.T) {
	const attach = "ATTACH '%/other.db' AS other; CREATE TABLE other.o(a); INSERT INTO other.o VALUES(1),(2)"
	const temp = "CREATE TEMP TABLE own(a); INSERT INTO own VALUES(1),(2)"
	cases := []struct {
		name, before string
		texts        []string // prepared, and run twice where rows
		rows         bool
	}{
		{"statement", "", []string{"SELECT * FROM t"}, false},
		{"write", "", []string{"INSERT INTO t VALUES(7)"}, false},
		{"several in a text", "", []string{"SELECT 1; SELECT * FROM t"}, true},
		{"temporary table", temp, []string{"SELECT * FROM own", "DELETE FROM own"}, false},
		{"attached file", attach, []string{"SELECT * FROM other.o, t"}, false},
		{"rows", "", []string{"SELECT * FROM t", "SELECT * FROM t AS x, t AS y ORDER BY x.a"}, true},
		{"rows of the catalog", "", []string{"SELECT * FROM catalog.sqlite_schema, t", "SELECT * FROM tidemark_tables"}, true},
		{"rows of a temporary table", temp, []string{"SELECT * FROM own"}, true},
		{"rows of an attached file", attach, []string{"SELECT * FROM other.o, t"}, true},
		{"rows in a transaction", "BEGIN; INSERT INTO t VALUES(9)", []string{"SELECT * FROM t"}, true},
		{"rows in a transaction that writes temp", "CREATE TEMP TABLE own(a); BEGIN; INSERT INTO own VALUES(1),(2)", []string{"SELECT * FROM own, t"}, true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			root := t.TempDir()
			connector, dc := connect(t, Config{Path: filepath.Join(root, "store")})
			c := dc.(*conn)
			for _, text := range []string{"CREATE TABLE t(a); INSERT INTO t VALUES(1),(2)", strings.ReplaceAll(tc.before, "%", root)} {
				if _, err := c.ExecContext(t.Context(), text, nil); err != nil {
					t.Fatal(err)
				}
			}
			var left []interface{ Close() error }
			var open []sqldriver.Rows
			for _, text := range tc.texts {
				st, err := c.PrepareContext(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				left = append(left, st)
				for i := 0; tc.rows && i < 4; i++ {
					query := func() (sqldriver.Rows, error) { return st.(*stmt).QueryContext(t.Context(), nil) }
					if i%2 == 1 {
						query = func() (sqldriver.Rows, error) { return c.QueryContext(t.Context(), text, nil) }
					}
					r, err := query()
					if err != nil {
						t.Fatal(err)
					}
					open = append(open, r)
					if err := r.Next(make([]sqldriver.Value, len(r.Columns()))); err != nil {
						t.Fatal(err)
					}
				}
			}
			if openFiles(t, root) == 0 {
				t.Fatal("an open store has no file open")
			}
			mustClose(t, c, connector)
			if n := openFiles(t, root); n != 0 {
				t.Errorf("%d files are open after Close", n)
			}
			for _, r := range open {
				if err := r.Next(make([]sqldriver.Value, len(r.Columns()))); !errors.Is(err, ErrClosed) {
					t.Errorf("rows of a closed connection go on: %v", err)
				}
				r.(*rows).ColumnTypeDatabaseTypeName(0)
				left = append(left, r)
			}
			mustClose(t, left...)
		})
	}
}

// A connection that fails half way keeps nothing open.
func TestFailedConnectLeavesNoFileOpen(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "store")
	connector, c := connect(t, Config{Path: path})
	mustClose(t, c, connector)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, try := range map[string]struct {
		ctx context.Context
		cfg Config
	}{
		"branch point": {t.Context(), Config{Path: path, At: "nope"}},
		"timeline":     {t.Context(), Config{Path: path, Timeline: "nope"}},
		"read-only":    {t.Context(), Config{Path: path, Timeline: "nope", Mode: readOnlyMode}},
		"context":      {gone, Config{Path: path}},
	} {
		t.Run(name, func(t *testing.T) {
			connector, err := NewConnector(try.cfg)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if c, err := connector.Connect(try.ctx); err == nil {
					mustClose(t, c)
					t.Fatal("connected")
				}
			}
			mustClose(t, connector)
			if n := openFiles(t, root); n != 0 {
				t.Errorf("%d files are open after Close", n)
			}
		})
	}
}

// Nor does one whose catalog cannot be attached.
func TestFailedAttachLeavesNoFileOpen(t *testing.T) {
	root := t.TempDir()
	connector, c := connect(t, Config{Path: filepath.Join(root, "store")})
	before := openFiles(t, root)
	sh := *connector.shared
	inst := *sh.inst
	inst.key = filepath.Join(root, "elsewhere")
	sh.inst = &inst
	if _, err := newConn(t.Context(), &sh); err == nil {
		t.Fatal("connected")
	}
	if n := openFiles(t, root); n != before {
		t.Errorf("%d files are open, %d were before", n, before)
	}
	mustClose(t, c, connector)
}
