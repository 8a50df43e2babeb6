package tree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// memory is what is in use once the garbage is gone: objects, and the pages they
// lie in.
type memory struct{ objects, pages int64 }

func memoryNow() memory {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{int64(m.HeapAlloc), int64(m.HeapInuse)}
}

// compare holds an estimate against what came to be in use. Holes that whole
// rewrites leave between objects are nobody's, and filled by what comes next: holes
// says that there are such.
func (before memory) compare(t *testing.T, what string, estimate int64, holes bool) {
	t.Helper()
	now := memoryNow()
	actual := now.pages - before.pages
	if holes {
		actual = now.objects - before.objects
	}
	off := float64(estimate)/float64(actual) - 1
	t.Logf("%s: estimate %d, objects %d, pages %d: %+.1f%%", what, estimate, now.objects-before.objects, now.pages-before.pages, 100*off)
	if math.Abs(off) > 0.10 {
		t.Errorf("%s: estimate %d, actual %d: %+.1f%%", what, estimate, actual, 100*off)
	}
}

// TestMemory: ENG-AT-37: what a tree is said to take is within a tenth of what it
// takes: with short and long entries, filled in order and at random, loaded as at
// an open, with every row updated, and with half of them deleted.
func TestMemory(t *testing.T) {
	for _, fill := range []struct {
		name string
		key  func(i int) int64
	}{
		{"ascending", func(i int) int64 { return int64(i) }},
		{"spread", func(i int) int64 { return int64(uint32(1 + i*2654435761)) }},
	} {
		for _, length := range []int{6, 40, 160, 900} {
			n, holes := 100_000, fill.name != "ascending"
			if length > 100 {
				n = 30_000
			}
			rec := row.Record(make([]byte, length))
			t.Run(fmt.Sprintf("rows %s %d", fill.name, length), func(t *testing.T) {
				before := memoryNow()
				r := new(Rows)
				for i := range n {
					r.Set(fill.key(i), rec)
				}
				before.compare(t, "filled", r.Memory(), holes)
				r.Merge(nil)
				before.compare(t, "loaded", r.Memory(), false)
				for i := range n {
					r.Set(fill.key(i), rec)
				}
				before.compare(t, "updated", r.Memory(), true)
				for i := 0; i < n; i += 2 {
					r.Delete(fill.key(i))
				}
				r.Merge(nil)
				before.compare(t, "half", r.Memory(), false)
				runtime.KeepAlive(r)
			})
			if length > 160 {
				continue
			}
			t.Run(fmt.Sprintf("keys %s %d", fill.name, length), func(t *testing.T) {
				before := memoryNow()
				k := new(Keys)
				var b []byte
				for i := range n {
					b = append(fmt.Appendf(b[:0], "%016x", fill.key(i)), rec...)
					k.Set(b)
				}
				before.compare(t, "filled", k.Memory(), true)
				runtime.KeepAlive(k)
			})
		}
	}
}

// TestMemoryOfLong: a long entry that was replaced or removed leaves nothing.
func TestMemoryOfLong(t *testing.T) {
	r := new(Rows)
	for i := range int64(50) {
		r.Set(i, "short")
	}
	before, long := r.Memory(), row.Record(make([]byte, 100_000))
	r.Set(7, long)
	if got := r.Memory(); got < before+100_000 {
		t.Errorf("a long row: %d bytes, were %d", got, before)
	}
	r.Set(7, "short")
	if got := r.Memory(); got > before+2*maxBytes {
		t.Errorf("short again: %d bytes, were %d", got, before)
	}
	r.Set(70, long)
	r.Delete(70)
	if got := r.Memory(); got > before+2*maxBytes {
		t.Errorf("removed: %d bytes, were %d", got, before)
	}
	check(t, &r.t)
}

// TestMemoryOfDeletes: rows that come and go leave the estimate about as it was,
// and a row that replaces one of its size exactly so.
func TestMemoryOfDeletes(t *testing.T) {
	r, rec := new(Rows), row.Record("a record of some length")
	const n = 20_000
	for i := range int64(n) {
		r.Set(i, rec)
	}
	full := r.Memory()
	r.Delete(17)
	r.Set(n, rec)
	if got := r.Memory(); got != full {
		t.Errorf("a row for a row: %d bytes, were %d", got, full)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range n / 2 {
		r.Set(n+1+rng.Int64N(1<<40), rec)
	}
	more := r.Memory()
	for r.Len() > n {
		id, _, _ := r.Max()
		r.Delete(id)
	}
	if got := r.Memory(); more <= full || math.Abs(float64(got-full)) > float64(full)/16 {
		t.Errorf("%d bytes with %d rows, %d with more, then %d", full, n, more, got)
	}
	for r.Len() > 0 {
		id, _, _ := r.GetAt(rng.IntN(r.Len()))
		r.Delete(id)
	}
	if got := r.Memory(); got != 0 {
		t.Errorf("no rows take %d bytes", got)
	}
}

// TestMemoryOfEmptyNodes: what leaves without entries took is given back with the
// nodes above them.
func TestMemoryOfEmptyNodes(t *testing.T) {
	r, rec := new(Rows), row.Record(make([]byte, 5000))
	for i := range int64(maxKids) * 6 {
		r.Set(i, rec)
	}
	for r.Len() > 10 {
		id, _, _ := r.Max()
		r.Delete(id)
		check(t, &r.t)
	}
	for r.Len() > 0 {
		id, _, _ := r.GetAt(0)
		r.Delete(id)
		check(t, &r.t)
	}
}
