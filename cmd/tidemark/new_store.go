package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// withNewStore is withStore for work that makes the store where there is none. A
// store it made goes again when the work fails, unless kept reports that some of
// it took effect.
//
// Where there is no directory the store is made under another name and renamed
// when the work is done, so that no other program can have opened it before. An
// empty directory that exists may be a mount: the store is made in it, and what
// was made is removed.
func withNewStore(ctx context.Context, dir string, kept func() bool, f func(*sql.DB) error) error {
	left, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(dir); err == nil {
			return misuse("%s is a link to nothing: make the directory it names, or name another", dir)
		}
		return makeAside(ctx, dir, kept, f)
	case err != nil || len(left) > 0:
		return withStore(ctx, dir, "rwc", f)
	}
	err = withStore(ctx, dir, "rwc", f)
	if err != nil && !kept() {
		removeInside(dir)
	}
	return err
}

// makeAside makes a store and gives it its name when it is whole.
func makeAside(ctx context.Context, dir string, kept func() bool, f func(*sql.DB) error) error {
	parent := filepath.Dir(filepath.Clean(dir))
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return withStore(ctx, dir, "rwc", f) // which says what is wrong
	}
	aside := filepath.Join(parent, fmt.Sprintf(".%s-%016x", filepath.Base(filepath.Clean(dir)), rand.Uint64()))
	err := withStore(ctx, aside, "rwc", f)
	if err != nil && !kept() {
		_ = os.RemoveAll(aside) // a store that nobody else knows
		return err
	}
	if renameErr := os.Rename(aside, dir); renameErr != nil {
		_ = os.RemoveAll(aside)
		if _, statErr := os.Lstat(dir); statErr == nil {
			return misuse("%s came up meanwhile, and nothing was imported into it: run the import again", dir)
		}
		return errors.Join(err, renameErr)
	}
	if syncErr := syncDir(parent); err == nil {
		err = syncErr
	}
	return err
}

// removeInside empties a directory.
func removeInside(dir string) {
	left, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range left {
		_ = os.RemoveAll(filepath.Join(dir, e.Name())) // the error of the work tells more
	}
}
