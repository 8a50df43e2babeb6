package segment

import (
	"bytes"
	"context"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// goldenPrimary has every way that an entry is coded.
func goldenPrimary() []PrimaryEntry {
	return []PrimaryEntry{
		{math.MinInt64, Place{0, 0}, 0, 8},            // like the one before the first
		{-500, Place{0, 1}, 8, 8},                     // all of the one before
		{-499, Place{0, 2}, 16, 24},                   // another size
		{-498, Place{0, 5}, 40, 24},                   // another ordinal
		{-484, Place{0, 6}, 4096, 24},                 // another offset
		{-469, Place{3, 7}, 4120, 24},                 // another fragment
		{0, Place{0, 0}, 48, 1 << 20},                 // back
		{math.MaxInt64, Place{0, 0xffffffff}, 64, 80}, // the last
	}
}

func goldenSecondary() []SecondaryEntry {
	x := strings.Repeat("x", 100)
	return []SecondaryEntry{
		{"", Place{0, 0}, false},
		{"a", Place{0, 1}, true},
		{"ab", Place{2, 0xffffffff}, false},
		{"b", Place{2, 5}, false},
		{"x" + x[:62], Place{2, 6}, false},
		{x, Place{0, 7}, true},
		{x + "1", Place{1, 7}, false},
		{x + "2", Place{1, 7}, false},
	}
}

// The golden files are what version 1 of the format wrote. Every later version opens
// them. They are written anew only together with a new number in their names.
func TestGolden(t *testing.T) {
	h := testHeader(Primary)
	file, _ := writePrimary(t, h, goldenPrimary())
	r := golden(t, "primary-1.index", file, h)
	if have, err := readPrimary(r.Primary(math.MinInt64)); err != nil || !slices.Equal(have, goldenPrimary()) {
		t.Errorf("%v, %v", have, err)
	}
	h = testHeader(Secondary)
	file, _ = writeSecondary(t, h, goldenSecondary())
	r = golden(t, "secondary-1.index", file, h)
	if have, err := readSecondary(r.Secondary()); err != nil || !slices.Equal(have, goldenSecondary()) {
		t.Errorf("%v, %v", have, err)
	}
}

func golden(t *testing.T, name string, file []byte, h Header) *Reader {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, file) {
		t.Errorf("the writer writes other bytes than %s holds", name)
	}
	r := open(t, have, h)
	if err := r.Verify(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r
}
