package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/tidemarkdb/tidemark/engine/row"
)

const (
	headerMagic = "TMKV"
	headerSize  = 4 + 4 + 16 + 4*8 + 8 + 8
)

// ErrNewer says that a file was written by a later version of the program.
var ErrNewer = errors.New("wal: file format is newer than this program")

// is checks that f is of kind k.
func (f Frame) is(k Kind) error {
	if f.Kind != k {
		return corrupt(f, "expected a %s", k)
	}
	return nil
}

// DecodeHeader decodes a header. A format above Format gives an error that
// wraps ErrNewer.
func DecodeHeader(f Frame) (Header, error) {
	var h Header
	if err := f.is(KindHeader); err != nil {
		return h, err
	}
	c := cursor{s: f.Payload}
	if c.take(4) != headerMagic {
		return h, corrupt(f, "not a Tidemark log")
	}
	if h.Format = c.u32(); h.Format > Format {
		return h, fmt.Errorf("%w: %d, known is %d", ErrNewer, h.Format, Format)
	}
	copy(h.StoreID[:], c.take(16))
	h.ShardID = c.u64()
	h.Generation = c.u64()
	h.ObjectID = c.u64()
	h.WriterEpoch = c.u64()
	copy(h.Salt[:], c.take(8))
	h.FirstLSN = c.u64()
	if !c.done() || h.Format == 0 {
		return Header{}, corrupt(f, "malformed")
	}
	return h, nil
}

// DecodeSchema decodes a schema change. The body borrows from the payload.
func DecodeSchema(f Frame) (Schema, error) {
	if err := f.is(KindSchema); err != nil {
		return Schema{}, err
	}
	if f.Payload == "" {
		return Schema{}, corrupt(f, "empty")
	}
	return Schema{Op: f.Payload[0], Body: f.Payload[1:]}, nil
}

// DecodePut decodes a row. The record is valid and borrows from the payload.
func DecodePut(f Frame) (Put, error) {
	if err := f.is(KindPut); err != nil {
		return Put{}, err
	}
	c := cursor{s: f.Payload}
	p := Put{Table: c.uvarint(), Version: c.uvarint(), Rowid: c.varint()}
	if c.bad {
		return Put{}, corrupt(f, "malformed")
	}
	p.Rec = row.Record(c.s)
	if err := p.Rec.Validate(); err != nil {
		return Put{}, BadRecord(f.Offset, err)
	}
	return p, nil
}

// DecodeDelta decodes changed columns. The values borrow from the payload.
func DecodeDelta(f Frame) (Delta, error) {
	if err := f.is(KindDelta); err != nil {
		return Delta{}, err
	}
	c := cursor{s: f.Payload}
	d := Delta{Table: c.uvarint(), Version: c.uvarint(), Rowid: c.varint(), Prev: c.uvarint()}
	if n := c.count(1); n > 0 {
		d.Columns = make([]DeltaColumn, n)
	}
	last := int64(-1)
	for i := range d.Columns {
		o := c.uvarint()
		if o > math.MaxUint32 || int64(o) <= last {
			return Delta{}, corrupt(f, "columns out of order")
		}
		last = int64(o)
		d.Columns[i].Ordinal = uint32(o)
	}
	if c.bad {
		return Delta{}, corrupt(f, "malformed")
	}
	rec := row.Record(c.s)
	if err := rec.Validate(); err != nil {
		return Delta{}, corrupt(f, "%v", err)
	}
	if n, _ := rec.Columns(); n != len(d.Columns) {
		return Delta{}, corrupt(f, "%d values for %d columns", n, len(d.Columns))
	}
	var dec row.Decoder
	dec.Reset(rec)
	for i := range d.Columns {
		d.Columns[i].Value = dec.Column(i)
	}
	if d.Prev >= uint64(f.Offset) || d.Prev%Align != 0 {
		return Delta{}, corrupt(f, "previous record at %d", d.Prev)
	}
	return d, nil
}

// DecodeTombstone decodes the end of a row.
func DecodeTombstone(f Frame) (Tombstone, error) {
	if err := f.is(KindTombstone); err != nil {
		return Tombstone{}, err
	}
	c := cursor{s: f.Payload}
	t := Tombstone{Table: c.uvarint(), Version: c.uvarint(), Rowid: c.varint()}
	if !c.done() {
		return Tombstone{}, corrupt(f, "malformed")
	}
	return t, nil
}

// DecodeCommit decodes the end of a transaction. Nothing of it borrows.
func DecodeCommit(f Frame, salt Salt) (Commit, error) {
	if err := f.is(KindCommit); err != nil {
		return Commit{}, err
	}
	c := cursor{s: f.Payload}
	if c.u64() != markOf(salt, f.Offset) {
		return Commit{}, corrupt(f, "wrong mark")
	}
	m := Commit{LSN: c.u64(), WallNanos: int64(c.u64()), SyncedLSN: c.u64(), Records: c.uvarint()}
	if n := c.count(9); n > 0 {
		m.Participants = make([]Participant, n)
	}
	for i := range m.Participants {
		m.Participants[i] = Participant{Shard: c.uvarint(), End: c.u64()}
	}
	m.Contributions = c.contributions()
	m.OperationID = c.bytes()
	m.Request = c.bytes()
	if !c.done() || len(m.OperationID) > MaxOperationID {
		return Commit{}, corrupt(f, "malformed")
	}
	if m.LSN == 0 || m.SyncedLSN >= m.LSN {
		return Commit{}, corrupt(f, "LSN %d, synced %d", m.LSN, m.SyncedLSN)
	}
	return m, nil
}

// DecodeCloseMark decodes a close mark.
func DecodeCloseMark(f Frame, salt Salt) (CloseMark, error) {
	if err := f.is(KindCloseMark); err != nil {
		return CloseMark{}, err
	}
	c := cursor{s: f.Payload}
	if c.u64() != markOf(salt, f.Offset) {
		return CloseMark{}, corrupt(f, "wrong mark")
	}
	m := CloseMark{LSN: c.u64(), WallNanos: int64(c.u64())}
	if !c.done() {
		return CloseMark{}, corrupt(f, "malformed")
	}
	return m, nil
}

// DecodeSeal decodes a footer.
func DecodeSeal(f Frame) (Seal, error) {
	if err := f.is(KindSeal); err != nil {
		return Seal{}, err
	}
	c := cursor{s: f.Payload}
	s := Seal{LastLSN: c.u64()}
	copy(s.Digest[:], c.take(32))
	if n := c.count(2); n > 0 {
		s.Records = make([]TableRecords, n)
	}
	for i := range s.Records {
		s.Records[i] = TableRecords{Table: c.uvarint(), Count: c.uvarint()}
	}
	s.Contributions = c.contributions()
	if !c.done() {
		return Seal{}, corrupt(f, "malformed")
	}
	return s, nil
}

func (c *cursor) contributions() []Contribution {
	n := c.count(18)
	if n == 0 {
		return nil
	}
	cs := make([]Contribution, n)
	for i := range cs {
		cs[i] = Contribution{Table: c.uvarint(), Rows: c.varint(), Sum: row.Sum{c.u64(), c.u64()}}
	}
	return cs
}

func markOf(salt Salt, offset int64) uint64 {
	return binary.LittleEndian.Uint64(salt[:]) ^ uint64(offset)
}
