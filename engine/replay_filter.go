package engine

import (
	"math"
	"math/rand/v2"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// rowFilter knows of most rows that were not added that they were not. It is a
// table of bits with one for a row, by a hash that nobody can choose row ids for.
type rowFilter struct {
	bits  []uint64
	shift int
	mul   uint64
	count int
}

// A filter is made with room for filterRoom times its rows. With a row in
// filterBits bits it is full: one row in so many passes for another one then.
const (
	filterRoom = 2
	filterBits = 8
)

func newRowFilter(rows int) *rowFilter {
	log := 10
	for 1<<log < rows*filterRoom*filterBits {
		log++
	}
	return &rowFilter{bits: make([]uint64, 1<<log/64), shift: 64 - log, mul: rand.Uint64() | 1}
}

func (f *rowFilter) at(rowid int64) (word, bit uint64) {
	n := uint64(rowid) * f.mul >> f.shift
	return n / 64, 1 << (n % 64)
}

func (f *rowFilter) add(rowid int64) {
	word, bit := f.at(rowid)
	f.bits[word] |= bit
	f.count++
}

// may reports whether a row may have been added.
func (f *rowFilter) may(rowid int64) bool {
	word, bit := f.at(rowid)
	return f.bits[word]&bit != 0
}

func (f *rowFilter) full() bool { return f.count*filterBits > len(f.bits)*64 }

// isNew reports that a row is in no place. Until there have been many questions it
// does not know.
func (r *replayRows) isNew(rowid int64) bool {
	if r.seen == nil || r.seen.full() {
		rows := r.tree.Len() + len(r.late)
		if r.asked++; r.seen == nil && r.asked < rows/8 {
			return false
		}
		f := newRowFilter(rows)
		r.tree.Ascend(math.MinInt64, func(rowid int64, _ row.Record) bool {
			f.add(rowid)
			return true
		})
		for i := range r.late {
			f.add(r.late[i].Rowid)
		}
		r.seen = f
	}
	return !r.seen.may(rowid)
}
