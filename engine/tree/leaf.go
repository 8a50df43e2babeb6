package tree

import "strings"

const (
	maxEntries = 70      // in a leaf, which then is of a size that memory is given out in
	few        = 16      // entries, and a leaf is joined with a neighbour
	maxBytes   = 8 << 10 // in a leaf of more than one entry
)

// mark identifies the tree that may change a node in place.
type mark struct{ _ byte }

// slot is where the bytes of an entry lie.
type slot struct{ at, size uint16 }

// wideSlot is a slot of a leaf with more bytes than a slot can tell.
type wideSlot struct{ at, size uint32 }

const maxNarrow = 1<<16 - 1

// leaf holds entries ordered by their heads and, in a keyed tree, those of
// equal heads by their bytes.
//
// The bytes are only ever appended to: those of an entry that was replaced or
// removed stay until the leaf is written anew. So a string handed out stays
// valid whatever happens to the leaf, and a copy of a leaf goes on in the memory
// of the original: data is what a leaf knows of it, and whoever finds that there
// is more leaves the rest to the one who wrote it.
//
// Heads and slots are arrays of the full size, since growing them by and by
// leaves holes of many sizes behind.
type leaf struct {
	own  *mark
	n    int              // entries
	live int              // bytes of theirs
	data string           // the bytes of buf as of this leaf
	buf  *strings.Builder // nil when there is nothing to append to
	wide *[maxEntries]wideSlot

	loaded bool // made together with others, see loader

	heads [maxEntries]uint64
	slots [maxEntries]slot // unless wide
}

// entry returns the bytes of entry i.
func (l *leaf) entry(i int) string {
	if l.wide != nil {
		s := l.wide[i]
		return l.data[s.at : s.at+s.size]
	}
	s := l.slots[i]
	at := int(s.at)
	return l.data[at : at+int(s.size)]
}

// size returns the length of entry i.
func (l *leaf) size(i int) int {
	if l.wide != nil {
		return int(l.wide[i].size)
	}
	return int(l.slots[i].size)
}

// place notes where the bytes of entry i lie.
func (l *leaf) place(i, at, size int) {
	if l.wide != nil {
		l.wide[i] = wideSlot{uint32(at), uint32(size)}
	} else {
		l.slots[i] = slot{uint16(at), uint16(size)}
	}
}

// widen makes the slots wide.
func (l *leaf) widen() {
	w := new([maxEntries]wideSlot)
	for i, s := range l.slots[:l.n] {
		w[i] = wideSlot{uint32(s.at), uint32(s.size)}
	}
	l.wide = w
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

// store appends the bytes of an entry and returns where they begin. It may write
// the leaf anew first, and make its slots wide.
func store[K bytesLike](l *leaf, b K) int {
	at := len(l.data)
	if l.buf == nil || l.buf.Len() != at || l.buf.Cap()-at < len(b) {
		l.rewrite(l.room(len(b)))
		at = len(l.data)
	}
	switch b := any(b).(type) {
	case string:
		l.buf.WriteString(b)
	case []byte:
		l.buf.Write(b)
	}
	l.data = l.buf.String()
	l.live += len(b)
	if len(l.data) > maxNarrow && l.wide == nil {
		l.widen()
	}
	return at
}

// room returns how much memory a leaf should get that is to take more bytes.
func (l *leaf) room(more int) int {
	size := l.live + more
	if l.live != len(l.data) {
		// Replaced entries leave bytes behind: with room for many of them,
		// what is there is moved less often.
		size += min(size/2, 1024)
	}
	return size + min(size/8, 512)
}

// rewrite moves the bytes of the entries that are there into memory of size
// bytes.
func (l *leaf) rewrite(size int) {
	old := *l
	l.buf, l.data = new(strings.Builder), ""
	l.buf.Grow(size)
	if l.wide != nil && l.live <= maxNarrow {
		l.wide = nil
	}
	if old.live == len(old.data) && l.wide == old.wide { // nothing to leave out
		l.buf.WriteString(old.data)
	} else {
		for i := range l.n {
			e := old.entry(i)
			l.place(i, l.buf.Len(), len(e))
			l.buf.WriteString(e)
		}
	}
	l.data = l.buf.String()
}

// clone returns a copy of the leaf that own may change.
func (l *leaf) clone(own *mark) *leaf {
	c := &leaf{own: own, n: l.n, live: l.live, data: l.data, buf: l.buf}
	copy(c.heads[:], l.heads[:l.n])
	c.copySlots(0, l, 0, l.n)
	return c
}

// copySlots copies n slots of another leaf, from one position to another.
func (l *leaf) copySlots(to int, from *leaf, at, n int) {
	switch {
	case from.wide == nil:
		copy(l.slots[to:], from.slots[at:at+n])
	case l.wide == nil:
		l.wide = new([maxEntries]wideSlot)
		fallthrough
	default:
		copy(l.wide[to:], from.wide[at:at+n])
	}
}

// insert adds an entry at position i of a leaf that is not full.
func insert[K bytesLike](l *leaf, i int, head uint64, b K) {
	at := store(l, b)
	if i < l.n {
		copy(l.heads[i+1:l.n+1], l.heads[i:l.n])
		l.copySlots(i+1, l, i, l.n-i)
	}
	l.heads[i] = head
	l.place(i, at, len(b))
	l.n++
}

// replace gives entry i other bytes.
func replace[K bytesLike](l *leaf, i int, b K) {
	l.live -= l.size(i)
	l.place(i, 0, 0)
	l.place(i, store(l, b), len(b))
}

// remove takes out entry i.
func (l *leaf) remove(i int) {
	l.live -= l.size(i)
	copy(l.heads[i:], l.heads[i+1:l.n])
	l.copySlots(i, l, i+1, l.n-i-1)
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
	r.copySlots(0, l, cut, r.n)
	for i := range r.n {
		r.live += r.size(i)
	}
	l.n, l.live = cut, l.live-r.live
	// A leaf that grows at one end leaves full ones behind, and the new one will
	// hold as much.
	switch {
	case r.n == 0:
		r.empty(min(l.live, maxBytes))
		if l.buf != nil && l.buf.Cap()-l.live > l.live/8 {
			l.rewrite(l.live)
		}
		l.buf = nil
	case cut == 0:
		r.rewrite(r.live)
		l.empty(min(r.live, maxBytes))
	default:
		r.rewrite(r.room(0))
		l.rewrite(l.room(0))
	}
	return r
}

// empty gives a leaf without entries memory of size bytes.
func (l *leaf) empty(size int) {
	l.data, l.buf, l.wide = "", new(strings.Builder), nil
	l.buf.Grow(size)
}

// absorb appends the entries of the leaf behind it.
func (l *leaf) absorb(r *leaf) {
	l.rewrite(l.room(r.live))
	for i := range r.n {
		e := r.entry(i)
		at := store(l, e)
		l.heads[l.n] = r.heads[i]
		l.place(l.n, at, len(e))
		l.n++
	}
}
