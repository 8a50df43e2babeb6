package engine

import (
	"strings"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// TxTable is a transaction's handle of one table: row operations without a
// look-up. It is valid while the transaction is open and its schema is the one
// it was made under; later, writes return an error.
type TxTable struct {
	tx   *txState
	seq  uint32 // position in tx.tables
	def  *TableDef
	base *Table // last published state, what View returns before the first write

	rows    *rowTree
	st      *staging // of a keys table, shared with the handles it replaces; else nil
	indexes []txIndex
	keys    keyMaker
	oldKey  []byte
	newKey  []byte

	// writable: the trees belong to the transaction. It is the only thing a
	// write checks; ended transactions and outdated handles clear it.
	writable    bool
	retired     bool // a schema change has put another handle in its place
	wasWritable bool // before it was retired
	dirty       bool // written since view was made
	view        *Table
	max         int64 // largest row id, if hasMax
	hasMax      bool

	// puts changes with every insert, update and undo in the table, so that
	// the answer of Conflict is known to hold still. (A delete makes no rival.)
	puts uint64

	weight int64 // what memory was when the transaction's estimate was made

	tally *tally // shared with the handles it replaces
	live  *int64 // what the transaction adds to Table.live; shared as well
}

// newTxTable makes a handle over a published table.
func newTxTable(t *txState, base *Table) *TxTable {
	h := &TxTable{tx: t, seq: uint32(len(t.tables)), def: base.def, base: base, rows: base.rows, tally: new(tally), live: new(int64)}
	if base.src != nil {
		h.st = newStaging(base)
	}
	h.keys.def = base.def
	h.indexes = make([]txIndex, len(base.indexes))
	for i := range h.indexes {
		h.indexes[i].def, h.indexes[i].tree = base.def.Indexes[i], base.indexes[i]
	}
	t.tables = append(t.tables, h)
	return h
}

// Def returns the table's definition.
func (h *TxTable) Def() *TableDef { return h.def }

// Len returns the number of rows as of now.
func (h *TxTable) Len() int { return h.rows.Len() }

// Get reads a row as of now.
func (h *TxTable) Get(rowid int64) (row.Record, bool, error) {
	rec, ok := h.rows.Get(rowid)
	if h.st == nil || !ok {
		return rec, ok, nil
	}
	rec, _, err := h.st.get(h.def, rowid, rec)
	return rec, err == nil, err
}

// MaxRowid returns the largest row id as of now, false when the table is empty.
func (h *TxTable) MaxRowid() (int64, bool) {
	if h.writable {
		return h.max, h.hasMax
	}
	rowid, _, ok := h.rows.Max()
	return rowid, ok
}

// own takes the trees over before the first write.
func (h *TxTable) own() error {
	if h.tx.done {
		return ErrTxDone
	}
	if h.retired {
		return ErrStaleHandle
	}
	h.rows = h.rows.IsoCopy()
	for i := range h.indexes {
		h.indexes[i].tree = h.indexes[i].tree.IsoCopy()
	}
	h.writable = true
	// Until now the table counted as its base. What a handle that is undone had
	// staged, and a view may still see, is the table's from here on.
	h.weight = h.base.ResidentBytes()
	h.weigh()
	h.findMax()
	return nil
}

func (h *TxTable) findMax() { h.max, _, h.hasMax = h.rows.Max() }

// Insert adds a row. The record must be valid, with the table's affinities
// applied, and the caller has asked Conflict about every unique index; both
// the row id and the unique indexes are checked again all the same, since a
// state that breaks them could not be replayed.
func (h *TxTable) Insert(rowid int64, rec row.Record) error {
	if len(rec) > maxRecord {
		return ErrTooLarge
	}
	if !h.writable {
		if err := h.own(); err != nil {
			return err
		}
	}
	if len(h.indexes) > 0 {
		if err := h.checkUnique(rec, rowid, rowid); err != nil {
			return err
		}
	}
	if full, tight := h.Full(), h.tight(len(rec)); full || tight {
		if _, taken := h.rows.Get(rowid); taken {
			return ErrExists
		}
		if full {
			return &LimitError{h.def, h.rows.Len(), false}
		}
		if err := h.fit(rowid, rec, ""); err != nil {
			return err
		}
	}
	stored := h.stored(rec)
	if !h.hasMax || rowid > h.max {
		h.rows.Set(rowid, stored)
		h.max, h.hasMax = rowid, true
	} else if prev, taken := h.rows.Set(rowid, stored); taken {
		h.rows.Set(rowid, prev)
		if h.st != nil {
			h.st.unstage()
		}
		return ErrExists
	}
	if h.st != nil {
		h.st.done(opInsert, rowPlace{})
	}
	for i := range h.indexes {
		h.addEntry(&h.indexes[i], rec, rowid)
	}
	h.log(op{kind: opInsert, table: h.seq, rowid: rowid, new: rec})
	h.puts++
	h.weigh()
	return nil
}

// Update replaces the record of a row, under the same terms as Insert.
func (h *TxTable) Update(rowid int64, rec row.Record) error {
	if len(rec) > maxRecord {
		return ErrTooLarge
	}
	if !h.writable {
		if err := h.own(); err != nil {
			return err
		}
	}
	if len(h.indexes) > 0 {
		if err := h.checkUnique(rec, rowid, rowid); err != nil {
			return err
		}
	}
	if h.tight(len(rec)) {
		if was, found, err := h.Get(rowid); err == nil && found {
			if err := h.fit(rowid, rec, was); err != nil {
				return err
			}
		}
	}
	old, found := h.rows.Set(rowid, h.stored(rec))
	if !found {
		h.rows.Delete(rowid)
		if h.st != nil {
			h.st.unstage()
		}
		return ErrNotFound
	}
	if h.st != nil {
		was := old
		var at rowPlace
		var err error
		if old, at, err = h.st.get(h.def, rowid, was); err != nil {
			h.rows.Set(rowid, was)
			h.st.unstage()
			return err
		}
		h.st.done(opUpdate, at)
	}
	for i := range h.indexes {
		h.moveEntry(&h.indexes[i], old, rec, rowid)
	}
	if h.st == nil && len(old) <= smallRecord {
		// A leaf that is updated row by row is written anew again and again: the
		// old record would keep all of its former bytes.
		old = row.Record(strings.Clone(string(old)))
	}
	h.log(op{kind: opUpdate, table: h.seq, rowid: rowid, old: old, new: rec})
	h.puts++
	h.weigh()
	return nil
}

// stored returns what the tree stores for a record.
func (h *TxTable) stored(rec row.Record) row.Record {
	if h.st != nil {
		return h.st.stage(rec)
	}
	return rec
}

// maxRecord is the longest record; a variable for tests.
var maxRecord = row.MaxLength

// smallRecord is up to where the old record of an update is copied.
const smallRecord = 1 << 10

// Delete removes a row.
func (h *TxTable) Delete(rowid int64) error {
	if !h.writable {
		if err := h.own(); err != nil {
			return err
		}
	}
	old, found := h.rows.Delete(rowid)
	if !found {
		return ErrNotFound
	}
	if h.st != nil {
		was := old
		var at rowPlace
		var err error
		if old, at, err = h.st.get(h.def, rowid, was); err != nil {
			h.rows.Set(rowid, was)
			return err
		}
		h.st.done(opDelete, at)
	}
	for i := range h.indexes {
		h.dropEntry(&h.indexes[i], old, rowid)
	}
	if rowid == h.max {
		h.findMax()
	}
	h.log(op{kind: opDelete, table: h.seq, rowid: rowid, old: old})
	h.weigh()
	return nil
}

func (h *TxTable) log(o op) {
	h.dirty = true
	h.tx.stamp++
	h.tx.ops.append(o)
}

// freeze returns the state as of now. After it no node belongs to the
// transaction, so the next writes copy their paths.
func (h *TxTable) freeze() *Table {
	if !h.writable {
		return h.base
	}
	if h.view == nil || h.dirty {
		h.view = &Table{def: h.def, rows: h.rows.IsoCopy(), src: h.source(), indexes: make([]*indexTree, len(h.indexes)), sum: h.base.sum, live: h.base.live}
		for i := range h.indexes {
			h.view.indexes[i] = h.indexes[i].tree.IsoCopy()
		}
		h.dirty = false
	}
	return h.view
}

// source is that of a view as of now. As long as the handle wrote nothing, no
// staged row can be seen through it, although undone ones may be there.
func (h *TxTable) source() *source {
	if h.st == nil || !h.writable {
		return h.base.src
	}
	return h.st.view()
}

// publish hands the trees over to the new root.
func (h *TxTable) publish() *Table {
	if !h.writable {
		return h.base
	}
	t := &Table{def: h.def, rows: h.rows, src: h.base.src.published(), indexes: make([]*indexTree, len(h.indexes)), sum: h.base.sum.Add(h.tally.sum), live: h.base.live + *h.live}
	for i := range h.indexes {
		t.indexes[i] = h.indexes[i].tree
	}
	return t
}
