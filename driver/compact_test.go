package driver

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// logFiles lists the files of a store's objects and their bytes.
func logFiles(t *testing.T, dir string) (files int, bytes int64) {
	t.Helper()
	err := filepath.Walk(filepath.Join(dir, "objects"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			files++
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, bytes
}

// A job of kind compact makes a log of many changes small; what is read is what was
// written, before and behind a reopen, and the files that were replaced are gone.
func TestCompactJob(t *testing.T) {
	dir := t.TempDir()
	open := func() *sql.DB {
		c, err := NewConnector(Config{Path: dir, Sync: "off", GenerationSize: 64 << 10, Compact: "off"})
		if err != nil {
			t.Fatal(err)
		}
		return sql.OpenDB(c)
	}
	db := open()
	must := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	must("CREATE TABLE a(id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INT)")
	must("CREATE VIRTUAL TABLE k USING tidemark(id INTEGER PRIMARY KEY, u TEXT UNIQUE, n INT, resident=keys)")
	must("CREATE VIRTUAL TABLE v USING tidemark(id INTEGER PRIMARY KEY, n INT, durable=false)")
	must("CREATE VIEW w AS SELECT a.id, a.n, k.n AS m FROM a JOIN k USING(id)")
	for _, table := range []string{"a", "k"} {
		must("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 500) INSERT INTO " + table + " SELECT i, 'key ' || i, 0 FROM c")
		for range 20 {
			must("UPDATE " + table + " SET n = n + id")
		}
		must("DELETE FROM " + table + " WHERE id % 5 = 0")
	}
	must("INSERT INTO v VALUES(1, 1)")
	query := func() string {
		t.Helper()
		var text string
		if err := db.QueryRow("SELECT count(*) || ' ' || sum(n) || ' ' || sum(m) || ' ' || (SELECT id FROM k WHERE u = 'key 77') || ' ' || (SELECT count(*) FROM v) FROM w").Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	want := query()
	files, before := logFiles(t, dir)
	res, err := db.Exec("INSERT INTO tidemark_jobs(kind) VALUES('compact')")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := res.LastInsertId(); err != nil || id == 0 {
		t.Errorf("job %d, %v", id, err)
	}
	if got := query(); got != want {
		t.Errorf("after a compaction %q, want %q", got, want)
	}
	var state string
	if err := db.QueryRow("SELECT kind || ' ' || state FROM tidemark_jobs").Scan(&state); err != nil || state != "compact done" {
		t.Errorf("the job is %q, %v", state, err)
	}
	var compactions, garbage, used int64
	if err := db.QueryRow("SELECT sum(value) FILTER (WHERE name = 'compactions'), sum(value) FILTER (WHERE name = 'log_garbage_bytes'), sum(value) FILTER (WHERE name = 'log_used_bytes') FROM tidemark_stats").
		Scan(&compactions, &garbage, &used); err != nil || compactions != 1 || garbage != 0 || used == 0 {
		t.Errorf("%d compactions, %d bytes of garbage of %d, %v", compactions, garbage, used, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	left, after := logFiles(t, dir)
	if left >= files || after > before/4 {
		t.Errorf("%d files of %d bytes are left of %d of %d", left, after, files, before)
	}
	db = open()
	must("INSERT INTO v VALUES(1, 1)")
	if got := query(); got != want {
		t.Errorf("reopened %q, want %q", got, want)
	}
	must("INSERT INTO k VALUES(1000, 'new', 1)")
	if _, err := db.Exec("INSERT INTO k VALUES(1001, 'key 77', 1)"); err == nil || !strings.Contains(err.Error(), "UNIQUE") {
		t.Errorf("a key that is taken: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// With compact=auto a table whose rows are changed all the time stays small on disk.
func TestCompactAuto(t *testing.T) {
	dir := t.TempDir()
	c, err := NewConnector(Config{Path: dir, Sync: "off", GenerationSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)"); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if _, err := db.Exec("INSERT OR REPLACE INTO t WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i, printf('%0300d', ?) FROM c", i); err != nil {
			t.Fatal(err)
		}
	}
	// 40 times 300 KB were written. What is left is at most the floor and three
	// generations.
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = sql.Open("tidemark", dir); err != nil {
		t.Fatal(err)
	}
	var text string
	if err := db.QueryRow("SELECT count(*) || ' ' || max(x) FROM t").Scan(&text); err != nil || text != fmt.Sprintf("1000 %0300d", 39) {
		t.Errorf("%q, %v", text, err)
	}
	// A compaction in the background is given up when the store closes, so it is
	// waited for.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, bytes := logFiles(t, dir); bytes <= 10<<20 {
			break
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if files, bytes := logFiles(t, dir); bytes > 10<<20 {
		t.Errorf("%d files of %d bytes", files, bytes)
	}
}
