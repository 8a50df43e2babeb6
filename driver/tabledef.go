package driver

import (
	"errors"
	"strconv"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// planDDL has the shadow run a statement and reads the engine's changes off it.
// A statement that changes nothing (IF EXISTS) has none.
func (c *conn) planDDL(s *sqltext.Stmt, schema *engine.Schema) (changes []engine.Change, err error) {
	sh := &c.sh.tables.shadow
	err = sh.use(schema, func() error {
		if err := sh.enforce(c.db.ForeignKeys); err != nil {
			return err
		}
		if err := sh.db.Exec("SAVEPOINT ddl"); err != nil {
			return err
		}
		if s.Kind == sqltext.AlterTable {
			changes, err = sh.alter(s, schema, c.hasRows, c.viewWorks)
		} else {
			changes, err = sh.run(s, schema, c.residence())
		}
		sh.schema = nil // it shows what comes after schema, see adopt, or is to be compared
		c.shadowTurn = sh.turn
		if err == nil {
			return sh.db.Exec("RELEASE ddl")
		}
		if undo := sh.db.Exec("ROLLBACK TO ddl; RELEASE ddl"); undo != nil {
			return errors.Join(err, undo)
		}
		return err
	})
	return changes, err
}

// residence is where rows of tables live that are made without saying.
func (c *conn) residence() engine.Resident {
	if c.sh.cfg.Resident == "keys" {
		return engine.ResidentKeys
	}
	return engine.ResidentAll
}

// run executes a statement on the shadow and returns what it changed. Tables that
// do not say where their rows live get resident.
func (s *shadow) run(st *sqltext.Stmt, schema *engine.Schema, resident engine.Resident) ([]engine.Change, error) {
	text, virtual, kept := st.Text, st.Kind == sqltext.CreateVirtual, storage{durable: true, unsaid: true}
	columns := st // the statement that lists them
	if virtual {
		plain, options, err := virtualAsPlain(st)
		if err != nil {
			return nil, err
		}
		text, kept, columns = plain, options, sqltext.Parse(plain)
	}
	if kept.unsaid && kept.durable {
		kept.resident = resident
	}
	if err := s.db.Exec(text); err != nil {
		return nil, err
	}
	if err := refuseDDL(columns, schema); err != nil {
		return nil, err
	}
	name := st.Target.Name
	switch st.Kind {
	case sqltext.CreateTable, sqltext.CreateVirtual:
		if findObject(schema, name) != nil {
			return nil, nil // IF NOT EXISTS
		}
		return s.createdTable(st, schema, virtual, kept)
	case sqltext.CreateIndex:
		if _, ix := findIndex(schema, name); ix != nil {
			return nil, nil
		}
		return s.createdIndex(st, schema)
	case sqltext.CreateView, sqltext.CreateTrigger:
		return s.createdObject(st, schema)
	}
	return s.dropped(st, schema)
}

// text returns the sqlite_schema text of an object.
func (s *shadow) text(kind, name string) (string, error) {
	list, err := s.db.Query("SELECT sql FROM main.sqlite_schema WHERE type = ?1 AND name = ?2 COLLATE NOCASE", row.TextValue(kind), row.TextValue(name))
	if err != nil {
		return "", err
	}
	if len(list) != 1 {
		return "", newError("", ErrInternal, "shadow: %s %s is missing", kind, name)
	}
	return list[0][0].Bytes(), nil
}

func (s *shadow) createdTable(st *sqltext.Stmt, schema *engine.Schema, virtual bool, kept storage) ([]engine.Change, error) {
	plain, err := s.text("table", st.Target.Name)
	if err != nil {
		return nil, err
	}
	def, err := s.tableDef(st.Target.Name, plain)
	if err != nil {
		return nil, err
	}
	if virtual {
		def.SQL = "CREATE VIRTUAL TABLE " + st.Tail()
		def.MaxRows, def.OnFull = kept.maxRows, kept.onFull
	}
	def.Durable, def.Resident = kept.durable, kept.resident
	if err := s.checkStorage(def, schema); err != nil {
		return nil, err
	}
	s.noteObject(shadowObject{key: "table:" + fold(def.Name), text: def.SQL})
	var changes []engine.Change
	if def.AutoIncrement && findObject(schema, sequenceTable) == nil {
		changes = append(changes, engine.CreateTable{Def: sequenceDef()})
	}
	return append(changes, engine.CreateTable{Def: def}), nil
}

// sequenceDef is the definition of sqlite_sequence.
func sequenceDef() *engine.TableDef {
	return &engine.TableDef{
		Name: sequenceTable,
		SQL:  "CREATE TABLE sqlite_sequence(name,seq)",
		Columns: []engine.Column{
			{ID: 1, Name: "name", Affinity: row.AffBlob},
			{ID: 2, Name: "seq", Affinity: row.AffBlob},
		},
		RowidAlias: -1,
		Durable:    true,
	}
}

// tableDef reads the definition of a table off the shadow.
func (s *shadow) tableDef(name, plain string) (*engine.TableDef, error) {
	t, err := sqltext.ParseTable(plain)
	if err != nil {
		return nil, err
	}
	list, err := s.db.Query(`SELECT name, type, "notnull", pk, hidden FROM pragma_table_xinfo(?1, 'main') ORDER BY cid`, row.TextValue(name))
	if err != nil {
		return nil, err
	}
	if len(list) != len(t.Columns) {
		return nil, newError("", ErrInternal, "shadow: table %s has %d columns, its text %d", name, len(list), len(t.Columns))
	}
	def := &engine.TableDef{
		Name: sqltext.Parse(plain).Target.Name, SQL: plain, RowidAlias: -1,
		AutoIncrement: t.AutoIncrement, WithoutRowid: t.WithoutRowid, Strict: t.Strict, Durable: true,
	}
	keys, key := 0, -1
	for i, r := range list {
		col := engine.Column{
			ID: uint32(i + 1), Name: r[0].Bytes(), DeclType: r[1].Bytes(),
			Affinity: row.AffinityOf(r[1].Bytes()), NotNull: r[2].Int() != 0, Kind: columnKind(r[4].Int()),
		}
		if t.Strict && fold(col.DeclType) == "any" {
			col.Affinity = row.AffBlob
		}
		if col.Collation, err = collation(t.Columns[i].Collation); err != nil {
			return nil, err
		}
		if r[3].Int() != 0 {
			keys, key = keys+1, i
		}
		def.Columns = append(def.Columns, col)
	}
	if err := s.indexDefs(def); err != nil {
		return nil, err
	}
	if keys == 1 && !def.WithoutRowid && !hasPrimaryIndex(def) {
		def.RowidAlias = key
	}
	return def, nil
}

func hasPrimaryIndex(def *engine.TableDef) bool {
	for _, ix := range def.Indexes {
		if ix.Origin == "pk" {
			return true
		}
	}
	return false
}

// indexDefs reads the automatic indexes of a table, oldest first.
func (s *shadow) indexDefs(def *engine.TableDef) error {
	list, err := s.db.Query(`SELECT name, origin FROM pragma_index_list(?1, 'main') WHERE origin <> 'c' ORDER BY seq DESC`, row.TextValue(def.Name))
	if err != nil {
		return err
	}
	for _, r := range list {
		ix, err := s.indexDef(def, r[0].Bytes())
		if err != nil {
			return err
		}
		ix.Unique, ix.Origin = true, r[1].Bytes()
		def.Indexes = append(def.Indexes, ix)
	}
	return nil
}

// indexDef reads the key of an index off the shadow. To def, which is the caller's
// own, it adds a column for each expression.
func (s *shadow) indexDef(def *engine.TableDef, name string) (*engine.IndexDef, error) {
	list, err := s.db.Query(`SELECT cid, "desc", coll FROM pragma_index_xinfo(?1, 'main') WHERE "key" ORDER BY seqno`, row.TextValue(name))
	if err != nil {
		return nil, err
	}
	ix := &engine.IndexDef{Name: name}
	at := visibleColumns(def)
	for i, r := range list {
		term := engine.IndexColumn{Desc: r[1].Int() != 0}
		switch cid := int(r[0].Int()); {
		case cid >= 0:
			term.Column = at[cid]
		case cid == termRowid && def.RowidAlias >= 0:
			term.Column = def.RowidAlias
		default:
			term.Column = addComputed(def, ix, strconv.Itoa(i+1))
		}
		if term.Collation, err = collation(r[2].Bytes()); err != nil {
			return nil, err
		}
		ix.Columns = append(ix.Columns, term)
	}
	return ix, nil
}

// collation finds one of the engine's collations; "" is BINARY. One that the
// program registered with SQLite may order differently in the next run, so no
// index could be kept by it.
func collation(name string) (row.Collation, error) {
	if name == "" {
		return row.Binary, nil
	}
	if k, ok := row.CollationByName(name); ok {
		return k, nil
	}
	return row.Binary, refuse("collation "+name+" of a column or index", "BINARY, NOCASE and RTRIM work; COLLATE in an expression takes any")
}

func (s *shadow) createdIndex(st *sqltext.Stmt, schema *engine.Schema) ([]engine.Change, error) {
	text, err := s.text("index", st.Target.Name)
	if err != nil {
		return nil, err
	}
	o := findObject(schema, st.On().Name)
	if o == nil || o.Table == nil {
		return nil, newError("", ErrInternal, "shadow: index %s on %s", st.Target.Name, st.On().Name)
	}
	list, err := s.db.Query(`SELECT name, "unique", partial FROM pragma_index_list(?1, 'main') WHERE name = ?2 COLLATE NOCASE`, row.TextValue(o.Name), row.TextValue(st.Target.Name))
	if err != nil || len(list) != 1 {
		return nil, errors.Join(newError("", ErrInternal, "shadow: index %s is missing", st.Target.Name), err)
	}
	def := *o.Table
	ix, err := s.indexDef(&def, list[0][0].Bytes())
	if err != nil {
		return nil, err
	}
	if list[0][2].Int() != 0 {
		ix.Where = addComputed(&def, ix, "where") + 1
	}
	ix.Unique, ix.Origin, ix.SQL = list[0][1].Int() != 0, "c", text
	s.noteObject(shadowObject{"index:" + fold(ix.Name), text, "table:" + fold(o.Name)})
	create := engine.CreateIndex{Table: o.Table.ID, Index: ix}
	if len(def.Columns) > maxPlaces {
		e := newError("", ErrGeneric, "too many indexes on expressions were made and dropped on %s: at most %d", def.Name, maxPlaces)
		e.Hint = "CREATE TABLE … AS SELECT writes its rows anew"
		return nil, e
	}
	if len(def.Columns) > len(o.Table.Columns) {
		return []engine.Change{engine.ReplaceTable{Def: &def}, create}, nil
	}
	return []engine.Change{create}, nil
}

func (s *shadow) createdObject(st *sqltext.Stmt, schema *engine.Schema) ([]engine.Change, error) {
	kind, object := "view", engine.Object{Kind: engine.KindView}
	known := findObject(schema, st.Target.Name)
	if st.Kind == sqltext.CreateTrigger {
		kind, object.Kind = "trigger", engine.KindTrigger
		known = findTrigger(schema, st.Target.Name)
	}
	if known != nil {
		return nil, nil // IF NOT EXISTS
	}
	list, err := s.db.Query("SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = ?1 AND name = ?2 COLLATE NOCASE", row.TextValue(kind), row.TextValue(st.Target.Name))
	if err != nil || len(list) != 1 {
		return nil, errors.Join(newError("", ErrInternal, "shadow: %s %s is missing", kind, st.Target.Name), err)
	}
	object.Name, object.TblName, object.SQL = list[0][0].Bytes(), list[0][1].Bytes(), list[0][2].Bytes()
	s.noteObject(shadowObject{kind + ":" + fold(object.Name), object.SQL, tableOf(&object)})
	return []engine.Change{engine.CreateObject{Object: object}}, nil
}

// dropped returns the change of a DROP that the shadow has run.
func (s *shadow) dropped(st *sqltext.Stmt, schema *engine.Schema) ([]engine.Change, error) {
	name := st.Target.Name
	switch st.Kind {
	case sqltext.DropTable:
		if o := findObject(schema, name); o != nil && o.Table != nil {
			s.noteDrop("table:" + fold(name))
			return []engine.Change{engine.DropTable{Table: o.Table.ID}}, nil
		}
	case sqltext.DropIndex:
		if def, ix := findIndex(schema, name); ix != nil {
			s.noteDrop("index:" + fold(name))
			return withoutIndex(def, ix), nil
		}
	case sqltext.DropView:
		if findObject(schema, name) != nil {
			s.noteDrop("view:" + fold(name))
			return []engine.Change{engine.DropObject{Kind: engine.KindView, Name: name}}, nil
		}
	case sqltext.DropTrigger:
		if findTrigger(schema, name) != nil {
			s.noteDrop("trigger:" + fold(name))
			return []engine.Change{engine.DropObject{Kind: engine.KindTrigger, Name: name}}, nil
		}
	}
	return nil, nil
}
