package wal

import (
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Building and decoding rows works in the memory it is given.
func TestNoAllocations(t *testing.T) {
	b := NewBuilder(testSalt, 4096, make([]byte, 0, 4096))
	b.add(t, Put{1, 1, 1, benchRec})
	fs := Frame{KindPut, 4096, string(b.Bytes()[prefix+1:][:len(benchRec)+3])}
	c := &Commit{LSN: 1, Participants: []Participant{{1, 1}}, Contributions: []Contribution{{1, 1, row.Sum{}}}}
	d := &Delta{Table: 1, Version: 1, Rowid: 1, Prev: 88, Columns: []DeltaColumn{{1, row.TextValue("a")}}}
	for name, f := range map[string]func() error{
		"Put":       func() error { return b.Put(1, 1, 1, benchRec) },
		"Tombstone": func() error { return b.Tombstone(1, 1, 1) },
		"Delta":     func() error { return b.Delta(d) },
		"Commit":    func() error { return b.Commit(c) },
		"DecodePut": func() error { _, err := DecodePut(fs); return err },
	} {
		n := testing.AllocsPerRun(100, func() {
			b.Truncate(0)
			if err := f(); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
