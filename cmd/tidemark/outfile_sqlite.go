package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// clearSQLite makes sure that nothing in the place of a SQLite file is taken for
// a part of the new one: SQLite plays NAME-journal and NAME-wal into whatever
// NAME is.
//
// Without force it refuses what is there. With force it takes the exclusive lock
// of an old SQLite file, which shows that no program has it open, and, where the
// new file is about to take the name, lets SQLite itself finish the old one: its
// log is written into it and goes. So after a crash before the rename the old
// file is whole, and after it the new one. Only then is removed what belongs to
// no file. release gives the lock back, after the rename.
func clearSQLite(ctx context.Context, name string, force, remove bool) (release func(), err error) {
	release = func() {}
	left := leftBeside(name)
	if !force {
		if len(left) > 0 {
			return release, misuse("export: %s is left of another file and SQLite would read it into the new one: remove it, use -force, or another name", strings.Join(left, ", "))
		}
		return release, nil
	}
	if isSQLite(name) {
		if release, err = lockSQLite(ctx, name, remove); err != nil {
			return release, misuse("export: %s may be in use and is not replaced (%v): close the programs that have it open, or use another name", name, err)
		}
	}
	if !remove {
		return release, nil
	}
	for _, path := range leftBeside(name) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			release()
			return func() {}, misuse("export: %v: remove it, or use another name", err)
		}
	}
	if err := syncDir(filepath.Dir(name)); err != nil {
		release()
		return func() {}, err
	}
	return release, nil
}

// leftBeside lists the files that SQLite would take for parts of a file. An
// empty log says nothing.
func leftBeside(name string) (left []string) {
	for _, end := range []string{"-wal", "-journal", "-shm"} {
		if info, err := os.Lstat(name + end); err == nil && (info.Size() > 0 || end == "-shm") {
			left = append(left, name+end)
		}
	}
	return left
}

// isSQLite reports whether a file is SQLite's: by its first bytes, or because it
// is empty beside a log.
func isSQLite(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(sqliteMagic))
	n, _ := f.Read(head)
	return n == 0 || string(head[:n]) == sqliteMagic
}

// lockSQLite takes the exclusive lock of a SQLite file. In exclusive mode the
// lock is also against readers of a file with a write-ahead log. finish ends
// that log first.
func lockSQLite(ctx context.Context, name string, finish bool) (release func(), err error) {
	none := func() {}
	db, err := openSQLite(ctx, name, "rw")
	if err != nil {
		return none, err
	}
	release = func() { _ = db.Close() } // nothing was written
	conn, err := db.Conn(ctx)
	if err != nil {
		release()
		return none, err
	}
	release = func() {
		_ = conn.Close()
		_ = db.Close()
	}
	texts := []string{"PRAGMA locking_mode=EXCLUSIVE", "BEGIN EXCLUSIVE"}
	if finish {
		texts = []string{"PRAGMA locking_mode=EXCLUSIVE", "BEGIN EXCLUSIVE", "COMMIT", "PRAGMA journal_mode=DELETE", "BEGIN EXCLUSIVE"}
	}
	for _, text := range texts {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			release()
			return none, err
		}
	}
	return release, nil
}
