package driver

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// openTest opens a store in a directory of its own.
func openTest(t testing.TB, cfg Config) *sql.DB {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "store")
	}
	connector, err := NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { mustClose(t, db) })
	return db
}

// table reads a query as one line a row, NULL as an empty cell.
func table(t *testing.T, q interface {
	Query(string, ...any) (*sql.Rows, error)
}, query string, args ...any) (columns []string, lines []string) {
	t.Helper()
	rows, err := q.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	if columns, err = rows.Columns(); err != nil {
		t.Fatal(err)
	}
	cells := make([]sql.NullString, len(columns))
	pointers := make([]any, len(columns))
	for i := range cells {
		pointers[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = c.String
		}
		lines = append(lines, strings.Join(line, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return columns, lines
}

// The columns of the administration tables are a contract.
func TestAdminColumns(t *testing.T) {
	db := openTest(t, Config{})
	for name, want := range map[string]string{
		"tidemark_tables":        "name durable resident rows resident_bytes log_bytes indexes max_rows on_full",
		"tidemark_generations":   "shard_id generation object_id state records bytes first_lsn last_lsn",
		"tidemark_index_catchup": "index_name table_name shard_id compacted_generation caught_up_generation lag",
		"tidemark_stats":         "name value",
		"tidemark_settings":      "name value source",
	} {
		columns, _ := table(t, db, "SELECT * FROM "+name)
		if got := strings.Join(columns, " "); got != want {
			t.Errorf("%s has columns %s, want %s", name, got, want)
		}
		if _, err := db.Exec("DELETE FROM " + name); err == nil {
			t.Errorf("%s is written to", name)
		}
	}
}

func TestTidemarkTables(t *testing.T) {
	db := openTest(t, Config{})
	if _, err := db.Exec(`CREATE TABLE a(id INTEGER PRIMARY KEY AUTOINCREMENT, b UNIQUE); CREATE INDEX ab ON a(b);
		CREATE VIRTUAL TABLE v USING tidemark(x, durable=true, resident=all); CREATE VIEW w AS SELECT 1;
		INSERT INTO a(b) VALUES(1),(2); CREATE TEMP TABLE p(x)`); err != nil {
		t.Fatal(err)
	}
	const query = `SELECT name, durable, resident, "rows", indexes FROM tidemark_tables`
	_, got := table(t, db, query)
	if want := []string{"a|1|all|2|2", "v|1|all|0|0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// A transaction sees its own tables and rows.
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if _, err := tx.Exec("INSERT INTO a(b) VALUES(3); CREATE TABLE c(x); DROP TABLE v"); err != nil {
		t.Fatal(err)
	}
	_, got = table(t, tx, query)
	if want := []string{"a|1|all|3|2", "c|1|all|0|0"}; !slices.Equal(got, want) {
		t.Errorf("in the transaction %q, want %q", got, want)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	_, got = table(t, db, query)
	if want := []string{"a|1|all|2|2", "v|1|all|0|0"}; !slices.Equal(got, want) {
		t.Errorf("after the rollback %q, want %q", got, want)
	}
}

func TestTidemarkGenerationsAndStats(t *testing.T) {
	db := openTest(t, Config{GenerationSize: 16 << 10})
	if _, err := db.Exec("CREATE TABLE t(a)"); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := db.Exec("INSERT INTO t VALUES(?)", strings.Repeat("x", 3000)); err != nil {
			t.Fatal(err)
		}
	}
	_, got := table(t, db, `SELECT count(*) > 2, min(generation), count(DISTINCT object_id) = count(*), count(DISTINCT shard_id),
		(SELECT max(last_lsn) FROM tidemark_generations) FROM tidemark_generations WHERE records > 0 AND bytes > 0 AND first_lsn <= last_lsn`)
	if want := []string{"1|1|1|1|21"}; !slices.Equal(got, want) {
		t.Errorf("generations: %q, want %q", got, want)
	}
	_, got = table(t, db, `SELECT value FROM tidemark_stats WHERE name IN ('commits', 'durable_lsn', 'head_lsn') ORDER BY name`)
	if want := []string{"21", "21", "21"}; !slices.Equal(got, want) {
		t.Errorf("stats: %q, want %q", got, want)
	}
	_, got = table(t, db, `SELECT count(*) FROM tidemark_stats WHERE name IN ('syncs', 'mean_batch', 'peak_batch', 'bytes', 'rotations') AND value > 0`)
	if want := []string{"5"}; !slices.Equal(got, want) {
		t.Errorf("stats above zero: %q, want %q", got, want)
	}
}

func TestTidemarkSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	db := openTest(t, Config{Path: path, GenerationSize: 1 << 20, TimeZone: "Local"})
	other := openTest(t, Config{Path: path, Txlock: "immediate"})
	const query = `SELECT name || '=' || value || ' ' || source FROM tidemark_settings
		WHERE name IN ('generation_size', 'txlock', 'time_zone', 'shards', 'index_catchup') ORDER BY name`
	_, got := table(t, db, query)
	if want := []string{
		"generation_size=1MiB dsn", "index_catchup=required store", "shards=1 store", "time_zone=Local dsn", "txlock=deferred default",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	_, got = table(t, other, query)
	if want := []string{
		"generation_size=1MiB process", "index_catchup=required store", "shards=1 store", "time_zone=UTC default", "txlock=immediate dsn",
	}; !slices.Equal(got, want) {
		t.Errorf("another open of the directory: %q, want %q", got, want)
	}
}
