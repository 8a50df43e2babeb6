package driver

import (
	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// schemaTable stands in for sqlite_schema, whose rows in main describe the
// mirror and not what the user created.
const schemaTable = "tidemark_schema"

// tempSchemaTable has the rows that are missing in sqlite_temp_schema.
const tempSchemaTable = "tidemark_temp_schema"

// retarget points sqlite_schema and sqlite_master of main at schemaTable, keeps
// sqlite_sequence from meaning the catalog's, and takes INDEXED BY out, which
// SQLite refuses on virtual tables.
func (c *conn) retarget(s *sqltext.Stmt, schema *engine.Schema, e *sqltext.Edits) error {
	if s.Mentions&^sqltext.MentionsRowid == 0 {
		return nil
	}
	for _, r := range s.Refs() {
		name, where := fold(r.Name.Name), fold(r.Name.Schema)
		bare := where == ""
		table := name == "sqlite_schema" || name == "sqlite_master"
		if table && where == "temp" || name == "sqlite_temp_schema" || name == "sqlite_temp_master" {
			if !r.InList {
				text := "SELECT * FROM temp.sqlite_schema WHERE name<>'" + controlName + "'"
				if len(c.names.carried) > 0 {
					text += " AND unicode(name)<>1 UNION ALL SELECT * FROM " + tempSchemaTable
				}
				text = "(" + text + ")"
				if !r.Alias {
					text += " AS " + r.Spelling
				}
				e.Replace(r.Start, r.End, text)
			}
			continue
		}
		if !bare && where != "main" {
			continue
		}
		switch {
		case table:
			text := schemaTable
			if !r.Alias && !r.InList {
				text += " AS " + r.Spelling
			}
			e.Replace(r.Start, r.End, text)
		case name == sequenceTable && bare && schema.Lookup(sequenceTable) == nil && !c.names.hasTemp(sequenceTable, "table"):
			return errNoTable(r.Name)
		case r.IndexedBy != "":
			if def, ix := schema.LookupIndex(r.IndexedBy); ix == nil || fold(def.Name) != name {
				if c.names.hasTemp(name, "table") {
					continue
				}
				return newError("", ErrGeneric, "no such index: %s", r.IndexedBy)
			}
			e.Replace(r.IndexStart, r.IndexEnd, "")
		}
	}
	return nil
}

// registerSchemaModules adds the tables that answer from the engine's schema:
// schemaTable, and the table-valued PRAGMAs under SQLite's own names.
func (c *conn) registerSchemaModules() error {
	err := c.db.RegisterModule(schemaTable, vtab.EponymousModule{
		Columns: "type TEXT, name TEXT, tbl_name TEXT, rootpage INT, sql TEXT",
		Rows:    func([]row.Value) ([][]row.Value, error) { return schemaRows(c.schema()), nil },
	})
	if err != nil {
		return err
	}
	err = c.db.RegisterModule("pragma_foreign_key_check", vtab.EponymousModule{
		Columns: `"table" TEXT, rowid INT, parent TEXT, fkid INT`,
		Args:    []string{"arg", "schema"},
		Rows:    c.foreignKeyRows,
	})
	if err != nil {
		return err
	}
	err = c.db.RegisterModule(tempSchemaTable, vtab.EponymousModule{
		Columns: "type TEXT, name TEXT, tbl_name TEXT, rootpage INT, sql TEXT",
		Rows:    func([]row.Value) ([][]row.Value, error) { return c.tempSchemaRows(), nil },
	})
	if err != nil {
		return err
	}
	for name, p := range schemaPragmas {
		args := []string{"arg"}
		if name != "table_list" { // has a column of that name
			args = append(args, "schema")
		}
		err := c.db.RegisterModule("pragma_"+name, vtab.EponymousModule{
			Columns: p.columns,
			Args:    args,
			Rows:    func(args []row.Value) ([][]row.Value, error) { return c.pragmaRows(name, args) },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// schemaRows are the rows of sqlite_schema: each table, view and trigger in the
// order of their creation, a table with its indexes.
func schemaRows(s *engine.Schema) [][]row.Value {
	var list [][]row.Value
	root := int64(1)
	add := func(kind, name, table, sql string, stored bool) {
		page := int64(0)
		if stored {
			root++
			page = root
		}
		text := row.TextValue(sql)
		if sql == "" {
			text = row.Value{}
		}
		list = append(list, []row.Value{row.TextValue(kind), row.TextValue(name), row.TextValue(table), row.IntValue(page), text})
	}
	for _, o := range s.Objects() {
		if o.Table == nil {
			add(o.Kind.String(), o.Name, o.TblName, o.SQL, false)
			continue
		}
		add("table", o.Name, o.Name, o.Table.SQL, true)
		for _, ix := range o.Table.Indexes {
			if o.Table.WithoutRowid && ix.Origin == "pk" {
				continue // the table itself
			}
			add("index", ix.Name, o.Name, ix.SQL, true)
		}
	}
	return list
}
