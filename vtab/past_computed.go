package vtab

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// A row of an old state may lack a generated column that the table has got since.
// It is computed when somebody reads it, from what the row has of the others.

// pastRow is a row of an old state with all its columns.
type pastRow struct {
	rowid int64
	rec   row.Record
	vals  []row.Value // by ordinal; empty until a column of the row is computed
	done  []bool      // by ordinal: computed
}

// lacks reports whether column k of the table is a generated one that rows of the
// old state do not have.
func (p *past) lacks(k int) bool {
	return p.columns != nil && p.columns[k] < 0 && generated(&p.def.Columns[k])
}

// computePast computes column k of the current row; q.failed says that it cannot
// be. Others are computed only where it names them: they may fail.
func (q *cursor) computePast(k int) row.Value {
	e, r := &q.buf[q.i], &q.then
	if len(r.vals) == 0 || r.rowid != e.Rowid || !sameRecord(r.rec, e.Rec) {
		r.rowid, r.rec, r.vals, r.done = e.Rowid, e.Rec, r.vals[:0], r.done[:0]
		for i := range q.past.def.Columns {
			v := q.past.column(&q.dec, i)
			if i == q.alias {
				v = row.IntValue(e.Rowid)
			}
			r.vals, r.done = append(r.vals, v), append(r.done, !q.past.lacks(i))
		}
	}
	if q.failed = q.computeColumn(k); q.failed != nil {
		r.vals = r.vals[:0]
		return row.Value{}
	}
	return r.vals[k]
}

func (q *cursor) computeColumn(k int) error {
	r := &q.then
	if r.done[k] {
		return nil
	}
	r.done[k] = true // before what it names, which may be itself
	needs := q.t.info.Expressions[k].Columns
	for _, i := range needs {
		if err := q.computeColumn(i); err != nil {
			return err
		}
	}
	return q.t.evaluate(q.t.single(k), r.rowid, r.vals, lib.NC_GenCol)
}

// single is the level of one column.
func (t *table) single(k int) *level {
	l := t.computed.singles[k]
	if l == nil {
		if t.computed.singles == nil {
			t.computed.singles = map[int]*level{}
		}
		l = &level{[]int{k}, computeSelect(t.info, []int{k})}
		t.computed.singles[k] = l
	}
	return l
}

func sameRecord(a, b row.Record) bool {
	return len(a) == len(b) && unsafe.StringData(string(a)) == unsafe.StringData(string(b))
}
