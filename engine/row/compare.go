package row

import "strings"

// Compare orders two values as SQLite does: NULL, then numbers by value, then
// TEXT under the collation, then BLOBs by bytes. Two NULLs are equal here;
// what NULL means to a UNIQUE index or to = is for the caller.
func Compare(a, b Value, c Collation) int {
	if a.kind != b.kind {
		switch {
		case a.kind == Int && b.kind == Real:
			return compareIntReal(a.Int(), b.Real())
		case a.kind == Real && b.kind == Int:
			return -compareIntReal(b.Int(), a.Real())
		case a.kind < b.kind:
			return -1
		}
		return 1
	}
	switch a.kind {
	case Int:
		return order(a.Int(), b.Int())
	case Real:
		return order(a.Real(), b.Real())
	case Text:
		return compareText(a.s, b.s, c)
	case Blob:
		return strings.Compare(a.s, b.s)
	}
	return 0
}

func order[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compareIntReal compares exactly: converting either operand would make
// 2^53+1 equal to 2^53.
func compareIntReal(i int64, r float64) int {
	const two63 = 1 << 63
	switch {
	case r < -two63:
		return 1
	case r >= two63:
		return -1
	}
	t := int64(r) // exact up to the fraction, which is cut towards zero
	if i != t {
		return order(i, t)
	}
	return order(float64(i), r)
}
