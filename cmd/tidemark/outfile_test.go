package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// No output goes into a store's directory, however it is named.
func TestExportIntoStore(t *testing.T) {
	dir := newStore(t)
	folder := t.TempDir()
	link := filepath.Join(folder, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(folder, "file.db")
	if err := os.Symlink(filepath.Join(dir, "catalog.db"), file); err != nil {
		t.Fatal(err)
	}
	other := newStore(t)
	for _, out := range []string{
		filepath.Join(dir, "catalog.db"), filepath.Join(dir, "LOCK"), filepath.Join(dir, "new.db"), filepath.Join(dir, "objects", "x"),
		filepath.Join(link, "catalog.db"), filepath.Join(link, "new"), file, filepath.Join(other, "catalog.db"),
	} {
		for _, format := range []string{"db", "sql", "csv"} {
			status, _, stderr := tidemark(t, "", "export", "-force", "-format", format, dir, out, "t")
			if status != statusRefused || !strings.Contains(stderr, "store") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s as %s: status %d, %q", out, format, status, stderr)
			}
		}
		for _, command := range []string{".output", ".once"} {
			if status, _, stderr := tidemark(t, command+" "+out+"\nSELECT 1;\n", "shell", dir); status != statusFailed || !strings.Contains(stderr, "store") {
				t.Errorf("%s %s: status %d, %q", command, out, status, stderr)
			}
		}
	}
	if got := must(t, "sql", dir, "SELECT count(*) FROM t"); got != "3\n" {
		t.Error(got)
	}
	must(t, "check", dir)
	must(t, "check", other)
	status, _, stderr := tidemark(t, "", "import", "-format=csv", dir, filepath.Join(link, "LOCK"), "x")
	if status != statusRefused || !strings.Contains(stderr, "own") {
		t.Errorf("import of the store's own file: status %d, %q", status, stderr)
	}
}

// exists reports whether a file is there.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Files that SQLite would take for the new file's own do not stay beside it.
func TestExportBesideLeftovers(t *testing.T) {
	dir := newStore(t)
	for _, end := range []string{"-wal", "-journal", "-shm"} {
		out := filepath.Join(t.TempDir(), "out.db")
		if err := os.WriteFile(out+end, []byte("something"), 0o600); err != nil {
			t.Fatal(err)
		}
		status, _, stderr := tidemark(t, "", "export", dir, out)
		if status != statusRefused || !strings.Contains(stderr, out+end) || !strings.Contains(stderr, "-force") || exists(out) {
			t.Errorf("%s: status %d, %q", end, status, stderr)
		}
		must(t, "export", "-force", dir, out)
		if exists(out + end) {
			t.Errorf("%s is left", end)
		}
		same(t, "export", fileContents(t, out), storeContents(t, dir))
	}
}

// A SQLite file that a program has open is not replaced, and one that nobody
// has is, with what it left.
func TestExportOverSQLiteFile(t *testing.T) {
	dir := newStore(t)
	for _, mode := range []string{"wal", "delete"} {
		out := filepath.Join(t.TempDir(), "out.db")
		db := openFile(t, out)
		if _, err := db.Exec("PRAGMA journal_mode=" + mode + "; CREATE TABLE old(x); INSERT INTO old VALUES(1)"); err != nil {
			t.Fatal(err)
		}
		if mode == "delete" {
			if _, err := db.Exec("BEGIN; INSERT INTO old VALUES(2)"); err != nil {
				t.Fatal(err)
			}
		}
		status, _, stderr := tidemark(t, "", "export", "-force", dir, out)
		if status != statusRefused || !strings.Contains(stderr, "in use") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %q", mode, status, stderr)
		}
		// A copy of it is what a program that was killed leaves.
		killed := filepath.Join(t.TempDir(), "out.db")
		for _, end := range []string{"", "-wal", "-shm", "-journal"} {
			if b, err := os.ReadFile(out + end); err == nil {
				if err := os.WriteFile(killed+end, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		must(t, "export", "-force", dir, killed)
		same(t, mode, fileContents(t, killed), storeContents(t, dir))
		var n int
		if mode == "delete" {
			if _, err := db.Exec("ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.QueryRow("SELECT count(*) FROM old").Scan(&n); err != nil || n != 1 {
			t.Errorf("%s: the old file has %d rows, %v", mode, n, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		must(t, "export", "-force", dir, out)
		same(t, mode, fileContents(t, out), storeContents(t, dir))
	}
}

// A link stays one, and what it names is replaced.
func TestExportThroughLink(t *testing.T) {
	dir, folder := newStore(t), t.TempDir()
	file, link := filepath.Join(folder, "file.sql"), filepath.Join(folder, "link.sql")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	must(t, "export", "-force", dir, link)
	info, err := os.Lstat(link)
	b, readErr := os.ReadFile(file)
	if err != nil || readErr != nil || info.Mode()&os.ModeSymlink == 0 || string(b) != must(t, "export", dir, "-") {
		t.Errorf("%v, %v, %q", err, readErr, b)
	}
}
