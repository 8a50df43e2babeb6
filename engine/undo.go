package engine

import "github.com/tidemarkdb/tidemark/engine/row"

type opKind uint8

const (
	opInsert opKind = iota
	opUpdate
	opDelete
	opSchema
	opDrop // an opDelete that made room, see TxTable.Drop
)

// op is one step of a transaction, in the form that both undoes and logs it.
// For opSchema the step is the entry of txState.ddl at position rowid.
type op struct {
	kind     opKind
	table    uint32 // TxTable.seq
	rowid    int64
	old, new row.Record
}

// schemaOp is a schema change as it goes to the log, and the state before it.
// Handles of changed tables share their trees with the handles they replace:
// when the row operations after the change are undone, these trees hold again
// what they held when the old handles were put aside.
type schemaOp struct {
	code   uint8
	body   string
	schema *Schema
	slots  []txSlot
}

// Mark is a position in what a transaction did, with the violations there were.
type Mark struct {
	ops        int
	violations Violations
}

// Mark returns the present position. It costs nothing, and needs no release.
func (t *txState) Mark() Mark { return Mark{t.ops.len(), t.violations} }

// RollbackTo undoes everything after a mark, schema changes included. Marks
// taken after it are void; the mark itself can be used again.
func (t *txState) RollbackTo(m Mark) {
	if t.done || m.ops > t.ops.len() {
		return
	}
	t.violations = m.violations
	if m.ops == t.ops.len() {
		return
	}
	changes := len(t.ddl)
	for t.ops.len() > m.ops {
		t.undoLast()
	}
	if len(t.ddl) != changes {
		t.weighAll()
		return
	}
	for i := range t.slots {
		if h := t.slots[i].h; h != nil && h.writable {
			h.weigh()
		}
	}
}

// undoLast undoes the last operation.
func (t *txState) undoLast() {
	if o := t.ops.last(); o.kind == opSchema {
		t.undoSchema()
	} else {
		t.tables[o.table].undo(o)
	}
	t.ops.pop()
	t.stamp++
}

func (h *TxTable) undo(o *op) {
	before := o.old // what the tree has of the row again
	if h.st != nil {
		if was := h.st.undone(); o.kind != opInsert {
			before = h.st.locator(was)
		}
	}
	switch o.kind {
	case opInsert:
		h.rows.Delete(o.rowid)
		for i := range h.indexes {
			h.dropEntry(&h.indexes[i], o.new, o.rowid)
		}
		if o.rowid == h.max {
			h.findMax()
		}
	case opUpdate:
		h.rows.Set(o.rowid, before)
		for i := range h.indexes {
			h.moveEntry(&h.indexes[i], o.new, o.old, o.rowid)
		}
	case opDelete, opDrop:
		if o.kind == opDrop {
			h.tx.dropped--
		}
		h.rows.Set(o.rowid, before)
		for i := range h.indexes {
			h.restoreEntry(&h.indexes[i], o.old, o.rowid)
		}
		if !h.hasMax || o.rowid > h.max {
			h.max, h.hasMax = o.rowid, true
		}
	}
	h.dirty = true
	h.puts++
}

// restoreEntry is addEntry without a look at what Conflict left.
func (h *TxTable) restoreEntry(x *txIndex, rec row.Record, rowid int64) {
	if h.newKey, _ = h.keys.append(h.newKey[:0], x.def, rec, rowid); len(h.newKey) > 0 {
		x.tree.Set(h.newKey)
	}
}

// undoSchema puts the schema and the handles before the last change back. A
// handle made after the change is lost: what it wrote is undone by now, so its
// table is as the older slot has it.
func (t *txState) undoSchema() {
	last := len(t.ddl) - 1
	d := &t.ddl[last]
	for _, s := range t.slots {
		if s.h != nil {
			s.h.retire()
		}
	}
	t.schema, t.slots = d.schema, d.slots
	for _, s := range t.slots {
		if s.h != nil {
			s.h.revive()
		}
	}
	*d = schemaOp{}
	t.ddl = t.ddl[:last]
}

// retire makes a handle refuse to write.
func (h *TxTable) retire() {
	if !h.retired {
		h.retired, h.wasWritable, h.writable = true, h.writable, false
	}
}

// revive takes a retire back. Other handles may have worked on the same trees
// in between, but all they did is undone: what the handle knew of the trees
// when it was retired holds again.
func (h *TxTable) revive() { h.retired, h.writable = false, h.wasWritable }
