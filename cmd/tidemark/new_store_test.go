package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"
)

// A directory that comes up while an import makes its store is left alone.
func TestNewStoreThatIsTaken(t *testing.T) {
	folder := t.TempDir()
	dir := filepath.Join(folder, "store")
	err := withNewStore(t.Context(), dir+"/", func() bool { return false }, func(db *sql.DB) error {
		if exists(dir) {
			t.Error("the store has its name before it is whole")
		}
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "other"), nil, 0o600)
	})
	if statusOf(err) != statusRefused {
		t.Errorf("%v", err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 || !exists(filepath.Join(dir, "other")) {
		t.Errorf("left %v, %v", left, err)
	}
	if err := withNewStore(t.Context(), filepath.Join(folder, "new")+"/", func() bool { return false }, func(*sql.DB) error { return nil }); err != nil {
		t.Error(err)
	}
	must(t, "check", filepath.Join(folder, "new"))
}
