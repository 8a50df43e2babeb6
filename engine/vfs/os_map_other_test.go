//go:build !linux

package vfs

import (
	"io/fs"
	"testing"
)

// TestMapByName: a name that stands for another file now must not be mapped.
func TestMapByName(t *testing.T) {
	dir := t.TempDir()
	f := OS(dir)
	file := create(t, f, "a", "the first")
	defer file.Close()
	of := file.(*osFile)
	r, err := openMapping(of.f, of.path)
	ok(t, err)
	p := make([]byte, 9)
	_, err = r.ReadAt(p, 0)
	ok(t, err)
	if string(p) != "the first" {
		t.Errorf("mapped %q", p)
	}
	ok(t, r.Close())
	ok(t, f.Rename("a", "b"))
	_, err = openMapping(of.f, of.path)
	wantErr(t, err, fs.ErrNotExist)
	put(t, f, "a", "the second")
	_, err = openMapping(of.f, of.path)
	wantErr(t, err, fs.ErrNotExist)
}
