package catchup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// Segment is a part of an index: the file it is in, and the fragments of the
// base whose rows it holds; nil: nobody knows which.
type Segment struct {
	Object    int64
	Fragments *roaring64.Bitmap
}

// Segments are those of every index, by index id. An index that exists has an
// entry, be it empty.
type Segments map[int64][]Segment

// Positions are the positions of indexes: by index id, by shard id. An index
// that is known to hold nothing has no entry, and zero is the same as none.
type Positions map[int64]map[int64]uint64

// Progress is, by shard id, the newest generation whose rows are in the base. A
// shard of which nothing was compacted has no entry.
type Progress map[int64]uint64

// Feature is the bit of the reader and of the writer features of an index state
// in which positions are maintained.
const Feature = 128

// ErrHalfSet: only one of two feature words has Feature. Whoever went by either
// of them would take positions for something that they are not.
var ErrHalfSet = errors.New("positions of indexes are maintained for readers or for writers only")

// Maintained reports whether positions are maintained. Where they are not,
// nothing is derived and nothing retired.
func Maintained(reader, writer int64) (bool, error) {
	if (reader^writer)&Feature != 0 {
		return false, fmt.Errorf("features %d of readers and %d of writers: %w", reader, writer, ErrHalfSet)
	}
	return reader&Feature != 0, nil
}

// Equal reports whether two say the same: such positions are not stored
// again.
func Equal(a, b Positions) bool {
	return !exceeds(a, b) && !exceeds(b, a)
}

// exceeds reports whether any position of a is higher than that of b.
func exceeds(a, b Positions) bool {
	for index, shards := range a {
		for shard, generation := range shards {
			if generation > b[index][shard] {
				return true
			}
		}
	}
	return false
}

// Withdraw returns the positions without those of some indexes: what changes
// segments after positions were derived ends with it.
func Withdraw(p Positions, indexes ...int64) Positions {
	left := make(Positions, len(p))
	for index, shards := range p {
		if !slices.Contains(indexes, index) {
			left[index] = maps.Clone(shards)
		}
	}
	return left
}

// Loss is a position that a commit withdrew (To is 0) or lowered.
type Loss struct {
	Index, Shard int64
	From, To     uint64
}

// Lost returns what was lost from before to after, by index and shard. It is
// what to look at first when generations are no longer retired.
func Lost(before, after Positions) []Loss {
	var lost []Loss
	for index, shards := range before {
		for shard, from := range shards {
			if to := after[index][shard]; to < from {
				lost = append(lost, Loss{index, shard, from, to})
			}
		}
	}
	slices.SortFunc(lost, func(a, b Loss) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Shard, b.Shard))
	})
	return lost
}
