package row

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Record is a row in SQLite's record format, layout "row/1":
//
//	header length, itself included    varint
//	a serial type per column          varint
//	the bodies, in the same order, without separators
//
//	serial type   body
//	0             NULL, empty
//	1 2 3 4 5 6   INTEGER of 1, 2, 3, 4, 6 or 8 bytes, big endian, the shortest that fits
//	7             REAL, big endian IEEE 754
//	8 9           INTEGER 0 and 1, empty
//	N>=12, even   BLOB of (N-12)/2 bytes
//	N>=13, odd    TEXT of (N-13)/2 bytes
//
// A REAL is always stored as a REAL, also where SQLite would store 5.0 as the
// integer 5 and turn it back on reading: a record explains itself without the
// table's definition. The column that stands for the rowid is stored as NULL.
type Record string

// MaxLength is the longest TEXT or BLOB and the longest record, in bytes.
const MaxLength = 1 << 30

// ErrRecord is wrapped by every error of Validate.
var ErrRecord = errors.New("row: not a record")

// serial returns the serial type of v and the length of its body.
func serial(v *Value) (typ uint64, body int) {
	switch v.kind {
	case Null:
		return 0, 0
	case Int:
		return intSerial(int64(v.n))
	case Real:
		return 7, 8
	case Text:
		return uint64(len(v.s))*2 + 13, len(v.s)
	}
	return uint64(len(v.s))*2 + 12, len(v.s)
}

func intSerial(i int64) (typ uint64, body int) {
	u := uint64(i ^ i>>63) // folds the negative numbers onto the others
	switch {
	case u < 1<<7:
		if uint64(i) <= 1 {
			return 8 + uint64(i), 0
		}
		return 1, 1
	case u < 1<<15:
		return 2, 2
	case u < 1<<23:
		return 3, 3
	case u < 1<<31:
		return 4, 4
	case u < 1<<47:
		return 5, 6
	}
	return 6, 8
}

// AppendRecord appends the record of vals to dst. Up to eight bytes behind the
// result are overwritten when dst has the capacity.
func AppendRecord(dst []byte, vals []Value) []byte {
	if len(vals) > 126 {
		return appendWide(dst, vals)
	}
	// Nearly every record has one byte per serial type, so the place of the
	// bodies is known before the types are, and the header serves the second
	// pass as its list of types.
	start := len(dst)
	at := start + 1 + len(vals)
	dst = slices.Grow(dst, 1+len(vals)+8*len(vals)+8)[:at]
	h := dst[start:]
	h[0] = byte(len(h))
	h = h[1:]
	bodies := 0
	for i := range vals {
		t, n := serial(&vals[i])
		if t >= 0x80 {
			return appendWide(dst[:start], vals)
		}
		h[i] = byte(t)
		bodies += n
	}
	// Numbers are written as eight bytes, of which those behind the body belong
	// to the next one or to the slack.
	dst = slices.Grow(dst, bodies+8)[:at+bodies+8]
	b := dst[at:]
	for i, t := range dst[start+1 : at] {
		if t < 12 {
			binary.BigEndian.PutUint64(b, vals[i].n<<smallShift[t])
			b = b[smallBody[t]:]
		} else {
			b = b[copy(b, vals[i].s):]
		}
	}
	return dst[:at+bodies]
}

// appendWide is AppendRecord for any lengths.
func appendWide(dst []byte, vals []Value) []byte {
	header, bodies := 0, 0
	for i := range vals {
		t, n := serial(&vals[i])
		header += varintLen(t)
		bodies += n
	}
	// The header's length counts its own varint, which may grow by that.
	own := varintLen(uint64(header + 1))
	header += own
	if varintLen(uint64(header)) > own {
		header++
	}
	start := len(dst)
	dst = slices.Grow(dst, header+bodies+8)[:start+header+bodies+8]
	h := dst[start:]
	h = h[putVarint(h, uint64(header)):]
	b := dst[start+header:]
	for i := range vals {
		v := &vals[i]
		t, n := serial(v)
		h = h[putVarint(h, t):]
		if t < 12 {
			binary.BigEndian.PutUint64(b, v.n<<smallShift[t])
		} else {
			copy(b, v.s)
		}
		b = b[n:]
	}
	return dst[:start+header+bodies]
}

// smallBody and smallShift are, per serial type below 12, the length of the
// body and the shift that moves it to the high end of 64 bits.
var (
	smallBody  = [12]uint8{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0}
	smallShift = [12]uint8{0, 56, 48, 40, 32, 16, 0, 0, 0, 0, 0, 0}
)

// bodyLen returns the length of the body of a serial type.
func bodyLen(typ uint64) uint64 {
	if typ >= 12 {
		return (typ - 12) / 2
	}
	return uint64(smallBody[typ])
}

// value decodes the body of a serial type at the start of s.
func value(typ uint64, s string) Value {
	if typ >= 12 {
		return Value{kind: Blob - Kind(typ&1), s: s[:(typ-12)/2]}
	}
	return smallValue(typ, s)
}

// smallValue decodes a number or NULL.
func smallValue(typ uint64, s string) Value {
	var n int64
	switch typ {
	case 1:
		n = int64(int8(s[0]))
	case 2:
		_ = s[1]
		n = int64(int16(uint16(s[0])<<8 | uint16(s[1])))
	case 3:
		_ = s[2]
		n = int64(int8(s[0]))<<16 | int64(s[1])<<8 | int64(s[2])
	case 4:
		n = int64(int32(be32(s)))
	case 5:
		_ = s[5]
		n = int64(int16(uint16(s[0])<<8|uint16(s[1])))<<32 | int64(be32(s[2:]))
	case 6:
		n = int64(be64(s))
	case 7:
		return Value{kind: Real, n: be64(s)}
	case 8, 9:
		n = int64(typ - 8)
	default:
		return Value{}
	}
	return Value{kind: Int, n: uint64(n)}
}

func be32(s string) uint32 {
	_ = s[3]
	return uint32(s[0])<<24 | uint32(s[1])<<16 | uint32(s[2])<<8 | uint32(s[3])
}

func be64(s string) uint64 {
	_ = s[7]
	return uint64(s[0])<<56 | uint64(s[1])<<48 | uint64(s[2])<<40 | uint64(s[3])<<32 |
		uint64(s[4])<<24 | uint64(s[5])<<16 | uint64(s[6])<<8 | uint64(s[7])
}

// Columns returns the number of columns, reading the header only.
func (r Record) Columns() (int, error) {
	s, err := r.header()
	if err != nil {
		return 0, err
	}
	count := 0
	for len(s) > 0 {
		_, n := varint(s)
		if n == 0 {
			return 0, fmt.Errorf("%w: header cuts a serial type", ErrRecord)
		}
		s = s[n:]
		count++
	}
	return count, nil
}

// Has reports whether r has a column i. r must be valid.
func (r Record) Has(i int) bool {
	if r[0] < 0x80 && i+1 >= int(r[0]) { // a serial type takes a byte at least
		return false
	}
	n, _ := r.Columns()
	return i < n
}

// header returns the serial types.
func (r Record) header() (string, error) {
	size, n := varint(string(r))
	if n == 0 || size < uint64(n) || size > uint64(len(r)) {
		return "", fmt.Errorf("%w: header length", ErrRecord)
	}
	return string(r[n:size]), nil
}

// Validate checks r to the last byte: that AppendRecord of its values gives r
// again. Nothing else of this package checks, so bytes from a file pass here
// before they are used.
func (r Record) Validate() error {
	if len(r) > MaxLength {
		return fmt.Errorf("%w: %d bytes", ErrRecord, len(r))
	}
	types, err := r.header()
	if err != nil {
		return err
	}
	size, n := varint(string(r))
	if varintLen(size) != n {
		return fmt.Errorf("%w: header length is not in its shortest form", ErrRecord)
	}
	body := string(r[size:])
	for i := 0; len(types) > 0; i++ {
		t, n := varint(types)
		if n == 0 {
			return fmt.Errorf("%w: header cuts the serial type of column %d", ErrRecord, i)
		}
		if n != varintLen(t) || t == 10 || t == 11 {
			return fmt.Errorf("%w: serial type of column %d", ErrRecord, i)
		}
		l := bodyLen(t)
		if l > uint64(len(body)) {
			return fmt.Errorf("%w: column %d ends behind the record", ErrRecord, i)
		}
		switch v := value(t, body); v.kind {
		case Int:
			if st, _ := intSerial(v.Int()); st != t {
				return fmt.Errorf("%w: column %d is not in its shortest form", ErrRecord, i)
			}
		case Real:
			if math.IsNaN(v.Real()) {
				return fmt.Errorf("%w: column %d is not a number", ErrRecord, i)
			}
		}
		types, body = types[n:], body[l:]
	}
	if body != "" {
		return fmt.Errorf("%w: %d bytes behind the last column", ErrRecord, len(body))
	}
	return nil
}

// Column returns column i, NULL when the record has no such column (it was
// added to the table later). The value borrows from r. r must be valid.
func (r Record) Column(i int) Value {
	size, n := varint(string(r))
	h, off := uint64(n), size
	for h < size {
		t, n := uint64(r[h]), 1
		if t >= 0x80 {
			t, n = varint(string(r[h:]))
		}
		if i == 0 {
			return value(t, string(r[off:]))
		}
		i--
		off += bodyLen(t)
		h += uint64(n)
	}
	return Value{}
}
