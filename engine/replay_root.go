package engine

// root returns the state as of the last commit. Replay may go on after it.
func (r *replay) root() (*root, error) {
	out := &root{lsn: r.lsn, schema: r.defs, tables: make([]*Table, len(r.tables)), objects: r.objects}
	for i, t := range r.tables {
		if t.stale {
			if err := r.materialise(t); err != nil {
				return nil, err
			}
		}
		out.tables[i] = t.base
		out.live += t.base.live
	}
	out.weigh()
	return out, nil
}

func (r *replay) materialise(t *replayTable) error {
	rows, follows := t.base.rows, t.base.def == t.def && (!t.owned || t.rows.direct)
	if t.owned {
		// The tree goes to the root; the replay copies it if it goes on.
		rows = t.rows.give()
		t.rows, t.owned = replayRows{}, false
	}
	n := &Table{def: t.def, rows: rows, src: r.objects.source(t.def), indexes: make([]*indexTree, len(t.def.Indexes)), sum: t.sum, live: t.live}
	if follows {
		if err := r.follow(t, n); err != nil {
			return err
		}
	} else if err := r.complete(t, n); err != nil {
		return err
	}
	t.base, t.stale, t.moved, t.segs, t.tracks = n, false, nil, nil, false
	return nil
}

// complete makes the indexes of a table, of its segments as far as it has some and of
// its rows else. Rows of a keys table are all read for that, which proves their sum,
// unless segments spare it.
func (r *replay) complete(t *replayTable, n *Table) (err error) {
	cold := n.allIndexes()
	if t.segs != nil {
		if cold, err = t.segs.load(t, n); err != nil {
			return err
		}
	}
	switch {
	case t.keys && t.segs != nil && t.segs.primary && len(cold) == 0:
		n.live, err = t.segs.liveBytes(t, n)
		return err
	case t.keys:
		return r.secondPass(t, n, cold)
	}
	return n.buildIndexes(cold, nil, func(ix *IndexDef, rows [2]int64) error { return r.twins(n, ix, rows) })
}

// twins tells of two rows that are equal in a unique index: at the later one of
// their records, if it is known where that is.
func (r *replay) twins(t *Table, ix *IndexDef, rows [2]int64) error {
	def := t.def
	file, offset, known := "", int64(0), false
	for i, rowid := range rows {
		var name string
		var at int64
		var ok bool
		if t.src != nil {
			name, at, ok = r.lastPlace(t, rowid)
		} else {
			pos := r.pos
			if r.places != nil {
				pos, name = r.places(uint64(def.ID), rowid)
			}
			at, ok = pos.of(uint64(def.ID), rowid)
		}
		if i == 0 || ok && (!known || at > offset) {
			file, offset, known = name, at, ok
		}
	}
	err := damaged(offset, "rows %d and %d of table %q are equal in unique index %q", rows[1], rows[0], def.Name, ix.Name)
	if file == "" {
		return err
	}
	return corruptIn(file, offset, err)
}
