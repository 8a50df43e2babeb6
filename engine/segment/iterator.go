package segment

import (
	"fmt"
	"math"
)

const minRow = math.MinInt64

// PrimaryIter goes over the entries of a primary segment in the order of row ids.
type PrimaryIter struct {
	r     *Reader
	from  int64
	block int    // the next one
	buf   []byte // of the one being read
	body  []byte // its payload
	at    int    // of the next entry in it
	first bool   // that entry is the first
	left  uint64 // entries in it
	state primaryState
	e     PrimaryEntry
	valid bool
	err   error
}

// Primary returns an iterator that stands before the first entry whose row id is from or
// greater.
func (r *Reader) Primary(from int64) *PrimaryIter {
	it := &PrimaryIter{r: r, from: from}
	if r.header.Kind != Primary {
		it.err = fmt.Errorf("segment: primary entries of a %v segment", r.header.Kind)
		return it
	}
	it.block = r.dir.findRow(from, 0)
	return it
}

// Next goes to the next entry; false at the end and after an error.
func (it *PrimaryIter) Next() bool {
	for it.next() {
		if it.e.Rowid >= it.from {
			return true
		}
	}
	return false
}

// Entry returns the entry that Next or SeekTo went to.
func (it *PrimaryIter) Entry() PrimaryEntry { return it.e }

// Err returns what ended the iteration early.
func (it *PrimaryIter) Err() error { return it.err }

// SeekTo goes to the first entry whose row id is rowid or greater, unless the iterator is
// there or behind it; false at the end and after an error. Blocks between are not read.
func (it *PrimaryIter) SeekTo(rowid int64) bool {
	if it.valid && it.e.Rowid >= rowid {
		return true
	}
	if it.err == nil && it.block < len(it.r.dir.blocks) && it.r.dir.blocks[it.block].row <= rowid {
		it.block, it.left = it.r.dir.findRow(rowid, it.block), 0
	}
	it.from = max(it.from, rowid)
	return it.Next()
}

// next decodes the next entry.
func (it *PrimaryIter) next() bool {
	if it.left == 0 && !it.load() {
		it.valid = false
		return false
	}
	at, ok := it.state.decode(it.body, it.at, it.first, uint32(len(it.r.header.Fragments)), &it.e)
	it.first = false
	it.left--
	if !ok || it.left == 0 && !it.ends(at) {
		it.valid, it.left = false, 0
		it.err = it.r.corrupt(it.block-1, it.at, "impossible entry")
		return false
	}
	it.at, it.valid = at, true
	return true
}

// ends reports whether the block ends with the entry before at, and where it should.
func (it *PrimaryIter) ends(at int) bool {
	return at == len(it.body) && (it.block == len(it.r.dir.blocks) || it.e.Rowid < it.r.dir.blocks[it.block].row)
}

// load reads the next block.
func (it *PrimaryIter) load() bool {
	if it.err != nil || it.block >= len(it.r.dir.blocks) {
		return false
	}
	if it.buf, it.body, it.err = it.r.read(it.block, it.buf); it.err != nil {
		return false
	}
	x := &it.r.dir.blocks[it.block]
	row, at := varint(it.body, 0)
	if at > len(it.body) || row != x.row {
		it.err = it.r.corrupt(it.block, 0, "another first row than in the directory")
		return false
	}
	it.block++
	it.at, it.first, it.left, it.state = at, true, x.entries, primaryStart(row)
	return true
}

// SecondaryIter goes over the entries of a secondary segment in the order of keys.
type SecondaryIter struct {
	r     *Reader
	from  string
	block int    // the next one
	buf   []byte // of the one being read
	b     secondaryBlock
	at    int  // of the next entry in it
	valid bool // the one before is where Next or SeekTo went
	err   error
}

// Secondary returns an iterator that stands before the first entry.
func (r *Reader) Secondary() *SecondaryIter { return r.SecondaryFrom("") }

// SecondaryFrom returns an iterator that stands before the first entry whose key is from
// or greater.
func (r *Reader) SecondaryFrom(from string) *SecondaryIter {
	it := &SecondaryIter{r: r, from: from}
	if r.header.Kind != Secondary {
		it.err = fmt.Errorf("segment: secondary entries of a %v segment", r.header.Kind)
		return it
	}
	it.block = r.dir.findKey(from, 0)
	return it
}

// Next goes to the next entry; false at the end and after an error.
func (it *SecondaryIter) Next() bool {
	for {
		for it.at < len(it.b.entries) {
			it.at++
			if it.from == "" || it.b.key(it.at-1) >= it.from {
				it.from = "" // all that follow are greater
				it.valid = true
				return true
			}
		}
		if it.err != nil || it.block >= len(it.r.dir.blocks) || !it.load(it.block) {
			it.valid, it.at, it.b.entries = false, 0, it.b.entries[:0]
			return false
		}
	}
}

// Entry returns the entry that Next or SeekTo went to.
func (it *SecondaryIter) Entry() SecondaryEntry {
	if !it.valid {
		return SecondaryEntry{}
	}
	return it.b.entry(it.at - 1)
}

// Err returns what ended the iteration early.
func (it *SecondaryIter) Err() error { return it.err }

// SeekTo goes to the first entry whose key is key or greater, unless the iterator is there
// or behind it; false at the end and after an error. Blocks between are not read.
func (it *SecondaryIter) SeekTo(key string) bool {
	if it.valid && it.b.key(it.at-1) >= key {
		return true
	}
	if it.err == nil && it.block < len(it.r.dir.blocks) && it.r.dir.seps[it.block] <= key {
		it.block = it.r.dir.findKey(key, it.block)
		it.at, it.b.entries = 0, it.b.entries[:0]
	}
	it.from = max(it.from, key)
	return it.Next()
}

// load reads a block.
func (it *SecondaryIter) load(i int) bool {
	if it.decode(i) {
		it.b.keep()
		return true
	}
	it.b.entries = it.b.entries[:0]
	return false
}

// nextBlock decodes the next block, of which there are only bytes then: the other methods
// are of no use afterwards.
func (it *SecondaryIter) nextBlock() bool {
	return it.err == nil && it.block < len(it.r.dir.blocks) && it.decode(it.block)
}

// decode reads a block and decodes it.
func (it *SecondaryIter) decode(i int) bool {
	it.at, it.b.entries = 0, it.b.entries[:0]
	var body []byte
	if it.buf, body, it.err = it.r.read(i, it.buf); it.err != nil {
		return false
	}
	d := &it.r.dir
	if bad := it.b.decode(body, d.blocks[i].entries, uint32(len(it.r.header.Fragments))); bad >= 0 {
		it.err = it.r.corrupt(i, bad, "impossible entry")
	} else if !hasPrefix(it.b.bytes(0), d.seps[i]) {
		it.err = it.r.corrupt(i, 0, "another first key than in the directory")
	} else if i+1 < len(d.seps) && !separates(it.b.bytes(len(it.b.entries)-1), d.seps[i+1]) {
		it.err = it.r.corrupt(i, 0, "the last key is not the one before the next block's")
	}
	if it.err != nil {
		return false
	}
	it.block = i + 1
	return true
}

// hasPrefix reports whether a key begins with sep.
func hasPrefix(key []byte, sep string) bool {
	return len(key) >= len(sep) && string(key[:len(sep)]) == sep
}

// separates reports whether sep is greater than a key by its last byte alone.
func separates(key []byte, sep string) bool {
	n := len(sep) - 1
	return hasPrefix(key, sep[:n]) && (len(key) == n || key[n] < sep[n])
}
