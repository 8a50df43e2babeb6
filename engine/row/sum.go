package row

import (
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// Sum is an element of the group the fingerprint of a world is counted in:
// 128-bit integers under wrapping addition, the low half first. The order of
// rows does not matter, and a row that goes away is subtracted.
type Sum [2]uint64

// Add returns a + b.
func (a Sum) Add(b Sum) Sum {
	lo, carry := bits.Add64(a[0], b[0], 0)
	hi, _ := bits.Add64(a[1], b[1], carry)
	return Sum{lo, hi}
}

// Sub returns a - b.
func (a Sum) Sub(b Sum) Sum {
	lo, borrow := bits.Sub64(a[0], b[0], 0)
	hi, _ := bits.Sub64(a[1], b[1], borrow)
	return Sum{lo, hi}
}

// RowSum returns the share of one row: xxh3-128 over the table's id, the row
// id and, per column, its id and value. colIDs are the ids of the table's
// columns in the order of the record; the column at ordinal alias (-1 for
// none) is the row id and says nothing new. Columns the record does not have
// hold what their ADD COLUMN gave and are left out. scratch is a buffer to
// reuse between calls and may be nil. rec must be valid.
//
// The hashed bytes, little endian: table u64, row id u64, then per column its
// id u32, the storage class u8, and 8 bytes of a number or a u32 length and
// the bytes of a TEXT or BLOB.
func RowSum(table uint64, rowid int64, colIDs []uint32, rec Record, alias int, scratch *[]byte) Sum {
	var b []byte
	if scratch != nil {
		b = (*scratch)[:0]
	}
	b = binary.LittleEndian.AppendUint64(b, table)
	b = binary.LittleEndian.AppendUint64(b, uint64(rowid))
	size, n := varint(string(rec))
	h, off := uint64(n), size
	for i := 0; h < size && i < len(colIDs); i++ {
		t, n := uint64(rec[h]), 1
		if t >= 0x80 {
			t, n = varint(string(rec[h:]))
		}
		if i != alias {
			b = appendCanonical(b, colIDs[i], value(t, string(rec[off:])))
		}
		off += bodyLen(t)
		h += uint64(n)
	}
	if scratch != nil {
		*scratch = b
	}
	s := xxh3.Hash128(b)
	return Sum{s.Lo, s.Hi}
}

func appendCanonical(b []byte, id uint32, v Value) []byte {
	b = binary.LittleEndian.AppendUint32(b, id)
	b = append(b, byte(v.kind))
	switch v.kind {
	case Int, Real:
		b = binary.LittleEndian.AppendUint64(b, v.n)
	case Text, Blob:
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v.s)))
		b = append(b, v.s...)
	}
	return b
}
