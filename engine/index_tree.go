package engine

import (
	"encoding/binary"
	"math"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/tree"
)

// The trees of a table. Both are copied by IsoCopy, which also marks the
// original: only the holder of the write lock may call it, and never while
// somebody else writes to the tree.
type (
	rowTree = tree.Rows

	// An entry of an index is one string: the key of the row's columns
	// (row.AppendKey of each) and its row id in a form that sorts as the row
	// id does and is read from the end (appendRowid). No key of an index is a proper prefix of another one, so
	// entries sort by (key, row id), and equal keys lie side by side.
	indexTree = tree.Keys
)

// rowidAfter is behind all row ids of a key.
const rowidAfter = "\xff"

// A row id takes as few bytes as it can, from minRowid to maxRowid of them. They
// are one big-endian number of three parts:
//
//	4 bits  how many bytes, 8 for minRowid and so on; of a negative row id 7 and
//	        downwards
//	        the low bits of the row id, as many as there is room for
//	3 bits  how many bytes more than minRowid
//
// The first part comes first so that they sort, the last so that whoever has an
// entry knows where the row id begins.
const (
	minRowid, maxRowid = 2, 9
	rowidBits          = 4 + 3 // that are not of the row id
)

func appendRowid(dst []byte, rowid int64) []byte {
	n := minRowid
	for size := uint64(rowid ^ rowid>>63); n < maxRowid && size>>(8*n-rowidBits) != 0; n++ {
	}
	class := uint64(8 + n - minRowid)
	if rowid < 0 {
		class = 15 - class
	}
	low := uint64(rowid)<<3 | uint64(n-minRowid)
	if n == maxRowid {
		dst = append(dst, byte(class<<4|uint64(rowid)>>61))
		return binary.BigEndian.AppendUint64(dst, low)
	}
	low = low&(1<<(8*n-4)-1) | class<<(8*n-4)
	for i := 8 * (n - 1); i >= 0; i -= 8 {
		dst = append(dst, byte(low>>i))
	}
	return dst
}

// splitEntry separates an index entry into key and row id.
func splitEntry(entry string) (key string, rowid int64) {
	at := entryCut(entry)
	return entry[:at], entryRowid(entry, at)
}

// entryCut returns where in an entry its row id begins. It is negative if one from
// elsewhere is too short.
func entryCut[K string | []byte](entry K) int {
	end := len(entry)
	if end == 0 {
		return -1
	}
	return end - int(entry[end-1]&7) - minRowid
}

// entryRowid returns the row id that begins there.
func entryRowid[K string | []byte](entry K, at int) int64 {
	n, first := len(entry)-at, entry[at]
	low := uint64(first & 15)
	for i := at + 1; i < len(entry); i++ {
		low = low<<8 | uint64(entry[i])
	}
	low >>= 3
	if n == maxRowid { // of which the first byte was shifted out
		low |= uint64(first&7) << 61
	} else if first < 8<<4 {
		low |= ^uint64(0) << (8*n - rowidBits)
	}
	return int64(low)
}

// keyMaker computes index entries of rows of one table. It keeps its buffers,
// so it allocates nothing of its own.
type keyMaker struct {
	def *TableDef
	dec row.Decoder
}

// append appends the entry of a row, which leads to nothing longer for a row that a
// partial index does not have; null says that a key column is NULL, or there is no
// entry, in which cases a unique index does not compare the row.
func (m *keyMaker) append(dst []byte, ix *IndexDef, rec row.Record, rowid int64) (entry []byte, null bool) {
	m.dec.Reset(rec)
	if ix.Where > 0 {
		if v := m.def.Read(&m.dec, ix.Where-1); v.Kind() != row.Int || v.Int() != 1 {
			return dst, true
		}
	}
	for _, c := range ix.Columns {
		var v row.Value
		if c.Column == m.def.RowidAlias {
			v = row.IntValue(rowid)
		} else if v = m.dec.Column(c.Column); v.IsNull() {
			v = m.def.Read(&m.dec, c.Column)
		}
		null = null || v.IsNull()
		dst = row.AppendKey(dst, v, c.Collation, c.Desc)
	}
	return appendRowid(dst, rowid), null
}

// rival returns a row other than self whose key is that of entry. it belongs
// to the tree that is asked.
func rival(it *tree.KeyIter, key string, self int64, hasSelf bool) (int64, bool) {
	for ok := it.SeekGE(key); ok; ok = it.Next() {
		k, rowid := splitEntry(it.Key())
		if k != key {
			return 0, false
		}
		if !hasSelf || rowid != self {
			return rowid, true
		}
	}
	return 0, false
}

// indexBuilder makes the tree of an index out of all rows of a table, in any
// order.
type indexBuilder struct {
	ix    *IndexDef
	at    int // position of the index in its table
	keys  keyMaker
	s     *tree.Sorter
	nulls map[string]struct{} // entries of a unique index that equal nothing
	buf   []byte
}

func newIndexBuilder(def *TableDef, ix *IndexDef, at, rows int) *indexBuilder {
	b := &indexBuilder{ix: ix, at: at, keys: keyMaker{def: def}, s: tree.NewSorter(rows)}
	if ix.Unique {
		b.nulls = make(map[string]struct{})
	}
	return b
}

func (b *indexBuilder) add(rowid int64, rec row.Record) {
	var null bool
	if b.buf, null = b.keys.append(b.buf[:0], b.ix, rec, rowid); len(b.buf) == 0 {
		return
	}
	b.s.Add(b.buf)
	if null && b.ix.Unique {
		b.nulls[string(b.buf)] = struct{}{}
	}
}

// build returns the tree. For a unique index it reports the first two rows of
// an equal key, the later row first.
func (b *indexBuilder) build() (built *indexTree, twins [2]int64, dup bool) {
	var check func(before, entry string) bool
	if b.ix.Unique {
		check = func(before, entry string) bool { return !b.areTwins(before, entry) }
	}
	built, equal, ok := b.s.Keys(check)
	if !ok {
		_, before := splitEntry(equal[0])
		_, rowid := splitEntry(equal[1])
		twins = [2]int64{max(rowid, before), min(rowid, before)}
	}
	return built, twins, !ok
}

// areTwins reports whether two entries that follow each other are of rows that are
// equal in a unique index.
func (b *indexBuilder) areTwins(before, entry string) bool {
	last, _ := splitEntry(before)
	key, _ := splitEntry(entry)
	if key != last {
		return false
	}
	_, null := b.nulls[entry]
	return !null
}

// buildIndexes makes the trees of some indexes, named by position, out of the
// rows. each, unless nil, sees every row once; twins makes the error of two rows
// that are equal in a unique index.
//
// Rows in memory are read once per index, so that there is one sorter at a time.
// Those of a keys table are read from files, once for all.
func (t *Table) buildIndexes(at []int, each func(int64, row.Record), twins func(*IndexDef, [2]int64) error) error {
	some := 1
	if t.src != nil {
		some = len(at)
	}
	for first := true; len(at) > 0 || first && each != nil; first = false {
		builders := make([]*indexBuilder, min(some, len(at)))
		for i := range builders {
			builders[i] = newIndexBuilder(t.def, t.def.Indexes[at[i]], at[i], t.rows.Len())
		}
		err := t.each(func(rowid int64, rec row.Record) {
			if first && each != nil {
				each(rowid, rec)
			}
			for _, b := range builders {
				b.add(rowid, rec)
			}
		})
		if err != nil {
			return err
		}
		for _, b := range builders {
			tree, rows, dup := b.build()
			if dup {
				return twins(b.ix, rows)
			}
			t.indexes[b.at] = tree
		}
		at = at[len(builders):]
	}
	return nil
}

// each calls f with every row in the order of their ids.
func (t *Table) each(f func(rowid int64, rec row.Record)) error {
	t, err := t.whole()
	if err != nil {
		return err
	}
	if t.src == nil {
		t.rows.Ascend(math.MinInt64, func(rowid int64, rec row.Record) bool {
			f(rowid, rec)
			return true
		})
		return nil
	}
	s := t.Scan(math.MinInt64, math.MaxInt64, false)
	buf := make([]Entry, eachBlock)
	for {
		n, err := s.Next(buf)
		if err != nil {
			return err
		}
		for _, e := range buf[:n] {
			f(e.Rowid, e.Rec)
		}
		for _, ended := range []func() error{t.src.objects.ended, t.src.ended} {
			if ended == nil {
				continue
			}
			if err := ended(); err != nil {
				return err
			}
		}
		if n < len(buf) {
			return nil
		}
	}
}

// eachBlock is how many rows each has in memory at a time.
const eachBlock = 128

// allIndexes are the positions of all indexes.
func (t *Table) allIndexes() []int {
	all := make([]int, len(t.indexes))
	for i := range all {
		all[i] = i
	}
	return all
}
