package engine

import (
	"errors"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A base begins with files of the commit that it is the state of, and has none of a later
// one.
func TestBaseIsOfItsCommit(t *testing.T) {
	for _, c := range []struct {
		files []int64 // their commits
		lsn   int64
		ok    bool
	}{
		{nil, 0, true}, {nil, 7, false}, {[]int64{7}, 7, true}, {[]int64{7, 7, 5, 3}, 7, true},
		{[]int64{6}, 7, false}, {[]int64{8}, 7, false}, {[]int64{6, 7}, 7, false}, {[]int64{7, 8}, 7, false}, {[]int64{1}, 0, false},
	} {
		var files []catalog.BaseFile
		for _, lsn := range c.files {
			files = append(files, catalog.BaseFile{LSN: lsn})
		}
		var bad *CorruptError
		if err := baseIsOf(files, c.lsn); c.ok != (err == nil) || !c.ok && !errors.As(err, &bad) {
			t.Errorf("files of %v, base of %d: %v", c.files, c.lsn, err)
		}
	}
}

// A fragment has exactly as many rows as the catalog says, whatever its footer says.
func TestBaseCursorCounts(t *testing.T) {
	file := catalog.BaseFile{Fragments: []catalog.Fragment{{Rows: 1}, {TableID: 5, Rows: 2}, {TableID: 6, Rows: 0}, {TableID: 7, Rows: 1}}}
	for _, c := range []struct {
		rows []wal.RowIDs
		ok   bool
	}{
		{[]wal.RowIDs{{Table: 5, Rowid: 1}, {Table: 5, Rowid: 2}, {Table: 7, Rowid: 1}}, true},
		{[]wal.RowIDs{{Table: 5, Rowid: 1}, {Table: 5, Rowid: 2}, {Table: 5, Rowid: 3}}, false},
		{[]wal.RowIDs{{Table: 5, Rowid: 1}, {Table: 7, Rowid: 1}}, false},
		{[]wal.RowIDs{{Table: 5, Rowid: 2}, {Table: 5, Rowid: 1}}, false},
		{[]wal.RowIDs{{Table: 6, Rowid: 1}}, false},
		{[]wal.RowIDs{{Table: 5, Rowid: 1}, {Table: 5, Rowid: 2}, {Table: 7, Rowid: 1}, {Table: 7, Rowid: 2}}, false},
	} {
		cursor := newBaseCursor(&file)
		var err error
		for i := range c.rows {
			if err == nil {
				_, err = cursor.row(c.rows[i], int64(i))
			}
		}
		refused := err != nil // the last one is refused, not the end of the fragment
		if err == nil {
			err = cursor.left(0)
		}
		if c.ok != (err == nil) || refused == c.ok {
			t.Errorf("rows %v: %v", c.rows, err)
		}
	}
}

// What is left of a fragment has the sum that the catalog says: the footer knows it of
// one that is whole alone.
func TestBaseLiveSums(t *testing.T) {
	all := tally{3, row.Sum{9}}
	some := sumBytes(row.Sum{4})
	for what, c := range map[string]struct {
		deleted *roaring.Bitmap
		live    []catalog.FragmentState
		want    tally
		ok      bool
	}{
		"whole, of a store without vectors":         {nil, nil, all, true},
		"whole, and known":                          {nil, []catalog.FragmentState{{Rows: 3, Sum: sumBytes(all.sum)}}, all, true},
		"whole, another sum":                        {nil, []catalog.FragmentState{{Rows: 3, Sum: some}}, tally{}, false},
		"two left":                                  {roaring.BitmapOf(1), []catalog.FragmentState{{Rows: 2, Sum: some}}, tally{2, row.Sum{4}}, true},
		"two left, of an unknown sum":               {roaring.BitmapOf(1), []catalog.FragmentState{{Rows: 2}}, tally{}, false},
		"two left, of which nothing is known":       {roaring.BitmapOf(1), nil, tally{}, false},
		"nothing left":                              {roaring.BitmapOf(0, 1, 2), []catalog.FragmentState{{Sum: sumBytes(row.Sum{})}}, tally{}, true},
		"nothing left, that adds up to something":   {roaring.BitmapOf(0, 1, 2), []catalog.FragmentState{{Sum: some}}, tally{}, false},
		"an empty vector, which is as good as none": {roaring.New(), []catalog.FragmentState{{Rows: 3, Sum: some}}, tally{}, false},
	} {
		f := catalog.BaseFile{Fragments: []catalog.Fragment{{TableID: 5, Rows: 3}}, Deleted: []*roaring.Bitmap{c.deleted}, Live: c.live}
		got, err := liveIn(&f, 5, all)
		if c.ok != (err == nil) || c.ok && got != c.want {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
		if _, err := liveIn(&f, 6, all); err == nil {
			t.Errorf("%s: a table without a fragment", what)
		}
	}
}
