package row

// Decoder reads columns of one record in any order, remembering what it has
// learnt of the header. It allocates only when it meets a record wider than
// any before. The zero Decoder is ready after Reset.
type Decoder struct {
	rec   Record
	next  uint32 // header offset of the first serial type not yet read
	end   uint32 // of the header
	body  uint32 // offset of the body that belongs to next
	known int    // columns in slots
	slots []slot
}

type slot struct {
	typ uint32 // MaxLength keeps serial types below 2^32
	off uint32
}

// Reset makes d read r, which must be valid.
func (d *Decoder) Reset(r Record) {
	size, n := uint64(r[0]), 1
	if size >= 0x80 {
		size, n = varint(string(r))
	}
	d.rec = r
	d.next, d.end, d.body = uint32(n), uint32(size), uint32(size)
	d.known = 0
}

// Column returns column i, NULL when the record has no such column. The value
// borrows from the record.
func (d *Decoder) Column(i int) Value {
	if i >= d.known && !d.read(i) {
		return Value{}
	}
	s := d.slots[i]
	body := string(d.rec[s.off:])
	if s.typ >= 12 {
		return Value{kind: Blob - Kind(s.typ&1), s: body[:(s.typ-12)/2]}
	}
	return smallValue(uint64(s.typ), body)
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
