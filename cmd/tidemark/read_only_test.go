//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestReadOnlyCommands: sql, shell and export read a store that is open elsewhere.
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
	} {
		status, out, stderr := tidemark(t, tc.input, tc.args...)
		if status != tc.status || !strings.HasSuffix(out, tc.out) || !strings.Contains(stderr, tc.words) {
			t.Errorf("%v: status %d, %q, %q", tc.args, status, out, stderr)
		}
	}
}
