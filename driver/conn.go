package driver

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"time"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// conn is one connection: a SQLite connection whose private main database
// mirrors the engine's schema, and the state of its transaction.
//
// database/sql uses it from one goroutine at a time. The fields below are
// touched by that goroutine alone; an interrupt of the caller's context reaches
// the SQLite connection and nothing else.
type conn struct {
	sh    *shared
	db    *vtab.Conn
	store *engine.Store

	tx     txn
	reads  reads
	mirror mirror
	names  names
	cache  stmtCache

	targets      targets                   // of the statement being compiled
	firingWrites map[*vtab.Trigger]targets // see carrierWrites
	shownTemp    shownTemp
	firing       bool            // the bridge knows of temporary triggers
	internal     int             // depth of the driver's own statements, which the authorizer lets pass
	pending      []engine.Change // what the next UPDATE of the control table applies
	emptied      *vtab.Emptied   // by a DROP TABLE, nil when no foreign key asked for it
	control      *vtab.Stmt      // that UPDATE
	guarding     keptStmt        // around statements that may have to be taken back
	release      keptStmt

	order      order           // of a statement on an administrative table
	stepping   context.Context // of the statement that SQLite runs
	shadowTurn uint64          // of the shadow's use that planned pending

	busyTimeout time.Duration
	changed     map[string]bool // sessionPragmas that were set
	affected    int64           // rows of the last INSERT, UPDATE or DELETE of the running call
	closed      bool
	stale       bool // a PRAGMA set what no reset undoes: the pool must not keep the connection
	bad         bool // a panic went through SQLite
}

var (
	_ sqldriver.Conn               = (*conn)(nil)
	_ sqldriver.ConnBeginTx        = (*conn)(nil)
	_ sqldriver.ConnPrepareContext = (*conn)(nil)
	_ sqldriver.ExecerContext      = (*conn)(nil)
	_ sqldriver.QueryerContext     = (*conn)(nil)
	_ sqldriver.NamedValueChecker  = (*conn)(nil)
	_ sqldriver.Pinger             = (*conn)(nil)
	_ sqldriver.SessionResetter    = (*conn)(nil)
	_ sqldriver.Validator          = (*conn)(nil)

	_ sqldriver.Stmt              = (*stmt)(nil)
	_ sqldriver.StmtExecContext   = (*stmt)(nil)
	_ sqldriver.StmtQueryContext  = (*stmt)(nil)
	_ sqldriver.NamedValueChecker = (*stmt)(nil)

	_ sqldriver.Tx     = (*tx)(nil)
	_ sqldriver.Result = result{}

	_ sqldriver.Rows                           = (*rows)(nil)
	_ sqldriver.RowsColumnTypeDatabaseTypeName = (*rows)(nil)
	_ sqldriver.RowsColumnTypeLength           = (*rows)(nil)
	_ sqldriver.RowsColumnTypeNullable         = (*rows)(nil)
	_ sqldriver.RowsColumnTypePrecisionScale   = (*rows)(nil)
	_ sqldriver.RowsColumnTypeScanType         = (*rows)(nil)
)

// newConn opens a connection to the store. On an error the caller keeps its
// reference on sh; otherwise Close gives it up.
func newConn(ctx context.Context, sh *shared) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	db, err := vtab.Open()
	if err != nil {
		return nil, err
	}
	c := &conn{sh: sh, db: db, store: sh.store, busyTimeout: sh.cfg.BusyTimeout}
	if err := c.setUp(); err != nil {
		c.finalize()
		return nil, errors.Join(err, db.Close())
	}
	return c, nil
}

// setUp attaches the store and the catalog and registers what the connection
// answers itself.
func (c *conn) setUp() error {
	c.db.Attach(c.store, c.sh.tables)
	c.db.PushdownOff = c.sh.cfg.Pushdown == "off"
	c.db.OnControl = c.applyPending
	c.db.OnUnlockedWrite = c.lockLate
	c.db.OnPast, c.db.OnUse = c.past, c.use
	if err := c.attachCatalog(); err != nil {
		return err
	}
	if err := c.registerSchemaModules(); err != nil {
		return err
	}
	if err := registerAdmin(c); err != nil {
		return err
	}
	c.db.SetAuthorizer(c.authorize)
	return c.setForeignKeys(c.sh.cfg.ForeignKeys == "on")
}

// checkUsable reports that the connection can run a statement.
func (c *conn) checkUsable(ctx context.Context) error {
	if c.closed || c.unusable() {
		return sqldriver.ErrBadConn
	}
	return ctx.Err()
}

// CheckNamedValue converts an argument to what SQLite stores.
func (c *conn) CheckNamedValue(nv *sqldriver.NamedValue) error {
	return c.sh.clock.checkNamedValue(nv)
}

// Ping reports whether the connection can be used. It also answers Raw.
func (c *conn) Ping(ctx context.Context) error {
	if err := c.checkUsable(ctx); err != nil {
		return err
	}
	answerRaw(ctx, c.sh)
	return nil
}

// IsValid reports whether the connection may go back to the pool, where
// database/sql is about to put it. One that caught a panic may not: SQLite's
// state is unknown then. A transaction that its borrower left open is rolled back
// here and not at the next use: it may hold the write lock.
func (c *conn) IsValid() (valid bool) {
	if c.closed || c.unusable() {
		return false
	}
	var err error
	defer func() { valid = valid && err == nil }()
	defer c.guard("reset", &err)
	if c.tx.phase != idle && c.reads.active == 0 {
		err = c.rollback()
	}
	return true
}

// sessionPragmas are settings of a borrower that the next one must not find.
var sessionPragmas = map[string]string{
	"query_only":          "PRAGMA query_only=0",
	"recursive_triggers":  "PRAGMA recursive_triggers=0",
	"case_sensitive_like": "PRAGMA case_sensitive_like=0",

	"ignore_check_constraints": "PRAGMA ignore_check_constraints=0",
}

// ResetSession undoes what the last borrower of the connection set.
func (c *conn) ResetSession(context.Context) (err error) {
	defer c.guard("reset", &err)
	if !c.IsValid() {
		return sqldriver.ErrBadConn
	}
	if c.stale {
		return sqldriver.ErrBadConn
	}
	c.busyTimeout, c.db.Postpone = c.sh.cfg.BusyTimeout, false
	if err := c.setForeignKeys(c.sh.cfg.ForeignKeys == "on"); err != nil {
		return sqldriver.ErrBadConn
	}
	for name := range c.changed {
		if err := c.ownExec(sessionPragmas[name]); err != nil {
			return sqldriver.ErrBadConn
		}
		delete(c.changed, name)
	}
	return nil
}

// Prepare implements driver.Conn.
func (c *conn) Prepare(query string) (sqldriver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext reads a text and, where it is a single statement, compiles it.
func (c *conn) PrepareContext(ctx context.Context, query string) (_ sqldriver.Stmt, err error) {
	defer c.guard("prepare", &err)
	if err := c.checkUsable(ctx); err != nil {
		return nil, err
	}
	s := newStmt(c, query)
	c.stepping = ctx
	if err := c.precompile(s); err != nil {
		s.finalize()
		return nil, wrapError("prepare", err)
	}
	return s, nil
}

// ExecContext runs the statements of a text.
func (c *conn) ExecContext(ctx context.Context, query string, args []sqldriver.NamedValue) (_ sqldriver.Result, err error) {
	defer c.guard("exec", &err)
	if err := c.checkUsable(ctx); err != nil {
		return nil, err
	}
	if len(query) > maxCachedText {
		return c.execScript(ctx, query, args)
	}
	s := c.cache.take(c, query)
	defer c.cache.put(s)
	return s.exec(ctx, args)
}

// QueryContext runs the statements of a text and returns the rows of the last.
func (c *conn) QueryContext(ctx context.Context, query string, args []sqldriver.NamedValue) (_ sqldriver.Rows, err error) {
	defer c.guard("query", &err)
	if err := c.checkUsable(ctx); err != nil {
		return nil, err
	}
	s := c.cache.take(c, query)
	r, err := s.query(ctx, args)
	if err != nil {
		c.cache.put(s)
		return nil, err
	}
	r.release = true
	return r, nil
}

// Begin implements driver.Conn.
func (c *conn) Begin() (sqldriver.Tx, error) {
	return c.BeginTx(context.Background(), sqldriver.TxOptions{})
}

// Close rolls back, closes the SQLite connection and gives up the reference on
// the store, closing it if this was the last one. Statements and rows that were
// left open end here: nobody else may know them, and the catalog's files would
// stay open with them.
func (c *conn) Close() error {
	if c.closed {
		return nil
	}
	if c.unusable() { // SQLite's memory is lost, and nothing else
		c.abandon()
		c.closed = true
		return wrapError("close", c.sh.release())
	}
	err := c.rollback()
	c.endStore()
	c.closed = true
	c.finalize()
	return wrapError("close", errors.Join(err, c.db.Close(), c.sh.release()))
}

// finalize releases the statements the connection keeps for itself.
func (c *conn) finalize() {
	c.cache.clear()
	if c.control != nil {
		c.control.Finalize()
		c.control = nil
	}
	c.guarding.finalize()
	c.release.finalize()
}

// own runs f as a statement of the driver's own, which the authorizer lets pass.
func (c *conn) own(f func() error) error {
	c.internal++
	defer func() { c.internal-- }()
	return f()
}

// ownExec runs SQL of the driver's own.
func (c *conn) ownExec(sql string) error {
	return c.own(func() error { return c.db.Exec(sql) })
}

// result is the driver.Result of a text: the last rowid and the rows of its last
// INSERT, UPDATE or DELETE.
type result struct{ id, rows int64 }

// LastInsertId returns the rowid of the last row the connection inserted.
func (r result) LastInsertId() (int64, error) { return r.id, nil }

// RowsAffected returns the rows that were changed, without those that triggers
// changed.
func (r result) RowsAffected() (int64, error) { return r.rows, nil }

// execScript runs a long text, reading it as it goes: a dump need not be
// compiled, nor kept, as a whole.
func (c *conn) execScript(ctx context.Context, query string, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	c.affected = 0
	b := newBinder(args)
	var numbering sqltext.Numbering
	if len(args) > 0 {
		if err := b.check(countParams(query)); err != nil {
			return nil, err
		}
	}
	for text := range sqltext.Statements(query) {
		p := &piece{Stmt: sqltext.Parse(text)}
		if len(args) > 0 {
			p.numbers = numbering.Map(text)
		}
		err := c.execPiece(ctx, p, &b)
		p.finalize()
		if err != nil {
			return nil, wrapError("exec", err)
		}
	}
	return result{c.db.LastInsertRowid(), c.affected}, nil
}
