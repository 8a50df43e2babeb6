package driver

import (
	"context"
	sqldriver "database/sql/driver"
	"io"
	"reflect"
	"strings"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// explainQueryPlan is what sqlite3_stmt_isexplain says of an EXPLAIN QUERY PLAN.
const explainQueryPlan = 2

// rows are the rows of one statement: SQLite's, or the driver's own answer.
type rows struct {
	c       *conn
	s       *stmt
	p       *piece // nil for the driver's own answers
	ctx     context.Context
	watch   *watch
	labels  []string
	given   [][]row.Value
	kept    [][]sqldriver.Value // of a statement that writes
	open    bool                // the statement is being stepped
	first   bool                // its first row was stepped to and not handed out
	copied  bool                // p belongs to these rows alone
	release bool                // s goes back to the cache
}

// column is what reading a value needs to know of its column.
type column struct {
	declared string
	time     bool // read as time.Time
	boolean  bool // 0 and 1 are read as bool
	plan     bool // the text of EXPLAIN QUERY PLAN
	kind     *columnType
}

// describe reads names and types of the columns of a compiled statement.
func (p *piece) describe() error {
	if p.ret != nil {
		p.labels, p.cols = p.ret.labels, p.ret.cols
		return nil
	}
	n := p.st.NumColumns()
	if p.labels != nil || n == 0 {
		return nil
	}
	if p.labels, p.cols = columnsOf(p.st); p.plain != nil {
		p.labels = p.plain
	}
	if p.st.Explain() == explainQueryPlan {
		p.cols[n-1].plan = true
	}
	return nil
}

// columnsOf reads names and types of the columns of a statement.
func columnsOf(st *vtab.Stmt) (labels []string, cols []column) {
	n := st.NumColumns()
	labels, cols = make([]string, n), make([]column, n)
	for i := range n {
		declared := st.ColumnDecl(i)
		labels[i] = st.ColumnName(i)
		cols[i] = column{declared: declared, time: isTimeType(declared), boolean: baseType(declared) == "BOOLEAN"}
	}
	return labels, cols
}

// Columns returns the names of the columns.
func (r *rows) Columns() []string { return r.labels }

// Next reads the next row.
func (r *rows) Next(dest []sqldriver.Value) (err error) {
	defer r.c.guard("query", &err)
	if r.p == nil {
		if len(r.given) == 0 {
			return io.EOF
		}
		for i, v := range r.given[0] {
			dest[i] = plainValue(v)
		}
		r.given = r.given[1:]
		return nil
	}
	if len(r.kept) > 0 {
		copy(dest, r.kept[0])
		r.kept = r.kept[1:]
		return nil
	}
	if !r.open {
		return io.EOF
	}
	if r.c.closed { // and its statements with it
		r.ended()
		return newError("query", ErrMisuse, "rows of a connection that was closed: %w", ErrClosed)
	}
	if r.first {
		r.first = false
	} else {
		more, err := r.step()
		if err != nil {
			return wrapError("query", r.finish(err))
		}
		if !more {
			if err := r.finish(nil); err != nil {
				return wrapError("query", err)
			}
			return io.EOF
		}
	}
	for i := range dest {
		dest[i] = r.value(i)
	}
	return nil
}

// gather runs a statement that writes to its end and keeps its rows. While it is
// active SQLite would not commit, neither its change nor that of a statement
// beside it.
func (r *rows) gather(ctx context.Context) error {
	for {
		more, err := r.step()
		if err != nil {
			return r.finish(err)
		}
		if !more {
			break
		}
		values := make([]sqldriver.Value, len(r.labels))
		for i := range values {
			values[i] = r.value(i)
		}
		r.kept = append(r.kept, values)
	}
	if len(r.kept) > 0 && r.c.reads.base != 0 {
		if err := r.c.awaitBase(ctx); err != nil {
			return r.finish(err)
		}
	}
	return r.finish(nil)
}

// step runs the statement to its next row.
func (r *rows) step() (bool, error) {
	if err := r.watch.enter(); err != nil {
		return false, err
	}
	r.c.stepping = r.ctx
	more, err := r.p.st.Step()
	r.watch.leave()
	return more, r.c.sqliteError(r.ctx, err)
}

// value reads one value of the current row. Texts and blobs are copied: SQLite's
// memory changes with the next step.
func (r *rows) value(i int) sqldriver.Value { return r.decode(i, r.p.st.Column(i)) }

// decode turns a value of column i into what is handed out.
func (r *rows) decode(i int, v row.Value) sqldriver.Value {
	col := &r.p.cols[i]
	if col.time {
		if t, ok := r.c.sh.clock.decodeTime(v); ok {
			return t
		}
	}
	if col.plan {
		return strings.Clone(vtab.Explained(v.Bytes()))
	}
	if col.boolean && v.Kind() == row.Int && uint64(v.Int()) <= 1 {
		return v.Int() == 1
	}
	return plainValue(v)
}

// plainValue turns a value into what database/sql hands out.
func plainValue(v row.Value) sqldriver.Value {
	switch v.Kind() {
	case row.Int:
		return v.Int()
	case row.Real:
		return v.Real()
	case row.Text:
		return strings.Clone(v.Bytes())
	case row.Blob:
		return []byte(v.Bytes())
	}
	return nil
}

// finish ends the statement and settles the transaction. It returns err, or
// what settling it gave.
func (r *rows) finish(err error) error {
	if !r.open {
		return err
	}
	r.open = false
	r.watch.end()
	c := r.c
	_ = r.p.st.Reset() // repeats the error of the last step
	r.p.busy = false
	c.reads.active--
	err = c.endStatement(r.p, err)
	return c.settle(r.ctx, err, goesOn)
}

// ended is finish after the connection's end, which left nothing to settle.
func (r *rows) ended() {
	r.watch.end()
	r.open = false
}

// Close ends the statement early.
func (r *rows) Close() (err error) {
	defer r.c.guard("query", &err)
	if r.c.closed || r.c.unusable() {
		r.ended()
		return nil
	}
	err = r.finish(nil)
	if r.copied {
		r.p.finalize()
	}
	if r.release {
		r.release = false
		r.c.cache.put(r.s)
	}
	return wrapError("query", err)
}

// columnType describes a column for the optional interfaces.
func (r *rows) columnType(i int) columnType {
	if r.p == nil || r.c.closed || i >= len(r.p.cols) {
		return columnType{}
	}
	col := &r.p.cols[i]
	if col.kind == nil {
		t := newColumnType(col.declared, nil, -1)
		of := r.p.st
		if r.p.ret != nil {
			of = r.p.ret.rows.List
		}
		if schema, table, name := of.ColumnOrigin(i); schema == "main" {
			if o := r.p.schema.Lookup(table); o != nil && o.Table != nil {
				if k := ordinal(o.Table, name); k >= 0 { // the mirror may have had to change the type
					t = newColumnType(o.Table.Columns[k].DeclType, o.Table, k)
				}
			}
		}
		col.kind = &t
	}
	return *col.kind
}

// ordinal returns the ordinal of a visible column, or -1.
func ordinal(def *engine.TableDef, name string) int {
	for i := range def.Columns {
		if c := &def.Columns[i]; c.Visible() && fold(c.Name) == fold(name) {
			return i
		}
	}
	return -1
}

// ColumnTypeDatabaseTypeName returns the declared type's base, in upper case.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string { return r.columnType(i).databaseTypeName() }

// ColumnTypeLength returns the declared length of a text or blob column.
func (r *rows) ColumnTypeLength(i int) (int64, bool) { return r.columnType(i).length() }

// ColumnTypeNullable reports whether a column may be NULL, where the schema
// tells.
func (r *rows) ColumnTypeNullable(i int) (nullable, ok bool) { return r.columnType(i).nullable() }

// ColumnTypePrecisionScale returns the arguments of DECIMAL(p,s).
func (r *rows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	return r.columnType(i).precisionScale()
}

// ColumnTypeScanType returns a Go type that values of the column scan into.
func (r *rows) ColumnTypeScanType(i int) reflect.Type { return r.columnType(i).scanType() }
