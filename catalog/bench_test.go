package catalog

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkCreate makes a store, BenchmarkOpen opens and closes one,
// BenchmarkWrite is one small transaction.
func BenchmarkCreate(b *testing.B) {
	for b.Loop() {
		c, err := Open(b.Context(), Options{Dir: b.TempDir(), Create: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.Initialize(b.Context(), Creation{}); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func benchStore(b *testing.B) (string, *Catalog, State) {
	b.Helper()
	dir := b.TempDir()
	c, err := Open(b.Context(), Options{Dir: dir, Create: true})
	if err != nil {
		b.Fatal(err)
	}
	s, err := c.Initialize(b.Context(), Creation{})
	if err != nil {
		b.Fatal(err)
	}
	return dir, c, s
}

func BenchmarkOpen(b *testing.B) {
	dir, c, _ := benchStore(b)
	if err := c.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, err := Open(b.Context(), Options{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	_, c, s := benchStore(b)
	for b.Loop() {
		if _, err := c.BumpEpoch(b.Context(), s.Shards[0].ID); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkState(b *testing.B) {
	_, c, _ := benchStore(b)
	for b.Loop() {
		if _, err := c.State(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkPublish adds one generation to a head of ten thousand; the metrics are
// the median milliseconds of each transaction.
func BenchmarkPublish(b *testing.B) {
	_, c, _ := benchStore(b)
	l := newLog(b, c)
	ctx := b.Context()
	head := l.publish(l.rotateMany(10_000)...).Head
	steps := map[string][]time.Duration{}
	timed := func(name string, step func() error) {
		start := time.Now()
		if err := step(); err != nil {
			b.Fatal(err)
		}
		steps[name] = append(steps[name], time.Since(start))
	}
	for b.Loop() {
		b.StopTimer()
		p := l.cut(head, l.rotateMany(1)...)
		b.StartTimer()
		var prepared *Prepared
		var attempting *Attempting
		var adopted *Adopted
		timed("prepare", func() (err error) { prepared, err = c.Prepare(ctx, p); return err })
		timed("begin", func() (err error) { attempting, err = prepared.Begin(ctx); return err })
		timed("adopt", func() (err error) { adopted, err = attempting.Adopt(ctx); return err })
		timed("retire", func() error { return adopted.Retire(ctx) })
		head = adopted.Head
	}
	for name, d := range steps {
		slices.Sort(d)
		b.ReportMetric(float64(d[len(d)/2].Microseconds())/1000, name+"-p50-ms")
	}
	if err := c.Close(ctx); err != nil {
		b.Fatal(err)
	}
}
