package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // edits a catalog
)

func TestCheck(t *testing.T) {
	dir := newStore(t)
	status, out, stderr := tidemark(t, "", "check", dir)
	if status != statusDone || !strings.HasSuffix(out, "check: ok\n") {
		t.Errorf("a sound store: status %d, %q, %q", status, out, stderr)
	}
}

// A byte that was changed after a clean close is never overlooked, and the
// message names the file and the offset.
func TestCheckOfDamage(t *testing.T) {
	dir := newStore(t)
	var log string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".kv") {
			if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte("z'z")) {
				log = path
			}
		}
		return err
	})
	if err != nil || log == "" {
		t.Fatalf("no log file holds the row: %v", err)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	b[bytes.Index(b, []byte("z'z"))] ^= 1
	if err := os.WriteFile(log, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"check", dir}, {"sql", dir, "SELECT * FROM t"}} {
		status, out, stderr := tidemark(t, "", command...)
		if status != statusFailed {
			t.Errorf("%v: status %d", command, status)
		}
		if all := out + stderr; !strings.Contains(all, filepath.Base(log)) || !strings.Contains(all, "offset") {
			t.Errorf("%v: %q names no file and offset", command, all)
		}
	}
}

// logFiles are the paths of a store's log files, in order of their ids.
func logFiles(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".kv") {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	return list
}

// flip changes a bit of a file.
func flip(t *testing.T, path string, offset int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[offset] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every violation has a line, with its severity, file and offset, also in a store
// that does not open; the summary counts them.
func TestCheckListsAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	db, err := sql.Open("tidemark", dir+"?generation_size=1KiB")
	if err != nil {
		t.Fatal(err)
	}
	insert := "INSERT INTO t(a) VALUES('" + strings.Repeat("x", 900) + "');"
	if _, err := db.Exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);" + strings.Repeat(insert, 8)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	logs := logFiles(t, dir)
	if len(logs) < 6 {
		t.Fatalf("%d log files", len(logs))
	}
	if out := must(t, "check", dir); out != "check: ok\n" {
		t.Errorf("a sound store: %q", out)
	}
	flip(t, logs[0], 200)
	flip(t, logs[2], 200)
	if err := os.Remove(logs[3]); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(filepath.Dir(logs[1]), "00000000000f4240.kv")
	if err := os.WriteFile(stray, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := tidemark(t, "", "check", dir)
	if status != statusFailed || stderr != "" {
		t.Errorf("status %d, %q", status, stderr)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	for file, severity := range map[string]string{logs[0]: "damage", logs[2]: "damage", logs[3]: "damage", stray: "warning"} {
		file, _ := filepath.Rel(dir, file)
		hit := slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, severity+": "+filepath.ToSlash(file)+" at offset ")
		})
		if !hit {
			t.Errorf("no %s of %s in %q", severity, file, lines)
		}
	}
	warnings := 0
	for _, l := range lines {
		if strings.HasPrefix(l, "warning: ") {
			warnings++
		}
	}
	if want := fmt.Sprintf("check: damaged: %d findings, %d of them warnings", len(lines)-1, warnings); lines[len(lines)-1] != want {
		t.Errorf("%q, want %q", lines[len(lines)-1], want)
	}
}

// A catalog that somebody edited is found although no log file is damaged.
func TestCheckOfCatalog(t *testing.T) {
	dir := newStore(t)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"DROP TRIGGER shards_update", "UPDATE shards SET replay_from = replay_from + 1"} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	status, out, stderr := tidemark(t, "", "check", dir)
	if status != statusFailed || !strings.Contains(out, "damage: catalog.db at offset 0: ") || !strings.Contains(out, "check: damaged") {
		t.Errorf("status %d, %q, %q", status, out, stderr)
	}
}

// A catalog that is lost is damage by name, where objects are left that only it
// could tell of, and no command makes a new one over them.
func TestCheckOfLostCatalog(t *testing.T) {
	name := func(dir string) string { return filepath.Join(dir, "catalog.db") }
	for _, tc := range []struct {
		what  string
		lose  func(t *testing.T, dir string) error
		words []string
	}{
		{"missing", func(_ *testing.T, dir string) error { return os.Remove(name(dir)) }, []string{"missing", "objects/", "backup"}},
		{"empty", func(_ *testing.T, dir string) error { return os.Truncate(name(dir), 0) }, []string{"empty", "objects/", "backup"}},
		{"no SQLite file", func(_ *testing.T, dir string) error {
			return os.WriteFile(name(dir), bytes.Repeat([]byte("no catalog "), 1000), 0o600)
		}, []string{"not a SQLite file", "objects/", "backup"}},
		{"no timeline", func(t *testing.T, dir string) error { return loseTimeline(t, name(dir)) }, []string{"timeline", "missing"}},
	} {
		t.Run(tc.what, func(t *testing.T) {
			dir := newStore(t)
			if err := tc.lose(t, dir); err != nil {
				t.Fatal(err)
			}
			for _, command := range [][]string{{"check", dir}, {"sql", dir, "SELECT 1"}, {"inspect", dir}} {
				status, out, stderr := tidemark(t, "", command...)
				all := out + stderr
				if status != statusFailed {
					t.Errorf("%s: status %d, %s", command[0], status, all)
				}
				if command[0] == "check" && (!strings.Contains(out, "damage: catalog.db at offset 0: ") || stderr != "") {
					t.Errorf("check prints %q, %q", out, stderr)
				}
				for _, w := range append(tc.words, "catalog.db") {
					if !strings.Contains(all, w) {
						t.Errorf("%s: %q does not name %q", command[0], all, w)
					}
				}
			}
		})
	}
}

// loseTimeline deletes a catalog's timelines and leaves its schema as it was.
func loseTimeline(t *testing.T, file string) error {
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	rows, err := db.Query("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
	if err != nil {
		return err
	}
	defer rows.Close()
	script, again := "PRAGMA foreign_keys = OFF;", ""
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		script, again = script+"DROP TRIGGER "+name+";", again+text+";"
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if again == "" {
		t.Fatal("the catalog has no triggers")
	}
	_, err = db.Exec(script + "DELETE FROM timelines;" + again)
	return err
}

func TestInspect(t *testing.T) {
	out := must(t, "inspect", newStore(t))
	for _, word := range []string{"tables (1)", "generations (", "objects (", "settings (", "stats (", ".kv", "generation_size", "commits"} {
		if !strings.Contains(out, word) {
			t.Errorf("inspect does not show %q:\n%s", word, out)
		}
	}
}
