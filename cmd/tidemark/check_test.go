package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

func TestInspect(t *testing.T) {
	out := must(t, "inspect", newStore(t))
	for _, word := range []string{"tables (1)", "generations (", "objects (", "settings (", "stats (", ".kv", "generation_size", "commits"} {
		if !strings.Contains(out, word) {
			t.Errorf("inspect does not show %q:\n%s", word, out)
		}
	}
}
