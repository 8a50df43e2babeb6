package engine

import (
	"maps"
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
	"pgregory.net/rapid"
)

// checkFind looks up the rows that share the first columns of a row's key.
func (x *machine) checkFind(t *rapid.T, h *TxTable, i int, ix *IndexDef, mt *modelTable) {
	terms := rapid.IntRange(1, len(ix.Columns)).Draw(t, "terms")
	first := *ix
	first.Columns = ix.Columns[:terms]
	rowid, rec := drawRowid(t), drawRecord(t, mt.def)
	if known := slices.Sorted(maps.Keys(mt.rows)); len(known) > 0 && rapid.Bool().Draw(t, "known") {
		rowid = rapid.SampledFrom(known).Draw(t, "row")
		rec = mt.rows[rowid]
	}
	key := mt.key(&first, rowid, rec)
	var prefix []byte
	for k, c := range first.Columns {
		prefix = row.AppendKey(prefix, key[k], c.Collation, c.Desc)
	}
	var want []Entry
	for _, e := range mt.in(ix) {
		if compareKeys(&first, key, mt.key(&first, e.Rowid, e.Rec)) == 0 {
			want = append(want, e)
		}
	}
	slices.SortStableFunc(want, func(a, b Entry) int {
		return compareKeys(ix, mt.key(ix, a.Rowid, a.Rec), mt.key(ix, b.Rowid, b.Rec))
	})
	got := h.FindAll(nil, i, prefix)
	if !slices.EqualFunc(got, want, func(id int64, e Entry) bool { return id == e.Rowid }) {
		t.Fatalf("index %q: FindAll gives %v, want %v", ix.Name, got, want)
	}
	id, found := h.Find(i, prefix)
	if found != (len(want) > 0) || found && id != want[0].Rowid {
		t.Fatalf("index %q: Find gives %d, %v, want %v", ix.Name, id, found, want)
	}
}

// count counts a violation; that alone is nothing to commit.
func (x *machine) count(t *rapid.T) {
	changed, v := x.tx.changed(), x.tx.Violations()
	counter := rapid.SampledFrom([]*int64{&v.Statement, &v.Transaction, &v.Postponed}).Draw(t, "counter")
	*counter += int64(rapid.IntRange(-1, 2).Draw(t, "by"))
	if x.tx.changed() != changed {
		t.Fatal("a violation counts as a change")
	}
}
