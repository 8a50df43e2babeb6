package vtab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// options says of a table what its DDL holds but the test's reader of DDL,
// which asks SQLite's PRAGMAs, cannot tell.
type options struct {
	checks   []Check
	notNull  map[string]Conflict // by column
	key      Conflict
	indexes  map[string]Conflict // by index name
	autoinc  bool
	defaults map[string]string
}

// fixture is a store with one connection on it, driven as the driver would.
type fixture struct {
	t     testing.TB
	store *engine.Store
	c     *Conn
	extra map[string]options
	lsn   engine.LSN // of the last commit
}

// TableInfo makes the fixture a Source.
func (f *fixture) TableInfo(id engine.TableID, s *engine.Schema) (*TableInfo, error) {
	def := s.Table(id)
	if def == nil {
		return nil, fmt.Errorf("no table %d", id)
	}
	o := f.extra[strings.ToLower(def.Name)]
	info := &TableInfo{Def: def, Checks: o.checks, Key: o.key}
	info.NotNull = make([]Conflict, len(def.Columns))
	info.Defaults = make([]string, len(def.Columns))
	for i, col := range def.Columns {
		info.NotNull[i] = o.notNull[col.Name]
		info.Defaults[i] = o.defaults[col.Name]
	}
	info.Indexes = make([]Conflict, len(def.Indexes))
	for i, ix := range def.Indexes {
		info.Indexes[i] = o.indexes[ix.Name]
	}
	return info, nil
}

// ForeignKeys completes the Source: the fixture's tables have none.
func (f *fixture) ForeignKeys(s *engine.Schema) (*ForeignKeys, error) {
	return ResolveForeignKeys(s, func(def *engine.TableDef) (*TableInfo, error) { return f.TableInfo(def.ID, s) })
}

// Triggers completes the Source.
func (f *fixture) Triggers(*engine.Schema) (*Triggers, error) { return nil, nil }

// newStore opens an empty store on an in-memory file system.
func newStore(t testing.TB) *engine.Store {
	t.Helper()
	store, err := engine.Open(context.Background(), engine.Options{Dir: t.TempDir(), FS: vfs.NewMem(), Create: true})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// newFixture opens a store and a connection; at the end of the test the
// connection must be good and both must close.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, store: newStore(t), extra: map[string]options{}}
	f.c = f.connect()
	t.Cleanup(func() {
		if f.c.Bad() {
			t.Error("the connection is bad")
		}
		f.settle()
		if n := f.c.ActiveStatements(); n != 0 {
			t.Errorf("%d statements are open", n)
		}
		if err := f.c.Close(); err != nil {
			t.Error(err)
		}
		if err := f.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) connect() *Conn {
	f.t.Helper()
	c, err := Open()
	if err != nil {
		f.t.Fatal(err)
	}
	c.Attach(f.store, f)
	c.OnUnlockedWrite = func() error {
		tx, err := f.store.TryBegin()
		if err == nil {
			c.SetTx(tx)
		}
		return err
	}
	return c
}

// settle ends what a statement left, as the driver does when it sees
// autocommit, and takes the head for the next one.
func (f *fixture) settle() {
	c := f.c
	if lsn, ok := c.TakeCommitted(); ok && lsn != 0 {
		f.lsn = lsn
		if err := f.store.WaitDurable(context.Background(), lsn); err != nil {
			f.t.Error(err)
		}
	}
	if !c.Autocommit() {
		return
	}
	if tx := c.Tx(); tx != nil {
		tx.Rollback()
		c.SetTx(nil)
	}
	c.SetSnapshot(f.store.Head())
}

// apply makes a schema change of its own transaction.
func (f *fixture) apply(ch engine.Change) {
	f.t.Helper()
	tx, err := f.store.Begin(context.Background())
	if err != nil {
		f.t.Fatal(err)
	}
	if err := tx.Apply(ch); err != nil {
		tx.Rollback()
		f.t.Fatal(err)
	}
	if err := f.store.WaitDurable(context.Background(), tx.Commit()); err != nil {
		f.t.Fatal(err)
	}
}

// create makes tables and indexes of plain DDL in the engine and connects them.
func (f *fixture) create(ddl string, extra map[string]options) {
	f.t.Helper()
	f.define(ddl, extra)
	f.mirror()
}

func (f *fixture) define(ddl string, extra map[string]options) {
	f.t.Helper()
	for name, o := range extra {
		f.extra[strings.ToLower(name)] = o
	}
	for _, def := range readDDL(f.t, ddl, f.extra) {
		f.apply(engine.CreateTable{Def: def})
	}
}

// mirror connects all tables anew.
func (f *fixture) mirror() {
	f.t.Helper()
	f.settle()
	for _, def := range f.store.Head().Schema().Tables() {
		f.exec("DROP TABLE IF EXISTS main." + quoteName(def.Name))
		sql := f.c.CreateSQL(def.Name, def.ID, def.Version)
		if def.Name == sequenceTable {
			continue
		}
		f.exec(sql)
	}
}

// run executes one text as the driver would, statement by statement.
func (f *fixture) run(sql string, args ...row.Value) ([][]row.Value, error) {
	var rows [][]row.Value
	for sql != "" {
		f.settle()
		f.c.ClearError()
		st, tail, err := f.c.Prepare(sql)
		if err != nil {
			return nil, err
		}
		sql = tail
		if st == nil {
			continue
		}
		if st.NumColumns() > 0 {
			rows = nil
		}
		err = st.all(args, func(st *Stmt) {
			r := make([]row.Value, st.NumColumns())
			for i := range r {
				r[i] = st.Column(i).Clone()
			}
			rows = append(rows, r)
		})
		f.settle()
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (f *fixture) exec(sql string, args ...row.Value) {
	f.t.Helper()
	if _, err := f.run(sql, args...); err != nil {
		f.t.Fatalf("%s: %v (%v)", sql, err, f.c.LastError())
	}
}

// query returns the rows as text.
func (f *fixture) query(sql string, args ...row.Value) string {
	f.t.Helper()
	rows, err := f.run(sql, args...)
	if err != nil {
		f.t.Fatalf("%s: %v (%v)", sql, err, f.c.LastError())
	}
	return show(rows)
}

// fails expects an error of the extended code and message.
func (f *fixture) fails(sql string, code int, msg string) {
	f.t.Helper()
	_, err := f.run(sql)
	var e *Error
	if !errors.As(err, &e) {
		f.t.Errorf("%s: error %v", sql, err)
		return
	}
	if e.Code == 1 && f.c.LastError() != nil { // as the driver reports it
		errors.As(f.c.LastError(), &e)
	}
	if e.Extended != code || e.Msg != msg {
		f.t.Errorf("%s: (%d) %s, want (%d) %s", sql, e.Extended, e.Msg, code, msg)
	}
}

// show prints rows, values by their storage class.
func show(rows [][]row.Value) string {
	var b strings.Builder
	for _, r := range rows {
		for i, v := range r {
			if i > 0 {
				b.WriteByte('|')
			}
			b.WriteString(showValue(v))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func showValue(v row.Value) string {
	switch v.Kind() {
	case row.Int:
		return fmt.Sprint(v.Int())
	case row.Real:
		return fmt.Sprintf("%gr", v.Real())
	case row.Text:
		return fmt.Sprintf("'%s'", v.Bytes())
	case row.Blob:
		return fmt.Sprintf("x'%x'", v.Bytes())
	}
	return "NULL"
}

// readDDL makes definitions of plain DDL: SQLite itself says what it means.
func readDDL(t testing.TB, ddl string, extra map[string]options) []*engine.TableDef {
	t.Helper()
	c, err := OpenPlain()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	must := func(rows [][]row.Value, err error) [][]row.Value {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if err := c.Exec(ddl); err != nil {
		t.Fatal(err)
	}
	var defs []*engine.TableDef
	for _, tab := range must(c.Query("SELECT name, sql FROM sqlite_schema WHERE type='table' ORDER BY rowid")) {
		name := tab[0].Bytes()
		def := &engine.TableDef{Name: name, SQL: tab[1].Bytes(), RowidAlias: -1, Durable: true, AutoIncrement: extra[strings.ToLower(name)].autoinc}
		list := must(c.Query("SELECT wr, strict FROM pragma_table_list WHERE schema='main' AND name=?", row.TextValue(name)))[0]
		def.WithoutRowid, def.Strict = list[0].Int() != 0, list[1].Int() != 0
		indexes := must(c.Query("SELECT name, \"unique\", origin FROM pragma_index_list(?) ORDER BY seq DESC", row.TextValue(name)))
		hasKey := false
		for _, ix := range indexes {
			hasKey = hasKey || ix[2].Bytes() == "pk"
		}
		colls := columnCollations(t, c, name)
		for i, col := range must(c.Query("SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(?)", row.TextValue(name))) {
			cd := engine.Column{ID: uint32(i + 1), Name: col[0].Bytes(), DeclType: col[1].Bytes(), NotNull: col[2].Int() != 0, Collation: colls[i]}
			cd.Affinity = row.AffinityOf(cd.DeclType)
			if def.Strict && strings.EqualFold(cd.DeclType, "ANY") {
				cd.Affinity = row.AffBlob
			}
			if col[3].Int() != 0 {
				if !hasKey {
					def.RowidAlias = i
				} else if def.WithoutRowid {
					cd.NotNull = true
				}
			}
			def.Columns = append(def.Columns, cd)
		}
		for _, ix := range indexes {
			id := &engine.IndexDef{Name: ix[0].Bytes(), Unique: ix[1].Int() != 0, Origin: ix[2].Bytes()}
			for _, part := range must(c.Query("SELECT cid, \"desc\", coll FROM pragma_index_xinfo(?) WHERE key", row.TextValue(id.Name))) {
				coll, _ := row.CollationByName(part[2].Bytes())
				id.Columns = append(id.Columns, engine.IndexColumn{Column: int(part[0].Int()), Desc: part[1].Int() != 0, Collation: coll})
			}
			def.Indexes = append(def.Indexes, id)
		}
		defs = append(defs, def)
	}
	return defs
}

// columnCollations finds the declared collations by indexing every column.
func columnCollations(t testing.TB, c *Conn, table string) []row.Collation {
	t.Helper()
	names, err := c.Query("SELECT name FROM pragma_table_xinfo(?)", row.TextValue(table))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, n := range names {
		list = append(list, quoteName(n[0].Bytes()))
	}
	if table == sequenceTable {
		return make([]row.Collation, len(names))
	}
	rows, err := c.Query("SAVEPOINT x; CREATE INDEX \"coll of it\" ON " + quoteName(table) + "(" + strings.Join(list, ",") + "); SELECT coll FROM pragma_index_xinfo('coll of it') WHERE key ORDER BY seqno")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Exec("ROLLBACK TO x; RELEASE x"); err != nil {
		t.Fatal(err)
	}
	colls := make([]row.Collation, len(rows))
	for i, r := range rows {
		colls[i], _ = row.CollationByName(r[0].Bytes())
	}
	return colls
}
