package engine

// begin lets the replay start from the schema of a base, before any row.
func (r *replay) begin(s *Schema) {
	r.defs, r.tables, r.last = s, make([]*replayTable, len(s.tables)), nil
	for i, def := range s.tables {
		r.tables[i] = newReplayTable(newTable(def, r.objects))
	}
}

// baseBatch replays rows of a base: of rows that are not superseded, no two are of one.
// They are proven.
func (r *replay) baseBatch(b *baseBatch) error {
	if len(b.rows) == 0 {
		return nil
	}
	first := &b.rows[0]
	t, err := r.row(b.table, b.version, first.offset)
	if err != nil {
		return err
	}
	r.records += uint64(len(b.rows) - 1)
	if b.part.isSkipped() {
		return damaged(first.offset, "row %d of table %q, which its index segments do not have", first.rowid, t.def.Name)
	}
	t.tracks = b.part != nil && t.segs != nil && (!b.part.covered || t.segs.primary)
	for i := range b.rows {
		x := &b.rows[i]
		rec := b.rec(x)
		if t.keys {
			r.loc = appendLocator(r.loc[:0], rowPlace{kind: filed, slot: r.slot, off: x.offset, size: x.size})
			rec = r.loc
		}
		t.move(x.rowid)
		before := t.tally.rows
		if !t.rows.load(x.rowid, rec) {
			t.tally.rows++
		}
		if t.tally.rows == before {
			return damaged(x.offset, "row %d of table %q is in the base twice", x.rowid, t.def.Name)
		}
	}
	t.tally.sum = t.tally.sum.Add(b.sum)
	t.live += b.live
	return nil
}

// baseEnd ends a file of a base: what the catalog says of the rows that are not
// superseded is what was replayed, and the footer vouches for a fragment of which none
// is.
func (r *replay) baseEnd(f *baseLog, loaded *segmentLoads) error {
	m := f.seal
	if len(m.Records) != len(m.Contributions) {
		return damaged(0, "the footer has records of %d tables and contributions to %d", len(m.Records), len(m.Contributions))
	}
	for i, k := range m.Contributions {
		if m.Records[i].Table != k.Table || int64(m.Records[i].Count) != k.Rows || i > 0 && k.Table <= m.Contributions[i-1].Table {
			return damaged(0, "the footer has %v and %v", m.Records, m.Contributions)
		}
		live, err := liveIn(&f.want, TableID(k.Table), tally{k.Rows, k.Sum})
		if err != nil {
			return damaged(0, "%v", err)
		}
		at := fragmentOf(&f.want, TableID(k.Table))
		x := &f.known.fragments[at]
		x.sum, x.liveSum, x.summed = k.Sum, live.sum, true
		slot, ok := r.defs.slot(TableID(k.Table))
		if !ok {
			if live.rows > 0 {
				return damaged(0, "the footer names table %d, which does not exist", k.Table)
			}
			continue
		}
		t := r.tables[slot]
		if loaded != nil && loaded.fragmentAt(f, at).isSkipped() {
			t.sum = t.sum.Add(live.sum) // its rows are counted
			continue
		}
		if t.keys {
			if t.tally.rows != live.rows {
				return damaged(0, "the footer claims %d rows for table %q, there are %d", live.rows, t.def.Name, t.tally.rows)
			}
			t.tally.sum = live.sum // held against the rows in the second pass
		} else if t.tally != live {
			return damaged(0, "the footer claims %d rows and sum %x for table %q, there are %d and %x",
				live.rows, live.sum, t.def.Name, t.tally.rows, t.tally.sum)
		}
		t.sum = t.sum.Add(t.tally.sum)
		t.count += t.tally.rows
		t.tally = tally{}
	}
	for _, t := range r.touched {
		t.touched = false
		if t.tally != (tally{}) {
			return damaged(0, "the footer does not name table %q", t.def.Name)
		}
		r.weigh(t)
	}
	r.touched, r.records = r.touched[:0], 0
	return r.fit()
}
