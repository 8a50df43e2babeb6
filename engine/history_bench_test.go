package engine

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// pastStore has ten tables of 50,000 rows each, in a base, that were changed since it
// had the branch point "bp".
func pastStore(b *testing.B) *Store {
	b.Helper()
	s := openStore(b, Options{Dir: b.TempDir(), NoCompaction: true})
	manyTables(b, s, 10, 50_000, strings.Repeat("x", 100))
	must(b, s.Compact(b.Context(), nil))
	branch(b, s, "bp")
	return s
}

// BenchmarkOpenPast opens a branch point and reads one row of one table; the metric is
// what stays in memory for that.
func BenchmarkOpenPast(b *testing.B) {
	s := pastStore(b)
	bytes := int64(0)
	for b.Loop() {
		snap := at(b, s, "bp")
		if _, found, err := tableAt(snap, "t4").Get(25_000); err != nil || !found {
			b.Fatal(found, err)
		}
		bytes = 0
		for n := range 10 {
			bytes += tableAt(snap, fmt.Sprint("t", n)).ResidentBytes()
		}
		s.histories.letGo(s.histories.recent[0].representation)
		clear(s.histories.last)
	}
	b.ReportMetric(float64(bytes), "bytes-held")
}

// BenchmarkScanPast reads all rows of a table, as it was and as it is.
func BenchmarkScanPast(b *testing.B) {
	s := pastStore(b)
	for name, table := range map[string]*Table{"past": tableAt(at(b, s, "bp"), "t4"), "present": tableOf(s, "t4")} {
		b.Run(name, func(b *testing.B) {
			buf := make([]Entry, 128)
			for b.Loop() {
				scan, rows := table.Scan(math.MinInt64, math.MaxInt64, false), 0
				for n := len(buf); n == len(buf); rows += n {
					var err error
					n, err = scan.Next(buf)
					must(b, err)
				}
				if rows != 50_000 {
					b.Fatal(rows)
				}
			}
		})
	}
}
