package tree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// filled returns how much of its leaves the entries of a tree take, and how many
// leaves there are.
func filled(b *base) (part float64, leaves int) {
	bytes := 0
	var walk func(n *inner)
	walk = func(n *inner) {
		for _, l := range n.leaves {
			leaves, bytes = leaves+1, bytes+l.bytes()
		}
		for _, k := range n.kids {
			walk(k)
		}
	}
	walk(b.root)
	return float64(bytes) / float64(leaves) / maxBytes, leaves
}

// Entries that come in no order leave fuller leaves than halves, whether they are
// spread evenly or not, in one transaction or many.
func TestLeavesInNoOrder(t *testing.T) {
	const n = 60_000
	r := rand.New(rand.NewPCG(1, 2))
	for name, number := range map[string]func(i int) int64{
		"even":   func(i int) int64 { return int64(uint32(i) * 2654435761) },
		"random": func(int) int64 { return r.Int64() },
	} {
		for _, batch := range []int{n, 100} {
			var rows Rows
			var keys Keys
			for i := range n {
				if i%batch == 0 {
					rows, keys = *rows.IsoCopy(), *keys.IsoCopy()
				}
				rows.Set(number(i), "a record of twenty bytes")
				keys.SetString(fmt.Sprintf("%016x and what makes a key longer", number(i)))
			}
			check(t, &rows.t)
			check(t, &keys.t)
			if part, _ := filled(&rows.t); part < 0.72 {
				t.Errorf("%s: leaves of rows are filled to %.0f%%", name, 100*part)
			}
			if part, _ := filled(&keys.t); part < 0.8 {
				t.Errorf("%s: leaves of keys are filled to %.0f%%", name, 100*part)
			}
		}
	}
}

// Rows whose records are replaced by ones of their length stay in their leaves, be
// it many at a time or few, and longer ones go where there is room.
func TestReplaceKeepsLeaves(t *testing.T) {
	const n = 50_000
	for _, batch := range []int{n, 1000, 10} {
		var r Rows
		for i := range int64(n) {
			r.Set(i, "before.")
		}
		_, leaves := filled(&r.t)
		before := r.IsoCopy()
		replace := func(rec row.Record) {
			var list []Change
			for i := range int64(n) {
				list = append(list, Change{i, rec})
			}
			for c := range slices.Chunk(list, batch) {
				r.Replace(c)
			}
			check(t, &r.t)
			for i := range int64(n) {
				if got, _ := r.Get(i); got != rec {
					t.Fatalf("row %d is %q", i, got)
				}
			}
		}
		replace("after..")
		if _, got := filled(&r.t); got != leaves {
			t.Errorf("%d leaves, were %d", got, leaves)
		}
		replace("longer by far")
		if part, _ := filled(&r.t); part < 0.65 {
			t.Errorf("leaves are filled to %.0f%%", 100*part)
		}
		if rec, _ := before.Get(7); rec != "before." || before.Len() != n {
			t.Errorf("a copy has %q", rec)
		}
		check(t, &before.t)
	}
}

// Row ids that are far apart, up to both ends, are written in full and found.
func TestFarHeads(t *testing.T) {
	ids := []int64{math.MinInt64, math.MaxInt64, 0}
	for s := range 63 {
		ids = append(ids, 1<<s, -1<<s, 1<<s+1, 3<<s)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for range 20 {
		var r Rows
		rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, id := range ids {
			for d := range int64(30) {
				r.Set(id^d, row.Record(fmt.Sprint(id^d)))
			}
			check(t, &r.t)
		}
		for _, id := range ids {
			if rec, ok := r.Get(id); !ok || string(rec) != fmt.Sprint(id) {
				t.Fatalf("row %d is %q", id, rec)
			}
		}
	}
}

// A key longer than a leaf goes between shorter ones of the same head.
func TestLongKeyAmongEqualHeads(t *testing.T) {
	for at := range 60 {
		var k Keys
		for i := range 1000 {
			k.SetString(fmt.Sprintf("%08d%08d", 5, 10*i))
			k.SetString(fmt.Sprintf("%08d%08d", 4, 10*i))
		}
		long := fmt.Sprintf("%08d%08d", 4+at%2, 163*at+1) + strings.Repeat("x", maxBytes)
		k.SetString(long)
		check(t, &k.t)
		if !k.Has([]byte(long)) {
			t.Fatalf("key %.16s is gone", long)
		}
	}
	var k Keys
	k.SetString("same hea" + strings.Repeat("d", 50))
	k.SetString("same heb" + strings.Repeat("b", 50))
	k.SetString("same heb" + strings.Repeat("a", 2*maxBytes))
	check(t, &k.t)
	if !k.Has([]byte("same heb" + strings.Repeat("a", 2*maxBytes))) {
		t.Error("a key is gone")
	}
}
