package wal

import (
	"encoding/binary"
	"errors"
	"io"
)

// footerWindow is how much of the end of a file is read first to find its footer,
// footerMost how much at last: it has a few bytes for each table.
const (
	footerWindow = 4 << 10
	footerMost   = 16 << 20
)

// ReadFooter finds the footer of a sealed file from its end: the last frame, which
// ends where the file does. Salt and offset in its checksum keep other bytes from
// passing as one. What is wrong is a *CorruptError at the end of the file.
func ReadFooter(r io.ReaderAt, size int64, salt Salt) (Frame, Seal, error) {
	check := NewChecker(salt)
	for n := int64(footerWindow); ; n *= 4 {
		from := max(0, size-n) &^ (Align - 1)
		b := make([]byte, size-from)
		if _, err := r.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
			return Frame{}, Seal{}, err
		}
		for at := len(b) - prefix - 1; at >= 0; at-- {
			length := int64(0)
			if (from+int64(at))%Align == 0 && Kind(b[at+prefix]) == KindSeal {
				length = int64(binary.LittleEndian.Uint32(b[at:]))
			}
			if length == 0 || length-1 > MaxPayload || from+int64(at)+FrameSize(int(length-1)) != size {
				continue
			}
			if f, _, why := check.Frame(b[at:], "", from+int64(at)); why == End {
				s, err := DecodeSeal(f)
				return f, s, err
			}
		}
		if from == 0 || n >= footerMost {
			return Frame{}, Seal{}, &CorruptError{Offset: size, Reason: "no footer at the end of a sealed file"}
		}
	}
}
