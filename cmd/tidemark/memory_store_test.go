package main

import (
	"os"
	"strings"
	"testing"
)

// TestMemoryStores: ENG-07 to ENG-18, ENG-AT-07 to 11 of the command: exit status,
// one line or none, and no file.
func TestMemoryStores(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", dir)
	write := "CREATE TABLE t(a); CREATE TABLE u(a); INSERT INTO t VALUES(7); SELECT a FROM t"
	for _, tc := range []struct {
		name   string
		args   []string
		status int
		out    string
		words  []string // of the one line on standard error; nil for none
	}{
		{"ephemeral", []string{"sql", "?ephemeral=1", write}, statusDone, "7\n", []string{"notice", "in memory"}},
		{"ephemeral without a durable table", []string{"sql", "?ephemeral=1", "SELECT 1"}, statusDone, "1\n", nil},
		{"no tables", []string{"sql", "?", "SELECT 1"}, statusDone, "1\n", nil},
		{"volatile", []string{"sql", "?", "CREATE VIRTUAL TABLE v USING tidemark(a, durable=false); INSERT INTO v VALUES(3); SELECT a FROM v"}, statusDone, "3\n", nil},
		{"no path", []string{"sql", "?", write}, statusRefused, "", []string{"table t ", "data path", "ephemeral=1", "durable=false"}},
		{"keys", []string{"sql", "?ephemeral=1", "CREATE VIRTUAL TABLE k USING tidemark(a, resident=keys)"}, statusRefused, "", []string{"table k ", "only in the log"}},
		{"option", []string{"sql", "?", "CREATE VIRTUAL TABLE k USING tidemark(a, mode=ram)"}, statusRefused, "", []string{"table k", "mode", "durable=true|false", "resident=all|keys"}},
		{"neither", []string{"sql", "?", "CREATE VIRTUAL TABLE k USING tidemark(a, durable=false, resident=keys)"}, statusRefused, "", []string{"table k", "durable=false", "resident=keys"}},
		{"value 0", []string{"sql", "?ephemeral=0", "SELECT 1"}, statusRefused, "", []string{`"0"`, "only 1"}},
		{"value true", []string{"shell", "?ephemeral=true"}, statusRefused, "", []string{`"true"`, "only 1"}},
		{"value empty", []string{"sql", "?ephemeral=", "SELECT 1"}, statusRefused, "", []string{`""`, "only 1"}},
		{"with a path", []string{"sql", "dir?ephemeral=1", "SELECT 1"}, statusRefused, "", []string{"dir", "ephemeral=1", "leave out"}},
		{"of files", []string{"check", "?ephemeral=1"}, statusRefused, "", []string{"in memory", "directory", "tidemark sql"}},
		{"into memory", []string{"import", "?ephemeral=1", "x.csv"}, statusRefused, "", []string{"in memory", "directory"}},
		{"checkpoint", []string{"sql", "?ephemeral=1", "INSERT INTO tidemark_jobs(kind) VALUES('checkpoint')"}, statusRefused, "", []string{"no log"}},
	} {
		status, out, stderr := tidemark(t, "", tc.args...)
		if status != tc.status || out != tc.out {
			t.Errorf("%s: status %d, %q, %q", tc.name, status, out, stderr)
		}
		if lines := strings.Count(stderr, "\n"); tc.words == nil && stderr != "" || tc.words != nil && lines != 1 {
			t.Errorf("%s: %d lines: %q", tc.name, lines, stderr)
		}
		for _, w := range tc.words {
			if !strings.Contains(stderr, w) || strings.Contains(stderr, "corrupt") {
				t.Errorf("%s: %q does not say %q", tc.name, stderr, w)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files were made: %v, %v", left, err)
	}
}

// TestMemoryShell: the session has one store, and one notice.
func TestMemoryShell(t *testing.T) {
	status, out, stderr := tidemark(t, "CREATE TABLE t(a);\nINSERT INTO t VALUES(1);\n.tables\nSELECT count(*) FROM t;\n", "shell", "?ephemeral=1")
	if status != statusDone || !strings.Contains(out, "t") || !strings.HasSuffix(out, "1\n") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, %q, %q", status, out, stderr)
	}
}
