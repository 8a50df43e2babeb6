package tree

import "slices"

// How many leaves are evened out when one of them is full. When they all are, they
// become one more: right after that n are filled to n/(n+1), where a leaf that is split
// alone leaves halves. Keys come in no order more often than rows do, and their
// leaves have fewer entries to move.
const (
	spreadKeys = 6
	spreadRows = 3
	// spreadFree is how much of each leaf must be free for them to be evened out
	// and not become more: else they would be full again soon.
	spreadFree = maxBytes / 10
)

// spread evens out the leaves around leaf at of a node, which is full, and with add
// adds an entry that belongs before entry i of it. There may be one leaf more
// then. It returns which leaves there are, none when it has done nothing: entries
// are too long, or there is no neighbour.
func spread[K bytesLike](t *base, n *inner, at, i int, head uint64, b K, add bool) (from, to int) {
	wide := spreadKeys
	if !t.keyed {
		wide = spreadRows
	}
	from = max(0, min(at-wide/2, len(n.leaves)-wide))
	to = min(from+wide, len(n.leaves))
	if to-from < 2 || len(b) > small {
		return 0, 0
	}
	bytes, count := 0, 0
	for _, l := range n.leaves[from:to] {
		if l.len() == 0 || int(l.live) > small*l.len() || int(l.live) > 2*maxBytes {
			return 0, 0
		}
		bytes += int(l.live)
		count += l.len()
	}
	if add {
		bytes += int(n.leaves[at].width) + bodySize(len(b))
		count++
	}
	many := to - from
	for bytes > many*(maxBytes-spreadFree) || count > many*(maxEntries*7/8) {
		many++
	}
	s := spreader{own: t.own, keyed: t.keyed, bytes: bytes, many: many, room: min(count*maxBytes/bytes+8, maxEntries)}
	for k, l := range n.leaves[from:to] {
		t.size.over -= t.over(l)
		if add && k == at-from {
			s.take(l, 0, i)
			to := s.next(l)
			to.sync()
			insert(to, to.len(), head, b)
			s.take(l, i, l.len())
		} else {
			s.take(l, 0, l.len())
		}
	}
	made := s.finish()
	n.leaves = slices.Replace(n.leaves, from, to, made...)
	heads, tails := make([]uint64, 0, many), make([]string, 0, many)
	for k, l := range made[1:] {
		h, tail := l.begins(made[k])
		heads, tails = append(heads, h), append(tails, tail)
	}
	n.heads = slices.Replace(n.heads, from, to-1, heads...)
	if t.keyed {
		n.tails = slices.Replace(n.tails, from, to-1, tails...)
	}
	return from, from + len(made)
}

// spreader writes entries that come in order to leaves that are about equally full.
type spreader struct {
	own   *mark
	keyed bool
	bytes int // of all entries
	many  int // leaves to be made
	room  int // entries in a full leaf
	made  []*leaf
	to    *leaf // the last one that was made
	until int   // it is full with so many bytes
	done  int   // bytes in the others
}

// next returns the leaf for the next entry, which comes from another one.
func (s *spreader) next(l *leaf) *leaf {
	if s.to != nil {
		if int(s.to.live) < s.until && s.to.len() < maxEntries || len(s.made) == s.many {
			return s.to
		}
		s.close()
	}
	s.to = &leaf{own: s.own, keyed: s.keyed, frame: l.frame, order: make([]uint16, 0, s.room)}
	s.to.empty(maxBytes)
	s.made = append(s.made, s.to)
	s.until = s.bytes*len(s.made)/s.many - s.done
	return s.to
}

// close completes the last leaf.
func (s *spreader) close() {
	s.to.sync()
	s.done += int(s.to.live)
}

// sync makes up for entries that were written to the buffer of a leaf alone.
func (l *leaf) sync() {
	l.data = l.buf.String()
	l.ends()
}

// take adds the entries of a leaf from one position to another.
func (s *spreader) take(l *leaf, from, to int) {
	for _, at := range l.order[from:to] {
		d := s.next(l)
		begin, end := int(at)-int(l.width), l.end(int(at))
		if l.frame != d.frame || d.buf.Cap()-d.buf.Len() < end-begin {
			d.sync()
			insert(d, d.len(), l.headAt(int(at)), l.bytesAt(int(at)))
			continue
		}
		d.order = append(d.order, uint16(d.buf.Len()+int(l.width)))
		d.buf.WriteString(l.data[begin:end])
		d.live += uint32(end - begin)
	}
}

// finish returns the leaves.
func (s *spreader) finish() []*leaf {
	s.close()
	return s.made
}
