package catalog

import (
	"context"
	"database/sql"
	"errors"

	"github.com/tidemarkdb/tidemark/migrations"
	"modernc.org/sqlite"
)

// Memory is a catalog of the latest version that has no rows and no file: what
// the connections of a store in memory see as schema catalog. Such a store has no
// files to keep books of.
type Memory struct{ db *sql.DB }

// OpenMemory makes a catalog in memory that lives until Close. Any connection of
// the process reaches it under MemoryURI(name).
func OpenMemory(ctx context.Context, name string) (*Memory, error) {
	connector, err := sqlite.NewConnector(MemoryURI(name))
	if err != nil {
		return nil, &Error{Code: CodeIO, Op: "create", Err: err}
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1) // which keeps the database alive
	if _, err := migrations.Schema(ctx, db, migrations.Files()); err != nil {
		return nil, &Error{Code: CodeIO, Op: "create", Err: errors.Join(err, db.Close())}
	}
	return &Memory{db}, nil
}

// MemoryURI names a catalog in memory to SQLite.
func MemoryURI(name string) string { return "file:/" + name + "?vfs=memdb" }

// Close lets go of the catalog, which ends with the last connection to it.
func (m *Memory) Close() error { return m.db.Close() }
