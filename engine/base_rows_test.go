package engine

import (
	"errors"
	"testing"
)

// Files that are read side by side give what they give one after another: the same
// state, or the same error, whichever file is damaged where.
func TestBaseSideBySide(t *testing.T) {
	sp := newSegmentSpecimen(t, true).specimen
	if len(sp.state.Base) < 3 {
		t.Fatalf("%d files", len(sp.state.Base))
	}
	alone, err := sp.scan()
	must(t, err)
	defer func(n int64) { baseParallel = n }(baseParallel)
	side := func(bytes int64) (*Snapshot, error) {
		baseParallel = bytes
		return sp.scan()
	}
	snap, err := side(0)
	must(t, err)
	verifyRoot(t, (*root)(snap))
	if dump(snap) != dump(alone) {
		t.Errorf("%s\nwant:\n%s", dump(snap), dump(alone))
	}
	for _, b := range sp.state.Base {
		data := readFile(t, sp.mem, b.Path)
		file, err := sp.mem.Open(b.Path)
		must(t, err)
		for off := int64(0); off < int64(len(data)); off += 97 {
			_, err := file.WriteAt([]byte{data[off] ^ 8}, off)
			must(t, err)
			var one, two *CorruptError
			_, err1 := side(1 << 40)
			_, err2 := side(0)
			if !errors.As(err1, &one) || !errors.As(err2, &two) || one.File != two.File || one.Offset != two.Offset || one.Reason != two.Reason {
				t.Fatalf("byte %d of %s: %v, side by side: %v", off, b.Path, err1, err2)
			}
			_, err = file.WriteAt(data[off:off+1], off)
			must(t, err)
		}
		must(t, file.Close())
	}
}
