package wal

import (
	"encoding/binary"
	"hash/crc32"
	"unsafe"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Checker verifies single frames of one file, in any order and by any number of
// goroutines.
type Checker struct{ seed uint32 }

// NewChecker returns a checker of a file with that salt.
func NewChecker(salt Salt) Checker { return Checker{salt.seed()} }

// Frame verifies the frame at file offset off, whose bytes b begins with; b may
// go on behind it. The payload is the memory of b, which nobody may change
// afterwards. End is the reason of a frame that is whole; Truncated says that b
// ends before it, and f.End() is then where it would end in the file.
func (c Checker) Frame(b []byte, off int64) (f Frame, size int64, r Reason) {
	f.Offset = off
	if len(b) <= prefix {
		return f, prefix + 1, Truncated
	}
	length := int64(binary.LittleEndian.Uint32(b))
	switch {
	case length == 0:
		return f, 0, Tail
	case length-1 > MaxPayload:
		return f, 0, BadLength
	}
	if size = FrameSize(int(length - 1)); size > int64(len(b)) {
		return f, size, Truncated
	}
	// The offset takes the place of length and CRC, see checksum. b may be a
	// window that is read from more than once, so it stays as it is.
	var at [prefix]byte
	binary.LittleEndian.PutUint64(at[:], uint64(off))
	sum := crc32.Update(c.seed, castagnoli, at[:])
	if crc32.Update(sum, castagnoli, b[prefix:prefix+length]) != binary.LittleEndian.Uint32(b[4:]) {
		return f, size, BadCRC
	}
	if f.Kind = Kind(b[prefix]); !f.Kind.known() {
		return f, size, BadKind
	}
	for _, z := range b[prefix+length : size] {
		if z != 0 {
			return f, size, BadPadding
		}
	}
	if payload := b[prefix+1 : prefix+length]; len(payload) > 0 {
		f.Payload = unsafe.String(&payload[0], len(payload))
	}
	return f, size, End
}

// RowIDs are the fields every record of a row begins with.
type RowIDs struct {
	Table   uint64
	Version uint64
	Rowid   int64
}

// CutPut is DecodePut without a look at the record, for a frame whose record
// was validated when it was written or replayed.
func CutPut(f Frame) (RowIDs, row.Record, error) {
	if err := f.is(KindPut); err != nil {
		return RowIDs{}, "", err
	}
	c := cursor{s: f.Payload}
	ids := RowIDs{Table: c.uvarint(), Version: c.uvarint(), Rowid: c.varint()}
	if c.bad {
		return RowIDs{}, "", corrupt(f, "malformed")
	}
	return ids, row.Record(c.s), nil
}
