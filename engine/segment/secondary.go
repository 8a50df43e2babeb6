package segment

import "math"

// SecondaryEntry is an index key and where its row lies.
type SecondaryEntry struct {
	Key string // index key and row id
	Place
	Null bool // of the writer
}

// The tag of a secondary entry.
const (
	nullKey     = 1 << 0
	samePlace   = 1 << 1
	sharedShift = 2
	sharedMore  = 63
)

// MaxKey is the longest key.
const MaxKey = maxPayload - 64

// placeState is the place before, relative to which the next one is coded.
type placeState struct {
	fragment uint32
	ordinal  int64
}

func placeStart() placeState { return placeState{ordinal: -1} }

// shared returns how many bytes a and b begin with in common.
func shared(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// append appends an entry whose key has n bytes in common with the key before.
func (s *placeState) append(p []byte, key []byte, n int, at Place, null bool) []byte {
	tag := byte(min(n, sharedMore) << sharedShift)
	if null {
		tag |= nullKey
	}
	if at.Fragment == s.fragment {
		tag |= samePlace
	}
	p = append(p, tag)
	if n >= sharedMore {
		p = appendUvarint(p, uint64(n-sharedMore))
	}
	p = appendUvarint(p, uint64(len(key)-n))
	p = append(p, key[n:]...)
	if tag&samePlace != 0 {
		p = appendVarint(p, int64(at.Ordinal)-s.ordinal)
	} else {
		p = appendUvarint(p, uint64(at.Fragment))
		p = appendUvarint(p, uint64(at.Ordinal))
	}
	*s = placeState{at.Fragment, int64(at.Ordinal)}
	return p
}

// secondaryBlock is a decoded block. Its keys lie one after the other, so that a block
// costs one allocation at most and its entries have no pointers that the collector would
// look at.
type secondaryBlock struct {
	entries []secondaryPart
	keys    []byte
	all     string // the keys once more, when they are handed out to stay
}

// secondaryPart is an entry but for its key, which lies there among all keys.
type secondaryPart struct {
	from, end uint32
	Place
	null bool
}

// bytes returns the key of an entry, which the next block takes the place of.
func (k *secondaryBlock) bytes(i int) []byte {
	x := &k.entries[i]
	return k.keys[x.from:x.end]
}

// keep lets key and entry be used.
func (k *secondaryBlock) keep() { k.all = string(k.keys) }

// key returns the key of an entry.
func (k *secondaryBlock) key(i int) string {
	x := &k.entries[i]
	return k.all[x.from:x.end]
}

// entry returns an entry.
func (k *secondaryBlock) entry(i int) SecondaryEntry {
	x := &k.entries[i]
	return SecondaryEntry{k.key(i), x.Place, x.null}
}

// decode decodes a payload of so many entries. It returns the position of the first that
// append would not have written, -1 if there is none.
func (k *secondaryBlock) decode(b []byte, entries uint64, fragments uint32) int {
	parts, keys := k.entries[:0], k.keys[:0]
	k.entries, k.all = parts, ""
	if cap(keys) > 2*BlockKeys {
		keys = nil // a long key is rare
	}
	s, at, last := placeStart(), 0, 0
	for i := uint64(0); i < entries; i++ {
		was := at
		if at >= len(b) {
			return was
		}
		tag := b[at]
		at++
		n, more := uint64(tag>>sharedShift), uint64(0)
		if n == sharedMore {
			more, at = uvarint(b, at)
			n += min(more, BlockKeys)
		}
		if short(b, at) {
			more, at = uint64(b[at]), at+1
		} else {
			more, at = longUvarint(b, at)
		}
		prev := keys[last:]
		if n > uint64(len(prev)) || at > len(b) || more > uint64(len(b)-at) {
			return was
		}
		if i > 0 {
			// Shared is all that is, and the key is greater than the one before.
			if more == 0 || n < uint64(len(prev)) && b[at] <= prev[n] {
				return was
			}
			if uint64(len(keys))+n+more > BlockKeys {
				return was
			}
		}
		from := len(keys)
		keys = appendShort(keys, keys[:cap(keys)], last, int(n))
		keys = appendShort(keys, b, at, int(more))
		last = from
		at += int(more)
		if tag&samePlace != 0 {
			var diff uint64
			if short(b, at) {
				diff, at = uint64(b[at]), at+1
			} else {
				diff, at = longUvarint(b, at)
			}
			s.ordinal = wide(s.ordinal, unzigzag(diff))
		} else {
			var f, ordinal uint64
			f, at = uvarint(b, at)
			ordinal, at = uvarint(b, at)
			if f == uint64(s.fragment) || f >= uint64(fragments) || ordinal > math.MaxUint32 {
				return was
			}
			s.fragment, s.ordinal = uint32(f), int64(ordinal)
		}
		if at > len(b) || s.ordinal < 0 || s.ordinal > math.MaxUint32 {
			return was
		}
		parts = append(parts, secondaryPart{uint32(from), uint32(len(keys)), Place{s.fragment, uint32(s.ordinal)}, tag&nullKey != 0})
	}
	if at != len(b) {
		return at
	}
	k.entries, k.keys = parts, keys
	return -1
}

// few is how many bytes are moved at once, whether they are needed or not, where a call
// would take longer than that.
const few = 16

// appendShort appends n bytes of b from a position on, mostly few.
func appendShort(dst, b []byte, at, n int) []byte {
	end := len(dst)
	if n > few || len(b)-at < few || cap(dst)-end < few {
		return append(dst, b[at:at+n]...)
	}
	*(*[few]byte)(dst[end : end+few]) = [few]byte(b[at:])
	return dst[:end+n]
}
