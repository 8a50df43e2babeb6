package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// fillForCompaction makes a table of rows of 250 bytes, in random order, with one
// text index, and changes each of them as often.
func fillForCompaction(b *testing.B, s *Store, resident Resident, rows, changes int) {
	wait(b, s, update(b, s, createTableAs("t", resident)))
	order := rand.New(rand.NewPCG(1, 1)).Perm(rows)
	for n := range 1 + changes {
		var lsn LSN
		for part := range slices.Chunk(order, 1000) {
			lsn = update(b, s, func(tx *Tx) error {
				for _, i := range part {
					if err := put("t", int64(i), i, fmt.Sprintf("%08x%d%s", uint32(i)*2654435761, n, strings.Repeat("x", 222)))(tx); err != nil {
						return err
					}
				}
				return nil
			})
		}
		wait(b, s, lsn)
	}
}

// BenchmarkCompact compacts 100,000 rows of 250 bytes that were each changed three
// times, and opens the store before and after. write-MB/s is what is written of the
// base.
func BenchmarkCompact(b *testing.B) {
	for _, resident := range []Resident{ResidentAll, ResidentKeys} {
		b.Run(resident.String(), func(b *testing.B) {
			for range b.N {
				o := Options{Dir: b.TempDir(), Create: true, NoCompaction: true}
				s, err := Open(b.Context(), o)
				must(b, err)
				fillForCompaction(b, s, resident, 100_000, 3)
				must(b, s.Close())
				start := time.Now()
				s, err = Open(b.Context(), o)
				must(b, err)
				opened := time.Since(start)
				must(b, s.Checkpoint(b.Context(), nil))
				start = time.Now()
				must(b, s.Compact(b.Context(), nil))
				took, m := time.Since(start), s.Metrics()
				must(b, s.Close())
				start = time.Now()
				s, err = Open(b.Context(), o)
				must(b, err)
				b.ReportMetric(float64(opened.Milliseconds()), "open-log-ms")
				b.ReportMetric(float64(time.Since(start).Milliseconds()), "open-base-ms")
				b.ReportMetric(float64(m.CompactedBytes)/1e6/took.Seconds(), "write-MB/s")
				b.ReportMetric(float64(m.CompactPause.Microseconds()), "pause-us")
				must(b, s.Close())
			}
		})
	}
}

// BenchmarkCompactUpdates compacts a table of a million rows of 100 bytes, of which one
// in a hundred was changed: all of it, and what changed, which is looked for in the base
// when there is no primary index of it.
func BenchmarkCompactUpdates(b *testing.B) {
	for _, resident := range []Resident{ResidentAll, ResidentKeys} {
		for _, whole := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/whole=%t", resident, whole), func(b *testing.B) {
				const rows, part = 1_000_000, 10_000
				s, err := Open(b.Context(), Options{Dir: b.TempDir(), Create: true, NoCompaction: true, Sync: SyncOff})
				must(b, err)
				defer func() { must(b, s.Close()) }()
				must(b, err)
				update(b, s, createTableAs("t", resident))
				for from := range int64(rows / part) {
					update(b, s, func(tx *Tx) error {
						for id := from * part; id < (from+1)*part; id++ {
							if err := put("t", id, id, strings.Repeat("x", 80))(tx); err != nil {
								return err
							}
						}
						return nil
					})
				}
				wait(b, s, s.Head().LSN())
				compactKeeping(b, s, compactMode{})
				rng := rand.New(rand.NewPCG(1, 1))
				var wrote, took float64
				b.ResetTimer()
				for range b.N {
					b.StopTimer()
					update(b, s, func(tx *Tx) error {
						for range rows / 100 {
							id := rng.Int64N(rows)
							if err := put("t", id, id, strings.Repeat("y", 80))(tx); err != nil {
								return err
							}
						}
						return nil
					})
					wait(b, s, s.Head().LSN())
					must(b, s.Checkpoint(b.Context(), nil))
					b.StartTimer()
					start := time.Now()
					_, made := compactKeeping(b, s, compactMode{whole: whole})
					took += time.Since(start).Seconds()
					for _, f := range made.fresh {
						wrote += float64(f.info.Bytes)
					}
				}
				b.ReportMetric(wrote/float64(b.N)/1e6, "MB/compaction")
				b.ReportMetric(took/float64(b.N)*1e3, "ms/compaction")
			})
		}
	}
}
