package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
)

// Copy writes a consistent copy of the catalog in dir to the file dest, which
// must not exist, and syncs it. It reads through SQLite on a connection of its
// own, so it may run while the store is open, also from inside a [Seam].
func Copy(ctx context.Context, dir, dest string) error {
	dsn, err := dataSource(dir, reading, 5*time.Second)
	if err != nil {
		return err
	}
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	_, err = db.ExecContext(ctx, `VACUUM INTO ?`, dest)
	if err := errors.Join(err, db.Close()); err != nil {
		return wrap("copy", fmt.Errorf("to %s: %w", dest, err))
	}
	// SQLite has let go of the copy; it is an ordinary file here.
	f, err := os.OpenFile(dest, os.O_RDWR, 0)
	if err != nil {
		return &Error{Code: CodeIO, Op: "copy", Err: err}
	}
	if err := errors.Join(f.Sync(), f.Close(), syncDir(filepath.Dir(dest))); err != nil {
		return &Error{Code: CodeIO, Op: "copy", Err: err}
	}
	return nil
}

// CopyName is the file, in the store directory, that holds the catalog as it
// was before a migration away from version.
func CopyName(version int64) string { return fmt.Sprintf("%s.v%d.bak", FileName, version) }

// copyAside copies the catalog before it is migrated. The copy gets its name
// only when it is complete and synced; one left by an interrupted attempt is
// written anew.
func copyAside(ctx context.Context, dir string, version int64) (string, error) {
	final := filepath.Join(dir, CopyName(version))
	partial := final + ".tmp"
	if err := os.Remove(partial); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", &Error{Code: CodeIO, Op: "migrate", Err: err}
	}
	if err := Copy(ctx, dir, partial); err != nil {
		return "", err
	}
	if err := errors.Join(os.Rename(partial, final), syncDir(dir)); err != nil {
		return "", &Error{Code: CodeIO, Op: "migrate", Err: err}
	}
	return final, nil
}
