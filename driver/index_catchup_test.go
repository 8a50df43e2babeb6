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

// The table tidemark_index_catchup and the view index_catchup of the catalog say the same
// of every index.
func TestIndexCatchupTable(t *testing.T) {
	for _, key := range []string{"required", "legacy"} {
		t.Run(key, func(t *testing.T) {
			db, err := sql.Open("tidemark", filepath.Join(t.TempDir(), "s")+"?compact=off&shards=2&index_catchup="+key)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, text := range []string{
				`CREATE TABLE a(x INTEGER PRIMARY KEY, y TEXT)`,
				`CREATE INDEX by_y ON a(y)`,
				`CREATE VIRTUAL TABLE b USING tidemark(k TEXT PRIMARY KEY, v, resident=keys)`,
				`CREATE VIRTUAL TABLE "primary" USING tidemark(k TEXT PRIMARY KEY, durable=false)`,
				`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO a SELECT i, i % 7 FROM n`,
				`INSERT INTO b SELECT y || x, x FROM a`,
				`INSERT INTO tidemark_jobs(kind) VALUES ('compact')`,
				`CREATE INDEX later ON b(v)`, // has not caught up
			} {
				if _, err := db.Exec(text); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
			const columns = `index_name, table_name, shard_id, compacted_generation, caught_up_generation, lag`
			for _, name := range []string{"a primary", "a by_y", "b primary", "b later"} {
				var n int
				if err := db.QueryRow(`SELECT count(*) FROM tidemark_index_catchup WHERE table_name || ' ' || index_name = ?`, name).Scan(&n); err != nil || n != 2 {
					t.Errorf("%s: %d rows, %v", name, n, err)
				}
			}
			for _, text := range []string{
				`SELECT count(*) FROM (SELECT ` + columns + ` FROM tidemark_index_catchup EXCEPT SELECT ` + columns + ` FROM catalog.index_catchup)`,
				`SELECT count(*) FROM (SELECT ` + columns + ` FROM catalog.index_catchup EXCEPT SELECT ` + columns + ` FROM tidemark_index_catchup)`,
				`SELECT count(*) FROM tidemark_index_catchup WHERE (lag IS NULL) <> ('` + key + `' = 'legacy')`,
			} {
				var n int
				if err := db.QueryRow(text).Scan(&n); err != nil || n != 0 {
					t.Errorf("%s: %d, %v", text, n, err)
				}
			}
		})
	}
}
