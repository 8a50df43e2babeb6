package engine

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// runBytes is how much memory the rows of fresh fragments may take in all indexes
// together before the largest of them is written to a run; a variable for tests.
var runBytes = 64 << 20

// runEntrySize is what an entry takes beside its key.
const runEntrySize = 56

// indexEntry is an entry of an index while segments are written.
type indexEntry struct {
	// head orders entries as far as it goes: of a primary index it is the row id
	// (rowidHead), of another one the first bytes of the key.
	head uint64
	key  []byte // of a secondary index, with the row id; else nil
	frag uint32 // number of the fragment in the plan
	ord  uint32
	size uint32 // of the frame, of a primary index
	off  int64  // of the frame, of a primary index
	null bool
}

// rowidHead is a row id as a number that is ordered as row ids are.
func rowidHead(rowid int64) uint64 { return uint64(rowid) ^ 1<<63 }

func headRowid(head uint64) int64 { return int64(head ^ 1<<63) }

// keyHead is the beginning of a key.
func keyHead(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// compareEntries orders entries of one index.
func compareEntries(a, b *indexEntry) int {
	if c := cmp.Compare(a.head, b.head); c != 0 {
		return c
	}
	return bytes.Compare(a.key, b.key)
}

// entrySource gives entries of an index in their order. An entry is good until the next
// call.
type entrySource interface {
	next() (*indexEntry, error) // nil at the end
	close() error
}

// runs are the entries of one index that were gathered: in memory, and in files.
type runs struct {
	entries []indexEntry
	arena   []byte // of keys; entries have parts of this and of earlier ones
	bytes   int
	sorted  bool // the entries are in order so far
	files   []*segmentFile
}

// sortBreath is how many comparisons take 0.1 ms, about.
const sortBreath = 4096

// arenaSize is how much memory for keys is taken at once.
const arenaSize = 256 << 10

// add takes an entry, whose key is copied. It returns what it takes.
func (r *runs) add(e indexEntry) int {
	if len(e.key) > 0 {
		if cap(r.arena)-len(r.arena) < len(e.key) {
			r.arena = make([]byte, 0, max(arenaSize, len(e.key)))
		}
		at := len(r.arena)
		r.arena = append(r.arena, e.key...)
		e.key = r.arena[at:len(r.arena):len(r.arena)]
		e.head = keyHead(e.key)
	}
	if n := len(r.entries); n == 0 {
		r.sorted = true
	} else if r.sorted {
		r.sorted = compareEntries(&r.entries[n-1], &e) < 0
	}
	r.entries = append(r.entries, e)
	size := runEntrySize + len(e.key)
	r.bytes += size
	return size
}

// sort puts the entries in memory in order.
func (r *runs) sort() {
	if !r.sorted {
		n := 0
		slices.SortFunc(r.entries, func(a, b indexEntry) int {
			if n++; n%sortBreath == 0 {
				breathe()
			}
			return compareEntries(&a, &b)
		})
		r.sorted = true
	}
}

// forget lets go of the entries in memory.
func (r *runs) forget() { r.entries, r.arena, r.bytes = nil, nil, 0 }

// memoryRun gives the entries in memory.
type memoryRun struct{ entries []indexEntry }

func (m *memoryRun) next() (*indexEntry, error) {
	if len(m.entries) == 0 {
		return nil, nil
	}
	e := &m.entries[0]
	m.entries = m.entries[1:]
	return e, nil
}

func (m *memoryRun) close() error { return nil }

// merger gives the entries of several sources in their order.
type merger struct {
	sources []entrySource
	heads   []*indexEntry // of each source; nil at its end
	last    int           // source of the entry that was given last, -1 for none
}

func newMerger(sources []entrySource) (*merger, error) {
	m := &merger{sources: sources, heads: make([]*indexEntry, len(sources)), last: -1}
	for i, s := range sources {
		var err error
		if m.heads[i], err = s.next(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *merger) next() (*indexEntry, error) {
	if m.last >= 0 {
		var err error
		if m.heads[m.last], err = m.sources[m.last].next(); err != nil {
			return nil, err
		}
	}
	m.last = -1
	for i, e := range m.heads {
		if e != nil && (m.last < 0 || compareEntries(e, m.heads[m.last]) < 0) {
			m.last = i
		}
	}
	if m.last < 0 {
		return nil, nil
	}
	return m.heads[m.last], nil
}
