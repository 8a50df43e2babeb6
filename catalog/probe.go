package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/migrations"
)

// probed is what a file is, found out before anything is written to it.
type probed struct {
	fresh         bool // an empty database: creation got no further than the file
	applicationID int64
	version       int64 // user_version
	tableVersion  int64 // of the version table, -1 without one
	initialized   bool  // catalog_info has its row
}

// probe reads the file read-only. A crash in the first moments of a creation
// can leave a rollback journal, which only a writing connection can roll back.
func probe(ctx context.Context, o *Options) (probed, error) {
	found, err := probeWith(ctx, o, o.reads())
	if code, _ := classify(err); err != nil && !o.ReadOnly && (code == CodeReadOnly || code == CodeIO) {
		found, err = probeWith(ctx, o, writing)
	}
	var se *sqlite.Error
	if errors.As(err, &se) && se.Code()&0xff == lib.SQLITE_NOTADB {
		if object, _ := anyObject(o.Dir); object != "" {
			return probed{}, refuse(CodeCorrupt, "open", "%w: %s in %s is not a SQLite file, but %s exists: %s: %w", ErrLost, FileName, o.Dir, object, wayBack(o.Dir), err)
		}
		return probed{}, refuse(CodeNotStore, "open", "%s in %s is not a SQLite file: %w", FileName, o.Dir, err)
	}
	return found, err
}

func probeWith(ctx context.Context, o *Options, a access) (found probed, err error) {
	dsn, err := dataSource(o.Dir, a, o.BusyTimeout)
	if err != nil {
		return probed{}, err
	}
	connector, err := connectorOf(dsn, o.Fault)
	if err != nil {
		return probed{}, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()

	// The stored values are 32-bit; a foreign application_id may be negative.
	if err := db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&found.applicationID); err != nil {
		return probed{}, err
	}
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&found.version); err != nil {
		return probed{}, err
	}
	var objects, versionTable, infoTable int64
	if err := db.QueryRowContext(ctx, `
		SELECT count(*), count(*) FILTER (WHERE type = 'table' AND name = ?), count(*) FILTER (WHERE type = 'table' AND name = 'catalog_info')
		FROM sqlite_schema`, migrations.Table).Scan(&objects, &versionTable, &infoTable); err != nil {
		return probed{}, err
	}
	found.fresh = objects == 0 && found.applicationID == 0 && found.version == 0
	found.tableVersion = -1
	if found.applicationID != ApplicationID {
		return found, nil // a stranger's tables are not read
	}
	if versionTable == 1 {
		if err := db.QueryRowContext(ctx, fmt.Sprintf(`SELECT coalesce(max(version_id), -1) FROM %s WHERE is_applied`, migrations.Table)).
			Scan(&found.tableVersion); err != nil {
			return probed{}, err
		}
	}
	if infoTable == 1 {
		if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM catalog_info)`).Scan(&found.initialized); err != nil {
			return probed{}, err
		}
	}
	return found, nil
}

// accept decides whether this program opens what was found.
func (p probed) accept(latest int64, o *Options) error {
	if p.fresh {
		if !o.Create {
			return refuse(CodeUnfinished, "open", "the creation of the store in %s was interrupted", o.Dir)
		}
		return nil
	}
	if p.applicationID != ApplicationID {
		return refuse(CodeNotStore, "open", "%s in %s has application id %#x, a store has %#x", FileName, o.Dir, uint32(p.applicationID), ApplicationID)
	}
	if have := max(p.version, p.tableVersion); have > latest {
		return &Error{Code: CodeVersion, Op: "open", Err: fmt.Errorf("%w: its catalog has version %d, this program knows up to %d", ErrNewer, have, latest)}
	}
	if p.version != p.tableVersion {
		return refuse(CodeCorrupt, "open", "user_version is %d and the version table says %d", p.version, p.tableVersion)
	}
	if p.version < latest && o.ReadOnly {
		return &Error{Code: CodeVersion, Op: "open", Err: fmt.Errorf("%w: its catalog has version %d, this program needs %d; open it read-write once to migrate it",
			ErrOlder, p.version, latest)}
	}
	if !p.initialized && !o.Create {
		return refuse(CodeUnfinished, "open", "the creation of the store in %s was interrupted", o.Dir)
	}
	return nil
}
