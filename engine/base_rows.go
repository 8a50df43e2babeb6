package engine

import (
	"errors"
	"runtime"
	"sync"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// The rows of a base are read by one goroutine per file, a batch at a time, and taken
// into the tables by one. Whichever of the two waits for the other also proves a batch,
// which is most of the work: what a file costs is shared by two processors or more, and
// what is in memory beside the tables is a few batches of rows.

// baseAhead is how many batches a file may be ahead.
const baseAhead = 4

// baseParallel is from how many bytes on files are read side by side; a variable for
// tests.
var baseParallel int64 = 4 << 20

// baseStream reads the rows of a file. It owns the file until it has ended.
type baseStream struct {
	r       *recovery
	f       *baseLog
	skips   []*baseFragment // whose rows came from a primary segment, as they lie in the file
	sizes   tableBytes      // of all rows
	skipped int64           // bytes that were not read
	hand    func() error    // hands batch over and makes another one of it
	batch   *baseBatch

	takes baseProver      // of who takes rows
	reads baseProver      // of who reads them
	ahead chan *baseBatch // nil: rows are taken at once
	free  chan *baseBatch
	err   error // once ahead is closed
}

func (r *recovery) newBaseStream(f *baseLog) *baseStream {
	prover := baseProver{r: r.replay}
	return &baseStream{r: r, f: f, skips: r.loads.skips(f), batch: new(baseBatch), takes: prover, reads: prover}
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
			b.hand = b.take
			if err := b.end(b.read()); err != nil {
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
	// There are no more batches than are ahead and in the hands of the two goroutines.
	b.ahead, b.free = make(chan *baseBatch, baseAhead), make(chan *baseBatch, baseAhead+2)
	b.hand = func() error {
		if len(b.ahead) == cap(b.ahead) {
			if err := b.reads.prove(b.batch); err != nil {
				return corruptIn(b.f.path, b.f.end, err)
			}
		}
		select {
		case b.ahead <- b.batch:
		case <-stop:
			return errStopped
		}
		select {
		case b.batch = <-b.free:
		default:
			b.batch = new(baseBatch)
		}
		return nil
	}
	reading.Go(func() {
		defer close(b.ahead)
		b.err = b.read()
	})
}

// errStopped ends the reading of a file that nobody follows any more.
var errStopped = errors.New("engine: the reading of the base has ended")

// follow takes the rows of a file that is read beside others.
func (b *baseStream) follow() error {
	for batch := range b.ahead {
		if err := b.replay(batch); err != nil {
			return err
		}
		b.free <- batch
	}
	return b.err
}

// take replays the batch that was read.
func (b *baseStream) take() error { return b.replay(b.batch) }

// replay replays a batch and makes it empty.
func (b *baseStream) replay(batch *baseBatch) error {
	err := b.takes.prove(batch)
	if err == nil {
		b.r.replay.slot = b.f.slot
		err = b.r.replay.baseBatch(batch)
	}
	if err != nil {
		return corruptIn(b.f.path, batch.rows[0].offset, err)
	}
	batch.reset()
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
func (b *baseStream) read() error {
	f := b.f
	sc := wal.NewScanner(f.file, f.start, f.allocated, f.salt)
	var fr wal.RawFrame
	for n := 0; f.seal == nil; n++ {
		if len(b.skips) > 0 && b.skips[0].first.Offset == sc.Offset() {
			to, err := b.skip()
			if err != nil {
				return err
			}
			sc = wal.NewScanner(f.file, to, f.allocated, f.salt)
			continue
		}
		if !sc.NextRaw(&fr) {
			return f.stopped(sc)
		}
		if b.r.ended != nil && n%baseFlush == 0 {
			if err := b.r.ended(); err != nil {
				return err
			}
		}
		if err := b.frame(&fr); err != nil {
			return corruptIn(f.path, fr.Offset, err)
		}
		f.end = fr.End()
	}
	return b.hand()
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

func (b *baseStream) frame(fr *wal.RawFrame) error {
	f := b.f
	switch fr.Kind {
	case wal.KindSchema:
		if f.cursor.at >= 0 {
			return damaged(fr.Offset, "a schema behind rows of the base")
		}
		f.schema++
		_, err := wal.DecodeSchema(fr.Frame())
		return err
	case wal.KindPut:
		return b.row(fr)
	case wal.KindSeal:
		if err := f.cursor.left(fr.Offset); err != nil {
			return err
		}
		m, err := wal.DecodeSeal(fr.Frame())
		if err != nil {
			return err
		}
		f.seal = &m
		return nil
	}
	return damaged(fr.Offset, "a %s in a base", fr.Kind)
}

// row puts a row into the batch, unless it is superseded.
func (b *baseStream) row(fr *wal.RawFrame) error {
	f := b.f
	ids, rec, err := wal.CutRawPut(fr)
	if err != nil {
		return err
	}
	end := fr.End()
	b.sizes.add(TableID(ids.Table), end-fr.Offset)
	dead, err := f.cursor.row(ids, fr.Offset)
	if err != nil {
		return err
	}
	if f.passed(fr.Offset, end, dead); dead {
		return nil
	}
	if !b.batch.takes(ids, rec) {
		if err := b.hand(); err != nil {
			return err
		}
	}
	if len(b.batch.rows) == 0 {
		b.batch.table, b.batch.version, b.batch.part = ids.Table, ids.Version, b.r.loads.fragment(f)
	}
	b.batch.add(ids.Rowid, fr.Offset, rec, end-fr.Offset)
	return nil
}
