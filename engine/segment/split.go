package segment

import (
	"cmp"
	"slices"
)

// Range is a part of the entries of an index; the zero Range is all of them.
type Range struct{ from, to edge } // from is in it, to is not

// edge is an end of a Range.
type edge struct {
	set bool
	row int64
	key string
}

// Split cuts the entries of several segments of one index into n ranges at most, of about
// as many entries each and in their order. Only the directories are looked at.
func Split(readers []*Reader, n int) []Range {
	type begin struct {
		edge
		entries uint64 // of the block that begins there
	}
	var all []begin
	total := uint64(0)
	for _, r := range readers {
		for i, x := range r.dir.blocks {
			b := begin{edge{true, x.row, ""}, x.entries}
			if r.header.Kind == Secondary {
				b.key = r.dir.seps[i]
			}
			all = append(all, b)
			total += x.entries
		}
	}
	slices.SortFunc(all, func(a, b begin) int { return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.key, b.key)) })
	list := []Range{{}}
	done := uint64(0)
	for i, b := range all {
		// The next range begins here once the ranges so far have their share.
		last := &list[len(list)-1]
		if i > 0 && len(list) < n && done >= total/uint64(n)*uint64(len(list)) && b.edge != all[0].edge && b.edge != last.from {
			last.to = b.edge
			list = append(list, Range{from: b.edge})
		}
		done += b.entries
	}
	return list
}
