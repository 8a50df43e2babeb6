package engine

import (
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// The rows of a base are read by one goroutine per file, a few at a time, which check
// and decode them and work out what they add up to, and are taken into the tables by
// one. So what a file costs is shared by two processors or more, and what is in memory
// beside the tables is a few batches of rows.

const (
	// baseBatch is how many rows are handed over at once, and baseAhead how many batches
	// a file may be ahead.
	baseBatch = 512
	baseAhead = 4
)

// baseParallel is from how many bytes on files are read side by side; a variable for
// tests.
var baseParallel int64 = 4 << 20

// baseRow is a row of a base that is not superseded.
type baseRow struct {
	wal.Put
	offset int64
	size   uint32
	sum    row.Sum // of a table that is in memory
	part   *baseFragment
}

// baseStream reads the rows of a file. It owns the file until it has ended.
type baseStream struct {
	r       *recovery
	f       *baseLog
	whole   bool            // nothing of it is superseded
	skips   []*baseFragment // whose rows came from a primary segment, as they lie in the file
	sizes   tableBytes      // of all rows
	skipped int64           // bytes that were not read
	last    *replayTable    // of the last row
	rows    []baseRow
	scratch []byte

	batches chan []baseRow // nil: rows are taken at once
	free    chan []baseRow
	err     error // once batches is closed
}

func (r *recovery) newBaseStream(f *baseLog) *baseStream {
	whole := !slices.ContainsFunc(f.known.fragments, func(x fragment) bool { return x.deleted != nil })
	return &baseStream{r: r, f: f, whole: whole, skips: r.loads.skips(f)}
}

// baseRows replays the rows of all files of the base, and holds their footers against
// what was replayed, and against the catalog.
func (r *recovery) baseRows() error {
	files := oldestFirst(r.base)
	streams := make([]*baseStream, len(files))
	total := int64(0)
	for i, f := range files {
		streams[i] = r.newBaseStream(f)
		total += f.want.ByteExtent
	}
	ahead := min(runtime.GOMAXPROCS(0), 4)
	if total < baseParallel || ahead == 1 {
		for _, b := range streams {
			if err := b.end(b.read(b.take)); err != nil {
				return err
			}
		}
		return nil
	}
	stop := make(chan struct{})
	var reading sync.WaitGroup
	defer reading.Wait()
	defer close(stop)
	begun := 0
	for i, b := range streams {
		for ; begun < min(len(streams), i+ahead); begun++ {
			streams[begun].begin(&reading, stop)
		}
		if err := b.end(b.follow()); err != nil {
			return err
		}
	}
	return nil
}

// begin lets the rows of a file be read beside others.
func (b *baseStream) begin(reading *sync.WaitGroup, stop <-chan struct{}) {
	b.batches, b.free = make(chan []baseRow, baseAhead), make(chan []baseRow, baseAhead)
	reading.Go(func() {
		defer close(b.batches)
		b.err = b.read(func(rows []baseRow) error {
			select {
			case b.batches <- rows:
			case <-stop:
				return errStopped
			}
			select {
			case b.rows = <-b.free:
			default:
				b.rows = make([]baseRow, 0, baseBatch)
			}
			return nil
		})
	})
}

// errStopped ends the reading of a file that nobody follows any more.
var errStopped = errors.New("engine: the reading of the base has ended")

// follow takes the rows of a file that is read beside others.
func (b *baseStream) follow() error {
	for rows := range b.batches {
		if err := b.take(rows); err != nil {
			return err
		}
		clear(rows) // which keep what was read in memory
		select {
		case b.free <- rows[:0]:
		default:
		}
	}
	return b.err
}

// take replays some rows.
func (b *baseStream) take(rows []baseRow) error {
	p := b.r.replay
	p.slot = b.f.slot
	for i := range rows {
		if err := p.baseRow(&rows[i]); err != nil {
			return corruptIn(b.f.path, rows[i].offset, err)
		}
	}
	return nil
}

// end completes a file that was read.
func (b *baseStream) end(err error) error {
	if err != nil {
		return err
	}
	r, f := b.r, b.f
	b.sizes.flush()
	for table, n := range b.sizes.all {
		r.sizes.add(table, n)
	}
	r.read += f.end - b.skipped
	if err := f.matches(); err != nil {
		return &CorruptError{File: f.path, Offset: f.end, Reason: err.Error()}
	}
	if err := r.replay.baseEnd(f, r.loads); err != nil {
		return corruptIn(f.path, f.end, err)
	}
	return nil
}

// read reads a file to its footer and hands over its rows.
func (b *baseStream) read(hand func([]baseRow) error) error {
	f := b.f
	sc := wal.NewScanner(f.file, f.start, f.allocated, f.salt)
	for n := 0; f.seal == nil; n++ {
		if len(b.skips) > 0 && b.skips[0].first.Offset == sc.Offset() {
			to, err := b.skip()
			if err != nil {
				return err
			}
			sc = wal.NewScanner(f.file, to, f.allocated, f.salt)
			continue
		}
		fr, ok := sc.Next()
		if !ok {
			return f.stopped(sc)
		}
		if b.r.ended != nil && n%baseFlush == 0 {
			if err := b.r.ended(); err != nil {
				return err
			}
		}
		if err := b.frame(fr); err != nil {
			return corruptIn(f.path, fr.Offset, err)
		}
		f.end = fr.End()
		if len(b.rows) == baseBatch {
			if err := hand(b.rows); err != nil {
				return err
			}
			b.rows = b.rows[:0]
		}
	}
	return hand(b.rows)
}

// skip goes over rows that came from a primary segment, and returns where the file goes
// on.
func (b *baseStream) skip() (to int64, err error) {
	x := b.skips[0]
	b.skips = b.skips[1:]
	if err := b.f.over(x); err != nil {
		return 0, corruptIn(b.f.path, x.first.Offset, err)
	}
	to = x.last.Offset + int64(x.last.Size)
	b.skipped += to - x.first.Offset
	b.sizes.add(TableID(b.f.want.Fragments[x.at].TableID), to-x.first.Offset)
	return to, nil
}

func (b *baseStream) frame(fr wal.Frame) error {
	f := b.f
	switch fr.Kind {
	case wal.KindSchema:
		if f.cursor.at >= 0 {
			return damaged(fr.Offset, "a schema behind rows of the base")
		}
		f.schema++
		_, err := wal.DecodeSchema(fr)
		return err
	case wal.KindPut:
		if b.whole {
			return b.row(fr)
		}
		ids, _, err := wal.CutPut(fr)
		if err != nil {
			return err
		}
		b.sizes.add(TableID(ids.Table), fr.End()-fr.Offset)
		dead, err := f.cursor.row(ids, fr.Offset)
		if err != nil {
			return err
		}
		f.passed(fr, dead)
		if dead {
			return nil
		}
		m, err := wal.DecodePut(fr)
		if err == nil {
			b.add(fr, m)
		}
		return err
	case wal.KindSeal:
		if err := f.cursor.left(fr.Offset); err != nil {
			return err
		}
		m, err := wal.DecodeSeal(fr)
		if err != nil {
			return err
		}
		f.seal = &m
		return nil
	}
	return damaged(fr.Offset, "a %s in a base", fr.Kind)
}

// row is frame for a row of a file in which nothing is superseded.
func (b *baseStream) row(fr wal.Frame) error {
	m, err := wal.DecodePut(fr)
	if err != nil {
		return err
	}
	b.sizes.add(TableID(m.Table), fr.End()-fr.Offset)
	if _, err := b.f.cursor.row(wal.RowIDs{Table: m.Table, Version: m.Version, Rowid: m.Rowid}, fr.Offset); err != nil {
		return err
	}
	b.f.passed(fr, false)
	b.add(fr, m)
	return nil
}

func (b *baseStream) add(fr wal.Frame, m wal.Put) {
	b.rows = append(b.rows, baseRow{m, fr.Offset, uint32(fr.End() - fr.Offset), b.sumOf(&m), b.r.loads.fragment(b.f)})
}

// sumOf is what a row adds, if its table is in memory. Tables do not change while a base
// is read.
func (b *baseStream) sumOf(m *wal.Put) (sum row.Sum) {
	t := b.last
	if t == nil || uint64(t.def.ID) != m.Table {
		slot, ok := b.r.replay.defs.slot(TableID(m.Table))
		if !ok {
			return sum // which is damage, as is told when it is taken
		}
		t = b.r.replay.tables[slot]
		b.last = t
	}
	if t.keys || t.def.Version != m.Version {
		return sum
	}
	return row.RowSum(m.Table, m.Rowid, t.colIDs, m.Rec, t.def.RowidAlias, &b.scratch)
}
