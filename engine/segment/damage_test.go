package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// readAll reads all that a file has, and verifies it, too.
func readAll(file []byte, extent int64, h Header) (ps []PrimaryEntry, ss []SecondaryEntry, err, verify error) {
	r, err := Open(bytes.NewReader(file), extent, h)
	if err != nil {
		return nil, nil, err, err
	}
	verify = r.Verify(context.Background())
	if h.Kind == Primary {
		ps, err = readPrimary(r.Primary(math.MinInt64))
	} else {
		ss, err = readSecondary(r.Secondary())
	}
	return ps, ss, err, verify
}

// smallFiles are files of few blocks with the entries in them.
func smallFiles(t *testing.T) (files [][]byte, hs []Header, ps [][]PrimaryEntry, ss [][]SecondaryEntry) {
	add := func(file []byte, h Header, p []PrimaryEntry, s []SecondaryEntry) {
		files, hs, ps, ss = append(files, file), append(hs, h), append(ps, p), append(ss, s)
	}
	h := testHeader(Primary)
	p := goldenPrimary()
	file, _ := writePrimary(t, h, p)
	add(file, h, p, nil)
	h = testHeader(Secondary)
	s := goldenSecondary()
	file, _ = writeSecondary(t, h, s)
	add(file, h, nil, s)
	file, _ = writePrimary(t, testHeader(Primary), nil)
	add(file, testHeader(Primary), nil, nil)
	return files, hs, ps, ss
}

// A flipped bit anywhere is found at a place not behind it, and no entry is ever another.
func TestFlipEveryBit(t *testing.T) {
	files, hs, ps, ss := smallFiles(t)
	for i, file := range files {
		for bit := range len(file) * 8 {
			bad := bytes.Clone(file)
			bad[bit/8] ^= 1 << (bit % 8)
			p, s, err, verify := readAll(bad, int64(len(bad)), hs[i])
			for _, err := range []error{err, verify} {
				var c *CorruptError
				if !errors.As(err, &c) {
					t.Fatalf("file %d, bit %d: %v", i, bit, err)
				}
				if c.Object != hs[i].Object || c.Offset < 0 || c.Offset > int64(bit/8) || c.Reason == "" {
					t.Fatalf("file %d, byte %d: damage of object %d at %d: %s", i, bit/8, c.Object, c.Offset, c.Reason)
				}
			}
			if len(p) > len(ps[i]) || !slices.Equal(p, ps[i][:len(p)]) || len(s) > len(ss[i]) || !slices.Equal(s, ss[i][:len(s)]) {
				t.Fatalf("file %d, bit %d: %v %v", i, bit, p, s)
			}
		}
	}
}

// A damaged block of many leaves the others readable, and is named.
func TestDamagedBlock(t *testing.T) {
	h := testHeader(Primary)
	es := primaryRows(rand.New(rand.NewPCG(3, 3)), 50_000)
	file, _ := writePrimary(t, h, es)
	blocks := open(t, file, h).dir.blocks
	for i, b := range blocks {
		for _, at := range []int64{0, 3, 4, 8, 9, b.size / 2, b.size - 1} {
			bad := bytes.Clone(file)
			bad[b.off+at] ^= 0x10
			r := open(t, bad, h)
			have, err := readPrimary(r.Primary(math.MinInt64))
			for _, err := range []error{err, r.Verify(context.Background())} {
				var c *CorruptError
				if !errors.As(err, &c) || c.Offset != b.off {
					t.Fatalf("block %d at %d: %v", i, b.off, err)
				}
			}
			if !slices.Equal(have, es[:len(have)]) {
				t.Fatalf("block %d: wrong entries", i)
			}
			if i+1 < len(blocks) {
				if have, err := readPrimary(r.Primary(blocks[i+1].row)); err != nil || !slices.Equal(have, es[len(es)-len(have):]) || len(have) == 0 {
					t.Fatalf("behind block %d: %d entries, %v", i, len(have), err)
				}
			}
		}
	}
}

// Blocks pass at no other place and in no other file, though they are intact.
func TestBlockElsewhere(t *testing.T) {
	h := testHeader(Primary)
	var es []PrimaryEntry
	for i := range 60_000 { // blocks of one size
		es = append(es, PrimaryEntry{1<<40 + int64(i)*20, Place{0, 7}, 8, 16})
	}
	file, _ := writePrimary(t, h, es)
	b := open(t, file, h).dir.blocks
	refused := func(what string, bad []byte) {
		t.Helper()
		_, _, err, verify := readAll(bad, int64(len(bad)), h)
		var c *CorruptError
		if !errors.As(err, &c) || c.Reason != "checksum does not match" || !errors.As(verify, &c) {
			t.Errorf("%s: %v, %v", what, err, verify)
		}
	}
	if b[1].size != b[2].size {
		t.Fatalf("blocks of %d and %d bytes", b[1].size, b[2].size)
	}
	bad := bytes.Clone(file)
	copy(bad[b[1].off:], file[b[2].off:][:b[2].size])
	copy(bad[b[2].off:], file[b[1].off:][:b[1].size])
	refused("swapped blocks", bad)

	var f memFile
	w, err := newWriter(&f, h, salt{9})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if err := w.AddPrimary(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	bad = bytes.Clone(file)
	copy(bad[b[1].off:], f.Bytes()[b[1].off:][:b[1].size])
	refused("block of another file", bad)
}

// A file cut at any byte is refused, with its old extent and with the new one.
func TestCutAtEveryByte(t *testing.T) {
	files, hs, _, _ := smallFiles(t)
	for i, file := range files {
		for cut := range len(file) {
			for _, extent := range []int64{int64(cut), int64(len(file))} {
				_, _, err, _ := readAll(file[:cut], extent, hs[i])
				var c *CorruptError
				if !errors.As(err, &c) {
					t.Fatalf("file %d cut at %d, extent %d: %v", i, cut, extent, err)
				}
			}
		}
		long := append(bytes.Clone(file), 0)
		if _, _, err, _ := readAll(long, int64(len(long)), hs[i]); err == nil {
			t.Errorf("file %d with a byte behind it passes", i)
		}
	}
}

// reseal makes the CRC of the frame at an offset right again.
func reseal(file []byte, off int64) {
	n := int64(binary.LittleEndian.Uint32(file[off:])) + frameHead - 1
	sealFrame(testSalt, off, file[off+frameHead-1], file[off:off+n])
}

func TestNewerFormat(t *testing.T) {
	h := testHeader(Primary)
	file, _ := writePrimary(t, h, goldenPrimary())
	change := func(format uint32) error {
		b := bytes.Clone(file)
		binary.LittleEndian.PutUint32(b[frameHead+4:], format)
		reseal(b, 0)
		_, err := Open(bytes.NewReader(b), int64(len(b)), h)
		return err
	}
	if err := change(Format + 1); !errors.Is(err, ErrNewer) {
		t.Errorf("newer: %v", err)
	}
	var c *CorruptError
	if err := change(0); !errors.As(err, &c) {
		t.Errorf("format 0: %v", err)
	}
	b := bytes.Clone(file)
	b[frameHead+4]++
	if _, err := Open(bytes.NewReader(b), int64(len(b)), h); !errors.As(err, &c) {
		t.Errorf("a flipped bit of the format: %v", err)
	}
}

func TestOtherSegment(t *testing.T) {
	h := testHeader(Primary)
	file, _ := writePrimary(t, h, goldenPrimary())
	for name, x := range map[string]struct {
		change func(h *Header)
		fits   bool
	}{
		"store":            {func(h *Header) { h.Store[3] = 1 }, false},
		"object":           {func(h *Header) { h.Object++ }, false},
		"kind":             {func(h *Header) { h.Kind = Secondary }, false},
		"table":            {func(h *Header) { h.Table++ }, false},
		"index":            {func(h *Header) { h.Index++ }, false},
		"more fragments":   {func(h *Header) { h.Fragments = append(slices.Clone(h.Fragments), 1<<41) }, false},
		"other fragment":   {func(h *Header) { h.Fragments = []uint64{3, 5} }, false},
		"earlier fragment": {func(h *Header) { h.Fragments = []uint64{1} }, false},
		"some fragments":   {func(h *Header) { h.Fragments = []uint64{4, 1 << 40} }, true},
		"no fragment":      {func(h *Header) { h.Fragments = nil }, true},
		"the same":         {func(h *Header) {}, true},
	} {
		want := h
		x.change(&want)
		_, err := Open(bytes.NewReader(file), int64(len(file)), want)
		var c *CorruptError
		if x.fits != (err == nil) || err != nil && !errors.As(err, &c) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The digest is of everything before the footer: another file with right checksums has
// another one.
func TestDigest(t *testing.T) {
	h := testHeader(Primary)
	file, _ := writePrimary(t, h, goldenPrimary())
	r := open(t, file, h)
	for name, change := range map[string]func(b []byte){
		"header": func(b []byte) { b[frameHead+saltAt+8] ^= 1; reseal(b, 0) },
		// The last entry's size.
		"block":  func(b []byte) { x := r.dir.blocks[0]; b[x.off+x.size-1] ^= 1; reseal(b, x.off) },
		"footer": func(b []byte) { at := r.extent - footerSize; b[at+frameHead+16] ^= 1; reseal(b, at) },
	} {
		bad := bytes.Clone(file)
		change(bad)
		want := h
		want.Store[0] = bad[frameHead+saltAt+8]
		x, err := Open(bytes.NewReader(bad), int64(len(bad)), want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var c *CorruptError
		if err := x.Verify(context.Background()); !errors.As(err, &c) || c.Offset != r.extent-footerSize {
			t.Errorf("%s: %v", name, err)
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

// A failed read is no damage and no end.
func TestReadErrors(t *testing.T) {
	h := testHeader(Secondary)
	es := secondaryKeys(rand.New(rand.NewPCG(3, 3)), 20_000, 16)
	file, _ := writeSecondary(t, h, es)
	for at := int64(0); at < int64(len(file)); at += 5000 {
		r, err := Open(failing{file, at}, int64(len(file)), h)
		if err == nil {
			var have []SecondaryEntry
			have, err = readSecondary(r.Secondary())
			if !slices.Equal(have, es[:len(have)]) {
				t.Fatal("wrong entries")
			}
			if err := r.Verify(context.Background()); !errors.Is(err, errDisk) {
				t.Errorf("byte %d: verified, %v", at, err)
			}
		}
		var c *CorruptError
		if !errors.Is(err, errDisk) || errors.As(err, &c) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := open(t, file, h).Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Open(bytes.NewReader(nil), 0, h); errors.Is(err, io.EOF) || err == nil {
		t.Errorf("empty: %v", err)
	}
}
