package tree

// frame is how heads are written in a leaf of a tree that is not keyed: as the
// difference from base, in width bytes. In a keyed tree it is zero.
type frame struct {
	base  uint64
	width uint8
	shift uint8 // bits that the eight bytes which end with a head have before it
}

// covers reports whether a head can be written.
func (f frame) covers(head uint64) bool {
	return head >= f.base && (head-f.base)>>(8*f.width) == 0
}

// frameOf returns the narrowest frame of the heads from first to last, with room
// for more on both sides: a leaf that grows is not written anew for every one.
func frameOf(first, last uint64) frame {
	span, f := last-first, frame{width: minHead}
	for f.width < headSize && span > 3<<(8*f.width-2) {
		f.width++
	}
	if f.width < headSize {
		f.base = first - min(first, (1<<(8*f.width)-1-span)/2)
	}
	f.shift = 64 - 8*f.width
	return f
}

// framed returns the frame for the heads from first to last: that of the leaf, if
// none is narrower.
func (l *leaf) framed(first, last uint64) frame {
	if l.keyed {
		return frame{}
	}
	f := frameOf(first, last)
	if f.width == l.width && l.covers(first) && l.covers(last) {
		return l.frame
	}
	return f
}

// framedWith is framed for the entries and one more.
func (l *leaf) framedWith(head uint64) frame {
	if l.len() == 0 {
		return l.framed(head, head)
	}
	return l.framed(min(l.first, head), max(l.last, head))
}

// pad returns the bytes that a leaf begins with.
func (l *leaf) pad() int {
	if l.keyed {
		return 0
	}
	return headSize
}

// bytesIn returns the bytes that are written for the entries in a frame, padding
// included.
func (l *leaf) bytesIn(f frame) int {
	return l.pad() + int(l.live) + l.len()*(int(f.width)-int(l.width))
}

// bytes returns the bytes that are written for the entries, padding included.
func (l *leaf) bytes() int { return l.pad() + int(l.live) }

// dead returns the bytes that are written of entries that are gone.
func (l *leaf) dead() int { return len(l.data) - l.bytes() }
