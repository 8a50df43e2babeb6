package engine

// root returns the state as of the last commit. Replay may go on after it.
func (r *replay) root() (*root, error) {
	out := &root{lsn: r.lsn, schema: r.defs, tables: make([]*Table, len(r.tables))}
	for i, t := range r.tables {
		if t.stale {
			if err := r.materialise(t); err != nil {
				return nil, err
			}
		}
		out.tables[i] = t.base
	}
	return out, nil
}

func (r *replay) materialise(t *replayTable) error {
	rows := t.base.rows
	if t.owned {
		// The tree goes to the root; the replay copies it if it goes on.
		rows = t.rows.give()
		t.rows, t.owned = replayRows{}, false
	}
	n := &Table{def: t.def, rows: rows, indexes: make([]*indexTree, len(t.def.Indexes)), sum: t.sum}
	for i, ix := range t.def.Indexes {
		tree, twins, dup := buildIndex(t.def, ix, rows)
		if dup {
			return r.twins(t.def, ix, twins)
		}
		n.indexes[i] = tree
	}
	t.base, t.stale = n, false
	return nil
}

// twins tells of two rows that are equal in a unique index: at the later one of
// their records, if it is known where that is.
func (r *replay) twins(def *TableDef, ix *IndexDef, rows [2]int64) error {
	file, offset, known := "", int64(0), false
	for i, rowid := range rows {
		pos, name := r.pos, ""
		if r.places != nil {
			pos, name = r.places(uint64(def.ID), rowid)
		}
		if at, ok := pos.of(uint64(def.ID), rowid); i == 0 || ok && (!known || at > offset) {
			file, offset, known = name, at, ok
		}
	}
	err := damaged(offset, "rows %d and %d of table %q are equal in unique index %q", rows[1], rows[0], def.Name, ix.Name)
	if file == "" {
		return err
	}
	return corruptIn(file, offset, err)
}
