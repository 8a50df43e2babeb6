package tree

// Replace gives rows that are there other records; others are left out. The
// changes must be ordered by row id, no two of one row. A leaf of which many rows
// are replaced is written anew once.
func (r *Rows) Replace(changes []Change) {
	t := &r.t
	if t.root == nil || len(changes) == 0 {
		return
	}
	if t.own == nil {
		t.own = new(mark)
	}
	t.edge = nil
	more := 0
	for len(changes) > 0 {
		if c := changes[0]; len(c.Rec) > maxBytes { // may need a leaf of its own
			if _, found := r.Get(c.Rowid); found {
				r.Set(c.Rowid, c.Rec)
			}
			changes, t.edge = changes[1:], nil
			continue
		}
		p := patch{changes: changes}
		t.grow(t.patch(&t.root, &p))
		changes = changes[p.done:]
		more += p.more
	}
	t.weigh(more)
}

// patch is what Replace does in one leaf.
type patch struct {
	changes []Change
	done    int // so many of them are made
	more    int // bytes that their records take more than those before
}

// patch replaces entries in the leaf of the first change. When the node had to be
// split it returns the new one, and the head and key it begins with.
func (t *base) patch(p **inner, c *patch) (right *inner, sep uint64, tail string) {
	n := t.mutable(p)
	at, fan := child(n, false, rowHead(c.changes[0].Rowid), ""), n.fan()
	if n.leaves != nil {
		from, to := t.patchLeaf(n, at, c)
		for _, l := range n.leaves[from:to] {
			t.size.over += t.over(l)
		}
	} else {
		kid, sep, tail := t.patch(&n.kids[at], c)
		t.addKid(n, at, kid, sep, tail)
	}
	if n.fan() > fan && n.fan() > maxKids {
		return n.split(at+1, false)
	}
	return nil, 0, ""
}

// patchLeaf is patch in leaf at of a node; it returns what putLeaf does.
func (t *base) patchLeaf(n *inner, at int, c *patch) (from, to int) {
	l := n.leaves[at]
	if l.len() == 0 {
		c.done = 1
		return at, at
	}
	for bytes := 0; c.done < len(c.changes) && rowHead(c.changes[c.done].Rowid) <= l.last; c.done++ {
		if bytes += len(c.changes[c.done].Rec); bytes > maxBytes {
			break // the next call goes on, with what may by then be several leaves
		}
	}
	here := c.changes[:c.done]
	c.done = max(1, c.done)
	t.size.over -= t.over(l)
	l = t.mutableLeaf(&n.leaves[at])
	if len(here) > l.len()/8 {
		c.more += l.replaceMany(here)
	} else {
		for _, one := range here {
			h := rowHead(one.Rowid)
			if i, found := l.searchHead(h); found {
				c.more += bodySize(len(one.Rec)) - bodySize(len(l.entry(i)))
				replace(l, i, h, string(one.Rec))
			}
		}
		l.tidy()
	}
	if l.bytes() > maxBytes && l.len() > 1 {
		t.size.over += t.over(l)
		if from, to = spread(t, n, at, 0, 0, "", false); to > from {
			return from, to
		}
		t.size.over -= t.over(l)
		for n.leaves[at].len() > 1 && int(n.leaves[at].live) > 2*maxBytes {
			t.addLeaf(n, at, l.split(l.middle()))
			to++
		}
	}
	return at, at + 1 + to
}

// replaceMany is replace of many entries, and returns how many bytes more there
// are. What is written of the leaf is then no more than its entries.
func (l *leaf) replaceMany(changes []Change) (more int) {
	rest := changes
	l.eachChanged(changes, func(at int, rec string) {
		more += bodySize(len(rec)) - (l.end(at) - at)
	})
	size := l.bytes() + more
	if size > maxBytes/4 && size <= small*(l.len()+1) {
		size = max(size, maxBytes)
	}
	fresh := &leaf{own: l.own, keyed: l.keyed, frame: l.frame, order: l.order[:0]}
	fresh.empty(size)
	for i, at := range l.order {
		h := l.rowHeadAt(int(at))
		for len(rest) > 0 && rowHead(rest[0].Rowid) < h {
			rest = rest[1:]
		}
		if len(rest) > 0 && rowHead(rest[0].Rowid) == h {
			insert(fresh, i, h, string(rest[0].Rec))
		} else {
			insert(fresh, i, h, l.bytesAt(int(at)))
		}
	}
	*l = *fresh
	return more
}

// eachChanged calls f with where the entries that are changed have their lengths,
// and what becomes of them.
func (l *leaf) eachChanged(changes []Change, f func(at int, rec string)) {
	for _, at := range l.order {
		h := l.rowHeadAt(int(at))
		for len(changes) > 0 && rowHead(changes[0].Rowid) < h {
			changes = changes[1:]
		}
		if len(changes) > 0 && rowHead(changes[0].Rowid) == h {
			f(int(at), string(changes[0].Rec))
		}
	}
}
