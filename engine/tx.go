package engine

import (
	"fmt"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// idAllocator gives out ids that were never used in this store.
type idAllocator interface {
	NextID() (uint64, error)
}

// txState is the in-memory half of a write transaction: its view of schema
// and rows, and the list of what it did. One goroutine uses it at a time, the
// holder of the write lock. It knows neither the lock nor the log file.
//
// Tables that were not written are those of the base root. The first write to
// a table copies its trees in O(1); from then on the transaction changes nodes
// of its own in place and copies the others on the way. The ops list is the
// undo log and the list the frames are made of.
type txState struct {
	base    *root
	lsn     LSN // that the transaction gets if it commits
	ids     idAllocator
	done    bool
	earlier bool // its user read the base before it began

	unlogged bool // nothing of it goes to a log, see memory.go

	schema *Schema
	slots  []txSlot // by slot of schema

	ops    opList
	ddl    []schemaOp // what ops of kind opSchema refer to, in the same order
	tables []*TxTable // every handle made, by TxTable.seq

	dropped uint64 // rows that Drop removed

	ready *PreparedIndex // that UseIndex gave it, or nil

	violations Violations

	memory int64              // estimate of what the tables take, own writes included
	budget int64              // that it must not exceed, 0 for none
	pasts  *histories         // which take a part of it, or nil
	told   func(*MemoryError) // is called with the error of a write that would

	// stamp changes with every write and every undo, so that work derived
	// from the ops list can tell whether it is still valid.
	stamp   uint64
	tallied uint64 // stamp + 1 of the last tally
}

// txSlot is a table as the transaction sees it: untouched, or with a handle.
type txSlot struct {
	base *Table
	h    *TxTable // nil until the transaction needs one
	read bool     // rows were looked at, or counted
}

func newTx(base *root, lsn LSN, ids idAllocator) *txState {
	t := &txState{base: base, lsn: lsn, ids: ids, schema: base.schema, memory: base.memory}
	t.slots = make([]txSlot, len(base.tables))
	for i, table := range base.tables {
		t.slots[i].base = table
	}
	return t
}

// Base returns the LSN of the state the transaction started from.
func (t *txState) Base() LSN { return t.base.lsn }

// From returns the state the transaction started from.
func (t *txState) From() *Snapshot { return t.base.snapshot() }

// ReadEarlier says that rows of the state it started from were read before it
// began, and may be part of what it writes.
func (t *txState) ReadEarlier() { t.earlier = true }

// Schema returns the schema as the transaction sees it.
func (t *txState) Schema() *Schema { return t.schema }

// Changed reports whether there is anything to commit: a write that was not
// rolled back.
func (t *txState) Changed() bool { return t.ops.len() > 0 }

func (t *txState) changed() bool { return t.ops.len() > 0 }

// writeStamp is equal in two calls exactly when nothing was written or rolled
// back between them.
func (t *txState) writeStamp() uint64 { return t.stamp }

// Handle returns the handle of a table, or nil when there is no such table.
// It stays valid until the schema changes: while Schema returns the same
// pointer, Handle returns the same handle.
func (t *txState) Handle(id TableID) *TxTable {
	slot, ok := t.schema.slot(id)
	if !ok || t.done {
		return nil
	}
	s := &t.slots[slot]
	s.read = true
	if s.h == nil {
		s.h = newTxTable(t, s.base)
	}
	return s.h
}

// View returns a table as of now, own writes included, or nil when there is no
// such table. Later writes do not show in it. The first write to a table after
// a View copies a path of its tree; View itself costs nothing while the table
// was not written since the last one.
func (t *txState) View(id TableID) *Table {
	slot, ok := t.schema.slot(id)
	if !ok {
		return nil
	}
	t.slots[slot].read = true
	if h := t.slots[slot].h; h != nil {
		return h.freeze()
	}
	return t.slots[slot].base
}

// Get reads a row as of now, without the cost of a View.
func (t *txState) Get(id TableID, rowid int64) (row.Record, bool, error) {
	slot, ok := t.schema.slot(id)
	if !ok {
		return "", false, fmt.Errorf("%w: table %d", ErrNotFound, id)
	}
	t.slots[slot].read = true
	if h := t.slots[slot].h; h != nil {
		return h.Get(rowid)
	}
	return t.slots[slot].base.Get(rowid)
}

// Len returns the number of rows of a table as of now, 0 when there is no such
// table.
func (t *txState) Len(id TableID) int {
	rows, err := t.rows(id)
	if err != nil {
		return 0
	}
	return rows.Len()
}

// MaxRowid returns the largest row id of a table as of now.
func (t *txState) MaxRowid(id TableID) (int64, bool) {
	rows, err := t.rows(id)
	if err != nil {
		return 0, false
	}
	rowid, _, ok := rows.Max()
	return rowid, ok
}

func (t *txState) rows(id TableID) (*rowTree, error) {
	slot, ok := t.schema.slot(id)
	if !ok {
		return nil, fmt.Errorf("%w: table %d", ErrNotFound, id)
	}
	t.slots[slot].read = true
	if h := t.slots[slot].h; h != nil {
		return h.rows, nil
	}
	return t.slots[slot].base.rows, nil
}

// finish returns the state the transaction leaves and ends it: its trees are
// published from here on, and every handle refuses to write.
func (t *txState) finish() *root {
	t.tally()
	t.fileRows()
	r := &root{lsn: t.lsn, schema: t.schema, tables: make([]*Table, len(t.slots)), objects: t.base.objects, memory: t.memory, content: new(content)}
	for i := range t.slots {
		if h := t.slots[i].h; h != nil {
			r.tables[i] = h.publish()
			if h.writable {
				r.memory += r.tables[i].ResidentBytes() - h.weight
			}
		} else {
			r.tables[i] = t.slots[i].base
		}
		r.live += r.tables[i].live
	}
	t.discard()
	return r
}

// discard ends the transaction without a result.
func (t *txState) discard() {
	t.done = true
	for _, h := range t.tables {
		h.writable = false
	}
	t.ops, t.ddl = opList{}, nil
}
