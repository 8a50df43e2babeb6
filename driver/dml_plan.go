package driver

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// Some of what a statement says SQLite cannot do on a virtual table: ON CONFLICT
// clauses, and a SET that is evaluated when the row's turn comes. That part is cut
// out of the text and becomes a plan, which the rows carry to xUpdate, see
// vtab.Plan. Its expressions run as queries of their own.

// planning is the plans of one text.
type planning struct {
	plans   []*vtab.Plan
	queries []string // that the plans may run
	unsure  bool     // they have to be compiled, to see what is wrong with them

	// trigger is the name of the trigger whose body the text is, "" for none. temp:
	// it is one of temp.
	trigger string
	temp    bool
	plain   bool // no plans are made

	stmt     *sqltext.Stmt
	schema   *engine.Schema
	numbered bool
	names    []string // of the parameters by number, once they are spelled as numbers
}

// shared reports that the text is that of a trigger of the store, which is the same
// on all connections.
func (ps *planning) shared() bool { return ps.trigger != "" && !ps.temp }

// number spells the parameters of the text as numbers, before parts of it move.
func (ps *planning) number(e *sqltext.Edits) {
	if !ps.numbered && ps.trigger == "" {
		ps.numbered, ps.names = true, ps.stmt.NumberParams(e)
	}
}

// made notes a plan and returns the expression that is its value for a row.
func (c *conn) made(ps *planning, plan *vtab.Plan, args []string) (string, error) {
	ps.plans = append(ps.plans, plan)
	if ps.trigger != "" {
		plan.Trigger = ps.trigger
		text, err := plan.Text()
		if err != nil {
			return "", err
		}
		args = append([]string{sqltext.QuoteText(text)}, args...)
		return sqltext.Quote(vtab.PlanFunction) + "(" + strings.Join(args, ",") + ")", nil
	}
	n := strconv.FormatUint(uint64(plan.ID()), 10)
	if len(args) == 0 {
		return n, nil
	}
	return sqltext.Quote(vtab.PlanFunction) + "(" + n + "," + strings.Join(args, ",") + ")", nil
}

// comparedAsInteger reports whether a column of the trigger's table is its rowid.
func (c *conn) comparedAsInteger(ps *planning, name string) bool {
	def := c.storeTable(ps, ps.stmt.On())
	if def == nil {
		return false
	}
	k, ok := columnOrRowid(def, name)
	return ok && (k < 0 || k == def.RowidAlias)
}

// nesting returns what expressions of a statement on a table need to be evaluated
// apart from it.
func (c *conn) nesting(ps *planning, def *engine.TableDef, base sqltext.Edits) *sqltext.Nesting {
	return &sqltext.Nesting{
		Standalone: func(sql string) bool { return c.standalone(ps, sql) },
		Once: func(at int) string {
			return sqltext.Quote(vtab.OnceFunction) + "(" + strconv.Itoa(at) + ")"
		},
		Integer: func(name string) bool { return c.comparedAsInteger(ps, name) },
		Column:  func(name string) (int, bool) { return columnOrRowid(def, name) },
		Source:  func(alias string) string { return vtab.UpdatedSource(def, alias) },
		Base:    base,
	}
}

// columnOrRowid returns the ordinal of a column, and for a name of the rowid that
// of its alias or -1.
func columnOrRowid(def *engine.TableDef, name string) (int, bool) {
	if k := ordinal(def, name); k >= 0 {
		return k, true
	}
	switch fold(name) {
	case "rowid", "oid", "_rowid_":
		if !def.WithoutRowid {
			return def.RowidAlias, true
		}
	}
	return 0, false
}

// standalone reports whether SQLite compiles a SELECT. A name in double quotes that
// is no column must not pass for a text: around the SELECT it may be one. A
// trigger names objects of main alone, and its mirror may not be complete yet.
func (c *conn) standalone(ps *planning, sql string) (ok bool) {
	compile := func(db *vtab.Conn) error {
		restore := db.StrictQuotes()
		defer restore()
		st, _, err := db.Prepare(sql)
		if ok = err == nil && st != nil; ok {
			st.Finalize()
		}
		return nil
	}
	if !ps.shared() {
		_ = c.own(func() error { return compile(c.db) })
		return ok
	}
	sh := &c.sh.tables.shadow
	return sh.use(ps.schema, func() error { return compile(sh.db) }) == nil && ok
}

// setList is a SET clause as package vtab runs it.
func (ps *planning) setList(set *sqltext.NestedSet, def *engine.TableDef) (*vtab.SetList, error) {
	list := &vtab.SetList{Columns: set.Columns}
	if set.Copies != nil {
		for _, name := range set.Copies {
			k, ok := columnOrRowid(def, name)
			if !ok {
				return nil, newError("", ErrGeneric, "no such column: excluded.%s", name)
			}
			list.Copies = append(list.Copies, k)
		}
		return list, nil
	}
	query := func(q sqltext.NestedQuery) (out vtab.Query, err error) {
		out.SQL = q.SQL
		ps.queries = append(ps.queries, q.SQL)
		for _, op := range q.Params {
			if op.Excluded == "" {
				out.Params = append(out.Params, vtab.Operand{At: op.At})
				continue
			}
			k, ok := columnOrRowid(def, op.Excluded)
			if !ok {
				return out, newError("", ErrGeneric, "no such column: excluded.%s", op.Excluded)
			}
			out.Params = append(out.Params, vtab.Operand{Excluded: true, At: k})
		}
		return out, nil
	}
	var err error
	if list.Query, err = query(set.Query); err != nil {
		return nil, err
	}
	for _, q := range set.Once {
		once, err := query(q)
		if err != nil {
			return nil, err
		}
		list.Once = append(list.Once, once)
	}
	return list, nil
}

// validate has SQLite compile a statement as it was written, on the shadow: what is
// wrong with it, it says in its own words. The shadow may not have all that the
// connection has; then the plans' queries are compiled too.
func (c *conn) validate(ps *planning) error {
	s, sh := ps.stmt, &c.sh.tables.shadow
	err := sh.use(ps.schema, func() error {
		if err := sh.enforce(false); err != nil {
			return err
		}
		st, _, err := sh.db.Prepare(s.Text)
		if readsPast(err) {
			st, _, err = sh.db.Prepare(s.WithoutArgs())
		}
		if st != nil {
			st.Finalize()
		}
		return err
	})
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*vtab.Error](err)
	if !ok {
		return err
	}
	if len(c.names.temp) > temporary || len(c.names.files) > 0 || strings.HasPrefix(e.Msg, "no such table") || strings.HasPrefix(e.Msg, "unknown database") || readsPast(err) {
		ps.unsure = true
		return nil
	}
	return err
}

// temporary is how many objects temp has that the driver made.
const temporary = 1

// compileQueries compiles the queries of plans to see what is wrong with them.
func (c *conn) compileQueries(list []string) error {
	for _, sql := range list {
		st, _, err := c.db.Prepare(sql)
		if err != nil {
			return err
		}
		if st != nil {
			st.Finalize()
		}
	}
	return nil
}

// usePlans makes plans known to the connection for as long as the piece is
// compiled.
func (p *piece) usePlans(db *vtab.Conn, plans []*vtab.Plan) {
	for _, plan := range plans {
		db.AddPlan(plan)
	}
	p.plans = plans
	p.planned = db
}

func (p *piece) dropPlans() {
	for _, plan := range p.plans {
		p.planned.DropPlan(plan)
	}
	p.plans = nil
}

// planTrigger makes the body of a trigger do what it says: its INSERTs have their
// defaults, and its conflict clauses and SETs are plans. What they compute once,
// they compute once in each run of the body.
func (c *conn) planTrigger(ps *planning, e *sqltext.Edits) error {
	before := e.Clone()
	err := c.spliceDefaults(ps, e)
	if err == nil {
		err = c.delaySets(ps, e)
	}
	if err != nil { // something is wrong with the body: SQLite says so when it is run
		*e, ps.plain = before, true
		return c.spliceDefaults(ps, e)
	}
	if slices.ContainsFunc(ps.plans, (*vtab.Plan).ComputesOnce) {
		e.Insert(ps.stmt.Trigger().BodyStart, "SELECT "+sqltext.Quote(vtab.ForgetFunction)+"("+sqltext.QuoteText(ps.trigger)+"); ")
	}
	return nil
}
