package main

import (
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

// filesBelow reads every file of a directory but SQLite's own beside a catalog.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, "-wal") {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// leaveGarbage makes a file that nothing needs in a store that nobody has open: one
// that was reserved by what never came to its end.
func leaveGarbage(t *testing.T, dir string) (path string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range []string{
		`UPDATE catalog_info SET next_id = next_id + 2, next_incarnation = next_incarnation + 1`,
		`INSERT INTO objects(object_id, kind, incarnation, attempt_id, relative_path) SELECT next_id - 1, 'kv', next_incarnation - 1, randomblob(16),
			'objects/' || substr(printf('%016x', next_id - 1), 15, 2) || '/' || substr(printf('%016x', next_id - 1), 13, 2) || '/' || printf('%016x', next_id - 1) || '.kv' FROM catalog_info`,
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.QueryRow(`SELECT relative_path FROM objects ORDER BY object_id DESC`).Scan(&path); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// gc -n shows what goes and what stays, and changes nothing; gc removes the one and
// leaves the other.
func TestGC(t *testing.T) {
	dir := newStore(t)
	must(t, "sql", dir, "INSERT INTO tidemark_branch_points(name) VALUES('b')")
	path := leaveGarbage(t, dir)
	before := filesBelow(t, dir)
	plan := must(t, "gc", "-n", dir)
	if !strings.Contains(plan, "goes   "+path) || !strings.Contains(plan, "stays") || !strings.Contains(plan, "gc: 1 files of 0 bytes would go") {
		t.Errorf("plan:\n%s", plan)
	}
	for _, why := range []string{"branch_point b, through representation", "timeline main, through representation", "the generation that a shard goes on in"} {
		if !strings.Contains(plan, why) {
			t.Errorf("the plan does not say %q:\n%s", why, plan)
		}
	}
	after := filesBelow(t, dir)
	if len(after) != len(before) {
		t.Errorf("%d files, before gc -n there were %d", len(after), len(before))
	}
	for name, text := range before {
		if after[name] != text {
			t.Errorf("gc -n changed %s", name)
		}
	}
	if got := must(t, "gc", dir); !strings.HasPrefix(got, "gc: removed 1 files of 0 bytes, ") {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
		t.Errorf("%s is still there", path)
	}
	if got := must(t, "gc", dir); !strings.HasPrefix(got, "gc: removed 0 files") {
		t.Errorf("again: %q", got)
	}
	must(t, "check", dir)
	if got := must(t, "sql", dir, "SELECT DISTINCT kind||' '||state FROM tidemark_jobs"); got != "gc done\n" {
		t.Errorf("jobs: %q", got)
	}
	for _, args := range [][]string{{"gc"}, {"gc", dir, dir}, {"gc", filepath.Join(t.TempDir(), "none")}, {"gc", "-n", filepath.Join(t.TempDir(), "none")}, {"gc", "-x", dir}} {
		if status, _, stderr := tidemark(t, "", args...); status != statusRefused || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: status %d, %q", args, status, stderr)
		}
	}
}
