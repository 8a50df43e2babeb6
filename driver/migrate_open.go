package driver

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
)

// folder is a directory of migrations that a DSN named.
type folder struct {
	fs.FS
	name string
}

// migrationsKey is the key migrations. Its field may hold a file system that no text
// names; its text is "" then.
var migrationsKey = configKey{
	name: "migrations", unset: true, hint: "the name of a folder that is there, with goose-format .sql files",
	other: func(v string) bool { info, err := os.Stat(v); return err == nil && info.IsDir() },
	get: func(c *Config) string {
		f, _ := c.Migrations.(folder)
		return f.name
	},
	set: func(c *Config, v string) error { c.Migrations = folder{os.DirFS(v), v}; return nil },
}

// migrate applies the application's migrations before the first connection is handed
// out. Connectors of one engine do so one after the other.
func (sh *shared) migrate(ctx context.Context) (err error) {
	if sh.cfg.Migrations == nil {
		return nil
	}
	select {
	case sh.inst.migrating <- struct{}{}:
		defer func() { <-sh.inst.migrating }()
	case <-ctx.Done():
		return ctx.Err()
	}
	own := *sh
	own.cfg.Txlock, own.cfg.Migrations = "immediate", nil
	if own.clock, err = newClock("rfc3339", "UTC"); err != nil { // the version table has times
		return err
	}
	own.inst.retain()
	db := sql.OpenDB(&Connector{cfg: own.cfg, shared: &own})
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = MigrateUp(ctx, db, sh.cfg.Migrations)
	return err
}
