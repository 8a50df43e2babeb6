package engine

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A row id behind a key is found there again, sorts as it does, and is short when it
// is near zero.
func TestRowidOfEntries(t *testing.T) {
	var ids []int64
	for shift := range 64 {
		for d := int64(-2); d <= 2; d++ {
			id := int64(uint64(1)<<shift) + d
			ids = append(ids, id, -id)
		}
	}
	slices.Sort(ids)
	last := ""
	for i, id := range slices.Compact(ids) {
		e := string(appendRowid([]byte("key\x00\x01"), id))
		if key, got := splitEntry(e); key != "key\x00\x01" || got != id {
			t.Fatalf("row %d: %q of %x, %d", id, key, e, got)
		}
		if i > 0 && e <= last || e >= "key\x00\x01"+rowidAfter {
			t.Fatalf("row %d: %x behind %x", id, e, last)
		}
		last = e
	}
	for id, want := range map[int64]int{0: 2, 511: 2, 512: 3, -512: 2, -513: 3, 200_000: 4, 1<<25 - 1: 4, 1 << 25: 5, math.MaxInt64: 9, math.MinInt64: 9} {
		if got := len(appendRowid(nil, id)); got != want {
			t.Errorf("row %d takes %d bytes, want %d", id, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		x, y := string(appendRowid(nil, a)), string(appendRowid(nil, b))
		if _, got := splitEntry(x); got != a || (a < b) != (x < y) {
			t.Fatalf("%d is %x, %d is %x", a, x, b, y)
		}
	})
}
