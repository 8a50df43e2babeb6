package driver

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// TestSyncModes: in every mode other connections see what was acknowledged, the
// setting is shown, a second open must agree, and a clean close keeps all.
func TestSyncModes(t *testing.T) {
	for _, mode := range []string{"full", "normal", "off"} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store")
			db, err := sql.Open("tidemark", path+"?sync="+mode)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)"); err != nil {
				t.Fatal(err)
			}
			syncs := func() (n int64) {
				t.Helper()
				if err := db.QueryRow("SELECT value FROM tidemark_stats WHERE name = 'syncs'").Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			before := syncs()
			for i := range 20 {
				if _, err := db.Exec("INSERT INTO t VALUES(?, 'x')", i); err != nil {
					t.Fatal(err)
				}
				reader, err := db.Conn(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				var n int
				if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil || n != i+1 {
					t.Fatalf("%d rows after %d inserts, %v", n, i+1, err)
				}
				mustClose(t, reader)
			}
			if n := syncs() - before; mode == "off" && n != 0 || mode == "full" && n != 20 {
				t.Errorf("%d syncs for 20 commits", n)
			}
			var value, source string
			if err := db.QueryRow("SELECT value, source FROM tidemark_settings WHERE name = 'sync'").Scan(&value, &source); err != nil || value != mode || source != "dsn" {
				t.Errorf("tidemark_settings: %q from %q, %v", value, source, err)
			}
			other := map[string]string{"full": "off", "normal": "full", "off": "normal"}[mode]
			second, err := sql.Open("tidemark", path+"?sync="+other)
			if err != nil {
				t.Fatal(err)
			}
			if err := second.Ping(); err == nil || !strings.Contains(err.Error(), "sync") || !strings.Contains(err.Error(), mode) || !strings.Contains(err.Error(), other) {
				t.Errorf("a second open with sync=%s: %v", other, err)
			}
			mustClose(t, second)
			mustClose(t, db)
			if db, err = sql.Open("tidemark", path); err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, db)
			var n int
			if err := db.QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil || n != 20 {
				t.Errorf("reopened with %d rows, %v", n, err)
			}
		})
	}
}
