package catalog

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// benchLog is a store whose head has n generations.
func benchLog(b *testing.B, n int) *log {
	b.Helper()
	_, c, _ := benchStore(b)
	b.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	l := newLog(b, c)
	l.publish(l.rotateMany(n)...)
	return l
}

// BenchmarkCompact puts a base in the place of a part of a head of many
// generations, the first time in that of generations, then in that of the base
// before; the metrics are the milliseconds of each transaction, the first time and
// the median of the others.
func BenchmarkCompact(b *testing.B) {
	for _, x := range []struct{ generations, kept int }{{100, 10}, {10_000, 10}, {10_000, 5_000}, {10_000, 9_990}} {
		b.Run(fmt.Sprintf("generations=%d/kept=%d", x.generations, x.kept), func(b *testing.B) {
			ctx := b.Context()
			l := benchLog(b, x.generations)
			s, err := l.c.State(ctx)
			if err != nil {
				b.Fatal(err)
			}
			head := s.Timeline
			job := l.compact(int64(x.generations-x.kept), 4)
			steps := map[string][]time.Duration{}
			timed := func(name string, step func() error) {
				start := time.Now()
				if err := step(); err != nil {
					b.Fatal(err)
				}
				steps[name] = append(steps[name], time.Since(start))
			}
			for b.Loop() {
				var prepared *Prepared
				var attempting *Attempting
				var adopted *Adopted
				timed("prepare", func() (err error) { prepared, err = l.c.Prepare(ctx, job.publication(head)); return err })
				timed("begin", func() (err error) { attempting, err = prepared.Begin(ctx); return err })
				timed("adopt", func() (err error) { adopted, err = attempting.Adopt(ctx); return err })
				timed("retire", func() error { return adopted.Retire(ctx) })
				head = adopted.Head
			}
			for name, d := range steps {
				b.ReportMetric(float64(d[0].Microseconds())/1000, name+"-first-ms")
				if d = d[1:]; len(d) > 0 {
					slices.Sort(d)
					b.ReportMetric(float64(d[len(d)/2].Microseconds())/1000, name+"-p50-ms")
				}
			}
		})
	}
}

// BenchmarkGarbage asks a store without garbage for it.
func BenchmarkGarbage(b *testing.B) {
	for _, n := range []int{1, 10, 100, 10_000} {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			l := benchLog(b, n)
			for b.Loop() {
				if list, err := l.c.Garbage(b.Context(), 256); err != nil || len(list) != 0 {
					b.Fatal(list, err)
				}
			}
		})
	}
}

// BenchmarkCollect claims and collects batches of generations.
func BenchmarkCollect(b *testing.B) {
	ctx := b.Context()
	l := benchLog(b, 20_000)
	s, err := l.c.State(ctx)
	if err != nil {
		b.Fatal(err)
	}
	l.publishBase(s.Timeline, l.compact(19_990, 1))
	var took [3]time.Duration
	n := 0
	for b.Loop() {
		start := time.Now()
		list, err := l.c.Garbage(ctx, 256)
		if err != nil || len(list) == 0 {
			b.Fatal(list, err)
		}
		took[0] += time.Since(start)
		start = time.Now()
		claimed, err := l.c.Claim(ctx, idsOf(list))
		if err != nil || len(claimed) != len(list) {
			b.Fatal(err)
		}
		took[1] += time.Since(start)
		start = time.Now()
		if err := l.c.Collected(ctx, idsOf(claimed)); err != nil {
			b.Fatal(err)
		}
		took[2] += time.Since(start)
		n++
	}
	for i, name := range []string{"garbage", "claim", "collected"} {
		b.ReportMetric(float64(took[i].Microseconds())/1000/float64(n), name+"-ms")
	}
}
