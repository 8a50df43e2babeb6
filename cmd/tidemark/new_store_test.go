package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory that comes up while an import makes its store is left alone.
func TestNewStoreThatIsTaken(t *testing.T) {
	folder := t.TempDir()
	dir := filepath.Join(folder, "store")
	err := withNewStore(t.Context(), dir+"/", func() bool { return false }, func(db *sql.DB) error {
		if exists(dir) {
			t.Error("the store has its name before it is whole")
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "other"), nil, 0o600)
	})
	if statusOf(err) != statusRefused {
		t.Errorf("%v", err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 || !exists(filepath.Join(dir, "other")) {
		t.Errorf("left %v, %v", left, err)
	}
	if err := withNewStore(t.Context(), filepath.Join(folder, "new")+"/", func() bool { return false }, func(*sql.DB) error { return nil }); err != nil {
		t.Error(err)
	}
	must(t, "check", filepath.Join(folder, "new"))
}

// What is no store is told as what it is, with the way on, and left alone.
func TestDirectoriesThatAreNoStore(t *testing.T) {
	for name, words := range map[string]string{
		"catalog.restoring": "run the restore again", "BACKUP": "tidemark restore BACKUP DIR", "BACKUP.partial": "run the backup again",
		"notes.txt": "an empty or missing directory",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := tidemark(t, "", "sql", dir, "SELECT 1")
		left, err := os.ReadDir(dir)
		if status != statusRefused && status != statusFailed || !strings.Contains(stderr, words) || err != nil || len(left) != 1 {
			t.Errorf("%s: status %d, %q, %d names, %v", name, status, stderr, len(left), err)
		}
	}
}

// The log of a fork that is lost is that file, whatever else is there.
func TestLostLogOfFork(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	must(t, "sql", dir, "CREATE TABLE t(a); INSERT INTO t VALUES(1); INSERT INTO tidemark_timelines(name) VALUES('f')")
	must(t, "sql", "-timeline", "f", dir, "INSERT INTO t VALUES(2)")
	file := strings.TrimSpace(must(t, "sql", dir, `SELECT o.relative_path FROM catalog.timelines t JOIN catalog.shards s ON s.timeline_id = t.timeline_id
		JOIN catalog.generations g ON g.shard_id = s.shard_id AND g.state = 'open' JOIN catalog.objects o ON o.object_id = g.object_id WHERE t.name = 'f' ORDER BY g.generation LIMIT 1`))
	if err := os.Remove(filepath.Join(dir, file)); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := tidemark(t, "", "sql", "-timeline", "f", dir, "SELECT 1")
	if status != statusFailed || !strings.Contains(stderr, file) || strings.Contains(stderr, "metadata backup") {
		t.Errorf("status %d, %q", status, stderr)
	}
	if out := must(t, "sql", dir, "SELECT a FROM t"); out != "1\n" {
		t.Errorf("%q", out)
	}
}
