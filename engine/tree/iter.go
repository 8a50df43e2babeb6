package tree

// iter walks over the entries of a tree. The tree may be changed between two
// calls of seek or end, not between one of them and next or prev.
type iter struct {
	t    *base
	path []step // from the root to the node above leaf
	leaf *leaf
	i    int
	at   int // where the leaf has entry i
}

type step struct {
	n *inner
	i int
}

// usualDepth is what a tree of a few million entries has at most.
const usualDepth = 5

func (it *iter) start() {
	it.leaf = nil
	if it.path = it.path[:0]; cap(it.path) == 0 {
		it.path = make([]step, 0, usualDepth)
	}
}

// down descends from a node to its first or last leaf.
func (it *iter) down(n *inner, last bool) bool {
	for {
		i := 0
		if last {
			i = n.fan() - 1
		}
		it.path = append(it.path, step{n, i})
		if n.leaves != nil {
			return it.enter(n.leaves[i], last)
		}
		n = n.kids[i]
	}
}

func (it *iter) enter(l *leaf, last bool) bool {
	it.leaf, it.i = l, 0
	if last {
		it.i = l.len() - 1
	}
	if l.len() == 0 {
		return false
	}
	it.at = int(l.order[it.i])
	return true
}

// end goes to the first or last entry.
func (it *iter) end(last bool) bool {
	it.start()
	return it.t.root != nil && it.down(it.t.root, last)
}

// seek goes to the first entry that is not before the key.
func seek[K bytesLike](it *iter, head uint64, key K) bool {
	it.start()
	n := it.t.root
	if n == nil {
		return false
	}
	for {
		i := child(n, it.t.keyed, head, key)
		it.path = append(it.path, step{n, i})
		if n.leaves != nil {
			it.leaf = n.leaves[i]
			break
		}
		n = n.kids[i]
	}
	it.i, _ = search(it.leaf, head, key)
	it.i--
	return it.next()
}

// next goes on, to the first entry at the start. Behind the last entry it stays
// there.
func (it *iter) next() bool {
	if it.leaf == nil {
		return it.end(false)
	}
	if it.i++; it.i < len(it.leaf.order) {
		it.at = int(it.leaf.order[it.i])
		return true
	}
	for d := len(it.path) - 1; d >= 0; d-- {
		s := &it.path[d]
		if s.i+1 < s.n.fan() {
			s.i++
			it.path = it.path[:d+1]
			if s.n.leaves != nil {
				return it.enter(s.n.leaves[s.i], false)
			}
			return it.down(s.n.kids[s.i], false)
		}
	}
	it.i = it.leaf.len() - 1
	return false
}

// prev goes back, to the last entry at the start. Before the first entry it
// stays there.
func (it *iter) prev() bool {
	if it.leaf == nil {
		return it.end(true)
	}
	if it.i--; it.i >= 0 {
		it.at = int(it.leaf.order[it.i])
		return true
	}
	for d := len(it.path) - 1; d >= 0; d-- {
		s := &it.path[d]
		if s.i > 0 {
			s.i--
			it.path = it.path[:d+1]
			if s.n.leaves != nil {
				return it.enter(s.n.leaves[s.i], true)
			}
			return it.down(s.n.kids[s.i], true)
		}
	}
	it.i = 0
	return false
}
