package vtab

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// EponymousModule is a table made of Go rows, there without CREATE: `SELECT *
// FROM name`, or `name(arg, …)` when it takes arguments. A name of SQLite's
// own (pragma_table_info) takes its place on the connection it is registered
// on.
type EponymousModule struct {
	// Columns is the list of the visible columns: "name TEXT, rows INTEGER".
	Columns string
	// Args names the arguments, which are hidden columns behind the others.
	Args []string
	// Rows returns the rows, with values for the visible columns and, behind them,
	// the rowid, if that is not the position. args holds one value per argument,
	// NULL where none was given; they are borrowed for the call. The rows must not
	// change afterwards.
	Rows func(args []row.Value) ([][]row.Value, error)
	// Insert is called for each row inserted, with one value per column,
	// borrowed for the call. nil makes the table read-only.
	Insert func(vals []row.Value) error
	// Delete is called for each row deleted, with its rowid; nil refuses that.
	Delete func(rowid int64) error
	// Update is called for each row updated, with its rowid and one value per column,
	// borrowed for the call; nil refuses that, as is a change of the rowid.
	Update func(rowid int64, vals []row.Value) error
}

// rowModule is a registered EponymousModule.
type rowModule struct {
	EponymousModule
	name    string
	visible int
	c       *Conn
	pin     runtime.Pinner
}

type (
	cRows struct {
		base lib.Tsqlite3_vtab
		m    *rowModule
	}
	cRowCursor struct {
		base lib.Tsqlite3_vtab_cursor
		q    *rowCursor
	}
)

// rowCursor reads the rows that Rows returned at xFilter.
type rowCursor struct {
	m    *rowModule
	pin  runtime.Pinner
	args []row.Value
	rows [][]row.Value
	i    int
}

// RegisterModule adds a table of Go rows to the connection.
func (c *Conn) RegisterModule(name string, m EponymousModule) error {
	if m.Rows == nil {
		return errorf(lib.SQLITE_MISUSE, "module %s has no Rows", name)
	}
	z := cString(c.tls, name)
	defer freeC(c.tls, z)
	cm := modules.rows
	if m.Insert != nil {
		cm = modules.insertable
	}
	// The module's number is its aux pointer; xConnect finds the rest.
	c.modules = append(c.modules, &rowModule{EponymousModule: m, name: name, visible: countColumns(m.Columns), c: c})
	if rc := lib.Xsqlite3_create_module_v2(c.tls, c.db, z, cm, uintptr(len(c.modules)), 0); rc != lib.SQLITE_OK {
		return c.lastSQLiteError(rc)
	}
	return nil
}

func rowsAt(p uintptr) *rowModule { return (*cRows)(unsafe.Pointer(p)).m }

func rowCursorAt(p uintptr) *rowCursor { return (*cRowCursor)(unsafe.Pointer(p)).q }

// rowsConnect is xConnect.
func rowsConnect(tls *libc.TLS, db, aux uintptr, argc int32, argv, ppVtab, pzErr uintptr) (rc int32) {
	c := connOf(db)
	if c == nil || aux == 0 || int(aux) > len(c.modules) {
		return lib.SQLITE_ERROR
	}
	m := c.modules[aux-1]
	if rc := declare(tls, db, m.declaration()); rc != lib.SQLITE_OK {
		storePointer(pzErr, sqliteString(tls, goString(lib.Xsqlite3_errmsg(tls, db))))
		return rc
	}
	configure(tls, db, lib.SQLITE_VTAB_INNOCUOUS, 0)
	p := allocate(tls, unsafe.Sizeof(cRows{}))
	if p == 0 {
		return lib.SQLITE_NOMEM
	}
	m.pin.Pin(m)
	(*cRows)(unsafe.Pointer(p)).m = m
	storePointer(ppVtab, p)
	return lib.SQLITE_OK
}

// rowsDisconnect is xDisconnect.
func rowsDisconnect(tls *libc.TLS, p uintptr) int32 {
	rowsAt(p).pin.Unpin()
	(*cRows)(unsafe.Pointer(p)).m = nil
	lib.Xsqlite3_free(tls, p)
	return lib.SQLITE_OK
}

// rowsBestIndex is xBestIndex: equality on hidden columns gives arguments.
// idxNum has a bit for each argument that is there.
func rowsBestIndex(tls *libc.TLS, p, info uintptr) int32 {
	m := rowsAt(p)
	ii := (*lib.Tsqlite3_index_info)(unsafe.Pointer(info))
	pl := planner{tls: tls, info: info, ii: ii}
	first := m.visible
	at := make([]int, len(m.Args))
	for i, con := range pl.constraints() {
		k := int(con.FiColumn) - first
		if k < 0 || k >= len(m.Args) || con.Fop != lib.SQLITE_INDEX_CONSTRAINT_EQ {
			continue
		}
		if con.Fusable == 0 {
			return lib.SQLITE_CONSTRAINT
		}
		at[k] = i + 1
	}
	for k, i := range at {
		if i > 0 {
			pl.pass(i - 1)
			pl.usage(i - 1).Fomit = 1
			ii.FidxNum |= 1 << k
		}
	}
	ii.FestimatedCost, ii.FestimatedRows = 100, 25
	return lib.SQLITE_OK
}

// declaration returns the text for sqlite3_declare_vtab.
func (m *rowModule) declaration() string {
	var b strings.Builder
	b.WriteString("CREATE TABLE x(" + m.Columns)
	for _, arg := range m.Args {
		b.WriteString("," + quoteName(arg) + " HIDDEN")
	}
	b.WriteString(")")
	return b.String()
}

// countColumns counts the definitions of a column list: commas that are neither
// in parentheses nor in quotes part them.
func countColumns(list string) int {
	n, depth := 1, 0
	var quote byte
	for i := range len(list) {
		switch ch := list[i]; {
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '"' || ch == '\'' || ch == '`':
			quote = ch
		case ch == '(':
			depth++
		case ch == ')':
			depth--
		case ch == ',' && depth == 0:
			n++
		}
	}
	return n
}

// rowsOpen is xOpen.
func rowsOpen(tls *libc.TLS, p, pp uintptr) int32 {
	cp := allocate(tls, unsafe.Sizeof(cRowCursor{}))
	if cp == 0 {
		return lib.SQLITE_NOMEM
	}
	q := &rowCursor{m: rowsAt(p)}
	q.pin.Pin(q)
	(*cRowCursor)(unsafe.Pointer(cp)).q = q
	storePointer(pp, cp)
	return lib.SQLITE_OK
}

// rowsClose is xClose.
func rowsClose(tls *libc.TLS, cp uintptr) int32 {
	rowCursorAt(cp).pin.Unpin()
	(*cRowCursor)(unsafe.Pointer(cp)).q = nil
	lib.Xsqlite3_free(tls, cp)
	return lib.SQLITE_OK
}

// rowsFilter is xFilter.
func rowsFilter(tls *libc.TLS, cp uintptr, num int32, str uintptr, argc int32, argv uintptr) (rc int32) {
	q := rowCursorAt(cp)
	c := q.m.c
	fail := func(err error) {
		c.note(err)
		q.rows = nil
		setMessage(tls, (*lib.Tsqlite3_vtab)(unsafe.Pointer((*cRowCursor)(unsafe.Pointer(cp)).base.FpVtab)), err.Error())
		rc = lib.SQLITE_ERROR
	}
	defer c.guard("filter", fail)
	q.i, q.rows = 0, nil
	q.args = append(q.args[:0], make([]row.Value, len(q.m.Args))...)
	next := pointers(argv, argc)
	for k := range q.args {
		if num&(1<<k) != 0 {
			q.args[k] = valueAt(tls, next[0])
			next = next[1:]
		}
	}
	rows, err := q.m.Rows(q.args)
	if err != nil {
		fail(err)
		return rc
	}
	for k := range q.args {
		q.args[k] = q.args[k].Clone()
	}
	q.rows = rows
	return lib.SQLITE_OK
}

// rowsNext is xNext.
func rowsNext(tls *libc.TLS, cp uintptr) int32 {
	rowCursorAt(cp).i++
	return lib.SQLITE_OK
}

// rowsEOF is xEof.
func rowsEOF(tls *libc.TLS, cp uintptr) int32 {
	if q := rowCursorAt(cp); q.i >= len(q.rows) {
		return 1
	}
	return 0
}

// rowsColumn is xColumn; a hidden column has the value of its argument.
func rowsColumn(tls *libc.TLS, cp, ctx uintptr, k int32) (rc int32) {
	q := rowCursorAt(cp)
	done := false
	defer func() {
		if !done {
			rc = q.m.c.failColumn(tls, ctx, recover())
		}
	}()
	if h := int(k) - q.m.visible; h >= 0 {
		q.m.c.setResult(tls, ctx, q.args[h])
	} else if vals := q.rows[q.i]; int(k) < len(vals) {
		q.m.c.setResult(tls, ctx, vals[k])
	}
	done = true
	return lib.SQLITE_OK
}

// rowsRowid is xRowid: what the row says, or the position.
func rowsRowid(tls *libc.TLS, cp, out uintptr) int32 {
	q := rowCursorAt(cp)
	id := int64(q.i) + 1
	if vals := q.rows[q.i]; len(vals) > q.m.visible {
		id = vals[q.m.visible].Int()
	}
	*(*int64)(unsafe.Pointer(out)) = id
	return lib.SQLITE_OK
}

// rowsUpdate is xUpdate of tables with Insert.
func rowsUpdate(tls *libc.TLS, p uintptr, argc int32, argv, prowid uintptr) (rc int32) {
	m := rowsAt(p)
	fail := func(err error) {
		m.c.note(err)
		setMessage(tls, &(*cRows)(unsafe.Pointer(p)).base, err.Error())
		rc = lib.SQLITE_ERROR
	}
	defer m.c.guard("insert", fail)
	args := pointers(argv, argc)
	if len(args) == 1 && m.Delete != nil {
		if err := m.Delete(valueAt(tls, args[0]).Int()); err != nil {
			fail(err)
		}
		return rc
	}
	if len(args) > 2 && m.Update != nil && !valueAt(tls, args[0]).IsNull() {
		was, is := valueAt(tls, args[0]).Int(), valueAt(tls, args[1])
		if is.Kind() != row.Int || is.Int() != was {
			fail(fmt.Errorf("%w: the rowid of %s does not change", ErrReadOnlyModule, m.name))
			return rc
		}
		vals := make([]row.Value, len(args)-2)
		for i := range vals {
			vals[i] = valueAt(tls, args[2+i])
		}
		if err := m.Update(was, vals); err != nil {
			fail(err)
		}
		return rc
	}
	if len(args) < 2 || !valueAt(tls, args[0]).IsNull() {
		fail(fmt.Errorf("%w: %s takes only INSERT", ErrReadOnlyModule, m.name))
		return rc
	}
	vals := make([]row.Value, len(args)-2)
	for i := range vals {
		vals[i] = valueAt(tls, args[2+i])
	}
	*(*int64)(unsafe.Pointer(prowid)) = m.c.LastInsertRowid()
	if err := m.Insert(vals); err != nil {
		fail(err)
	}
	return rc
}
