package wal

import (
	"bytes"
	"fmt"
	"testing"
)

// Whatever a decoder accepts is exactly what the builder writes. The seeds try
// every kind's payloads with every decoder.
func FuzzDecode(f *testing.F) {
	const offset = 4096
	for _, e := range everyKind() {
		b := NewBuilder(testSalt, offset, nil)
		b.add(f, e)
		s := NewScanner(shifted{b.Bytes(), offset}, offset, offset+int64(b.Len()), testSalt)
		frame, ok := s.Next()
		if !ok {
			f.Fatal(s.Stop())
		}
		for k := KindHeader; k.known(); k++ {
			f.Add(uint8(k), []byte(frame.Payload))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, payload []byte) {
		frame := Frame{Kind(kind), offset, string(payload)}
		e, err := decode(frame, testSalt)
		raw := RawFrame{frame.Kind, offset, bytes.Clone(payload)}
		ids, rec, err1 := CutPut(frame)
		rawIDs, rawRec, err2 := CutRawPut(&raw)
		if ids != rawIDs || string(rec) != string(rawRec) || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Fatalf("row %+v %x, %v, and %+v %x, %v", ids, rec, err1, rawIDs, rawRec, err2)
		}
		if err != nil {
			return
		}
		salt := testSalt
		if h, ok := e.(Header); ok {
			salt = h.Salt
		}
		b := NewBuilder(salt, offset, nil)
		b.add(t, e)
		if have := b.Bytes()[prefix+1:][:len(payload)]; !bytes.Equal(have, payload) {
			t.Fatalf("%v %x becomes %x", frame.Kind, payload, have)
		}
		if int64(b.Len()) != FrameSize(len(payload)) {
			t.Fatalf("%v %x becomes %d bytes", frame.Kind, payload, b.Len())
		}
	})
}

// A file is read to its first bad frame, whatever it holds; what is read lies
// in the file without gaps.
func FuzzScan(f *testing.F) {
	file := build(f, testSalt, 0, everyKind())
	f.Add(file, uint16(0), byte(0))
	f.Add(append(file, make([]byte, 40)...), uint16(9), byte(1))
	f.Add([]byte{1, 0, 0, 0}, uint16(0), byte(0))
	f.Fuzz(func(t *testing.T, b []byte, at uint16, flip byte) {
		b = bytes.Clone(b)
		if int(at) < len(b) {
			b[at] ^= flip
		}
		fs, stop := scan(b, 0, testSalt)
		end := int64(0)
		for _, fr := range fs {
			if fr.Offset != end || string(b[end+prefix+1:][:len(fr.Payload)]) != fr.Payload {
				t.Fatalf("frame %+v behind %d", fr, end)
			}
			end = fr.End()
		}
		if stop.Offset != end || stop.Err != nil {
			t.Fatalf("stop %+v, frames end at %d", stop, end)
		}
		for c := range FindCommits(bytes.NewReader(b), 0, int64(len(b)), testSalt) {
			if c.End > int64(len(b)) {
				t.Fatalf("%+v", c)
			}
		}
		if h, next, err := ReadHeader(bytes.NewReader(b), int64(len(b))); err == nil && (next > int64(len(b)) || h.Format != Format) {
			t.Fatalf("%+v %d", h, next)
		}
	})
}
