package segment

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// at is where a row of a merged index lies.
type at struct {
	fragment uint64
	ordinal  uint32
}

// segmentsOf spreads entries over n segments, each with fragments of its own, and leaves
// older, dead ones of the same row in others. It returns which places are live.
func segmentsOf(t tester, r *rand.Rand, k Kind, n, entries int) (rs []*Reader, want []Merged, live map[at]bool) {
	live = map[at]bool{}
	lists := make([][]Merged, n)
	for i := range entries {
		e := Merged{Rowid: int64(i)*3 - 100}
		if k == Secondary {
			e = Merged{Key: fmt.Sprintf("%0*d", 6, i*3), Null: r.IntN(5) == 0}
		}
		order := r.Perm(n)
		for j, s := range order[:1+r.IntN(n)] {
			x := e
			x.Fragment, x.Ordinal = uint64(10*s+1+r.IntN(2)), uint32(i)
			if k == Primary {
				x.Offset, x.Size = r.Int64N(1000)*8, 8+8*r.Uint32N(9)
			}
			lists[s] = append(lists[s], x)
			if j == 0 && r.IntN(10) > 0 { // or no version of the row is live
				live[at{x.Fragment, x.Ordinal}] = true
				want = append(want, x)
			}
		}
	}
	for s, es := range lists {
		h := testHeader(k)
		h.Object, h.Fragments = uint64(100+s), []uint64{uint64(10*s + 1), uint64(10*s + 2)}
		file, _ := write(t, h, func(w *Writer) error {
			for _, e := range es {
				p := Place{uint32(e.Fragment - h.Fragments[0]), e.Ordinal}
				var err error
				if k == Primary {
					err = w.AddPrimary(PrimaryEntry{e.Rowid, p, e.Offset, e.Size})
				} else {
					err = w.AddSecondary([]byte(e.Key), p, e.Null)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		rs = append(rs, open(t, file, h))
	}
	return rs, want, live
}

func readMerge(m *Merge) (es []Merged, err error) {
	for m.Next() {
		if m.Err() != nil {
			return es, fmt.Errorf("an entry in spite of %v", m.Err())
		}
		es = append(es, m.Entry())
	}
	return es, m.Err()
}

// readBatches reads a merge of keys by batches, as far as these tell.
func readBatches(m *Merge) (es []Merged, err error) {
	for m.NextBatch() {
		if m.Batch().Len() == 0 {
			return es, errors.New("an empty batch")
		}
		for i := range m.Batch().Len() {
			es = append(es, Merged{Key: string(m.Batch().Key(i)), Null: m.Batch().Null(i)})
		}
	}
	return es, m.Err()
}

// keysOf are entries as batches tell of them.
func keysOf(es []Merged) []Merged {
	out := make([]Merged, len(es))
	for i, e := range es {
		out[i] = Merged{Key: e.Key, Null: e.Null}
	}
	return out
}

// Batches are the entries of a merge, of one segment and of several, live and not.
func TestMergeBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "segments")
		entries := rapid.OneOf(rapid.IntRange(0, 5), rapid.SampledFrom([]int{1000, 30_000})).Draw(t, "entries")
		rs, _, live := segmentsOf(t, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), Secondary, n, entries)
		isLive := func(f uint64, o uint32) bool { return live[at{f, o}] }
		if rapid.Bool().Draw(t, "few live") {
			isLive = func(f uint64, o uint32) bool { return o%4001 == 0 && live[at{f, o}] }
		} else if n == 1 && rapid.Bool().Draw(t, "all live") {
			isLive = nil
		}
		ranges := append(Split(rs, 3), Range{})
		for _, rg := range ranges {
			one, all := NewMergeRange(rs, isLive, rg), NewMergeRange(rs, isLive, rg)
			want, err := readMerge(one)
			have, err2 := readBatches(all)
			if err != nil || err2 != nil || !slices.Equal(have, keysOf(want)) || one.Skipped() != all.Skipped() || all.NextBatch() {
				t.Fatalf("%d entries of %d, %d skipped of %d, %v, %v", len(have), len(want), all.Skipped(), one.Skipped(), err, err2)
			}
		}
	})
	rs, _, _ := segmentsOf(t, rand.New(rand.NewPCG(1, 1)), Primary, 1, 10)
	if _, err := readBatches(NewMerge(rs, nil)); err == nil {
		t.Error("batches of a primary segment")
	}
}

// A merge is the live entries in order, however they are spread, and so are the ranges of
// a split one after the other.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]Kind{Primary, Secondary}).Draw(t, "kind")
		n := rapid.IntRange(1, 6).Draw(t, "segments")
		entries := rapid.OneOf(rapid.IntRange(0, 5), rapid.SampledFrom([]int{100, 30_000})).Draw(t, "entries")
		seed := rapid.Uint64().Draw(t, "seed")
		rs, want, live := segmentsOf(t, rand.New(rand.NewPCG(seed, 0)), k, n, entries)
		seen := int64(0)
		isLive := func(f uint64, o uint32) bool {
			seen++
			return live[at{f, o}]
		}
		m := NewMerge(rs, isLive)
		have, err := readMerge(m)
		if err != nil || !slices.Equal(have, want) {
			t.Fatalf("%d entries of %d, %v", len(have), len(want), err)
		}
		if m.Skipped() != seen-int64(len(have)) || m.Next() {
			t.Fatalf("%d of %d skipped", m.Skipped(), seen)
		}
		parts := rapid.IntRange(1, 9).Draw(t, "parts")
		ranges := Split(rs, parts)
		if len(ranges) > parts {
			t.Fatalf("%d ranges, not %d", len(ranges), parts)
		}
		var all []Merged
		for _, rg := range ranges {
			part, err := readMerge(NewMergeRange(rs, isLive, rg))
			if err != nil {
				t.Fatal(err)
			}
			if entries > 10_000 && len(part) > len(want)*2/3 && len(ranges) > 2 {
				t.Fatalf("a range of %d has %d entries of %d", len(ranges), len(part), len(want))
			}
			all = append(all, part...)
		}
		if !slices.Equal(all, want) {
			t.Fatalf("ranges have %d entries of %d", len(all), len(want))
		}
		if blocks := slices.MaxFunc(rs, func(a, b *Reader) int { return cmp.Compare(len(a.dir.blocks), len(b.dir.blocks)) }); len(blocks.dir.blocks) >= 2*parts && len(ranges) != parts {
			t.Fatalf("%d ranges of %d", len(ranges), parts)
		}
	})
}

// A row with two live entries is damage, wherever they are.
func TestMergeFindsTwoLive(t *testing.T) {
	for _, k := range []Kind{Primary, Secondary} {
		for seed := range uint64(20) {
			rs, _, live := segmentsOf(t, rand.New(rand.NewPCG(seed, 1)), k, 3, 200)
			all := NewMerge(rs, nil)
			_, err := readMerge(all)
			var c *CorruptError
			if !errors.As(err, &c) || c.Object < 100 || c.Object > 102 {
				t.Fatalf("%v, seed %d: %v", k, seed, err)
			}
			if all.Next() || len(live) == 0 {
				t.Fatal("the merge goes on")
			}
		}
	}
}

func TestMergeOfNothing(t *testing.T) {
	for _, rs := range [][]*Reader{nil, {}} {
		if m := NewMerge(rs, nil); m.Next() || m.Err() != nil {
			t.Error(m.Err())
		}
		if list := Split(rs, 4); len(list) != 1 || list[0] != (Range{}) {
			t.Errorf("%v", list)
		}
	}
}

func TestMergeRefusesOtherIndexes(t *testing.T) {
	h := testHeader(Primary)
	a, _ := writePrimary(t, h, goldenPrimary())
	other := h
	other.Index++
	b, _ := writePrimary(t, other, goldenPrimary())
	if m := NewMerge([]*Reader{open(t, a, h), open(t, b, other)}, nil); m.Next() || m.Err() == nil {
		t.Error("segments of two indexes are merged")
	}
	other = h
	other.Store[0]++
	b, _ = writePrimary(t, other, nil)
	if m := NewMerge([]*Reader{open(t, a, h), open(t, b, other)}, nil); !m.Next() || m.Err() != nil {
		t.Errorf("a segment of a store before is not merged: %v", m.Err())
	}
}

// A damaged block of one segment ends the merge before anything that may lie in it.
func TestMergeOfDamage(t *testing.T) {
	for _, k := range []Kind{Primary, Secondary} {
		rs, want, live := segmentsOf(t, rand.New(rand.NewPCG(2, 2)), k, 3, 30_000)
		for i, r := range rs {
			file := make([]byte, r.extent)
			if _, err := r.r.ReadAt(file, 0); err != nil {
				t.Fatal(err)
			}
			x := r.dir.blocks[1]
			file[x.off+x.size/2] ^= 1
			list := slices.Clone(rs)
			list[i] = open(t, file, r.header)
			have, err := readMerge(NewMerge(list, func(f uint64, o uint32) bool { return live[at{f, o}] }))
			var c *CorruptError
			if !errors.As(err, &c) || c.Object != r.header.Object || c.Offset != x.off {
				t.Fatalf("%v, segment %d: %v", k, i, err)
			}
			if len(have) == 0 || !slices.Equal(have, want[:len(have)]) {
				t.Fatalf("%v, segment %d: %d entries before the damage", k, i, len(have))
			}
			if k == Primary {
				continue
			}
			for _, list := range [][]*Reader{list, list[i : i+1]} { // several, and one alone
				c = nil
				have, err := readBatches(NewMerge(list, func(f uint64, o uint32) bool { return live[at{f, o}] }))
				if !errors.As(err, &c) || c.Object != r.header.Object || c.Offset != x.off || len(have) == 0 {
					t.Fatalf("segment %d, batches: %d, %v", i, len(have), err)
				}
			}
		}
	}
	_, err := Open(bytes.NewReader([]byte("nothing")), 7, testHeader(Primary))
	var c *CorruptError
	if !errors.As(err, &c) {
		t.Error(err)
	}
}
