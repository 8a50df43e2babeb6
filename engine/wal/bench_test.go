package wal

import (
	"bytes"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

var benchRec = rec(row.Value{}, row.IntValue(123456), row.TextValue("Harbour Lights"), row.RealValue(49.47),
	row.IntValue(1), row.IntValue(1<<33), row.TextValue("2024-05-17 10:00:00"))

// benchLog is a log of rows with a commit after every tenth.
func benchLog(b *testing.B, size int) []byte {
	w := NewBuilder(testSalt, 0, make([]byte, 0, size+4096))
	for i := 1; w.Len() < size; i++ {
		w.add(b, Put{1, 1, int64(i), benchRec})
		if i%10 == 0 {
			w.add(b, Commit{LSN: uint64(i / 10), Contributions: []Contribution{{Table: 1, Rows: 10}}, Participants: []Participant{{1, 1}}})
		}
	}
	return w.Bytes()
}

func BenchmarkPut(b *testing.B) {
	b.ReportAllocs()
	w := NewBuilder(testSalt, 0, make([]byte, 0, 1<<20))
	for b.Loop() {
		if w.Len() > 1<<19 {
			w.Truncate(0)
		}
		if err := w.Put(7, 120, 1234567, benchRec); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(FrameSize(len(benchRec) + 6))
}

func BenchmarkCommit(b *testing.B) {
	b.ReportAllocs()
	w := NewBuilder(testSalt, 0, make([]byte, 0, 1<<20))
	c := &Commit{LSN: 5000, WallNanos: 1, SyncedLSN: 4999, Records: 1, Participants: []Participant{{1, 1}}, Contributions: []Contribution{{1, 1, row.Sum{1, 2}}}}
	for b.Loop() {
		if w.Len() > 1<<19 {
			w.Truncate(0)
		}
		c.Participants[0].End = uint64(w.Offset() + CommitSize(c))
		if err := w.Commit(c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	file := benchLog(b, 16<<20)
	b.ReportAllocs()
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		s := NewScanner(bytes.NewReader(file), 0, int64(len(file)), testSalt)
		for _, ok := s.Next(); ok; _, ok = s.Next() {
		}
		if s.Stop().Reason != End {
			b.Fatal(s.Stop())
		}
	}
}

func BenchmarkScanAndDecode(b *testing.B) {
	file := benchLog(b, 16<<20)
	b.ReportAllocs()
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		s := NewScanner(bytes.NewReader(file), 0, int64(len(file)), testSalt)
		for f, ok := s.Next(); ok; f, ok = s.Next() {
			if f.Kind == KindPut {
				if _, err := DecodePut(f); err != nil {
					b.Fatal(err)
				}
			} else if _, err := DecodeCommit(f, testSalt); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkFindCommits(b *testing.B) {
	w := NewBuilder(testSalt, 0, make([]byte, 0, 16<<20+4096))
	for i := 1; w.Len() < 16<<20; i++ {
		w.add(b, Put{1, 1, int64(i), benchRec})
	}
	b.ReportAllocs()
	b.SetBytes(int64(w.Len()))
	for b.Loop() {
		for c := range FindCommits(bytes.NewReader(w.Bytes()), 0, int64(w.Len()), testSalt) {
			b.Fatal(c)
		}
	}
}
