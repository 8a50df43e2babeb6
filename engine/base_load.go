package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A replay begins with the base, if the head has one: its rows come before all
// commits, and the log goes on behind the commit that it is the state of.
//
// The files may have been written by several compactions. The first one begins with
// the schema, of which all rows that are not superseded are; that of another file is of
// no interest any more. A row is in one place that is not superseded. So the order in
// which the files are read does not matter, but for speed: rows that come in the order
// of their ids go to the tree at once, and most of them are in the oldest files.

// openBase opens the files of the base and checks their headers.
func (r *recovery) openBase(state *catalog.State) error {
	s := r.s
	if err := baseIsOf(state.Base, state.BaseLSN); err != nil {
		return err
	}
	for _, c := range state.Base {
		f := newBaseLog(c)
		s.base = append(s.base, f.known)
		if err := s.open(f.generation, s.fs.OpenRead); err != nil {
			return err
		}
		r.base = append(r.base, f)
		s.objects.addSealed(f.generation) // the handle is closed when the open ends
	}
	r.from = LSN(state.BaseLSN)
	return nil
}

// baseIsOf refuses files that do not begin with those of the commit that the base is
// the state of.
func baseIsOf(files []catalog.BaseFile, lsn int64) error {
	if len(files) == 0 && lsn == 0 {
		return nil
	}
	if len(files) == 0 || files[0].LSN != lsn || slices.ContainsFunc(files, func(f catalog.BaseFile) bool { return f.LSN > lsn }) {
		return &CorruptError{File: catalog.FileName, Reason: fmt.Sprintf("the base is of commit %d, and does not begin with files of it", lsn)}
	}
	return nil
}

// baseLog is a base file during recovery.
type baseLog struct {
	logFile
	known  *baseFile // what the store knows of it
	want   catalog.BaseFile
	cursor baseCursor
	part   *baseFragment // that cursor is in, when the base is loaded with segments
	partAt int           // its position, as the cursor has it
	schema int64         // schema frames
}

func newBaseLog(c catalog.BaseFile) *baseLog {
	g := newBaseGeneration(c.ObjectID, c.Path)
	g.info.State, g.info.Bytes, g.info.LastLSN = catalog.GenerationSealed, c.ByteExtent, LSN(c.LSN)
	l := &baseLog{logFile: logFile{generation: g}, known: newBaseFile(&c, g), want: c}
	l.cursor = newBaseCursor(&l.want)
	return l
}

// loadBase replays the base.
func (r *recovery) loadBase() error {
	if len(r.base) == 0 {
		return nil
	}
	p := r.replay
	p.pos = nil // no delta refers to a base's records, and no two are of one row
	if err := r.baseSchema(r.base[0]); err != nil {
		return err
	}
	if err := r.loadSegments(); err != nil {
		return err
	}
	if err := r.baseRows(); err != nil {
		return err
	}
	p.lsn, p.pos = r.from, new(positions)
	for _, t := range p.tables {
		t.rows.settle()
		t.tracks = t.segs != nil
	}
	r.last = r.from
	for _, l := range r.shards {
		l.cut = max(l.cut, r.from)
	}
	r.claim(r.from)
	return r.compareHead()
}

// oldestFirst returns base files in the order in which they were written.
func oldestFirst(files []*baseLog) []*baseLog {
	return slices.SortedStableFunc(slices.Values(files), func(a, b *baseLog) int { return cmp.Compare(a.want.LSN, b.want.LSN) })
}

// baseSchema reads the schema that the base begins with.
func (r *recovery) baseSchema(f *baseLog) error {
	var schema baseSchema
	sc := wal.NewScanner(f.file, f.start, f.allocated, f.salt)
	for !schema.done() {
		fr, ok := sc.Next()
		if !ok {
			return f.stopped(sc)
		}
		if fr.Kind != wal.KindSchema {
			return corruptIn(f.path, fr.Offset, damaged(fr.Offset, "a %s before the end of the schema", fr.Kind))
		}
		m, err := wal.DecodeSchema(fr)
		if err != nil {
			return corruptIn(f.path, fr.Offset, err)
		}
		if err := schema.take(m); err != nil {
			return corruptIn(f.path, fr.Offset, schemaDamage(fr.Offset, err))
		}
	}
	r.replay.begin(schema.schema())
	return nil
}

// stopped is the error of a base file that ends before its footer.
func (f *baseLog) stopped(sc *wal.Scanner) error {
	f.stop = sc.Stop()
	if f.stop.Clean() {
		return &CorruptError{File: f.path, Offset: f.stop.Offset, Reason: "no footer in a file of the base"}
	}
	return corruptOrRead(f.path, f.stop)
}

// passed notes where the rows of the fragment at hand are.
func (f *baseLog) passed(offset, end int64, dead bool) {
	x := &f.known.fragments[f.cursor.at]
	if x.start < 0 {
		x.start = offset
	}
	x.bytes = end - x.start
	if dead {
		x.dead += end - offset
	}
}

// over goes on behind rows that came from a primary segment.
func (f *baseLog) over(x *baseFragment) error {
	if f.cursor.at != x.at {
		if err := f.cursor.enter(uint64(f.want.Fragments[x.at].TableID), x.first.Offset); err != nil {
			return err
		}
	}
	if f.cursor.at != x.at || f.cursor.ordinal != int64(x.first.Ordinal) {
		return damaged(x.first.Offset, "row %d of table %d, where the index segments have row %d", f.cursor.ordinal, f.want.Fragments[x.at].TableID, x.first.Ordinal)
	}
	f.cursor.skip(int64(x.last.Ordinal)+1, x.last.Rowid)
	k := &f.known.fragments[x.at]
	if k.start < 0 {
		k.start = x.first.Offset
	}
	end := x.last.Offset + int64(x.last.Size)
	k.bytes = end - k.start
	k.dead += end - x.first.Offset - x.bytes // what lies between its rows is superseded
	return nil
}

// matches compares a file with what the catalog has of it.
func (f *baseLog) matches() error {
	w := &f.want
	found := []catalog.Fragment{}
	if f.schema > 0 {
		found = append(found, catalog.Fragment{Rows: f.schema})
	}
	for _, x := range f.seal.Records {
		if x.Count > 0 {
			found = append(found, catalog.Fragment{TableID: int64(x.Table), Rows: int64(x.Count)})
		}
	}
	known := slices.DeleteFunc(slices.Clone(w.Fragments), func(x catalog.Fragment) bool { return x.TableID != 0 && x.Rows == 0 })
	switch {
	case f.end != w.ByteExtent || f.allocated != w.ByteExtent:
		return fmt.Errorf("the footer ends at %d of %d bytes, the file was sealed as %d", f.end, f.allocated, w.ByteExtent)
	case f.seal.Digest != w.IntegrityDigest:
		return fmt.Errorf("digest %x, sealed %x", f.seal.Digest, w.IntegrityDigest)
	case int64(f.seal.LastLSN) != w.LSN || int64(f.least) != w.LSN:
		return fmt.Errorf("header and footer are of commits %d and %d, the catalog says %d", f.least, f.seal.LastLSN, w.LSN)
	case !slices.Equal(found, known):
		return fmt.Errorf("fragments %v, the catalog says %v", found, known)
	}
	return nil
}
