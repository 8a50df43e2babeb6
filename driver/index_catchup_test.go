package driver_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/tidemarkdb/tidemark/driver"
)

// The key index_catchup makes a store without positions of indexes and begins with
// them; what has no way back is refused by name.
func TestIndexCatchupKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	mode := func(query string) (value string, err error) {
		db, err := sql.Open("tidemark", dir+query)
		if err != nil {
			return "", err
		}
		defer db.Close()
		return value, db.QueryRow(`SELECT value FROM tidemark_settings WHERE name = 'index_catchup'`).Scan(&value)
	}
	for _, c := range []struct{ query, want string }{
		{"?index_catchup=legacy", "legacy"}, {"", "legacy"}, {"?mode=ro", "legacy"}, {"?index_catchup=required", "required"}, {"?mode=ro", "required"},
		{"?index_catchup=required", "required"},
	} {
		if got, err := mode(c.query); err != nil || got != c.want {
			t.Errorf("%q: %q, %v, want %q", c.query, got, err, c.want)
		}
	}
	var refused *driver.Error
	if got, err := mode("?index_catchup=legacy"); !errors.As(err, &refused) || refused.Hint == "" {
		t.Errorf("back to legacy: %q, %v", got, err)
	}
}
