package tree

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

const benchRows = 200_000

func benchIDs(random bool) []int64 {
	ids := make([]int64, benchRows)
	for i := range ids {
		ids[i] = int64(i)
	}
	if random {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	}
	return ids
}

func benchTree(random bool) *Rows {
	r := new(Rows)
	for _, id := range benchIDs(random) {
		r.Set(id, "a record of twenty bytes")
	}
	return r
}

// BenchmarkSet fills a tree of 200,000 rows; B/row is what it takes in the end.
func BenchmarkSet(b *testing.B) {
	for _, random := range []bool{false, true} {
		b.Run(map[bool]string{false: "ascending", true: "random"}[random], func(b *testing.B) {
			ids := benchIDs(random)
			b.ReportAllocs()
			var r *Rows
			for b.Loop() {
				r = new(Rows)
				for _, id := range ids {
					r.Set(id, "a record of twenty bytes")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			had := m.HeapInuse
			runtime.KeepAlive(r)
			r = nil
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(had-m.HeapInuse)/benchRows, "B/row")
		})
	}
}

// BenchmarkKeysSet adds index entries in random order.
func BenchmarkKeysSet(b *testing.B) {
	ids := benchIDs(true)
	key := make([]byte, 0, 40)
	for b.Loop() {
		var k Keys
		for _, id := range ids {
			key = append(key[:0], "\x03a text of "...)
			for d := int64(100_000_000); d > 0; d /= 10 {
				key = append(key, byte('0'+id/d%10))
			}
			key = append(key, 0, 1, 0x80, 0, 0, 0, byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
			k.Set(key)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/entry")
}

// BenchmarkLoad makes trees of what comes in order: rows whose ids are close together,
// rows whose ids are not, and index entries.
func BenchmarkLoad(b *testing.B) {
	for _, step := range []int64{1, 1 << 40} {
		b.Run(map[int64]string{1: "rows", 1 << 40: "far rows"}[step], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var l RowLoader
				for id := range int64(benchRows) {
					l.Add(id*step, []byte("a record of twenty bytes"))
				}
				l.Rows()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
	b.Run("keys", func(b *testing.B) {
		s := NewSorter(benchRows)
		for _, id := range benchIDs(false) {
			s.Add(binary.BigEndian.AppendUint64([]byte("\x03some"), uint64(id)))
		}
		var entries [][]byte
		for e := range s.All() {
			entries = append(entries, []byte(e))
		}
		b.ReportAllocs()
		b.ResetTimer()
		for b.Loop() {
			var l KeyLoader
			for _, e := range entries {
				l.Add(e)
			}
			l.Keys()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/entry")
	})
}

func BenchmarkGet(b *testing.B) {
	r, ids := benchTree(true), benchIDs(true)
	i := 0
	for b.Loop() {
		if _, ok := r.Get(ids[i%benchRows]); !ok {
			b.Fatal("missing")
		}
		i++
	}
}

func BenchmarkAscend(b *testing.B) {
	r := benchTree(false)
	for b.Loop() {
		n := 0
		r.Ascend(0, func(_ int64, rec row.Record) bool { n += len(rec); return true })
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

// BenchmarkChangeAfterCopy is what the first change of a row costs a
// transaction: copies of the nodes on its path.
func BenchmarkChangeAfterCopy(b *testing.B) {
	r, ids := benchTree(true), benchIDs(true)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		r = r.IsoCopy()
		r.Set(ids[i%benchRows], "another record of 20 ...")
		i++
	}
}
