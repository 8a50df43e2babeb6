package catalog

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"modernc.org/sqlite"
)

// openStore opens the catalog of dir and, at cleanup, closes it, opens it
// again and checks it. t.TempDir's removal then fails on files still open on
// systems that notice.
func openStore(t *testing.T, o Options) *Catalog {
	t.Helper()
	ctx := t.Context()
	c, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		again, err := Open(ctx, Options{Dir: o.Dir, Create: o.Create, files: o.files})
		if err != nil {
			t.Errorf("reopen: %v", err)
			return
		}
		if err := again.Check(ctx, func(text string) { t.Errorf("check: %s", text) }); err != nil {
			t.Errorf("check: %v", err)
		}
		if err := again.Close(ctx); err != nil {
			t.Errorf("close again: %v", err)
		}
	})
	return c
}

// newStore makes a store in a directory of its own.
func newStore(t *testing.T, creation Creation) (*Catalog, State) {
	t.Helper()
	dir := t.TempDir()
	if creation == (Creation{}) {
		copyTemplate(t, dir)
	}
	c := openStore(t, Options{Dir: dir, Create: true})
	s, err := c.Initialize(t.Context(), creation)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// template is a closed, empty store of the default kind, made once: most tests
// want a store and are not about making one.
var template = sync.OnceValues(func() (b []byte, err error) {
	dir, err := os.MkdirTemp("", "catalog")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx := context.Background()
	c, err := Open(ctx, Options{Dir: dir, Create: true})
	if err != nil {
		return nil, err
	}
	_, err = c.Initialize(ctx, Creation{})
	if err := errors.Join(err, c.Close(ctx)); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, FileName))
})

// copyTemplate puts the template into dir.
func copyTemplate(t *testing.T, dir string) {
	t.Helper()
	b, err := template()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileName), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// makeStore makes a store and closes it. Without options it is a copy of the
// template.
func makeStore(t *testing.T, o Options) (dir string) {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
		if o.Fault == nil && o.files == nil {
			copyTemplate(t, o.Dir)
			return o.Dir
		}
	}
	o.Create = true
	c, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), Creation{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return o.Dir
}

// shell is a connection without any of this package's care, as a person with a
// SQLite shell has it, except that foreign keys and recursive triggers are on.
func shell(t *testing.T, dir string) *sql.DB {
	t.Helper()
	dsn, err := dataSource(dir, writing, 0)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := sqlite.NewConnector(dsn + "&_pragma=foreign_keys(1)&_pragma=recursive_triggers(1)")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close shell: %v", err)
		}
	})
	return db
}

// edit runs statements in a shell and closes it.
func edit(t *testing.T, dir string, statements ...string) {
	t.Helper()
	db := shell(t, dir)
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// fileBytes reads catalog.db; nothing may have it open.
func fileBytes(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantCode fails unless err is an *Error with the code.
func wantCode(t *testing.T, err error, code Code) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, code) {
		t.Fatalf("error is %v, want code %s", err, code)
	}
	if e.Op == "" {
		t.Errorf("error without operation: %v", err)
	}
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}
