package vtab

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// table is one connected virtual table: between xConnect and xDisconnect.
type table struct {
	c      *Conn
	id     engine.TableID
	pin    runtime.Pinner
	schema *engine.Schema // info describes the table as of it
	info   *TableInfo
	ncols  int // visible columns; the hidden one has this number

	visible []int // ordinals of the visible columns and one behind all of them; nil where SQL's numbers are the same
	missing bool  // a column has a value in rows that end before it

	h  *engine.TxTable // of tx under schema
	tx *engine.Tx

	uniques   []int             // positions of unique indexes, in the order SQLite checks them
	scanKey   int               // index whose order is the table's (WITHOUT ROWID), or -1
	checkSQL  string            // tests every CHECK
	checkSome map[uint64]string // tests some, by the bits of their positions
	sequence  sequenceRow
	spreads   map[spreadOf]spread // see perKey
	sample    *sample             // see planner.sample

	computed computed // columns that are computed for each row

	keys   *tableKeys     // foreign keys, see foreign
	keysOf *engine.Schema // that keys are of

	triggers    *tableTriggers // see fired
	triggersOf  *engine.Schema
	triggersGen uint64

	late bool // joined a transaction that another table had begun
}

// goneDecl declares a table that the schema in force does not have any more:
// SQLite connects a table to drop it. Any other use of it fails in refresh.
const goneDecl = "CREATE TABLE x(gone)"

// tableConnect is xCreate and xConnect of tidemark_open. Its arguments are the
// connection's token, the table's id and a serial nobody reads: it only makes
// the text another one when the table must be connected anew.
func tableConnect(tls *libc.TLS, db, aux uintptr, argc int32, argv, ppVtab, pzErr uintptr) (rc int32) {
	c := connOf(db)
	if c == nil {
		storePointer(pzErr, sqliteString(tls, "no Tidemark connection"))
		return lib.SQLITE_ERROR
	}
	fail := func(err error) {
		c.note(err)
		storePointer(pzErr, sqliteString(tls, err.Error()))
		rc = lib.SQLITE_ERROR
	}
	defer c.guard("connect", fail)
	t := &table{c: c}
	av := pointers(argv, argc)
	if len(av) < 5 || goString(av[3]) != c.name {
		fail(errorf(lib.SQLITE_ERROR, "arguments of %s must be: token, table id, serial", openModule))
		return rc
	}
	id, err := strconv.ParseUint(goString(av[4]), 10, 64)
	if err != nil {
		fail(errorf(lib.SQLITE_ERROR, "table id: %v", err))
		return rc
	}
	t.id = engine.TableID(id)
	decl := goneDecl
	if s := c.schema(); s == nil || s.Table(t.id) != nil {
		if err := t.refresh(); err != nil {
			fail(err)
			return rc
		}
		if decl = t.info.Decl; decl == "" {
			decl = Declaration(t.info.Def)
		}
	}
	if rc := declare(tls, db, decl); rc != lib.SQLITE_OK {
		fail(errorf(int(rc), "declare table %d: %s", t.id, goString(lib.Xsqlite3_errmsg(tls, db))))
		return rc
	}
	return t.attach(tls, db, ppVtab)
}

// attach makes the C structure of a table and enters t into the connection.
func (t *table) attach(tls *libc.TLS, db, ppVtab uintptr) int32 {
	configure(tls, db, lib.SQLITE_VTAB_CONSTRAINT_SUPPORT, 1)
	configure(tls, db, lib.SQLITE_VTAB_INNOCUOUS, 0)
	p := allocate(tls, unsafe.Sizeof(cTable{}))
	if p == 0 {
		return lib.SQLITE_NOMEM
	}
	t.pin.Pin(t)
	(*cTable)(unsafe.Pointer(p)).t = t
	t.c.tables = append(t.c.tables, t)
	storePointer(ppVtab, p)
	return lib.SQLITE_OK
}

// tableDisconnect is xDisconnect and xDestroy: what the engine holds is not
// SQLite's to destroy.
func tableDisconnect(tls *libc.TLS, p uintptr) int32 {
	t := tableAt(p)
	t.c.tables = slices.DeleteFunc(t.c.tables, func(o *table) bool { return o == t })
	t.dropChecks()
	t.dropComputed()
	(*cTable)(unsafe.Pointer(p)).t = nil
	t.pin.Unpin()
	lib.Xsqlite3_free(tls, p)
	return lib.SQLITE_OK
}

// refresh makes sure that info describes the table as of the schema in force.
// It is called where a statement is planned, starts to read and writes; in the
// usual case it compares two pointers.
func (t *table) refresh() error {
	s := t.c.schema()
	if s == t.schema && s != nil {
		return nil
	}
	if s == nil {
		return ErrNoSnapshot
	}
	def := s.Table(t.id)
	if def == nil {
		return errorf(lib.SQLITE_SCHEMA, "table %d is not in this schema", t.id)
	}
	if t.info == nil || t.info.Def != def {
		if t.c.src == nil {
			return ErrNoSnapshot
		}
		info, err := t.c.src.TableInfo(t.id, s)
		if err != nil {
			return fmt.Errorf("table %q: %w", def.Name, err)
		}
		t.use(info)
	}
	t.schema = s
	return nil
}

// use takes over the description of the table.
func (t *table) use(info *TableInfo) {
	t.dropChecks()
	t.dropComputed()
	t.info = info
	t.useColumns(info.Def)
	t.uniques = uniqueOrder(info)
	t.scanKey = keyOrder(info.Def)
	t.checkSQL = checkSelect(info, everyCheck)
	t.computed = computedOf(info)
	t.h, t.tx = nil, nil
	t.spreads, t.sample = nil, nil
}

// keyOrder returns the index whose order is that of a table, or -1: the rowid's.
func keyOrder(def *engine.TableDef) int {
	if !def.WithoutRowid {
		return -1
	}
	return slices.IndexFunc(def.Indexes, func(ix *engine.IndexDef) bool { return ix.Origin == "pk" })
}

// handle returns the transaction's handle of the table.
func (t *table) handle() (*engine.TxTable, error) {
	tx := t.c.tx
	if tx == nil {
		return nil, errNoTransaction
	}
	if t.tx == tx && t.schema == tx.Schema() && t.h != nil {
		return t.h, nil
	}
	if err := t.refresh(); err != nil {
		return nil, err
	}
	t.h, t.tx = tx.Handle(t.id), tx
	if t.h == nil {
		return nil, engine.ErrTxDone
	}
	t.c.handled = append(t.c.handled, t)
	return t.h, nil
}

// Declaration returns the text that declares the columns of a table to SQLite:
// see TableInfo.Decl.
func Declaration(def *engine.TableDef) string {
	var b strings.Builder
	b.WriteString("CREATE TABLE x(")
	for i := range def.Columns {
		col := &def.Columns[i]
		if !col.Visible() {
			continue
		}
		b.WriteString(quoteName(col.Name))
		if typ := declaredType(def, col.DeclType); typ != "" {
			b.WriteString(" " + quoteName(typ))
		}
		if col.Collation != row.Binary {
			b.WriteString(" COLLATE " + col.Collation.String())
		}
		b.WriteString(",")
	}
	b.WriteString(quoteName(hiddenName(def)) + " HIDDEN)")
	return b.String()
}

// HiddenName returns the name of the hidden column of a table.
func HiddenName(def *engine.TableDef) string { return hiddenName(def) }

// UpdatedSource returns the FROM and WHERE of a query over the row that is being
// updated, as SetList has it. alias is the name the text gives the table, "" for
// its own.
func UpdatedSource(def *engine.TableDef, alias string) string {
	name := quoteName(def.Name)
	from := "FROM main." + name
	if alias != "" {
		name = quoteName(alias)
		from += " AS " + name
	}
	return fmt.Sprintf("%s WHERE %s.%s=%d", from, name, quoteName(hiddenName(def)), sourceUpdated)
}

// hiddenName returns HiddenColumn or, for a table that has a column of that name,
// a longer one that it does not have.
func hiddenName(def *engine.TableDef) string {
	name := HiddenColumn
	for slices.ContainsFunc(def.Columns, func(c engine.Column) bool { return c.Visible() && strings.EqualFold(c.Name, name) }) {
		name = HiddenColumn[:1] + name
	}
	return name
}

// declaredType returns a type that SQLite may be told. "HIDDEN" in a type would
// hide the column, and ANY, which means "no affinity" in a STRICT table, would
// be NUMERIC elsewhere.
func declaredType(def *engine.TableDef, typ string) string {
	if def.Strict && strings.EqualFold(typ, "ANY") {
		return ""
	}
	for i := strings.Index(strings.ToLower(typ), "hidden"); i >= 0; i = strings.Index(strings.ToLower(typ), "hidden") {
		typ = typ[:i] + "h_dden" + typ[i+len("hidden"):]
	}
	return typ
}

// quoteName quotes an identifier.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Token returns the text that tables of this connection name it by.
func (c *Conn) Token() string { return c.name }

// CreateSQL returns the statement that connects an engine table under a name.
// serial must differ when the table's definition does.
func (c *Conn) CreateSQL(name string, id engine.TableID, serial uint64) string {
	return fmt.Sprintf("CREATE VIRTUAL TABLE main.%s USING %s(%s,%d,%d)", quoteName(name), openModule, c.name, id, serial)
}

// tableRename refuses ALTER TABLE … RENAME that reaches SQLite.
func tableRename(tls *libc.TLS, p, z uintptr) int32 {
	setMessage(tls, &(*cTable)(unsafe.Pointer(p)).base, "tables of a store are renamed by the driver")
	return lib.SQLITE_ERROR
}
