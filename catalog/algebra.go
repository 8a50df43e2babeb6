package catalog

import (
	"encoding/binary"
	"math/bits"
)

// algebra names how fingerprints are added: the 128-bit wrapping sum of xxh3-128.
const algebra = "xxh3-128-sum/1"

// sumBytes is the size of an element of the algebra.
const sumBytes = 16

// emptySum is the fingerprint of a world without rows, the group's zero.
var emptySum = make([]byte, sumBytes)

// addSums adds two elements: 128-bit integers in 16 bytes, little endian, under
// wrapping addition. SQL never adds them; its integers have 64 bits and a sign.
func addSums(a, b []byte) ([]byte, error) {
	for _, e := range [][]byte{a, b} {
		if len(e) != sumBytes {
			return nil, refuse(CodeEncoding, "", "an element of %s has %d bytes, must have %d", algebra, len(e), sumBytes)
		}
	}
	le := binary.LittleEndian
	lo, carry := bits.Add64(le.Uint64(a), le.Uint64(b), 0)
	hi, _ := bits.Add64(le.Uint64(a[8:]), le.Uint64(b[8:]), carry)
	return le.AppendUint64(le.AppendUint64(make([]byte, 0, sumBytes), lo), hi), nil
}
