package wal

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// appendUvarint is binary.AppendUvarint with its common case inlined.
func appendUvarint(p []byte, v uint64) []byte {
	if v < 0x80 {
		return append(p, byte(v))
	}
	return binary.AppendUvarint(p, v)
}

// uvarintAt decodes a number at p[at:] as a cursor does, and returns it with the position
// behind it, which is far behind p if there is none.
func uvarintAt(p []byte, at int) (uint64, int) {
	v := uint64(0)
	for i := at; i < len(p); i++ {
		c, n := p[i], i-at
		if n == 9 && c > 1 {
			break // more than 64 bits
		}
		v |= uint64(c&0x7f) << (7 * n)
		if c < 0x80 {
			if c == 0 && n > 0 {
				break // not the shortest form
			}
			return v, i + 1
		}
	}
	return 0, math.MaxInt
}

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// zigzag maps small numbers of either sign to small numbers.
func zigzag(i int64) uint64   { return uint64(i)<<1 ^ uint64(i>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
