package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Counts are exact, both of a published table and of a transaction's.
func TestStatisticsCount(t *testing.T) {
	s := openStore(t, Options{})
	wait(t, s, update(t, s, createTable("t")))
	wait(t, s, update(t, s, func(tx *Tx) error {
		def := tx.Schema().Lookup("t").Table
		return tx.Apply(CreateIndex{Table: def.ID, Index: testIndex("t_ab", false, 0, 1)})
	}))
	r := rand.New(rand.NewPCG(1, 2))
	const n = 3000
	ids := map[int64]int64{}
	wait(t, s, update(t, s, func(tx *Tx) error {
		def := tx.Schema().Lookup("t").Table
		h := tx.Handle(def.ID)
		for range n {
			id, a := r.Int64N(10*n)-5*n, r.Int64N(100)
			if _, taken := ids[id]; taken {
				continue
			}
			ids[id] = a
			if err := h.Insert(id, testRecord(int(a), "x")); err != nil {
				return err
			}
		}
		check := func(st Statistics) {
			for range 200 {
				lo, hi := r.Int64N(12*n)-6*n, r.Int64N(12*n)-6*n
				want := 0
				for id := range ids {
					if lo <= id && id <= hi {
						want++
					}
				}
				if have := st.Rows(lo, hi); have != want {
					t.Errorf("rows in [%d, %d]: %d, want %d", lo, hi, have, want)
				}
			}
			if have := st.Rows(math.MinInt64, math.MaxInt64); have != len(ids) {
				t.Errorf("all rows: %d, want %d", have, len(ids))
			}
			for a := range int64(100) {
				want := 0
				for _, v := range ids {
					if v == a {
						want++
					}
				}
				lo := string(row.AppendKey(nil, row.IntValue(a), row.Binary, false))
				if have := st.Keys(1, lo, lo+row.KeyAfter); have != want {
					t.Errorf("keys %d: %d, want %d", a, have, want)
				}
			}
			for k, e := range st.Sample(40) {
				if _, ok := ids[e.Rowid]; !ok {
					t.Errorf("row %d of the sample, %d, is not in the table", k, e.Rowid)
				}
			}
			if have := len(st.Sample(40)); have != 40 {
				t.Errorf("a sample of 40 has %d rows", have)
			}
			mean := float64(len(ids)) / 100
			if have := st.PerKey(1, 1); have < mean/2 || have > mean*2 {
				t.Errorf("rows per key: %v, want about %v", have, mean)
			}
		}
		check(h.Statistics())
		check(tx.View(def.ID).Statistics())
		return nil
	}))
}
