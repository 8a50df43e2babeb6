//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadOnlyCommands: sql, shell, export and inspect read a store that is open elsewhere.
func TestReadOnlyCommands(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	db, err := openStore(t.Context(), dir, "rwc")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE t(a); INSERT INTO t VALUES(7)"); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		input  string
		args   []string
		status int
		out    string
		words  string
	}{
		{"", []string{"sql", "-ro", dir, "SELECT a FROM t"}, statusDone, "7\n", ""},
		{"SELECT a FROM t;\n", []string{"shell", dir, "-ro"}, statusDone, "7\n", ""},
		{"", []string{"sql", "-ro", dir, "DELETE FROM t"}, statusFailed, "", "attempt to write a readonly database"},
		{"", []string{"sql", "-ro", dir + "none", "SELECT 1"}, statusRefused, "", "there is no store"},
		{"", []string{"checkpoint", dir + "?mode=ro"}, statusRefused, "", "take -ro " + dir},
		{"", []string{"export", "-ro", dir, "-.csv", "t"}, statusDone, "a\r\n7\r\n", "1 row of 1 table"},
		{"", []string{"inspect", "-ro", dir}, statusDone, "", ""},
	} {
		status, out, stderr := tidemark(t, tc.input, tc.args...)
		if status != tc.status || !strings.HasSuffix(out, tc.out) || !strings.Contains(stderr, tc.words) {
			t.Errorf("%v: status %d, %q, %q", tc.args, status, out, stderr)
		}
	}
}

// TestReadOnlyMetadata: a copy of the catalog alone is told as that, also to a reader.
func TestReadOnlyMetadata(t *testing.T) {
	dir, only := newStore(t), t.TempDir()
	text, err := os.ReadFile(filepath.Join(dir, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(only, "catalog.db"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := tidemark(t, "", "sql", "-ro", only, "SELECT 1")
	if status != statusFailed || !strings.Contains(stderr, "metadata backup: files are missing") {
		t.Errorf("status %d, %q", status, stderr)
	}
}
