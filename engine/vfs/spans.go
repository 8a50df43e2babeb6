package vfs

import "slices"

// A span is the half-open byte range [lo, hi).
type span struct{ lo, hi int64 }

// spans is a set of bytes: sorted, disjoint, not touching. Its methods return
// a new set and leave the receiver's elements alone, so sets may be shared.
type spans []span

func (s spans) add(lo, hi int64) spans {
	if lo >= hi {
		return s
	}
	i := 0
	for i < len(s) && s[i].hi < lo {
		i++
	}
	j := i
	for j < len(s) && s[j].lo <= hi {
		lo, hi = min(lo, s[j].lo), max(hi, s[j].hi)
		j++
	}
	if j == i+1 && s[i] == (span{lo, hi}) {
		return s
	}
	return slices.Concat(s[:i], spans{{lo, hi}}, s[j:])
}

func (s spans) sub(lo, hi int64) spans {
	if lo >= hi || len(s) == 0 || s[0].lo >= hi || s[len(s)-1].hi <= lo {
		return s
	}
	var out spans
	for _, x := range s {
		if x.lo < min(lo, x.hi) {
			out = append(out, span{x.lo, min(lo, x.hi)})
		}
		if max(hi, x.lo) < x.hi {
			out = append(out, span{max(hi, x.lo), x.hi})
		}
	}
	return out
}

func (s spans) union(t spans) spans {
	for _, x := range t {
		s = s.add(x.lo, x.hi)
	}
	return s
}

func (s spans) minus(t spans) spans {
	for _, x := range t {
		s = s.sub(x.lo, x.hi)
	}
	return s
}

// end is the first byte behind the set.
func (s spans) end() int64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].hi
}
