package tree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// What is loaded in order is what was set one by one, and can be changed.
func TestLoaders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.Int64(), 0, 3000, rapid.ID).Draw(t, "ids")
		long := rapid.IntRange(0, 300).Draw(t, "long")
		huge := rapid.IntRange(1, 100).Draw(t, "huge") // so many rows apart is one longer than leaves are
		slices.Sort(ids)
		var rows, want Rows
		var keys []string
		var byID RowLoader
		for i, id := range ids {
			rec := fmt.Sprintf("%d %0*d", id, i%(long+1), i)
			if i%huge == huge/2 && i < 10*huge {
				rec += strings.Repeat("x", maxBytes*(1+i%7)/2)
			}
			byID.Add(id, []byte(rec))
			want.Set(id, row.Record(rec))
			keys = append(keys, rec)
		}
		rows = *byID.Rows()
		if byID.Rows().Len() != 0 {
			t.Fatal("the loader is not empty")
		}
		slices.Sort(keys)
		var byKey KeyLoader
		var wantKeys Keys
		for _, k := range slices.Compact(keys) {
			byKey.Add([]byte(k))
			wantKeys.SetString(k)
		}
		index := byKey.Keys()
		same := func() {
			a, b := rows.Iter(), want.Iter()
			for a.Next() {
				if !b.Next() || a.Key() != b.Key() || a.Value() != b.Value() {
					t.Fatalf("row %d is %q, want row %d: %q", a.Key(), a.Value(), b.Key(), b.Value())
				}
			}
			x, y := index.Iter(), wantKeys.Iter()
			for x.Next() {
				if !y.Next() || x.Key() != y.Key() {
					t.Fatalf("%q, want %q", x.Key(), y.Key())
				}
			}
			if b.Next() || y.Next() || rows.Len() != want.Len() || index.Len() != wantKeys.Len() {
				t.Fatalf("%d rows, %d keys, want %d and %d", rows.Len(), index.Len(), want.Len(), wantKeys.Len())
			}
		}
		same()
		before := rows.IsoCopy()
		for i := range rapid.IntRange(0, 20).Draw(t, "changes") {
			id := rapid.Int64().Draw(t, "id")
			if len(ids) > 0 && i%2 == 0 {
				id = ids[i*7919%len(ids)]
			}
			rows.Set(id, "changed")
			want.Set(id, "changed")
			k := fmt.Sprint("new ", id)
			index.SetString(k)
			wantKeys.SetString(k)
		}
		same()
		if before.Len() != len(ids) {
			t.Fatalf("the copy has %d rows", before.Len())
		}
	})
}
