package row

import (
	"math"
	"strings"
)

// KeyTerm splits off the first term of an index key. It returns the key whole
// when it is not one.
func KeyTerm(key string, desc bool) (term, rest string) {
	n := keyLen(key, desc)
	if n > len(key) {
		n = len(key)
	}
	return key[:n], key[n:]
}

func keyLen(key string, desc bool) int {
	if key == "" {
		return 0
	}
	var flip byte
	if desc {
		flip = 0xff
	}
	switch key[0] ^ flip {
	case keyNumber:
		if len(key) < 9 {
			return len(key)
		}
		if a := math.Abs(keyDouble(key, desc)); exact <= a && a <= 1<<63 {
			return 11
		}
		return 9
	case keyText, keyBlob:
		for at := 1; ; {
			i := strings.IndexByte(key[at:], flip)
			if i < 0 || at+i+1 >= len(key) {
				return len(key)
			}
			at += i + 2
			if key[at-1]^flip == keyStop {
				return at
			}
		}
	}
	return 1
}

// keyDouble is the inverse of appendDouble.
func keyDouble(term string, desc bool) float64 {
	b := uint64(0)
	for _, c := range []byte(term[1:9]) {
		b = b<<8 | uint64(c)
	}
	if desc {
		b = ^b
	}
	if b>>63 != 0 {
		b ^= 1 << 63
	} else {
		b = ^b
	}
	return math.Float64frombits(b)
}

// KeyValue returns the value behind a term of an index key, if the term tells
// it: the value was stored in a column of affinity a and the index orders it by
// c. Of numbers a key keeps neither the class nor the sign of zero, so only an
// affinity that leaves one class for a number decides; of texts it keeps what
// the collation sees. The value borrows from term, unless desc.
func KeyValue(term string, a Affinity, c Collation, desc bool) (Value, bool) {
	if term == "" {
		return Value{}, false
	}
	first := term[0]
	if desc {
		first = ^first
	}
	switch first {
	case keyNull:
		return Value{}, true
	case keyNumber:
		if len(term) < 9 {
			return Value{}, false
		}
		return numberOfKey(keyDouble(term, desc), a)
	case keyText, keyBlob:
		if len(term) < 3 || first == keyText && c != Binary {
			return Value{}, false
		}
		s := term[1 : len(term)-2]
		if desc {
			b := []byte(s)
			invert(b)
			s = string(b)
		}
		if strings.IndexByte(s, 0) >= 0 {
			return Value{}, false
		}
		if first == keyText {
			return TextValue(s), true
		}
		return BlobValue(s), true
	}
	return Value{}, false
}

func numberOfKey(f float64, a Affinity) (Value, bool) {
	switch {
	case f != math.Trunc(f): // a fraction is a REAL everywhere
		return RealValue(f), true
	case a == AffReal:
		return RealValue(f), f != 0
	case (a == AffInteger || a == AffNumeric) && math.Abs(f) < exact:
		return IntValue(int64(f)), true
	}
	return Value{}, false
}
