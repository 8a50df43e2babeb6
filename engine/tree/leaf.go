package tree

import "strings"

const (
	maxBytes   = 8 << 10 // in a leaf of more than one entry; see leaf
	maxEntries = 1024    // in a leaf
	small      = 512     // bytes, and many entries of the size fill a leaf well
	headSize   = 8       // bytes of a head that is written in full
	minHead    = 2       // bytes of the shortest form of one
)

// mark identifies the tree that may change a node in place.
type mark struct{ _ byte }

// leaf holds entries ordered by their heads and, in a keyed tree, those of
// equal heads by their bytes. An entry is written as its head, unless that is how
// its bytes begin, the length of its bytes as a uvarint, and the bytes. Row ids in a
// leaf are close together, so what is written of a head is how far it is from a
// base, in as few bytes as all of them need: the reader takes the eight bytes that
// end with it and shifts the others out. So that there are eight, such a leaf
// begins with padding.
//
// What is written is only ever appended to: entries that were replaced or removed
// stay until the leaf is written anew. So a string handed out stays valid
// whatever happens to the leaf, and a copy of a leaf goes on in the memory of the
// original: data is what a leaf knows of it, and whoever finds that there is more
// leaves the rest to the one who wrote it. What a copy has of its own is small,
// the order.
//
// The memory of a leaf among many is the unit that the runtime takes from the
// system and gives back: when it is let go, no neighbours that live on keep a hole
// where it was. Of smaller pieces, whose lives end in any order, the holes would
// come to a third of all memory.
type leaf struct {
	own   *mark
	data  string           // the bytes of buf as of this leaf
	buf   *strings.Builder // nil when there is nothing to append to
	order []uint16         // where in data the lengths of the entries are
	first uint64           // head of the first entry
	last  uint64           // head of the last one
	live  uint32           // bytes of what is in order
	keyed bool
	frame
}

// newLeaf returns an empty leaf for entries of about a head.
func newLeaf(own *mark, keyed bool, head uint64) *leaf {
	l := &leaf{own: own, keyed: keyed}
	l.frame = l.framed(head, head)
	return l
}

// len returns the number of entries.
func (l *leaf) len() int { return len(l.order) }

// headAt returns the head of the entry whose length is at a place.
func (l *leaf) headAt(at int) uint64 {
	if l.keyed {
		return l.keyHeadAt(at)
	}
	return l.rowHeadAt(at)
}

// rowHeadAt is headAt in a tree that is not keyed.
func (l *leaf) rowHeadAt(at int) uint64 {
	return l.base + readHead(l.data, at)>>(l.shift&63)
}

// keyHeadAt is headAt in a keyed tree.
func (l *leaf) keyHeadAt(at int) uint64 {
	if n := l.data[at]; n < 8 || n >= 0x80 {
		return keyHead(l.bytesAt(at))
	}
	return keyHead(l.data[at+1 : at+9])
}

// readHead returns the eight bytes before a place.
func readHead(s string, at int) uint64 {
	s = s[at-headSize : at]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// bytesAt returns bytes whose length is written at a place.
func (l *leaf) bytesAt(at int) string {
	n := int(l.data[at])
	at++
	if n >= 0x80 {
		n, at = l.longSize(n, at)
	}
	return l.data[at : at+n]
}

// longSize reads the rest of a length of more than one byte.
func (l *leaf) longSize(n, at int) (size, next int) {
	n &= 0x7f
	for shift := 7; ; shift += 7 {
		b := int(l.data[at])
		at++
		n |= b & 0x7f << shift
		if b < 0x80 {
			return n, at
		}
	}
}

// end returns where the entry ends whose length is at a place.
func (l *leaf) end(at int) int {
	n := int(l.data[at])
	at++
	if n >= 0x80 {
		n, at = l.longSize(n, at)
	}
	return at + n
}

// size returns the bytes that entry i takes.
func (l *leaf) size(i int) int {
	at := int(l.order[i])
	return l.end(at) - at + int(l.width)
}

// head returns the head of entry i.
func (l *leaf) head(i int) uint64 { return l.headAt(int(l.order[i])) }

// entry returns the bytes of entry i.
func (l *leaf) entry(i int) string { return l.bytesAt(int(l.order[i])) }

// bytesLike are the two ways to hand over a key.
type bytesLike interface{ string | []byte }

// search returns the position of the first entry that is not before the key,
// and whether it is that of the key.
func search[K bytesLike](l *leaf, head uint64, key K) (int, bool) {
	if !l.keyed {
		return l.searchHead(head)
	}
	o := l.order
	lo, hi := 0, len(o)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		at := int(o[mid])
		if h := l.keyHeadAt(at); h < head || h == head && l.bytesAt(at) < string(key) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, lo < len(o) && l.entry(lo) == string(key)
}

// searchHead is search where heads are all there is. Heads are row ids, which are
// often close together: beginning where the head would be
// if they all were touches less memory than halving does.
func (l *leaf) searchHead(head uint64) (int, bool) {
	o := l.order
	if len(o) == 0 || head <= l.first {
		return 0, len(o) > 0 && head == l.first
	}
	if head >= l.last {
		if head == l.last {
			return len(o) - 1, true
		}
		return len(o), false
	}
	// Entry lo is before the head, entry hi is not. Heads are compared as they are
	// written.
	data, shift, want := l.data, l.shift&63, head-l.base
	lo, hi := 0, len(o)-1
	at := lo + int(float64(head-l.first)/float64(l.last-l.first)*float64(hi))
	if at = min(max(at, lo+1), hi-1); at <= lo {
		return hi, false
	}
	step := 4
	if h := readHead(data, int(o[at])) >> shift; h < want {
		for lo = at; lo+step < hi; step *= 2 {
			if readHead(data, int(o[lo+step]))>>shift >= want {
				hi = lo + step
				break
			}
			lo += step
		}
	} else if h > want {
		for hi = at; hi-step > lo; step *= 2 {
			if readHead(data, int(o[hi-step]))>>shift < want {
				lo = hi - step
				break
			}
			hi -= step
		}
	} else {
		return at, true
	}
	for hi-lo > 1 {
		mid := int(uint(lo+hi) >> 1)
		if readHead(data, int(o[mid]))>>shift < want {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi, readHead(data, int(o[hi]))>>shift == want
}
