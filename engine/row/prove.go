package row

import (
	"encoding/binary"
	"math"

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
// columns and with hash its RowSum. It keeps nothing of the record.
func (p *Prover) Prove(rowid int64, rec []byte, hash bool) (sum Sum, columns int, err error) {
	if sum, columns, ok := p.prove(rowid, rec, hash); ok {
		return sum, columns, nil
	}
	r := Record(rec)
	if err := r.Validate(); err != nil {
		return Sum{}, 0, err
	}
	if columns, err = r.Columns(); hash {
		sum = RowSum(p.table, rowid, p.colIDs, r, p.alias, &p.slow)
	}
	return sum, columns, err
}

// prove is Prove for a record as most are: with a header of less than 128 bytes, serial
// types of one or two, and no more columns than there are ids. It reports false for any
// other one, and for one that is not valid.
func (p *Prover) prove(rowid int64, rec []byte, hash bool) (sum Sum, columns int, ok bool) {
	if len(rec) == 0 || rec[0] == 0 || rec[0] >= 0x80 || int(rec[0]) > len(rec) {
		return Sum{}, 0, false
	}
	types, body := rec[1:rec[0]], rec[rec[0]:]
	b := p.room(16 + 13*len(types) + len(body))
	binary.LittleEndian.PutUint64(b[8:], uint64(rowid))
	o := 16
	for ; len(types) > 0; columns++ {
		if columns == len(p.colIDs) {
			return Sum{}, 0, false
		}
		t := uint64(types[0])
		types = types[1:]
		if t >= 0x80 {
			if t == 0x80 || len(types) == 0 || types[0] >= 0x80 {
				return Sum{}, 0, false
			}
			t = t&0x7f<<7 | uint64(types[0])
			types = types[1:]
		}
		l := bodyLen(t)
		if l > uint64(len(body)) {
			return Sum{}, 0, false
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
					return Sum{}, 0, false
				}
				break
			}
			shift := smallShift[t]
			n = uint64(int64(n<<shift) >> shift)
			if shortest, _ := intSerial(int64(n)); shortest != t {
				return Sum{}, 0, false
			}
		default:
			return Sum{}, 0, false
		}
		if columns != p.alias {
			binary.LittleEndian.PutUint32(x, p.colIDs[columns])
			x[4] = byte(kind)
			binary.LittleEndian.PutUint64(x[5:], n)
			o += 13
		}
	}
	if len(body) > 0 {
		return Sum{}, 0, false
	}
	if !hash {
		return Sum{}, columns, true
	}
	s := xxh3.Hash128(b[:o])
	return Sum{s.Lo, s.Hi}, columns, true
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
