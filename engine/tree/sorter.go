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
	fewSorted   = 1 << 12   // entries that one processor sorts
	maxSorters  = 4
)

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

// Keys returns the tree; the sorter is of no use afterwards. With check, it is
// asked about each entry and the one before, and ends the work when it says no.
func (s *Sorter) Keys(check func(before, entry string) bool) (*Keys, bool) {
	parts := s.sort()
	l := newLoader(true)
	first, before := true, ""
	for len(parts) > 0 {
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
		if check != nil && !first && !check(before, e) {
			return nil, false
		}
		l.add(keyHead(e), e)
		first, before = false, e
	}
	return &Keys{l.finish()}, true
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
