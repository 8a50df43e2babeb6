package engine

import (
	"context"
	"fmt"

	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// fragmentScan reads the rows of some fragments of one base file, in the order of the
// file, those that are deleted included.
type fragmentScan struct {
	s     *Store
	file  *baseFile
	want  map[int]bool // places in file.fragments; nil for all
	ended func() error // asked now and then
	rate  *byteRate    // of reading; nil: no bound
	ctx   context.Context
	tell  func(bytes int64)
	// row is given each row that is wanted and not deleted: the place of its fragment in
	// the file, its ordinal and its frame.
	row func(at int, ordinal uint32, ids wal.RowIDs, fr wal.Frame) error
}

// run reads the fragments. Every one has as many rows as it should.
func (c *fragmentScan) run() (err error) {
	f := *c.file.generation // its handle is this scan's own
	if err := c.s.open(&f, c.s.fs.OpenRead); err != nil {
		if f.file != nil {
			_ = f.file.Close() // it was only read
		}
		return err
	}
	defer func() { _ = f.file.Close() }() // it was only read
	last := len(c.file.fragments) - 1
	for ; last >= 0 && !c.wanted(last); last-- {
	}
	if last < 0 {
		return nil
	}
	at, from := 0, f.start
	for ; !c.wanted(at); at++ {
	}
	if start := c.file.fragments[at].start; start > 0 {
		from = start
	} else {
		at = 0
	}
	return c.frames(wal.NewScanner(c.rate.reader(c.ctx, f.file), from, f.allocated, f.salt), at, last)
}

func (c *fragmentScan) wanted(at int) bool {
	x := &c.file.fragments[at]
	return x.table != 0 && x.rows > 0 && (c.want == nil || c.want[at])
}

// frames reads the fragments from one to another.
func (c *fragmentScan) frames(sc *wal.Scanner, at, last int) error {
	told := sc.Offset()
	ordinal := uint32(0)
	for n := 1; ; n++ {
		for int64(ordinal) == c.file.fragments[at].rows {
			if at == last {
				c.told(sc.Offset() - told)
				return nil
			}
			at, ordinal = at+1, 0
		}
		if n%baseFlush == 0 {
			if err := c.ended(); err != nil {
				return err
			}
			c.told(sc.Offset() - told)
			told = sc.Offset()
		}
		fr, ok := sc.Next()
		if !ok {
			return c.cut(sc.Stop())
		}
		x := &c.file.fragments[at]
		if x.table == 0 {
			if fr.Kind != wal.KindSchema {
				return c.damaged(fr, "a %s in the schema of a base", fr.Kind)
			}
			ordinal++
			continue
		}
		ids, _, err := wal.CutPut(fr)
		if err != nil {
			return corruptIn(c.file.path, fr.Offset, err)
		}
		if TableID(ids.Table) != x.table {
			return c.damaged(fr, "row %d of table %d among the %d rows of table %d", ids.Rowid, ids.Table, x.rows, x.table)
		}
		if c.wanted(at) && !x.isDeleted(ordinal) {
			if err := c.row(at, ordinal, ids, fr); err != nil {
				return err
			}
		}
		ordinal++
	}
}

func (c *fragmentScan) told(bytes int64) {
	if c.tell != nil {
		c.tell(bytes)
	}
}

func (c *fragmentScan) damaged(fr wal.Frame, format string, args ...any) error {
	return &CorruptError{File: c.file.path, Offset: fr.Offset, Reason: fmt.Sprintf(format, args...)}
}

// cut says why a file ends too early.
func (c *fragmentScan) cut(stop wal.Stop) error {
	if stop.Clean() {
		return &CorruptError{File: c.file.path, Offset: stop.Offset, Reason: "the file ends among its rows"}
	}
	return corruptOrRead(c.file.path, stop)
}

// gather reads the fresh fragments of all indexes, each once, and leaves their entries
// in the runs of the indexes.
func (w *indexWriter) gather(progress func(done, total int64)) error {
	needs := make([][]*indexWork, len(w.plan.fragments)) // by number
	for _, x := range w.plan.indexes {
		for _, n := range x.fresh {
			needs[n] = append(needs[n], x)
		}
	}
	done, total := int64(0), int64(0)
	type reading struct {
		file *baseFile
		want map[int]bool
		from int // number of the first fragment of a table
	}
	var files []reading
	n := 0
	for _, f := range w.plan.files {
		r := reading{file: f, want: map[int]bool{}, from: n}
		for at := range f.fragments {
			if f.fragments[at].table == 0 {
				continue
			}
			if len(needs[n]) > 0 {
				r.want[at] = true
			}
			n++
		}
		if len(r.want) > 0 {
			files = append(files, r)
			total += f.info.Bytes
		}
	}
	for _, r := range files {
		before := done
		scan := fragmentScan{s: w.s, file: r.file, want: r.want, ended: w.ended, rate: w.rate, ctx: w.ctx, tell: func(bytes int64) {
			if done += bytes; progress != nil {
				progress(min(done, total), total)
			}
		}}
		g := gatherer{w: w}
		numbers := make([]uint32, len(r.file.fragments))
		for at, k := 0, r.from; at < len(numbers); at++ {
			if r.file.fragments[at].table != 0 {
				numbers[at] = uint32(k)
				k++
			}
		}
		scan.row = func(at int, ordinal uint32, ids wal.RowIDs, fr wal.Frame) error {
			return g.row(needs[numbers[at]], numbers[at], ordinal, ids, fr)
		}
		if err := scan.run(); err != nil {
			return err
		}
		done = before + r.file.info.Bytes
	}
	return nil
}

// gatherer makes index entries of rows.
type gatherer struct {
	w    *indexWriter
	keys keyMaker
	buf  []byte
}

func (g *gatherer) row(needs []*indexWork, number, ordinal uint32, ids wal.RowIDs, fr wal.Frame) error {
	p, err := wal.DecodePut(fr)
	if err != nil {
		return corruptIn(g.w.plan.fragments[number].file.path, fr.Offset, err)
	}
	for _, x := range needs {
		e := indexEntry{frag: number, ord: ordinal}
		if x.ix == nil {
			e.head, e.off, e.size = rowidHead(ids.Rowid), fr.Offset, uint32(fr.End()-fr.Offset)
		} else {
			g.keys.def = x.def
			if g.buf, e.null = g.keys.append(g.buf[:0], x.ix, p.Rec, ids.Rowid); len(g.buf) == 0 {
				continue
			}
			e.key = g.buf
		}
		g.w.held += x.rows.add(e)
	}
	if g.w.held <= runBytes {
		return nil
	}
	return g.w.spill()
}

// spill writes the entries of the index that has most of them in memory to a run.
func (w *indexWriter) spill() error {
	x := w.plan.indexes[0]
	for _, y := range w.plan.indexes[1:] {
		if y.rows.bytes > x.rows.bytes {
			x = y
		}
	}
	x.rows.sort()
	fragments := make([]uint32, len(x.fresh))
	for i, n := range x.fresh {
		fragments[i] = uint32(n)
	}
	run := memoryRun{x.rows.entries}
	f, _, err := w.write(x, fragments, run.next)
	if err != nil {
		return err
	}
	x.rows.files = append(x.rows.files, f)
	w.held -= x.rows.bytes
	x.rows.forget()
	return w.fold(x, fragments)
}

// maxRuns is how many runs of a level there are before they are merged to one of the next
// level: so an index has few open files at a time, and an entry is written once per level.
// A variable for tests.
var maxRuns = 32

// fold merges the last runs of an index while they are as many.
func (w *indexWriter) fold(x *indexWork, fragments []uint32) error {
	for {
		files := x.rows.files
		level, n := files[len(files)-1].level, 0
		for n < len(files) && files[len(files)-1-n].level == level {
			n++
		}
		if n < maxRuns {
			return nil
		}
		last := files[len(files)-n:]
		var sources []entrySource
		for _, f := range last {
			s, err := w.runSource(f)
			if err != nil {
				return err
			}
			sources = append(sources, s)
		}
		m, err := newMerger(sources)
		if err != nil {
			return err
		}
		f, _, err := w.write(x, fragments, m.next)
		if err != nil {
			return err
		}
		f.level = level + 1
		if err := w.discard(last); err != nil {
			return err
		}
		x.rows.files = append(files[:len(files)-n:len(files)-n], f)
	}
}

// build writes the new segment of an index.
func (w *indexWriter) build(x *indexWork) error {
	f, sum, err := w.merge(x)
	if err != nil {
		return err
	}
	ref, err := w.seal(x, f, sum)
	if err != nil {
		return err
	}
	x.made = append(x.made, ref)
	w.merged += len(x.merge)
	w.held -= x.rows.bytes
	x.rows.forget()
	return w.discard(x.rows.files)
}

// merge writes the entries of the runs of an index, and of the segments that are merged,
// to one file.
func (w *indexWriter) merge(x *indexWork) (f *segmentFile, sum segment.Summary, err error) {
	covers := x.covers(w.plan)
	fragments := make([]uint32, len(covers))
	for i, n := range covers {
		fragments[i] = uint32(n)
	}
	x.rows.sort()
	sources := []entrySource{&memoryRun{x.rows.entries}}
	defer func() {
		for _, s := range sources {
			if cerr := s.close(); err == nil {
				err = cerr
			}
		}
	}()
	for _, f := range x.rows.files {
		s, err := w.runSource(f)
		if err != nil {
			return nil, sum, err
		}
		sources = append(sources, s)
	}
	for i := range x.merge {
		s, err := w.segmentSource(&x.merge[i].Segment)
		if err != nil {
			return nil, sum, err
		}
		sources = append(sources, s)
	}
	m, err := newMerger(sources)
	if err != nil {
		return nil, sum, err
	}
	return w.write(x, fragments, m.next)
}
