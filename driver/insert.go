package driver

import (
	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// spliceDefaults puts the DEFAULTs of columns that an INSERT leaves out into its
// text. SQLite itself gives a virtual table NULL for them, which cannot be told
// from a NULL that was written. Evaluated in the text, a default is computed by
// SQLite, with one CURRENT_TIMESTAMP for the statement as it should be.
func (c *conn) spliceDefaults(s *sqltext.Stmt, schema *engine.Schema, e *sqltext.Edits) error {
	for _, ins := range s.Inserts() {
		if err := c.spliceInsert(ins, schema, e); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) spliceInsert(ins sqltext.Insertion, schema *engine.Schema, e *sqltext.Edits) error {
	name := ins.Target()
	if name.Schema != "" && fold(name.Schema) != "main" {
		return nil
	}
	o := schema.Lookup(name.Name)
	if o == nil || o.Table == nil || name.Schema == "" && c.names.hasTemp(fold(name.Name), "table", "view") {
		return nil
	}
	given, ok := ins.Columns()
	if !ok { // all columns are given that can be
		if hasGenerated(o.Table) {
			ins.NameColumns(e, writableNames(o.Table))
		}
		return nil
	}
	info, err := c.sh.tables.info(o.Table)
	if err != nil || info.Defaults == nil {
		return err
	}
	columns, exprs := missingDefaults(info, given)
	if len(columns) > 0 {
		ins.Splice(e, columns, exprs)
	}
	return nil
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
