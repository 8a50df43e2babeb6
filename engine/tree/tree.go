package tree

import "slices"

// base is a tree of entries ordered by head and, if keyed, by their bytes.
type base struct {
	root  *inner
	own   *mark
	keyed bool
	size  size

	// The last leaf and the nodes above it, while all of them may be changed in
	// place: entries that come in ascending order go there without a search.
	edge  *leaf
	above []*inner
}

// isoCopy returns a tree of the same entries. Neither of the two changes a node
// of the other afterwards.
func (t *base) isoCopy() base {
	t.own, t.edge = new(mark), nil
	return base{root: t.root, own: new(mark), keyed: t.keyed, size: t.size}
}

func (t *base) len() int {
	if t.root == nil {
		return 0
	}
	return t.root.count
}

// find returns an entry.
func find[K bytesLike](t *base, head uint64, key K) (string, bool) {
	n := t.root
	if n == nil {
		return "", false
	}
	for n.leaves == nil {
		n = n.kids[child(n, t.keyed, head, key)]
	}
	l := n.leaves[child(n, t.keyed, head, key)]
	i, ok := search(l, head, key)
	if !ok {
		return "", false
	}
	return l.entry(i), true
}

// mutable makes *p a node that the tree may change.
func (t *base) mutable(p **inner) *inner {
	if (*p).own != t.own {
		*p = (*p).clone(t.own)
	}
	return *p
}

func (t *base) mutableLeaf(p **leaf) *leaf {
	if (*p).own != t.own {
		*p = (*p).clone(t.own)
	}
	return *p
}

// set stores bytes under a key, which in a keyed tree are the same. It returns
// the entry that had the key.
func set[K bytesLike](t *base, head uint64, b K) (old string, had bool) {
	if l := t.edge; l != nil && head > l.last && !l.crowded(head, len(b)) {
		was := t.over(l)
		insert(l, l.len(), head, b)
		t.size.over += t.over(l) - was
		for _, n := range t.above {
			n.count++
		}
		return "", false
	}
	if t.own == nil {
		t.own = new(mark)
	}
	if t.root == nil {
		t.root = &inner{own: t.own, leaves: []*leaf{newLeaf(t.own, t.keyed, head)}}
		t.size.over = t.over(t.root.leaves[0])
	}
	old, had, right, sep, tail := put(t, &t.root, head, b)
	t.grow(right, sep, tail)
	t.findEdge(head)
	return old, had
}

// grow puts a node above the root and one that was split from it, if there is one.
func (t *base) grow(right *inner, sep uint64, tail string) {
	if right != nil {
		t.root = &inner{own: t.own, kids: []*inner{t.root, right}}
		t.root.separate(0, t.keyed, sep, tail)
		t.root.recount()
	}
}

// addKid puts a node that was split from kid at behind it, if there is one.
func (t *base) addKid(n *inner, at int, kid *inner, sep uint64, tail string) {
	if kid != nil {
		n.kids = slices.Insert(n.kids, at+1, kid)
		n.separate(at, t.keyed, sep, tail)
	}
}

// findEdge notes the last leaf if that is where an entry was just put.
func (t *base) findEdge(head uint64) {
	t.edge, t.above = nil, t.above[:0]
	for n := t.root; n.own == t.own; n = n.kids[len(n.kids)-1] {
		t.above = append(t.above, n)
		if n.leaves == nil {
			continue
		}
		if l := n.leaves[len(n.leaves)-1]; l.own == t.own && l.len() > 0 && l.last == head {
			t.edge = l
		}
		return
	}
}

// put is set below a node. When the node had to be split it returns the new one,
// and the head and key it begins with.
func put[K bytesLike](t *base, p **inner, head uint64, b K) (old string, had bool, right *inner, sep uint64, tail string) {
	n := t.mutable(p)
	at, fan := child(n, t.keyed, head, b), n.fan()
	if n.leaves != nil {
		var from, to int
		from, to, old, had = putLeaf(t, n, at, head, b)
		for _, l := range n.leaves[from:to] {
			t.size.over += t.over(l)
		}
	} else {
		var kid *inner
		old, had, kid, sep, tail = put(t, &n.kids[at], head, b)
		t.addKid(n, at, kid, sep, tail)
	}
	if !had {
		n.count++
	}
	if n.fan() > fan && n.fan() > maxKids {
		right, sep, tail = n.split(at+1, t.keyed)
		return old, had, right, sep, tail
	}
	return old, had, nil, 0, ""
}

// putLeaf is put in leaf at of a node, which may get more of them. It returns
// which leaves are new or changed; what those before them took beside their entries
// is no longer counted.
func putLeaf[K bytesLike](t *base, n *inner, at int, head uint64, b K) (from, to int, old string, had bool) {
	l := n.leaves[at]
	i, found := search(l, head, b)
	if found && t.keyed {
		return at, at, l.entry(i), true
	}
	if !found && 0 < i && i < l.len() && l.crowded(head, len(b)) {
		if from, to = spread(t, n, at, i, head, b, true); to > from {
			return from, to, "", false
		}
	}
	t.size.over -= t.over(l)
	l = t.mutableLeaf(&n.leaves[at])
	fan := n.fan()
	if found {
		old = l.entry(i)
		if len(b) <= maxBytes || l.len() == 1 {
			replace(l, i, head, b)
			l.tidy()
			if l.len() > 1 && int(l.live) > 2*maxBytes {
				t.addLeaf(n, at, l.split(l.middle()))
			}
			return at, at + 1 + n.fan() - fan, old, true
		}
		l.remove(i)
	}
	switch {
	case !l.crowded(head, len(b)):
		insert(l, i, head, b)
	case i == l.len():
		right := l.split(i)
		insert(right, 0, head, b)
		t.addLeaf(n, at, right)
	case i == 0:
		right := l.split(0)
		insert(l, 0, head, b)
		t.addLeaf(n, at, right)
	case len(b) > maxBytes: // which gets a leaf of its own
		right := l.split(i)
		own := l.split(i)
		insert(own, 0, head, b)
		t.addLeaf(n, at, own)
		t.addLeaf(n, at+1, right)
	default:
		cut := l.middle()
		right := l.split(cut)
		if i <= cut {
			insert(l, i, head, b)
		} else {
			insert(right, i-cut, head, b)
		}
		t.addLeaf(n, at, right)
	}
	return at, at + 1 + n.fan() - fan, old, found
}

// addLeaf puts a leaf behind leaf at of a node.
func (t *base) addLeaf(n *inner, at int, l *leaf) {
	n.leaves = slices.Insert(n.leaves, at+1, l)
	sep, tail := l.begins(n.leaves[at])
	n.separate(at, t.keyed, sep, tail)
}

// remove takes an entry out and returns it.
func remove[K bytesLike](t *base, head uint64, key K) (old string, had bool) {
	if _, ok := find(t, head, key); !ok {
		return "", false // nothing is copied for nothing
	}
	if t.own == nil {
		t.own = new(mark)
	}
	t.edge = nil
	old = take(t, &t.root, head, key)
	for len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
	return old, true
}

// take is remove below a node that has the entry.
func take[K bytesLike](t *base, p **inner, head uint64, key K) (old string) {
	n := t.mutable(p)
	n.count--
	at := child(n, t.keyed, head, key)
	if n.leaves != nil {
		was := t.over(n.leaves[at])
		l := t.mutableLeaf(&n.leaves[at])
		i, _ := search(l, head, key)
		old = l.entry(i)
		l.remove(i)
		l.tidy()
		t.size.over += t.over(l) - was
		if l.sparse() && !t.joinLeaves(n, at-1) {
			t.joinLeaves(n, at)
		}
		return old
	}
	old = take(t, &n.kids[at], head, key)
	if n.kids[at].fan() < fewKids && !t.joinKids(n, at-1) {
		t.joinKids(n, at)
	}
	return old
}

// joinLeaves makes one leaf of leaves i and i+1 if it leaves room for more.
func (t *base) joinLeaves(n *inner, i int) bool {
	if i < 0 || i+1 >= len(n.leaves) {
		return false
	}
	a, b := n.leaves[i], n.leaves[i+1]
	switch {
	case a.len() == 0 || b.len() == 0:
		if a.len() == 0 {
			b = a
		}
		t.size.over -= t.over(b)
		n.drop(i, a.len() == 0, t.keyed)
		return true
	case a.len()+b.len() > maxEntries*3/4 || a.live+b.live > maxBytes*3/4:
		return false
	}
	was := t.over(a) + t.over(b)
	a = t.mutableLeaf(&n.leaves[i])
	a.absorb(b)
	t.size.over += t.over(a) - was
	n.drop(i, false, t.keyed)
	return true
}

// joinKids is joinLeaves of inner nodes.
func (t *base) joinKids(n *inner, i int) bool {
	if i < 0 || i+1 >= len(n.kids) {
		return false
	}
	a, b := n.kids[i], n.kids[i+1]
	switch {
	case a.count == 0 || b.count == 0:
		if a.count == 0 {
			b = a
		}
		t.size.over -= t.overBelow(b)
		n.drop(i, a.count == 0, t.keyed)
		return true
	case a.fan()+b.fan() > maxKids*3/4:
		return false
	}
	tail := ""
	if t.keyed {
		tail = n.tails[i]
	}
	t.mutable(&n.kids[i]).absorb(b, t.keyed, n.heads[i], tail)
	n.drop(i, false, t.keyed)
	return true
}

// at returns the leaf and the position in it of entry i of all.
func (t *base) at(i int) (*leaf, int) {
	n := t.root
	for n.leaves == nil {
		k := 0
		for i >= n.kids[k].count {
			i -= n.kids[k].count
			k++
		}
		n = n.kids[k]
	}
	k := 0
	for i >= n.leaves[k].len() {
		i -= n.leaves[k].len()
		k++
	}
	return n.leaves[k], i
}
