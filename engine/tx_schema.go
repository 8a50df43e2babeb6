package engine

import "fmt"

// Apply makes a schema change. Handles made before it are outdated, also those
// of tables it does not concern; views stay as they are.
func (t *txState) Apply(c Change) error {
	if t.done {
		return ErrTxDone
	}
	c, err := t.assignIDs(c)
	if err != nil {
		return err
	}
	next, err := c.alter(t.schema, uint64(t.lsn))
	if err != nil {
		return err
	}
	code, body, err := encodeChange(c, uint64(t.lsn))
	if err != nil {
		return err
	}
	slots := make([]txSlot, len(next.tables))
	for i, def := range next.tables {
		if slots[i], err = t.carry(def); err != nil {
			return err
		}
	}
	was, before := t.slots, t.memory
	t.slots = slots
	if t.weighAll(); t.budget > 0 && t.memory > before && !t.fits(0) {
		// A new index is too much; the table it is of is where the row would be.
		err := t.noMemory(changedTable(t.schema, next), t.memory)
		t.slots = was
		t.weighAll()
		return err
	}
	t.slots = was
	t.ops.append(op{kind: opSchema, rowid: int64(len(t.ddl))})
	t.ddl = append(t.ddl, schemaOp{code: code, body: string(body), schema: t.schema, slots: t.slots})
	t.stamp++
	for _, s := range t.slots {
		if s.h == nil {
			continue
		}
		if slot, ok := next.slot(s.h.def.ID); !ok || slots[slot].h != s.h {
			s.h.retire()
		}
	}
	t.schema, t.slots = next, slots
	return nil
}

// changedTable returns the table that differs between two schemas.
func changedTable(from, to *Schema) *TableDef {
	for _, def := range to.tables {
		if from.Table(def.ID) != def {
			return def
		}
	}
	return nil
}

// carry returns the slot of a table under the next schema. It changes nothing
// of the present one.
func (t *txState) carry(def *TableDef) (txSlot, error) {
	slot, ok := t.schema.slot(def.ID)
	if !ok {
		return txSlot{base: newTable(def, t.base.objects)}, nil
	}
	was := t.slots[slot]
	if t.schema.tables[slot] == def {
		return was, nil
	}
	if was.h == nil {
		base, err := was.base.redefine(def, t.ready)
		return txSlot{base: base}, err
	}
	// The new handle works on the same trees as the old one, whether these are
	// already the transaction's own or still the base's.
	now := was.h.current()
	now, err := now.redefine(def, t.ready)
	if err != nil {
		return txSlot{}, err
	}
	h := newTxTable(t, now)
	h.tally, h.live, h.st = was.h.tally, was.h.live, was.h.st
	if h.writable = was.h.writable; h.writable {
		h.dirty = true
		h.findMax()
	}
	return txSlot{base: now, h: h}, nil
}

// current puts a handle's trees together without copying them.
func (h *TxTable) current() *Table {
	t := &Table{def: h.def, rows: h.rows, src: h.source(), indexes: make([]*indexTree, len(h.indexes)), sum: h.base.sum, live: h.base.live}
	for i := range h.indexes {
		t.indexes[i] = h.indexes[i].tree
	}
	return t
}

// redefine returns the table under another definition: same rows, indexes
// that both have, and new ones built, but for one that is ready.
func (t *Table) redefine(def *TableDef, ready *PreparedIndex) (*Table, error) {
	n := &Table{def: def, rows: t.rows, src: t.src, indexes: make([]*indexTree, len(def.Indexes)), sum: t.sum, live: t.live}
	var missing []int
	for i, ix := range def.Indexes {
		if _, pos := t.def.Index(ix.ID); pos >= 0 {
			n.indexes[i] = t.indexes[pos]
			continue
		}
		var err error
		if n.indexes[i], err = ready.take(t, def, ix); err != nil {
			return nil, err
		}
		if n.indexes[i] == nil {
			missing = append(missing, i)
		}
	}
	err := n.buildIndexes(missing, nil, func(ix *IndexDef, _ [2]int64) error { return newUniqueError(def, ix) })
	if err != nil {
		return nil, err
	}
	return n, nil
}

// assignIDs replaces zero ids of tables and indexes by new ones, in copies.
func (t *txState) assignIDs(c Change) (Change, error) {
	switch c := c.(type) {
	case CreateTable:
		if c.Def == nil {
			return nil, fmt.Errorf("%w: no definition", ErrInvalidChange)
		}
		def, err := t.assignTableIDs(c.Def)
		return CreateTable{Def: def}, err
	case ReplaceTable:
		if c.Def == nil {
			return nil, fmt.Errorf("%w: no definition", ErrInvalidChange)
		}
		def, err := t.assignTableIDs(c.Def)
		if err != nil {
			return nil, err
		}
		old := t.schema.Table(def.ID)
		return ReplaceTable{Def: def, grows: old != nil && len(def.Columns) > len(old.Columns)}, nil
	case CreateObject:
		c.onTable = t.schema.onTable(&c.Object)
		return c, nil
	case CreateIndex:
		if c.Index == nil {
			return nil, fmt.Errorf("%w: no definition", ErrInvalidChange)
		}
		ix, err := t.assignIndexID(c.Index)
		return CreateIndex{Table: c.Table, Index: ix}, err
	case nil:
		return nil, fmt.Errorf("%w: no change", ErrInvalidChange)
	}
	return c, nil
}

func (t *txState) assignTableIDs(d *TableDef) (*TableDef, error) {
	def := *d
	if def.ID == 0 {
		id, err := t.ids.NextID()
		if err != nil {
			return nil, err
		}
		def.ID = TableID(id)
	}
	def.Indexes = make([]*IndexDef, len(d.Indexes))
	for i, ix := range d.Indexes {
		var err error
		if def.Indexes[i], err = t.assignIndexID(ix); err != nil {
			return nil, err
		}
	}
	return &def, nil
}

func (t *txState) assignIndexID(ix *IndexDef) (*IndexDef, error) {
	def := *ix
	if def.ID == 0 {
		id, err := t.ids.NextID()
		if err != nil {
			return nil, err
		}
		def.ID = id
	}
	return &def, nil
}
