package driver

import (
	"context"
	sqldriver "database/sql/driver"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// stmt is a text of one or more statements that is kept: a prepared statement,
// or an entry of the connection's cache.
type stmt struct {
	c      *conn
	text   string
	pieces []*piece
	params int
	named  bool // a parameter has a name, so the number of arguments is open
	inUse  bool // taken from the cache
	hit    bool // used since the cache's hand last passed
}

// piece is one statement on one connection. What the text says is fixed; what
// SQLite compiles for it depends on the schema and on what names mean.
type piece struct {
	*sqltext.Stmt
	numbers []int      // of its parameters in the whole text; nil: as in the statement
	read    *readPiece // what connections share of it, nil for a statement that is run once

	st        *vtab.Stmt // nil until compiled
	ret       *returning // its RETURNING clause, where it is not SQLite's
	names     []string   // of its parameters by number, where st has numbers alone
	plans     []*vtab.Plan
	planned   *vtab.Conn // that knows the plans
	nparams   int
	schema    *engine.Schema // st is compiled for
	gen       uint64         // of the names it is compiled for
	to        place          // of the object it writes
	writes    targets        // what st writes, triggers included
	enforced  enforced       // how foreign keys were when st was compiled
	keyed     bool           // they concern what it writes
	oneRow    bool           // an INSERT of one row into a table that they concern
	guarded   bool           // a savepoint is around it, see startStatement
	fires     bool           // triggers on tables of the store
	locatedIn *engine.Schema // to was found in this schema and by these names
	locatedBy uint64
	cols      []column // of its rows; nil until asked for
	labels    []string
	plain     []string // names of the columns as plain SQLite gives them, if they differ
	clause    bool     // the OR clause as written must be told, see vtab.Conn.SetClause
	busy      bool     // rows are stepping it
}

// newStmt reads a text; nothing is compiled yet.
func newStmt(c *conn, text string) *stmt {
	rt := c.sh.tables.texts.read(text)
	s := &stmt{c: c, text: text, params: rt.params, named: rt.named}
	for _, r := range rt.pieces {
		s.pieces = append(s.pieces, &piece{Stmt: r.stmt, numbers: r.numbers, read: r})
	}
	if len(s.pieces) == 1 && takesNone(s.pieces[0].Kind) {
		s.params = 0
	}
	return s
}

// finalize releases what SQLite compiled.
func (s *stmt) finalize() {
	for _, p := range s.pieces {
		p.finalize()
	}
}

func (p *piece) finalize() {
	p.dropPlans()
	if p.st != nil {
		p.st.Finalize()
		p.st = nil
	}
	p.ret.finalize()
	p.ret = nil
}

// free returns a piece that nobody is stepping: the piece itself or, while rows
// of it are open, another one of the same statement.
func (p *piece) free() (q *piece, copied bool) {
	if !p.busy {
		return p, false
	}
	return &piece{Stmt: p.Stmt, numbers: p.numbers, read: p.read}, true
}

// NumInput returns the number of arguments, -1 when names leave it open.
func (s *stmt) NumInput() int {
	if s.named {
		return -1
	}
	return s.params
}

// CheckNamedValue converts an argument to what SQLite stores.
func (s *stmt) CheckNamedValue(nv *sqldriver.NamedValue) error {
	return s.c.sh.clock.checkNamedValue(nv)
}

// Close releases the statement.
func (s *stmt) Close() error {
	if !s.c.closed && !s.c.unusable() {
		s.finalize()
	}
	return nil
}

// ExecContext runs the text.
func (s *stmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (_ sqldriver.Result, err error) {
	defer s.c.guard("exec", &err)
	if err := s.c.checkUsable(ctx); err != nil {
		return nil, err
	}
	return s.exec(ctx, args)
}

// QueryContext runs the text and returns the rows of its last statement.
func (s *stmt) QueryContext(ctx context.Context, args []sqldriver.NamedValue) (_ sqldriver.Rows, err error) {
	defer s.c.guard("query", &err)
	if err := s.c.checkUsable(ctx); err != nil {
		return nil, err
	}
	r, err := s.query(ctx, args)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Exec implements driver.Stmt; database/sql calls ExecContext.
func (s *stmt) Exec(args []sqldriver.Value) (sqldriver.Result, error) {
	return s.ExecContext(context.Background(), ordinals(args))
}

// Query implements driver.Stmt; database/sql calls QueryContext.
func (s *stmt) Query(args []sqldriver.Value) (sqldriver.Rows, error) {
	return s.QueryContext(context.Background(), ordinals(args))
}

func ordinals(args []sqldriver.Value) []sqldriver.NamedValue {
	list := make([]sqldriver.NamedValue, len(args))
	for i, v := range args {
		list[i] = sqldriver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return list
}

func (s *stmt) exec(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	b := newBinder(args)
	if err := b.check(s.params); err != nil {
		return nil, err
	}
	s.c.affected = 0
	for _, p := range s.pieces {
		if err := s.c.execPiece(ctx, p, &b); err != nil {
			return nil, wrapError("exec", err)
		}
	}
	return result{s.c.db.LastInsertRowid(), s.c.affected}, nil
}

func (s *stmt) query(ctx context.Context, args []sqldriver.NamedValue) (*rows, error) {
	b := newBinder(args)
	if err := b.check(s.params); err != nil {
		return nil, err
	}
	if len(s.pieces) == 0 {
		return &rows{c: s.c, s: s}, nil
	}
	last := len(s.pieces) - 1
	for _, p := range s.pieces[:last] {
		if err := s.c.execPiece(ctx, p, &b); err != nil {
			return nil, wrapError("query", err)
		}
	}
	r, err := s.c.queryPiece(ctx, s.pieces[last], &b)
	if err != nil {
		return nil, wrapError("query", err)
	}
	r.s = s
	return r, nil
}
