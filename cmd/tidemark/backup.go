package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tidemarkdb/tidemark/driver"
)

// runBackup writes a backup of a store that nobody has open.
func runBackup(ctx context.Context, args []string, std streams) error {
	flags := newFlags("backup")
	if helped, err := parseFlags(flags, args, "tidemark backup DIR DEST", std); helped || err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return misuse("backup takes two arguments, the store's directory and the one that the backup goes to; it was given %d", flags.NArg())
	}
	dest := flags.Arg(1)
	if err := checkPlace(dest, "the backup goes to"); err != nil {
		return err
	}
	return withStore(ctx, flags.Arg(0), "rw", func(db *sql.DB) error {
		return withRaw(ctx, db, func(_ *sql.Conn, store *driver.Store) error {
			bytes := int64(0)
			bar := newProgress(std.err, "backup", "bytes")
			err := store.Backup(ctx, dest, func(done, total int64) {
				bytes = total
				bar.update(done, total)
			})
			bar.clear()
			if err != nil {
				return leftover(ctx, err, "the backup goes on when the command is run again")
			}
			fmt.Fprintf(std.out, "backup: %d bytes of files in %s\n", bytes, dest)
			return nil
		})
	})
}

// runRestore makes a store of a backup.
func runRestore(ctx context.Context, args []string, std streams) error {
	flags := newFlags("restore")
	if helped, err := parseFlags(flags, args, "tidemark restore BACKUP DIR", std); helped || err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return misuse("restore takes two arguments, the directory of the backup and the one that the store is to be in; it was given %d", flags.NArg())
	}
	for _, dir := range flags.Args() {
		if err := checkPlace(dir, "the store is to be in"); err != nil {
			return err
		}
	}
	bytes := int64(0)
	bar := newProgress(std.err, "restore", "bytes")
	err := driver.Restore(ctx, flags.Arg(0), flags.Arg(1), func(done, total int64) {
		bytes = total
		bar.update(done, total)
	})
	bar.clear()
	if err != nil {
		return leftover(ctx, err, "the restore goes on when the command is run again")
	}
	fmt.Fprintf(std.out, "restore: %d bytes of files, all with their digests, in %s\n", bytes, flags.Arg(1))
	return nil
}

// checkPlace refuses what is no name of a directory that could be made.
func checkPlace(dir, what string) error {
	if dir == "" {
		return misuse("the name of the directory that %s is empty: name a directory", what)
	}
	if inMemory(dir) {
		return misuse("%s is a store in memory: name a directory", dir)
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		return misuse("%s does not exist, where %s is to be made: make it first, or name another directory", parent, filepath.Base(dir))
	}
	return nil
}

// leftover tells what a command that was interrupted left.
func leftover(ctx context.Context, err error, what string) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return &interruptedError{left: what, err: err}
	}
	return err
}
