package tree

import (
	"encoding/binary"
	"slices"
	"strings"
)

// bodySize returns the bytes that n bytes take with their length.
func bodySize(n int) int {
	c := n + 1
	for n >= 0x80 {
		n >>= 7
		c++
	}
	return c
}

// cost returns the bytes that an entry of n bytes takes where heads are close
// together.
func cost(keyed bool, n int) int {
	if keyed {
		return bodySize(n)
	}
	return minHead + bodySize(n)
}

// store appends an entry and returns where its length is. It may write the leaf
// anew first.
func store[K bytesLike](l *leaf, head uint64, b K) uint16 {
	if !l.keyed && !l.covers(head) {
		f := l.framedWith(head)
		if l.len() == 0 {
			l.frame = f
		} else {
			size := l.room(f, int(f.width)+bodySize(len(b)))
			if l.buf != nil {
				size = max(size, min(l.buf.Cap(), maxBytes))
			}
			l.rewrite(f, size)
		}
	}
	var prefix [headSize + binary.MaxVarintLen64]byte
	n := int(l.width)
	if !l.keyed {
		binary.LittleEndian.PutUint64(prefix[:], head-l.base)
	}
	if len(b) < 0x80 {
		prefix[n] = byte(len(b))
		n++
	} else {
		n += binary.PutUvarint(prefix[n:], uint64(len(b)))
	}
	at, size := len(l.data), n+len(b)
	if l.buf == nil || l.buf.Len() != at || l.buf.Cap()-at < size || at >= 1<<16-headSize {
		l.rewrite(l.frame, l.room(l.frame, size))
		at = len(l.data)
	}
	l.buf.Write(prefix[:n])
	switch b := any(b).(type) {
	case string:
		l.buf.WriteString(b)
	case []byte:
		l.buf.Write(b)
	}
	l.data = l.buf.String()
	l.live += uint32(size)
	return uint16(at + int(l.width))
}

// room returns how much memory a leaf should get that is to have some frame and
// take more bytes.
func (l *leaf) room(f frame, more int) int {
	size := l.bytesIn(f) + more
	switch {
	case size > small*(l.len()+1), size > maxBytes, size > maxBytes*7/8 && l.dead() > 0:
		// The last is of a leaf whose entries are replaced. With room for some
		// of them, what is there is moved less often.
		return size + size/8
	case size > maxBytes/4:
		return maxBytes
	}
	return max(2*size, 128)
}

// padding is what leaves begin with.
const padding = "\x00\x00\x00\x00\x00\x00\x00\x00"

// rewrite moves what is written of the entries that are there into memory of size
// bytes, in some frame.
func (l *leaf) rewrite(f frame, size int) {
	buf := new(strings.Builder)
	buf.Grow(size)
	if l.dead() == 0 && f == l.frame { // nothing to leave out
		buf.WriteString(l.data)
	} else {
		buf.WriteString(padding[:l.pad()])
		for i, at := range l.order {
			l.order[i] = l.move(buf, f, int(at))
		}
		l.live = uint32(buf.Len() - l.pad())
	}
	l.buf, l.data, l.frame = buf, buf.String(), f
}

// move appends the entry whose length is at a place to other memory, in some
// frame, and returns where its length is there.
func (l *leaf) move(buf *strings.Builder, f frame, at int) uint16 {
	end := l.end(at)
	if f == l.frame {
		buf.WriteString(l.data[at-int(f.width) : end])
		return uint16(buf.Len() - (end - at))
	}
	var head [headSize]byte
	binary.LittleEndian.PutUint64(head[:], l.rowHeadAt(at)-f.base)
	buf.Write(head[:f.width])
	to := buf.Len()
	buf.WriteString(l.data[at:end])
	return uint16(to)
}

// tidy writes a leaf anew that keeps much more bytes than its entries have: what
// long ones left behind.
func (l *leaf) tidy() {
	if l.dead() > 2*maxBytes {
		l.rewrite(l.frame, l.room(l.frame, 0))
	}
}

// clone returns a copy of the leaf that own may change.
func (l *leaf) clone(own *mark) *leaf {
	c := *l
	room := roomFor(l.len() + 1)
	if n := cap(l.order); n > l.len() { // one size is easier to find memory for than many
		room = make([]uint16, 0, n)
	}
	c.own, c.order = own, append(room, l.order...)
	return &c
}

// roomFor returns an empty order with room for n entries.
func roomFor(n int) []uint16 { return slices.Grow([]uint16(nil), n+n/16) }

// insert adds an entry at position i of a leaf that is not crowded.
func insert[K bytesLike](l *leaf, i int, head uint64, b K) {
	at, n := store(l, head, b), l.len()
	if n == cap(l.order) {
		l.order = append(roomFor(n+n/8+8), l.order...)
	}
	l.order = l.order[:n+1]
	if i < n {
		copy(l.order[i+1:], l.order[i:n])
	} else {
		l.last = head
	}
	l.order[i] = at
	if i == 0 {
		l.first = head
	}
}

// replace gives entry i other bytes.
func replace[K bytesLike](l *leaf, i int, head uint64, b K) {
	l.remove(i)
	insert(l, i, head, b)
}

// remove takes out entry i.
func (l *leaf) remove(i int) {
	l.live -= uint32(l.size(i))
	l.order = slices.Delete(l.order, i, i+1)
	if i == 0 || i == l.len() {
		l.ends()
	}
}

// ends notes the heads of the first and the last entry.
func (l *leaf) ends() {
	if n := l.len(); n > 0 {
		l.first, l.last = l.head(0), l.head(n-1)
	}
}

// crowded reports whether a leaf must be split before it takes an entry of n bytes
// more.
func (l *leaf) crowded(head uint64, n int) bool {
	if l.len() == 0 || l.len() == maxEntries {
		return l.len() > 0
	}
	f := l.frame
	if !l.keyed && !f.covers(head) {
		f = l.framedWith(head)
	}
	return l.bytesIn(f)+int(f.width)+bodySize(n) > maxBytes
}

// sparse reports whether a leaf should be joined with a neighbour.
func (l *leaf) sparse() bool { return l.live < maxBytes/4 && l.len() < maxEntries/4 }

// middle returns the position behind which the larger half of the bytes begins.
func (l *leaf) middle() int {
	half := 0
	for i := range l.len() - 1 {
		if half += l.size(i); half >= int(l.live)/2 {
			return i + 1
		}
	}
	return l.len() - 1
}

// split moves the entries from position cut on into a new leaf.
func (l *leaf) split(cut int) *leaf {
	r := &leaf{own: l.own, keyed: l.keyed, data: l.data, frame: l.frame}
	switch n := l.len(); cut {
	case n:
		// A leaf that grows at one end leaves full ones behind, and the new one
		// will hold as much.
		r.order = roomFor(n)
		r.empty(l.hold())
		l.shrink()
	case 0:
		*r = *l
		r.shrink()
		l.order = roomFor(n)
		l.empty(r.hold())
	default:
		r.order = append(roomFor(n), l.order[cut:]...)
		for i := range r.order {
			r.live += uint32(r.size(i))
		}
		l.order, l.live = append(roomFor(n), l.order[:cut]...), l.live-r.live
		r.ends()
		l.ends()
		for _, h := range []*leaf{r, l} {
			f := h.framed(h.first, h.last)
			h.rewrite(f, max(h.room(f, 0), h.hold()))
		}
	}
	return r
}

// hold returns how much memory an empty neighbour of a leaf should get.
func (l *leaf) hold() int {
	if int(l.live) > small*(l.len()+1) {
		return int(min(l.live, maxBytes))
	}
	return maxBytes
}

// empty gives a leaf without entries memory of size bytes.
func (l *leaf) empty(size int) {
	l.buf, l.live = new(strings.Builder), 0
	l.buf.Grow(size)
	l.buf.WriteString(padding[:l.pad()])
	l.data = l.buf.String()
}

// shrink lets go of the memory that a leaf does not need as it is.
func (l *leaf) shrink() {
	if n := l.bytes(); l.buf != nil && l.buf.Cap()-n > n/8 {
		l.rewrite(l.frame, n)
	}
	l.buf = nil
}

// absorb appends the entries of the leaf behind it.
func (l *leaf) absorb(r *leaf) {
	f := l.framed(l.first, r.last)
	l.rewrite(f, l.room(f, r.bytesIn(f)))
	for i := range r.len() {
		insert(l, l.len(), r.head(i), r.entry(i))
	}
}
