package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// BlockSize is how much is read at once. Payloads are cut from such blocks;
// a longer frame gets memory of its own, once its CRC is known to be right.
const BlockSize = 256 << 10

// Reason says why a scan stopped.
type Reason uint8

// The reasons. End and Tail are where a log ends in peace; after the others
// the frame at the offset is not usable.
const (
	End        Reason = iota // the end of the file
	Tail                     // a length of zero: preallocated space
	Truncated                // the frame would end behind the file
	BadLength                // longer than any frame
	BadCRC                   // the frame is not what was written here
	BadKind                  // an intact frame of unknown kind
	BadPadding               // an intact frame with other bytes than zeros behind it
	ReadFailed               // see Stop.Err
)

// String describes the reason.
func (r Reason) String() string {
	switch r {
	case End:
		return "end of file"
	case Tail:
		return "end of log"
	case Truncated:
		return "frame ends behind the file"
	case BadLength:
		return "impossible length"
	case BadCRC:
		return "checksum does not match"
	case BadKind:
		return "unknown kind of frame"
	case BadPadding:
		return "padding is not zero"
	case ReadFailed:
		return "cannot be read"
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Stop is where and why a scan stopped.
type Stop struct {
	Offset int64
	Reason Reason
	Err    error // of ReadFailed
}

// Clean reports whether nothing is wrong at the offset.
func (s Stop) Clean() bool { return s.Reason <= Tail }

// Error returns nil for a clean stop, the error of a failed read, and else a
// *CorruptError.
func (s Stop) Error() error {
	switch {
	case s.Clean():
		return nil
	case s.Reason == ReadFailed:
		return s.Err
	}
	return &CorruptError{s.Offset, s.Reason.String()}
}

// Scanner reads the frames of a file one after the other, in bounded memory.
type Scanner struct {
	r    io.ReaderAt
	size int64
	salt Salt
	seed uint32
	next int64 // offset of the next frame
	stop Stop

	buf  []byte // the bytes from base on; checksum spoils length and CRC of seen frames
	str  string // the same, once a payload was cut from the block
	base int64

	length int64 // of kind and payload of the frame that was checked last, 0 if it is not in the block
}

// NewScanner returns a scanner of the frames of r from offset from on, a
// multiple of Align. size is the length of the file.
func NewScanner(r io.ReaderAt, from, size int64, salt Salt) *Scanner {
	return &Scanner{r: r, size: size, salt: salt, seed: salt.seed(), next: from, base: from}
}

// Next returns the next frame; false when the scan has stopped.
func (s *Scanner) Next() (Frame, bool) {
	if s.r == nil {
		return Frame{}, false
	}
	f, ok := s.frameAt(s.next)
	if ok {
		s.next = f.End()
	} else {
		s.r, s.buf, s.str = nil, nil, ""
	}
	return f, ok
}

// NextRaw is Next without a copy: the payload is the scanner's until it goes on.
func (s *Scanner) NextRaw(raw *RawFrame) bool {
	if s.r == nil {
		return false
	}
	f, ok := s.check(s.next)
	if !ok {
		s.r, s.buf, s.str = nil, nil, ""
		return false
	}
	raw.Kind, raw.Offset = f.Kind, f.Offset
	if s.length == 0 {
		raw.Payload = []byte(f.Payload)
	} else {
		at := f.Offset - s.base
		raw.Payload = s.buf[at+prefix+1 : at+prefix+s.length]
	}
	s.next = raw.End()
	return true
}

// Offset returns the offset of the next frame, or of the stop.
func (s *Scanner) Offset() int64 { return s.next }

// Stop tells, after Next returned false, where and why.
func (s *Scanner) Stop() Stop { return s.stop }

func (s *Scanner) fail(off int64, r Reason) (Frame, bool) {
	s.stop = Stop{Offset: off, Reason: r}
	return Frame{}, false
}

// frameAt reads and checks the frame at off, or sets stop.
func (s *Scanner) frameAt(off int64) (Frame, bool) {
	f, ok := s.check(off)
	if !ok || s.length == 0 {
		return f, ok
	}
	if s.str == "" {
		s.str = string(s.buf)
	}
	at := off - s.base
	f.Payload = s.str[at+prefix+1 : at+prefix+s.length]
	return f, true
}

// check is frameAt, but the payload of a frame that lies in the block is left there.
func (s *Scanner) check(off int64) (Frame, bool) {
	s.length = 0
	left := s.size - off
	if left <= prefix {
		return s.shortTail(off, left)
	}
	b, ok := s.window(off, prefix+1)
	if !ok {
		return Frame{}, false
	}
	length := int64(binary.LittleEndian.Uint32(b))
	crc := binary.LittleEndian.Uint32(b[4:])
	switch {
	case length == 0:
		return s.fail(off, Tail)
	case length-1 > MaxPayload:
		return s.fail(off, BadLength)
	}
	size := FrameSize(int(length - 1))
	switch {
	case size > left:
		return s.fail(off, Truncated)
	case size > BlockSize:
		return s.longFrame(off, length, crc)
	}
	if int64(len(b)) < size {
		if b, ok = s.window(off, int(size)); !ok {
			return Frame{}, false
		}
	}
	if checksum(s.seed, off, b[:prefix+length]) != crc {
		return s.fail(off, BadCRC)
	}
	f := Frame{Kind: Kind(b[prefix]), Offset: off}
	if !f.Kind.known() {
		return s.fail(off, BadKind)
	}
	for _, c := range b[prefix+length : size] {
		if c != 0 {
			return s.fail(off, BadPadding)
		}
	}
	s.length = length
	return f, true
}

// shortTail handles what is too short for a frame.
func (s *Scanner) shortTail(off, left int64) (Frame, bool) {
	if left <= 0 {
		return s.fail(off, End)
	}
	b, ok := s.window(off, int(left))
	if !ok {
		return Frame{}, false
	}
	for _, c := range b {
		if c != 0 {
			return s.fail(off, Truncated)
		}
	}
	return s.fail(off, Tail)
}

// window returns the bytes of the block from off on, n of them at least (the
// file has them), or sets stop.
func (s *Scanner) window(off int64, n int) ([]byte, bool) {
	if at := off - s.base; at >= 0 && at+int64(n) <= int64(len(s.buf)) {
		return s.buf[at:], true
	}
	if s.buf == nil {
		s.buf = make([]byte, min(BlockSize, s.size-off))
	}
	s.buf = s.buf[:min(int64(cap(s.buf)), s.size-off)]
	s.base, s.str = off, ""
	if err := s.read(s.buf, off); err != nil {
		s.buf = s.buf[:0]
		return nil, false
	}
	return s.buf, true
}

// read fills b from the file, or sets stop.
func (s *Scanner) read(b []byte, off int64) error {
	n, err := s.r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	s.stop = Stop{off, ReadFailed, err}
	return err
}

// longFrame reads a frame that is longer than a block. It is read twice: only
// a right CRC makes its length worth the memory.
func (s *Scanner) longFrame(off, length int64, crc uint32) (Frame, bool) {
	f := Frame{Offset: off}
	size := FrameSize(int(length - 1))
	chunk := make([]byte, BlockSize)
	var payload strings.Builder
	for pass := range 2 {
		if pass == 1 {
			payload.Grow(int(length - 1))
		}
		var head [prefix]byte
		sum := checksum(s.seed, off, head[:])
		for done := int64(0); done < length; {
			b := chunk[:min(BlockSize, length-done)]
			if s.read(b, off+prefix+done) != nil {
				return Frame{}, false
			}
			sum = crc32.Update(sum, castagnoli, b)
			if done == 0 {
				f.Kind = Kind(b[0])
			}
			if pass == 1 {
				if done == 0 {
					payload.Write(b[1:])
				} else {
					payload.Write(b)
				}
			}
			done += int64(len(b))
		}
		if sum != crc {
			return s.fail(off, BadCRC)
		}
	}
	if !f.Kind.known() {
		return s.fail(off, BadKind)
	}
	pad := chunk[:size-prefix-length]
	if s.read(pad, off+prefix+length) != nil {
		return Frame{}, false
	}
	for _, c := range pad {
		if c != 0 {
			return s.fail(off, BadPadding)
		}
	}
	f.Payload = payload.String()
	return f, true
}
