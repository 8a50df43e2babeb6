package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The demonstration verifies itself: it fails when an acknowledged order is
// lost, when one is there by half, or when the check finds anything.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	dir := filepath.Join(t.TempDir(), "shop")
	out := must(t, "demo", dir)
	for _, word := range []string{"killed it", "every acknowledged order is there", "check: ok", "order_lines", "tidemark_tables"} {
		if !strings.Contains(out, word) {
			t.Errorf("the output has no %q:\n%s", word, out)
		}
	}
	if _, err := exec.LookPath("sqlite3"); err != nil {
		if !strings.Contains(out, "sqlite3 is not installed") {
			t.Errorf("nothing is said of the missing shell:\n%s", out)
		}
	} else if !strings.Contains(out, "$ sqlite3 -readonly") || !strings.Contains(out, "last_lsn") {
		t.Errorf("the shell shows nothing:\n%s", out)
	}
	if got := must(t, "sql", dir, "SELECT count(*) > 2000 FROM orders"); got != "1\n" {
		t.Errorf("the store left behind: %q", got)
	}
}

// Without the shell the demonstration says so and goes on.
func TestDemoWithoutShell(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out strings.Builder
	d := demo{dir: "shop", std: streams{out: &out, err: &out}}
	if err := d.shell(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "sqlite3 is not installed") {
		t.Errorf("it says %q", out.String())
	}
}
