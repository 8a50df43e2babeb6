package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Table is the name of the version table. It is not the library's own: a program
// that keeps its tables in a store may use the same library for them, and its
// look at that name must not find ours through schema catalog.
const Table = "catalog_migrations"

// CreateVersionTable creates the version table with its zero row. The caller
// runs it in the transaction that marks a new file as a catalog, so that no
// state exists in which the mark is there and the table is not.
func CreateVersionTable(ctx context.Context, tx *sql.Tx) error {
	store, err := database.NewStore(database.DialectSQLite3, Table)
	if err != nil {
		return fmt.Errorf("version table: %w", err)
	}
	if err := store.CreateVersionTable(ctx, tx); err != nil {
		return err
	}
	return store.Insert(ctx, tx, database.InsertRequest{Version: 0})
}

// Up applies the migrations of fsys that db does not have yet, in order, each
// in one transaction with its version row. before, which may be nil, is called
// ahead of each version and returns the context its transaction runs under.
func Up(ctx context.Context, db *sql.DB, fsys fs.FS, before func(ctx context.Context, version int64) context.Context) error {
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, fsys, goose.WithTableName(Table), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	current, err := provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("migrations: read version: %w", err)
	}
	versions, err := Versions(fsys)
	if err != nil {
		return err
	}
	for _, v := range versions {
		if v <= current {
			continue
		}
		step := ctx
		if before != nil {
			step = before(ctx, v)
		}
		if _, err := provider.ApplyVersion(step, v, true); err != nil {
			// Its text names the version as well.
			var partial *goose.PartialError
			if errors.As(err, &partial) {
				err = partial.Err
			}
			return fmt.Errorf("migration %d: %w", v, err)
		}
	}
	return nil
}
