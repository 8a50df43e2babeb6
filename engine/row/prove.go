package row

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// Prover checks records of a table and works out their sums in one pass over each, where
// rows are many and come from a file.
type Prover struct {
	table  uint64
	colIDs []uint32
	alias  int
	buf    []byte // what is hashed, which begins with the table
	slow   []byte
}

// NewProver returns a Prover of a table's records; see RowSum.
func NewProver(table uint64, colIDs []uint32, alias int) *Prover {
	return &Prover{table: table, colIDs: colIDs, alias: alias}
}

// Prove returns what Validate says of a record and, if that is nothing, the number of its
// columns; then it adds its RowSum to sum, unless that is nil. It keeps nothing of the
// record.
func (p *Prover) Prove(rowid int64, rec []byte, sum *Sum) (columns int, err error) {
	if columns = p.prove(rowid, rec, sum); columns >= 0 {
		return columns, nil
	}
	r := Record(rec)
	if err := r.Validate(); err != nil {
		return 0, err
	}
	if sum != nil {
		*sum = sum.Add(RowSum(p.table, rowid, p.colIDs, r, p.alias, &p.slow))
	}
	return r.Columns()
}

// prove is Prove for a record as most are: with a header of less than 128 bytes, serial
// types of one or two, and no more columns than there are ids. It returns -1 for any
// other one, and for one that is not valid.
func (p *Prover) prove(rowid int64, rec []byte, sum *Sum) (columns int) {
	if len(rec) == 0 || rec[0] == 0 || rec[0] >= 0x80 || int(rec[0]) > len(rec) {
		return -1
	}
	types, body := rec[1:rec[0]], rec[rec[0]:]
	b := p.room(16 + 13*len(types) + len(body))
	binary.LittleEndian.PutUint64(b[8:], uint64(rowid))
	o := 16
	for ; len(types) > 0; columns++ {
		if columns == len(p.colIDs) {
			return -1
		}
		t := uint64(types[0])
		types = types[1:]
		if t >= 0x80 {
			if t == 0x80 || len(types) == 0 || types[0] >= 0x80 {
				return -1
			}
			t = t&0x7f<<7 | uint64(types[0])
			types = types[1:]
		}
		l := bodyLen(t)
		if l > uint64(len(body)) {
			return -1
		}
		from, x := body[:l], b[o:]
		body = body[l:]
		kind, n := Int, uint64(0)
		switch {
		case t >= 12:
			if columns != p.alias {
				binary.LittleEndian.PutUint32(x, p.colIDs[columns])
				x[4] = byte(Blob - Kind(t&1))
				binary.LittleEndian.PutUint32(x[5:], uint32(l))
				o += 9 + copy(x[9:], from)
			}
			continue
		case t == 0:
			if columns != p.alias {
				binary.LittleEndian.PutUint32(x, p.colIDs[columns])
				x[4] = byte(Null)
				o += 5
			}
			continue
		case t == 8 || t == 9:
			n = t - 8
		case t <= 7:
			for _, c := range from {
				n = n<<8 | uint64(c)
			}
			if t == 7 {
				kind = Real
				if math.IsNaN(math.Float64frombits(n)) {
					return -1
				}
				break
			}
			shift := smallShift[t]
			n = uint64(int64(n<<shift) >> shift)
			if shortest, _ := intSerial(int64(n)); shortest != t {
				return -1
			}
		default:
			return -1
		}
		if columns != p.alias {
			binary.LittleEndian.PutUint32(x, p.colIDs[columns])
			x[4] = byte(kind)
			binary.LittleEndian.PutUint64(x[5:], n)
			o += 13
		}
	}
	if len(body) > 0 {
		return -1
	}
	if sum != nil {
		s := xxh3.Hash128(b[:o])
		lo, carry := bits.Add64(sum[0], s.Lo, 0)
		hi, _ := bits.Add64(sum[1], s.Hi, carry)
		sum[0], sum[1] = lo, hi
	}
	return columns
}

// room returns the buffer with n bytes.
func (p *Prover) room(n int) []byte {
	if cap(p.buf) < n {
		p.buf = make([]byte, n+n/4)
		binary.LittleEndian.PutUint64(p.buf, p.table)
	}
	p.buf = p.buf[:cap(p.buf)]
	return p.buf
}
