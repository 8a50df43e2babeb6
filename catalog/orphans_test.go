package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLostCatalogIsNotReplaced: object files beside a missing or empty catalog
// are a lost catalog, not an interrupted creation.
func TestLostCatalogIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	object := filepath.Join(dir, filepath.FromSlash(ObjectPath(9, KindKV)))
	if err := os.MkdirAll(filepath.Dir(object), 0o755); err != nil {
		t.Fatal(err)
	}
	// Directories alone are no files.
	c, err := Open(t.Context(), Options{Dir: dir, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{object, filepath.Join(dir, CopyName(1))} {
		if err := os.WriteFile(file, []byte("rows"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range []string{"missing", "empty"} {
		_, err := Open(t.Context(), Options{Dir: dir, Create: true})
		wantCode(t, err, CodeCorrupt)
		for _, part := range []string{state, ObjectPath(9, KindKV), CopyName(1)} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v does not say %q", state, err, part)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, FileName)); (state == "missing") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the refused open left %v", state, err)
		}
		if err := os.WriteFile(filepath.Join(dir, FileName), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(object); err != nil {
		t.Fatal(err)
	}
	makeStore(t, Options{Dir: dir})
}
