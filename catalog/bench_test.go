package catalog

import "testing"

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
