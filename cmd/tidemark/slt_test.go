package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goodScript = `statement ok
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)

statement ok
INSERT INTO t VALUES(1,'x'),(2,'y')

statement ok
UPDATE t SET b = 'z' WHERE a = 2

query IT rowsort
SELECT * FROM t
----
1
x
2
z
`

const badScript = `statement ok
CREATE TABLE t(a)

query I nosort
SELECT count(*) FROM t
----
7
`

func writeScript(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSLT(t *testing.T) {
	dir := t.TempDir()
	writeScript(t, dir, "good.test", goodScript)
	for _, flags := range [][]string{
		nil, {"-prepare"}, {"-reopen", "1"}, {"-driver", "sqlite"}, {"-j", "2", "-timeout", "1m"},
	} {
		out := must(t, append(append([]string{"slt"}, flags...), dir)...)
		if !strings.Contains(out, "good.test passed 4 failed 0") || !strings.Contains(out, "(100.0000%)") {
			t.Errorf("slt %v: %s", flags, out)
		}
	}
}

func TestSLTFailures(t *testing.T) {
	dir := t.TempDir()
	bad := writeScript(t, dir, "bad.test", badScript)
	writeScript(t, dir, "good.test", goodScript)
	results := filepath.Join(dir, "results.json")
	status, out, stderr := tidemark(t, "", "slt", "-q", "-json", results, dir)
	if status != statusFailed || stderr != "" {
		t.Errorf("status %d, %q", status, stderr)
	}
	for _, word := range []string{"FAIL " + bad, bad + ":4", `expected "7"`, "failed 1 known 0"} {
		if !strings.Contains(out, word) {
			t.Errorf("%q does not name %q", out, word)
		}
	}
	if strings.Contains(out, "good.test") {
		t.Error("-q prints a file without failures")
	}
	// What is known to fail is no failure.
	if out := must(t, "slt", "-baseline", results, dir); !strings.Contains(out, "failed 1 known 1") {
		t.Errorf("with a baseline: %s", out)
	}
	if out := must(t, "slt", "-skip", "bad", dir); !strings.Contains(out, "TOTAL files 1") {
		t.Errorf("-skip: %s", out)
	}
	if out := must(t, "slt", "-skip-sql", "count", dir); !strings.Contains(out, "skipped 1") {
		t.Errorf("-skip-sql: %s", out)
	}
}
