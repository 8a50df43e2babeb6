//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestReadOnlyCommands: sql and shell read a store that another process has open.
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
		{"", []string{"sql", dir + "?mode=ro", "SELECT a FROM t"}, statusDone, "7\n", ""},
		{"SELECT a FROM t;\n", []string{"shell", dir + "?mode=ro"}, statusDone, "7\n", ""},
		{"", []string{"sql", dir + "?mode=ro", "DELETE FROM t"}, statusFailed, "", "attempt to write a readonly database"},
		{"", []string{"sql", dir + "none?mode=ro", "SELECT 1"}, statusRefused, "", "there is no store"},
		{"", []string{"checkpoint", dir + "?mode=ro"}, statusRefused, "", "looks like a DSN"},
	} {
		status, out, stderr := tidemark(t, tc.input, tc.args...)
		if status != tc.status || !strings.HasSuffix(out, tc.out) || !strings.Contains(stderr, tc.words) {
			t.Errorf("%v: status %d, %q, %q", tc.args, status, out, stderr)
		}
	}
}
