package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A store goes to a backup and comes back, as it was.
func TestBackupAndRestore(t *testing.T) {
	dir, folder := newStore(t), t.TempDir()
	backup, restored := filepath.Join(folder, "backup"), filepath.Join(folder, "restored")
	want := must(t, "sql", dir, "SELECT * FROM t")
	if got := must(t, "backup", dir, backup); !strings.HasPrefix(got, "backup: ") || !strings.HasSuffix(got, " in "+backup+"\n") {
		t.Errorf("%q", got)
	}
	must(t, "sql", dir, "INSERT INTO t(a) VALUES('later')")
	if got := must(t, "restore", backup, restored); !strings.HasPrefix(got, "restore: ") {
		t.Errorf("%q", got)
	}
	if got := must(t, "sql", restored, "SELECT * FROM t"); got != want {
		t.Errorf("restored %q, want %q", got, want)
	}
	must(t, "check", restored)
	must(t, "check", dir)
	if got := must(t, "sql", restored, "SELECT count(*) FROM tidemark_jobs; SELECT count(*) FROM catalog.store_lineage"); got != "0\n2\n" {
		t.Errorf("%q", got)
	}
	if got := must(t, "sql", dir, "SELECT kind, target, state FROM tidemark_jobs"); got != "backup|"+backup+"|done\n" {
		t.Errorf("%q", got)
	}
}

// What cannot be is refused in one line, with a way forward, and nothing is made.
func TestBackupRefusals(t *testing.T) {
	dir, folder := newStore(t), t.TempDir()
	backup := filepath.Join(folder, "backup")
	must(t, "backup", dir, backup)
	only := filepath.Join(folder, "only")
	if err := os.Mkdir(only, 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(only, "catalog.db"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		status int
		args   []string
		words  string
	}{
		{statusRefused, []string{"backup"}, "two arguments"},
		{statusRefused, []string{"backup", dir}, "two arguments"},
		{statusRefused, []string{"backup", dir, ""}, "empty"},
		{statusRefused, []string{"backup", dir, backup}, "complete"},
		{statusRefused, []string{"backup", dir, dir}, "directory of the store"},
		{statusRefused, []string{"backup", dir, folder}, "not empty"},
		{statusRefused, []string{"backup", dir, filepath.Join(folder, "none", "backup")}, "does not exist"},
		{statusRefused, []string{"backup", filepath.Join(folder, "none"), filepath.Join(folder, "new")}, "none"},
		{statusRefused, []string{"restore", backup}, "two arguments"},
		{statusRefused, []string{"restore", dir, filepath.Join(folder, "new")}, "no backup"},
		{statusRefused, []string{"restore", backup, dir}, "not empty"},
		{statusRefused, []string{"restore", filepath.Join(folder, "none"), filepath.Join(folder, "new")}, "no backup"},
		{statusRefused, []string{"restore", backup, filepath.Join(backup, "new")}, "directory of the backup"},
		{statusRefused, []string{"restore", backup, filepath.Join(dir, "new")}, "is a store or a backup"},
		{statusRefused, []string{"restore", backup, filepath.Join(dir, "objects", "new")}, "is a store or a backup"},
		{statusRefused, []string{"backup", dir, filepath.Join(backup, "new")}, "is a store or a backup"},
		{statusRefused, []string{"gc", "-n", backup}, "is a backup"},
		{statusFailed, []string{"sql", dir, "INSERT INTO tidemark_jobs(kind) VALUES('backup')"}, "a backup needs a target"},
		{statusFailed, []string{"sql", dir, "INSERT INTO tidemark_jobs(kind, target) VALUES('gc', 'x')"}, "kind gc takes no target"},
		{statusRefused, []string{"sql", backup, "SELECT 1"}, "restore"},
		{statusRefused, []string{"check", backup}, "restore"},
		{statusFailed, []string{"sql", only, "SELECT 1"}, "metadata backup: files are missing"},
	} {
		status, _, stderr := tidemark(t, "", tc.args...)
		if status != tc.status || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tc.words) {
			t.Errorf("%q: status %d, %q, want %d and %q", tc.args, status, stderr, tc.status, tc.words)
		}
	}
	if exists(filepath.Join(folder, "new")) {
		t.Error("a refused command made a directory")
	}
	must(t, "restore", backup, filepath.Join(folder, "restored"))
}

// A backup that is interrupted says so, and goes on when it is run again; so does a
// restore.
func TestInterruptedBackup(t *testing.T) {
	dir, folder := newStore(t), t.TempDir()
	backup, restored := filepath.Join(folder, "backup"), filepath.Join(folder, "restored")
	want := must(t, "sql", dir, "SELECT * FROM t")
	for _, args := range [][]string{{"backup", dir, backup}, {"restore", backup, restored}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out, err bytes.Buffer
		if status := run(ctx, args, streams{strings.NewReader(""), &out, &err}); status == statusDone {
			t.Errorf("%q was done, interrupted: %q", args, out.String())
		}
		must(t, args...)
	}
	if got := must(t, "sql", restored, "SELECT * FROM t"); got != want {
		t.Errorf("restored %q, want %q", got, want)
	}
}
