package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// A log cut at any byte gives its first whole frames, whatever follows.
func TestCutAtEveryByte(t *testing.T) {
	file := build(t, testSalt, 0, everyKind())
	all, _ := scan(file, 0, testSalt)
	for cut := range len(file) + 1 {
		whole := 0
		for whole < len(all) && all[whole].End() <= int64(cut) {
			whole++
		}
		end := int64(0)
		if whole > 0 {
			end = all[whole-1].End()
		}
		zeros := append(bytes.Clone(file[:cut]), make([]byte, 64)...)
		fs, stop := scan(zeros, 0, testSalt)
		// Zeros stand for the cut bytes, so a cut in a row of zeros loses nothing.
		if len(fs) < whole || len(fs) > whole+1 {
			t.Fatalf("cut at %d and filled with zeros: %d frames, want %d", cut, len(fs), whole)
		}
		for i, f := range fs {
			if f != all[i] {
				t.Fatalf("cut at %d: frame %d is %+v", cut, i, f)
			}
		}
		fs, stop = scan(file[:cut], 0, testSalt)
		if len(fs) != whole || stop.Offset != end {
			t.Fatalf("cut at %d: %d frames, stop %+v; want %d", cut, len(fs), stop, whole)
		}
		if clean := end == int64(cut); clean != (stop.Reason == End) || clean != (stop.Error() == nil) {
			t.Fatalf("cut at %d: stop %+v", cut, stop)
		}
	}
}

// A flipped bit anywhere ends the log there. No frame is ever another one.
func TestFlipEveryBit(t *testing.T) {
	file := build(t, testSalt, 0, everyKind())
	all, _ := scan(file, 0, testSalt)
	for bit := range len(file) * 8 {
		bad := bytes.Clone(file)
		bad[bit/8] ^= 1 << (bit % 8)
		hit := 0
		for all[hit].End() <= int64(bit/8) {
			hit++
		}
		fs, stop := scan(bad, 0, testSalt)
		if len(fs) != hit || stop.Offset != all[hit].Offset {
			t.Fatalf("bit %d of frame %d: %d frames, stop %+v", bit, hit, len(fs), stop)
		}
		// The commits behind are still found, and no other ones.
		var want []int64
		for _, f := range all[hit+1:] {
			if f.Kind == KindCommit || f.Kind == KindCloseMark {
				want = append(want, f.Offset)
			}
		}
		for c, err := range FindCommits(bytes.NewReader(bad), stop.Offset, int64(len(bad)), testSalt) {
			if err != nil {
				t.Fatal(err)
			}
			if len(want) == 0 || want[0] != c.Offset {
				t.Fatalf("bit %d: commit found at %d, want %d", bit, c.Offset, want)
			}
			want = want[1:]
		}
		if len(want) > 0 {
			t.Fatalf("bit %d: commits at %d not found", bit, want)
		}
	}
}

func TestStopReasons(t *testing.T) {
	put := func(e entry) []byte { return build(t, testSalt, 0, []entry{e}) }
	change := func(b []byte, f func(b []byte)) []byte { f(b); return b }
	withCRC := func(b []byte) []byte {
		n := binary.LittleEndian.Uint32(b)
		crc := checksum(testSalt.seed(), 0, bytes.Clone(b[:prefix+n]))
		binary.LittleEndian.PutUint32(b[4:], crc)
		return b
	}
	row1 := Put{1, 1, 1, rec(row.IntValue(300))}
	for name, x := range map[string]struct {
		file []byte
		want Reason
	}{
		"empty":          {nil, End},
		"few zeros":      {make([]byte, 5), Tail},
		"zeros":          {make([]byte, 64), Tail},
		"few bytes":      {[]byte("12345"), Truncated},
		"length of 4 GB": {bytes.Repeat([]byte{0xff}, 64), BadLength},
		"behind the end": {change(put(row1), func(b []byte) { b[1] = 1 }), Truncated},
		"other salt":     {build(t, Salt{9}, 0, []entry{row1}), BadCRC},
		"other offset":   {build(t, testSalt, 8, []entry{row1}), BadCRC},
		"kind 0":         {withCRC(change(put(row1), func(b []byte) { b[8] = 0 })), BadKind},
		"kind 9":         {withCRC(change(put(row1), func(b []byte) { b[8] = 9 })), BadKind},
		"padding":        {change(put(Tombstone{1, 1, 1}), func(b []byte) { b[len(b)-1] = 1 }), BadPadding},
	} {
		fs, stop := scan(x.file, 0, testSalt)
		if len(fs) != 0 || stop.Reason != x.want || stop.Offset != 0 {
			t.Errorf("%s: %d frames, %v", name, len(fs), stop.Reason)
		}
		var c *CorruptError
		if err := stop.Error(); stop.Clean() != (err == nil) || err != nil && !errors.As(err, &c) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// failing is a file of which one byte cannot be read.
type failing struct {
	b  []byte
	at int64
}

var errDisk = errors.New("disk")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off <= f.at && f.at < off+int64(len(p)) {
		return 0, errDisk
	}
	return bytes.NewReader(f.b).ReadAt(p, off)
}

func TestReadErrors(t *testing.T) {
	long := Put{1, 1, 1, rec(row.BlobValue(strings.Repeat("x", 3*BlockSize)))}
	b := NewBuilder(testSalt, 0, nil)
	b.add(t, Put{1, 1, 1, rec(row.BlobValue(strings.Repeat("x", BlockSize/2)))})
	b.add(t, long)
	b.add(t, Commit{LSN: 1})
	file := b.Bytes()
	for at := int64(0); at < int64(len(file)); at += BlockSize / 8 {
		s := NewScanner(failing{file, at}, 0, int64(len(file)), testSalt)
		n := 0
		for _, ok := s.Next(); ok; _, ok = s.Next() {
			n++
		}
		if st := s.Stop(); n == 3 || st.Reason != ReadFailed || !errors.Is(st.Error(), errDisk) {
			t.Errorf("byte %d: %d frames, %+v", at, n, st)
		}
		if _, ok := s.Next(); ok {
			t.Error("the scan goes on")
		}
		found := false
		for _, err := range FindCommits(failing{file, at}, 0, int64(len(file)), testSalt) {
			found = found || errors.Is(err, errDisk)
		}
		if !found {
			t.Errorf("byte %d: the search for commits has not failed", at)
		}
	}
	// A file that is shorter than it is said to be is not a log that ends.
	s := NewScanner(bytes.NewReader(file[:100]), 0, int64(len(file)), testSalt)
	if _, ok := s.Next(); ok || !errors.Is(s.Stop().Error(), io.ErrUnexpectedEOF) {
		t.Errorf("%+v", s.Stop())
	}
}

func TestLongFrames(t *testing.T) {
	for _, n := range []int{BlockSize - 40, BlockSize - 24, BlockSize - 20, BlockSize - 16, BlockSize - 8, BlockSize, BlockSize + 1, 2*BlockSize - 17, 3 * BlockSize, 3*BlockSize + 5} {
		want := Schema{Op: 7, Body: strings.Repeat("0123456789abcdef", n/16+1)[:n]}
		es := []entry{Tombstone{1, 1, 1}, want, Commit{LSN: 1}}
		file := build(t, testSalt, 0, es)
		fs, stop := scan(file, 0, testSalt)
		if len(fs) != 3 || stop.Reason != End {
			t.Fatalf("%d bytes: %d frames, %+v", n, len(fs), stop)
		}
		if have, err := DecodeSchema(fs[1]); err != nil || have != want {
			t.Fatalf("%d bytes: decodes to %d, %v", n, len(have.Body), err)
		}
		end := fs[1].End()
		for _, at := range []int64{24, 31, 32, 40, int64(n) / 2, end - 9, end - 1} {
			if at >= end {
				continue
			}
			bad := bytes.Clone(file)
			bad[at] ^= 0x10
			fs, stop := scan(bad, 0, testSalt)
			if len(fs) > 2 || len(fs) == 2 && fs[1].Offset != fs[0].End() || stop.Clean() {
				t.Errorf("%d bytes, byte %d changed: %d frames, %+v", n, at, len(fs), stop)
			}
		}
	}
}

// zeroFile is a long file of zeros behind some bytes.
type zeroFile []byte

func (z zeroFile) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	if off < int64(len(z)) {
		copy(p, z[off:])
	}
	return len(p), nil
}

// A wrong length must not cost memory, nor a hole full of zeros.
func TestMemoryIsBounded(t *testing.T) {
	file := zeroFile(binary.LittleEndian.AppendUint32(nil, 1<<29))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := NewScanner(file, 0, 1<<30, testSalt)
	if _, ok := s.Next(); ok || s.Stop().Reason != BadCRC {
		t.Fatalf("%+v", s.Stop())
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8*BlockSize {
		t.Errorf("%d bytes", used)
	}
}

// Bytes of a user that are a commit of this very file, taken from another
// place, another generation or made for the place where they lie, but without
// the salt, are no commit.
func TestUserBytesAreNoCommit(t *testing.T) {
	forged := build(t, testSalt, 4096, []entry{Commit{LSN: 9, SyncedLSN: 8}})
	other := build(t, Salt{1}, 4096, []entry{Commit{LSN: 9, SyncedLSN: 8}})
	b := NewBuilder(testSalt, 0, nil)
	for shift := range 8 {
		b.add(t, Put{1, 1, 1, rec(row.BlobValue(strings.Repeat("z", shift) + string(forged)))})
		b.add(t, Put{1, 1, 1, rec(row.BlobValue(strings.Repeat("z", shift) + string(other)))})
	}
	for b.Len() < 4096 {
		b.add(t, Tombstone{1, 1, int64(b.Len())})
	}
	for c, err := range FindCommits(bytes.NewReader(b.Bytes()), 0, int64(b.Len()), testSalt) {
		t.Errorf("found %+v, %v", c, err)
	}
	// In its place it is one.
	at4096 := append(make([]byte, 4096), forged...)
	n := 0
	for c, err := range FindCommits(bytes.NewReader(at4096), 0, int64(len(at4096)), testSalt) {
		if err != nil || c.Offset != 4096 || c.LSN() != 9 || c.Synced() != 8 || c.End != int64(len(at4096)) {
			t.Errorf("found %+v, %v", c, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("found %d commits", n)
	}
}

// Commits far behind a hole, across blocks, at odd starts of the search.
func TestFindCommits(t *testing.T) {
	r := newRand(t)
	b := NewBuilder(testSalt, 0, nil)
	var lsn uint64
	b.add(t, everyKind()[0])
	for b.Len() < 3*BlockSize {
		b.add(t, randomEntry(r, b, &lsn))
	}
	b.add(t, Commit{LSN: lsn + 1, Request: make([]byte, 2*BlockSize)})
	b.add(t, CloseMark{LSN: lsn + 1})
	file := append(b.Bytes(), make([]byte, 12345)...)
	all, _ := scan(file, 0, testSalt)
	for range 30 {
		from := r.Int64N(int64(len(file)))
		var want []int64
		for _, f := range all {
			if f.Offset >= from && (f.Kind == KindCommit || f.Kind == KindCloseMark) {
				want = append(want, f.Offset)
			}
		}
		i := 0
		for c, err := range FindCommits(bytes.NewReader(file), from, int64(len(file)), testSalt) {
			if err != nil {
				t.Fatal(err)
			}
			if i >= len(want) || c.Offset != want[i] {
				t.Fatalf("from %d: found %d", from, c.Offset)
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("from %d: found %d of %d", from, i, len(want))
		}
	}
	// The consumer may stop.
	for range FindCommits(bytes.NewReader(file), 0, int64(len(file)), testSalt) {
		break
	}
}

func TestReadHeader(t *testing.T) {
	h := everyKind()[0].(Header)
	file := append(build(t, testSalt, 0, []entry{h}), make([]byte, 4096)...)
	have, next, err := ReadHeader(bytes.NewReader(file), int64(len(file)))
	if err != nil || have != h || next != 88 {
		t.Fatalf("%+v %d %v", have, next, err)
	}
	newer := bytes.Clone(file)
	binary.LittleEndian.PutUint32(newer[13:], Format+1)
	n := binary.LittleEndian.Uint32(newer)
	binary.LittleEndian.PutUint32(newer[4:], checksum(testSalt.seed(), 0, bytes.Clone(newer[:prefix+n])))
	if _, _, err := ReadHeader(bytes.NewReader(newer), int64(len(newer))); !errors.Is(err, ErrNewer) {
		t.Errorf("newer format: %v", err)
	}
	var c *CorruptError
	for i := range 81 * 8 {
		bad := bytes.Clone(file)
		bad[i/8] ^= 1 << (i % 8)
		if _, _, err := ReadHeader(bytes.NewReader(bad), int64(len(bad))); !errors.As(err, &c) || c.Offset != 0 {
			t.Errorf("bit %d: %v", i, err)
		}
	}
	for n := range 88 {
		if _, _, err := ReadHeader(bytes.NewReader(file[:n]), int64(n)); !errors.As(err, &c) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, _, err := ReadHeader(failing{file, 20}, int64(len(file))); !errors.Is(err, errDisk) {
		t.Errorf("failed read: %v", err)
	}
	if _, _, err := ReadHeader(bytes.NewReader(make([]byte, 4096)), 4096); !errors.As(err, &c) {
		t.Errorf("zeros: %v", err)
	}
}

// The decoders refuse payloads with a right CRC that the builder would not
// have written.
func TestDecodersRefuse(t *testing.T) {
	le := binary.LittleEndian
	mark := string(le.AppendUint64(nil, markOf(testSalt, 64)))
	u64 := func(v ...uint64) string {
		var b []byte
		for _, v := range v {
			b = le.AppendUint64(b, v)
		}
		return string(b)
	}
	empty := string(rec())
	for name, f := range map[string]Frame{
		"header: magic":            {KindHeader, 64, "XXXX" + strings.Repeat("\x01", headerSize-4)},
		"header: short":            {KindHeader, 64, headerMagic + "\x01\x00\x00\x00"},
		"header: long":             {KindHeader, 64, headerMagic + "\x01\x00\x00\x00" + strings.Repeat("\x01", headerSize-7)},
		"header: format 0":         {KindHeader, 64, headerMagic + strings.Repeat("\x00", headerSize-4)},
		"schema: empty":            {KindSchema, 64, ""},
		"put: empty":               {KindPut, 64, ""},
		"put: no record":           {KindPut, 64, "\x01\x01\x02"},
		"put: bad record":          {KindPut, 64, "\x01\x01\x02\x02\x01"},
		"put: long varint":         {KindPut, 64, "\x81\x00\x01\x02" + empty},
		"put: overflowing varint":  {KindPut, 64, "\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02" + empty},
		"put: endless varint":      {KindPut, 64, strings.Repeat("\x80", 20)},
		"delta: columns missing":   {KindDelta, 64, "\x01\x01\x02\x08\x05\x01" + empty},
		"delta: out of order":      {KindDelta, 64, "\x01\x01\x02\x08\x02\x03\x03\x03\x00\x00"},
		"delta: ordinal of 33 bit": {KindDelta, 64, "\x01\x01\x02\x08\x01\x80\x80\x80\x80\x10\x02\x00"},
		"delta: more values":       {KindDelta, 64, "\x01\x01\x02\x08\x01\x03\x03\x00\x00"},
		"delta: fewer values":      {KindDelta, 64, "\x01\x01\x02\x08\x01\x03" + empty},
		"delta: unaligned":         {KindDelta, 64, "\x01\x01\x02\x09\x01\x03\x02\x00"},
		"delta: ahead":             {KindDelta, 64, "\x01\x01\x02\x40\x01\x03\x02\x00"},
		"delta: huge count":        {KindDelta, 64, "\x01\x01\x02\x08\xff\xff\xff\xff\x0f" + empty},
		"tombstone: short":         {KindTombstone, 64, "\x01\x01"},
		"tombstone: long":          {KindTombstone, 64, "\x01\x01\x02\x00"},
		"commit: short":            {KindCommit, 64, mark + u64(2, 0, 0)},
		"commit: mark":             {KindCommit, 64, u64(1, 2, 0, 0) + "\x00\x00\x00\x00\x00"},
		"commit: LSN 0":            {KindCommit, 64, mark + u64(0, 0, 0) + "\x00\x00\x00\x00\x00"},
		"commit: synced":           {KindCommit, 64, mark + u64(2, 0, 2) + "\x00\x00\x00\x00\x00"},
		"commit: trailing":         {KindCommit, 64, mark + u64(2, 0, 1) + "\x00\x00\x00\x00\x00\x00"},
		"commit: huge count":       {KindCommit, 64, mark + u64(2, 0, 1) + "\x00\xff\xff\xff\xff\x0f\x00\x00\x00"},
		"commit: long id":          {KindCommit, 64, mark + u64(2, 0, 1) + "\x00\x00\x00\x41" + strings.Repeat("x", 65) + "\x00"},
		"commit: request cut":      {KindCommit, 64, mark + u64(2, 0, 1) + "\x00\x00\x00\x00\x05abcd"},
		"close mark: short":        {KindCloseMark, 64, mark + u64(2)},
		"close mark: long":         {KindCloseMark, 64, mark + u64(2, 3) + "\x00"},
		"close mark: mark":         {KindCloseMark, 64, u64(1, 2, 3)},
		"seal: short":              {KindSeal, 64, u64(1, 2, 3)},
		"seal: trailing":           {KindSeal, 64, u64(1, 2, 3, 4, 5) + "\x00\x00\x00"},
		"seal: huge count":         {KindSeal, 64, u64(1, 2, 3, 4, 5) + "\xff\xff\xff\xff\x0f\x00"},
	} {
		var c *CorruptError
		if e, err := decode(f, testSalt); !errors.As(err, &c) || c.Offset != 64 {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}
