package driver

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestShards makes a store of three logs: rows go to all of them, each shows
// its generations, and the number stays what it was.
func TestShards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path, Shards: 3, GenerationSize: 16 << 10})
	if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a UNIQUE)"); err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, err := db.Exec("INSERT INTO t VALUES(?1, ?1), (?1 + 100, ?2), (?1 + 200, NULL)", i, strings.Repeat("x", 500)+fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	_, got := table(t, db, `SELECT count(DISTINCT shard_id), count(DISTINCT object_id) = count(*), sum(records), max(last_lsn),
		(SELECT count(*) FROM catalog.shards), (SELECT count(*) FROM t) FROM tidemark_generations`)
	if want := []string{"3|1|91|31|3|90"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	_, got = table(t, db, `SELECT value, source FROM tidemark_settings WHERE name = 'shards'`)
	if want := []string{"3|store"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	refused := func(n int) {
		t.Helper()
		connector, err := NewConnector(Config{Path: path, Shards: n})
		if err != nil {
			t.Fatal(err)
		}
		defer connector.Close()
		_, err = connector.Connect(t.Context())
		if !errors.Is(err, ErrMisuse) || !strings.Contains(err.Error(), "shards") || !strings.Contains(err.Error(), "3") {
			t.Errorf("open with %d shards: %v", n, err)
		}
	}
	refused(2)
	refused(1)
	for _, n := range []int{0, 3} {
		other, conn := connect(t, Config{Path: path, Shards: n})
		mustClose(t, conn, other)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	store, err := Raw(conn)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second has nothing to do
		if err := store.Checkpoint(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		_, got = table(t, db, `SELECT count(*), count(DISTINCT shard_id) FROM tidemark_generations WHERE state = 'open' AND records > 0
			UNION ALL SELECT sum(records), count(DISTINCT shard_id) FROM catalog.generations WHERE state = 'sealed'`)
		if want := []string{"0|0", "91|3"}; !slices.Equal(got, want) {
			t.Errorf("after a checkpoint %q, want %q", got, want)
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := store.Checkpoint(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("checkpoint of a closed store: %v", err)
	}
	refused(2)
	db = openTest(t, Config{Path: path})
	_, got = table(t, db, `SELECT count(*), count(a), sum(id) FROM t`)
	if want := []string{"90|60|10305"}; !slices.Equal(got, want) {
		t.Errorf("after reopen %q, want %q", got, want)
	}
}
