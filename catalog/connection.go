package catalog

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// access is what a connection may do.
type access int

const (
	reading access = iota // mode=ro
	writing               // mode=rw, BEGIN IMMEDIATE
	frozen                // mode=ro of a file that nobody can write
)

// pragma is a setting that is made, where it can be, and read back.
type pragma struct {
	name string
	set  string // value to set; "" when the connection only checks
	want string // value that must be read back
}

// settings of a connection. foreign_keys cannot change inside a transaction and
// recursive_triggers decides whether REPLACE meets the DELETE guards, so a
// connection without them is unusable, not merely suspicious.
func settings(a access) []pragma {
	list := []pragma{
		{"foreign_keys", "ON", "1"},
		{"recursive_triggers", "ON", "1"},
		{"synchronous", "FULL", "2"},
		{"trusted_schema", "OFF", "0"},
		{"cell_size_check", "ON", "1"},
	}
	if a == writing {
		// WAL is persistent in the file; setting it again is a no-op. The checkpoint bound is SQLite's default, made explicit.
		return append(list, pragma{"journal_mode", "WAL", "wal"}, pragma{"wal_autocheckpoint", "1000", "1000"})
	}
	if a == frozen { // SQLite does not look for a log
		return append(list, pragma{"query_only", "ON", "1"})
	}
	return append(list, pragma{"journal_mode", "", "wal"}, pragma{"query_only", "ON", "1"})
}

// openPool opens connections of one kind to the catalog of dir.
func openPool(dir string, a access, busy time.Duration, h *handle) (*sql.DB, error) {
	dsn, err := dataSource(dir, a, busy)
	if err != nil {
		return nil, err
	}
	base, err := connectorOf(dsn, h.seam)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(&connector{Connector: base, access: a, handle: h})
	if a == writing {
		db.SetMaxOpenConns(1)
	} else {
		db.SetMaxOpenConns(4)
		db.SetMaxIdleConns(4)
	}
	return db, nil
}

// dataSource spells a file: URI; a bare path would drop mode=.
func dataSource(dir string, a access, busy time.Duration) (string, error) {
	abs, err := filepath.Abs(filepath.Join(dir, FileName))
	if err != nil {
		return "", err
	}
	path := filepath.ToSlash(abs)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	mode := "ro"
	if a == writing {
		mode = "rw"
	}
	query := url.Values{
		"mode":          {mode},
		"_busy_timeout": {strconv.FormatInt(max(busy.Milliseconds(), 1), 10)},
		"_defensive":    {"1"},
		"_dqs":          {"0"},
	}
	if a == frozen {
		query.Set("immutable", "1")
	}
	uri := url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}
	return uri.String(), nil
}

// connectorOf connects through a seam, which may be nil.
func connectorOf(dsn string, seam *Seam) (driver.Connector, error) {
	base, err := sqlite.NewConnector(dsn)
	if err != nil || seam == nil || seam.Connect == nil {
		return base, err
	}
	return &seamConnector{base, dsn, seam}, nil
}

type seamConnector struct {
	driver.Connector
	dsn  string
	seam *Seam
}

func (c *seamConnector) Connect(ctx context.Context) (driver.Conn, error) {
	return c.seam.Connect(c.dsn, func() (driver.Conn, error) { return c.Connector.Connect(ctx) })
}

// connector makes every physical connection of a pool a guarded one.
type connector struct {
	driver.Connector
	access access
	handle *handle
}

// Connect opens, sets the pragmas and reads them back.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(physical)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's %T lacks an interface", conn), conn.Close())
	}
	g := &guardedConn{physical: inner, access: c.access, handle: c.handle, statements: statements{}}
	for _, p := range settings(c.access) {
		if p.set == "" {
			continue
		}
		// Through a query: journal_mode answers with a row.
		if _, err := g.pragma(ctx, p.name+" = "+p.set); err != nil {
			return nil, errors.Join(fmt.Errorf("PRAGMA %s: %w", p.name, err), conn.Close())
		}
	}
	if err := g.verify(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return g, nil
}

// physical is what every connection of the SQLite driver implements.
type physical interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// guardedConn is one connection whose transactions pass the seam. Its statements
// stay compiled.
type guardedConn struct {
	physical
	access     access
	handle     *handle
	statements statements
}

// BeginTx checks the pragmas once more and begins. COMMIT must not be cut short
// by the caller's context, hence not the driver's own BeginTx, which keeps it.
func (g *guardedConn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if err := g.verify(ctx); err != nil {
		return nil, err
	}
	begin := "BEGIN"
	if g.access == writing {
		begin = "BEGIN IMMEDIATE"
	}
	if _, err := g.ExecContext(ctx, begin, nil); err != nil {
		// A context that ends right then can report failure of a BEGIN that took effect.
		g.rollback()
		return nil, err
	}
	return &guardedTx{conn: g, name: commitName(ctx)}, nil
}

// verify reads every setting back.
func (g *guardedConn) verify(ctx context.Context) error {
	for _, p := range settings(g.access) {
		got, err := g.pragma(ctx, p.name)
		if err != nil {
			return fmt.Errorf("PRAGMA %s: %w", p.name, err)
		}
		if got != p.want {
			return refuse(CodePragma, "", "connection refused: PRAGMA %s is %q, must be %q", p.name, got, p.want)
		}
	}
	return nil
}

// pragma runs one PRAGMA and returns its single value, "" when it has none.
func (g *guardedConn) pragma(ctx context.Context, text string) (string, error) {
	rows, err := g.QueryContext(ctx, "PRAGMA "+text, nil)
	if err != nil {
		return "", err
	}
	dest := make([]driver.Value, max(len(rows.Columns()), 1))
	err = rows.Next(dest[:len(rows.Columns())])
	if closeErr := rows.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, io.EOF) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprint(dest[0]), nil
}

// rollback ends whatever transaction is open and tells whether one was.
func (g *guardedConn) rollback() (wasOpen bool) {
	_, err := g.ExecContext(context.Background(), "ROLLBACK", nil)
	return err == nil
}

// guardedTx is a transaction of a guardedConn.
type guardedTx struct {
	conn *guardedConn
	name string
}

// Commit passes the seam. A failure poisons the handle: a storage error at
// COMMIT does not mean rollback, because the frames may be in the WAL. Only a
// disk without room is no such error: SQLite did not get as far as the frame
// that makes a commit, has rolled back, and overwrites what it wrote.
func (t *guardedTx) Commit() error {
	run := func() error {
		_, err := t.conn.ExecContext(context.Background(), "COMMIT", nil)
		return err
	}
	if t.conn.access != writing {
		return run()
	}
	err := t.conn.handle.commit(t.name, run)
	if err == nil {
		return nil
	}
	stillOpen := t.conn.rollback()
	failed := &Error{Code: CodeIO, Op: t.name, Err: fmt.Errorf("COMMIT: %w", err)}
	failed.OutcomeUnknown = true
	var se *sqlite.Error
	if errors.As(err, &se) {
		failed.Code, failed.Result = classify(err)
		// SQLite refused before it wrote anything, and the transaction was there to be rolled back.
		refused := se.Code()&0xff == lib.SQLITE_CONSTRAINT || se.Code()&0xff == lib.SQLITE_BUSY
		failed.OutcomeUnknown = !(refused && stillOpen)
		if se.Code()&0xff == lib.SQLITE_FULL {
			failed.OutcomeUnknown = false
			return failed
		}
	}
	t.conn.handle.poison(failed)
	return failed
}

// Rollback ends the transaction. SQLite may have ended it already; that is what
// was asked for.
func (t *guardedTx) Rollback() error {
	t.conn.rollback()
	return nil
}
