package driver

import (
	"context"
	sqldriver "database/sql/driver"
	"slices"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// A RETURNING clause on a table of the store is cut out of the text that SQLite
// runs; package vtab collects the rows, see vtab.Returning. What SQLite says of
// the clause, its errors and the names and types of its columns, is asked of the
// shadow.

// returning is the clause of one compiled statement.
type returning struct {
	rows   vtab.Returning
	params []sqltext.Param // of rows.List
	labels []string
	cols   []column
}

func (r *returning) finalize() {
	if r != nil {
		r.rows.List.Finalize()
	}
}

// returningOf finds the RETURNING clause that the driver has to see to: that of a
// statement on a table. On a view SQLite returns what INSTEAD OF triggers see.
func returningOf(s *sqltext.Stmt, to place, schema *engine.Schema) (clause sqltext.Returning, def *engine.TableDef, ok bool) {
	if to != inStore || !s.Return {
		return clause, nil, false
	}
	o := schema.Lookup(s.Target.Name)
	if o == nil || o.Table == nil {
		return clause, nil, false
	}
	clause, ok = s.Returning()
	return clause, o.Table, ok
}

// buildReturning compiles the RETURNING clause of a statement; nil without one.
func (c *conn) buildReturning(p *piece, schema *engine.Schema) (*returning, error) {
	if !p.Return || p.to != inStore {
		return nil, nil
	}
	keep := c.keeps(p)
	var m *madeReturning
	if keep {
		if m = p.read.returned.Load(); m != nil && !m.holds(c, p, schema) {
			m = nil
		}
	}
	if m == nil {
		var err error
		if m, err = c.makeReturning(p, schema); m == nil || err != nil {
			return nil, err
		}
		if m.madeFor = c.makingOf(p, schema); keep && m.cols != nil {
			p.read.returned.Store(m)
		}
	}
	r := &returning{params: m.params, labels: m.labels, cols: slices.Clone(m.cols)} // what is found out later of cols is its own
	r.rows.Table, r.rows.EachRow, r.rows.Once = m.table, m.eachRow, p.From
	st, _, err := c.db.Prepare(m.text)
	if err != nil {
		return nil, err
	}
	r.rows.List = st
	if r.cols == nil {
		r.labels, r.cols = columnsOf(st)
	}
	return r, nil
}

// makeReturning makes the text that evaluates the RETURNING clause of a statement
// and describes its columns; nil without one.
func (c *conn) makeReturning(p *piece, schema *engine.Schema) (*madeReturning, error) {
	clause, def, ok := returningOf(p.Stmt, p.to, schema)
	if !ok {
		return nil, nil
	}
	m := &madeReturning{params: clause.Params, table: def.ID, eachRow: clause.EachRow}
	if err := c.describeReturning(p, clause, def, m); err != nil {
		return nil, err
	}
	var e sqltext.Edits
	if p.Mentions != 0 {
		if err := c.retarget(p.Stmt, schema, &e); err != nil {
			return nil, err
		}
	}
	m.text = clause.Select(e, vtab.ReturningSource(def, clause.EachRow))
	return m, nil
}

// describeReturning asks the shadow about the clause. Of a statement that names
// what the shadow does not have, a temporary table say, it can tell only whether
// the clause by itself is right.
func (c *conn) describeReturning(p *piece, clause sqltext.Returning, def *engine.TableDef, r *madeReturning) error {
	sh := &c.sh.tables.shadow
	return sh.use(c.mirror.schema, func() error {
		text := p.Text
		plain, _, err := sh.db.Prepare(text)
		if readsPast(err) {
			text = p.WithoutArgs()
			plain, _, err = sh.db.Prepare(text)
		}
		if namesUnknown(err) || readsPast(err) { // a trigger may do that, too
			plain, _, err = sh.db.Prepare(clause.Alone(sqltext.Quote(def.Name)))
		}
		if namesUnknown(err) {
			return nil
		}
		if err != nil {
			return err
		}
		defer plain.Finalize()
		r.labels, r.cols = columnsOf(plain)
		return nil
	})
}

// namesUnknown reports whether an error of the shadow may be one of the shadow
// alone: it has no temporary tables, no attached files and none of the tables
// that tell about the store.
func namesUnknown(err error) bool {
	if err == nil {
		return false
	}
	for _, what := range [...]string{"no such table: ", "no such table-valued function: ", "unknown database ", "no such view: "} {
		if strings.HasPrefix(err.Error(), what) {
			return true
		}
	}
	return false
}

// bindReturning binds the parameters of the list.
func (b *binder) bindReturning(p *piece) error {
	for _, param := range p.ret.params {
		number := param.Number
		if p.numbers != nil {
			if number >= len(p.numbers) || p.numbers[number] == 0 {
				continue
			}
			number = p.numbers[number]
		}
		arg, err := b.find(param.Name, number)
		if err != nil {
			return err
		}
		if err := bindTo(p.ret.rows.List, param.Number, arg); err != nil {
			return err
		}
	}
	return nil
}

// startReturning readies the clause for a run whose rows are read or, where they
// are dropped, still have to be evaluated: that may fail.
func (c *conn) startReturning(p *piece, read bool) {
	if p.ret != nil && (read || p.ret.rows.EachRow) {
		c.db.SetReturning(&p.ret.rows)
	}
}

// gatherReturned runs a statement with a RETURNING clause to its end and keeps
// the rows it returns.
func (r *rows) gatherReturned(ctx context.Context) error {
	for {
		more, err := r.step()
		if err != nil {
			return r.finish(err)
		}
		if !more {
			break
		}
	}
	err := r.c.db.Returned(func(value func(int) row.Value) {
		values := make([]sqldriver.Value, len(r.labels))
		for i := range values {
			values[i] = r.decode(i, value(i))
		}
		r.kept = append(r.kept, values)
	})
	if err == nil && len(r.kept) > 0 && r.c.reads.base != 0 {
		err = r.c.awaitBase(ctx)
	}
	return r.finish(r.c.sqliteError(ctx, err))
}
