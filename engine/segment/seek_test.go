package segment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
)

// Whatever an iterator is asked for, it goes where a search in the list goes.
func TestPrimarySeek(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	es := primaryRows(rnd, 60_000)
	h := testHeader(Primary)
	file, _ := writePrimary(t, h, es)
	r := open(t, file, h)
	find := func(row int64) int { return sort.Search(len(es), func(i int) bool { return es[i].Rowid >= row }) }
	rows := []int64{math.MinInt64, math.MaxInt64, es[0].Rowid, es[0].Rowid + 1, es[len(es)-1].Rowid, es[len(es)-1].Rowid + 1}
	for _, b := range r.dir.blocks {
		rows = append(rows, b.row-1, b.row, b.row+1)
	}
	for range 500 {
		rows = append(rows, es[rnd.IntN(len(es))].Rowid+rnd.Int64N(3)-1)
	}
	for _, row := range rows {
		at := find(row)
		it := r.Primary(row)
		for i := at; i < min(at+3, len(es)); i++ {
			if !it.Next() || it.Entry() != es[i] {
				t.Fatalf("row %d: entry %d is %v, %v", row, i, it.Entry(), it.Err())
			}
		}
		if at == len(es) && it.Next() {
			t.Fatalf("row %d: an entry behind the last one", row)
		}
		e, ok, err := r.Lookup(row)
		if want := at < len(es) && es[at].Rowid == row; err != nil || ok != want || ok && e != es[at] {
			t.Fatalf("row %d is looked up: %v %v %v", row, e, ok, err)
		}
	}
	for range 50 {
		it, at := r.Primary(math.MinInt64), -1 // of the entry it is at
		for range 200 {
			ok := false
			if rnd.IntN(3) == 0 {
				ok = it.Next()
				at++
			} else {
				step := 1 + rnd.IntN(10)
				if rnd.IntN(10) == 0 {
					step = rnd.IntN(20_000)
				}
				row := es[min(max(at, 0)+step, len(es)-1)].Rowid - rnd.Int64N(5) + 1
				ok = it.SeekTo(row)
				at = max(at, find(row))
			}
			if ok != (at < len(es)) || it.Err() != nil || ok && it.Entry() != es[at] {
				t.Fatalf("at %d: %v %v", at, it.Entry(), it.Err())
			}
			if !ok {
				if it.Next() || it.SeekTo(es[0].Rowid) {
					t.Fatal("an iterator at its end goes on")
				}
				break
			}
		}
	}
}

func TestSecondarySeek(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	es := secondaryKeys(rnd, 30_000, 16)
	h := testHeader(Secondary)
	file, _ := writeSecondary(t, h, es)
	r := open(t, file, h)
	find := func(key string) int { return sort.Search(len(es), func(i int) bool { return es[i].Key >= key }) }
	keys := []string{"", "\xff", es[0].Key, es[len(es)-1].Key, es[len(es)-1].Key + "x"}
	for _, s := range r.dir.seps {
		keys = append(keys, s, s+"\x00", s+"\xff")
	}
	for range 300 {
		k := es[rnd.IntN(len(es))].Key
		keys = append(keys, k, k[:rnd.IntN(len(k))], k+"0")
	}
	for _, key := range keys {
		at := find(key)
		it := r.SecondaryFrom(key)
		for i := at; i < min(at+3, len(es)); i++ {
			if !it.Next() || it.Entry() != es[i] {
				t.Fatalf("key %x: entry %d: %v", key, i, it.Err())
			}
		}
		if at == len(es) && it.Next() {
			t.Fatalf("key %x: an entry behind the last one", key)
		}
	}
	for range 50 {
		it, at := r.Secondary(), -1
		for range 100 {
			ok := false
			if rnd.IntN(3) == 0 {
				ok = it.Next()
				at++
			} else {
				step := rnd.IntN(20)
				if rnd.IntN(5) == 0 {
					step = rnd.IntN(8000)
				}
				key := es[min(max(at, 0)+step, len(es)-1)].Key
				if rnd.IntN(2) == 0 {
					key += "+"
				}
				ok = it.SeekTo(key)
				at = max(at, find(key))
			}
			if ok != (at < len(es)) || it.Err() != nil || ok && it.Entry() != es[at] {
				t.Fatalf("at %d: %v", at, it.Err())
			}
			if !ok {
				if it.Next() || it.SeekTo("") {
					t.Fatal("an iterator at its end goes on")
				}
				break
			}
		}
	}
}

// An iterator of the other kind, and one of a damaged block, have an error and no entry.
func TestIteratorOfOtherKind(t *testing.T) {
	p, _ := writePrimary(t, testHeader(Primary), goldenPrimary())
	s, _ := writeSecondary(t, testHeader(Secondary), goldenSecondary())
	if it := open(t, p, testHeader(Primary)).Secondary(); it.Next() || it.SeekTo("a") || it.Err() == nil {
		t.Error("secondary entries of a primary segment")
	}
	if it := open(t, s, testHeader(Secondary)).Primary(0); it.Next() || it.SeekTo(1) || it.Err() == nil {
		t.Error("primary entries of a secondary segment")
	}
	if _, ok, err := open(t, s, testHeader(Secondary)).Lookup(1); ok || err == nil {
		t.Error("a row of a secondary segment")
	}
}

// Entries cost no allocation, but a block of secondary ones one.
func TestIterationAllocates(t *testing.T) {
	h := testHeader(Primary)
	file, _ := writePrimary(t, h, primaryRows(rand.New(rand.NewPCG(6, 6)), 50_000))
	r := open(t, file, h)
	if n := testing.AllocsPerRun(5, func() {
		for it := r.Primary(math.MinInt64); it.Next(); {
		}
	}); n > float64(20+len(r.dir.blocks)) {
		t.Errorf("%v allocations for %d blocks", n, len(r.dir.blocks))
	}
	h = testHeader(Secondary)
	file, _ = writeSecondary(t, h, secondaryKeys(rand.New(rand.NewPCG(6, 6)), 50_000, 16))
	r = open(t, file, h)
	if n := testing.AllocsPerRun(5, func() {
		for it := r.Secondary(); it.Next(); {
		}
	}); n > float64(80+3*len(r.dir.blocks)) {
		t.Error(fmt.Sprint(n, " allocations for ", len(r.dir.blocks), " blocks"))
	}
}
