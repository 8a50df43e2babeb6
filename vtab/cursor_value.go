package vtab

import (
	"github.com/tidemarkdb/tidemark/engine/row"
)

// value returns column k of the current row. The row of an index whose keys
// tell what is read is fetched only when a key does not tell after all.
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
				panic(err) // the guard of the callback makes an error of it
			}
			q.buf[q.i].Rec = rec
		}
		q.dec.Reset(q.buf[q.i].Rec)
		q.read = true
	}
	return q.dec.Column(k)
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

// pass leaves in the block the rows that pass all tests.
func (q *cursor) pass() {
	n := 0
	for q.i = range q.n {
		q.read = false
		if !q.passes() {
			continue
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
}

func (q *cursor) passes() bool {
	for i := range q.tests {
		if ts := &q.tests[i]; !ts.passes(q.value(ts.col)) {
			return false
		}
	}
	return true
}
