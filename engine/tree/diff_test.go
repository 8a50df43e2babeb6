package tree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// difference is one call of Diff's function.
type difference struct {
	id            int64
	before, after row.Record
}

// bruteDiff compares all rows of two trees.
func bruteDiff(a, b *Rows) (list []difference) {
	ids := map[int64]bool{}
	for _, r := range []*Rows{a, b} {
		r.Ascend(-1<<63, func(id int64, _ row.Record) bool { ids[id] = true; return true })
	}
	for id := range ids {
		before, _ := a.Get(id)
		after, _ := b.Get(id)
		if before != after {
			list = append(list, difference{id, before, after})
		}
	}
	slices.SortFunc(list, func(x, y difference) int {
		if x.id < y.id {
			return -1
		}
		return 1
	})
	return list
}

func diffOf(t *testing.T, a, b *Rows) (list []difference, steps int) {
	t.Helper()
	d := differ{a: frontOf(&a.t), b: frontOf(&b.t), f: func(id int64, before, after row.Record) bool {
		list = append(list, difference{id, before, after})
		return true
	}}
	if !d.run() {
		t.Fatal("the end was not reached")
	}
	return list, d.steps
}

func numbered(n int) *Rows {
	r := new(Rows)
	for id := range int64(n) {
		r.Set(id, row.Record(fmt.Sprintf("row %d of many that are about as long", id)))
	}
	return r
}

// TestDiff compares Diff with a comparison row by row, of trees that were written
// to in all ways there are.
func TestDiff(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		size := []int{0, 3, 500, 20_000}[seed%4]
		a := numbered(size)
		b := a.IsoCopy()
		for range rng.IntN(200) {
			id := rng.Int64N(int64(size) + 100)
			switch rng.IntN(6) {
			case 0: // many in a row: leaves and nodes come and go
				for i := range int64(rng.IntN(3000)) {
					b.Delete(id + i)
				}
			case 1:
				for i := range int64(rng.IntN(2000)) {
					b.Set(int64(size)+id+i, "behind")
				}
			case 2:
				b.Set(id, row.Record(strings.Repeat("x", 1+rng.IntN(20_000))))
			case 3:
				if rec, ok := b.Get(id); ok {
					b.Set(id, rec) // written, and the same
				}
			case 4:
				b.Delete(id)
			default:
				b.Set(id, row.Record(fmt.Sprint("changed ", rng.Int())))
			}
		}
		if seed%5 == 0 { // written anew altogether
			b.Merge([]Change{{Rowid: int64(size) / 2, Rec: "merged"}, {Rowid: int64(size)/2 + 1}})
		}
		for _, pair := range [][2]*Rows{{a, b}, {b, a}, {a, new(Rows)}, {new(Rows), b}} {
			got, _ := diffOf(t, pair[0], pair[1])
			if want := bruteDiff(pair[0], pair[1]); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %d differences, want %d", seed, len(got), len(want))
			}
		}
		if list, steps := diffOf(t, b, b.IsoCopy()); len(list) > 0 || steps > 2 {
			t.Fatalf("seed %d: a copy differs in %d rows, found in %d steps", seed, len(list), steps)
		}
	}
}

// TestDiffReadsWhatChanged: how much is read does not depend on how much there is.
func TestDiffReadsWhatChanged(t *testing.T) {
	for _, size := range []int64{20_000, 400_000} {
		a := numbered(int(size))
		b := a.IsoCopy()
		want := 0
		for id := int64(0); id < size; id += size / 3 {
			b.Set(id, "changed")
			want++
		}
		for id := range int64(300) {
			b.Set(size+id, "behind")
			want++
		}
		for range 2 { // with a leaf that was split in the midst of others
			list, steps := diffOf(t, a, b)
			if len(list) != want {
				t.Errorf("%d of %d rows differ, want %d", len(list), size, want)
			}
			if steps > 1000 { // there are more than 2000 leaves
				t.Errorf("%d steps in a tree of %d rows", steps, size)
			}
			b.Set(size/2+1, row.Record(strings.Repeat("x", maxBytes)))
			want++
		}
	}
}

// TestDiffEnds: it goes no further than it is asked to.
func TestDiffEnds(t *testing.T) {
	a := numbered(5000)
	n := 0
	if a.Diff(new(Rows), func(int64, row.Record, row.Record) bool { n++; return n < 3 }) || n != 3 {
		t.Errorf("ended after %d", n)
	}
	if !a.Diff(a, func(int64, row.Record, row.Record) bool { return false }) {
		t.Error("a tree differs from itself")
	}
}
