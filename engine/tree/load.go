package tree

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
)

// loader makes a tree of entries that come in ascending order: full leaves, and
// full nodes above them. A piece of one only makes leaves, beside the loader that
// takes them over.
type loader struct {
	t      base
	piece  bool
	leaves []*leaf  // of a piece
	leaf   *leaf    // that is being filled; its data is here:
	data   []byte   // what is written of it, in memory for all leaves
	other  []byte   // where data is written anew, in turn with it
	last   *leaf    // that was put behind the others last
	order  []uint16 // of such a leaf, to use again
	orders []uint16 // memory for orders, not used yet
	// The last node of each level, the lowest first, and what it begins with.
	edge []loadNode
}

type loadNode struct {
	n    *inner
	head uint64
	tail string
}

func newLoader(keyed bool) *loader {
	return &loader{t: base{own: new(mark), keyed: keyed}}
}

// pieces calls fill with n loaders side by side, the first of which is l, and
// appends what the others got.
func (l *loader) pieces(n int, fill func(i int, l *loader)) {
	var others sync.WaitGroup
	made := make([]*loader, n)
	for i := 1; i < n; i++ {
		p := &loader{t: base{own: l.t.own, keyed: l.t.keyed}, piece: true}
		made[i] = p
		others.Go(func() {
			fill(i, p)
			p.flush()
		})
	}
	fill(0, l)
	l.flush()
	others.Wait()
	for _, p := range made[1:] {
		for _, f := range p.leaves {
			l.append(f)
		}
		l.t.size.bytes += p.t.size.bytes
	}
}

// add appends an entry.
func (l *loader) add(head uint64, entry string) { addTo(l, head, entry) }

func addTo[K bytesLike](l *loader, head uint64, entry K) {
	f := l.leaf
	if f != nil && f.crowded(head, len(entry)) {
		l.flush()
		f = nil
	}
	if f == nil {
		f = l.begin(head)
	}
	data := l.data
	if !f.keyed {
		if !f.covers(head) {
			l.reframe(f.framedWith(head))
			data = l.data
		}
		data = binary.LittleEndian.AppendUint64(data, head-f.base)
		data = data[:len(l.data)+int(f.width)]
	}
	f.order = append(f.order, uint16(len(data)))
	if n := len(entry); n < 0x80 {
		data = append(data, byte(n))
	} else {
		data = binary.AppendUvarint(data, uint64(n))
	}
	data = append(data, entry...)
	f.live += uint32(len(data) - len(l.data))
	f.last = head
	l.data = data
	l.t.size.bytes += cost(l.t.keyed, len(entry))
}

// begin returns a new leaf to fill.
func (l *loader) begin(head uint64) *leaf {
	f := newLeaf(l.t.own, l.t.keyed, head)
	f.order, f.first = l.order[:0], head
	if cap(l.data) == 0 || cap(l.data) > 4*maxBytes { // a long entry is rare
		l.data = make([]byte, 0, maxBytes+headSize)
	}
	l.leaf, l.data = f, append(l.data[:0], padding[:f.pad()]...)
	return f
}

// reframe writes what there is of the leaf anew, in another frame.
func (l *loader) reframe(to frame) {
	f, from, data := l.leaf, l.data, append(l.other[:0], padding...)
	for i, at := range f.order {
		end := len(from)
		if i+1 < len(f.order) {
			end = int(f.order[i+1]) - int(f.width)
		}
		head := f.base + binary.LittleEndian.Uint64(from[at-headSize:])>>(f.shift&63)
		n := len(data)
		data = binary.LittleEndian.AppendUint64(data, head-to.base)[:n+int(to.width)]
		f.order[i] = uint16(len(data))
		data = append(data, from[at:end]...)
	}
	l.data, l.other = data, from
	f.frame, f.live = to, uint32(len(data)-headSize)
}

// flush puts the leaf that was filled behind the others.
func (l *loader) flush() {
	f := l.leaf
	if f == nil {
		return
	}
	l.leaf, l.order, f.order = nil, f.order, l.carve(f.order)
	f.data = string(l.data)
	l.append(f)
}

// carve returns a copy of an order. Such copies are cut from pieces of one size,
// which leave no holes either.
func (l *loader) carve(o []uint16) []uint16 {
	n := len(o)
	if len(l.orders) < n {
		l.orders = make([]uint16, max(n, maxBytes/2))
	}
	c := l.orders[:n:n]
	l.orders = l.orders[n:]
	copy(c, o)
	return c
}

// append puts a leaf behind the others.
func (l *loader) append(f *leaf) {
	if l.piece {
		l.leaves = append(l.leaves, f)
		return
	}
	l.t.size.over += l.t.over(f)
	head, tail := f.first, ""
	if l.last != nil {
		head, tail = f.begins(l.last)
	}
	l.last = f
	n := l.open(0, head, tail)
	n.leaves = append(n.leaves, f)
}

// open returns the last node of a level with room for one kid more, which
// begins with head and tail.
func (l *loader) open(level int, head uint64, tail string) *inner {
	if level == len(l.edge) {
		l.edge = append(l.edge, loadNode{l.node(), head, tail})
		return l.edge[level].n
	}
	e := &l.edge[level]
	if e.n.fan() < maxKids {
		e.n.separate(e.n.fan()-1, l.t.keyed, head, tail)
		return e.n
	}
	l.close(level)
	l.edge[level] = loadNode{l.node(), head, tail}
	return l.edge[level].n
}

func (l *loader) node() *inner { return &inner{own: l.t.own} }

// close puts the last node of a level below the one above.
func (l *loader) close(level int) {
	e := l.edge[level]
	e.n.recount()
	above := l.open(level+1, e.head, e.tail)
	above.kids = append(above.kids, e.n)
}

// finish returns the tree.
func (l *loader) finish() base {
	l.flush()
	for level := 0; level < len(l.edge); level++ {
		if level == len(l.edge)-1 {
			l.t.root = l.edge[level].n
			l.t.root.recount()
			break
		}
		l.close(level)
	}
	l.t.weigh(0)
	return l.t
}

// merge writes a tree anew, with changes: what is before a row in its middle and
// what is behind it side by side, if there is much of it. Nodes of its own are let
// go one by one, so that there is never much of both trees.
func (t *base) merge(changes []Change) {
	all := []merger{{own: t.own, changes: changes}}
	if cut := t.middle(changes); cut > 0 {
		n, _ := slices.BinarySearchFunc(changes, cut, func(c Change, cut uint64) int { return cmp.Compare(rowHead(c.Rowid), cut) })
		all[0].changes, all[0].end = changes[:n], cut
		all = append(all, merger{own: t.own, changes: changes[n:], begin: cut})
	}
	root, l := t.root, newLoader(t.keyed)
	t.root, t.edge, t.above = nil, nil, nil
	l.pieces(len(all), func(i int, to *loader) {
		m := &all[i]
		m.to = to
		if root != nil {
			m.node(root)
		}
		m.upTo(0, true)
	})
	*t = l.finish()
}

// fewBytes is how many bytes take about as long to move as an entry to sort.
const fewBytes = 1 << 10

// middle returns a head with about as much before it as behind it, 0 when it is
// not worth while to cut.
func (t *base) middle(changes []Change) uint64 {
	n, bytes := t.len(), t.size.bytes
	for _, c := range changes {
		bytes += len(c.Rec)
	}
	switch {
	case bytes < fewSorted*fewBytes || runtime.GOMAXPROCS(0) == 1:
		return 0
	case n > len(changes):
		l, i := t.at(n / 2)
		return l.head(i)
	}
	return rowHead(changes[len(changes)/2].Rowid)
}

// merger writes the entries from begin on, and before end unless that is 0.
type merger struct {
	to         *loader
	own        *mark
	changes    []Change // in that range
	begin, end uint64
}

// upTo makes the changes before a head, or all that are left.
func (m *merger) upTo(head uint64, all bool) {
	for len(m.changes) > 0 {
		c := m.changes[0]
		h := rowHead(c.Rowid)
		if !all && h >= head {
			return
		}
		if c.Rec != "" {
			m.to.add(h, string(c.Rec))
		}
		m.changes = m.changes[1:]
	}
}

// node goes through what is below a node. Kids that the end or the beginning lies
// in are read by two mergers, which leave them alone.
func (m *merger) node(n *inner) {
	first, last := 0, n.fan()-1
	from, to := first, last // to be let go
	if m.begin > 0 {
		first = child(n, false, m.begin, "")
		from = first + 1
	}
	if m.end > 0 {
		last = child(n, false, m.end, "")
		to = last - 1
	}
	for i := first; i <= last; i++ {
		private := n.own == m.own && from <= i && i <= to
		if n.leaves == nil {
			k := n.kids[i]
			if private {
				n.kids[i] = nil
			}
			m.node(k)
			continue
		}
		f := n.leaves[i]
		if private {
			n.leaves[i] = nil
		}
		m.leaf(f)
	}
}

func (m *merger) leaf(f *leaf) {
	first, last := 0, f.len()
	if m.begin > 0 {
		first, _ = search(f, m.begin, "")
	}
	if m.end > 0 {
		last, _ = search(f, m.end, "")
	}
	for _, at := range f.order[first:last] {
		h := f.rowHeadAt(int(at))
		m.upTo(h, false)
		if len(m.changes) > 0 && rowHead(m.changes[0].Rowid) == h {
			continue // which takes its place
		}
		m.to.add(h, f.bytesAt(int(at)))
	}
}
