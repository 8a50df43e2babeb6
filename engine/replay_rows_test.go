package engine

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
	"pgregory.net/rapid"
)

// TestReplayRowsLikeMap replays random changes, with merges all the time, now and
// then and never.
func TestReplayRowsLikeMap(t *testing.T) {
	defer func(n int) { mergeLate = n }(mergeLate)
	rapid.Check(t, func(t *rapid.T) {
		mergeLate = rapid.SampledFrom([]int{0, 2000, 1 << 20}).Draw(t, "limit")
		blocks := []logBlock{noBlock, blockAt(0, 5), blockAt(1, 5)}
		base, was := new(rowTree), map[int64]row.Record{}
		r, m := ownRows(base), map[int64]row.Record{}
		record := func() row.Record {
			return row.Record(strings.Repeat(string(rune('a'+rapid.IntRange(0, 25).Draw(t, "c"))), rapid.SampledFrom([]int{1, 20, 300}).Draw(t, "size")))
		}
		compare := func(tree *rowTree, m map[int64]row.Record) {
			t.Helper()
			got := map[int64]row.Record{}
			for it := tree.Iter(); it.Next(); {
				got[it.Key()] = it.Value()
			}
			if !maps.Equal(got, m) || tree.Len() != len(m) {
				t.Fatalf("%d rows, by counting %d, want %d", len(got), tree.Len(), len(m))
			}
		}
		next := int64(0)
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			id := rapid.Int64Range(-50, 50).Draw(t, "id")
			var rec row.Record
			kind := rapid.IntRange(0, 11).Draw(t, "kind")
			if kind < 6 {
				if rec = record(); kind < 3 {
					next++
					id = next
				}
			}
			if kind == 11 {
				tree := r.give()
				compare(tree, m)
				compare(base, was)
				base, was = tree, maps.Clone(m)
				r = ownRows(base)
				continue
			}
			old, had := r.get(id)
			if want, ok := m[id]; ok != had || old != want {
				t.Fatalf("row %d is there: %v, want %v", id, had, ok)
			}
			if rec != "" {
				old, had = r.set(id, rec, rapid.SampledFrom(blocks).Draw(t, "block"))
			} else {
				old, had = r.remove(id)
			}
			if want, ok := m[id]; ok != had || old != want {
				t.Fatalf("row %d was there: %v, want %v", id, had, ok)
			}
			if m[id] = rec; rec == "" {
				delete(m, id)
			}
		}
		ids := slices.Sorted(maps.Keys(m))
		if n := len(ids); n > 0 && (!r.hasMax || r.max < ids[n-1]) {
			t.Fatalf("the largest id is %d, at most %d by what is noted", ids[n-1], r.max)
		}
		bytes := 0
		for _, rec := range m {
			bytes += len(rec)
		}
		if len(was) == 0 && bytes != r.bytes {
			t.Fatalf("%d bytes are counted, %d are there", r.bytes, bytes)
		}
		compare(r.give(), m)
		compare(base, was)
	})
}

// Rows that come late are borrowed from a block of the log where they are most of
// it, and else are copied: a few of them must not keep all of it in memory.
func TestLateRowsBorrow(t *testing.T) {
	text := strings.Repeat("x", 1024)
	for name, c := range map[string]struct {
		every  int // one row of so many in the log is of the table
		borrow bool
	}{"all": {1, true}, "few": {16, false}} {
		r := ownRows(new(rowTree))
		r.set(1<<40, "the last", noBlock)
		borrowed, rows := 0, int64(0)
		for i := range 5 * wal.BlockSize / len(text) {
			if i%c.every > 0 {
				continue
			}
			r.set(rows, row.Record(text), blockAt(3, int64(i*len(text))))
			if r.hold {
				borrowed++
			}
			rows++
		}
		if borrowed > 0 != c.borrow {
			t.Errorf("%s: %d of %d rows are borrowed", name, borrowed, rows)
		}
		// Whatever is held counts as live or as waste.
		if held := 5 * wal.BlockSize / c.every; r.bytes+r.waste < held {
			t.Errorf("%s: %d bytes live and %d of waste of %d", name, r.bytes, r.waste, held)
		}
		if tree := r.give(); int64(tree.Len()) != rows+1 {
			t.Errorf("%s: %d rows, want %d", name, tree.Len(), rows+1)
		}
	}
}
