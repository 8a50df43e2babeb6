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
	// (row.AppendKey of each) and 8 bytes of its row id that sort as the row
	// id does. No key of an index is a proper prefix of another one, so
	// entries sort by (key, row id), and equal keys lie side by side.
	indexTree = tree.Keys
)

const rowidSize = 8

// rowidAfter is behind all row ids of a key.
const rowidAfter = "\xff\xff\xff\xff\xff\xff\xff\xff\xff"

func appendRowid(dst []byte, rowid int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(rowid)^1<<63)
}

// splitEntry separates an index entry into key and row id.
func splitEntry(entry string) (key string, rowid int64) {
	n := len(entry) - rowidSize
	var id uint64
	for i := n; i < len(entry); i++ {
		id = id<<8 | uint64(entry[i])
	}
	return entry[:n], int64(id ^ 1<<63)
}

// keyMaker computes index entries of rows of one table. It keeps its buffers,
// so it allocates nothing of its own.
type keyMaker struct {
	alias int // ordinal of the column that is the row id, or -1
	dec   row.Decoder
}

// append appends the entry of a row; null says that a key column is NULL, in
// which case a unique index does not compare the row.
func (m *keyMaker) append(dst []byte, ix *IndexDef, rec row.Record, rowid int64) (entry []byte, null bool) {
	m.dec.Reset(rec)
	for _, c := range ix.Columns {
		var v row.Value
		if c.Column == m.alias {
			v = row.IntValue(rowid)
		} else {
			v = m.dec.Column(c.Column)
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

// buildIndex makes the tree of an index over rows. For a unique index it
// reports the first two rows of an equal key, the later row first.
func buildIndex(def *TableDef, ix *IndexDef, rows *rowTree) (built *indexTree, twins [2]int64, dup bool) {
	m := keyMaker{alias: def.RowidAlias}
	s := tree.NewSorter(rows.Len())
	nulls := make(map[string]struct{})
	var buf []byte
	rows.Ascend(math.MinInt64, func(rowid int64, rec row.Record) bool {
		var null bool
		buf, null = m.append(buf[:0], ix, rec, rowid)
		s.Add(buf)
		if ix.Unique && null {
			nulls[string(buf)] = struct{}{}
		}
		return true
	})
	var check func(before, entry string) bool
	if ix.Unique {
		check = func(before, entry string) bool {
			last, lastRowid := splitEntry(before)
			key, rowid := splitEntry(entry)
			if key != last {
				return true
			}
			if _, null := nulls[entry]; null {
				return true
			}
			twins = [2]int64{max(rowid, lastRowid), min(rowid, lastRowid)}
			return false
		}
	}
	built, ok := s.Keys(check)
	return built, twins, !ok
}
