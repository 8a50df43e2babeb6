package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// besideRows is the size of the table, and besideWindow how long commits are timed
// without a compaction before they are timed with one.
const (
	besideRows   = 100_000
	besideWindow = time.Second
)

// commitTimes runs writers that commit a row each until stop says so, and returns how
// long each commit took, ascending.
func commitTimes(b *testing.B, s *Store, writers int, stop func() bool) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(rand.Uint64(), 2))
			var times []time.Duration
			for !stop() {
				id := rng.Int64N(besideRows)
				start := time.Now()
				lsn, err := tryUpdate(s, put("t", id, id, "changed"+strings.Repeat("y", 220)))
				if err == nil {
					err = s.WaitDurable(context.Background(), lsn)
				}
				if err != nil {
					b.Error(err)
					return
				}
				times = append(times, time.Since(start))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, times...)
		})
	}
	running.Wait()
	slices.Sort(all)
	return all
}

// quantile of times, which ascend.
func quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	return float64(times[min(len(times)-1, int(q*float64(len(times))))].Nanoseconds()) / 1e3
}

// changeHalf gives a compaction of its own accord what it has when it is due: half of
// the rows changed.
func changeHalf(b *testing.B, s *Store, round int) {
	var lsn LSN
	for from := int64(0); from < besideRows; from += 1000 {
		lsn = update(b, s, func(tx *Tx) error {
			for id := from + int64(round%2); id < from+1000; id += 2 {
				if err := put("t", id, id, fmt.Sprintf("%d%s", round, strings.Repeat("z", 226)))(tx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	wait(b, s, lsn)
}

// BenchmarkCommitBesideCompaction is the latency of single-row commits to a table of
// 100,000 rows of 250 bytes, without a compaction and with one: in the background, as
// it runs by itself, one whenever half of the rows were changed, and unthrottled, as
// somebody asked for it, one after the other. Both are measured in turns, b.N commits
// or more beside compactions: what else the machine does weighs on both, and
// p99-times, the ratio, is the median of the turns.
func BenchmarkCommitBesideCompaction(b *testing.B) {
	for _, resident := range []Resident{ResidentAll, ResidentKeys} {
		for _, auto := range []bool{true, false} {
			for _, writers := range []int{1, 4} {
				how := "unthrottled"
				if auto {
					how = "background"
				}
				b.Run(fmt.Sprintf("%s/%s/writers=%d", resident, how, writers), func(b *testing.B) {
					commitBesideCompaction(b, resident, auto, writers)
				})
			}
		}
	}
}

func commitBesideCompaction(b *testing.B, resident Resident, auto bool, writers int) {
	s, err := Open(b.Context(), Options{Dir: b.TempDir(), Create: true, NoCompaction: true})
	must(b, err)
	defer func() { must(b, s.Close()) }()
	fillForCompaction(b, s, resident, besideRows, 0)
	must(b, s.Compact(b.Context(), nil))
	compact := func() error {
		_, err := s.RunJob(b.Context(), JobRequest{Kind: JobCompact, auto: auto})
		return err
	}
	var alone, beside []time.Duration
	var times []float64
	before := s.Metrics()
	b.ResetTimer()
	for round := 0; len(beside) < b.N; round++ {
		until := time.Now().Add(besideWindow)
		quiet := commitTimes(b, s, writers, func() bool { return !time.Now().Before(until) })
		if auto {
			changeHalf(b, s, round)
		}
		until = time.Now().Add(besideWindow)
		var done atomic.Bool
		ended := make(chan error, 1)
		go func() {
			err := compact()
			for !auto && err == nil && time.Now().Before(until) {
				err = compact()
			}
			done.Store(true)
			ended <- err
		}()
		busy := commitTimes(b, s, writers, done.Load)
		must(b, <-ended)
		if b.Failed() {
			return
		}
		alone, beside = append(alone, quiet...), append(beside, busy...)
		times = append(times, quantile(busy, 0.99)/quantile(quiet, 0.99))
	}
	b.StopTimer()
	m := s.Metrics()
	slices.Sort(alone)
	slices.Sort(beside)
	slices.Sort(times)
	b.ReportMetric(quantile(alone, 0.5), "alone-p50-us")
	b.ReportMetric(quantile(alone, 0.99), "alone-p99-us")
	b.ReportMetric(quantile(beside, 0.5), "p50-us")
	b.ReportMetric(quantile(beside, 0.99), "p99-us")
	b.ReportMetric(times[len(times)/2], "p99-times")
	b.ReportMetric(float64((m.CompactTime-before.CompactTime).Milliseconds())/float64(m.Compactions-before.Compactions), "ms/compaction")
	b.ReportMetric(0, "ns/op") // of no meaning: b.N commits are measured, and more
}
