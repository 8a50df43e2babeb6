package vfs

import (
	"bytes"
	"testing"
)

// TestMapReadsAhead reads pieces of every size at every kind of place: what the
// kernel is told of large ones must not change what is read.
func TestMapReadsAhead(t *testing.T) {
	f := OS(t.TempDir())
	want := make([]byte, 5*readAhead+123)
	for i := range want {
		want[i] = byte(i * i >> 7)
	}
	file := create(t, f, "a", string(want))
	defer file.Close()
	m, err := file.Map()
	ok(t, err)
	for _, n := range []int{1, 4096, readAhead - 1, readAhead, 3*readAhead + 1, len(want)} {
		for _, off := range []int{0, 1, 4095, 4096, readAhead + 17, len(want) - 1, len(want)} {
			p := make([]byte, n)
			got, err := m.ReadAt(p, int64(off))
			if there := want[off:min(off+n, len(want))]; !bytes.Equal(p[:got], there) || (err != nil) != (len(there) < n) {
				t.Errorf("%d bytes at %d: %d, %v", n, off, got, err)
			}
		}
	}
	ok(t, m.Close())
}
