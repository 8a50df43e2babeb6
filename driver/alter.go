package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// ALTER TABLE runs on the shadow, where SQLite rewrites whatever names the table:
// its own text, indexes, views, triggers and the foreign keys of other tables. What
// sqlite_schema then says otherwise becomes changes of the engine's definitions. No
// row is written: a new column has a value for the rows that lack it, and a dropped
// one stays in those that have it.
//
// The shadow has no rows, so what SQLite asks of them is asked here: of a new column
// by a table of one row (probeColumn), of CHECK and NOT NULL by a query over the
// table as it is then (afterAlter).

// schemaRow is a row of the shadow's sqlite_schema.
type schemaRow struct{ kind, name, table, text string }

func (r *schemaRow) key() string { return r.kind + ":" + fold(r.name) }

// schemaRows reads sqlite_schema by rowid, which ALTER TABLE leaves alone.
func (s *shadow) schemaRows() (map[int64]schemaRow, error) {
	list, err := s.db.Query("SELECT rowid, type, name, tbl_name, sql FROM main.sqlite_schema")
	rows := make(map[int64]schemaRow, len(list))
	for _, r := range list {
		rows[r[0].Int()] = schemaRow{r[1].Bytes(), r[2].Bytes(), r[3].Bytes(), r[4].Bytes()}
	}
	return rows, err
}

// alter runs an ALTER TABLE on the shadow and returns what it changed. hasRows says
// whether a table has rows, works whether a view can be read.
func (s *shadow) alter(st *sqltext.Stmt, schema *engine.Schema, hasRows func(*engine.TableDef) bool, works func(view string) bool) (made []engine.Change, failed error) {
	what := st.Alter()
	before, err := s.schemaRows()
	if err != nil {
		return nil, err
	}
	if err := s.db.Exec(st.Text); err != nil {
		if !strings.HasPrefix(err.Error(), "error in view ") {
			return nil, err
		}
		back, left := s.setAside(schema, st.Target.Name, works)
		if left == nil && back != nil {
			if before, left = s.schemaRows(); left == nil {
				left = s.db.Exec(st.Text)
			}
		}
		if left != nil || back == nil {
			return nil, cmp.Or(left, err)
		}
		defer func() {
			if err := back(); err != nil {
				failed = errors.Join(failed, err)
			}
		}()
	}
	o := findObject(schema, st.Target.Name)
	if what == nil || o == nil || o.Table == nil {
		return nil, newError("", ErrInternal, "shadow: ALTER TABLE %s", st.Target.Name)
	}
	a := alteration{shadow: s, what: what, schema: schema, target: o.Table}
	if err := a.refuse(); err != nil {
		return nil, err
	}
	if what.Action == sqltext.AddColumn && hasRows(o.Table) {
		if a.missing, err = s.probeColumn(o.Table, what); err != nil {
			return nil, err
		}
	}
	after, err := s.schemaRows()
	if err != nil {
		return nil, err
	}
	return a.changes(before, after)
}

// setAside takes the views off the shadow that it cannot show and the store can: they
// read what the shadow does not have, such as tidemark_stats or an old state of a
// table, and SQLite would refuse to change any name beside them. back makes them
// again; it is nil if there are none. A view that names the table itself would have
// to be rewritten, which nobody can here.
func (s *shadow) setAside(schema *engine.Schema, table string, works func(view string) bool) (back func() error, err error) {
	aside := map[string]bool{}
	for _, o := range schema.Objects() {
		if o.Kind != engine.KindView {
			continue
		}
		st, _, err := s.db.Prepare("SELECT * FROM main." + sqltext.Quote(o.Name))
		if st != nil {
			st.Finalize()
		}
		if err == nil || !works(o.Name) {
			continue
		}
		if sqltext.HasName(o.SQL, table) {
			e := newError("", ErrGeneric, "view %s reads table %s beside what only the store has, so ALTER TABLE cannot change it along", o.Name, table)
			e.Hint = "DROP VIEW " + o.Name + " first, and make it anew behind"
			return nil, e
		}
		aside[fold(o.Name)] = true
	}
	if len(aside) == 0 {
		return nil, nil
	}
	for name := range aside {
		if err := s.db.Exec("DROP VIEW main." + sqltext.Quote(name)); err != nil {
			return nil, err
		}
	}
	return func() error {
		for _, o := range schema.Objects() {
			if o.Kind == engine.KindView && aside[fold(o.Name)] || o.Kind == engine.KindTrigger && aside[fold(o.TblName)] {
				if err := s.db.Exec(o.SQL); err != nil {
					return err
				}
			}
		}
		return nil
	}, nil
}

// alteration is an ALTER TABLE that the shadow has run.
type alteration struct {
	*shadow
	what    *sqltext.Alter
	schema  *engine.Schema
	target  *engine.TableDef
	missing row.Value // of the new column, in the rows there are
}

// refuse refuses what SQLite accepts and this version does not do.
func (a *alteration) refuse() error {
	what := a.what
	switch {
	case what.Action == sqltext.RenameTable && strings.HasPrefix(fold(what.NewName), "tidemark_"):
		return newError("", ErrGeneric, "object name reserved for internal use: %s", what.NewName)
	case what.Action == sqltext.AddColumn && len(visibleColumns(a.target)) >= maxColumns:
		return newError("", ErrGeneric, "too many columns on %s: at most %d", a.target.Name, maxColumns)
	case what.Action == sqltext.AddColumn && len(a.target.Columns) >= maxPlaces:
		e := newError("", ErrGeneric, "too many columns were added to %s and dropped: at most %d", a.target.Name, maxPlaces)
		e.Hint = "CREATE TABLE … AS SELECT writes its rows anew"
		return e
	case what.Action == sqltext.AddColumn && what.Generated:
		// SQLite adds a column that needs itself, and then reads the table no more.
		st, _, err := a.db.Prepare("SELECT * FROM main." + sqltext.Quote(a.target.Name))
		if st != nil {
			st.Finalize()
		}
		return err
	}
	return nil
}

// maxPlaces is how many columns a table may have had.
const maxPlaces = 10 * maxColumns

// probeName is the name of the table that probeColumn makes.
const probeName = `"tidemark probe"`

// probeColumn has SQLite add a column to a table with a row, which it may refuse,
// and returns the value that the row then has there.
func (s *shadow) probeColumn(def *engine.TableDef, what *sqltext.Alter) (row.Value, error) {
	if what.Generated {
		if what.Stored {
			return row.Value{}, newError("", ErrGeneric, "cannot add a STORED column")
		}
		return row.Value{}, nil
	}
	strict := ""
	if def.Strict {
		strict = " STRICT"
	}
	name := "x"
	if fold(what.Column) == name {
		name = "y"
	}
	err := s.db.Exec("CREATE TABLE main." + probeName + "(" + name + " INT)" + strict + "; INSERT INTO main." + probeName + " VALUES(1)")
	if err == nil {
		err = s.db.Exec("ALTER TABLE main." + probeName + " ADD COLUMN " + what.Plain)
	}
	if err != nil {
		return row.Value{}, err
	}
	list, err := s.db.Query("SELECT " + sqltext.Quote(what.Column) + " FROM main." + probeName)
	if err == nil {
		err = s.db.Exec("DROP TABLE main." + probeName)
	}
	if err != nil || len(list) != 1 {
		return row.Value{}, err
	}
	return list[0][0], nil
}

// changes compares sqlite_schema before and after, and keeps the shadow's books.
func (a *alteration) changes(before, after map[int64]schemaRow) (changes []engine.Change, err error) {
	defs := map[engine.TableID]*engine.TableDef{a.target.ID: nil} // new ones, of the tables that change
	texts := map[*engine.Object]schemaRow{}
	for id, was := range before {
		is, ok := after[id]
		if !ok || is == was {
			continue
		}
		switch was.kind {
		case "table":
			if o := findObject(a.schema, was.name); o != nil && o.Table != nil {
				defs[o.Table.ID], texts[o] = nil, is
			}
		case "index":
			if def, _ := findIndex(a.schema, was.name); def != nil {
				defs[def.ID] = nil
			}
		case "view":
			if o := findObject(a.schema, was.name); o != nil {
				texts[o] = is
			}
		case "trigger":
			if o := findTrigger(a.schema, was.name); o != nil {
				texts[o] = is
			}
		}
	}
	renamed := map[string]schemaRow{} // indexes, by their names before
	for id, was := range before {
		if was.kind == "index" {
			renamed[fold(was.name)] = after[id]
		}
	}
	var objects []engine.Change
	for _, o := range a.schema.Objects() { // in an order that is the same each time
		is, changed := texts[o]
		if o.Table != nil {
			if _, touched := defs[o.Table.ID]; !touched {
				continue
			}
			def := *o.Table
			if changed {
				if err := a.redefine(&def, is); err != nil {
					return nil, err
				}
			}
			a.renameIndexes(&def, renamed)
			changes = append(changes, engine.ReplaceTable{Def: &def})
			a.noteTable(o.Table, &def)
			continue
		}
		if changed {
			now := engine.Object{Kind: o.Kind, Name: is.name, TblName: is.table, SQL: is.text}
			objects = append(objects, engine.ReplaceObject{Kind: o.Kind, Name: o.Name, Object: now})
			a.noteText(o.Kind.String()+":"+fold(o.Name), o.Kind.String()+":"+fold(is.name), is.text)
		}
	}
	return append(changes, objects...), nil
}

// redefine puts what sqlite_schema now says of a table into a copy of its definition.
func (a *alteration) redefine(def *engine.TableDef, is schemaRow) error {
	target := def.ID == a.target.ID
	def.Name = is.name
	if target {
		if err := a.recolumn(def, is); err != nil {
			return err
		}
	}
	text, err := storedText(def, is.text)
	def.SQL = text
	return err
}

// recolumn is redefine for the columns of the table that is altered.
func (a *alteration) recolumn(def *engine.TableDef, is schemaRow) error {
	now, err := a.tableDef(is.name, is.text)
	if err != nil {
		return err
	}
	def.Columns = slices.Clone(def.Columns)
	at := slices.Clone(visibleColumns(def))
	switch a.what.Action {
	case sqltext.DropColumn:
		k := ordinal(def, a.what.Column)
		if k < 0 {
			return newError("", ErrInternal, "shadow: column %s of %s is missing", a.what.Column, def.Name)
		}
		c := &def.Columns[k]
		c.Kind, c.NotNull, c.Missing = engine.ColumnDropped, false, row.Value{}
		at = slices.DeleteFunc(at, func(i int) bool { return i == k })
	case sqltext.AddColumn:
		if n := len(now.Columns); n == len(at)+1 {
			c := now.Columns[n-1]
			c.ID, c.Missing = def.NextColumnID(), a.missing
			at = append(at, len(def.Columns))
			def.Columns = append(def.Columns, c)
		}
	}
	if len(at) != len(now.Columns) {
		return newError("", ErrInternal, "shadow: table %s has %d columns, %d are known", def.Name, len(now.Columns), len(at))
	}
	for i, k := range at {
		c, as := &def.Columns[k], &now.Columns[i]
		c.Name, c.DeclType, c.NotNull = as.Name, as.DeclType, as.NotNull
	}
	return nil
}

// renameIndexes gives the indexes of a definition the names and texts they have now.
func (a *alteration) renameIndexes(def *engine.TableDef, now map[string]schemaRow) {
	def.Indexes = slices.Clone(def.Indexes)
	for i, ix := range def.Indexes {
		is, ok := now[fold(ix.Name)]
		if !ok || is.name == ix.Name && is.text == ix.SQL {
			continue
		}
		renamed := *ix
		renamed.Name, renamed.SQL = is.name, is.text
		def.Indexes[i] = &renamed
	}
}

// noteTable keeps the shadow's books of a table that it shows otherwise now.
func (a *alteration) noteTable(was, is *engine.TableDef) {
	from, to := "table:"+fold(was.Name), "table:"+fold(is.Name)
	a.noteText(from, to, is.SQL)
	for dependent, on := range a.on {
		if on == from {
			a.on[dependent] = to
		}
	}
	for i, ix := range was.Indexes {
		if ix.SQL != "" {
			a.noteText("index:"+fold(ix.Name), "index:"+fold(is.Indexes[i].Name), is.Indexes[i].SQL)
		}
	}
}

// noteText keeps the books of an object that has another name or text.
func (s *shadow) noteText(from, to, text string) {
	if from != to {
		delete(s.have, from)
		if on, ok := s.on[from]; ok {
			delete(s.on, from)
			s.on[to] = on
		}
	}
	s.have[to] = text
}

// storedText is the text that the store keeps of a table for SQLite's plain one:
// that itself, or the CREATE VIRTUAL TABLE that stands for it if the table was made
// by one.
func storedText(def *engine.TableDef, plain string) (string, error) {
	old := sqltext.Parse(def.SQL)
	if old.Kind != sqltext.CreateVirtual {
		return plain, nil
	}
	body, options, ok := sqltext.Parse(plain).CreateBody()
	module, args := old.Module()
	for _, arg := range args {
		if _, _, is := sqltext.Option(arg); is {
			body += ", " + arg
		}
	}
	text := fmt.Sprintf("CREATE VIRTUAL TABLE %s USING %s(%s)", sqltext.Quote(def.Name), module, body)
	if again, err := plainDDL(text); ok && options == "" && err == nil && sameBody(again, plain) {
		return text, nil
	}
	e := newError("", ErrGeneric, "table %s was made by CREATE VIRTUAL TABLE, and its text cannot be changed like that", def.Name)
	e.Table, e.Hint = def.Name, "CREATE VIRTUAL TABLE a new one, INSERT … SELECT, and DROP the old one"
	return "", e
}

// sameBody reports that two CREATE TABLEs differ in blanks alone.
func sameBody(a, b string) bool {
	x, _, ok1 := sqltext.Parse(a).CreateBody()
	y, _, ok2 := sqltext.Parse(b).CreateBody()
	return ok1 && ok2 && strings.Join(strings.Fields(x), "") == strings.Join(strings.Fields(y), "")
}

// viewWorks reports whether a view of the store can be read.
func (c *conn) viewWorks(name string) bool {
	err := c.own(func() error {
		st, _, err := c.db.Prepare("SELECT * FROM main." + sqltext.Quote(name))
		if st != nil {
			st.Finalize()
		}
		return err
	})
	return err == nil
}

// hasRows reports whether a table has rows in the transaction of the connection.
func (c *conn) hasRows(def *engine.TableDef) bool {
	tx := c.reads.etx
	return tx != nil && tx.Len(def.ID) > 0
}

// afterAlter ends an ALTER TABLE that is made: sqlite_sequence follows a new name, and
// the rows there are must keep to the constraints.
func (c *conn) afterAlter(ctx context.Context, st *sqltext.Stmt, before *engine.Schema) error {
	was := findObject(before, st.Target.Name).Table
	now := c.reads.etx.Schema().Table(was.ID)
	what := st.Alter()
	switch what.Action {
	case sqltext.RenameTable:
		if was.AutoIncrement {
			return c.ownExec("UPDATE main.sqlite_sequence SET name = " + sqltext.QuoteText(now.Name) + " WHERE name = " + sqltext.QuoteText(was.Name))
		}
	case sqltext.SetNotNull:
		return c.checkRowsBy(ctx, now, sqltext.Quote(what.Column)+" IS NULL", newError("", ErrConstraint, "constraint failed"))
	case sqltext.AddCheck:
		return c.checkRowsBy(ctx, now, "("+what.Check+"\n) IS FALSE", newError("", ErrConstraint, "constraint failed"))
	case sqltext.AddColumn:
		if err := c.fillGenerated(ctx, was, now); err != nil {
			return err
		}
		return c.checkAdded(ctx, now)
	}
	return nil
}

// checkAdded tests all CHECKs of a table that has a new column, as SQLite does.
func (c *conn) checkAdded(ctx context.Context, def *engine.TableDef) error {
	info, err := c.sh.tables.info(def)
	if err != nil || len(info.Checks) == 0 {
		return err
	}
	list, err := c.db.Query("PRAGMA ignore_check_constraints")
	if err != nil || len(list) == 1 && list[0][0].Int() != 0 {
		return err
	}
	var tests []string
	for _, ch := range info.Checks {
		tests = append(tests, "("+ch.Expr+"\n) IS FALSE")
	}
	return c.checkRowsBy(ctx, def, strings.Join(tests, " OR "), newError("", ErrGeneric, "CHECK constraint failed"))
}

// checkRowsBy returns an error if a row of a table is found by a condition.
func (c *conn) checkRowsBy(ctx context.Context, def *engine.TableDef, where string, found error) error {
	if !c.hasRows(def) {
		return nil
	}
	return c.own(func() error {
		list, err := c.db.Query("SELECT 1 FROM main." + sqltext.Quote(def.Name) + " WHERE " + where + " LIMIT 1")
		if err != nil {
			return c.sqliteError(ctx, err)
		}
		if len(list) > 0 {
			return found
		}
		return nil
	})
}
