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
	return value(uint64(s.typ), string(d.rec[s.off:]))
}

// read goes on in the header up to column i, false when there is none.
func (d *Decoder) read(i int) bool {
	for d.known <= i {
		if d.next >= d.end {
			return false
		}
		t, n := uint64(d.rec[d.next]), 1
		if t >= 0x80 {
			t, n = varint(string(d.rec[d.next:]))
		}
		if d.known == len(d.slots) {
			d.slots = append(d.slots, slot{})
			d.slots = d.slots[:cap(d.slots)]
		}
		d.slots[d.known] = slot{uint32(t), d.body}
		d.known++
		d.next += uint32(n)
		d.body += uint32(bodyLen(t))
	}
	return true
}
