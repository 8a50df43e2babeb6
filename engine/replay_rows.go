package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/tree"
)

// replayRows are the rows of a table while they are replayed. Rows that come in
// the order of their ids go to the tree at once. The others are kept beside it,
// as they come, and merged into it when they have become as much as the tree
// holds: a tree that is written anew now and then costs a fraction of one that
// is changed row by row, and all of it stays within twice what the rows take.
type replayRows struct {
	tree   *rowTree
	bytes  int   // of records
	max    int64 // no row has a larger id, if hasMax
	hasMax bool

	late  []tree.Change    // no two of one row
	at    map[int64]uint32 // their positions
	block *strings.Builder // of their records
	waste int              // what a merge would save, or move
}

// mergeLate is how much is kept beside a small tree, in bytes; a variable for
// tests. lateSize is what one row takes there beside its record.
var mergeLate = 16 << 20

const (
	lateSize  = 64
	lateBlock = 64 << 10
)

// ownRows returns rows to change that begin as a tree, which stays as it is.
func ownRows(t *rowTree) replayRows {
	r := replayRows{tree: t.IsoCopy()}
	r.max, _, r.hasMax = t.Max()
	return r
}

// get returns the record of a row.
func (r *replayRows) get(rowid int64) (row.Record, bool) {
	if i, ok := r.at[rowid]; ok {
		rec := r.late[i].Rec
		return rec, rec != ""
	}
	return r.tree.Get(rowid)
}

// set stores a copy of a record and returns the one the row had.
func (r *replayRows) set(rowid int64, rec row.Record) (old row.Record, had bool) {
	r.bytes += len(rec)
	if !r.hasMax || rowid > r.max {
		r.max, r.hasMax = rowid, true
		r.tree.Set(rowid, rec)
		return "", false
	}
	return r.put(rowid, rec)
}

// remove takes out a row and returns its record.
func (r *replayRows) remove(rowid int64) (old row.Record, had bool) {
	if old, had = r.get(rowid); had {
		r.put(rowid, "")
	}
	return old, had
}

// put keeps the record of a row, or the end of it, beside the tree.
func (r *replayRows) put(rowid int64, rec row.Record) (old row.Record, had bool) {
	if r.waste > max(mergeLate, r.bytes) {
		r.merge()
	}
	i, found := r.at[rowid]
	if found {
		old = r.late[i].Rec
		had = old != ""
		r.late[i].Rec = r.keep(rec)
	} else {
		if r.at == nil {
			r.at = make(map[int64]uint32)
		}
		old, had = r.tree.Get(rowid)
		r.at[rowid] = uint32(len(r.late))
		r.late = append(r.late, tree.Change{Rowid: rowid, Rec: r.keep(rec)})
		r.waste += lateSize
	}
	r.waste += len(rec) + len(old)
	r.bytes -= len(old)
	return old, had
}

// keep returns a copy of a record.
func (r *replayRows) keep(rec row.Record) row.Record {
	if r.block == nil || r.block.Cap()-r.block.Len() < len(rec) {
		r.block = new(strings.Builder)
		r.block.Grow(max(lateBlock, len(rec)))
	}
	at := r.block.Len()
	r.block.WriteString(string(rec))
	return row.Record(r.block.String()[at:])
}

// merge brings what is beside the tree into it.
func (r *replayRows) merge() {
	slices.SortFunc(r.late, func(a, b tree.Change) int { return cmp.Compare(a.Rowid, b.Rowid) })
	r.tree.Merge(r.late)
	clear(r.late)
	clear(r.at)
	r.late, r.block, r.waste = r.late[:0], nil, 0
}

// give returns the tree of all rows, after which there must be no more changes.
func (r *replayRows) give() *rowTree {
	r.merge()
	return r.tree
}
