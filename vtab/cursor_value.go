package vtab

import (
	"strings"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// value returns the column of ordinal k of the current row. The row of an index whose keys
// tell what is read is fetched only when a key does not tell after all; q.failed
// says that it could not be.
func (q *cursor) value(k int) row.Value {
	if k < 0 || k == q.alias {
		return row.IntValue(q.buf[q.i].Rowid)
	}
	if !q.read {
		if q.keyed != nil {
			if v, ok := q.fromKey(k); ok {
				return v
			}
			rec, err := q.scan.Fetch(q.buf[q.i].Rowid)
			if err != nil {
				q.failed = err
				return row.Value{}
			}
			q.buf[q.i].Rec = rec
		}
		q.dec.Reset(q.buf[q.i].Rec)
		q.read = true
	}
	if q.past != nil {
		if q.past.lacks(k) {
			return q.computePast(k)
		}
		return q.past.column(&q.dec, k)
	}
	return q.t.stored(&q.dec, k)
}

// fromKey reads a column out of the key of the current entry.
func (q *cursor) fromKey(k int) (row.Value, bool) {
	key := q.keys[q.i]
	for _, ic := range q.keyed.Columns {
		var term string
		term, key = row.KeyTerm(key, ic.Desc)
		if ic.Column == k {
			return row.KeyValue(term, q.t.info.Def.Columns[k].Affinity, ic.Collation, ic.Desc)
		}
	}
	return row.Value{}, false
}

// pass leaves in the block the rows that pass all tests and, where that is
// asked for, differ from the one before. When a block hardly has any that
// differ, the scan jumps over the rest of its kind.
func (q *cursor) pass() {
	n, had := 0, q.n
	behind := "" // the key of the last entry that was read
	if q.differ > 0 && had > 0 {
		behind = q.keys[had-1]
	}
	for q.i = range q.n {
		q.read = false
		if q.differ > 0 && q.repeats() || !q.passes() {
			continue
		}
		if q.differ > 0 {
			q.last = q.leading()
		}
		if n != q.i {
			q.buf[n] = q.buf[q.i]
			if q.keyed != nil {
				q.keys[n] = q.keys[q.i]
			}
		}
		n++
	}
	clear(q.buf[n:q.n])
	q.n, q.i, q.read = n, 0, false
	// Only if the scan is still among those of the last row: what failed a test
	// may lie far behind it.
	if q.differ > 0 && q.last != "" && q.next > 0 && n <= had/16 && strings.HasPrefix(behind, q.last) {
		q.scan.Skip(q.last)
	}
}

// repeats reports whether the current key begins as that of the last row: no
// term of a key is the beginning of another one.
func (q *cursor) repeats() bool {
	return q.last != "" && strings.HasPrefix(q.keys[q.i], q.last)
}

// leading returns the columns of the current key that rows must differ in.
func (q *cursor) leading() string {
	key := q.keys[q.i]
	rest := key
	for _, ic := range q.keyed.Columns[:q.differ] {
		_, rest = row.KeyTerm(rest, ic.Desc)
	}
	return key[:len(key)-len(rest)]
}

func (q *cursor) passes() bool {
	for i := range q.tests {
		if ts := &q.tests[i]; !ts.passes(q.value(ts.col)) {
			return false
		}
	}
	return true
}
