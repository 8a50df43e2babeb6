package segment

import (
	"errors"
	"fmt"
)

// Merged is an entry of several segments of one index.
type Merged struct {
	Rowid    int64  // of a primary index
	Key      string // of a secondary one
	Fragment uint64 // its id
	Ordinal  uint32
	Offset   int64 // of the row's frame, of a primary index
	Size     uint32
	Null     bool // of a secondary one
}

// Merge goes over the live entries of several segments of one index in their order. No
// two of them have the same row id or key: that is damage.
type Merge struct {
	live    func(fragment uint64, ordinal uint32) bool
	kind    Kind
	rg      Range
	heap    []*mergeSource // the least entry first
	several bool           // there is more than one, which may have what another has
	begun   bool
	lastRow int64 // of the entry before
	lastKey string
	any     bool   // there is one
	object  uint64 // its segment
	skipped int64
	batch   Batch
	err     error
}

// mergeSource is one segment of a Merge at its next live entry.
type mergeSource struct {
	r *Reader
	p *PrimaryIter
	s *SecondaryIter
	e Merged
}

// NewMerge returns an iterator over the entries of all readers of which live says that
// the row is there; nil: all of them. live is called once for each entry.
func NewMerge(readers []*Reader, live func(fragment uint64, ordinal uint32) bool) *Merge {
	return NewMergeRange(readers, live, Range{})
}

// NewMergeRange is NewMerge for the entries of a range, which Split returned.
func NewMergeRange(readers []*Reader, live func(fragment uint64, ordinal uint32) bool, rg Range) *Merge {
	m := &Merge{live: live, rg: rg, several: len(readers) > 1}
	for _, r := range readers {
		h, first := &r.header, &readers[0].header
		if h.Kind != first.Kind || h.Table != first.Table || h.Index != first.Index {
			m.err = fmt.Errorf("segment: objects %d and %d are not of one index", first.Object, h.Object)
			return m
		}
		m.kind = h.Kind
		x := &mergeSource{r: r}
		if h.Kind == Primary {
			row := int64(minRow)
			if rg.from.set {
				row = rg.from.row
			}
			x.p = r.Primary(row)
		} else {
			x.s = r.SecondaryFrom(rg.from.key)
		}
		m.heap = append(m.heap, x)
	}
	return m
}

// Next goes to the next entry; false at the end and after an error.
func (m *Merge) Next() bool {
	if m.err != nil {
		return false
	}
	if !m.begun {
		m.begin()
	} else if len(m.heap) > 0 {
		m.advance()
	}
	if m.err != nil || len(m.heap) == 0 {
		return false
	}
	top := m.heap[0]
	if m.any && (top.p != nil && top.e.Rowid <= m.lastRow || top.s != nil && top.e.Key <= m.lastKey) {
		m.err = m.twice(top)
		return false
	}
	m.lastRow, m.any, m.object = top.e.Rowid, true, top.r.header.Object
	if top.s != nil {
		m.lastKey = top.e.Key
	}
	return true
}

// Entry returns the entry that Next went to.
func (m *Merge) Entry() Merged {
	if len(m.heap) == 0 {
		return Merged{}
	}
	return m.heap[0].e
}

// Skipped returns how many dead entries were left out so far.
func (m *Merge) Skipped() int64 { return m.skipped }

// Err returns what ended the iteration early. A *CorruptError has the object.
func (m *Merge) Err() error { return m.err }

func (m *Merge) begin() {
	m.begun = true
	list := m.heap
	m.heap = m.heap[:0:len(list)]
	for _, x := range list {
		if m.step(x) {
			m.heap = append(m.heap, x)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

// advance moves the source of the last entry to its next one.
func (m *Merge) advance() {
	if !m.step(m.heap[0]) {
		n := len(m.heap) - 1
		m.heap[0], m.heap[n] = m.heap[n], nil
		m.heap = m.heap[:n]
	}
	if len(m.heap) > 1 {
		m.down(0)
	}
}

// step moves a source to its next live entry in the range.
func (m *Merge) step(x *mergeSource) bool {
	fragments := x.r.header.Fragments
	for {
		if x.p != nil {
			if !x.p.Next() {
				break
			}
			e := &x.p.e
			x.e.Rowid, x.e.Fragment, x.e.Ordinal = e.Rowid, fragments[e.Fragment], e.Ordinal
			x.e.Offset, x.e.Size = e.Offset, e.Size
			if m.rg.to.set && e.Rowid >= m.rg.to.row {
				return false
			}
		} else {
			if !x.s.Next() {
				break
			}
			e := x.s.Entry()
			x.e.Key, x.e.Fragment, x.e.Ordinal, x.e.Null = e.Key, fragments[e.Fragment], e.Ordinal, e.Null
			if m.rg.to.set && e.Key >= m.rg.to.key {
				return false
			}
		}
		if m.live == nil || m.live(x.e.Fragment, x.e.Ordinal) {
			return true
		}
		m.skipped++
	}
	if x.p != nil {
		m.err = errors.Join(m.err, x.p.err)
	} else {
		m.err = errors.Join(m.err, x.s.err)
	}
	return false
}

func (m *Merge) less(a, b *Merged) bool {
	if m.kind == Primary {
		return a.Rowid < b.Rowid
	}
	return a.Key < b.Key
}

// down moves the source at i of the heap to where it belongs.
func (m *Merge) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(m.heap) {
			return
		}
		if c+1 < len(m.heap) && m.less(&m.heap[c+1].e, &m.heap[c].e) {
			c++
		}
		if !m.less(&m.heap[c].e, &m.heap[i].e) {
			return
		}
		m.heap[i], m.heap[c] = m.heap[c], m.heap[i]
		i = c
	}
}

// twice says that a live entry of a source is one of another segment, too.
func (m *Merge) twice(x *mergeSource) error {
	what, block := fmt.Sprintf("row %d", x.e.Rowid), 0
	if x.p != nil {
		block = x.p.block - 1
	} else {
		what, block = fmt.Sprintf("key %x", brief([]byte(x.e.Key))), x.s.block-1
	}
	return x.r.corrupt(block, 0, "%s is a live entry of the segment of object %d, too", what, m.object)
}
