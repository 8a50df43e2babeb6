package driver

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A commit that is refused is told of, however the transaction ends: SQLite says
// that a RELEASE is done whose commit failed, and tells of the failure only when
// the statement is reset.
func TestRefusedCommitIsTold(t *testing.T) {
	const insert, define = "INSERT INTO t VALUES(zeroblob(100000))", "CREATE INDEX i ON t(a)"
	for _, ends := range [][3]string{
		{"BEGIN", insert, "COMMIT"},
		{"BEGIN", insert, "END"},
		{"SAVEPOINT s", insert, "RELEASE s"},
		{"SAVEPOINT s; SAVEPOINT q", insert, "RELEASE s"},
		{"BEGIN", define, "COMMIT"},
		{"SAVEPOINT s", define, "RELEASE s"},
		{"SAVEPOINT s", define + ";" + insert, "RELEASE s"},
	} {
		t.Run(fmt.Sprint(ends), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			fault := vfs.NewFault(vfs.OS(dir))
			connector, err := NewConnector(Config{Path: dir, FS: fault})
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(connector)
			defer func() { mustClose(t, db) }()
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			exec := func(text string) error {
				_, err := c.ExecContext(t.Context(), text)
				return err
			}
			if err := exec("CREATE TABLE t(a)"); err != nil {
				t.Fatal(err)
			}
			store, err := Raw(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Checkpoint(t.Context(), nil); err != nil { // the next file has no room yet
				t.Fatal(err)
			}
			for _, text := range ends[:2] {
				if err := exec(text); err != nil {
					t.Fatal(err)
				}
			}
			fault.Fail(vfs.Rule{Kinds: vfs.OpPreallocate, Err: syscall.ENOSPC})
			if err := exec(ends[2]); !errors.Is(err, ErrFull) {
				t.Errorf("without space: %v", err)
			}
			fault.Clear()
			if got := c.QueryRowContext(t.Context(), "SELECT name FROM sqlite_master WHERE name = 'i'").Scan(new(string)); !errors.Is(got, sql.ErrNoRows) {
				t.Errorf("the index: %v", got)
			}
			// As in SQLite the transaction is gone.
			if err := exec("INSERT INTO t VALUES(1)"); err != nil {
				t.Error(err)
			}
			var n int
			if err := c.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != 1 {
				t.Errorf("%d rows, %v", n, err)
			}
		})
	}
}
