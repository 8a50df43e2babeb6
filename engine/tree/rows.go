package tree

import "github.com/tidemarkdb/tidemark/engine/row"

// Rows are the records of a table by row id. The zero Rows is empty.
type Rows struct{ t base }

// rowHead makes unsigned numbers that sort as row ids do.
func rowHead(id int64) uint64 { return uint64(id) ^ 1<<63 }

func rowid(head uint64) int64 { return int64(head ^ 1<<63) }

// IsoCopy returns a copy in constant time. Nobody may write to r meanwhile.
func (r *Rows) IsoCopy() *Rows { return &Rows{r.t.isoCopy()} }

// Change is a row that is set, or removed when it has no record.
type Change struct {
	Rowid int64
	Rec   row.Record
}

// Merge makes many changes at once, of which no two are of one row. They must be
// ordered by row id. The tree is written anew with leaves that are full, while
// the old nodes are let go.
func (r *Rows) Merge(changes []Change) { r.t.merge(changes) }

// Len returns the number of rows.
func (r *Rows) Len() int { return r.t.len() }

// Get returns the record of a row.
func (r *Rows) Get(id int64) (row.Record, bool) {
	rec, ok := find(&r.t, rowHead(id), "")
	return row.Record(rec), ok
}

// Set stores a copy of a record and returns the one the row had.
func (r *Rows) Set(id int64, rec row.Record) (row.Record, bool) {
	return setRow(r, id, string(rec))
}

// SetBytes is Set.
func (r *Rows) SetBytes(id int64, rec []byte) (row.Record, bool) {
	return setRow(r, id, rec)
}

func setRow[K bytesLike](r *Rows, id int64, rec K) (row.Record, bool) {
	old, had := set(&r.t, rowHead(id), rec)
	more := cost(false, len(rec))
	if had {
		more -= cost(false, len(old))
	}
	r.t.weigh(more)
	return row.Record(old), had
}

// Delete removes a row and returns its record.
func (r *Rows) Delete(id int64) (row.Record, bool) {
	old, had := remove(&r.t, rowHead(id), "")
	if had {
		r.t.weigh(-cost(false, len(old)))
	}
	return row.Record(old), had
}

// Max returns the row of the largest id, false when there is none.
func (r *Rows) Max() (int64, row.Record, bool) {
	n := r.t.root
	if n == nil || n.count == 0 {
		return 0, "", false
	}
	for n.leaves == nil {
		n = n.kids[len(n.kids)-1]
	}
	l := n.leaves[len(n.leaves)-1]
	return rowid(l.last), row.Record(l.entry(l.len() - 1)), true
}

// GetAt returns row i of all, in the order of their ids.
func (r *Rows) GetAt(i int) (int64, row.Record, bool) {
	if i < 0 || i >= r.Len() {
		return 0, "", false
	}
	l, k := r.t.at(i)
	return rowid(l.head(k)), row.Record(l.entry(k)), true
}

// Ascend calls f with the rows from an id on until it returns false.
func (r *Rows) Ascend(from int64, f func(id int64, rec row.Record) bool) {
	if r.t.root != nil {
		ascend(r.t.root, rowHead(from), f)
	}
}

func ascend(n *inner, from uint64, f func(int64, row.Record) bool) bool {
	at := child(n, false, from, "")
	for _, k := range n.kids[min(at, len(n.kids)):] {
		if !ascend(k, from, f) {
			return false
		}
	}
	for _, l := range n.leaves[min(at, len(n.leaves)):] {
		i, _ := search(l, from, "")
		data, base, shift := l.data, l.base, l.shift&63
		for _, at := range l.order[i:] {
			if !f(rowid(base+readHead(data, int(at))>>shift), row.Record(l.bytesAt(int(at)))) {
				return false
			}
		}
	}
	return true
}

// RowIter walks over rows in the order of their ids.
type RowIter struct{ it iter }

// Iter returns an iterator before the first row and behind the last.
func (r *Rows) Iter() RowIter { return RowIter{iter{t: &r.t}} }

// SeekGE goes to the first row whose id is at least id.
func (i *RowIter) SeekGE(id int64) bool { return seek(&i.it, rowHead(id), "") }

// Last goes to the last row.
func (i *RowIter) Last() bool { return i.it.end(true) }

// Next goes to the next row, from the start to the first.
func (i *RowIter) Next() bool { return i.it.next() }

// Prev goes to the row before, from the start to the last.
func (i *RowIter) Prev() bool { return i.it.prev() }

// Key returns the id of the row.
func (i *RowIter) Key() int64 { return rowid(i.it.leaf.rowHeadAt(i.it.at)) }

// Value returns the record.
func (i *RowIter) Value() row.Record { return row.Record(i.it.leaf.bytesAt(i.it.at)) }
