package engine

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// BenchmarkSync is the floor of a commit: one write into a preallocated file
// and one data sync.
func BenchmarkSync(b *testing.B) {
	fs := vfs.OS(b.TempDir())
	f, err := fs.Create("f")
	must(b, err)
	defer f.Close()
	must(b, f.Preallocate(64<<20))
	must(b, f.Sync())
	buf := make([]byte, 120)
	times := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for i := range b.N {
		start := time.Now()
		_, err := f.WriteAt(buf, int64(i*len(buf)%(60<<20)))
		must(b, err)
		must(b, f.SyncData())
		times = append(times, time.Since(start))
	}
	reportP50(b, times)
}

func reportP50(b *testing.B, times []time.Duration) {
	sort.Slice(times, func(i, j int) bool { return times[i] < times[j] })
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
}

// BenchmarkCommit is one writer, every commit acknowledged.
func BenchmarkCommit(b *testing.B) {
	s := benchStore(b, nil)
	times := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for i := range b.N {
		start := time.Now()
		wait(b, s, update(b, s, put("t", int64(i), i, "some twenty bytes ...")))
		times = append(times, time.Since(start))
	}
	b.StopTimer()
	reportP50(b, times)
}

// BenchmarkCommitParallel is 16 and 64 writers.
func BenchmarkCommitParallel(b *testing.B) {
	for _, writers := range []int{16, 64} {
		b.Run(map[int]string{16: "16", 64: "64"}[writers], func(b *testing.B) {
			s := benchStore(b, nil)
			var id atomic.Int64
			b.SetParallelism(writers)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := id.Add(1)
					lsn, err := tryUpdate(s, put("t", i, i, "some twenty bytes ..."))
					if err == nil {
						err = s.WaitDurable(context.Background(), lsn)
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.StopTimer()
			b.ReportMetric(s.Metrics().MeanBatch(), "commits/sync")
		})
	}
}

// BenchmarkCommitInMemory is a commit without a disk.
func BenchmarkCommitInMemory(b *testing.B) {
	m := vfs.NewMem()
	m.SetJournalLimit(0)
	s := benchStore(b, m)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		wait(b, s, update(b, s, put("t", int64(i), i, "some twenty bytes ...")))
	}
}

// BenchmarkCommitShards is 16 writers of transactions that fall into one shard
// each, and of ones that fall into many.
func BenchmarkCommitShards(b *testing.B) {
	for _, shards := range []int{1, 4, 16} {
		for _, rows := range []int64{1, 10} {
			b.Run(fmt.Sprintf("%d shards, %d rows", shards, rows), func(b *testing.B) {
				s := benchShards(b, nil, shards)
				var id atomic.Int64
				b.SetParallelism(16)
				b.ReportAllocs()
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						var steps []func(*Tx) error
						for i := id.Add(rows); len(steps) < int(rows); i-- {
							steps = append(steps, put("t", i, i, "some twenty bytes ..."))
						}
						lsn, err := tryUpdate(s, all(steps...))
						if err == nil {
							err = s.WaitDurable(context.Background(), lsn)
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
				b.StopTimer()
				b.ReportMetric(s.Metrics().MeanBatch(), "commits/sync")
			})
		}
	}
}

func benchStore(b *testing.B, fs vfs.FS) *Store { return benchShards(b, fs, 1) }

func benchShards(b *testing.B, fs vfs.FS, shards int) *Store {
	s, err := Open(b.Context(), Options{Dir: b.TempDir(), FS: fs, Create: true, Shards: shards})
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	wait(b, s, update(b, s, createTable("t")))
	return s
}

// BenchmarkRecovery opens a store with a log of 50 MB: rows of 250 bytes, not in
// the order of their ids, with one text index. replay-MB/s is of the fastest open:
// there is always somebody who makes one slower.
func BenchmarkRecovery(b *testing.B) {
	dir := b.TempDir()
	o := Options{Dir: dir, Create: true}
	s, err := Open(b.Context(), o)
	must(b, err)
	wait(b, s, update(b, s, createTable("t")))
	const rows = 200_000
	for i := 0; i < rows; {
		var lsn LSN
		for range 100 {
			lsn = update(b, s, func(tx *Tx) error {
				for range 10 {
					i++
					if err := put("t", int64(i*7919%1_000_003), i, fmt.Sprintf("%08x%s", uint32(i)*2654435761, strings.Repeat("x", 222)))(tx); err != nil {
						return err
					}
				}
				return nil
			})
		}
		wait(b, s, lsn)
	}
	must(b, s.Close())
	b.ResetTimer()
	fastest := 0.0
	for range b.N {
		start := time.Now()
		s, err := Open(b.Context(), o)
		must(b, err)
		bytes := s.Metrics().RecoveredBytes
		fastest = max(fastest, float64(bytes)/1e6/time.Since(start).Seconds())
		b.SetBytes(bytes)
		b.StopTimer()
		must(b, s.Close())
		b.StartTimer()
	}
	b.ReportMetric(fastest, "replay-MB/s")
}
