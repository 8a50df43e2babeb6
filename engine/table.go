package engine

import (
	"github.com/tidemarkdb/tidemark/engine/row"
)

// Table is an immutable view of one table: of a snapshot, or of a transaction
// as of a call of View. Any number of goroutines may read it.
//
// Nothing reachable from a Table is ever changed. A writer works on trees of
// its own (IsoCopy) and changes in place only nodes that it made itself.
type Table struct {
	def     *TableDef
	rows    *rowTree
	src     *source      // of a keys table, whose rows tree has locators; else nil
	past    *pastTable   // of a history, which has rows and indexes once they are loaded; else nil
	indexes []*indexTree // beside def.Indexes
	sum     row.Sum      // of a durable table's rows, kept up to date by commits
	live    int64        // bytes that a compaction would write of them, see liveSize
}

func newTable(def *TableDef, o *objects) *Table {
	t := &Table{def: def, rows: new(rowTree), src: o.source(def), indexes: make([]*indexTree, len(def.Indexes))}
	for i := range t.indexes {
		t.indexes[i] = new(indexTree)
	}
	return t
}

// Def returns the table's definition.
func (t *Table) Def() *TableDef { return t.def }

// Len returns the number of rows.
func (t *Table) Len() int {
	if t.past != nil {
		return int(t.past.count.rows)
	}
	return t.rows.Len()
}

// Get returns the record of a row and whether it exists.
func (t *Table) Get(rowid int64) (row.Record, bool, error) {
	t, err := t.whole()
	if err != nil {
		return "", false, err
	}
	rec, ok := t.rows.Get(rowid)
	if t.src == nil || !ok {
		return rec, ok, nil
	}
	rec, err = t.src.row(t.def, rowid, rec)
	return rec, err == nil, err
}

// MaxRowid returns the largest row id, false when the table is empty, or is one of a
// branch point that cannot be read.
func (t *Table) MaxRowid() (int64, bool) {
	t, err := t.whole()
	if err != nil {
		return 0, false
	}
	rowid, _, ok := t.rows.Max()
	return rowid, ok
}

// Scan returns a scanner of the rows whose ids lie in [lo, hi], in the order
// of their ids or, with desc, the reverse.
func (t *Table) Scan(lo, hi int64, desc bool) *Scanner {
	s := new(Scanner)
	s.Rows(t, lo, hi, desc)
	return s
}

// IndexScan returns a scanner of the rows whose key k in index ix (a position
// in Def().Indexes) fulfils lo <= k < hi, in the order of (key, row id) or the
// reverse. Keys are concatenations of row.AppendKey; an empty hi is no bound.
func (t *Table) IndexScan(ix int, lo, hi string, desc bool) *Scanner {
	s := new(Scanner)
	s.Index(t, ix, lo, hi, desc)
	return s
}
