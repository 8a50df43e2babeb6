package sqltests

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/driver"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// foreignFault is a store on a disk that fails, with tables of every storage mode
// that refer to each other: a resident=keys table and a volatile one to a durable
// one, and a volatile one to both.
type foreignFault struct {
	t     *testing.T
	dir   string
	fault *vfs.Fault
	db    *sql.DB
}

var foreignFaultTables = []string{"base", "log", "cache", "both"}

func (f *foreignFault) open() {
	f.t.Helper()
	cfg, err := driver.ParseDSN(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	cfg.FS = f.fault
	c, err := driver.NewConnector(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	f.db = sql.OpenDB(c)
}

// state is what the tables hold, each in a line; no row of them refers to nothing.
func (f *foreignFault) state() string {
	f.t.Helper()
	c, err := f.db.Conn(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	var out []string
	for _, name := range foreignFaultTables {
		rows, err := modelRows(f.t.Context(), c, "SELECT * FROM "+name+" ORDER BY 1")
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, name+": "+strings.Join(rows, "; "))
	}
	if rows, err := modelRows(f.t.Context(), c, "PRAGMA foreign_key_check"); err != nil || len(rows) > 0 {
		f.t.Errorf("rows that refer to nothing: %q, %v", rows, err)
	}
	return strings.Join(out, "\n")
}

// durable is the part of a state that a restart keeps.
func durable(state string) string {
	lines := strings.Split(state, "\n")
	return strings.Join(append(lines[:2:2], "cache: ", "both: "), "\n")
}

// run runs statements, several as one transaction.
func (f *foreignFault) run(list ...string) error {
	if len(list) == 1 {
		_, err := f.db.Exec(list[0])
		return err
	}
	tx, err := f.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, text := range list {
		if _, err := tx.Exec(text); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// newForeignFault makes the store and its rows.
func newForeignFault(t *testing.T) *foreignFault {
	f := &foreignFault{t: t, dir: filepath.Join(metaDir(t), "store"), fault: vfs.NewFault(vfs.NewMem())}
	f.open()
	for _, text := range []string{
		"CREATE TABLE base(id INTEGER PRIMARY KEY, up INT REFERENCES base ON DELETE SET NULL ON UPDATE CASCADE)",
		"CREATE VIRTUAL TABLE log USING tidemark(id INTEGER PRIMARY KEY, base INT REFERENCES base ON DELETE CASCADE ON UPDATE CASCADE, text, resident=keys)",
		"CREATE VIRTUAL TABLE cache USING tidemark(id INTEGER PRIMARY KEY, base INT REFERENCES base ON DELETE CASCADE ON UPDATE CASCADE, durable=false)",
		"CREATE VIRTUAL TABLE both USING tidemark(id INTEGER PRIMARY KEY, log INT REFERENCES log ON DELETE CASCADE ON UPDATE CASCADE, cache INT REFERENCES cache ON DELETE SET NULL, durable=false)",
		"INSERT INTO base VALUES(1, 3), (2, 1), (3, 1)",
		"INSERT INTO log VALUES(1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')",
		"INSERT INTO cache VALUES(1, 1), (2, 2), (3, 3)",
		"INSERT INTO both VALUES(1, 1, 2), (2, 2, 1), (3, 3, 3)",
	} {
		if err := f.run(text); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// TestForeignKeyFaultsAcrossModes fails each operation of the disk in turn while
// statements delete or re-key rows through tables of all storage modes. All of the
// tables are then as before or as after it, also the volatile ones, which no disk
// has; and so are the durable ones when the store was opened again.
func TestForeignKeyFaultsAcrossModes(t *testing.T) {
	for _, work := range [][]string{
		{"DELETE FROM base WHERE id = 1"},
		{"UPDATE base SET id = id + 10"},
		{"UPDATE log SET id = 30 WHERE id = 3", "DELETE FROM base WHERE id <> 2"},
	} {
		t.Run(strings.Join(work, "; "), func(t *testing.T) {
			f := newForeignFault(t)
			before := f.state()
			if err := f.run(work...); err != nil {
				t.Fatal(err)
			}
			after := f.state()
			if err := f.db.Close(); err != nil {
				t.Fatal(err)
			}
			refused, poisoned, done := 0, 0, 0
			n := 1
			for ; ; n++ {
				f := newForeignFault(t)
				f.fault.Fail(vfs.Rule{N: n, After: n%2 == 0})
				err := f.run(work...)
				hit := f.fault.Injected() > 0
				f.fault.Clear()
				want := after
				if err != nil {
					want = before
				}
				if now := f.state(); now != want {
					t.Fatalf("fault %d: %v, and the tables are\n%s\nnot\n%s", n, err, now, want)
				}
				unknown := errors.Is(err, driver.ErrOutcomeUnknown)
				switch {
				case errors.Is(err, driver.ErrPoisoned):
					poisoned++
				case err != nil:
					refused++
					if err := f.run(work...); err != nil {
						t.Fatalf("fault %d: repeated: %v", n, err)
					}
					want = after
				}
				if err := f.db.Close(); err != nil && !errors.Is(err, driver.ErrPoisoned) {
					t.Fatal(err)
				}
				f.open()
				for _, found := range findings(t, f.db) {
					t.Errorf("fault %d: check: %s", n, found)
				}
				switch now := f.state(); {
				case unknown && now == durable(after):
					done++
				case now != durable(want):
					t.Fatalf("fault %d: %v: after opening it again the tables are\n%s\nnot\n%s", n, err, now, durable(want))
				}
				if err := f.db.Close(); err != nil {
					t.Fatal(err)
				}
				if !hit {
					break
				}
			}
			if poisoned == 0 {
				t.Errorf("no fault of %d poisoned the store", n-1)
			}
			t.Logf("%d faults: %d refusals, %d poisoned stores, %d of them with the commit", n-1, refused, poisoned, done)
		})
	}
}
