package driver

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// compile fixes lock, snapshot and mirror for a statement and has SQLite compile
// it, unless that was done for this schema before.
func (c *conn) compile(ctx context.Context, p *piece) error {
	before := c.footing()
	if err := c.compileLocked(ctx, p); err != nil {
		if undone := c.withdraw(before); undone != nil {
			return undone
		}
		return err
	}
	return nil
}

func (c *conn) compileLocked(ctx context.Context, p *piece) error {
	a, err := c.accessOf(p)
	if err != nil {
		return err
	}
	if err := c.acquire(ctx, a); err != nil {
		return err
	}
	c.stepping = ctx // planning may have to read
	if err := c.loadNames(); err != nil {
		return err
	}
	if err := c.showTemp(); err != nil {
		return err
	}
	if p.st == nil || p.schema != c.mirror.schema || p.gen != c.names.gen || !c.names.known || p.enforced != c.enforced() {
		if err := c.build(p); err != nil {
			return err
		}
	}
	return c.checkTargets(ctx, p, a)
}

// checkTargets compares what SQLite says the statement writes, triggers
// included, with what its text told.
func (c *conn) checkTargets(ctx context.Context, p *piece, a access) error {
	w := p.writes
	if w.admin && p.to != inAdmin {
		return newError("", ErrGeneric, "administrative writes are statements of their own: no trigger can make one")
	}
	if w.store && (w.file || c.tx.file) || w.file && c.tx.store {
		return errTwoFiles()
	}
	if c.tx.phase != idle {
		c.tx.store, c.tx.file = c.tx.store || w.store, c.tx.file || w.file
	}
	if a == toRead && (w.store || !p.st.ReadOnly() && p.to == nowhere) {
		return c.acquire(ctx, toWrite)
	}
	return nil
}

// accessOf says whether a statement needs the write lock, before anything is
// fixed. A view counts as the store, and so does temp when it has triggers.
func (c *conn) accessOf(p *piece) (access, error) {
	if !p.Kind.IsDML() {
		return toRead, nil
	}
	if err := c.locateTarget(p); err != nil {
		return toRead, err
	}
	switch p.to {
	case inStore:
		if err := c.refuseWrite(); err != nil {
			return toRead, err
		}
		if c.tx.file {
			return toRead, errTwoFiles()
		}
		c.tx.store = c.tx.phase != idle
		return toWrite, nil
	case inAdmin:
		if c.tx.phase != idle {
			return toRead, errAdminInTx(p.Target.Name)
		}
		return toRead, c.refuseWrite()
	case inTemp:
		if c.names.triggers && c.refuseWrite() == nil {
			return toWrite, nil
		}
	case inFile:
		if c.tx.readOnly {
			return toRead, errReadOnlyTx
		}
		if c.tx.store {
			return toRead, errTwoFiles()
		}
		c.tx.file = c.tx.phase != idle
	case inCatalog:
		if p.Target.Schema == "" {
			return toRead, errNoTable(p.Target)
		}
	}
	return toRead, nil
}

// locateTarget finds the place of the object a statement writes. The answer holds
// while schema and names stay as they are, but for attached files, which other
// processes change too.
func (c *conn) locateTarget(p *piece) error {
	schema := c.schema()
	if p.locatedIn == schema && p.locatedBy == c.names.gen && c.names.known {
		return nil
	}
	where, err := c.locate(p.Target, schema, "table", "view")
	if err != nil {
		return err
	}
	p.to, p.locatedIn = where, nil
	if len(c.names.files) == 0 {
		p.locatedIn, p.locatedBy = schema, c.names.gen
	}
	return nil
}

// build compiles the text SQLite is to run for a statement.
func (c *conn) build(p *piece) error {
	if err := c.loadNames(); err != nil {
		return err
	}
	if err := c.showTemp(); err != nil {
		return err
	}
	schema := c.mirror.schema
	c.db.ClearError()
	m, ps, err := c.make(p, schema)
	if err != nil {
		return c.sqliteError(context.Background(), err)
	}
	p.finalize()
	p.cols, p.labels, p.plain = nil, nil, nil
	p.clause, p.names = m.clause, m.names
	p.usePlans(c.db, m.plans)
	c.targets = targets{}
	st, _, err := c.db.Prepare(m.text)
	p.writes = c.targets
	if err == nil && ps.unsure {
		err = c.compileQueries(ps.queries)
	}
	if err != nil && m.text != p.Text && m.plans == nil {
		// The message must be about what the user wrote.
		if orig, _, plain := c.db.Prepare(p.Text); plain != nil && !ofVirtual(plain) {
			err = plain
		} else if orig != nil {
			orig.Finalize()
		}
	}
	if err != nil {
		if st != nil {
			st.Finalize()
		}
		err = c.sqliteError(context.Background(), err)
		if p.Kind == sqltext.Invalid {
			err = c.explainInvalid(p.Stmt, err)
		}
		return err
	}
	err = c.checkBuilt(p, st)
	if err == nil {
		err = c.findFirings(p)
	}
	if err == nil {
		err = c.checkKeys(p)
	}
	if err != nil {
		st.Finalize()
		return err
	}
	if p.ret, err = c.buildReturning(p, schema); err != nil {
		st.Finalize()
		return err
	}
	p.st, p.nparams, p.schema, p.gen = st, st.NumParams(), schema, c.names.gen
	return nil
}

// checkBuilt refuses what SQLite accepts on the mirror and would not accept on
// the tables themselves.
func (c *conn) checkBuilt(p *piece, st *vtab.Stmt) error {
	switch {
	case p.Kind == sqltext.Invalid:
		return refuseInvalid(p.Stmt)
	case p.Mentions&(sqltext.MentionsRowid|sqltext.MentionsSchema) != 0 && p.to != inTemp && p.to != inFile:
		return c.checkPlain(p, st)
	}
	return nil
}

// codeAuth is SQLITE_AUTH, the authorizer's refusal.
const codeAuth = 23

// ofVirtual reports whether an error is about what SQLite cannot do with virtual
// tables, which is not what is wrong with a statement of a user.
func ofVirtual(err error) bool {
	return err != nil && strings.Contains(err.Error(), "virtual table")
}

// explainInvalid finds the message for a text the parser refuses: a CREATE that
// does not parse must not be answered by the authorizer, nor for what main has in
// the place of tables.
func (c *conn) explainInvalid(s *sqltext.Stmt, err error) error {
	if e, ok := errors.AsType[*vtab.Error](err); !ok || e.Code != codeAuth && !ofVirtual(err) {
		return err
	}
	sh := &c.sh.tables.shadow
	told := sh.use(c.schema(), func() error {
		st, _, err := sh.db.Prepare(s.Text)
		if st != nil {
			st.Finalize()
		}
		return err
	})
	if told != nil {
		return told
	}
	return err
}

// checkPlain looks at a statement that names a rowid or the schema table on the
// shadow, whose tables cannot be called as functions. A virtual table always has a rowid; a WITHOUT ROWID table has not, and
// the INTEGER PRIMARY KEY of others lends it its name. Columns are named by the
// text the user wrote, not by the one that is run.
func (c *conn) checkPlain(p *piece, st *vtab.Stmt) error {
	sh := &c.sh.tables.shadow
	return sh.use(c.mirror.schema, func() error {
		plain, _, err := sh.db.Prepare(p.Text)
		if readsPast(err) {
			plain, _, err = sh.db.Prepare(p.WithoutArgs())
		}
		if err != nil {
			if e, ok := errors.AsType[*vtab.Error](err); ok && (strings.HasPrefix(e.Msg, "no such column: ") || strings.Contains(e.Msg, " has no column named ")) {
				return err
			}
			return nil // it names something the shadow does not have
		}
		defer plain.Finalize()
		if n := plain.NumColumns(); n == st.NumColumns() {
			p.plain = make([]string, n)
			for i := range n {
				p.plain[i] = plain.ColumnName(i)
			}
		}
		return nil
	})
}

// rewrite returns the text that does on virtual tables what the user's would do
// on SQLite's own.
func (c *conn) rewrite(s *sqltext.Stmt, to place, schema *engine.Schema, ps *planning) (string, error) {
	if to == inAdmin {
		if err := refuseAdmin(s); err != nil {
			return "", err
		}
	}
	var e sqltext.Edits
	if s.Mentions != 0 && s.Parsed() {
		if err := c.retarget(s, schema, &e); err != nil {
			return "", err
		}
	}
	if s.Kind == sqltext.Insert && to == inStore {
		if s.Upsert {
			if err := c.validate(ps); err != nil {
				return "", err
			}
		}
		if err := c.spliceDefaults(ps, &e); err != nil {
			return "", err
		}
	}
	if s.Kind == sqltext.Update && to == inStore {
		if err := c.delaySets(ps, &e); err != nil {
			return "", err
		}
	}
	if s.Kind == sqltext.Explain {
		if err := c.cutExplained(s, schema, &e); err != nil {
			return "", err
		}
	}
	if c.fails(s, to, schema) {
		s.SpliceOrFail(&e)
	}
	if clause, _, ok := returningOf(s, to, schema); ok {
		clause.Cut(&e)
	}
	return e.Apply(s.Text), nil
}

// cutExplained cuts what SQLite does not do on virtual tables out of a statement that
// is explained. Neither clause has a part in the plan.
func (c *conn) cutExplained(s *sqltext.Stmt, schema *engine.Schema, e *sqltext.Edits) error {
	x := s.Explained()
	if x == nil || !x.Kind.IsDML() || !x.Upsert && !x.Return {
		return nil
	}
	to, err := c.locate(x.Target, schema, "table", "view")
	if err != nil || to != inStore {
		return err
	}
	ps := planning{stmt: x, schema: schema}
	if err := c.validate(&ps); err != nil {
		return err
	}
	if clause, _, ok := returningOf(x, to, schema); ok {
		s.CutExplained(e, clause.Start, clause.End)
	}
	for _, ins := range x.Inserts() {
		if start, end := ins.Upserts(); end > 0 && c.storeTable(&ps, ins.Target()) != nil {
			s.CutExplained(e, start, end)
		}
	}
	return nil
}

// fails reports that something may end a statement with FAIL that the statement
// does not say itself.
func (c *conn) fails(s *sqltext.Stmt, to place, schema *engine.Schema) bool {
	return s.Or == 0 && c.failsBySchema(s, to, schema) || s.Or != sqltext.OnFail && c.failsByTrigger(s, to, schema)
}

// failsBySchema reports that a constraint of the statement's table says ON
// CONFLICT FAIL. SQLite keeps the rows before the failing one only when the
// statement says so itself.
func (c *conn) failsBySchema(s *sqltext.Stmt, to place, schema *engine.Schema) bool {
	if to != inStore || s.Kind == sqltext.Delete {
		return false
	}
	o := schema.Lookup(s.Target.Name)
	if o == nil || o.Table == nil {
		return false
	}
	info, err := c.sh.tables.info(o.Table)
	if err != nil {
		return false // reported where the table is connected
	}
	return info.Key == vtab.Fail || slices.Contains(info.NotNull, vtab.Fail) || slices.Contains(info.Indexes, vtab.Fail)
}

// precompile serves Prepare: errors in a single statement are found at once. The
// transaction is left as it is; what the statement reads is fixed when it runs.
func (c *conn) precompile(s *stmt) error {
	if len(s.pieces) != 1 {
		return nil
	}
	p := s.pieces[0]
	if err := refuseReserved(p.Stmt); err != nil {
		return err
	}
	switch {
	case p.Kind == sqltext.Invalid, p.Kind == sqltext.Explain, p.Kind == sqltext.Other, p.Kind == sqltext.Read, p.Kind.IsDML():
	default:
		return nil
	}
	if c.tx.phase == broken {
		return errBroken
	}
	if p.Kind.IsDML() {
		where, err := c.locate(p.Target, c.schema(), "table", "view")
		if err != nil {
			return err
		}
		if p.to = where; where == inCatalog && p.Target.Schema == "" {
			return errNoTable(p.Target)
		}
	}
	if c.reads.etx == nil && c.reads.snap == nil {
		if c.tx.phase == held && !c.tx.readOnly {
			c.pin(c.head())
		} else {
			c.pin(c.durable())
		}
		defer c.unpin()
	}
	if err := c.refresh(c.schema()); err != nil {
		return err
	}
	return c.build(p)
}
