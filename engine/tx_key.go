package engine

import "strings"

// Find returns the row whose key in index ix begins with prefix, a
// concatenation of row.AppendKey of the index's first columns; of several the
// first in the index's order. It sees the transaction's own writes and costs no
// View.
func (h *TxTable) Find(ix int, prefix []byte) (rowid int64, found bool) {
	it := h.iter(ix)
	if !it.it.SeekGE(string(prefix)) {
		return 0, false
	}
	key, rowid := splitEntry(it.it.Key())
	return rowid, strings.HasPrefix(key, string(prefix))
}

// FindAll appends to dst the rows whose key in index ix begins with prefix, in
// the index's order.
func (h *TxTable) FindAll(dst []int64, ix int, prefix []byte) []int64 {
	it, p := h.iter(ix), string(prefix)
	for ok := it.it.SeekGE(p); ok; ok = it.it.Next() {
		key, rowid := splitEntry(it.it.Key())
		if !strings.HasPrefix(key, p) {
			break
		}
		dst = append(dst, rowid)
	}
	return dst
}

// iter returns the index with its iterator ready.
func (h *TxTable) iter(ix int) *txIndex {
	x := &h.indexes[ix]
	if x.of != x.tree {
		x.of, x.it = x.tree, x.tree.Iter()
	}
	return x
}
