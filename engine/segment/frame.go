package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
)

// The kinds of frames. The numbers are on disk and never change.
const (
	frameHeader    = 1
	frameEntries   = 2
	frameDirectory = 3
	frameFooter    = 4
)

// frameHead is what precedes a payload: length, CRC, kind.
const frameHead = 4 + 4 + 1

// maxPayload is the longest payload of a frame.
const maxPayload = math.MaxUint32 - 64

// BlockSize is how many bytes of payload a block of several entries has at most,
// BlockKeys how many bytes of keys.
const (
	BlockSize = 32 << 10
	BlockKeys = 256 << 10
)

// salt distinguishes the frames of a file from all other bytes.
type salt [8]byte

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the CRC of a frame at that file offset. body is its kind and payload.
func (s salt) checksum(off int64, body []byte) uint32 {
	var b [16]byte
	copy(b[:], s[:])
	binary.LittleEndian.PutUint64(b[8:], uint64(off))
	return crc32.Update(crc32.Update(0, castagnoli, b[:]), castagnoli, body)
}

// sealFrame completes a frame, of which frameHead bytes and the payload are in b.
func sealFrame(s salt, off int64, kind byte, b []byte) {
	b[frameHead-1] = kind
	binary.LittleEndian.PutUint32(b, uint32(len(b)-frameHead+1))
	binary.LittleEndian.PutUint32(b[4:], s.checksum(off, b[frameHead-1:]))
}

// openFrame checks the frame that fills b and returns its payload.
func openFrame(s salt, off int64, kind byte, b []byte) ([]byte, error) {
	switch {
	case len(b) < frameHead || int64(binary.LittleEndian.Uint32(b)) != int64(len(b)-frameHead+1):
		return nil, corrupt(off, "frame of another length")
	case s.checksum(off, b[frameHead-1:]) != binary.LittleEndian.Uint32(b[4:]):
		return nil, corrupt(off, "checksum does not match")
	case b[frameHead-1] != kind:
		return nil, corrupt(off, "frame of kind %d, not %d", b[frameHead-1], kind)
	}
	return b[frameHead:], nil
}

// readAt reads n bytes, which the caller knows to be no more than the file should have.
func readAt(r io.ReaderAt, off, n int64) ([]byte, error) {
	return readInto(r, nil, off, n)
}

// readInto is readAt in the memory of b, if that is enough.
func readInto(r io.ReaderAt, b []byte, off, n int64) ([]byte, error) {
	if int64(cap(b)) < n {
		b = make([]byte, n)
	}
	b = b[:n]
	if n == 0 {
		return b, nil
	}
	got, err := r.ReadAt(b, off)
	switch {
	case got == len(b):
		return b, nil
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, corrupt(off+int64(got), "file ends before its extent")
	}
	return nil, fmt.Errorf("segment: reading %d bytes at offset %d: %w", n, off, err)
}

// CorruptError says that a file does not hold what it should at an offset. The caller,
// who knows the file by its object, adds its name.
type CorruptError struct {
	Object uint64 // of the segment, as it is known to who opened it
	Offset int64
	Reason string
}

// Error describes the damage.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("offset %d: %s", e.Offset, e.Reason)
}

func corrupt(off int64, format string, args ...any) error {
	return &CorruptError{Offset: off, Reason: fmt.Sprintf(format, args...)}
}

// ofObject adds the object to a CorruptError.
func ofObject(err error, object uint64) error {
	var c *CorruptError
	if errors.As(err, &c) {
		c.Object = object
	}
	return err
}
