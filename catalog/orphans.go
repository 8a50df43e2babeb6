package catalog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// errFound ends a walk.
var errFound = errors.New("found")

// RefuseLost returns an error that is [ErrCorrupt] and [ErrLost] when the directory has object
// files beside a missing or empty catalog.db, and nil otherwise: the catalog was
// lost. A creation commits the name of an object before the object's file exists,
// so this is not an interrupted creation; a new catalog would know none of the
// files, and what a catalog does not know is removed.
func RefuseLost(dir string) error {
	orphan, err := anyObject(dir)
	if err != nil {
		return &Error{Code: CodeIO, Op: "open", Err: err}
	}
	if orphan == "" {
		return nil
	}
	what := "missing"
	if _, err := os.Stat(filepath.Join(dir, FileName)); err == nil {
		what = "empty"
	}
	return refuse(CodeCorrupt, "open", "%w: %s in %s is %s, but %s exists: %s", ErrLost, FileName, dir, what, orphan, wayBack(dir))
}

// anyObject returns the name of an object file relative to dir, or "" when there
// is none.
func anyObject(dir string) (name string, err error) {
	err = filepath.WalkDir(filepath.Join(dir, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Type().IsRegular() {
			name = path
			return errFound
		}
		return nil
	})
	switch {
	case name == "" && (err == nil || errors.Is(err, fs.ErrNotExist)):
		return "", nil
	case name == "":
		return "", err
	}
	if rel, err := filepath.Rel(dir, name); err == nil {
		name = rel
	}
	return filepath.ToSlash(name), nil
}

// wayBack says what can be done about a catalog that was lost.
func wayBack(dir string) string {
	hint := "put the catalog back from a backup, or move the directory's files away to start an empty store"
	if copies, err := filepath.Glob(filepath.Join(dir, FileName+".v*.bak")); err == nil && len(copies) > 0 {
		hint += "; " + filepath.Base(copies[len(copies)-1]) + " is a copy from before a migration"
	}
	return hint
}
