package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
)

// Object is one entry of sqlite_schema.
type Object struct {
	Type  string // table, index, trigger, view
	Name  string
	Table string // table or view it belongs to
	SQL   string // stored text; automatic indexes, which have none, are left out
}

// Schema applies fsys to scratch, an empty database the caller discards, and
// returns the schema that results: what a catalog of that version must hold.
func Schema(ctx context.Context, scratch *sql.DB, fsys fs.FS) ([]Object, error) {
	tx, err := scratch.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := CreateVersionTable(ctx, tx); err != nil {
		return nil, fmt.Errorf("%w (rollback: %v)", err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	if err := Up(ctx, scratch, fsys, nil); err != nil {
		return nil, err
	}
	return Stored(ctx, scratch)
}

// Querier is the part of *sql.DB, *sql.Conn and *sql.Tx that reading needs.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Stored lists the schema that a database holds, ordered by type and name.
func Stored(ctx context.Context, db Querier) (_ []Object, err error) {
	rows, err := db.QueryContext(ctx, `SELECT type, name, tbl_name, sql FROM sqlite_schema
		WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY type, name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var objects []Object
	for rows.Next() {
		var o Object
		if err := rows.Scan(&o.Type, &o.Name, &o.Table, &o.SQL); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, rows.Err()
}
