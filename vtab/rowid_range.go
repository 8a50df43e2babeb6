package vtab

import (
	"math"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// exactRowid returns the rowid that equals v, if one can: a text counts as the
// number it reads as, a fraction, a blob and NULL equal none.
func exactRowid(v row.Value) (int64, bool) {
	switch v = row.AffInteger.Apply(v); v.Kind() {
	case row.Int:
		return v.Int(), true
	case row.Real: // -2^63 is a rowid that Apply leaves a REAL
		if v.Real() == math.MinInt64 {
			return math.MinInt64, true
		}
	}
	return 0, false
}

// lowestRowid returns the least rowid that is >= v, or > v; false if none is.
// Every number is less than every text and blob, and nothing compares with
// NULL.
func lowestRowid(v row.Value, excl bool) (int64, bool) {
	switch v = row.AffInteger.ForCompare(v); v.Kind() {
	case row.Int:
		if excl {
			return v.Int() + 1, v.Int() < math.MaxInt64
		}
		return v.Int(), true
	case row.Real:
		f := math.Ceil(v.Real())
		switch {
		case f >= 1<<63:
			return 0, false
		case f < math.MinInt64:
			return math.MinInt64, true
		}
		if excl && f == v.Real() {
			return int64(f) + 1, true
		}
		return int64(f), true
	}
	return 0, false
}

// highestRowid returns the greatest rowid that is <= v, or < v.
func highestRowid(v row.Value, excl bool) (int64, bool) {
	switch v = row.AffInteger.ForCompare(v); v.Kind() {
	case row.Int:
		if excl {
			return v.Int() - 1, v.Int() > math.MinInt64
		}
		return v.Int(), true
	case row.Real:
		f := math.Floor(v.Real())
		switch {
		case f >= 1<<63:
			return math.MaxInt64, true
		case f < math.MinInt64:
			return 0, false
		}
		if excl && f == v.Real() {
			return int64(f) - 1, f > math.MinInt64
		}
		return int64(f), true
	case row.Text, row.Blob:
		return math.MaxInt64, true
	}
	return 0, false
}
