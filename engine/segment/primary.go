package segment

import "math"

// PrimaryEntry is where a row lies.
type PrimaryEntry struct {
	Rowid int64
	Place
	Offset int64  // of the row's frame in the file of its fragment, a multiple of 8
	Size   uint32 // of the frame with its padding, a multiple of 8
}

// align is what offsets and sizes of frames are multiples of.
const align = 8

// The tag of a primary entry.
const (
	sameFragment = 1 << 0
	nextOrdinal  = 1 << 1
	nextOffset   = 1 << 2
	sameSize     = 1 << 3
	rowidShift   = 4
	rowidMore    = 15
)

// primaryState is the entry before, relative to which the next one is coded. Before the
// first one of a block it is primaryStart.
type primaryState struct {
	rowid    int64
	fragment uint32
	ordinal  int64
	end      int64 // of the frame, in units of align
	size     int64 // the same
}

func primaryStart(rowid int64) primaryState { return primaryState{rowid: rowid, ordinal: -1} }

// append appends an entry that is greater than the one before, or the first.
func (s *primaryState) append(p []byte, e *PrimaryEntry) []byte {
	d := uint64(e.Rowid) - uint64(s.rowid)
	tag, at := byte(min(d, rowidMore)<<rowidShift), len(p)
	p = append(p, 0)
	if d >= rowidMore {
		p = appendUvarint(p, d-rowidMore)
	}
	ordinal, offset, size := int64(e.Ordinal), e.Offset/align, int64(e.Size/align)
	if e.Fragment != s.fragment {
		p = appendUvarint(p, uint64(e.Fragment))
		p = appendUvarint(p, uint64(ordinal))
		p = appendUvarint(p, uint64(offset))
	} else {
		tag |= sameFragment
		if ordinal == s.ordinal+1 {
			tag |= nextOrdinal
		} else {
			p = appendVarint(p, ordinal-s.ordinal)
		}
		if offset == s.end {
			tag |= nextOffset
		} else {
			p = appendVarint(p, offset-s.end)
		}
	}
	if size == s.size {
		tag |= sameSize
	} else {
		p = appendUvarint(p, uint64(size))
	}
	p[at] = tag
	*s = primaryState{e.Rowid, e.Fragment, ordinal, offset + size, size}
	return p
}

// decode decodes the entry at b[at:] into e and returns the position behind it; false
// when there is none that append would have written. first says that it is the first of
// its block, fragments how many there are.
func (s *primaryState) decode(b []byte, at int, first bool, fragments uint32, e *PrimaryEntry) (int, bool) {
	if at >= len(b) {
		return at, false
	}
	tag := b[at]
	at++
	d := uint64(tag >> rowidShift)
	if d == rowidMore {
		var more uint64
		if more, at = uvarint(b, at); more > math.MaxUint64-rowidMore {
			return at, false
		}
		d += more
	}
	rowid := int64(uint64(s.rowid) + d)
	ok := rowid > s.rowid != first && (d == 0) == first
	if tag&sameFragment != 0 {
		if tag&nextOrdinal != 0 {
			s.ordinal++
		} else {
			var diff int64
			diff, at = varint(b, at)
			ok = ok && diff != 1
			// A difference that overflows ends outside of what is checked below.
			s.ordinal = wide(s.ordinal, diff)
		}
		if tag&nextOffset == 0 {
			var diff int64
			diff, at = varint(b, at)
			ok = ok && diff != 0
			s.end = wide(s.end, diff)
		}
	} else {
		var f, ordinal, offset uint64
		f, at = uvarint(b, at)
		ordinal, at = uvarint(b, at)
		offset, at = uvarint(b, at)
		ok = ok && tag&(nextOrdinal|nextOffset) == 0 && f != uint64(s.fragment) && f < uint64(fragments) &&
			ordinal <= math.MaxUint32 && offset <= maxOffset
		s.fragment, s.ordinal, s.end = uint32(f), int64(ordinal), int64(offset)
	}
	if tag&sameSize == 0 {
		var size uint64
		size, at = uvarint(b, at)
		ok = ok && size != uint64(s.size) && size <= math.MaxUint32/align
		s.size = int64(size)
	}
	if !ok || at > len(b) || s.size <= 0 || s.ordinal < 0 || s.ordinal > math.MaxUint32 || s.end < 0 || s.end > maxOffset-s.size {
		return at, false
	}
	e.Rowid, e.Fragment, e.Ordinal = rowid, s.fragment, uint32(s.ordinal)
	e.Offset, e.Size = s.end*align, uint32(s.size*align)
	s.rowid = rowid
	s.end += s.size
	return at, true
}

// maxOffset is the last end of a frame, in units of align.
const maxOffset = math.MaxInt64 / align

// wide returns a + b, or -1 when b is so large that no result of use comes out.
func wide(a, b int64) int64 {
	if b < -maxOffset || b > maxOffset {
		return -1
	}
	return a + b
}
