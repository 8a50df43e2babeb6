package wal

import (
	"bytes"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// A Checker says of every frame what a Scanner says, leaves the bytes as they
// were, and takes no frame of which a bit is wrong, or that lies elsewhere.
func TestChecker(t *testing.T) {
	salt := Salt{3, 1, 4}
	b := NewBuilder(salt, 4096, nil)
	rec := row.Record(row.AppendRecord(nil, []row.Value{row.IntValue(7), row.TextValue("a text")}))
	for _, err := range []error{
		b.Put(9, 2, -5, rec), b.Tombstone(9, 2, 1<<40),
		b.Delta(&Delta{Table: 9, Version: 2, Rowid: -5, Prev: 4096, Columns: []DeltaColumn{{Ordinal: 1, Value: row.TextValue("other")}}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	data := b.Bytes()
	file := append(make([]byte, 4096), data...)
	c, sc := NewChecker(salt), NewScanner(bytes.NewReader(file), 4096, int64(len(file)), salt)
	for want, ok := sc.Next(); ok; want, ok = sc.Next() {
		at := want.Offset - 4096
		frame := bytes.Clone(data[at:])
		got, size, why := c.Frame(frame, "", want.Offset)
		if got != want || why != End || size != want.End()-want.Offset || !bytes.Equal(frame, data[at:]) {
			t.Fatalf("%+v, %d bytes, %v; want %+v", got, size, why, want)
		}
		if cut, n, why := c.Frame(frame, string(frame), want.Offset); cut != got || n != size || why != End {
			t.Fatalf("cut out of a text: %+v, %d bytes, %v; want %+v", cut, n, why, want)
		}
		for n := range size {
			if _, need, why := c.Frame(bytes.Clone(frame[:n]), "", want.Offset); why != Truncated || need <= n || need > size {
				t.Fatalf("%d of %d bytes: %v, %d are needed", n, size, why, need)
			}
		}
		for bit := range size * 8 {
			bad := bytes.Clone(frame)
			bad[bit/8] ^= 1 << (bit % 8)
			if _, _, why := c.Frame(bad, "", want.Offset); why == End {
				t.Fatalf("bit %d is wrong and the frame taken", bit)
			}
		}
		if _, _, why := c.Frame(frame, "", want.Offset+Align); why != BadCRC {
			t.Fatalf("a frame at another place: %v", why)
		}
		if _, _, why := NewChecker(Salt{}).Frame(frame, "", want.Offset); why != BadCRC {
			t.Fatalf("a frame of another file: %v", why)
		}
		if ids, cut, err := CutPut(got); (err == nil) != (want.Kind == KindPut) || err == nil && (cut != rec || ids != RowIDs{9, 2, -5}) {
			t.Fatalf("%+v, %x, %v", ids, cut, err)
		}
	}
}
