package engine

import "github.com/tidemarkdb/tidemark/engine/wal"

// begin lets the replay start from the schema of a base, before any row.
func (r *replay) begin(s *Schema) {
	r.defs, r.tables, r.last = s, make([]*replayTable, len(s.tables)), nil
	for i, def := range s.tables {
		r.tables[i] = newReplayTable(newTable(def, r.objects))
	}
}

// baseRow replays a row of a base. Rows of a table come in the order of their ids,
// which leaves no room for two of one row.
func (r *replay) baseRow(p wal.Put, offset int64) error {
	t, err := r.row(p.Table, p.Version, offset)
	if err != nil {
		return err
	}
	if t.rows.hasMax && p.Rowid <= t.rows.max {
		return damaged(offset, "row %d of table %q behind row %d", p.Rowid, t.def.Name, t.rows.max)
	}
	return r.put(p, offset)
}

// baseEnd ends a file of a base: what its footer says of each table is what was
// replayed of it.
func (r *replay) baseEnd(m *wal.Seal) error {
	if len(m.Records) != len(m.Contributions) {
		return damaged(0, "the footer has records of %d tables and contributions to %d", len(m.Records), len(m.Contributions))
	}
	for i, k := range m.Contributions {
		if m.Records[i].Table != k.Table || int64(m.Records[i].Count) != k.Rows || i > 0 && k.Table <= m.Contributions[i-1].Table {
			return damaged(0, "the footer has %v and %v", m.Records, m.Contributions)
		}
		slot, ok := r.defs.slot(TableID(k.Table))
		if !ok {
			return damaged(0, "the footer names table %d, which does not exist", k.Table)
		}
		t := r.tables[slot]
		if t.keys {
			if t.tally.rows != k.Rows {
				return damaged(0, "the footer claims %d rows for table %q, there are %d", k.Rows, t.def.Name, t.tally.rows)
			}
			t.tally.sum = k.Sum // held against the rows in the second pass
		} else if t.tally != (tally{rows: k.Rows, sum: k.Sum}) {
			return damaged(0, "the footer claims %d rows and sum %x for table %q, there are %d and %x",
				k.Rows, k.Sum, t.def.Name, t.tally.rows, t.tally.sum)
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
