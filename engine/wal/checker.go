package wal

import (
	"encoding/binary"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Checker verifies single frames of one file, in any order and by any number of
// goroutines.
type Checker struct{ seed uint32 }

// NewChecker returns a checker of a file with that salt.
func NewChecker(salt Salt) Checker { return Checker{salt.seed()} }

// Frame verifies the frame at file offset off, whose bytes b begins with; b may
// go on behind it. The payload is a copy, or a piece of text, unless that is
// empty: the same bytes as b. The call changes the frame's first bytes and changes
// them back, so nobody else may read those meanwhile. End is the reason of a frame
// that is whole; Truncated says that b ends before it, and size then how much of
// the file the frame takes, or how much it takes to know.
func (c Checker) Frame(b []byte, text string, off int64) (f Frame, size int64, r Reason) {
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
	// b may be a window that is read from more than once.
	head := binary.LittleEndian.Uint64(b)
	sum := checksum(c.seed, off, b[:prefix+length])
	binary.LittleEndian.PutUint64(b, head)
	if sum != uint32(head>>32) {
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
	if text != "" {
		f.Payload = text[prefix+1 : prefix+length]
	} else {
		f.Payload = string(b[prefix+1 : prefix+length])
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

// CutRawPut is CutPut.
func CutRawPut(f *RawFrame) (RowIDs, []byte, error) {
	table, at := uvarintAt(f.Payload, 0)
	version, at := uvarintAt(f.Payload, at)
	rowid, at := uvarintAt(f.Payload, at)
	if at > len(f.Payload) || f.Kind != KindPut {
		_, _, err := CutPut(f.Frame())
		return RowIDs{}, nil, err
	}
	return RowIDs{Table: table, Version: version, Rowid: unzigzag(rowid)}, f.Payload[at:], nil
}

// BadRecord is the error of a Put whose record is not one: err says why.
func BadRecord(offset int64, err error) error {
	return corrupt(Frame{Kind: KindPut, Offset: offset}, "%v", err)
}

// CutRow tells which row a record of any kind is of, without a look at what it
// says of the row.
func CutRow(f Frame) (RowIDs, error) {
	switch f.Kind {
	case KindPut, KindDelta, KindTombstone:
	default:
		return RowIDs{}, corrupt(f, "no record of a row")
	}
	c := cursor{s: f.Payload}
	ids := RowIDs{Table: c.uvarint(), Version: c.uvarint(), Rowid: c.varint()}
	if c.bad {
		return RowIDs{}, corrupt(f, "malformed")
	}
	return ids, nil
}
