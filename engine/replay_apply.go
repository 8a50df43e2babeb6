package engine

import (
	"errors"
	"fmt"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// replay brings the frames of committed transactions into a root, one
// transaction after another. It has no undo: its caller has found out before
// which transactions are whole, and after an error the replay is of no use.
// Offsets are of the frame at hand. What does not fit the state so far is
// corruption: a *wal.CorruptError with the frame's offset.
//
// Rows belong to the replay across commits, and indexes are left alone until a
// root is asked for and then built from the rows: a commit costs no path copies,
// and an index costs one sort however often its keys changed.
type replay struct {
	lsn    LSN
	defs   *Schema
	tables []*replayTable // by slot of defs

	// Of the transaction at hand.
	records uint64
	altered bool    // it changed the schema
	lost    row.Sum // see end
	touched []*replayTable

	last    *replayTable // of the last row frame
	pos     *positions   // in the file at hand
	slot    uint32       // of that file in objects
	size    uint32       // of the frame at hand
	loc     []byte
	objects *objects
	scratch []byte
	follows bool // a state is made after every few commits, see replay_follow.go

	memory int64 // what rows take at least, see budget.go
	budget int64 // that it must not exceed, 0 for none
	source string

	// places, when set, knows the positions in the file that holds a row's last
	// record, if that file is still being replayed, and its name.
	places func(table uint64, rowid int64) (*positions, string)
}

// replayTable is a table being replayed.
type replayTable struct {
	def    *TableDef
	colIDs []uint32
	base   *Table     // what a root shows while nothing changed; its def is def
	keys   bool       // its rows are locators: see replay_keys.go
	rows   replayRows // if owned
	sum    row.Sum    // of the rows, and their number; of a keys table what commits claim
	count  int64
	live   int64          // see Table.live; of a keys table the second pass finds it
	owned  bool           // some rows are not base's
	moved  []int64        // rows that are not base's, while the replay follows a log, or not in segments; some twice
	segs   *tableSegments // that the indexes are made from, or nil
	thin   int            // as long as moved may get before it is sorted
	tracks bool           // rows that change now are not in segs as they are
	stale  bool           // base does not show rows

	weight  int64
	touched bool
	tally   tally // of the transaction at hand
}

func newReplay(base *root) *replay {
	r := &replay{lsn: base.lsn, defs: base.schema, tables: make([]*replayTable, len(base.tables)), pos: new(positions), objects: base.objects}
	for i, t := range base.tables {
		r.tables[i] = newReplayTable(t)
	}
	return r
}

func newReplayTable(t *Table) *replayTable {
	return &replayTable{def: t.def, colIDs: t.def.columnIDs(), base: t, keys: t.src != nil, sum: t.sum, count: int64(t.Len()), live: t.live}
}

func damaged(offset int64, format string, args ...any) error {
	return &wal.CorruptError{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

// put replays a row, new or changed.
func (r *replay) put(p wal.Put, offset int64) error {
	t, err := r.row(p.Table, p.Version, offset)
	if err != nil {
		return err
	}
	if n, _ := p.Rec.Columns(); n > len(t.def.Columns) {
		return damaged(offset, "row %d of table %q has %d columns", p.Rowid, t.def.Name, n)
	}
	if t.keys {
		r.setPlace(t, p.Rowid, rowPlace{kind: filed, slot: r.slot, off: offset, size: r.size})
		return nil
	}
	r.set(t, p.Rowid, p.Rec, blockAt(r.slot, offset))
	r.pos.record(p.Table, p.Rowid, offset)
	return nil
}

// delta replays changed columns of a row whose previous record is in the same
// file.
func (r *replay) delta(d wal.Delta, offset int64) error {
	t, err := r.row(d.Table, d.Version, offset)
	if err != nil {
		return err
	}
	old, found := t.rows.get(d.Rowid)
	if !found {
		return damaged(offset, "delta for row %d of table %q, which does not exist", d.Rowid, t.def.Name)
	}
	if t.keys {
		return r.deltaPlace(t, d, old, offset)
	}
	prev, known := r.pos.of(d.Table, d.Rowid)
	if !known {
		return damaged(offset, "delta for row %d of table %q, which has no record in this file", d.Rowid, t.def.Name)
	}
	if d.Prev != uint64(prev) {
		return damaged(offset, "delta for row %d of table %q names offset %d as its base, which is at %d", d.Rowid, t.def.Name, d.Prev, prev)
	}
	rec, err := foldDelta(t.def, old, d.Columns)
	if err != nil {
		return damaged(offset, "delta for row %d of table %q: %v", d.Rowid, t.def.Name, err)
	}
	r.set(t, d.Rowid, rec, noBlock)
	r.pos.record(d.Table, d.Rowid, offset)
	return nil
}

// foldDelta puts changed columns into a record.
func foldDelta(def *TableDef, old row.Record, changed []wal.DeltaColumn) (row.Record, error) {
	n, err := old.Columns()
	if err != nil {
		return "", err
	}
	if len(changed) == 0 {
		return "", errors.New("no column is changed")
	}
	if last := int(changed[len(changed)-1].Ordinal); last >= len(def.Columns) {
		return "", fmt.Errorf("column %d of %d", last, len(def.Columns))
	} else if last >= n {
		n = last + 1
	}
	vals := make([]row.Value, n)
	var dec row.Decoder
	dec.Reset(old)
	for i := range vals {
		vals[i] = dec.Column(i)
	}
	for _, c := range changed {
		vals[c.Ordinal] = c.Value
	}
	return row.Record(row.AppendRecord(nil, vals)), nil
}

// tombstone replays the end of a row.
func (r *replay) tombstone(d wal.Tombstone, offset int64) error {
	t, err := r.row(d.Table, d.Version, offset)
	if err != nil {
		return err
	}
	remove := r.removeRow
	if t.keys {
		remove = r.removePlace
	}
	if !remove(t, d.Rowid) {
		return damaged(offset, "tombstone of row %d of table %q, which does not exist", d.Rowid, t.def.Name)
	}
	return nil
}

// removeRow ends a row that is in memory, and reports whether there was one.
func (r *replay) removeRow(t *replayTable, rowid int64) bool {
	old, found := t.rows.remove(rowid)
	if !found {
		return false
	}
	t.move(rowid)
	t.tally.rows--
	t.tally.sum = t.tally.sum.Sub(r.sumOf(t, rowid, old))
	t.live -= liveSize(t.def, rowid, old)
	r.pos.forget(uint64(t.def.ID), rowid)
	return true
}

// row finds the table of a row frame and makes it ready to be changed.
func (r *replay) row(table, version uint64, offset int64) (*replayTable, error) {
	r.records++
	t := r.last
	if t == nil || uint64(t.def.ID) != table {
		slot, ok := r.defs.slot(TableID(table))
		if !ok {
			return nil, damaged(offset, "row of table %d, which does not exist", table)
		}
		t = r.tables[slot]
		r.last = t
	}
	if t.def.Version != version {
		return nil, damaged(offset, "row of table %q by definition %d, current is %d", t.def.Name, version, t.def.Version)
	}
	if !t.touched {
		if !t.def.Durable {
			return nil, damaged(offset, "row of table %q, which is volatile", t.def.Name)
		}
		if !t.owned {
			t.rows, t.owned = ownRows(t.base.rows), true
			t.rows.direct = r.follows
		}
		t.touched, t.stale = true, true
		r.touched = append(r.touched, t)
	}
	return t, nil
}

func (r *replay) set(t *replayTable, rowid int64, rec row.Record, from logBlock) {
	t.move(rowid)
	if old, found := t.rows.set(rowid, rec, from); found {
		t.tally.sum = t.tally.sum.Sub(r.sumOf(t, rowid, old))
		t.live -= liveSize(t.def, rowid, old)
	} else {
		t.tally.rows++
	}
	t.tally.sum = t.tally.sum.Add(r.sumOf(t, rowid, rec))
	t.live += liveSize(t.def, rowid, rec)
}

func (r *replay) sumOf(t *replayTable, rowid int64, rec row.Record) row.Sum {
	return row.RowSum(uint64(t.def.ID), rowid, t.colIDs, rec, t.def.RowidAlias, &r.scratch)
}

// part ends the part of a transaction that is in one shard: it holds the
// commit's claims against what was replayed since the part before.
func (r *replay) part(c wal.Commit, offset int64) error {
	if LSN(c.LSN) != r.lsn+1 {
		return damaged(offset, "commit %d follows commit %d", c.LSN, r.lsn)
	}
	if c.Records != r.records {
		return damaged(offset, "commit %d claims %d records, there are %d", c.LSN, c.Records, r.records)
	}
	if r.altered && r.defs.version != c.LSN {
		return damaged(offset, "commit %d makes schema version %d", c.LSN, r.defs.version)
	}
	for i, k := range c.Contributions {
		if i > 0 && k.Table <= c.Contributions[i-1].Table {
			return damaged(offset, "commit %d: contributions out of order", c.LSN)
		}
		slot, ok := r.defs.slot(TableID(k.Table))
		if !ok {
			return damaged(offset, "commit %d contributes to table %d, which does not exist", c.LSN, k.Table)
		}
		t := r.tables[slot]
		if t.keys {
			// The sum is a claim: it is held against the rows at the end.
			if !t.touched || t.tally.rows != k.Rows || k.Rows == 0 && k.Sum == (row.Sum{}) {
				return damaged(offset, "commit %d claims %d rows and sum %x for table %q, its records make %d",
					c.LSN, k.Rows, k.Sum, t.def.Name, t.tally.rows)
			}
			t.tally.sum = k.Sum
		} else if t.tally != (tally{rows: k.Rows, sum: k.Sum}) || t.tally == (tally{}) {
			return damaged(offset, "commit %d claims %d rows and sum %x for table %q, its records make %d and %x",
				c.LSN, k.Rows, k.Sum, t.def.Name, t.tally.rows, t.tally.sum)
		}
		t.sum = t.sum.Add(t.tally.sum)
		t.count += t.tally.rows
		t.tally = tally{}
	}
	for _, t := range r.touched {
		t.touched = false
		if slot, ok := r.defs.slot(t.def.ID); !ok || r.tables[slot] != t {
			continue // the transaction dropped it
		}
		if t.tally != (tally{}) {
			return damaged(offset, "commit %d has no contribution to table %q", c.LSN, t.def.Name)
		}
		r.weigh(t)
	}
	r.touched, r.records = r.touched[:0], 0
	return r.fit()
}

// end ends a transaction all of whose parts are replayed. It returns what the
// transaction took from the store's fingerprint beside its contributions: the
// sums of dropped tables end with them.
func (r *replay) end(lsn LSN) (lost row.Sum) {
	lost = r.lost
	r.lsn, r.altered, r.lost = lsn, false, row.Sum{}
	return lost
}

// totals are those of the state as of the last commit.
func (r *replay) totals() (t totals) {
	for _, table := range r.tables {
		if table.def.Durable {
			t.rows += table.count
			t.sum = t.sum.Add(table.sum)
		}
	}
	return t
}
