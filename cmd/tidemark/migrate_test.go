package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMigrate(t *testing.T) {
	dir, folder := filepath.Join(t.TempDir(), "store"), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("00001_t.sql", "-- +goose Up\nCREATE TABLE t(a);\n-- +goose Down\nDROP TABLE t;\n")
	write("00002_u.sql", "-- +goose Up\nCREATE TABLE u(a);\nINSERT INTO v VALUES(1);\n")
	status, out, stderr := tidemark(t, "", "migrate", dir, folder)
	if status != statusFailed || !strings.Contains(out, "00001_t.sql applied") || !strings.Contains(stderr, "00002_u.sql:3: ") || !strings.Contains(stderr, "no such table: v") {
		t.Fatal(status, out, stderr)
	}
	if out := must(t, "migrate", dir, folder, "status"); !strings.Contains(out, "00002_u.sql  pending") || strings.Contains(out, "00001_t.sql  pending") {
		t.Fatal(out)
	}
	write("00002_u.sql", "-- +goose Up\nCREATE TABLE u(a);\n-- +goose Down\nDROP TABLE u;\n")
	if out := must(t, "migrate", dir, folder, "up"); out != "migrate: 00002_u.sql applied\n" {
		t.Fatal(out)
	}
	if out := must(t, "migrate", dir, folder); out != "migrate: nothing to do\n" {
		t.Fatal(out)
	}
	for _, want := range []string{"migrate: 00002_u.sql undone\n", "migrate: 00001_t.sql undone\n", "migrate: nothing to undo\n"} {
		if out := must(t, "migrate", dir, folder, "down"); out != want {
			t.Fatal(out)
		}
	}
}
