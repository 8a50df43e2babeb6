package tree

import "strings"

// loader makes a tree of entries that come in ascending order: full leaves, and
// full nodes above them.
//
// The bytes of some leaves are kept in one piece of memory, and so are their
// heads and slots. Either piece fills the unit that memory comes in from the
// system, and nothing else lies between them: there are no holes, whatever is
// made and let go meanwhile.
type loader struct {
	t       base
	heads   []uint64 // of the entries at hand
	entries []string
	bytes   int    // of theirs
	group   []leaf // not used yet
	// The last node of each level, the lowest first, and what it begins with.
	edge []loadNode
}

type loadNode struct {
	n    *inner
	head uint64
	tail string
}

const loadLeaves = 9 // of which the nodes are in one piece, which has 8 KiB

func newLoader(keyed bool) *loader {
	const most = loadLeaves * maxEntries
	return &loader{
		t:     base{own: new(mark), keyed: keyed},
		heads: make([]uint64, 0, most), entries: make([]string, 0, most),
	}
}

// add appends an entry, whose bytes must stay until the tree is finished.
func (l *loader) add(head uint64, entry string) {
	if len(l.heads) == cap(l.heads) || len(l.heads) > 0 && l.bytes+len(entry) > maxBytes {
		l.flush()
	}
	l.heads, l.entries = append(l.heads, head), append(l.entries, entry)
	l.bytes += len(entry)
	l.t.size.bytes += len(entry)
}

// flush makes leaves of the entries at hand, all of about one size.
func (l *loader) flush() {
	var b strings.Builder
	b.Grow(l.bytes)
	for _, e := range l.entries {
		b.WriteString(e)
	}
	data, heads, entries := b.String(), l.heads, l.entries
	for leaves := (len(heads) + maxEntries - 1) / maxEntries; leaves > 0; leaves-- {
		if len(l.group) == 0 {
			l.group = make([]leaf, loadLeaves)
		}
		f := &l.group[0]
		l.group = l.group[1:]
		f.own, f.loaded = l.t.own, true
		f.n = (len(heads) + leaves - 1) / leaves
		copy(f.heads[:], heads[:f.n])
		for i, e := range entries[:f.n] {
			if f.live+len(e) > maxNarrow && f.wide == nil {
				f.widen() // a long entry, which is alone
			}
			f.place(i, f.live, len(e))
			f.live += len(e)
		}
		f.data, data = data[:f.live], data[f.live:]
		heads, entries = heads[f.n:], entries[f.n:]
		l.append(f)
	}
	clear(l.entries)
	l.heads, l.entries, l.bytes = l.heads[:0], l.entries[:0], 0
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
	for i, h := range f.heads[:f.n] {
		m.upTo(h, false)
		if len(m.changes) > 0 && rowHead(m.changes[0].Rowid) == h {
			continue // which takes its place
		}
		m.to.add(h, f.entry(i))
	}
}
