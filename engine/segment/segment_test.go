package segment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tester is what testing.TB and rapid.T have in common.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// memFile is a file in memory, which is written without gaps.
type memFile struct{ bytes.Buffer }

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if off != int64(f.Len()) {
		return 0, fmt.Errorf("written at %d of %d", off, f.Len())
	}
	return f.Write(p)
}

var testSalt = salt{1, 2, 3, 4, 5, 6, 7, 8}

func testHeader(k Kind) Header {
	h := Header{Store: [16]byte{1, 15: 16}, Object: 77, Kind: k, Table: 5, Index: 5, Fragments: []uint64{3, 4, 1000, 1 << 40}}
	if k == Secondary {
		h.Index = 9
	}
	return h
}

// writePrimary and writeSecondary return the file of entries.
func writePrimary(t tester, h Header, es []PrimaryEntry) ([]byte, Summary) {
	return write(t, h, func(w *Writer) error {
		for _, e := range es {
			if err := w.AddPrimary(e); err != nil {
				return err
			}
		}
		return nil
	})
}

func writeSecondary(t tester, h Header, es []SecondaryEntry) ([]byte, Summary) {
	return write(t, h, func(w *Writer) error {
		var key []byte
		for _, e := range es {
			key = append(key[:0], e.Key...) // the writer keeps none
			if err := w.AddSecondary(key, e.Place, e.Null); err != nil {
				return err
			}
		}
		return nil
	})
}

func write(t tester, h Header, add func(w *Writer) error) ([]byte, Summary) {
	t.Helper()
	var f memFile
	w, err := newWriter(&f, h, testSalt)
	if err != nil {
		t.Fatal(err)
	}
	if err := add(w); err != nil {
		t.Fatal(err)
	}
	s, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if s.Extent != int64(f.Len()) {
		t.Fatalf("extent %d of %d bytes", s.Extent, f.Len())
	}
	return f.Bytes(), s
}

func open(t tester, file []byte, h Header) *Reader {
	t.Helper()
	r, err := Open(bytes.NewReader(file), int64(len(file)), h)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func readPrimary(it *PrimaryIter) (es []PrimaryEntry, err error) {
	for it.Next() {
		es = append(es, it.Entry())
	}
	return es, it.Err()
}

func readSecondary(it *SecondaryIter) (es []SecondaryEntry, err error) {
	for it.Next() {
		es = append(es, it.Entry())
	}
	return es, it.Err()
}

// primaryRows are n entries as an index has them: mostly rows in a row, of several
// fragments.
func primaryRows(r *rand.Rand, n int) []PrimaryEntry {
	es := make([]PrimaryEntry, 0, n)
	var next [4]struct {
		ordinal uint32
		offset  int64
	}
	rowid, f := r.Int64N(2000)-1000, uint32(0)
	for range n {
		if r.IntN(20) == 0 {
			f = r.Uint32N(4)
		}
		x := &next[f]
		size := 8 * (1 + r.Uint32N(6))
		if r.IntN(30) == 0 {
			x.ordinal += r.Uint32N(1000)
			x.offset += 8 * r.Int64N(1<<20)
			rowid += r.Int64N(1 << 33)
		}
		es = append(es, PrimaryEntry{rowid, Place{f, x.ordinal}, x.offset, size})
		x.ordinal++
		x.offset += int64(size)
		rowid += 1 + r.Int64N(3)
	}
	return es
}

// secondaryKeys are about n entries with keys of the given length and more.
func secondaryKeys(r *rand.Rand, n, size int) []SecondaryEntry {
	keys := make([]string, n)
	for i := range keys {
		b := bytes.Repeat([]byte{byte(r.IntN(3))}, size-8)
		b = append(b, fmt.Sprintf("%08x", r.Uint32N(1<<24))...)
		keys[i] = string(b)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	// One after the other in memory, or reading them is what a benchmark measures.
	all := strings.Join(keys, "")
	for i, at := 0, 0; i < len(keys); i++ {
		keys[i], at = all[at:at+len(keys[i])], at+len(keys[i])
	}
	es := make([]SecondaryEntry, len(keys))
	for i, k := range keys {
		es[i] = SecondaryEntry{k, Place{r.Uint32N(4), r.Uint32()}, r.IntN(10) == 0}
	}
	return es
}

func TestPrimaryRoundTrip(t *testing.T) {
	h := testHeader(Primary)
	for _, n := range []int{0, 1, 2, 1000, 200_000} {
		es := primaryRows(rand.New(rand.NewPCG(1, uint64(n))), n)
		file, s := writePrimary(t, h, es)
		r := open(t, file, h)
		have, err := readPrimary(r.Primary(math.MinInt64))
		if err != nil || !slices.Equal(have, es) {
			t.Fatalf("%d entries: %d read, %v", n, len(have), err)
		}
		if err := r.Verify(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r.Entries() != int64(n) || s.Entries != int64(n) || r.Digest() != s.Digest || r.Extent() != s.Extent || !reflect.DeepEqual(r.Header(), h) {
			t.Fatalf("%d entries: %+v, %+v", n, s, r.Header())
		}
		if n > 10_000 && (len(r.dir.blocks) < 5 || len(file) > 6*n) {
			t.Fatalf("%d entries take %d bytes in %d blocks", n, len(file), len(r.dir.blocks))
		}
	}
}

func TestSecondaryRoundTrip(t *testing.T) {
	h := testHeader(Secondary)
	for _, n := range []int{0, 1, 2, 1000, 50_000} {
		es := secondaryKeys(rand.New(rand.NewPCG(1, uint64(n))), n, 20)
		file, s := writeSecondary(t, h, es)
		r := open(t, file, h)
		have, err := readSecondary(r.Secondary())
		if err != nil || !slices.Equal(have, es) {
			t.Fatalf("%d entries: %d read, %v", n, len(have), err)
		}
		if err := r.Verify(context.Background()); err != nil {
			t.Fatal(err)
		}
		if s.Entries != int64(len(es)) || r.Entries() != s.Entries {
			t.Fatalf("%d entries: %+v", n, s)
		}
		if n > 10_000 && len(r.dir.blocks) < 5 {
			t.Fatalf("%d blocks", len(r.dir.blocks))
		}
	}
}

// Any entries that a writer takes come back, in whatever blocks they lie.
func TestRandomRoundTrip(t *testing.T) {
	rowids := rapid.SliceOfDistinct(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-50, 50),
		rapid.SampledFrom([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64, math.MaxInt64 - 1})), rapid.ID[int64])
	place := rapid.Custom(func(t *rapid.T) Place {
		return Place{rapid.Uint32Range(0, 3).Draw(t, "fragment"), rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(0, 3)).Draw(t, "ordinal")}
	})
	keys := rapid.SliceOfDistinct(rapid.OneOf(rapid.StringMatching(`[ab]{0,12}`), rapid.Custom(func(t *rapid.T) string {
		return strings.Repeat("x", rapid.IntRange(0, 5000).Draw(t, "length")) + rapid.StringN(0, 5, 9).Draw(t, "end")
	})), rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		var ps []PrimaryEntry
		for _, id := range rowids.Draw(t, "row ids") {
			offset := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, maxOffset-math.MaxUint32/8)).Draw(t, "offset")
			size := rapid.OneOf(rapid.Uint32Range(1, 3), rapid.Uint32Range(1, math.MaxUint32/8)).Draw(t, "size")
			ps = append(ps, PrimaryEntry{id, place.Draw(t, "place"), offset * 8, size * 8})
		}
		slices.SortFunc(ps, func(a, b PrimaryEntry) int {
			if a.Rowid < b.Rowid {
				return -1
			}
			return 1
		})
		h := testHeader(Primary)
		file, _ := writePrimary(t, h, ps)
		r := open(t, file, h)
		if have, err := readPrimary(r.Primary(math.MinInt64)); err != nil || !slices.Equal(have, ps) {
			t.Fatalf("have %v, %v\nwant %v", have, err, ps)
		}
		if err := r.Verify(context.Background()); err != nil {
			t.Fatal(err)
		}

		var ss []SecondaryEntry
		list := keys.Draw(t, "keys")
		slices.Sort(list)
		for _, k := range list {
			ss = append(ss, SecondaryEntry{k, place.Draw(t, "place"), rapid.Bool().Draw(t, "null")})
		}
		h = testHeader(Secondary)
		file, _ = writeSecondary(t, h, ss)
		r = open(t, file, h)
		if have, err := readSecondary(r.Secondary()); err != nil || !slices.Equal(have, ss) {
			t.Fatalf("have %v, %v\nwant %v", have, err, ss)
		}
		if err := r.Verify(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
}

// Long keys get blocks of their own, and long beginnings that keys share do not make a
// block that is small in the file large in memory.
func TestLongKeys(t *testing.T) {
	var es []SecondaryEntry
	for i := range 300 {
		es = append(es, SecondaryEntry{Key: fmt.Sprintf("%s%06d", strings.Repeat("k", 20_000), i)})
	}
	es = append(es, SecondaryEntry{Key: strings.Repeat("l", 3*BlockKeys)}, SecondaryEntry{Key: strings.Repeat("l", 3*BlockKeys) + "m"}, SecondaryEntry{Key: "n"})
	h := testHeader(Secondary)
	file, _ := writeSecondary(t, h, es)
	r := open(t, file, h)
	if err := r.Verify(context.Background()); err != nil {
		t.Fatal(err)
	}
	if have, err := readSecondary(r.Secondary()); err != nil || !slices.Equal(have, es) {
		t.Fatalf("%d entries of %d, %v", len(have), len(es), err)
	}
	for i, b := range r.dir.blocks {
		if b.entries > BlockKeys/20_000 {
			t.Errorf("block %d has %d entries", i, b.entries)
		}
	}
	for _, e := range es {
		it := r.SecondaryFrom(e.Key)
		if !it.Next() || it.Entry() != e {
			t.Fatalf("key of %d bytes is not found: %v", len(e.Key), it.Err())
		}
	}
}

func TestWriterRefuses(t *testing.T) {
	row := func(id int64) PrimaryEntry { return PrimaryEntry{id, Place{}, 8, 8} }
	for name, es := range map[string][]PrimaryEntry{
		"same row":         {row(1), row(1)},
		"earlier row":      {row(1), row(0)},
		"fragment":         {{1, Place{4, 0}, 8, 8}},
		"offset":           {{1, Place{}, 12, 8}},
		"negative offset":  {{1, Place{}, -8, 8}},
		"size":             {{1, Place{}, 8, 9}},
		"no size":          {{1, Place{}, 8, 0}},
		"end of the frame": {{1, Place{}, math.MaxInt64 &^ 7, 8}},
	} {
		w, err := NewWriter(new(memFile), testHeader(Primary))
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range es {
			if err := w.AddPrimary(e); (err != nil) != (i == len(es)-1) {
				t.Errorf("%s: entry %d: %v", name, i, err)
			}
		}
		if _, err := w.Finish(); err == nil {
			t.Errorf("%s: the file can be finished", name)
		}
		if err := w.AddPrimary(row(100)); err == nil {
			t.Errorf("%s: the file goes on", name)
		}
	}
	for name, keys := range map[string][]string{
		"same key":    {"b", "b"},
		"empty twice": {"", ""},
		"earlier key": {"b", "a"},
		"beginning":   {"ab", "a"},
	} {
		w, err := NewWriter(new(memFile), testHeader(Secondary))
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range keys {
			if err := w.AddSecondary([]byte(k), Place{}, false); (err != nil) != (i == len(keys)-1) {
				t.Errorf("%s: entry %d: %v", name, i, err)
			}
		}
		if _, err := w.Finish(); err == nil {
			t.Errorf("%s: the file can be finished", name)
		}
	}
	w, _ := NewWriter(new(memFile), testHeader(Secondary))
	if err := w.AddSecondary([]byte("a"), Place{4, 0}, false); err == nil {
		t.Error("a fragment that is not in the header")
	}
	w, _ = NewWriter(new(memFile), testHeader(Secondary))
	if err := w.AddPrimary(row(1)); err == nil {
		t.Error("a row in a secondary segment")
	}
	w, _ = NewWriter(new(memFile), testHeader(Primary))
	if err := w.AddSecondary([]byte("a"), Place{}, false); err == nil {
		t.Error("a key in a primary segment")
	}
	for name, h := range map[string]Header{
		"kind":         {Fragments: []uint64{1}},
		"no fragments": {Kind: Primary},
		"same":         {Kind: Primary, Fragments: []uint64{1, 1}},
		"order":        {Kind: Primary, Fragments: []uint64{2, 1}},
	} {
		if _, err := NewWriter(new(memFile), h); err == nil {
			t.Errorf("header: %s", name)
		}
	}
}

// fullFile takes so many bytes.
type fullFile struct {
	memFile
	room int
}

var errFull = errors.New("full")

func (f *fullFile) WriteAt(p []byte, off int64) (int, error) {
	if f.Len()+len(p) > f.room {
		return 0, errFull
	}
	return f.memFile.WriteAt(p, off)
}

func TestWriteErrors(t *testing.T) {
	es := primaryRows(rand.New(rand.NewPCG(1, 1)), 300_000)
	file, _ := writePrimary(t, testHeader(Primary), es)
	for _, room := range []int{0, 100, writeSize + BlockSize, len(file) - 1} {
		w, err := newWriter(&fullFile{room: room}, testHeader(Primary), testSalt)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			if err = w.AddPrimary(e); err != nil {
				break
			}
		}
		if _, err2 := w.Finish(); !errors.Is(err2, errFull) || err != nil && !errors.Is(err, errFull) {
			t.Errorf("room for %d: %v, %v", room, err, err2)
		}
	}
}
