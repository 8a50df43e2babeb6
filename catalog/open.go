package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tidemarkdb/tidemark/migrations"
)

// Open opens the catalog of a store directory.
//
// With Create it makes the file when it is missing and takes over an
// interrupted creation; [Catalog.Initialize] then completes it. Unless
// ReadOnly, pending migrations are applied, after a copy of the file was put
// beside it. The caller holds the store's LOCK unless ReadOnly.
func Open(ctx context.Context, options Options) (*Catalog, error) {
	const op = "open"
	options = options.withDefaults()
	c := &Catalog{options: options, handle: &handle{seam: options.Fault}, writer: make(chan struct{}, 1)}
	if err := c.open(ctx); err != nil {
		return nil, wrap(op, c.closeAfter(err))
	}
	return c, nil
}

func (c *Catalog) open(ctx context.Context) error {
	o := &c.options
	if o.ReadOnly && o.Create {
		return refuse(CodeReadOnly, "open", "a read-only open creates nothing")
	}
	if (o.Pins || o.Immutable) && (!o.ReadOnly || o.Pins && o.Immutable) {
		return refuse(CodeReadOnly, "open", "Pins and Immutable are two ways of ReadOnly")
	}
	version, _ := o.library()
	if err := checkLibrary(version); err != nil {
		return err
	}
	if err := checkFilesystem(o); err != nil {
		return err
	}
	latest, err := migrations.Latest(o.files)
	if err != nil {
		return err
	}
	if err := c.ensureFile(); err != nil {
		return err
	}
	found, err := probe(ctx, o)
	if err != nil {
		return err
	}
	if err := found.accept(latest, o); err != nil {
		return err
	}
	if found.fresh {
		if err := RefuseLost(o.Dir); err != nil {
			return err
		}
	}
	c.current.Store(&Info{Policy: DefaultPolicy(), Version: latest, SQLiteVersion: version})
	if o.Pins {
		if err := c.openWriter(ctx); err != nil {
			return err
		}
	}
	if !o.ReadOnly {
		if err := c.openWriter(ctx); err != nil {
			return err
		}
		if err := c.bringUp(ctx, found, latest); err != nil {
			return err
		}
	}
	if err := c.openReaders(); err != nil {
		return err
	}
	if err := checkSchema(ctx, c.reads.DB, o.files); err != nil {
		return err
	}
	if err := c.loadInfo(ctx, false); err != nil {
		return err
	}
	if !c.Info().Initialized && !o.Create {
		return refuse(CodeUnfinished, "open", "the creation of the store in %s was interrupted", o.Dir)
	}
	if c.Info().Initialized && !o.ReadOnly {
		return c.write(ctx, "diagnostics", func(ctx context.Context, tx *writeTx) error { return c.recordRuntime(ctx, tx, "opened") })
	}
	return nil
}

// ensureFile makes an empty catalog.db by exclusive create and syncs the name.
// A file that exists is left alone: whoever made it, SQLite may have it open.
func (c *Catalog) ensureFile() error {
	path := filepath.Join(c.options.Dir, FileName)
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return refuse(CodeNotStore, "open", "%s is not a regular file", path)
	case err == nil && info.Size() == 0:
		return RefuseLost(c.options.Dir)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return &Error{Code: CodeIO, Op: "open", Err: err}
	case !c.options.Create:
		if err := RefuseLost(c.options.Dir); err != nil {
			return err
		}
		return refuse(CodeMissing, "open", "no store in %s: %s does not exist", c.options.Dir, FileName)
	}
	if err := RefuseLost(c.options.Dir); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil // made meanwhile; the probe looks at it
	}
	if err != nil {
		return &Error{Code: CodeIO, Op: "create", Err: err}
	}
	if err := errors.Join(f.Sync(), f.Close(), syncDir(c.options.Dir)); err != nil {
		return &Error{Code: CodeIO, Op: "create", Err: err}
	}
	return nil
}

// bringUp takes the file from the state it was found in to the latest version.
// Each step is one transaction, so an interruption leaves a state that probe
// recognises and the next open goes on from.
func (c *Catalog) bringUp(ctx context.Context, found probed, latest int64) error {
	if found.fresh {
		if err := c.identify(ctx); err != nil {
			return err
		}
	}
	if !found.fresh && found.version == latest {
		return nil
	}
	if found.initialized {
		if _, err := copyAside(ctx, c.options.Dir, found.version); err != nil {
			return err
		}
	}
	err := migrations.Up(ctx, c.writes.DB, c.options.files, func(ctx context.Context, version int64) context.Context {
		return withCommitName(ctx, fmt.Sprintf("migrate-%d", version))
	})
	if err != nil {
		return err
	}
	return c.checkMigrated(ctx, latest)
}

// identify marks an empty file as a catalog and makes the version table.
func (c *Catalog) identify(ctx context.Context) error {
	return c.write(ctx, "identify", func(ctx context.Context, tx *writeTx) error {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, ApplicationID)); err != nil {
			return err
		}
		return migrations.CreateVersionTable(ctx, tx.Tx.Tx)
	})
}

// checkMigrated refuses a migration that did not set user_version to its number.
func (c *Catalog) checkMigrated(ctx context.Context, latest int64) error {
	var version int64
	if err := c.writes.GetContext(ctx, &version, `PRAGMA user_version`); err != nil {
		return err
	}
	if version != latest {
		return refuse(CodeVersion, "migrate", "user_version is %d after migrating to %d", version, latest)
	}
	return nil
}
