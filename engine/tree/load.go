package tree

// loader makes a tree of entries that come in ascending order: full leaves, and
// full nodes above them.
type loader struct {
	t      base
	leaf   *leaf    // that is being filled
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

// add appends an entry.
func (l *loader) add(head uint64, entry string) {
	if l.leaf != nil && l.leaf.crowded(len(entry)) {
		l.flush()
	}
	if l.leaf == nil {
		l.leaf = &leaf{own: l.t.own, keyed: l.t.keyed, order: l.order[:0]}
		l.leaf.empty(max(maxBytes, cost(l.t.keyed, len(entry))))
	}
	insert(l.leaf, l.leaf.len(), head, entry)
	l.t.size.bytes += cost(l.t.keyed, len(entry))
}

// flush puts the leaf that was filled behind the others.
func (l *loader) flush() {
	f := l.leaf
	if f == nil {
		return
	}
	l.leaf, l.order, f.order = nil, f.order, l.carve(f.order)
	if live := int(f.live); f.buf.Cap()-live > live/8 {
		f.rewrite(live)
	}
	f.buf = nil
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
	l.t.size.over += l.t.over(f)
	head, tail := f.least(l.t.keyed)
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

// merge writes a tree anew, with changes. Nodes of its own are let go one by
// one, so that there is never much of both trees.
func (t *base) merge(changes []Change) {
	m := merger{to: newLoader(t.keyed), own: t.own, changes: changes}
	root := t.root
	t.root, t.edge, t.above = nil, nil, nil
	if root != nil {
		m.node(root)
	}
	m.upTo(0, true)
	*t = m.to.finish()
}

type merger struct {
	to      *loader
	own     *mark
	changes []Change
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

func (m *merger) node(n *inner) {
	private := n.own == m.own
	for i, k := range n.kids {
		if private {
			n.kids[i] = nil
		}
		m.node(k)
	}
	for i, f := range n.leaves {
		if private {
			n.leaves[i] = nil
		}
		m.leaf(f)
	}
}

func (m *merger) leaf(f *leaf) {
	for i := range f.len() {
		h := f.head(i)
		m.upTo(h, false)
		if len(m.changes) > 0 && rowHead(m.changes[0].Rowid) == h {
			continue // which takes its place
		}
		m.to.add(h, f.entry(i))
	}
}
