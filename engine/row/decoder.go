package row

// Decoder reads columns of one record in any order. The first few columns are
// found by a look over the header each time; for the others it remembers what
// it has learnt of the header. It allocates only when it meets a record wider
// than any before. The zero Decoder is ready after Reset.
type Decoder struct {
	rec   Record
	next  uint32 // header offset of the first serial type not yet read
	end   uint32 // of the header
	body  uint32 // offset of the body that belongs to next
	known int    // columns in slots; unread before the first
	slots []slot
}

type slot struct {
	typ uint32 // MaxLength keeps serial types below 2^32
	off uint32
}

const (
	unread = -1
	// near is how many columns are found without remembering anything.
	near = 6
)

// Reset makes d read r, which must be valid.
func (d *Decoder) Reset(r Record) { d.rec, d.known = r, unread }

// Column returns column i, NULL when the record has no such column. The value
// borrows from the record.
func (d *Decoder) Column(i int) Value {
	if i < near {
		rec := string(d.rec)
		// An integer with 8 bytes of record from its place on needs no cases.
		if off, t := locate(rec, uint(i)); t-1 < 6 && off+8 <= uint(len(rec)) {
			return Value{kind: Int, n: uint64(int64(be64(rec[off:])) >> intShift[t])}
		} else if t < 0x80 {
			return value(uint64(t), rec[off:])
		}
	}
	return d.column(i)
}

// Has reports whether the record has a column i.
func (d *Decoder) Has(i int) bool { return d.rec.Has(i) }

// locate finds a column when the serial types up to it take a byte each; else
// t is 0x80 or more.
func locate(rec string, i uint) (off uint, t uint8) {
	off = uint(rec[0])
	if off >= 0x80 || i+1 >= off || off > uint(len(rec)) {
		return 0, 0xff
	}
	head := rec[1:off]
	for k := range i {
		off += uint(byteBody[head[k]])
	}
	if off > uint(len(rec)) {
		return 0, 0xff
	}
	return off, head[i]
}

// intShift is, per serial type of an integer, by how much 8 bytes are shifted
// to leave it.
var intShift = [7]uint8{1: 56, 2: 48, 3: 40, 4: 32, 5: 16, 6: 0}

// byteBody is the length of the body per serial type of one byte; where a byte
// is not the whole type, it is longer than any record.
var byteBody = func() (t [256]uint32) {
	for i := range t {
		switch {
		case i < len(smallBody):
			t[i] = uint32(smallBody[i])
		case i < 0x80:
			t[i] = uint32(i-12) / 2
		default:
			t[i] = MaxLength + 1
		}
	}
	return t
}()

// column finds a column by the slots.
func (d *Decoder) column(i int) Value {
	if d.known == unread {
		size, n := uint64(d.rec[0]), 1
		if size >= 0x80 {
			size, n = varint(string(d.rec))
		}
		d.next, d.end, d.body, d.known = uint32(n), uint32(size), uint32(size), 0
	}
	if i >= d.known && !d.read(i) {
		return Value{}
	}
	s := d.slots[i]
	return value(uint64(s.typ), string(d.rec[s.off:]))
}

// ahead is how far the second read of a record looks ahead.
const ahead = 16

// read goes on in the header up to column i, false when there is none. The
// first read of a record stops there, since there is often no second one; who
// asks again will probably want the others too.
func (d *Decoder) read(i int) bool {
	to := i + 1
	if d.known > 0 {
		to += ahead
	}
	to = min(to, int(d.end)) // a serial type takes a byte at least
	if to > len(d.slots) {
		d.slots = append(d.slots, make([]slot, to-len(d.slots))...)
	}
	rec, slots := d.rec, d.slots
	next, body, known := d.next, d.body, d.known
	for known < to && next < d.end {
		t, n := uint32(rec[next]), uint32(1)
		if t >= 0x80 {
			v, l := varint(string(rec[next:]))
			t, n = uint32(v), uint32(l)
		}
		slots[known] = slot{t, body}
		known++
		next += n
		if t >= 12 {
			body += (t - 12) / 2
		} else {
			body += uint32(smallBody[t])
		}
	}
	d.next, d.body, d.known = next, body, known
	return i < known
}
