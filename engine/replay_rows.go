package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/tree"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// replayRows are the rows of a table while they are replayed. Rows that come in
// the order of their ids go to the tree at once. The others are kept beside it,
// as they come, and merged into it when that saves or moves as much as all rows
// have: a tree that is written anew now and then costs a fraction of one that is
// changed row by row, and all of it stays within twice what the rows take.
type replayRows struct {
	tree   *rowTree
	bytes  int   // of records
	max    int64 // no row has a larger id, if hasMax
	hasMax bool

	late  []tree.Change    // no two of one row
	at    map[int64]uint32 // their positions
	block *strings.Builder // of copies of their records
	waste int              // what a merge would save, or move

	from logBlock // that the last of them was in
	size int      // bytes of their records in it
	hold bool     // records are borrowed from it
	most bool     // the block before is mostly such records

	direct bool // changes are few: they are made in the tree

	loader *tree.RowLoader // that the tree is made with, while rows come from a base in order

	seen  *rowFilter // has all rows there are, unless nil
	asked int        // how often there was none
}

// logBlock is a part of a log about as large as what is read of it at once, and
// in the same memory.
type logBlock struct {
	slot uint32 // of the file
	no   int64
}

// noBlock is where records are from that are nobody else's.
var noBlock = logBlock{no: -1}

func blockAt(slot uint32, offset int64) logBlock { return logBlock{slot, offset / wal.BlockSize} }

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
	r.settle()
	if i, ok := r.at[rowid]; ok {
		rec := r.late[i].Rec
		return rec, rec != ""
	}
	return r.tree.Get(rowid)
}

// set stores a record that is cut from a block of the log and returns the one the
// row had.
func (r *replayRows) set(rowid int64, rec row.Record, from logBlock) (old row.Record, had bool) {
	r.settle()
	r.bytes += len(rec)
	if r.isLast(rowid) {
		r.tree.Set(rowid, rec)
		return "", false
	}
	return r.put(rowid, rec, from)
}

// isLast notes a row whose id is larger than all others'; false if it is not.
func (r *replayRows) isLast(rowid int64) bool {
	if r.hasMax && rowid <= r.max {
		return false
	}
	r.max, r.hasMax = rowid, true
	if r.seen != nil {
		r.seen.add(rowid)
	}
	return true
}

// load stores a copy of a record of a base, and reports whether the row had one.
func (r *replayRows) load(rowid int64, rec []byte) (had bool) {
	r.bytes += len(rec)
	switch {
	case !r.isLast(rowid):
		r.settle()
		if r.direct {
			_, had = r.tree.SetBytes(rowid, rec)
			return had
		}
		r.make()
		_, had = r.place(rowid, keepCopy(r, rec))
		return had
	case r.loader == nil && r.tree.Len() == 0:
		r.loader = new(tree.RowLoader)
		fallthrough
	case r.loader != nil:
		r.loader.Add(rowid, rec)
	default:
		r.tree.SetBytes(rowid, rec)
	}
	return false
}

// settle ends the making of a tree in order, after which it can be looked at.
func (r *replayRows) settle() {
	if r.loader != nil {
		r.tree, r.loader = r.loader.Rows(), nil
	}
}

// remove takes out a row and returns its record.
func (r *replayRows) remove(rowid int64) (old row.Record, had bool) {
	if old, had = r.get(rowid); had {
		r.put(rowid, "", noBlock)
	}
	return old, had
}

// put keeps the record of a row, or the end of it, beside the tree.
func (r *replayRows) put(rowid int64, rec row.Record, from logBlock) (old row.Record, had bool) {
	switch {
	case r.direct && rec == "":
		return r.tree.Delete(rowid)
	case r.direct:
		return r.tree.Set(rowid, rec)
	}
	r.make()
	return r.place(rowid, r.keep(rec, from))
}

// make makes room beside the tree, if there is none.
func (r *replayRows) make() {
	if r.waste > max(mergeLate, r.bytes) {
		r.merge()
	}
}

// place notes a record that may be kept, or the end of one.
func (r *replayRows) place(rowid int64, rec row.Record) (old row.Record, had bool) {
	fresh := r.isNew(rowid)
	if !fresh {
		if i, found := r.at[rowid]; found {
			old = r.late[i].Rec
			r.late[i].Rec = rec
			r.waste += len(old)
			r.bytes -= len(old)
			return old, old != ""
		}
		old, had = r.tree.Get(rowid)
	}
	if r.at == nil {
		r.at = make(map[int64]uint32)
	}
	r.at[rowid] = uint32(len(r.late))
	r.late = append(r.late, tree.Change{Rowid: rowid, Rec: rec})
	if r.seen != nil && fresh {
		r.seen.add(rowid)
	}
	r.waste += lateSize + len(old)
	r.bytes -= len(old)
	if !had {
		r.waste -= len(rec) // which takes its place here or there
	}
	return old, had
}

// keep returns a record that may be kept: a copy, or what is borrowed from a block
// of the log. That keeps the whole block, so it is done where the block before was
// mostly kept anyway, and all of the block counts as waste.
func (r *replayRows) keep(rec row.Record, from logBlock) row.Record {
	if from != noBlock {
		if from != r.from {
			r.most = r.size >= wal.BlockSize/2
			r.from, r.size, r.hold = from, 0, false
		}
		r.size += len(rec)
		if r.most && len(rec) <= lateBlock {
			if !r.hold {
				r.hold = true
				r.waste += wal.BlockSize
			}
			return rec
		}
	}
	return keepCopy(r, rec)
}

// keepCopy returns a copy of a record that may be kept.
func keepCopy[K ~string | ~[]byte](r *replayRows, rec K) row.Record {
	r.waste += len(rec)
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
	r.late, r.block, r.waste, r.hold = r.late[:0], nil, 0, false
}

// give returns the tree of all rows, after which there must be no more changes.
func (r *replayRows) give() *rowTree {
	r.settle()
	if !r.direct && len(r.late) > 0 {
		r.merge()
	}
	return r.tree
}
