package vtab

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Stmt is a prepared statement. Parameters and columns are numbered as in
// SQLite: parameters from 1, columns from 0.
type Stmt struct {
	c     *Conn
	p     uintptr // sqlite3_stmt*; 0 once finalized
	sql   string
	ncols int
	write bool    // not read-only
	pure  uintptr // program whose calls are those of pure expressions, see takePure
}

// Prepare compiles the first statement of sql and returns what follows it. An
// empty statement (blanks, a comment) gives a nil Stmt and no error.
func (c *Conn) Prepare(sql string) (st *Stmt, tail string, err error) {
	return c.prepare(sql, 0)
}

// PreparePersistent is Prepare for a statement that will be kept and run often.
func (c *Conn) PreparePersistent(sql string) (st *Stmt, tail string, err error) {
	return c.prepare(sql, lib.SQLITE_PREPARE_PERSISTENT)
}

func (c *Conn) prepare(sql string, flags uint32) (*Stmt, string, error) {
	z := cString(c.tls, sql)
	defer freeC(c.tls, z)
	var size = int(unsafe.Sizeof(uintptr(0)))
	out := c.tls.Alloc(2 * size)
	defer c.tls.Free(2 * size)
	if rc := lib.Xsqlite3_prepare_v3(c.tls, c.db, z, int32(len(sql)+1), flags, out, out+uintptr(size)); rc != lib.SQLITE_OK {
		return nil, "", c.lastSQLiteError(rc)
	}
	p, end := loadPointer(out), int(loadPointer(out+uintptr(size))-z)
	if p == 0 {
		return nil, sql[end:], nil
	}
	st := &Stmt{c: c, p: p, sql: sql[:end], ncols: int(lib.Xsqlite3_column_count(c.tls, p))}
	st.write = !st.ReadOnly()
	c.stmts[st] = struct{}{}
	return st, sql[end:], nil
}

// SQL returns the text the statement was made of.
func (st *Stmt) SQL() string { return st.sql }

// NumParams returns the largest parameter number.
func (st *Stmt) NumParams() int { return int(lib.Xsqlite3_bind_parameter_count(st.c.tls, st.p)) }

// ParamName returns the name of parameter i with its prefix, or "".
func (st *Stmt) ParamName(i int) string {
	return goString(lib.Xsqlite3_bind_parameter_name(st.c.tls, st.p, int32(i)))
}

// NumColumns returns the number of result columns.
func (st *Stmt) NumColumns() int { return st.ncols }

// ColumnName returns the name of a result column.
func (st *Stmt) ColumnName(i int) string {
	return goString(lib.Xsqlite3_column_name(st.c.tls, st.p, int32(i)))
}

// ColumnDecl returns the declared type of the table column behind a result
// column, or "".
func (st *Stmt) ColumnDecl(i int) string {
	return goString(lib.Xsqlite3_column_decltype(st.c.tls, st.p, int32(i)))
}

// ColumnOrigin returns the table column behind a result column; all three are
// "" for an expression.
func (st *Stmt) ColumnOrigin(i int) (db, table, column string) {
	k := int32(i)
	return goString(lib.Xsqlite3_column_database_name(st.c.tls, st.p, k)),
		goString(lib.Xsqlite3_column_table_name(st.c.tls, st.p, k)),
		goString(lib.Xsqlite3_column_origin_name(st.c.tls, st.p, k))
}

// ReadOnly reports whether the statement changes nothing directly.
func (st *Stmt) ReadOnly() bool { return lib.Xsqlite3_stmt_readonly(st.c.tls, st.p) != 0 }

// Explain reports 1 for an EXPLAIN, 2 for an EXPLAIN QUERY PLAN, else 0.
func (st *Stmt) Explain() int { return int(lib.Xsqlite3_stmt_isexplain(st.c.tls, st.p)) }

// Busy reports whether the statement was stepped and neither ended nor was reset.
func (st *Stmt) Busy() bool { return lib.Xsqlite3_stmt_busy(st.c.tls, st.p) != 0 }

// BindNull binds NULL.
func (st *Stmt) BindNull(i int) error {
	return st.bound(lib.Xsqlite3_bind_null(st.c.tls, st.p, int32(i)))
}

// BindInt binds an INTEGER.
func (st *Stmt) BindInt(i int, v int64) error {
	return st.bound(lib.Xsqlite3_bind_int64(st.c.tls, st.p, int32(i), lib.Tsqlite_int64(v)))
}

// BindReal binds a REAL; a NaN becomes NULL.
func (st *Stmt) BindReal(i int, v float64) error {
	return st.bound(lib.Xsqlite3_bind_double(st.c.tls, st.p, int32(i), v))
}

// BindText binds a copy of a TEXT, NULs included.
func (st *Stmt) BindText(i int, s string) error {
	p, del := st.c.lend(s)
	return st.bound(lib.Xsqlite3_bind_text64(st.c.tls, st.p, int32(i), p, lib.Tsqlite3_uint64(len(s)), del, lib.SQLITE_UTF8))
}

// BindBlob binds a copy of a BLOB.
func (st *Stmt) BindBlob(i int, s string) error {
	p, del := st.c.lend(s)
	return st.bound(lib.Xsqlite3_bind_blob64(st.c.tls, st.p, int32(i), p, lib.Tsqlite3_uint64(len(s)), del))
}

// Bind binds a value of any kind.
func (st *Stmt) Bind(i int, v row.Value) error {
	switch v.Kind() {
	case row.Int:
		return st.BindInt(i, v.Int())
	case row.Real:
		return st.BindReal(i, v.Real())
	case row.Text:
		return st.BindText(i, v.Bytes())
	case row.Blob:
		return st.BindBlob(i, v.Bytes())
	}
	return st.BindNull(i)
}

// ClearBindings sets all parameters to NULL.
func (st *Stmt) ClearBindings() { lib.Xsqlite3_clear_bindings(st.c.tls, st.p) }

func (st *Stmt) bound(rc int32) error {
	if rc != lib.SQLITE_OK {
		return st.c.lastSQLiteError(rc)
	}
	return nil
}

// Step runs the statement to its next row; false means that it ended.
func (st *Stmt) Step() (bool, error) {
	c := st.c
	if st.write { // xUpdate may have to correct this statement's count
		c.running = append(c.running, st.p)
	}
	rc := lib.Xsqlite3_step(c.tls, st.p)
	if st.write {
		c.running = c.running[:len(c.running)-1]
	}
	switch rc {
	case lib.SQLITE_ROW:
		return true, nil
	case lib.SQLITE_DONE:
		return false, nil
	default:
		return false, c.lastSQLiteError(rc)
	}
}

// Column returns a column of the current row. Texts and blobs are borrowed
// until the next call of Step, Reset or Finalize.
func (st *Stmt) Column(i int) row.Value {
	v := (*lib.TVdbe)(unsafe.Pointer(st.p))
	if v.FpResultRow == 0 || i < 0 || i >= st.ncols {
		return row.Value{}
	}
	return valueAt(st.c.tls, v.FpResultRow+uintptr(i)*memSize)
}

// Reset ends the run of the statement; bindings stay. It returns the error of
// that run, if any, once more.
func (st *Stmt) Reset() error {
	if st.p == 0 {
		return nil
	}
	if rc := lib.Xsqlite3_reset(st.c.tls, st.p); rc != lib.SQLITE_OK {
		return st.c.lastSQLiteError(rc)
	}
	return nil
}

// Finalize releases the statement. Calling it again does nothing.
func (st *Stmt) Finalize() {
	if p := st.p; p != 0 {
		st.p = 0 // before: finalizing may disconnect tables, which finalizes more
		delete(st.c.stmts, st)
		lib.Xsqlite3_finalize(st.c.tls, p)
	}
}

// all binds, steps to the end with f called for each row, and finalizes.
func (st *Stmt) all(args []row.Value, f func(*Stmt)) error {
	defer st.Finalize()
	for i, v := range args[:min(len(args), st.NumParams())] {
		if err := st.Bind(i+1, v); err != nil {
			return err
		}
	}
	for {
		more, err := st.Step()
		if err != nil || !more {
			return err
		}
		f(st)
	}
}
