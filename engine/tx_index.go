package engine

import (
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/tree"
)

// txIndex is one index of a handle.
type txIndex struct {
	def  *IndexDef
	tree *indexTree
	it   tree.KeyIter // over tree
	of   *indexTree   // that it was made for

	// The row Conflict was last asked about and found no rival for, with its
	// entry: an Insert or Update of that row right after makes no key again.
	free struct {
		rec   row.Record
		rowid int64
		self  int64
		puts  uint64
		entry string
		valid bool
	}
}

// Conflict looks for another row whose key in the unique index ix equals that
// of rec at rowid. Keys with a NULL equal nothing. The row self, if there is
// one, does not count: it is the one about to be replaced.
func (h *TxTable) Conflict(ix int, rec row.Record, rowid, self int64, hasSelf bool) (int64, bool, error) {
	x := &h.indexes[ix]
	x.free.valid = false
	var null bool
	h.newKey, null = h.keys.append(h.newKey[:0], x.def, rec, rowid)
	entry := string(h.newKey)
	if !null {
		key, _ := splitEntry(entry)
		if other, found := rival(&h.iter(ix).it, key, self, hasSelf); found {
			return other, true, nil
		}
	}
	if !hasSelf {
		self = rowid
	}
	x.free.rec, x.free.rowid, x.free.self, x.free.puts, x.free.entry, x.free.valid = rec, rowid, self, h.puts, entry, true
	return 0, false, nil
}

// checkUnique makes sure that no unique index has a rival of the row, which
// takes the place of self. It is free when Conflict was just asked the same.
func (h *TxTable) checkUnique(rec row.Record, rowid, self int64) error {
	for i := range h.indexes {
		x := &h.indexes[i]
		if !x.def.Unique || x.isFree(rec, rowid, h.puts) && x.free.self == self {
			continue
		}
		if _, found, _ := h.Conflict(i, rec, rowid, self, true); found {
			return newUniqueError(h.def, x.def)
		}
	}
	return nil
}

// isFree reports whether free holds the entry of the row. The comparison of
// the records is one of pointers when it is the same one.
func (x *txIndex) isFree(rec row.Record, rowid int64, puts uint64) bool {
	return x.free.valid && x.free.puts == puts && x.free.rowid == rowid && x.free.rec == rec
}

func (h *TxTable) addEntry(x *txIndex, rec row.Record, rowid int64) {
	if x.isFree(rec, rowid, h.puts) {
		if x.free.entry != "" {
			x.tree.SetString(x.free.entry)
		}
		return
	}
	h.restoreEntry(x, rec, rowid)
}

func (h *TxTable) dropEntry(x *txIndex, rec row.Record, rowid int64) {
	if h.oldKey, _ = h.keys.append(h.oldKey[:0], x.def, rec, rowid); len(h.oldKey) > 0 {
		x.tree.Delete(h.oldKey)
	}
}

// moveEntry re-keys a row; an index none of whose columns changed is left
// alone. A partial one may have had no entry, or may have none from now on.
func (h *TxTable) moveEntry(x *txIndex, old, rec row.Record, rowid int64) {
	h.oldKey, _ = h.keys.append(h.oldKey[:0], x.def, old, rowid)
	h.newKey, _ = h.keys.append(h.newKey[:0], x.def, rec, rowid)
	if slices.Equal(h.oldKey, h.newKey) {
		return
	}
	if len(h.oldKey) > 0 {
		x.tree.Delete(h.oldKey)
	}
	if len(h.newKey) > 0 {
		x.tree.Set(h.newKey)
	}
}
