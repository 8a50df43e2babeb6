package engine

import (
	"errors"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A keys table is replayed in two passes. The first, frame by frame, notes of
// every row where its newest record is and how long the chain behind it; it
// checks that a delta names that record and that rows exist or not, and counts
// rows. No chain is followed. The second reads every row that is left once, for
// all indexes together, and holds the sum of the rows against what the commits
// claimed. The replay takes one locator per row, and reads as many records as
// there are frames and links of the last chains.

// setPlace notes the newest record of a row.
func (r *replay) setPlace(t *replayTable, rowid int64, p rowPlace) {
	t.move(rowid)
	r.loc = appendLocator(r.loc[:0], p)
	old, found := t.rows.set(rowid, row.Record(r.loc), noBlock)
	if !found {
		t.tally.rows++
	} else if t.segs != nil {
		t.segs.leave(old)
	}
}

// removePlace ends a row, and reports whether there was one.
func (r *replay) removePlace(t *replayTable, rowid int64) bool {
	old, found := t.rows.remove(rowid)
	if !found {
		return false
	}
	t.move(rowid)
	t.tally.rows--
	if t.segs != nil {
		t.segs.leave(old)
	}
	return true
}

// deltaPlace is delta for a row whose newest record is known.
func (r *replay) deltaPlace(t *replayTable, d wal.Delta, old row.Record, offset int64) error {
	was, err := parseLocator(string(old))
	if err != nil {
		return err
	}
	switch {
	case was.slot != r.slot:
		return damaged(offset, "delta for row %d of table %q, which has no record in this file", d.Rowid, t.def.Name)
	case d.Prev != uint64(was.off):
		return damaged(offset, "delta for row %d of table %q names offset %d as its base, which is at %d", d.Rowid, t.def.Name, d.Prev, was.off)
	case was.hops >= maxHops:
		return damaged(offset, "delta for row %d of table %q behind %d others", d.Rowid, t.def.Name, was.hops)
	}
	if err := new(columns).take(t.def, d.Columns); err != nil {
		return damaged(offset, "row %d of table %q: %v", d.Rowid, t.def.Name, err)
	}
	r.setPlace(t, d.Rowid, rowPlace{kind: filed, slot: r.slot, off: offset, size: r.size, hops: was.hops + 1})
	return nil
}

// secondPass completes a keys table: some of its indexes and the proof of its sum.
func (r *replay) secondPass(t *replayTable, n *Table, indexes []int) error {
	var sum row.Sum
	n.live = 0
	var equal error // two rows are, in a unique index
	err := n.buildIndexes(indexes, func(rowid int64, rec row.Record) {
		sum = sum.Add(r.sumOf(t, rowid, rec))
		n.live += liveSize(t.def, rowid, rec)
	}, func(ix *IndexDef, rows [2]int64) error {
		equal = r.twins(n, ix, rows)
		return equal
	})
	switch {
	case err != nil && equal == nil:
		return err // a row cannot be read
	case sum != t.sum:
		return damaged(0, "the commits claim sum %x for the %d rows of table %q, which add up to %x", t.sum, t.count, t.def.Name, sum)
	}
	return equal
}

// notMade says why there is no state after a replay: damage, in file if that is
// not known better, or a file that could not be read.
func notMade(file string, err error) error {
	var here *CorruptError
	var frame *wal.CorruptError
	if errors.As(err, &here) || errors.As(err, &frame) {
		return corruptIn(file, 0, err)
	}
	return err
}

// lastPlace returns where the newest record of a row of a keys table is.
func (r *replay) lastPlace(t *Table, rowid int64) (file string, offset int64, known bool) {
	loc, found := t.rows.Get(rowid)
	if !found {
		return "", 0, false
	}
	p, err := parseLocator(string(loc))
	if err != nil {
		return "", 0, false
	}
	ob, err := r.objects.at(p.slot)
	if err != nil {
		return "", 0, false
	}
	return ob.path, p.off, true
}
