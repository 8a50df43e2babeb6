package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// ErrTooLarge is returned for a frame whose payload would exceed MaxPayload.
var ErrTooLarge = errors.New("wal: record too large")

// MaxOperationID is the longest operation id.
const MaxOperationID = 64

// Builder appends frames to a buffer that will be written to a file at a known
// offset. After an error the buffer is as before the call.
type Builder struct {
	buf  []byte
	base int64 // file offset of buf[0]
	salt uint64
	seed uint32
}

// NewBuilder returns a builder of frames from file offset offset on, a
// multiple of Align, in the memory of buf.
func NewBuilder(salt Salt, offset int64, buf []byte) *Builder {
	b := new(Builder)
	b.Reset(salt, offset, buf)
	return b
}

// Reset makes b as NewBuilder does.
func (b *Builder) Reset(salt Salt, offset int64, buf []byte) {
	*b = Builder{
		buf:  buf[:0],
		base: offset,
		salt: binary.LittleEndian.Uint64(salt[:]),
		seed: salt.seed(),
	}
}

// Offset returns the file offset of the next frame.
func (b *Builder) Offset() int64 { return b.base + int64(len(b.buf)) }

// Len returns the number of bytes built.
func (b *Builder) Len() int { return len(b.buf) }

// Bytes returns what is built, valid until the next call.
func (b *Builder) Bytes() []byte { return b.buf }

// Truncate forgets everything behind the first n bytes, a former Len.
func (b *Builder) Truncate(n int) { b.buf = b.buf[:n] }

// Reserve makes room for n more bytes, so that many frames do not make the
// buffer grow step by step.
func (b *Builder) Reserve(n int) { b.buf = slices.Grow(b.buf, n) }

// begin makes room for a frame of about size bytes of payload and writes what
// precedes the payload; finish completes it.
func (b *Builder) begin(kind Kind, size int) (start int) {
	start = len(b.buf)
	b.buf = slices.Grow(b.buf, size+prefix+1+Align)
	b.buf = append(b.buf, 0, 0, 0, 0, 0, 0, 0, 0, byte(kind))
	return start
}

func (b *Builder) finish(start int) error {
	frame := b.buf[start:]
	length := len(frame) - prefix
	if length-1 > MaxPayload {
		kind := Kind(frame[prefix])
		b.buf = b.buf[:start]
		return fmt.Errorf("%w: a %s of %d bytes", ErrTooLarge, kind, length-1)
	}
	crc := checksum(b.seed, b.base+int64(start), frame)
	binary.LittleEndian.PutUint64(frame, uint64(length)|uint64(crc)<<32)
	var zeros [Align]byte
	b.buf = append(b.buf, zeros[:-len(frame)&(Align-1)]...)
	return nil
}

// mark is the first field of the frames FindCommits looks for.
func (b *Builder) mark() uint64 { return b.salt ^ uint64(b.Offset()) }

// Header appends a header, whose salt is the builder's.
func (b *Builder) Header(h *Header) error {
	if h.Format == 0 || h.Format > Format || binary.LittleEndian.Uint64(h.Salt[:]) != b.salt {
		return fmt.Errorf("wal: header of format %d with salt %x", h.Format, h.Salt)
	}
	start := b.begin(KindHeader, headerSize)
	p := append(b.buf, headerMagic...)
	p = binary.LittleEndian.AppendUint32(p, h.Format)
	p = append(p, h.StoreID[:]...)
	for _, v := range [...]uint64{h.ShardID, h.Generation, h.ObjectID, h.WriterEpoch} {
		p = binary.LittleEndian.AppendUint64(p, v)
	}
	p = append(p, h.Salt[:]...)
	b.buf = binary.LittleEndian.AppendUint64(p, h.FirstLSN)
	return b.finish(start)
}

// Schema appends a schema change.
func (b *Builder) Schema(s Schema) error {
	start := b.begin(KindSchema, 1+len(s.Body))
	b.buf = append(append(b.buf, s.Op), s.Body...)
	return b.finish(start)
}

// maxIDs is the longest encoding of table, version and row id.
const maxIDs = 3 * binary.MaxVarintLen64

// Put appends a row.
func (b *Builder) Put(table, version uint64, rowid int64, rec row.Record) error {
	start := b.begin(KindPut, maxIDs+len(rec))
	b.buf = append(appendIDs(b.buf, table, version, rowid), rec...)
	return b.finish(start)
}

// PutSize returns the bytes the frame of a Put takes.
func PutSize(table, version uint64, rowid int64, rec row.Record) int64 {
	return PutSizeOf(table, version, rowid, len(rec))
}

// PutSizeOf is PutSize for a record of n bytes.
func PutSizeOf(table, version uint64, rowid int64, n int) int64 {
	return FrameSize(uvarintLen(table) + uvarintLen(version) + uvarintLen(zigzag(rowid)) + n)
}

// Tombstone appends the end of a row.
func (b *Builder) Tombstone(table, version uint64, rowid int64) error {
	start := b.begin(KindTombstone, maxIDs)
	b.buf = appendIDs(b.buf, table, version, rowid)
	return b.finish(start)
}

// Delta appends the changed columns of a row, which are in rising order.
func (b *Builder) Delta(d *Delta) error {
	if d.Prev >= uint64(b.Offset()) || d.Prev%Align != 0 {
		return fmt.Errorf("wal: delta's previous record at %d", d.Prev)
	}
	start := b.begin(KindDelta, maxIDs+2*binary.MaxVarintLen64)
	p := appendIDs(b.buf, d.Table, d.Version, d.Rowid)
	p = binary.AppendUvarint(p, d.Prev)
	p = binary.AppendUvarint(p, uint64(len(d.Columns)))
	var few [16]row.Value
	vals := few[:0]
	for i, c := range d.Columns {
		if i > 0 && c.Ordinal <= d.Columns[i-1].Ordinal {
			b.buf = b.buf[:start]
			return fmt.Errorf("wal: delta columns %d and %d are not in order", d.Columns[i-1].Ordinal, c.Ordinal)
		}
		p = binary.AppendUvarint(p, uint64(c.Ordinal))
		vals = append(vals, c.Value)
	}
	b.buf = row.AppendRecord(p, vals)
	return b.finish(start)
}

// Commit appends the end of a transaction.
func (b *Builder) Commit(c *Commit) error {
	if len(c.OperationID) > MaxOperationID {
		return fmt.Errorf("wal: operation id of %d bytes", len(c.OperationID))
	}
	if c.LSN == 0 || c.SyncedLSN >= c.LSN {
		return fmt.Errorf("wal: commit %d claims that %d is synced", c.LSN, c.SyncedLSN)
	}
	mark := b.mark()
	start := b.begin(KindCommit, commitPayload(c))
	p := binary.LittleEndian.AppendUint64(b.buf, mark)
	p = binary.LittleEndian.AppendUint64(p, c.LSN)
	p = binary.LittleEndian.AppendUint64(p, uint64(c.WallNanos))
	p = binary.LittleEndian.AppendUint64(p, c.SyncedLSN)
	p = binary.AppendUvarint(p, c.Records)
	p = binary.AppendUvarint(p, uint64(len(c.Participants)))
	for _, x := range c.Participants {
		p = binary.AppendUvarint(p, x.Shard)
		p = binary.LittleEndian.AppendUint64(p, x.End)
	}
	p = appendContributions(p, c.Contributions)
	p = append(binary.AppendUvarint(p, uint64(len(c.OperationID))), c.OperationID...)
	b.buf = append(binary.AppendUvarint(p, uint64(len(c.Request))), c.Request...)
	return b.finish(start)
}

// CommitSize returns the bytes the frame of c will take, which do not depend
// on the ends of its participants: those can be set afterwards.
func CommitSize(c *Commit) int64 { return FrameSize(commitPayload(c)) }

func commitPayload(c *Commit) int {
	n := 4*8 + uvarintLen(c.Records) + uvarintLen(uint64(len(c.Participants)))
	for _, x := range c.Participants {
		n += uvarintLen(x.Shard) + 8
	}
	n += uvarintLen(uint64(len(c.Contributions)))
	for _, x := range c.Contributions {
		n += uvarintLen(x.Table) + uvarintLen(zigzag(x.Rows)) + 16
	}
	return n + uvarintLen(uint64(len(c.OperationID))) + len(c.OperationID) +
		uvarintLen(uint64(len(c.Request))) + len(c.Request)
}

// CloseMark appends a close mark.
func (b *Builder) CloseMark(c CloseMark) error {
	mark := b.mark()
	start := b.begin(KindCloseMark, 24)
	p := binary.LittleEndian.AppendUint64(b.buf, mark)
	p = binary.LittleEndian.AppendUint64(p, c.LSN)
	b.buf = binary.LittleEndian.AppendUint64(p, uint64(c.WallNanos))
	return b.finish(start)
}

// Seal appends the footer.
func (b *Builder) Seal(s *Seal) error {
	start := b.begin(KindSeal, 64+20*len(s.Records)+40*len(s.Contributions))
	p := binary.LittleEndian.AppendUint64(b.buf, s.LastLSN)
	p = append(p, s.Digest[:]...)
	p = binary.AppendUvarint(p, uint64(len(s.Records)))
	for _, x := range s.Records {
		p = binary.AppendUvarint(binary.AppendUvarint(p, x.Table), x.Count)
	}
	b.buf = appendContributions(p, s.Contributions)
	return b.finish(start)
}

func appendIDs(p []byte, table, version uint64, rowid int64) []byte {
	p = appendUvarint(p, table)
	p = appendUvarint(p, version)
	return appendUvarint(p, zigzag(rowid))
}

func appendContributions(p []byte, cs []Contribution) []byte {
	p = binary.AppendUvarint(p, uint64(len(cs)))
	for _, x := range cs {
		p = binary.AppendUvarint(p, x.Table)
		p = binary.AppendUvarint(p, zigzag(x.Rows))
		p = binary.LittleEndian.AppendUint64(p, x.Sum[0])
		p = binary.LittleEndian.AppendUint64(p, x.Sum[1])
	}
	return p
}
