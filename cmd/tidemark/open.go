package main

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/tidemarkdb/tidemark/driver"
)

// openStore opens the store in dir and connects, so that what is wrong with it
// is known at once. Times are shown as they are stored. mode is "rw", or "rwc"
// to create a store that is missing.
func openStore(ctx context.Context, dir, mode string) (*sql.DB, error) {
	return openConfig(ctx, driver.Config{Path: dir, Mode: mode})
}

func openConfig(ctx context.Context, cfg driver.Config) (*sql.DB, error) {
	err := checkDir(cfg.Path)
	if err == nil && cfg.Mode == "rwc" {
		err = checkNewDir(cfg.Path)
	}
	if err != nil {
		return nil, err
	}
	if cfg.TimeFormat == "" {
		cfg.TimeFormat = "none"
	}
	connector, err := driver.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close() // nothing was written
		return nil, commandHint(err)
	}
	return db, nil
}

// withStore runs f on the store in dir and reports the error of closing it,
// too: that is where the last bytes are written.
func withStore(ctx context.Context, dir, mode string, f func(*sql.DB) error) error {
	return withConfig(ctx, driver.Config{Path: dir, Mode: mode}, f)
}

func withConfig(ctx context.Context, cfg driver.Config, f func(*sql.DB) error) (err error) {
	db, err := openConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := db.Close(); err == nil {
			err = closeErr
		}
	}()
	return f(db)
}

// withRaw runs f on one connection of db and the store under it.
func withRaw(ctx context.Context, db *sql.DB, f func(*sql.Conn, *driver.Store) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	store, err := driver.Raw(conn)
	if err != nil {
		return err
	}
	return f(conn, store)
}

// commandHint puts what a command can do in place of a hint that speaks of the
// keys of a DSN.
func commandHint(err error) error {
	var typed *driver.Error
	if !errors.As(err, &typed) || !strings.Contains(typed.Hint, "mode=") {
		return err
	}
	own := *typed
	if driver.Code(own.Code) == driver.ErrBusy {
		own.Hint = "close the program that has it open, or read beside it: tidemark sql, shell, export and inspect take -ro; " +
			"in that program tidemark_branch_points and tidemark_jobs do in SQL what branch, gc, backup, compact and check do"
		return &own
	}
	own.Hint = "tidemark sql, shell and import make a store, or finish one whose making was interrupted"
	return &own
}

// checkDir refuses a directory without a name, as an unset variable gives it,
// and a DSN, whose keys would become part of a new directory's name.
func checkDir(dir string) error {
	if dir == "" {
		return misuse("the name of the store's directory is empty: name a directory")
	}
	if inMemory(dir) {
		return misuse("%s is a store in memory, and this command takes a directory: tidemark sql and shell can do without", dir)
	}
	path, keys, _ := strings.Cut(dir, "?")
	if !strings.Contains(keys, "=") {
		return nil
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if _, err := driver.ParseDSN(dir); errors.Is(err, driver.ErrEphemeral) {
			return err // which says more
		}
		if flags := flagsOf(keys); flags != "" {
			return misuse("%s looks like a DSN, and commands take a directory: tidemark sql, shell, export and inspect take%s %s", dir, flags, path)
		}
		return misuse("%s looks like a DSN, and commands take a directory: use %s", dir, path)
	}
	return nil
}
