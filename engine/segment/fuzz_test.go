package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// resealAll makes the CRCs of all frames right, as far as their lengths lead.
func resealAll(file []byte) {
	if len(file) < frameHead+saltAt+8 {
		return
	}
	s := salt(file[frameHead+saltAt:])
	for off := int64(0); int64(len(file))-off >= frameHead; {
		n := int64(binary.LittleEndian.Uint32(file[off:])) + frameHead - 1
		if n < frameHead || n > int64(len(file))-off {
			return
		}
		sealFrame(s, off, file[off+frameHead-1], file[off:off+n])
		off += n
	}
}

// A file is refused or read, whatever it holds: with right checksums, too, what is read is
// in order and in the header's fragments, and what Verify passes can be written.
func FuzzOpen(f *testing.F) {
	p, _ := writePrimary(f, testHeader(Primary), goldenPrimary())
	s, _ := writeSecondary(f, testHeader(Secondary), goldenSecondary())
	f.Add(p, uint16(0), byte(0), false)
	f.Add(p, uint16(90), byte(1), true)
	f.Add(s, uint16(0), byte(0), true)
	f.Add(s, uint16(120), byte(4), true)
	f.Add([]byte("\x20\x00\x00\x00"), uint16(0), byte(0), true)
	f.Fuzz(func(t *testing.T, file []byte, at uint16, flip byte, seal bool) {
		file = bytes.Clone(file)
		if int(at) < len(file) {
			file[at] ^= flip
		}
		if seal {
			resealAll(file)
		}
		h, _, _, err := readHeader(bytes.NewReader(file), int64(len(file)))
		damaged(t, err)
		r, err := Open(bytes.NewReader(file), int64(len(file)), h)
		damaged(t, err)
		if err != nil {
			return
		}
		verify := r.Verify(context.Background())
		damaged(t, verify)
		if h.Kind == Primary {
			es, err := readPrimary(r.Primary(math.MinInt64))
			damaged(t, err)
			if verify == nil && (err != nil || int64(len(es)) != r.Entries()) {
				t.Fatalf("verified, but %d entries of %d, %v", len(es), r.Entries(), err)
			}
			writePrimary(t, h, es)
			return
		}
		es, err := readSecondary(r.Secondary())
		damaged(t, err)
		if verify == nil && (err != nil || int64(len(es)) != r.Entries()) {
			t.Fatalf("verified, but %d entries of %d, %v", len(es), r.Entries(), err)
		}
		writeSecondary(t, h, es)
	})
}

// damaged fails the test unless the error is one of a file.
func damaged(t *testing.T, err error) {
	t.Helper()
	var c *CorruptError
	if err != nil && !errors.As(err, &c) && !errors.Is(err, ErrNewer) {
		t.Fatal(err)
	}
}

// Whatever the decoders of blocks accept is exactly what the writer writes.
func FuzzBlocks(f *testing.F) {
	p, _ := writePrimary(f, testHeader(Primary), goldenPrimary())
	r := open(f, p, testHeader(Primary))
	_, body, err := r.read(0, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(true, bytes.Clone(body), uint8(len(goldenPrimary())))
	f.Add(true, []byte{2, 0x07, 0x17}, uint8(2))
	s, _ := writeSecondary(f, testHeader(Secondary), goldenSecondary())
	r = open(f, s, testHeader(Secondary))
	if _, body, err = r.read(0, nil); err != nil {
		f.Fatal(err)
	}
	f.Add(false, bytes.Clone(body), uint8(len(goldenSecondary())))
	f.Add(false, []byte{2, 1, 'a', 2, 6, 1, 'b', 2}, uint8(2))
	f.Fuzz(func(t *testing.T, primary bool, body []byte, entries uint8) {
		const fragments = 4
		if primary {
			row, at := varint(body, 0)
			if at > len(body) {
				return
			}
			have, want := appendVarint(nil, row), primaryStart(row)
			state := want
			for i := range int(entries) {
				var e PrimaryEntry
				was, ok := at, false
				if at, ok = state.decode(body, at, i == 0, fragments, &e); !ok {
					return
				}
				if at <= was || e.Offset < 0 || e.Offset%align != 0 || e.Size == 0 || e.Size%align != 0 || e.Fragment >= fragments {
					t.Fatalf("%+v from %x", e, body[was:])
				}
				have = want.append(have, &e)
			}
			if !bytes.Equal(have, body[:at]) {
				t.Fatalf("%x becomes %x", body[:at], have)
			}
			return
		}
		var b secondaryBlock
		if bad := b.decode(body, uint64(entries), fragments); bad >= 0 {
			return
		}
		b.keep()
		var have, last []byte
		state := placeStart()
		for i := range b.entries {
			e := b.entry(i)
			if i > 0 && strings.Compare(string(last), e.Key) >= 0 {
				t.Fatalf("%x behind %x", e.Key, last)
			}
			have = state.append(have, []byte(e.Key), shared(last, []byte(e.Key)), e.Place, e.Null)
			last = []byte(e.Key)
		}
		if !slices.Equal(have, body) {
			t.Fatalf("%x becomes %x", body, have)
		}
	})
}
