package engine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"pgregory.net/rapid"
)

// TestScanRanges compares scans of trees of several levels with the sorted
// rows, in all directions and block sizes.
func TestScanRanges(t *testing.T) {
	var ids counter
	tx := testTx(emptyRoot(nil), &ids)
	def := testTable("t", 2)
	def.Indexes = []*IndexDef{testIndex("i", false, 0), testIndex("d", false, 0, 1)}
	def.Indexes[1].Columns[0].Desc = true
	h := create(t, tx, def)
	var all []Entry
	for i := range 5000 {
		// Row ids from both ends of the range, keys that many rows share.
		rowid := int64(i*2 - 3000)
		switch {
		case i < 5:
			rowid = math.MinInt64 + int64(i)
		case i >= 4995:
			rowid = math.MaxInt64 - int64(4999-i)
		}
		e := Entry{rowid, testRecord(i*31%97, fmt.Sprint(i))}
		all = append(all, e)
		must(t, h.Insert(e.Rowid, e.Rec))
	}
	table := tx.finish().table(h.def.ID)

	rapid.Check(t, func(t *rapid.T) {
		block, desc := rapid.IntRange(1, 200).Draw(t, "block"), rapid.Bool().Draw(t, "desc")
		bound := rapid.OneOf(rapid.Int64Range(-3100, 7100), rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 3, math.MaxInt64, math.MaxInt64 - 2}))
		lo, hi := bound.Draw(t, "lo"), bound.Draw(t, "hi")
		want := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool { return e.Rowid < lo || e.Rowid > hi })
		if desc {
			slices.Reverse(want)
		}
		if got := drain(t, table.Scan(lo, hi, desc), block); !slices.Equal(got, want) {
			t.Fatalf("rows %d to %d: %d, want %d", lo, hi, len(got), len(want))
		}

		ix := rapid.IntRange(0, 1).Draw(t, "index")
		key := func(e Entry) string {
			var k []byte
			for _, c := range def.Indexes[ix].Columns {
				k = row.AppendKey(k, e.Rec.Column(c.Column), c.Collation, c.Desc)
			}
			return string(k)
		}
		term := func(label string) string {
			n := rapid.IntRange(-1, 98).Draw(t, label)
			k := string(row.AppendKey(nil, row.IntValue(int64(n)), row.Binary, ix == 1))
			return k + rapid.SampledFrom([]string{"", "\x00", "\x80", row.KeyAfter}).Draw(t, label+" tail")
		}
		klo, khi := "", ""
		if rapid.Bool().Draw(t, "lower") {
			klo = term("klo")
		}
		if rapid.Bool().Draw(t, "upper") {
			khi = term("khi")
		}
		want = slices.DeleteFunc(slices.Clone(all), func(e Entry) bool {
			k := key(e)
			return k < klo || khi != "" && k >= khi
		})
		slices.SortFunc(want, func(a, b Entry) int {
			return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.Rowid, b.Rowid))
		})
		if desc {
			slices.Reverse(want)
		}
		if got := drain(t, table.IndexScan(ix, klo, khi, desc), block); !slices.Equal(got, want) {
			t.Fatalf("index %d from %x to %x desc=%v: %d, want %d", ix, klo, khi, desc, len(got), len(want))
		}
	})
}

func TestScannerReuse(t *testing.T) {
	var ids counter
	tx := testTx(emptyRoot(nil), &ids)
	def := testTable("t", 1)
	def.Indexes = []*IndexDef{testIndex("i", false, 0)}
	h := create(t, tx, def)
	for i := range 10 {
		must(t, h.Insert(int64(i), testRecord(9-i)))
	}
	first := tx.View(h.def.ID)
	must(t, h.Delete(4))
	second := tx.View(h.def.ID)

	var s Scanner
	if got := drain(t, &s, 4); len(got) != 0 {
		t.Fatalf("the zero scanner has %d rows", len(got))
	}
	for range 2 {
		for _, v := range []*Table{first, second} {
			s.Rows(v, 2, 6, true)
			if got := drain(t, &s, 2); len(got) != map[*Table]int{first: 5, second: 4}[v] || got[0].Rowid != 6 {
				t.Fatalf("rows: %v", got)
			}
			s.Index(v, 0, "", "", false)
			if got := drain(t, &s, 3); len(got) != v.Len() || got[0].Rowid != 9 {
				t.Fatalf("index: %v", got)
			}
		}
	}
	s.Rows(first, 3, 2, false)
	if got := drain(t, &s, 3); len(got) != 0 {
		t.Fatalf("an empty range has %v", got)
	}
}

// TestScannerBadIndex: an entry without a row is an error, not a row.
func TestScannerBadIndex(t *testing.T) {
	def := testTable("t", 1)
	def.ID, def.Indexes = 1, []*IndexDef{testIndex("i", false, 0)}
	table := newTable(def, nil)
	m := keyMaker{def: def}
	entry, _ := m.append(nil, def.Indexes[0], testRecord(1), 7)
	table.indexes[0].SetString(string(entry))
	if n, err := table.IndexScan(0, "", "", false).Next(make([]Entry, 4)); n != 0 || err == nil {
		t.Fatalf("%d rows, %v", n, err)
	}
	found := 0
	_ = table.verify(true, func(string) { found++ }, nil)
	if found == 0 {
		t.Fatal("verify finds nothing")
	}
}
