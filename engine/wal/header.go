package wal

import (
	"encoding/binary"
	"io"
)

// saltAt is the place of the salt in a header's payload. It is the same in
// all formats, since the header's own CRC depends on it.
const saltAt = 4 + 4 + 16 + 4*8

// maxHeader bounds the frame of a header in any format.
const maxHeader = 4096

// ReadHeader reads the header of a file of that size and returns it with the
// offset of the next frame.
func ReadHeader(r io.ReaderAt, size int64) (Header, int64, error) {
	var b [prefix + 1 + headerSize]byte
	if size < int64(len(b)) {
		return Header{}, 0, &CorruptError{0, "too short for a header"}
	}
	s := NewScanner(r, 0, size, Salt{})
	if err := s.read(b[:], 0); err != nil {
		return Header{}, 0, err
	}
	if Kind(b[prefix]) != KindHeader || string(b[prefix+1:prefix+5]) != headerMagic {
		return Header{}, 0, &CorruptError{0, "not a Tidemark log"}
	}
	if n := binary.LittleEndian.Uint32(b[:]); n > maxHeader-prefix {
		return Header{}, 0, &CorruptError{0, "impossible length of the header"}
	}
	s = NewScanner(r, 0, min(size, maxHeader), Salt(b[prefix+1+saltAt:]))
	f, ok := s.Next()
	if !ok {
		if err := s.Stop().Error(); err != nil {
			return Header{}, 0, err
		}
		return Header{}, 0, &CorruptError{0, "no header"}
	}
	h, err := DecodeHeader(f)
	return h, f.End(), err
}
