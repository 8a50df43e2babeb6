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

// BenchmarkPublish adds one generation to a head of ten thousand. The metrics are
// milliseconds, medians: of each transaction, of all four, and of their commits alone,
// which are the disk's. A call has the catalog's write lock for all of its time but
// the way to it.
func BenchmarkPublish(b *testing.B) {
	b.Run("no-index", func(b *testing.B) { benchPublish(b, false) })
	b.Run("index-lags", func(b *testing.B) { benchPublish(b, true) })
}

func benchPublish(b *testing.B, lags bool) {
	var commits time.Duration
	seam := &Seam{Commit: func(_ string, commit func() error) error {
		start := time.Now()
		defer func() { commits += time.Since(start) }()
		return commit()
	}}
	c, err := Open(b.Context(), Options{Dir: b.TempDir(), Create: true, Fault: seam})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Initialize(b.Context(), Creation{}); err != nil {
		b.Fatal(err)
	}
	l := newLog(b, c)
	ctx := b.Context()
	if lags {
		l.lagging()
	}
	head := l.publish(l.rotateMany(10_000)...).Head
	steps := map[string][]time.Duration{}
	for b.Loop() {
		b.StopTimer()
		p := l.cut(head, l.rotateMany(1)...)
		commits = 0
		b.StartTimer()
		var prepared *Prepared
		var attempting *Attempting
		var adopted *Adopted
		all := time.Duration(0)
		timed := func(name string, step func() error) {
			start := time.Now()
			if err := step(); err != nil {
				b.Fatal(err)
			}
			took := time.Since(start)
			steps[name], all = append(steps[name], took), all+took
		}
		timed("prepare", func() (err error) { prepared, err = c.Prepare(ctx, p); return err })
		timed("begin", func() (err error) { attempting, err = prepared.Begin(ctx); return err })
		timed("adopt", func() (err error) { adopted, err = attempting.Adopt(ctx); return err })
		timed("retire", func() error { return adopted.Retire(ctx) })
		steps["all"], steps["commits"] = append(steps["all"], all), append(steps["commits"], commits)
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
