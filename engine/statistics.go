package engine

import (
	"math"
	"sort"
	"strings"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Statistics answers how many rows a plan would read, from the trees
// themselves: nodes know how many entries lie below them, so a position is
// found in O(log² n). It is good until the next write of the transaction it
// comes from.
type Statistics struct {
	def     *TableDef
	rows    *rowTree
	src     *source
	indexes []*indexTree
}

// Statistics returns those of the table. One of a branch point that cannot be read
// has those of an empty table: whoever reads it is told.
func (t *Table) Statistics() Statistics {
	n, err := t.whole()
	if err != nil {
		n = newTable(t.def, nil)
	}
	return Statistics{n.def, n.rows, n.src, n.indexes}
}

// Statistics returns those of the table as of now.
func (h *TxTable) Statistics() Statistics {
	s := Statistics{h.def, h.rows, h.source(), make([]*indexTree, len(h.indexes))}
	for i := range h.indexes {
		s.indexes[i] = h.indexes[i].tree
	}
	return s
}

// Len returns the number of rows.
func (s Statistics) Len() int { return s.rows.Len() }

// Rows counts the rows whose ids lie in [lo, hi].
func (s Statistics) Rows(lo, hi int64) int {
	rank := func(id int64) int { // rows below id
		return sort.Search(s.rows.Len(), func(i int) bool {
			k, _, _ := s.rows.GetAt(i)
			return k >= id
		})
	}
	if lo > hi {
		return 0
	}
	end := s.rows.Len()
	if hi != math.MaxInt64 {
		end = rank(hi + 1)
	}
	return end - rank(lo)
}

// Keys counts the entries of index ix whose key k fulfils lo <= k < hi; an
// empty hi is no bound.
func (s Statistics) Keys(ix int, lo, hi string) int {
	tree := s.indexes[ix]
	rank := func(key string) int {
		return sort.Search(tree.Len(), func(i int) bool {
			entry, _ := tree.GetAt(i)
			k, _ := splitEntry(entry)
			return k >= key
		})
	}
	end := tree.Len()
	if hi != "" {
		end = rank(hi)
	}
	return max(0, end-rank(lo))
}

// Sample returns up to n rows spread evenly over the table. Rows that cannot be
// read are left out: whoever needs them is told.
func (s Statistics) Sample(n int) []Entry {
	total := s.rows.Len()
	n = min(n, total)
	sample := make([]Entry, 0, n)
	for k := range n {
		rowid, rec, _ := s.rows.GetAt(total*k/n + total/(2*n))
		if s.src != nil {
			var err error
			if rec, err = s.src.row(s.def, rowid, rec); err != nil {
				continue
			}
		}
		sample = append(sample, Entry{rowid, rec})
	}
	return sample
}

// samples is how many rows PerKey looks at.
const samples = 8

// PerKey estimates how many rows share the first n columns of the key of index
// ix with a row, as the geometric mean over a few rows spread evenly. Rows whose
// first column is NULL count for nothing as long as there are others, since
// equality finds none of them.
func (s Statistics) PerKey(ix, n int) float64 {
	tree, def := s.indexes[ix], s.def.Indexes[ix]
	total := tree.Len()
	if total == 0 {
		return 1
	}
	first := 0
	null := string(row.AppendKey(nil, row.Value{}, def.Columns[0].Collation, def.Columns[0].Desc))
	if nulls := s.Keys(ix, null, null+row.KeyAfter); nulls < total && !def.Columns[0].Desc {
		first = nulls
	} else if nulls < total {
		total -= nulls
	}
	if total == first {
		return 1
	}
	sum := 0.0
	for k := range samples {
		at := first + (total-first)*k/samples + (total-first)/(2*samples)
		entry, _ := tree.GetAt(at)
		key, _ := splitEntry(entry)
		prefix := key
		for _, c := range def.Columns[:n] {
			_, key = row.KeyTerm(key, c.Desc)
		}
		prefix = prefix[:len(prefix)-len(key)]
		sum += math.Log(float64(max(1, s.few(tree, ix, prefix))))
	}
	return math.Exp(sum / samples)
}

// few counts the entries of a prefix; up to a few it is quicker to step over
// them than to search for their end.
func (s Statistics) few(tree *indexTree, ix int, prefix string) int {
	it, n := tree.Iter(), 0
	for ok := it.SeekGE(prefix); ok && strings.HasPrefix(it.Key(), prefix); ok = it.Next() {
		if n++; n == 32 {
			return s.Keys(ix, prefix, prefix+row.KeyAfter)
		}
	}
	return n
}
