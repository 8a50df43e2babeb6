package wal

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

var seed = flag.Uint64("seed", 1, "seed of the random logs")

func newRand(t testing.TB) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", *seed)
	return rand.New(rand.NewPCG(*seed, 0x77616c))
}

var testSalt = Salt{0xd1, 2, 3, 4, 5, 6, 7, 0xe8}

func rec(vs ...row.Value) row.Record { return row.Record(row.AppendRecord(nil, vs)) }

// entry is the decoded form of any frame.
type entry any

func (b *Builder) add(t testing.TB, e entry) {
	t.Helper()
	var err error
	switch e := e.(type) {
	case Header:
		err = b.Header(&e)
	case Schema:
		err = b.Schema(e)
	case Put:
		err = b.Put(e.Table, e.Version, e.Rowid, e.Rec)
	case Delta:
		err = b.Delta(&e)
	case Tombstone:
		err = b.Tombstone(e.Table, e.Version, e.Rowid)
	case Commit:
		err = b.Commit(&e)
	case CloseMark:
		err = b.CloseMark(e)
	case Seal:
		err = b.Seal(&e)
	default:
		t.Fatalf("unexpected %T", e)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func decode(f Frame, salt Salt) (e entry, err error) {
	switch f.Kind {
	case KindHeader:
		return DecodeHeader(f)
	case KindSchema:
		return DecodeSchema(f)
	case KindPut:
		return DecodePut(f)
	case KindDelta:
		return DecodeDelta(f)
	case KindTombstone:
		return DecodeTombstone(f)
	case KindCommit:
		return DecodeCommit(f, salt)
	case KindCloseMark:
		return DecodeCloseMark(f, salt)
	case KindSeal:
		return DecodeSeal(f)
	}
	return nil, fmt.Errorf("unexpected %v", f.Kind)
}

// scan returns all frames and the stop.
func scan(file []byte, from int64, salt Salt) ([]Frame, Stop) {
	s := NewScanner(bytes.NewReader(file), from, int64(len(file)), salt)
	var fs []Frame
	for f, ok := s.Next(); ok; f, ok = s.Next() {
		fs = append(fs, f)
	}
	scanRaw(file, from, salt, fs, s.Stop())
	return fs, s.Stop()
}

// scanRaw panics unless frames without a copy are the same ones and end in the same way.
func scanRaw(file []byte, from int64, salt Salt, fs []Frame, stop Stop) {
	s := NewScanner(bytes.NewReader(file), from, int64(len(file)), salt)
	var raw RawFrame
	for i, f := range fs {
		if !s.NextRaw(&raw) || raw.Frame() != f || raw.End() != f.End() || s.Offset() != f.End() {
			panic(fmt.Sprintf("frame %d is %+v, want %+v", i, raw, f))
		}
		ids, rec, err := CutPut(f)
		rawIDs, rawRec, rawErr := CutRawPut(&raw)
		if ids != rawIDs || string(rec) != string(rawRec) || fmt.Sprint(err) != fmt.Sprint(rawErr) {
			panic(fmt.Sprintf("frame %d is row %+v %x, %v, want %+v %x, %v", i, rawIDs, rawRec, rawErr, ids, rec, err))
		}
	}
	for range 2 {
		if s.NextRaw(&raw) || s.Stop() != stop {
			panic(fmt.Sprintf("%+v, %+v, want %+v", raw, s.Stop(), stop))
		}
	}
}

// everyKind is a log with every kind of frame, extreme fields included.
func everyKind() []entry {
	return []entry{
		Header{Format: 1, StoreID: [16]byte{1, 2, 3, 15: 16}, ShardID: 1, Generation: 2, ObjectID: 3, WriterEpoch: math.MaxUint64, Salt: testSalt, FirstLSN: 1},
		Schema{Op: 1, Body: "a definition"},
		Schema{Op: 255},
		Put{Table: 1, Version: 1, Rowid: 1, Rec: rec(row.Value{}, row.TextValue("one"), row.IntValue(5))},
		Put{Table: math.MaxUint64, Version: math.MaxUint64, Rowid: math.MinInt64, Rec: rec()},
		Put{Table: 127, Version: 128, Rowid: math.MaxInt64, Rec: rec(row.RealValue(math.Inf(-1)), row.BlobValue("\x00\xff"))},
		Delta{Table: 1, Version: 1, Rowid: 1, Prev: 144, Columns: []DeltaColumn{{1, row.TextValue("eins")}, {math.MaxUint32, row.Value{}}}},
		Delta{Table: 1, Version: 1, Rowid: 1, Prev: 0},
		Tombstone{Table: 1, Version: 300, Rowid: -1},
		Commit{LSN: 1, WallNanos: 1700000000000000000, Records: 8,
			Participants:  []Participant{{Shard: 1, End: 4096}, {Shard: 1 << 40, End: math.MaxUint64}},
			Contributions: []Contribution{{Table: 1, Rows: 2, Sum: row.Sum{1, math.MaxUint64}}, {Table: 2, Rows: math.MinInt64}},
			OperationID:   []byte("operation"), Request: []byte("the exact request")},
		Commit{LSN: 2, WallNanos: -1, SyncedLSN: 1},
		CloseMark{LSN: 2, WallNanos: 5},
		Seal{LastLSN: 2, Digest: [32]byte{31: 9}, Records: []TableRecords{{1, 4}, {math.MaxUint64, 1}},
			Contributions: []Contribution{{Table: 1, Rows: -1, Sum: row.Sum{7, 8}}}},
		Seal{LastLSN: math.MaxUint64},
	}
}

func build(t testing.TB, salt Salt, from int64, es []entry) []byte {
	t.Helper()
	b := NewBuilder(salt, from, nil)
	for _, e := range es {
		b.add(t, e)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	es := everyKind()
	for _, from := range []int64{0, 8, 1 << 40} {
		es := es
		if from > 0 {
			es = es[1:]
		}
		file := build(t, testSalt, from, es)
		s := NewScanner(shifted{file, from}, from, from+int64(len(file)), testSalt)
		end := from
		for i, want := range es {
			f, ok := s.Next()
			if !ok {
				t.Fatalf("frame %d of %d: %+v", i, len(es), s.Stop())
			}
			if f.Offset != end || f.Offset%Align != 0 || s.Offset() != f.End() {
				t.Errorf("frame %d is at %d, the one before ends at %d", i, f.Offset, end)
			}
			end = f.End()
			have, err := decode(f, testSalt)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(have, want) {
				t.Errorf("frame %d:\nhave %+v\nwant %+v", i, have, want)
			}
			if c, ok := want.(Commit); ok && CommitSize(&c) != end-f.Offset {
				t.Errorf("commit takes %d bytes, foretold %d", end-f.Offset, CommitSize(&c))
			}
		}
		if f, ok := s.Next(); ok {
			t.Fatalf("another frame: %+v", f)
		}
		if st := s.Stop(); st.Reason != End || st.Offset != from+int64(len(file)) || st.Error() != nil {
			t.Errorf("stop %+v", st)
		}
	}
}

// shifted is a file whose bytes below off are not there.
type shifted struct {
	b   []byte
	off int64
}

func (s shifted) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.b).ReadAt(p, off-s.off)
}

func randomEntry(r *rand.Rand, b *Builder, lsn *uint64) entry {
	u := func() uint64 { return r.Uint64() >> r.IntN(64) }
	text := func(n int) string {
		p := make([]byte, r.IntN(n))
		for i := range p {
			p[i] = byte(r.IntN(4)) * 85
		}
		return string(p)
	}
	val := func() row.Value {
		return []row.Value{{}, row.IntValue(int64(u())), row.RealValue(float64(u())), row.TextValue(text(40)), row.BlobValue(text(300))}[r.IntN(5)]
	}
	contributions := func() (cs []Contribution) {
		for range r.IntN(4) {
			cs = append(cs, Contribution{u(), int64(u()), row.Sum{u(), u()}})
		}
		return cs
	}
	switch r.IntN(12) {
	case 0:
		return Schema{Op: uint8(u()), Body: text(500)}
	case 1:
		return Tombstone{u(), u(), int64(u())}
	case 2:
		d := Delta{Table: u(), Version: u(), Rowid: int64(u()), Prev: u() % uint64(b.Offset()) &^ 7}
		for o := range uint32(r.IntN(40)) {
			if r.IntN(3) == 0 {
				d.Columns = append(d.Columns, DeltaColumn{o, val()})
			}
		}
		return d
	case 3, 4, 5:
		*lsn++
		c := Commit{LSN: *lsn, WallNanos: int64(u()), SyncedLSN: u() % *lsn, Records: u(), Contributions: contributions()}
		for range r.IntN(3) {
			c.Participants = append(c.Participants, Participant{u(), u()})
		}
		if r.IntN(3) == 0 {
			c.OperationID = []byte(text(60) + "!")
			c.Request = []byte(text(200) + "!")
		}
		return c
	case 6:
		return CloseMark{*lsn, int64(u())}
	}
	vs := make([]row.Value, r.IntN(12))
	for i := range vs {
		vs[i] = val()
	}
	return Put{u(), u(), int64(u()), rec(vs...)}
}

// A log longer than many blocks, so that frames lie across their borders.
func TestRandomLog(t *testing.T) {
	r := newRand(t)
	b := NewBuilder(testSalt, 0, nil)
	var es []entry
	var lsn uint64
	b.add(t, everyKind()[0])
	es = append(es, everyKind()[0])
	for b.Len() < 6*BlockSize {
		e := randomEntry(r, b, &lsn)
		b.add(t, e)
		es = append(es, e)
	}
	file := append(b.Bytes(), make([]byte, 4096)...)
	fs, stop := scan(file, 0, testSalt)
	if stop.Reason != Tail || stop.Offset != int64(b.Len()) || stop.Error() != nil {
		t.Fatalf("stop %+v, log ends at %d", stop, b.Len())
	}
	if len(fs) != len(es) {
		t.Fatalf("%d frames of %d", len(fs), len(es))
	}
	for i, f := range fs {
		have, err := decode(f, testSalt)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(have, es[i]) {
			t.Fatalf("frame %d:\nhave %+v\nwant %+v", i, have, es[i])
		}
	}
}

func TestTruncateAndReset(t *testing.T) {
	b := NewBuilder(testSalt, 64, make([]byte, 3, 1000))
	b.add(t, Put{1, 1, 1, rec(row.IntValue(1))})
	keep := b.Len()
	want := bytes.Clone(b.Bytes())
	b.add(t, Tombstone{1, 1, 1})
	b.Truncate(keep)
	if !bytes.Equal(b.Bytes(), want) || b.Offset() != 64+int64(keep) {
		t.Fatalf("%x at %d, want %x", b.Bytes(), b.Offset(), want)
	}
	b.Reset(testSalt, 64, b.Bytes())
	b.add(t, Put{1, 1, 1, rec(row.IntValue(1))})
	if !bytes.Equal(b.Bytes(), want) {
		t.Fatalf("%x, want %x", b.Bytes(), want)
	}
}

// The builder refuses what the decoders would.
func TestBuilderRefuses(t *testing.T) {
	b := NewBuilder(testSalt, 64, nil)
	for name, err := range map[string]error{
		"salt of the header":      b.Header(&Header{Format: 1}),
		"format":                  b.Header(&Header{Format: Format + 1, Salt: testSalt}),
		"no format":               b.Header(&Header{Salt: testSalt}),
		"order of delta":          b.Delta(&Delta{Columns: []DeltaColumn{{Ordinal: 2}, {Ordinal: 2}}}),
		"delta of itself":         b.Delta(&Delta{Prev: 64}),
		"delta between frames":    b.Delta(&Delta{Prev: 7}),
		"commit 0":                b.Commit(&Commit{}),
		"commit ahead of itself":  b.Commit(&Commit{LSN: 1, SyncedLSN: 1}),
		"length of operation ids": b.Commit(&Commit{LSN: 1, OperationID: make([]byte, 65)}),
	} {
		if err == nil {
			t.Errorf("accepted: %s", name)
		}
	}
	if b.Len() != 0 {
		t.Errorf("%d bytes are left of refused frames", b.Len())
	}
}
