package driver

import (
	"errors"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// delaySets has the SET clauses of a text evaluated row by row, in xUpdate, where
// that makes a difference. SQLite computes all new rows of a virtual table before
// the first is changed, and those of its own tables when their turn comes: there
// SET sees what the statement, its triggers and the actions of foreign keys have
// done to rows before.
func (c *conn) delaySets(ps *planning, e *sqltext.Edits) error {
	for _, u := range ps.stmt.Updates() {
		def := c.storeTable(ps, u.Target())
		if def == nil || u.From() { // with FROM, SQLite computes them before as well
			continue
		}
		if err := c.delaySet(u, def, e, ps); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) delaySet(u sqltext.Updating, def *engine.TableDef, e *sqltext.Edits, ps *planning) error {
	info, err := c.sh.tables.info(def)
	if err != nil {
		return err
	}
	reads, abort := u.Reads(), ps.trigger != "" && u.Or() == sqltext.OnAbort && hasClauses(info)
	if reads == 0 && !abort {
		return nil
	}
	late, err := c.changesUnderway(u, def, ps)
	late = late || abort
	if err != nil || !late && reads&sqltext.SetSelects == 0 {
		return err
	}
	if ps.trigger == "" {
		if err := c.validate(ps); err != nil {
			return err
		}
	}
	n := c.nesting(ps, def, *e)
	set, err := u.Nested(n)
	if err != nil {
		if _, ok := errors.AsType[sqltext.ErrNoColumn](err); ok {
			return nil // SQLite's to say
		}
		return err
	}
	if !late && !set.Correlated { // computed once, before the first row
		return nil
	}
	list, err := ps.setList(set, def)
	if err != nil {
		return err
	}
	plan := vtab.NewPlan()
	plan.Set, plan.Abort = list, abort
	call, err := c.made(ps, plan, n.Args)
	if err != nil {
		return err
	}
	ps.number(e)
	u.ReplaceSet(e, sqltext.Quote(vtab.HiddenName(def))+"="+call)
	return nil
}

// changesUnderway reports whether an UPDATE may change rows that it has yet to come
// to, other than by their own SET.
func (c *conn) changesUnderway(u sqltext.Updating, def *engine.TableDef, ps *planning) (bool, error) {
	info, err := c.sh.tables.info(def)
	if err != nil {
		return false, err
	}
	replaces := u.Or() == sqltext.OnReplace || u.Or() == 0 && (info.Key == vtab.Replace || replacesByIndex(info))
	var columns []int
	for _, name := range u.Columns() {
		k, ok := columnOrRowid(def, name)
		if !ok {
			return false, nil
		}
		columns = append(columns, k)
		if replaces && k == def.RowidAlias && !def.WithoutRowid {
			return true, nil // the row may come to stand where another one was
		}
	}
	fires, err := c.updateFires(def, ps)
	if err != nil || fires {
		return fires, err
	}
	if !ps.shared() && !c.enforced().on {
		return false, nil
	}
	keys, err := c.sh.tables.ForeignKeys(ps.schema)
	if err != nil {
		return false, err
	}
	return keys.Acts(def.ID, columns, replaces), nil
}

// updateFires reports whether UPDATE triggers may run for a table.
func (c *conn) updateFires(def *engine.TableDef, ps *planning) (bool, error) {
	if !ps.shared() {
		return c.firesOn(def, vtab.OnUpdate), nil
	}
	for _, o := range ps.schema.Objects() {
		if o.Kind == engine.KindTrigger && sameName(o.TblName, def.Name) {
			if tr := sqltext.Parse(o.SQL).Trigger(); tr != nil && eventOf(tr.Event) == vtab.OnUpdate {
				return true, nil
			}
		}
	}
	return false, nil
}

func replacesByIndex(info *vtab.TableInfo) bool {
	for _, mode := range info.Indexes {
		if mode == vtab.Replace {
			return true
		}
	}
	return false
}
