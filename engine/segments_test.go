package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Segments that are small beside what is written are merged, and those that are mostly of
// rows that are gone.
func TestToMerge(t *testing.T) {
	type seg struct{ live, entries int64 }
	for _, x := range []struct {
		name  string
		rows  int64
		fresh bool
		have  []seg
		want  []bool
	}{
		{"nothing to do", 0, false, []seg{{100, 100}, {1, 1}}, []bool{false, false}},
		{"the first", 100, true, nil, []bool{}},
		{"a small one", 100, true, []seg{{10, 10}}, []bool{true}},
		{"one that is three times as large", 100, true, []seg{{300, 300}}, []bool{true}},
		{"one that is larger", 100, true, []seg{{301, 301}}, []bool{false}},
		{"each adds to what is merged", 100, true, []seg{{1700, 1700}, {350, 350}, {90, 90}}, []bool{false, true, true}},
		{"a row beside none", 0, true, []seg{{1, 1}, {0, 0}}, []bool{false, true}},
		{"half of it is gone", 0, false, []seg{{50, 100}, {49, 99}}, []bool{false, true}},
		{"all of it is gone", 0, false, []seg{{0, 7}}, []bool{true}},
		{"too many", 1, true, []seg{{4, 4}, {20, 20}, {100, 100}, {500, 500}, {2500, 2500}, {12500, 12500}, {62500, 62500}, {312500, 312500}},
			[]bool{true, false, false, false, false, false, false, false}},
	} {
		have := make([]segmentInUse, len(x.have))
		for i, g := range x.have {
			have[i].live, have[i].Entries = g.live, g.entries
		}
		if got := toMerge(x.rows, x.fresh, have); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", x.name, got, x.want)
		}
	}
}

// However many segments were written and in whatever sizes, an index has few, and an entry
// is not written again at each.
func TestToMergeKeepsFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var have []segmentInUse
		wrote, all := int64(0), int64(0)
		for range rapid.IntRange(1, 300).Draw(t, "jobs") {
			rows := rapid.SampledFrom([]int64{0, 1, 3, 10, 100, 1000}).Draw(t, "rows")
			total := rows
			all += rows
			var kept []segmentInUse
			for i, take := range toMerge(rows, true, have) {
				if take {
					total += have[i].live
				} else {
					kept = append(kept, have[i])
				}
			}
			wrote += total
			g := segmentInUse{live: total}
			g.Entries = total
			if have = append(kept, g); len(have) > maxSegments+1 {
				t.Fatalf("%d segments", len(have))
			}
		}
		if wrote > 12*(all+300) {
			t.Errorf("%d entries were written for %d", wrote, all)
		}
	})
}

// Entries come out in the order of their index, whatever order they were gathered in, and
// from however many runs.
func TestMergeOfRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		primary := rapid.Bool().Draw(t, "primary")
		var sources []entrySource
		var want []string
		seen := map[string]bool{}
		for range rapid.IntRange(0, 5).Draw(t, "runs") {
			var r runs
			for range rapid.IntRange(0, 30).Draw(t, "entries") {
				e := indexEntry{frag: rapid.Uint32Range(0, 3).Draw(t, "fragment"), ord: rapid.Uint32Range(0, 9).Draw(t, "ordinal")}
				if primary {
					e.head = rowidHead(rapid.Int64().Draw(t, "row"))
				} else {
					e.key = rapid.SliceOfN(rapid.ByteRange(0, 3), 1, 12).Draw(t, "key")
				}
				name := fmt.Sprintf("%016x %x", e.head, e.key)
				if seen[name] {
					continue
				}
				seen[name] = true
				key := bytes.Clone(e.key)
				if r.add(e); !primary {
					clear(e.key) // the key was copied
				}
				want = append(want, fmt.Sprintf("%x %d %d", cmp.Or(string(key), fmt.Sprintf("%016x", e.head)), e.frag, e.ord))
			}
			r.sort()
			sources = append(sources, &memoryRun{r.entries})
		}
		slices.Sort(want)
		m, err := newMerger(sources)
		must(t, err)
		var got []string
		for {
			e, err := m.next()
			must(t, err)
			if e == nil {
				break
			}
			got = append(got, fmt.Sprintf("%x %d %d", cmp.Or(string(e.key), fmt.Sprintf("%016x", e.head)), e.frag, e.ord))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
