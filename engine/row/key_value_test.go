package row

import (
	"testing"
)

// What a key tells of a value is the value, for every value a column of the
// affinity can hold; and terms are split where they were joined.
func TestKeyValue(t *testing.T) {
	vs := hardValues()
	r := newRand(t)
	for range 3000 {
		vs = append(vs, randomValue(r))
	}
	told := map[Affinity]int{}
	for _, a := range []Affinity{AffBlob, AffText, AffNumeric, AffInteger, AffReal} {
		for _, c := range []Collation{Binary, NoCase, RTrim} {
			for _, desc := range []bool{false, true} {
				for i, v := range vs {
					v = a.Apply(v)
					next := vs[(i+1)%len(vs)]
					k := key(v, c, desc)
					term, rest := KeyTerm(k+key(next, c, !desc), desc)
					if term != k || rest != key(next, c, !desc) {
						t.Fatalf("%s, %v, desc %v: key %x is split as %x and %x", show(v), c, desc, k, term, rest)
					}
					have, ok := KeyValue(term, a, c, desc)
					if ok && show(have) != show(v) {
						t.Fatalf("%v, %v, desc %v: key of %s tells %s", a, c, desc, show(v), show(have))
					}
					if ok {
						told[a]++
					}
				}
			}
		}
	}
	for a, n := range told {
		if n < 1000 {
			t.Errorf("%v: only %d keys told their value", a, n)
		}
	}
}

// Of what an index is for, a key tells everything.
func TestKeyTellsPlainValues(t *testing.T) {
	for _, x := range []struct {
		v Value
		a Affinity
	}{
		{Value{}, AffInteger}, {IntValue(0), AffInteger}, {IntValue(-5), AffInteger}, {IntValue(1 << 52), AffNumeric},
		{RealValue(0.5), AffReal}, {RealValue(3), AffReal}, {RealValue(-1e300), AffReal}, {RealValue(2.5), AffBlob},
		{TextValue(""), AffText}, {TextValue("abc"), AffText}, {TextValue("Ü"), AffBlob}, {BlobValue("\x01\xff"), AffBlob},
	} {
		have, ok := KeyValue(key(x.v, Binary, false), x.a, Binary, false)
		if !ok || show(have) != show(x.v) {
			t.Errorf("%s: %s, %v", show(x.v), show(have), ok)
		}
	}
}

func FuzzKeyTerm(f *testing.F) {
	for _, v := range hardValues() {
		f.Add(key(v, Binary, false), false)
		f.Add(key(v, Binary, true), true)
	}
	f.Fuzz(func(t *testing.T, k string, desc bool) {
		term, rest := KeyTerm(k, desc)
		if term+rest != k || k != "" && term == "" {
			t.Fatalf("%x is split as %x and %x", k, term, rest)
		}
		for _, a := range []Affinity{AffBlob, AffText, AffNumeric, AffInteger, AffReal} {
			for c := range Collation(3) {
				KeyValue(term, a, c, desc)
			}
		}
	})
}
