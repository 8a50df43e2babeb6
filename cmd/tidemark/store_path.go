package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// insideDir reports whether a file lies, or would lie, in a directory or below
// it, whatever links lead there.
func insideDir(dir, file string) bool {
	own, err := os.Stat(dir)
	if err != nil {
		return false
	}
	return anyParent(file, func(parent string) bool {
		info, err := os.Stat(parent)
		return err == nil && os.SameFile(own, info)
	})
}

// storeAround returns the store that a file lies in, or "".
func storeAround(file string) (store string) {
	anyParent(file, func(parent string) bool {
		for _, name := range []string{"catalog.db", "LOCK", "objects"} {
			if _, err := os.Lstat(filepath.Join(parent, name)); err != nil {
				return false
			}
		}
		store = parent
		return true
	})
	return store
}

// anyParent calls is with the directories above a file, as it is named and as
// its links resolve.
func anyParent(file string, is func(dir string) bool) bool {
	path, err := filepath.Abs(file)
	if err != nil {
		return false
	}
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		paths = append(paths, real)
	} else if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		paths = append(paths, filepath.Join(real, filepath.Base(path)))
	}
	for _, path := range paths {
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if is(dir) {
				return true
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return false
}

// refuseStoreFile refuses to write to a file of a store: of the one in dir, and
// of any other.
func refuseStoreFile(what, dir, file string) error {
	store := storeAround(file)
	if insideDir(dir, file) {
		store = dir
	}
	if store == "" && isFileOf(dir, file) {
		store = dir
	}
	if store == "" {
		return nil
	}
	return misuse("%s: %s is in the store %s and would destroy it: name a file outside of it", what, file, store)
}

// checkNewDir refuses a directory that holds other things than a store. A
// missing one or an empty one becomes a store.
func checkNewDir(dir string) error {
	left, err := os.ReadDir(dir)
	if err != nil || len(left) == 0 {
		return nil // opening it says what is wrong
	}
	// Opening refuses a backup, and what is to become one or a store, with the way on.
	for _, known := range []string{"catalog.db", "catalog.restoring", "BACKUP", "BACKUP.partial"} {
		if _, err := os.Lstat(filepath.Join(dir, known)); err == nil {
			return nil
		}
	}
	if slices.ContainsFunc(left, func(e fs.DirEntry) bool { return e.Name() != "LOCK" && e.Name() != "objects" }) {
		return misuse("%s holds other files and no store: name a store, or an empty or missing directory to make one", dir)
	}
	return nil // an interrupted creation
}

// isFileOf reports whether a file is one in a directory by another name.
func isFileOf(dir, file string) (found bool) {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is not compared
		}
		if own, err := d.Info(); err == nil && os.SameFile(own, info) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}
