package engine

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkIndexJob writes the segments of a table with two indexes, the primary one
// included that is three, from a base that has none yet.
func BenchmarkIndexJob(b *testing.B) {
	const rows, batch = 1_000_000, 10_000
	s := openStore(b, Options{Dir: b.TempDir(), NoCompaction: true})
	wait(b, s, update(b, s, createKeys("k", 3)))
	for from := int64(0); from < rows; from += batch {
		wait(b, s, update(b, s, func(tx *Tx) error {
			h := tx.Handle(tx.Schema().Lookup("k").Table.ID)
			for id := from; id < from+batch; id++ {
				if err := h.Insert(id, testRecord(id*7919%rows, fmt.Sprintf("text %d", id*31%9973), "some more text of a row")); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	s.compactor.unindexed = true
	must(b, s.Compact(b.Context(), nil))
	for b.Loop() {
		start := time.Now()
		must(b, s.Index(b.Context(), "", nil))
		m := s.Metrics()
		b.ReportMetric(float64(rows)/time.Since(start).Seconds(), "rows/s")
		b.ReportMetric(float64(m.SegmentBytes)/rows, "bytes/row")
		if m.SegmentsWritten != 3 {
			b.Fatalf("%d segments", m.SegmentsWritten)
		}
	}
}
