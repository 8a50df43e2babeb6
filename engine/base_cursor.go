package engine

import (
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// The rows of a base file are read in their order: fragment after fragment as the
// catalog has them, and within one by row id. A row's place in its fragment, its
// ordinal, is what the deletion vector of the representation knows it by: a row that
// was changed or ended since the file was written is superseded, and no part of the
// base. What replaced it is in a later file, or nowhere.

// baseCursor follows the fragments of a base file while its rows are read.
type baseCursor struct {
	want    *catalog.BaseFile
	at      int   // position of the fragment at hand; -1 before the first
	ordinal int64 // of the next row
	last    int64 // row id of the one before
	dead    roaring.IntPeekable
}

func newBaseCursor(want *catalog.BaseFile) baseCursor { return baseCursor{want: want, at: -1} }

// row takes the next row, and reports whether it is superseded.
func (c *baseCursor) row(ids wal.RowIDs, offset int64) (dead bool, err error) {
	if c.at < 0 || c.want.Fragments[c.at].TableID != int64(ids.Table) {
		if err := c.enter(ids.Table, offset); err != nil {
			return false, err
		}
	} else if c.ordinal > 0 && ids.Rowid <= c.last {
		return false, damaged(offset, "row %d of table %d behind row %d", ids.Rowid, ids.Table, c.last)
	}
	if c.ordinal >= c.want.Fragments[c.at].Rows {
		return false, damaged(offset, "row %d of table %d in a fragment of %d rows", ids.Rowid, ids.Table, c.want.Fragments[c.at].Rows)
	}
	ordinal := c.ordinal
	c.ordinal, c.last = ordinal+1, ids.Rowid
	if c.dead == nil || !c.dead.HasNext() || int64(c.dead.PeekNext()) != ordinal {
		return false, nil
	}
	c.dead.Next()
	return true, nil
}

// enter goes on to the fragment of a table: the next one that has rows.
func (c *baseCursor) enter(table uint64, offset int64) error {
	if err := c.left(offset); err != nil {
		return err
	}
	for c.at++; c.at < len(c.want.Fragments); c.at++ {
		if f := c.want.Fragments[c.at]; f.TableID == 0 || f.Rows == 0 {
			continue
		} else if f.TableID != int64(table) {
			break
		}
		c.begin(c.at)
		return nil
	}
	c.at = -1
	return damaged(offset, "a row of table %d, where the catalog has no fragment of it", table)
}

// begin goes to the beginning of a fragment.
func (c *baseCursor) begin(at int) {
	c.at, c.ordinal, c.dead = at, 0, nil
	if d := deleted(c.want, at); d != nil {
		c.dead = d.Iterator()
	}
}

// left refuses to leave a fragment before its end.
func (c *baseCursor) left(offset int64) error {
	if c.at < 0 {
		return nil
	}
	if f := c.want.Fragments[c.at]; c.ordinal != f.Rows {
		return damaged(offset, "%d rows in a fragment of table %d, the catalog has %d", c.ordinal, f.TableID, f.Rows)
	}
	return nil
}

// skip goes over rows of the fragment at hand, up to and without an ordinal.
func (c *baseCursor) skip(to, last int64) {
	c.ordinal, c.last = to, last
	if c.dead != nil {
		c.dead.AdvanceIfNeeded(uint32(to))
	}
}

// deleted is the deletion vector of a fragment, nil when nothing of it is superseded.
func deleted(f *catalog.BaseFile, at int) *roaring.Bitmap {
	if at >= len(f.Deleted) || f.Deleted[at] == nil || f.Deleted[at].IsEmpty() {
		return nil
	}
	return f.Deleted[at]
}

// liveOf is how many rows of a fragment are not superseded, and what they add up to
// as far as the catalog has that: summed is false for a file of a store that had no
// deletion vectors yet, whose footer knows it.
func liveOf(f *catalog.BaseFile, at int) (live tally, summed bool) {
	live.rows = f.Fragments[at].Rows
	if d := deleted(f, at); d != nil {
		live.rows -= int64(d.GetCardinality())
	}
	if at < len(f.Live) && f.Live[at].Sum != nil {
		return tally{live.rows, sumOf(f.Live[at].Sum)}, true
	}
	return live, false
}

// fragmentOf is the position of a table's fragment in a file, -1 when it has none.
func fragmentOf(f *catalog.BaseFile, table TableID) int {
	return slices.IndexFunc(f.Fragments, func(x catalog.Fragment) bool { return x.TableID == int64(table) })
}

// liveIn is what a file has of a table that is not superseded, given what its footer
// says of all of it.
func liveIn(f *catalog.BaseFile, table TableID, all tally) (tally, error) {
	at := fragmentOf(f, table)
	if at < 0 {
		return tally{}, fmt.Errorf("the footer names table %d, of which the catalog has no fragment", table)
	}
	live, summed := liveOf(f, at)
	whole := deleted(f, at) == nil
	switch {
	case !summed && !whole:
		return tally{}, fmt.Errorf("the catalog has no sum of the rows of table %d that are not superseded", table)
	case !summed:
		live.sum = all.sum
	case whole && live.sum != all.sum, live.rows == 0 && live.sum != row.Sum{}:
		return tally{}, fmt.Errorf("%d rows of sum %x of table %d, the catalog says %x", all.rows, all.sum, table, live.sum)
	}
	return live, nil
}
