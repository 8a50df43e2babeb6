package driver

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
)

// A backup is a job and a call of Raw; Restore makes a store of it, and the backup
// itself is none.
func TestBackupJob(t *testing.T) {
	db := openTest(t, Config{})
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	for _, query := range []string{"CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)", "INSERT INTO t VALUES(1, 'x')"} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec("INSERT INTO tidemark_jobs(kind, target) VALUES('backup', ?)", in("one")); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO t VALUES(2, 'y')"); err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, conn)
	store, err := Raw(conn)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Backup(t.Context(), in("two"), nil); err != nil {
		t.Fatal(err)
	}
	var hint *Error
	if err := store.Backup(t.Context(), in("two"), nil); !errors.As(err, &hint) || hint.Hint == "" {
		t.Errorf("to a backup that is complete: %v", err)
	}
	for name, want := range map[string]int{"one": 1, "two": 2} {
		if err := Restore(t.Context(), in(name), in(name+"-store"), nil); err != nil {
			t.Fatal(err)
		}
		restored, err := sql.Open("tidemark", in(name+"-store"))
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := restored.QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
		if _, err := restored.Exec("INSERT INTO tidemark_jobs(kind) VALUES('verify')"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		mustClose(t, restored)
		none, err := sql.Open("tidemark", in(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := none.Ping(); !errors.Is(err, ErrCantOpen) {
			t.Errorf("a backup opens as a store: %v", err)
		}
		mustClose(t, none)
	}
}
