package row

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func key(v Value, c Collation, desc bool) string { return string(AppendKey(nil, v, c, desc)) }

// Keys are in the order of the values, and equal exactly when the values are.
// In a sorted list it is enough to look at neighbours.
func TestKeyOrder(t *testing.T) {
	vs := hardValues()
	r := newRand(t)
	for range 5000 {
		vs = append(vs, randomValue(r))
	}
	for _, c := range []Collation{Binary, NoCase, RTrim} {
		r.Shuffle(len(vs), func(i, j int) { vs[i], vs[j] = vs[j], vs[i] })
		slices.SortFunc(vs, func(a, b Value) int { return Compare(a, b, c) })
		for i := range vs[1:] {
			a, b := vs[i], vs[i+1]
			want := Compare(a, b, c)
			ka, kb := key(a, c, false), key(b, c, false)
			if have := strings.Compare(ka, kb); have != want {
				t.Errorf("%s, %s, %v: keys %x %x give %d, values %d", show(a), show(b), c, ka, kb, have, want)
			}
			ka, kb = key(a, c, true), key(b, c, true)
			if have := strings.Compare(ka, kb); have != -want {
				t.Errorf("%s, %s, %v DESC: keys %x %x give %d, values %d", show(a), show(b), c, ka, kb, have, -want)
			}
		}
	}
}

func TestKeyOfEqualNumbers(t *testing.T) {
	for _, i := range hardInts {
		f := float64(i)
		same := compareIntReal(i, f) == 0
		if have := key(IntValue(i), Binary, false) == key(RealValue(f), Binary, false); have != same {
			t.Errorf("%d and %v: equal keys %v, equal numbers %v", i, f, have, same)
		}
	}
	zero := key(IntValue(0), Binary, false)
	for _, f := range hardReals {
		if f == 0 && key(RealValue(f), Binary, false) != zero {
			t.Errorf("the key of %v is not that of 0", f)
		}
	}
}

// term is a column of a random index.
type term struct {
	c    Collation
	desc bool
}

func tupleKey(vs []Value, ts []term) []byte {
	var k []byte
	for i, v := range vs {
		k = AppendKey(k, v, ts[i].c, ts[i].desc)
	}
	return k
}

func compareTuples(a, b []Value, ts []term) int {
	for i := range a {
		if c := Compare(a[i], b[i], ts[i].c); c != 0 {
			if ts[i].desc {
				return -c
			}
			return c
		}
	}
	return 0
}

// The key of a tuple is the concatenation: no value runs into the next one.
func TestTupleKeys(t *testing.T) {
	r := newRand(t)
	pool := hardValues()
	for range 300 {
		pool = append(pool, randomValue(r))
	}
	pick := func() Value { return pool[r.IntN(len(pool))] }
	for range 40_000 {
		n := 1 + r.IntN(3)
		ts := make([]term, n)
		a, b := make([]Value, n), make([]Value, n)
		for i := range ts {
			ts[i] = term{Collation(r.IntN(3)), r.IntN(2) == 0}
			a[i] = pick()
			if b[i] = a[i]; r.IntN(2) == 0 {
				b[i] = pick()
			}
		}
		ka, kb := tupleKey(a, ts), tupleKey(b, ts)
		if have, want := bytes.Compare(ka, kb), compareTuples(a, b, ts); have != want {
			t.Fatalf("%v: keys %x %x give %d, tuples %d", ts, ka, kb, have, want)
		}
		// The tuples that begin with a's first value are those in its range.
		lo := tupleKey(a[:1], ts)
		hi := append(bytes.Clone(lo), KeyAfter...)
		in := bytes.Compare(lo, kb) <= 0 && bytes.Compare(kb, hi) < 0
		if want := Compare(a[0], b[0], ts[0].c) == 0; in != want {
			t.Fatalf("%v: %s is in the range of %s: %v", ts, show(b[0]), show(a[0]), in)
		}
	}
}

// The bytes are on disk in index segments, so they may not change.
func TestKeyBytes(t *testing.T) {
	for _, x := range []struct {
		v    Value
		c    Collation
		desc bool
		want string
	}{
		{Value{}, Binary, false, "01"},
		{Value{}, Binary, true, "fe"},
		{IntValue(0), Binary, false, "028000000000000000"},
		{IntValue(1), Binary, false, "02bff0000000000000"},
		{RealValue(-1), Binary, false, "02400fffffffffffff"},
		{IntValue(1), Binary, true, "fd400fffffffffffff"},
		{IntValue(1<<53 + 1), Binary, false, "02c3400000000000000001"},
		{IntValue(-1<<53 - 1), Binary, false, "023cbffffffffffffe0001"},
		{TextValue("Ab \x00 "), Binary, false, "034162" + "20" + "00ff" + "20" + "0001"},
		{TextValue("Ab "), NoCase, false, "03616220" + "0001"},
		{TextValue("A\x00c"), NoCase, false, "0361" + "00ff" + "00ff00ff00ff00ff00ff00ff00ff03" + "0001"},
		{TextValue("Ab  "), RTrim, false, "034162" + "0001"},
		{BlobValue("\x00\xff"), NoCase, false, "04" + "00ffff" + "0001"},
	} {
		if have := fmt.Sprintf("%x", AppendKey(nil, x.v, x.c, x.desc)); have != x.want {
			t.Errorf("%s %v desc=%v: %s, want %s", show(x.v), x.c, x.desc, have, x.want)
		}
	}
}

func FuzzKey(f *testing.F) {
	f.Add(uint8(0), int64(1<<53+1), "a\x00", uint8(1), int64(1<<53), "a")
	f.Add(uint8(1), int64(0), "A", uint8(5), int64(-1), "a ")
	f.Fuzz(func(t *testing.T, ka uint8, na int64, sa string, kb uint8, nb int64, sb string) {
		make2 := func(k uint8, n int64, s string) [2]Value {
			vs := [...]Value{IntValue(n), Value{kind: Real, n: uint64(n)}, RealValue(float64(n)), TextValue(s), BlobValue(s), {}}
			if x := vs[1].Real(); x != x {
				vs[1] = Value{}
			}
			return [2]Value{vs[k%6], vs[k/6%6]}
		}
		a, b := make2(ka, na, sa), make2(kb, nb, sb)
		for c := Binary; c <= RTrim; c++ {
			ts := []term{{c, ka&128 != 0}, {c, kb&128 != 0}}
			if have, want := bytes.Compare(tupleKey(a[:], ts), tupleKey(b[:], ts)), compareTuples(a[:], b[:], ts); have != want {
				t.Fatalf("%v %v, %v: keys %d, values %d", a, b, c, have, want)
			}
		}
	})
}
