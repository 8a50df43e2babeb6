package vtab

import (
	"math"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// hash is a transient index: the rows of a table by a hash of the columns that
// a plan compares for equality. A loop inside another one, as a join without an
// index makes, comes back with another value for each row of the outer loop. At
// first the table is scanned. When the scans have read as many rows as it has,
// the hash table is made, in the time of a few scans, and from then on only rows
// whose hash is the same are tested, in the order of the scan. It lives as long
// as the cursor and is made anew when the table has changed under the statement.
type hash struct {
	str   uintptr       // idxStr of the plan
	view  *engine.Table // it was made of
	read  int           // rows the scans of view have read
	heads []int32       // by hash: position in rows plus one of the first row
	next  []int32       // beside rows: that of the next row of the same hash
	rows  []int64       // rowids, in the order of the scan
}

const (
	// maxHashes bounds the hash tables of one cursor: one a plan, and a cursor
	// has several plans only where OR joins alternatives.
	maxHashes = 4
	// hashMost bounds the memory: 20 bytes a row.
	hashMost = 8 << 20
)

// hash readies the rows that pass the equalities among the tests, false when
// the table must be scanned instead.
func (q *cursor) hash() (bool, error) {
	q.counted = nil
	view, err := q.state()
	if err != nil {
		return false, err
	}
	if view.Len() > hashMost {
		return false, nil
	}
	var h *hash
	for _, o := range q.hashes {
		if o.str == q.plan.str {
			h = o
		}
	}
	if h == nil {
		if len(q.hashes) == maxHashes {
			return false, nil
		}
		h = &hash{str: q.plan.str}
		q.hashes = append(q.hashes, h)
	}
	if h.view != view {
		*h = hash{str: h.str, view: view}
	}
	if h.heads == nil {
		if h.read < view.Len() {
			q.counted = h
			return false, nil
		}
		if err := q.fillHash(h); err != nil || h.heads == nil {
			return false, err
		}
	}
	sum, _, ok := q.hashOf(func(i int) row.Value { return q.tests[i].val })
	if !ok {
		return false, nil
	}
	q.chain, q.view = h, view
	q.at = h.heads[sum&uint64(len(h.heads)-1)]
	return true, nil
}

// hashOf hashes the columns of the equalities, as far as val tells them; null
// says that a column is NULL that equals nothing then, and ok is false when
// there is no equality.
func (q *cursor) hashOf(val func(test int) row.Value) (sum uint64, null, ok bool) {
	key := q.c.scratch.key[:0]
	for i := range q.tests {
		ts := &q.tests[i]
		if ts.op != '=' && ts.op != 'i' {
			continue
		}
		v := val(i)
		if v.IsNull() && ts.op == '=' {
			return 0, true, true
		}
		key = row.AppendKey(key, v, ts.coll, false)
		ok = true
	}
	q.c.scratch.key = key
	return xxh3.HashString(unsafe.String(unsafe.SliceData(key), len(key))), false, ok
}

// fillHash scans the table. It leaves h.heads nil if there is nothing to hash.
func (q *cursor) fillHash(h *hash) error {
	defer q.rewindBlock()
	if q.t.scanKey >= 0 {
		at, err := q.ownOrder()
		if err != nil {
			return err
		}
		q.scan.Index(h.view, at, "", "", false)
	} else {
		q.scan.Rows(h.view, math.MinInt64, math.MaxInt64, false)
	}
	size := 16
	for size < h.view.Len() {
		size *= 2
	}
	heads := make([]int32, size)
	sums := make([]int32, 0, h.view.Len()) // the part of the hash that counts
	h.rows = make([]int64, 0, h.view.Len())
	val := func(i int) row.Value { return q.value(q.tests[i].col) }
	for q.next = fullBlock; ; {
		if err := q.block(); err != nil {
			return err
		}
		if q.n == 0 {
			break
		}
		for q.i = range q.n {
			q.read = false
			sum, null, ok := q.hashOf(val)
			if !ok {
				return nil
			}
			if null {
				continue
			}
			h.rows = append(h.rows, q.buf[q.i].Rowid)
			sums = append(sums, int32(sum&uint64(size-1)))
		}
		if err := q.interrupted(); err != nil {
			return err
		}
	}
	// From the last row to the first, so that chains go on in the order of the scan.
	h.next = make([]int32, len(h.rows))
	for i := len(sums) - 1; i >= 0; i-- {
		h.next[i] = heads[sums[i]]
		heads[sums[i]] = int32(i + 1)
	}
	h.heads = heads
	q.t.traced("Hash", int32(len(h.rows)))
	return nil
}

// rewindBlock forgets the block that was read.
func (q *cursor) rewindBlock() {
	clear(q.buf[:q.n])
	q.n, q.i, q.next, q.read = 0, 0, 0, false
}
