package row

import (
	"encoding/binary"
	"math"
	"strings"
)

// Index keys sort by their bytes as the values sort by Compare. Each value
// delimits itself, so the key of a tuple is the keys of its values one after
// the other:
//
//	NULL    01
//	number  02, the double at or below it (8 bytes, made to sort), and from 2^53
//	        in absolute value up to 2^63 the distance to it (2 bytes)
//	TEXT    03, the bytes as the collation sees them, escaped
//	BLOB    04, the bytes, escaped
//
// Escaped means that 00 becomes 00 FF and 00 01 ends the value. Numbers have
// one form for INTEGER and REAL: equal ones have equal keys, and integers that
// doubles cannot tell apart are told apart by the distance, which is zero for
// every REAL. A DESC term is the same with all bits inverted; there NULL is
// the highest.
const (
	keyNull   = 0x01
	keyNumber = 0x02
	keyText   = 0x03
	keyBlob   = 0x04

	keyEscape = 0xff
	keyStop   = 0x01
)

// KeyAfter is above every byte a term starts with. A tuple's key k is a prefix
// of the keys of all tuples that extend it, and those are exactly the keys x
// with k <= x < k+KeyAfter.
const KeyAfter = "\xff"

// AppendKey appends the key of one index term to dst.
func AppendKey(dst []byte, v Value, c Collation, desc bool) []byte {
	start := len(dst)
	switch v.kind {
	case Null:
		dst = append(dst, keyNull)
	case Int:
		dst = appendIntKey(dst, int64(v.n))
	case Real:
		dst = appendRealKey(dst, v.Real())
	case Text:
		dst = append(dst, keyText)
		switch c {
		case Binary:
			dst = appendEscaped(dst, v.s)
		case NoCase:
			dst = appendNoCase(dst, v.s)
		case RTrim:
			dst = appendEscaped(dst, trimSpaces(v.s))
		}
	case Blob:
		dst = appendEscaped(append(dst, keyBlob), v.s)
	}
	if desc {
		invert(dst[start:])
	}
	return dst
}

const exact = 1 << 53 // doubles of a smaller absolute value hold every integer

func appendIntKey(dst []byte, i int64) []byte {
	f := float64(i)
	if -exact < i && i < exact {
		return appendDouble(dst, f)
	}
	// The conversion rounds to nearest. Step down when it went up, so that the
	// distance is never negative. 2^63 itself does not fit an int64.
	if f == 1<<63 || int64(f) > i {
		f = math.Nextafter(f, math.Inf(-1))
	}
	dst = appendDouble(dst, f)
	return binary.BigEndian.AppendUint16(dst, uint16(i-int64(f)))
}

func appendRealKey(dst []byte, f float64) []byte {
	dst = appendDouble(dst, f)
	if a := math.Abs(f); exact <= a && a <= 1<<63 {
		dst = append(dst, 0, 0)
	}
	return dst
}

func appendDouble(dst []byte, f float64) []byte {
	b := math.Float64bits(f + 0) // -0 + 0 is 0
	// Positive numbers get the high bit, negative ones are inverted.
	b ^= uint64(int64(b)>>63) | 1<<63
	return append(dst, keyNumber, byte(b>>56), byte(b>>48), byte(b>>40), byte(b>>32),
		byte(b>>24), byte(b>>16), byte(b>>8), byte(b))
}

func appendEscaped(dst []byte, s string) []byte {
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 {
			dst = append(dst, s...)
			return append(dst, 0, keyStop)
		}
		dst = append(dst, s[:i]...)
		dst = append(dst, 0, keyEscape)
		s = s[i+1:]
	}
}

// appendNoCase folds ASCII. SQLite's NOCASE ends at the first NUL and then
// compares lengths (see compareNoCase), so of what follows a NUL the key keeps
// the length of the whole text.
func appendNoCase(dst []byte, s string) []byte {
	for i := range len(s) {
		if s[i] == 0 {
			var n [8]byte
			binary.BigEndian.PutUint64(n[:], uint64(len(s)))
			dst = append(dst, 0, keyEscape)
			return appendEscaped(dst, string(n[:]))
		}
		dst = append(dst, lower[s[i]])
	}
	return append(dst, 0, keyStop)
}

func invert(b []byte) {
	for len(b) >= 8 {
		binary.NativeEndian.PutUint64(b, ^binary.NativeEndian.Uint64(b))
		b = b[8:]
	}
	for i := range b {
		b[i] = ^b[i]
	}
}
