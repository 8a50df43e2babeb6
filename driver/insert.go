package driver

import (
	"slices"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// spliceDefaults puts the DEFAULTs of columns that an INSERT leaves out into its
// text. SQLite itself gives a virtual table NULL for them, which cannot be told
// from a NULL that was written. Evaluated in the text, a default is computed by
// SQLite, with one CURRENT_TIMESTAMP for the statement as it should be.
func (c *conn) spliceDefaults(ps *planning, e *sqltext.Edits) error {
	for _, ins := range ps.stmt.Inserts() {
		if err := c.spliceInsert(ins, ps, e); err != nil {
			return err
		}
	}
	return nil
}

// spliceInsert also puts a plan in the place of ON CONFLICT clauses.
func (c *conn) spliceInsert(ins sqltext.Insertion, ps *planning, e *sqltext.Edits) error {
	def := c.storeTable(ps, ins.Target())
	if def == nil {
		return nil
	}
	info, err := c.sh.tables.info(def)
	if err != nil {
		return err
	}
	var columns, exprs []string
	given, listed := ins.Columns()
	if listed && info.Defaults != nil { // else all columns are given that can be
		columns, exprs = missingDefaults(info, given)
	}
	abort := ps.trigger != "" && ins.Or() == sqltext.OnAbort && hasClauses(info)
	if (ins.Upsert() || abort) && !ps.plain {
		ps.number(e)
		call, err := c.planUpsert(ins, def, *e, ps, abort)
		if err != nil {
			return err
		}
		columns, exprs = append(columns, vtab.HiddenName(def)), append(exprs, call)
	}
	if !listed && (len(columns) > 0 || hasGenerated(def)) {
		ins.NameColumns(e, slices.Concat(writableNames(def), columns))
	}
	if len(columns) > 0 {
		ins.Splice(e, columns, exprs)
	}
	if ins.Upsert() && !ps.plain {
		ins.CutUpserts(e)
	}
	return nil
}

// hasClauses reports that a constraint of a table has an ON CONFLICT clause, which
// OR ABORT overrules.
func hasClauses(info *vtab.TableInfo) bool {
	return info.Key != vtab.Default || slices.ContainsFunc(info.NotNull, isClause) || slices.ContainsFunc(info.Indexes, isClause)
}

func isClause(mode vtab.Conflict) bool { return mode != vtab.Default }

// storeTable returns the table of the store that a name means in a text, nil for a
// view and for what is elsewhere. Triggers of the store do not see what temp has.
func (c *conn) storeTable(ps *planning, name sqltext.Name) *engine.TableDef {
	switch {
	case fold(name.Schema) == "main":
	case name.Schema != "", !ps.shared() && c.names.hasTemp(fold(name.Name), "table", "view"):
		return nil
	}
	o := ps.schema.Lookup(name.Name)
	if o == nil {
		return nil
	}
	return o.Table
}

// missingDefaults lists the columns that have a default and are not given.
func missingDefaults(info *vtab.TableInfo, given []string) (columns, exprs []string) {
	has := make(map[string]bool, len(given))
	for _, name := range given {
		has[fold(name)] = true
	}
	for i, expr := range info.Defaults {
		if name := info.Def.Columns[i].Name; expr != "" && !has[fold(name)] {
			columns, exprs = append(columns, name), append(exprs, expr)
		}
	}
	return columns, exprs
}
