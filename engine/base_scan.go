package engine

import (
	"context"
	"fmt"
	"io"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// baseReader reads files of the base for a compaction, one at a time.
type baseReader struct {
	s    *Store
	ctx  context.Context
	rate *byteRate
	of   *generation
	file vfs.File
}

// open returns the reader of a file.
func (r *baseReader) open(g *generation) (io.ReaderAt, error) {
	if r.of != g {
		if err := r.close(); err != nil {
			return nil, err
		}
		file, err := opened(g.path, r.s.fs.OpenRead)
		if err != nil {
			return nil, err
		}
		r.of, r.file = g, file
	}
	return ratedReader{r.file, r.ctx, r.rate}, nil
}

func (r *baseReader) close() error {
	if r.of == nil {
		return nil
	}
	path := r.of.path
	r.of = nil
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("engine: closing %s: %w", path, err)
	}
	return nil
}

// scan calls each with all rows of a fragment, deleted ones included.
func (r *baseReader) scan(f *baseFile, x *fragment, each func(ordinal uint32, fr wal.Frame, ids wal.RowIDs, rec row.Record) error) error {
	if x.rows == 0 {
		return nil
	}
	file, err := r.open(f.generation)
	if err != nil {
		return err
	}
	sc := wal.NewScanner(file, x.start, x.start+x.bytes, f.salt)
	last := int64(0)
	for ordinal := range x.rows {
		fr, ok := sc.Next()
		if !ok {
			if stop := sc.Stop(); !stop.Clean() {
				return corruptOrRead(f.path, stop)
			}
			return &CorruptError{File: f.path, Offset: sc.Offset(), Reason: fmt.Sprintf("%d rows of table %d, of %d", ordinal, x.table, x.rows)}
		}
		ids, rec, err := wal.CutPut(fr)
		if err == nil && (TableID(ids.Table) != x.table || ordinal > 0 && ids.Rowid <= last) {
			err = damaged(fr.Offset, "row %d of table %d, in the rows of table %d behind row %d", ids.Rowid, ids.Table, x.table, last)
		}
		if err != nil {
			return corruptIn(f.path, fr.Offset, err)
		}
		last = ids.Rowid
		if err := each(uint32(ordinal), fr, ids, rec); err != nil {
			return err
		}
	}
	return nil
}

// located reports whether it is known where the rows of a file are.
func (f *baseFile) located() bool {
	for _, x := range f.fragments {
		if x.table != 0 && x.rows > 0 && x.start < 0 {
			return false
		}
	}
	return true
}

// locate notes where the fragments of a file are, by reading the file.
func (r *baseReader) locate(f *baseFile) error {
	file, err := r.open(f.generation)
	if err != nil {
		return err
	}
	sc := wal.NewScanner(file, f.generation.start, f.info.Bytes, f.salt)
	for i := range f.fragments {
		x := &f.fragments[i]
		for n := range x.rows {
			fr, ok := sc.Next()
			if !ok {
				if stop := sc.Stop(); !stop.Clean() {
					return corruptOrRead(f.path, stop)
				}
				return &CorruptError{File: f.path, Offset: sc.Offset(), Reason: fmt.Sprintf("the file ends in the rows of table %d", x.table)}
			}
			if x.table == 0 {
				continue
			}
			ids, _, err := wal.CutPut(fr)
			if err == nil && TableID(ids.Table) != x.table {
				err = damaged(fr.Offset, "row %d of table %d, in the rows of table %d", ids.Rowid, ids.Table, x.table)
			}
			if err != nil {
				return corruptIn(f.path, fr.Offset, err)
			}
			if n == 0 {
				x.start, x.bytes, x.dead = fr.Offset, 0, 0
			}
			x.bytes += fr.End() - fr.Offset
			if x.deleted != nil && x.deleted.Contains(uint32(n)) {
				x.dead += fr.End() - fr.Offset
			}
		}
	}
	return nil
}

// allSummed reports whether it is known what the live rows of a file add up to.
func (f *baseFile) allSummed() bool {
	for _, x := range f.fragments {
		if x.table != 0 && x.rows > 0 && !x.summed {
			return false
		}
	}
	return true
}

// addUp takes the sums of fragments from the footer of their file: nothing of them
// is deleted, or the catalog would have the sum.
func (r *baseReader) addUp(f *baseFile) error {
	file, err := r.open(f.generation)
	if err != nil {
		return err
	}
	_, seal, err := wal.ReadFooter(file, f.info.Bytes, f.salt)
	if err != nil {
		return corruptIn(f.path, f.info.Bytes, err)
	}
	sums := map[TableID]wal.Contribution{}
	for _, k := range seal.Contributions {
		sums[TableID(k.Table)] = k
	}
	for i := range f.fragments {
		x := &f.fragments[i]
		if x.table == 0 || x.rows == 0 || x.summed {
			continue
		}
		k, ok := sums[x.table]
		if !ok || k.Rows != x.rows || x.deleted != nil {
			return &CorruptError{File: f.path, Offset: f.info.Bytes, Reason: fmt.Sprintf("the footer has %d rows of table %d, the catalog says %d of %d", k.Rows, x.table, x.live, x.rows)}
		}
		x.sum, x.liveSum, x.summed = k.Sum, k.Sum, true
	}
	return nil
}
