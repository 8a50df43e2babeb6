package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Format is the newest format that this package reads and the one it writes.
const Format = 1

// ErrNewer says that a file was written by a later version of the program.
var ErrNewer = errors.New("segment: file format is newer than this program")

// Kind says what index a segment is of. The numbers are on disk and never change.
type Kind uint8

// The kinds of segments.
const (
	Primary   Kind = 1
	Secondary Kind = 2
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Primary:
		return "primary"
	case Secondary:
		return "secondary"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Header says what a segment is of.
type Header struct {
	Store     [16]byte
	Object    uint64
	Kind      Kind
	Table     uint64
	Index     uint64
	Fragments []uint64 // that it covers, strictly ascending
}

// Place is where a row lies.
type Place struct {
	Fragment uint32 // place in Header.Fragments
	Ordinal  uint32 // of the row in the fragment
}

const (
	magic = "TMIX"
	// saltAt is the place of the salt in a header's payload, headerFixed the size of what
	// precedes the fragments.
	saltAt      = 4 + 4
	headerFixed = saltAt + 8 + 16 + 8 + 1 + 8 + 8
)

// check refuses what no header is.
func (h *Header) check() error {
	switch {
	case h.Kind != Primary && h.Kind != Secondary:
		return fmt.Errorf("a segment of %v", h.Kind)
	case len(h.Fragments) == 0:
		return errors.New("no fragments")
	}
	for i, id := range h.Fragments {
		if i > 0 && id <= h.Fragments[i-1] {
			return fmt.Errorf("fragments %d and %d are not in order", h.Fragments[i-1], id)
		}
	}
	return nil
}

// append appends the payload.
func (h *Header) append(p []byte, s salt) []byte {
	p = append(p, magic...)
	p = binary.LittleEndian.AppendUint32(p, Format)
	p = append(p, s[:]...)
	p = append(p, h.Store[:]...)
	p = binary.LittleEndian.AppendUint64(p, h.Object)
	p = append(p, byte(h.Kind))
	p = binary.LittleEndian.AppendUint64(p, h.Table)
	p = binary.LittleEndian.AppendUint64(p, h.Index)
	p = appendUvarint(p, uint64(len(h.Fragments)))
	last := uint64(0)
	for _, id := range h.Fragments {
		p = appendUvarint(p, id-last)
		last = id
	}
	return p
}

// decodeHeader decodes a payload whose CRC is right.
func decodeHeader(b []byte) (h Header, err error) {
	if len(b) < saltAt+8 || string(b[:4]) != magic {
		return h, corrupt(0, "not a Tidemark index segment")
	}
	if f := binary.LittleEndian.Uint32(b[4:]); f > Format {
		return h, fmt.Errorf("%w: %d, known is %d", ErrNewer, f, Format)
	} else if f == 0 {
		return h, corrupt(0, "format 0")
	}
	if len(b) < headerFixed {
		return h, corrupt(0, "header is too short")
	}
	at := saltAt + 8
	at += copy(h.Store[:], b[at:])
	h.Object = binary.LittleEndian.Uint64(b[at:])
	h.Kind = Kind(b[at+8])
	h.Table = binary.LittleEndian.Uint64(b[at+9:])
	h.Index = binary.LittleEndian.Uint64(b[at+17:])
	n, at := uvarint(b, headerFixed)
	if n > uint64(len(b)) {
		return h, corrupt(0, "impossible number of fragments")
	}
	h.Fragments = make([]uint64, n)
	last := uint64(0)
	for i := range h.Fragments {
		var d uint64
		d, at = uvarint(b, at)
		if i > 0 && last+d <= last {
			return h, corrupt(0, "fragments of the header are not in order")
		}
		last += d
		h.Fragments[i] = last
	}
	if at != len(b) {
		return h, corrupt(0, "header of another length than its contents")
	}
	if err := h.check(); err != nil {
		return h, corrupt(0, "header: %v", err)
	}
	return h, nil
}

// readHeader reads the header of a file of that size and returns it with its salt and
// the offset behind it.
func readHeader(r io.ReaderAt, extent int64) (h Header, s salt, end int64, err error) {
	b, err := readAt(r, 0, min(max(extent, 0), 4096))
	if err != nil {
		return h, s, 0, err
	}
	if len(b) < frameHead+saltAt+8 || b[frameHead-1] != frameHeader || string(b[frameHead:frameHead+4]) != magic {
		return h, s, 0, corrupt(0, "not a Tidemark index segment")
	}
	s = salt(b[frameHead+saltAt:])
	end = frameHead - 1 + int64(binary.LittleEndian.Uint32(b))
	if end > extent || end < frameHead+saltAt+8 {
		return h, s, 0, corrupt(0, "impossible length of the header")
	}
	if end > int64(len(b)) {
		if b, err = readAt(r, 0, end); err != nil {
			return h, s, 0, err
		}
	}
	payload, err := openFrame(s, 0, frameHeader, b[:end])
	if err != nil {
		return h, s, 0, err
	}
	h, err = decodeHeader(payload)
	return h, s, end, err
}

// wants refuses a file that is not the wanted one. The file may cover more fragments.
func (h *Header) wants(want *Header) error {
	switch {
	case h.Store != want.Store:
		return corrupt(0, "segment of store %x, not of %x", h.Store, want.Store)
	case h.Object != want.Object:
		return corrupt(0, "segment is object %d, not %d", h.Object, want.Object)
	case h.Kind != want.Kind:
		return corrupt(0, "segment is %v, not %v", h.Kind, want.Kind)
	case h.Table != want.Table || h.Index != want.Index:
		return corrupt(0, "segment of index %d of table %d, not of index %d of table %d", h.Index, h.Table, want.Index, want.Table)
	}
	have := h.Fragments
	for _, id := range want.Fragments {
		for len(have) > 0 && have[0] < id {
			have = have[1:]
		}
		if len(have) == 0 || have[0] != id {
			return corrupt(0, "segment does not cover fragment %d", id)
		}
	}
	return nil
}
