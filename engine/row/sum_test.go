package row

import (
	"fmt"
	"math"
	"testing"
)

func TestSumIsAGroup(t *testing.T) {
	r := newRand(t)
	random := func() Sum {
		s := Sum{r.Uint64(), r.Uint64()}
		if r.IntN(3) == 0 {
			s[0] = math.MaxUint64
		}
		return s
	}
	for range 1000 {
		a, b, c := random(), random(), random()
		if a.Add(b) != b.Add(a) || a.Add(b).Add(c) != a.Add(b.Add(c)) || a.Add(b).Sub(b) != a || a.Sub(a) != (Sum{}) {
			t.Fatal(a, b, c)
		}
	}
	if have := (Sum{math.MaxUint64, 0}).Add(Sum{1, 0}); have != (Sum{0, 1}) {
		t.Errorf("carry: %v", have)
	}
	if have := (Sum{0, 1}).Sub(Sum{1, 0}); have != (Sum{math.MaxUint64, 0}) {
		t.Errorf("borrow: %v", have)
	}
}

// Everything that makes a row counts, and nothing else.
func TestRowSum(t *testing.T) {
	ids := []uint32{1, 2, 3}
	base := RowSum(7, 42, ids, record(Value{}, TextValue("a"), IntValue(5)), 0, nil)
	scratch := []byte("used before")
	if RowSum(7, 42, ids, record(Value{}, TextValue("a"), IntValue(5)), 0, &scratch) != base {
		t.Error("the scratch buffer changes the sum")
	}
	if RowSum(7, 42, ids, record(IntValue(42), TextValue("a"), IntValue(5)), 0, nil) != base {
		t.Error("the alias column counts")
	}
	for name, s := range map[string]Sum{
		"table":        RowSum(8, 42, ids, record(Value{}, TextValue("a"), IntValue(5)), 0, nil),
		"row id":       RowSum(7, 43, ids, record(Value{}, TextValue("a"), IntValue(5)), 0, nil),
		"text":         RowSum(7, 42, ids, record(Value{}, TextValue("b"), IntValue(5)), 0, nil),
		"class":        RowSum(7, 42, ids, record(Value{}, BlobValue("a"), IntValue(5)), 0, nil),
		"real":         RowSum(7, 42, ids, record(Value{}, TextValue("a"), RealValue(5)), 0, nil),
		"column id":    RowSum(7, 42, []uint32{1, 2, 4}, record(Value{}, TextValue("a"), IntValue(5)), 0, nil),
		"column count": RowSum(7, 42, ids, record(Value{}, TextValue("a")), 0, nil),
		"NULL":         RowSum(7, 42, ids, record(Value{}, TextValue("a"), Value{}), 0, nil),
		"alias":        RowSum(7, 42, ids, record(Value{}, TextValue("a"), IntValue(5)), -1, nil),
	} {
		if s == base {
			t.Errorf("the %s does not count", name)
		}
	}
}

// Sums are on disk in every commit, so they may not change.
func TestRowSumValue(t *testing.T) {
	s := RowSum(7, 42, []uint32{1, 2, 3, 4, 9}, record(Value{}, TextValue("a"), IntValue(-5), RealValue(1.5), BlobValue("\x00")), 0, nil)
	if have, want := fmt.Sprintf("%x", s), "[f924f2cd4bf89e22 1b7fbdfbdabebe61]"; have != want {
		t.Errorf("%s, want %s", have, want)
	}
}
