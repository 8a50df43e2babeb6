package main

import (
	"context"
	"database/sql"

	"github.com/tidemarkdb/tidemark/driver"
)

// openStore opens the store in dir and connects, so that what is wrong with it
// is known at once. Times are shown as they are stored. mode is "rw", or "rwc"
// to create a store that is missing.
func openStore(ctx context.Context, dir, mode string) (*sql.DB, error) {
	err := checkDir(dir)
	if err == nil && mode == "rwc" {
		err = checkNewDir(dir)
	}
	if err != nil {
		return nil, err
	}
	connector, err := driver.NewConnector(driver.Config{Path: dir, Mode: mode, TimeFormat: "none"})
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close() // nothing was written
		return nil, err
	}
	return db, nil
}

// withStore runs f on the store in dir and reports the error of closing it,
// too: that is where the last bytes are written.
func withStore(ctx context.Context, dir, mode string, f func(*sql.DB) error) (err error) {
	db, err := openStore(ctx, dir, mode)
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

// checkDir refuses a directory without a name, as an unset variable gives it.
func checkDir(dir string) error {
	if dir == "" {
		return misuse("the name of the store's directory is empty: name a directory")
	}
	return nil
}
