package vtab

import (
	"bytes"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// convert makes of an argument what SQLite compares the column with; false if
// no row can match.
func convert(letter byte, v row.Value) (row.Value, bool) {
	switch letter {
	case 't':
		v = row.AffText.ForCompare(v)
	case 'n':
		v = row.AffNumeric.ForCompare(v)
	case 'T':
		return row.AffText.ForCompare(v), true
	case 'N':
		return row.AffNumeric.ForCompare(v), true
	case 'B':
		return v, true
	}
	return v, !v.IsNull()
}

// keyRange computes the keys of the rows that fulfil a plan by an index: equality
// on the first terms columns, then the bounds of num. The keys k are those with
// lo <= k < hi, where an empty hi is no bound; both lie in buf. false: no row can match.
// For planFirst they are those whose next column is not NULL.
//
// In a DESC column larger values come first, so there the bounds change places.
// No bound lets NULL in, which is the lowest value.
func keyRange(buf []byte, ix *engine.IndexDef, terms int, num int32, letters string, vals []row.Value) (out, lo, hi []byte, some bool) {
	for i := range terms {
		v, ok := convert(letters[i], vals[i])
		if !ok {
			return buf, nil, nil, false
		}
		ic := ix.Columns[i]
		buf = row.AppendKey(buf, v, ic.Collation, ic.Desc)
	}
	n := len(buf)
	if num&(planLower|planUpper|planFirst) == 0 {
		if terms == 0 {
			return buf, nil, nil, true
		}
		buf = append(buf, row.KeyAfter...)
		return buf, buf[:n], buf, true
	}
	ic := ix.Columns[terms]
	// least and greatest are what the column is compared with, and the side of
	// the key the range ends on: behind all entries of it, or before.
	var least, greatest row.Value
	behindLeast, behindGreatest, bounded := true, true, false
	at := terms
	if num&planLower != 0 {
		v, ok := convert(letters[at], vals[at])
		if !ok {
			return buf, nil, nil, false
		}
		least, behindLeast = v, num&planLowerExcl != 0
		at++
	}
	if num&planUpper != 0 {
		v, ok := convert(letters[at], vals[at])
		if !ok {
			return buf, nil, nil, false
		}
		greatest, behindGreatest, bounded = v, num&planUpperExcl == 0, true
	}
	end := func(v row.Value, behind bool) (from int) {
		from = len(buf)
		buf = append(buf, buf[:n]...)
		buf = row.AppendKey(buf, v, ic.Collation, ic.Desc)
		if behind != ic.Desc {
			buf = append(buf, row.KeyAfter...)
		}
		return from
	}
	first := end(least, behindLeast)
	second := len(buf)
	switch {
	case bounded:
		end(greatest, behindGreatest)
	case ic.Desc: // from the first key of the prefix on
		buf = append(buf, buf[:n]...)
	default:
		buf = append(append(buf, buf[:n]...), row.KeyAfter...)
	}
	lo, hi = buf[first:second], buf[second:]
	if ic.Desc {
		lo, hi = hi, lo
	}
	return buf, lo, hi, bytes.Compare(lo, hi) < 0
}
