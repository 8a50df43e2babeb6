package segment

import (
	"math"
	"math/rand/v2"
	"testing"
)

const benchEntries = 200_000

func BenchmarkWritePrimary(b *testing.B) {
	es := primaryRows(rand.New(rand.NewPCG(1, 1)), benchEntries)
	b.ReportAllocs()
	for b.Loop() {
		writePrimary(b, testHeader(Primary), es)
	}
	perEntry(b, len(es))
}

func BenchmarkWriteSecondary(b *testing.B) {
	es := secondaryKeys(rand.New(rand.NewPCG(1, 1)), benchEntries, 16)
	b.ReportAllocs()
	for b.Loop() {
		writeSecondary(b, testHeader(Secondary), es)
	}
	perEntry(b, len(es))
}

func BenchmarkPrimary(b *testing.B) {
	es := primaryRows(rand.New(rand.NewPCG(1, 1)), benchEntries)
	file, _ := writePrimary(b, testHeader(Primary), es)
	r := open(b, file, testHeader(Primary))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		it := r.Primary(math.MinInt64)
		for it.Next() {
			n += int(it.Entry().Size)
		}
		if n == 0 || it.Err() != nil {
			b.Fatal(it.Err())
		}
	}
	perEntry(b, len(es))
}

func BenchmarkSecondary(b *testing.B) {
	es := secondaryKeys(rand.New(rand.NewPCG(1, 1)), benchEntries, 16)
	file, _ := writeSecondary(b, testHeader(Secondary), es)
	r := open(b, file, testHeader(Secondary))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		it := r.Secondary()
		for it.Next() {
			n += len(it.Entry().Key)
		}
		if n == 0 || it.Err() != nil {
			b.Fatal(it.Err())
		}
	}
	perEntry(b, len(es))
}

// A merge of one segment, a batch at a time.
func BenchmarkMergeBatches(b *testing.B) {
	es := secondaryKeys(rand.New(rand.NewPCG(1, 1)), benchEntries, 16)
	file, _ := writeSecondary(b, testHeader(Secondary), es)
	r := open(b, file, testHeader(Secondary))
	b.ReportAllocs()
	for b.Loop() {
		m, n := NewMerge([]*Reader{r}, nil), 0
		for m.NextBatch() {
			for i := range m.Batch().Len() {
				n += len(m.Batch().Key(i))
			}
		}
		if n == 0 || m.Err() != nil {
			b.Fatal(m.Err())
		}
	}
	perEntry(b, len(es))
}

// A merge of four segments of which each entry is live.
func BenchmarkMerge(b *testing.B) {
	for _, k := range []Kind{Primary, Secondary} {
		b.Run(k.String(), func(b *testing.B) {
			ps := primaryRows(rand.New(rand.NewPCG(1, 1)), benchEntries)
			ss := secondaryKeys(rand.New(rand.NewPCG(1, 1)), benchEntries, 16)
			var rs []*Reader
			n := 0
			for i := range 4 {
				var file []byte
				if k == Primary {
					file, _ = writePrimary(b, testHeader(k), everyFourth(ps, i))
				} else {
					file, _ = writeSecondary(b, testHeader(k), everyFourth(ss, i))
				}
				rs = append(rs, open(b, file, testHeader(k)))
				n += int(rs[i].Entries())
			}
			b.ReportAllocs()
			for b.Loop() {
				m := NewMerge(rs, func(uint64, uint32) bool { return true })
				have := 0
				for m.Next() {
					have++
				}
				if have != n || m.Err() != nil {
					b.Fatal(have, m.Err())
				}
			}
			perEntry(b, n)
		})
	}
}

func everyFourth[E any](es []E, from int) (out []E) {
	for i := from; i < len(es); i += 4 {
		out = append(out, es[i])
	}
	return out
}

// A row is looked up alone, and with SeekTo every hundredth row in order.
func BenchmarkLookup(b *testing.B) {
	es := primaryRows(rand.New(rand.NewPCG(1, 1)), benchEntries)
	file, _ := writePrimary(b, testHeader(Primary), es)
	r := open(b, file, testHeader(Primary))
	b.Run("alone", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			want := es[i*7919%len(es)]
			if e, ok, err := r.Lookup(want.Rowid); !ok || err != nil || e != want {
				b.Fatal(e, ok, err)
			}
		}
	})
	b.Run("in order", func(b *testing.B) {
		for b.Loop() {
			it := r.Primary(math.MinInt64)
			for i := 0; i < len(es); i += 100 {
				if !it.SeekTo(es[i].Rowid) || it.Entry() != es[i] {
					b.Fatal(it.Err())
				}
			}
		}
		perEntry(b, len(es)/100)
	})
}

func perEntry(b *testing.B, entries int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entries), "ns/entry")
}
