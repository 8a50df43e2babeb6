package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
)

// Catalog is an open catalog. Its methods may be called from any goroutine;
// writes run one after another.
type Catalog struct {
	options Options
	handle  *handle
	writes  *sqlx.DB // nil when read-only
	reads   *sqlx.DB
	current atomic.Pointer[Info]

	// writer is held by the call that writes; it also guards ids.
	writer chan struct{}
	ids    allocation
}

// Info says what kind of catalog is open.
func (c *Catalog) Info() Info { return *c.current.Load() }

// identity of the catalog, zero until the store is initialised.
func (c *Catalog) identity() [16]byte { return c.current.Load().Identity }

// loadInfo reads catalog_info again.
func (c *Catalog) loadInfo(ctx context.Context, created bool) error {
	return c.read(ctx, "info", func(ctx context.Context, tx *sqlx.Tx) error {
		row, err := readInfo(ctx, tx)
		if err != nil || row == nil {
			return err
		}
		if err := row.checkPolicy(DefaultPolicy()); err != nil {
			return err
		}
		next := c.Info()
		next.Identity, next.Initialized = row.identity(), true
		next.Created = next.Created || created
		c.current.Store(&next)
		return nil
	})
}

// Close waits for the running write, moves the write-ahead log into the file
// and closes. A reader in another process may keep the log from being emptied;
// that loses nothing and is no error.
func (c *Catalog) Close(ctx context.Context) error {
	select {
	case c.writer <- struct{}{}:
		defer func() { <-c.writer }()
	case <-ctx.Done():
		return &Error{Code: CodeCanceled, Op: "close", Err: ctx.Err()}
	}
	c.handle.mu.Lock()
	closed, healthy := c.handle.closed, c.handle.cause == nil
	c.handle.closed = true
	c.handle.mu.Unlock()
	if closed {
		return nil
	}
	err := c.reads.Close()
	if c.writes != nil {
		if healthy && !c.options.ReadOnly {
			err = errors.Join(err, checkpoint(ctx, c.writes))
		}
		err = errors.Join(err, c.writes.Close())
	}
	return wrap("close", err)
}

// checkpoint moves the log into the file and truncates it.
func checkpoint(ctx context.Context, db *sqlx.DB) error {
	conn, err := db.Connx(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// A shell that reads meanwhile is not worth the whole busy timeout.
	if _, err := conn.ExecContext(ctx, `PRAGMA busy_timeout = 250`); err != nil {
		return err
	}
	var busy, log, moved sql.NullInt64
	err = conn.QueryRowxContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved)
	if code, _ := classify(err); err != nil && code != CodeBusy {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// recordRuntime appends which library really ran.
func (c *Catalog) recordRuntime(ctx context.Context, tx *writeTx, note string) error {
	version, source := c.options.library()
	_, err := tx.ExecContext(ctx, `INSERT INTO runtime_diagnostics(opened_at, sqlite_version, sqlite_source_id, host, note) VALUES (?, ?, ?, ?, ?)`,
		timestamp(c.options.Now()), version, source, hostName(), note)
	if err != nil {
		return fmt.Errorf("runtime_diagnostics: %w", err)
	}
	return nil
}

// closeAfter closes what a failed open had opened and returns its error.
func (c *Catalog) closeAfter(err error) error {
	if c.reads != nil {
		err = errors.Join(err, c.reads.Close())
	}
	if c.writes != nil {
		err = errors.Join(err, c.writes.Close())
	}
	return err
}

// openWriter opens the one writing connection. It connects at once, because it
// is this connection that brings a file into WAL mode; readers only look.
func (c *Catalog) openWriter(ctx context.Context) error {
	db, err := openPool(c.options.Dir, writing, c.options.BusyTimeout, c.handle)
	if err != nil {
		return err
	}
	c.writes = sqlx.NewDb(db, "sqlite")
	return c.writes.PingContext(ctx)
}

// openReaders opens the pool of reading connections.
func (c *Catalog) openReaders() error {
	db, err := openPool(c.options.Dir, c.options.reads(), c.options.BusyTimeout, c.handle)
	if err != nil {
		return err
	}
	c.reads = sqlx.NewDb(db, "sqlite")
	return nil
}
