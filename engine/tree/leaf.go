package tree

import "strings"

const (
	maxEntries = 64      // in a leaf
	few        = 16      // entries, and a leaf is joined with a neighbour
	maxBytes   = 8 << 10 // in a leaf of more than one entry
)

// mark identifies the tree that may change a node in place.
type mark struct{ _ byte }

// slot is where the bytes of an entry lie.
type slot struct{ at, size uint32 }

// leaf holds entries ordered by their heads and, in a keyed tree, those of
// equal heads by their bytes.
//
// The bytes are only ever appended to: those of an entry that was replaced or
// removed stay until the leaf is written anew. So a string handed out stays
// valid whatever happens to the leaf. Heads and slots are arrays of the full
// size, since growing them by and by leaves holes of many sizes behind.
type leaf struct {
	own   *mark
	n     int             // entries
	live  int             // bytes of theirs
	data  string          // the bytes of buf
	buf   strings.Builder // must not be copied once it is in use
	heads [maxEntries]uint64
	slots [maxEntries]slot
}

// entry returns the bytes of entry i.
func (l *leaf) entry(i int) string {
	s := l.slots[i]
	return l.data[s.at : s.at+s.size]
}

// bytesLike are the two ways to hand over a key.
type bytesLike interface{ string | []byte }

// search returns the position of the first entry that is not before the key,
// and whether it is that of the key.
func search[K bytesLike](l *leaf, keyed bool, head uint64, key K) (int, bool) {
	lo, hi := 0, l.n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if h := l.heads[mid]; h < head || h == head && keyed && l.entry(mid) < string(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < l.n && l.heads[lo] == head && (!keyed || l.entry(lo) == string(key))
}

// store appends the bytes of an entry. It may write the leaf anew first.
func store[K bytesLike](l *leaf, b K) slot {
	if l.buf.Cap()-l.buf.Len() < len(b) {
		size := l.live + len(b)
		if l.live != len(l.data) {
			// Replaced entries leave bytes behind: with room for many of them,
			// what is there is moved less often.
			size += min(size/2, 512)
		}
		l.rewrite(size, true)
	}
	s := slot{uint32(l.buf.Len()), uint32(len(b))}
	switch b := any(b).(type) {
	case string:
		l.buf.WriteString(b)
	case []byte:
		l.buf.Write(b)
	}
	l.data = l.buf.String()
	l.live += len(b)
	return s
}

// rewrite moves the bytes of the entries that are there into memory of size
// bytes and, if the leaf is to grow, some more.
func (l *leaf) rewrite(size int, grow bool) {
	if grow {
		size += min(size/8, 512)
	}
	old := l.data
	l.buf = strings.Builder{}
	l.buf.Grow(size)
	if l.live == len(old) { // nothing to leave out
		l.buf.WriteString(old)
	} else {
		for i := range l.slots[:l.n] {
			s := &l.slots[i]
			at := uint32(l.buf.Len())
			l.buf.WriteString(old[s.at : s.at+s.size])
			s.at = at
		}
	}
	l.data = l.buf.String()
}

// clone returns a copy of the leaf that own may change.
func (l *leaf) clone(own *mark) *leaf {
	c := &leaf{own: own, n: l.n, live: l.live, data: l.data}
	copy(c.heads[:], l.heads[:l.n])
	copy(c.slots[:], l.slots[:l.n])
	c.rewrite(c.live, true)
	return c
}

// insert adds an entry at position i of a leaf that is not full.
func insert[K bytesLike](l *leaf, i int, head uint64, b K) {
	s := store(l, b)
	copy(l.heads[i+1:l.n+1], l.heads[i:l.n])
	copy(l.slots[i+1:l.n+1], l.slots[i:l.n])
	l.heads[i], l.slots[i] = head, s
	l.n++
}

// replace gives entry i other bytes.
func replace[K bytesLike](l *leaf, i int, b K) {
	l.live -= int(l.slots[i].size)
	l.slots[i].size = 0
	l.slots[i] = store(l, b)
}

// remove takes out entry i.
func (l *leaf) remove(i int) {
	l.live -= int(l.slots[i].size)
	copy(l.heads[i:], l.heads[i+1:l.n])
	copy(l.slots[i:], l.slots[i+1:l.n])
	l.n--
}

// crowded reports whether a leaf must be split before it takes size bytes more.
func (l *leaf) crowded(size int) bool {
	return l.n == maxEntries || l.n > 0 && l.live+size > maxBytes
}

// split moves the entries from position cut on into a new leaf.
func (l *leaf) split(cut int) *leaf {
	r := &leaf{own: l.own, n: l.n - cut, data: l.data}
	copy(r.heads[:], l.heads[cut:l.n])
	copy(r.slots[:], l.slots[cut:l.n])
	for _, s := range r.slots[:r.n] {
		r.live += int(s.size)
	}
	l.n, l.live = cut, l.live-r.live
	// A leaf that grows at one end leaves full ones behind, and the new one will
	// hold as much.
	switch {
	case r.n == 0:
		r.data = ""
		r.buf.Grow(min(l.live, maxBytes))
		if spare := l.buf.Cap() - l.live; spare > l.live/8 {
			l.rewrite(l.live, false)
		}
	case cut == 0:
		r.rewrite(r.live, false)
		l.data, l.buf = "", strings.Builder{}
		l.buf.Grow(min(r.live, maxBytes))
	default:
		r.rewrite(r.live, true)
		l.rewrite(l.live, true)
	}
	return r
}

// absorb appends the entries of the leaf behind it.
func (l *leaf) absorb(r *leaf) {
	l.rewrite(l.live+r.live, true)
	for i := range r.n {
		s := store(l, r.entry(i))
		l.heads[l.n], l.slots[l.n] = r.heads[i], s
		l.n++
	}
}
