package segment

import (
	"encoding/binary"
	"math"
)

// badAt is the position behind what could not be decoded. Decoding from there fails
// again, so it is enough to look at the position once for each entry.
const badAt = math.MaxInt

// uvarint decodes a number at b[at:] and returns it with the position behind it.
func uvarint(b []byte, at int) (uint64, int) {
	if short(b, at) {
		return uint64(b[at]), at + 1
	}
	return longUvarint(b, at)
}

// short reports whether the number at b[at:] is one byte, for whoever cannot afford a
// call for that.
func short(b []byte, at int) bool { return at < len(b) && b[at] < 0x80 }

func longUvarint(b []byte, at int) (uint64, int) {
	v, shift := uint64(0), 0
	for i := at; i < len(b); i++ {
		c := b[i]
		if c < 0x80 {
			if c == 0 && i > at || shift == 63 && c > 1 { // not the shortest, too large
				return 0, badAt
			}
			return v | uint64(c)<<shift, i + 1
		}
		if shift == 63 {
			return 0, badAt
		}
		v |= uint64(c&0x7f) << shift
		shift += 7
	}
	return 0, badAt // cut off
}

func varint(b []byte, at int) (int64, int) {
	u, at := uvarint(b, at)
	return unzigzag(u), at
}

// appendUvarint is binary.AppendUvarint with its common case inlined.
func appendUvarint(p []byte, v uint64) []byte {
	if v < 0x80 {
		return append(p, byte(v))
	}
	return binary.AppendUvarint(p, v)
}

func appendVarint(p []byte, v int64) []byte { return appendUvarint(p, zigzag(v)) }

// zigzag maps small numbers of either sign to small numbers.
func zigzag(i int64) uint64   { return uint64(i)<<1 ^ uint64(i>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
