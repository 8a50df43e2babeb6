package ecosystem

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/tidemarkdb/tidemark/driver"
)

// each runs f on plain SQLite and on Tidemark, with rows in memory and in files.
func each(t *testing.T, f func(t *testing.T, db *sql.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "plain.db")+"?_pragma=foreign_keys(1)&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_txlock=immediate&_texttotime=1")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { done(t, db.Close()) })
		f(t, db)
	})
	for _, resident := range []string{"all", "keys"} {
		t.Run("tidemark/"+resident, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			connector, err := driver.NewConnector(driver.Config{Path: dir, Resident: resident, GenerationSize: 64 << 10})
			done(t, err)
			db := sql.OpenDB(connector)
			t.Cleanup(func() {
				done(t, db.Close())
				checkStore(t, dir)
			})
			f(t, db)
		})
	}
}

// checkStore opens a store again and has every byte of it checked.
func checkStore(t *testing.T, dir string) {
	t.Helper()
	db, err := sql.Open("tidemark", dir+"?mode=rw")
	done(t, err)
	defer db.Close()
	_, err = db.Exec("INSERT INTO tidemark_jobs(kind) VALUES('verify')")
	done(t, err)
}

func done(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal compares what a test got with what it wants.
func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}
