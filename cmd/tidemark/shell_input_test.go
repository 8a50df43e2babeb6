package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Headers that were turned off stay off.
func TestShellHeaders(t *testing.T) {
	dir := newDir(t)
	for input, want := range map[string]string{
		".headers off\n.mode column\nSELECT 1 AS a;\n":            "1\n",
		".mode column\nSELECT 1 AS a;\n":                          "a\n-\n1\n",
		".headers off\n.mode box\n.headers on\nSELECT 1 AS a;\n":  "┌───┐\n│ a │\n├───┤\n│ 1 │\n└───┘\n",
		".mode table\n.headers off\n.mode column\nSELECT 1 AS a;": "1\n",
	} {
		if got := shellOutput(t, dir, input); got != want {
			t.Errorf("%q prints %q, want %q", input, got, want)
		}
	}
}

// Columns are as wide as they were set.
func TestShellWidth(t *testing.T) {
	dir := newDir(t)
	for input, want := range map[string]string{
		".mode column\n.width 4 -5\nSELECT 'abcdef' AS name, 12 AS n;\n":              "name      n\n----  -----\nabcd     12\nef         \n",
		".mode column\n.width 2\nSELECT 1 AS name, 2 AS n;\n.width\nSELECT 1 AS name": "na  n\n--  -\n1   2\nname\n----\n1   \n",
	} {
		if got := shellOutput(t, dir, input); got != want {
			t.Errorf("%q prints\n%q, want\n%q", input, got, want)
		}
	}
	if status, _, stderr := tidemark(t, ".width x\n", "shell", dir); status != statusFailed || !strings.Contains(stderr, "x is no width") {
		t.Errorf("status %d, %q", status, stderr)
	}
}

// A session ends with the status its user chose.
func TestShellExitCode(t *testing.T) {
	dir := newDir(t)
	script := writeFile(t, "x.sql", ".quit 5\nSELECT 2;\n")
	for _, tc := range []struct {
		input  string
		status int
		out    string
	}{
		{"SELECT 1;\n.exit 3\nSELECT 2;\n", 3, "1\n"},
		{"SELECT nope;\n.quit 0\n", 0, ""},
		{"SELECT nope;\n.quit\n", 1, ""},
		{".read " + script + "\nSELECT 3;\n", 5, ""},
		{".exit 300\n", 1, ""},
		{".explain\nSELECT 1;\n", 0, "QUERY PLAN\n`--SCAN CONSTANT ROW\n1\n"},
	} {
		if status, out, stderr := tidemark(t, tc.input, "shell", dir); status != tc.status || out != tc.out {
			t.Errorf("%q: status %d, %q, %q", tc.input, status, out, stderr)
		}
	}
}

// Commands of the system are refused, and no file is named after one.
func TestShellPipes(t *testing.T) {
	dir := newDir(t)
	t.Chdir(t.TempDir())
	for _, line := range []string{".output |cat", ".once '|cat -n'", ".read |date", ".import '|date' t"} {
		status, _, stderr := tidemark(t, line+"\nSELECT 1;\n", "shell", dir)
		if status != statusFailed || !strings.Contains(stderr, "command") {
			t.Errorf("%s: status %d, %q", line, status, stderr)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// What is being read is not written, nor the other way round.
func TestShellSameFile(t *testing.T) {
	dir := newDir(t)
	script := filepath.Join(t.TempDir(), "x.sql")
	text := "SELECT 1;\n.output " + script + "\nSELECT 2;\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := tidemark(t, ".read "+script+"\n", "shell", dir)
	if b, err := os.ReadFile(script); status != statusFailed || !strings.Contains(stderr, "being read") || err != nil || string(b) != text {
		t.Errorf("status %d, %q, %q", status, stderr, b)
	}
	out := filepath.Join(t.TempDir(), "y.csv")
	for _, line := range []string{".read ", ".import --csv "} {
		status, _, stderr := tidemark(t, ".output "+out+"\nSELECT 1;\n"+line+out+" \n.import "+out+" t\n", "shell", dir)
		if status != statusFailed || !strings.Contains(stderr, "where results go") {
			t.Errorf("%s: status %d, %q", line, status, stderr)
		}
	}
}

// A directory of other files does not become a store.
func TestShellDirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "letter.txt")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"shell", dir}, {"sql", dir, "SELECT 1"}, {"import", dir, writeFile(t, "x.csv", "a\n1\n")}} {
		status, _, stderr := tidemark(t, "", args...)
		if status != statusRefused || !strings.Contains(stderr, "empty or missing directory") {
			t.Errorf("%q: status %d, %q", args, status, stderr)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
	empty := t.TempDir()
	must(t, "shell", empty)
	must(t, "check", empty)
	if status, _, stderr := tidemark(t, "", "shell", ""); status != statusRefused || !strings.Contains(stderr, "empty") {
		t.Errorf("no name: status %d, %q", status, stderr)
	}
}
