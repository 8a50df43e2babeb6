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

// secondaryBlock is a decoded block. Its keys are one string, so that a block costs one
// allocation and its entries have no pointers that the collector would look at.
type secondaryBlock struct {
	entries []secondaryPart
	all     string // the keys, one after the other
	keys    []byte // the same while they are decoded
}

// secondaryPart is an entry but for its key, which ends there in all keys.
type secondaryPart struct {
	end int
	Place
	null bool
}

// key returns the key of an entry.
func (k *secondaryBlock) key(i int) string {
	from := 0
	if i > 0 {
		from = k.entries[i-1].end
	}
	return k.all[from:k.entries[i].end]
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
		more, at = uvarint(b, at)
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
		last = len(keys)
		keys = append(keys, prev[:n]...)
		keys = append(keys, b[at:at+int(more)]...)
		at += int(more)
		if tag&samePlace != 0 {
			var diff int64
			diff, at = varint(b, at)
			s.ordinal = wide(s.ordinal, diff)
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
		parts = append(parts, secondaryPart{len(keys), Place{s.fragment, uint32(s.ordinal)}, tag&nullKey != 0})
	}
	if at != len(b) {
		return at
	}
	k.entries, k.keys, k.all = parts, keys, string(keys)
	return -1
}
