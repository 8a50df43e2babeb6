package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Kind says what a frame holds. The numbers are on disk and never change.
type Kind uint8

// The kinds of frames.
const (
	KindHeader    Kind = 1
	KindSchema    Kind = 2
	KindPut       Kind = 3
	KindDelta     Kind = 4
	KindTombstone Kind = 5
	KindCommit    Kind = 6
	KindCloseMark Kind = 7
	KindSeal      Kind = 8
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case KindHeader:
		return "header"
	case KindSchema:
		return "schema"
	case KindPut:
		return "put"
	case KindDelta:
		return "delta"
	case KindTombstone:
		return "tombstone"
	case KindCommit:
		return "commit"
	case KindCloseMark:
		return "close mark"
	case KindSeal:
		return "seal"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

func (k Kind) known() bool { return KindHeader <= k && k <= KindSeal }

// Frame is one intact frame of a file.
type Frame struct {
	Kind    Kind
	Offset  int64  // of the frame in the file
	Payload string // cut from the block it was read with
}

// End returns the offset behind the frame and its padding.
func (f Frame) End() int64 { return f.Offset + FrameSize(len(f.Payload)) }

// RawFrame is a Frame whose payload belongs to the scanner that it is from.
type RawFrame struct {
	Kind    Kind
	Offset  int64
	Payload []byte
}

// End returns the offset behind the frame and its padding.
func (f *RawFrame) End() int64 { return f.Offset + FrameSize(len(f.Payload)) }

// Frame returns a copy that stays.
func (f *RawFrame) Frame() Frame {
	return Frame{Kind: f.Kind, Offset: f.Offset, Payload: string(f.Payload)}
}

// Align is the alignment of frames. A frame begins with prefix bytes, then the
// kind.
const (
	Align  = 8
	prefix = 8
)

// MaxPayload is the longest payload.
const MaxPayload = 1<<30 + 1<<16

// FrameSize returns the bytes a frame of that payload takes in the file.
func FrameSize(payload int) int64 {
	return (prefix + 1 + int64(payload) + Align - 1) &^ (Align - 1)
}

// Salt distinguishes a generation's frames from all other bytes.
type Salt [8]byte

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seed is the state of the CRC behind the salt.
func (s Salt) seed() uint32 { return crc32.Update(0, castagnoli, s[:]) }

// checksum returns the CRC of the frame that lies in b at file offset off.
// b ends with the payload. The 8 bytes of length and CRC are overwritten: the
// offset takes their place, so that one pass covers offset, kind and payload.
func checksum(seed uint32, off int64, b []byte) uint32 {
	binary.LittleEndian.PutUint64(b, uint64(off))
	return crc32.Update(seed, castagnoli, b)
}

// CorruptError says that a file does not hold what it should at an offset. The
// caller, who knows the file, adds its name.
type CorruptError struct {
	Offset int64
	Reason string
}

// Error describes the damage.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("offset %d: %s", e.Offset, e.Reason)
}

func corrupt(f Frame, format string, args ...any) error {
	return &CorruptError{f.Offset, f.Kind.String() + ": " + fmt.Sprintf(format, args...)}
}
