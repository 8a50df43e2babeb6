package tree

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Sorter makes a tree of entries that come in any order.
type Sorter struct {
	block   *strings.Builder
	entries []sorted
	common  string // what all entries begin with
}

// sorted is an entry and the eight bytes of it that follow what all entries have
// in common.
type sorted struct {
	head  uint64
	entry string
}

func (a sorted) compare(b sorted) int {
	if a.head != b.head {
		return cmp.Compare(a.head, b.head)
	}
	return strings.Compare(a.entry, b.entry)
}

const (
	sorterBlock = 256 << 10 // bytes of entries that are kept side by side
	maxSorters  = 4
)

// fewSorted is how many entries are work for one processor; a variable for tests.
var fewSorted = 1 << 12

// NewSorter returns a sorter with room for n entries.
func NewSorter(n int) *Sorter { return &Sorter{entries: make([]sorted, 0, n)} }

// Add adds a copy of an entry. No two may be equal.
func (s *Sorter) Add(entry []byte) {
	if s.block == nil || s.block.Cap()-s.block.Len() < len(entry) {
		s.block = new(strings.Builder)
		s.block.Grow(max(sorterBlock, len(entry)))
	}
	at := s.block.Len()
	s.block.Write(entry)
	e := s.block.String()[at:]
	if len(s.entries) == 0 {
		s.common = e
	} else if !strings.HasPrefix(e, s.common) {
		n := 0
		for n < len(e) && e[n] == s.common[n] {
			n++
		}
		s.common = s.common[:n]
	}
	s.entries = append(s.entries, sorted{entry: e})
}

// All yields the entries in order; the sorter is of no use afterwards.
func (s *Sorter) All() func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for parts := s.sort(); len(parts) > 0; {
			least := 0
			for i := 1; i < len(parts); i++ {
				if parts[i][0].compare(parts[least][0]) < 0 {
					least = i
				}
			}
			if !yield(parts[least][0].entry) {
				return
			}
			if parts[least] = parts[least][1:]; len(parts[least]) == 0 {
				parts = slices.Delete(parts, least, least+1)
			}
		}
	}
}

// Keys returns the tree; the sorter is of no use afterwards. With check, it is
// asked about each entry and the one before, by several goroutines, and ends the
// work when it says no: those two are returned.
func (s *Sorter) Keys(check func(before, entry string) bool) (made *Keys, refused [2]string, ok bool) {
	pieces := cut(s.sort())
	l := newLoader(true)
	ends := make([]sortedEnds, len(pieces))
	l.pieces(len(pieces), func(i int, l *loader) { ends[i].fill(l, pieces[i], check) })
	before := ""
	for i, e := range ends {
		if check != nil && i > 0 && !check(before, e.first) {
			return nil, [2]string{before, e.first}, false
		}
		if e.stopped {
			return nil, e.refused, false
		}
		before = e.last
	}
	return &Keys{l.finish()}, refused, true
}

// cut returns about as many pieces as there are ordered parts, and one at least.
// The entries of a piece, in parts again, are all before those of the next one.
func cut(parts [][]sorted) [][][]sorted {
	var pieces [][][]sorted
	rest := slices.Clone(parts)
	for i := len(parts); i > 0; i-- {
		var piece [][]sorted
		for k, p := range rest {
			n := 0
			if i > 1 {
				at := parts[0][len(parts[0])*(i-1)/len(parts)]
				n, _ = slices.BinarySearchFunc(p, at, sorted.compare)
			}
			if n < len(p) {
				piece = append(piece, p[n:])
			}
			rest[k] = p[:n]
		}
		if piece != nil {
			pieces = append(pieces, piece)
		}
	}
	slices.Reverse(pieces)
	return append(pieces, nil)[:max(1, len(pieces))]
}

// sortedEnds are the ends of a piece, or two entries in it that were refused.
type sortedEnds struct {
	first, last string
	refused     [2]string
	stopped     bool
}

// fill brings the entries of a piece to a loader.
func (s *sortedEnds) fill(l *loader, parts [][]sorted, check func(before, entry string) bool) {
	for any := false; len(parts) > 0; any = true {
		least := 0
		for i := 1; i < len(parts); i++ {
			if parts[i][0].compare(parts[least][0]) < 0 {
				least = i
			}
		}
		e := parts[least][0].entry
		if parts[least] = parts[least][1:]; len(parts[least]) == 0 {
			parts = slices.Delete(parts, least, least+1)
		}
		switch {
		case !any:
			s.first = e
		case check != nil && !check(s.last, e):
			s.refused, s.stopped = [2]string{s.last, e}, true
			return
		}
		l.add(keyHead(e), e)
		s.last = e
	}
}

// sort returns the entries in ordered parts, which several processors sorted
// side by side.
func (s *Sorter) sort() [][]sorted {
	skip := len(s.common)
	count := min(maxSorters, runtime.GOMAXPROCS(0), len(s.entries)/fewSorted+1)
	var parts [][]sorted
	if len(s.entries) > 0 {
		parts = slices.Collect(slices.Chunk(s.entries, (len(s.entries)+count-1)/count))
	}
	var others sync.WaitGroup
	for _, p := range parts {
		others.Go(func() {
			for i := range p {
				p[i].head = keyHead(p[i].entry[skip:])
			}
			slices.SortFunc(p, sorted.compare)
		})
	}
	others.Wait()
	return parts
}
