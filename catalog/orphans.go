package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// errFound ends a walk.
var errFound = errors.New("found")

// refuseOrphans keeps a creation from starting over a store whose catalog was
// lost. A creation commits the name of an object before the object's file
// exists, so object files beside a missing or empty catalog.db are not an
// interrupted creation; a new catalog would know none of them, and what a
// catalog does not know is removed.
func refuseOrphans(dir string) error {
	orphan := ""
	err := filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() {
			orphan = path
			return errFound
		}
		return nil
	})
	switch {
	case orphan != "":
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return &Error{Code: CodeIO, Op: "create", Err: err}
	}
	hint := "put the catalog back from a backup, or move the directory's files away to start an empty store"
	if copies, err := filepath.Glob(filepath.Join(dir, FileName+".v*.bak")); err == nil && len(copies) > 0 {
		hint += "; " + filepath.Base(copies[len(copies)-1]) + " is a copy from before a migration"
	}
	name, err := filepath.Rel(dir, orphan)
	if err != nil {
		name = orphan
	}
	if _, err := os.Stat(filepath.Join(dir, FileName)); err == nil {
		return refuse(CodeCorrupt, "create", "%s in %s is empty, but %s exists: %s", FileName, dir, filepath.ToSlash(name), hint)
	}
	return refuse(CodeCorrupt, "create", "%s in %s is missing, but %s exists: %s", FileName, dir, filepath.ToSlash(name), hint)
}
