package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// The base is what a compaction leaves: the state of one commit in files of their
// own, one whole record per row and nothing else. A base file is a .kv object like
// a generation and has the same frames:
//
//	header   of shard 0 and generation 0, which no log has; its first LSN is the
//	         commit of the compaction that wrote it
//	schema   in the first file of each compaction: see base_schema.go
//	put      table after table in the order of their ids, the rows of each in the
//	         order of theirs, by the definitions of that schema
//	footer   per table with a record how many there are, and what they add up to
//
// What one file has of a table is a fragment, which may be empty. There are no
// commits: the files of a base stand for it together, and the catalog names all or
// none of them. What a compaction writes is cut into files of about the size of a
// generation, between any two rows.
//
// A base is of the commit of its newest files, which come first: the schema that the
// first one begins with is the schema of the base, and others say nothing any more.
// Of older files it has what the catalog does not have as deleted; all of that is by
// the definitions of the newest schema, too.
//
// A row of a keys table is read from a base file as from any other.

// fragment is what a base file has of a table; table 0 is the schema. Its rows are
// counted in the order of their ids from 0 on: that is the ordinal of a row, by which
// it is deleted. What is deleted is never read again, so each row of the base's state
// is in one place that is not.
type fragment struct {
	id    int64 // the catalog's, 0: not known yet
	table TableID
	rows  int64
	sum   row.Sum // of all rows
	start int64   // offset of its first frame; -1: not known, the file has to be read from its start
	bytes int64   // of all frames, 0 with them

	deleted *roaring.Bitmap // ordinals of rows that are superseded, nil for none; never changed
	dead    int64           // bytes of their frames, 0 where start is not known
	live    int64           // rows that are not deleted, of the schema its frames
	liveSum row.Sum         // of these
	summed  bool            // the sums are known
}

// baseFile is a file of the base: written and sealed, never changed. What is
// superseded in it is another baseFile of the same generation.
type baseFile struct {
	*generation
	lsn       LSN // the commit that its rows were of
	fragments []fragment
}

// newBaseFile is a file of a base that the catalog has, of which the file itself was
// not read yet.
func newBaseFile(c *catalog.BaseFile, g *generation) *baseFile {
	f := &baseFile{generation: g, lsn: LSN(c.LSN)}
	for i, x := range c.Fragments {
		known := fragment{table: TableID(x.TableID), rows: x.Rows, start: -1, live: x.Rows}
		if i < len(c.FragmentIDs) {
			known.id = c.FragmentIDs[i]
		}
		if x.TableID != 0 {
			live, summed := liveOf(c, i)
			known.deleted, known.live, known.liveSum, known.summed = deleted(c, i), live.rows, live.sum, summed
		}
		f.fragments = append(f.fragments, known)
	}
	return f
}

// generationsOf lists the files of a base.
func generationsOf(files []*baseFile) []*generation {
	list := make([]*generation, len(files))
	for i, f := range files {
		list[i] = f.generation
	}
	return list
}

// sum is what the rows of the file add up to, and liveSum what the live ones do.
func (f *baseFile) sum() (sum row.Sum) {
	for _, x := range f.fragments {
		sum = sum.Add(x.sum)
	}
	return sum
}

func (f *baseFile) liveSum() (sum row.Sum) {
	for _, x := range f.fragments {
		sum = sum.Add(x.liveSum)
	}
	return sum
}

// newBaseGeneration is a base file that the catalog names.
func newBaseGeneration(object int64, path string) *generation {
	return &generation{object: uint64(object), path: path, info: GenerationInfo{Object: uint64(object), File: path}}
}

const (
	baseFlush = 256       // records that are written at once,
	baseBytes = 256 << 10 // or bytes
)

// baseWriter writes the files of a base. After a failure nothing of them is of any
// use, and nobody but the catalog knows them.
type baseWriter struct {
	s     *Store
	ctx   context.Context
	job   int64
	lsn   LSN
	limit int64 // size of a file at which the next row goes to another one

	cur   *baseFile           // being written, or nil
	named catalog.Reservation // the last one
	lost  error               // what went wrong with its file, nil while it is sound
	b     wal.Builder
	held  int // records in b
	files []*baseFile
	wrote int64 // bytes of all files
	read  int64 // bytes of rows that were read from files, since the last flush
	rate  *byteRate
	tell  func(wrote int64)

	scratch []byte
}

// schema writes the schema, before all rows.
func (w *baseWriter) schema(s *Schema) error {
	if err := w.begin(); err != nil {
		return err
	}
	frames := baseSchemaFrames(s)
	for _, f := range frames {
		if err := w.b.Schema(f); err != nil {
			return err
		}
		if err := w.flush(false); err != nil {
			return err
		}
	}
	w.cur.fragments = append(w.cur.fragments, fragment{rows: int64(len(frames)), live: int64(len(frames)), start: -1})
	return nil
}

// table writes the rows of a table that a plan has: with what kept files have, they
// are the table, each row once.
func (w *baseWriter) table(p *tablePlan) error {
	t, all := p.Table, p.kept
	add := func(e Entry) error {
		f, err := w.fragment(t.def.ID)
		if err != nil {
			return err
		}
		before := w.b.Len()
		if err := w.b.Put(uint64(t.def.ID), t.def.Version, e.Rowid, e.Rec); err != nil {
			return err
		}
		sum := row.RowSum(uint64(t.def.ID), e.Rowid, p.columns, e.Rec, t.def.RowidAlias, &w.scratch)
		f.rows++
		f.sum = f.sum.Add(sum)
		f.bytes += int64(w.b.Len() - before)
		all.rows++
		all.sum = all.sum.Add(sum)
		if t.src != nil {
			w.read += int64(len(e.Rec))
		}
		return w.flush(false)
	}
	var err error
	if p.whole {
		err = eachRow(t, add)
	} else {
		err = eachRowOf(t, p.ids, add)
	}
	if err == nil && all.rows == 0 && !p.held {
		_, err = w.fragment(t.def.ID) // an index is to have something to span
	}
	if err != nil {
		return err
	}
	if all.rows != int64(t.Len()) || all.sum != t.sum {
		return fmt.Errorf("engine: table %q has %d rows of sum %x, %d rows of sum %x were read: %w", t.def.Name, t.Len(), t.sum, all.rows, all.sum, errOtherRows)
	}
	return nil
}

// eachRow calls each with all rows of a table.
func eachRow(t *Table, each func(Entry) error) error {
	scan := t.Scan(math.MinInt64, math.MaxInt64, false)
	block := make([]Entry, baseFlush)
	for {
		n, err := scan.Next(block)
		if err != nil {
			return err
		}
		for _, e := range block[:n] {
			if err := each(e); err != nil {
				return err
			}
		}
		if n < len(block) {
			return nil
		}
	}
}

// eachRowOf calls each with those rows of a table, of some ids that ascend, that there
// are. Ids that are close to each other are read in one go.
func eachRowOf(t *Table, ids []int64, each func(Entry) error) error {
	block := make([]Entry, baseFlush)
	for part := range slices.Chunk(ids, baseFlush) {
		first, last := part[0], part[len(part)-1]
		if uint64(last-first) >= 4*uint64(len(part)) {
			for _, id := range part {
				rec, ok, err := t.Get(id)
				if err == nil && ok {
					err = each(Entry{Rowid: id, Rec: rec})
				}
				if err != nil {
					return err
				}
			}
			continue
		}
		scan := t.Scan(first, last, false)
		for more := true; more; {
			n, err := scan.Next(block)
			if err != nil {
				return err
			}
			for _, e := range block[:n] {
				for len(part) > 0 && part[0] < e.Rowid {
					part = part[1:]
				}
				if len(part) > 0 && part[0] == e.Rowid {
					if err := each(e); err != nil {
						return err
					}
				}
			}
			more = n == len(block)
		}
	}
	return nil
}

// fragment returns where the next row of a table is counted, in another file when
// this one is full.
func (w *baseWriter) fragment(table TableID) (*fragment, error) {
	if w.cur != nil && w.b.Offset() >= w.limit {
		if err := w.end(); err != nil {
			return nil, err
		}
	}
	if w.cur == nil {
		if err := w.begin(); err != nil {
			return nil, err
		}
	}
	list := &w.cur.fragments
	if n := len(*list); n == 0 || (*list)[n-1].table != table {
		*list = append(*list, fragment{table: table, start: w.b.Offset()})
	}
	return &(*list)[len(*list)-1], nil
}

// begin makes a file, whose name is committed to the catalog before.
func (w *baseWriter) begin() error {
	r, err := w.s.cat.ReserveObject(w.ctx, w.job)
	if err != nil {
		return fmt.Errorf("engine: reserving a file: %w", err)
	}
	g := newBaseGeneration(r.ObjectID, r.Path)
	w.named = r
	if err := w.s.make(g, w.s.shards[0].epoch, w.lsn); err != nil {
		return w.unsound(err)
	}
	g.file = trickle(g.file)
	w.cur, w.held = &baseFile{generation: g, lsn: w.lsn}, 0
	w.b.Reset(g.salt, g.tail, w.b.Bytes())
	return nil
}

// flush writes what was gathered, if that is much or all of it is wanted.
func (w *baseWriter) flush(all bool) error {
	w.held++
	if !all && w.held < baseFlush && w.b.Len() < baseBytes {
		return nil
	}
	breathe()
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if err := w.s.refusal(); err != nil {
		return err
	}
	if err := w.rate.charge(w.ctx, w.read+int64(w.b.Len())); err != nil {
		return err
	}
	w.read = 0
	g := w.cur.generation
	w.wrote += int64(w.b.Len())
	if err := g.append(w.b.Bytes()); err != nil {
		return w.unsound(err)
	}
	w.b.Reset(g.salt, g.tail, w.b.Bytes())
	w.held = 0
	if w.tell != nil {
		w.tell(w.wrote)
	}
	return nil
}

// end seals the file: footer → sync of file and directories → receipt and
// registration in the catalog.
func (w *baseWriter) end() error {
	if err := w.flush(true); err != nil {
		return err
	}
	f, g := w.cur, w.cur.generation
	digest, err := digestOf(w.rate.reader(w.ctx, g.file), g.tail)
	if ended := w.ctx.Err(); ended != nil && err != nil {
		return ended
	}
	if err != nil {
		return w.unsound(fmt.Errorf("engine: reading %s: %w", g.path, err))
	}
	footer := f.seal(w.lsn)
	footer.Digest = digest
	if err := w.b.Seal(&footer); err != nil {
		return fmt.Errorf("engine: footer of %s: %w", g.path, err)
	}
	if err := w.flush(true); err != nil {
		return err
	}
	if err := g.file.Sync(); err != nil {
		return w.unsound(&syncError{g.path, err})
	}
	if err := w.s.syncEntries(path.Dir(g.path)); err != nil {
		return w.unsound(err)
	}
	content, err := contentID(w.rate.reader(w.ctx, g.file), g.tail)
	if ended := w.ctx.Err(); ended != nil && err != nil {
		return ended
	}
	if err != nil {
		return w.unsound(fmt.Errorf("engine: reading %s: %w", g.path, err))
	}
	seal := catalog.BaseSeal{
		ObjectID: int64(g.object), ContentID: content, Digest: digest, Extent: g.tail, LSN: int64(w.lsn), Fingerprint: sumBytes(f.sum()),
	}
	for _, x := range f.fragments {
		seal.Fragments = append(seal.Fragments, catalog.Fragment{TableID: int64(x.table), Rows: x.rows})
	}
	if err := w.s.cat.SealBase(w.ctx, seal); err != nil {
		return fmt.Errorf("engine: recording the seal of %s: %w", g.path, err)
	}
	g.info.State, g.info.Bytes, g.info.LastLSN = catalog.GenerationSealed, g.tail, w.lsn
	file := g.file
	g.file, w.cur = nil, nil
	for i := range f.fragments {
		x := &f.fragments[i]
		x.live, x.liveSum, x.summed = x.rows, x.sum, true
	}
	w.files = append(w.files, f)
	if err := file.Close(); err != nil {
		return fmt.Errorf("engine: closing %s: %w", g.path, err)
	}
	return nil
}

// seal is the footer of a file, but for its digest.
func (f *baseFile) seal(lsn LSN) wal.Seal {
	m := wal.Seal{LastLSN: uint64(lsn)}
	for _, x := range f.fragments {
		if x.rows == 0 || x.table == 0 {
			continue
		}
		m.Records = append(m.Records, wal.TableRecords{Table: uint64(x.table), Count: uint64(x.rows)})
		m.Contributions = append(m.Contributions, wal.Contribution{Table: uint64(x.table), Rows: x.rows, Sum: x.sum})
	}
	return m
}

// abandon lets go of files that no head is going to name. They are removed as soon as
// the catalog says so, for which it may need the room that they give back here. That
// is so of one that is quarantined, too, and its bytes are no evidence of anything:
// what is in doubt is whether they would have stayed, and nothing asks that of a file
// that is never sealed.
func (w *baseWriter) abandon(cause error) error {
	defer w.quarantine()
	if f := w.cur; f != nil && f.file != nil {
		_ = f.file.Truncate(0) // nobody reads it
		cause = errors.Join(cause, f.close())
	}
	for _, f := range w.files {
		if file, err := w.s.fs.Open(f.path); err == nil {
			_ = file.Truncate(0)
			cause = errors.Join(cause, file.Close())
		}
	}
	return cause
}

// writeBase writes the files that a plan adds to what it keeps. What is written is
// known to the catalog and named by no head.
func (s *Store) writeBase(ctx context.Context, job int64, c *cut, plan *basePlan, rate *byteRate, progress func(done, total int64)) ([]*baseFile, error) {
	w := &baseWriter{s: s, ctx: ctx, job: job, lsn: c.lsn, limit: s.baseFileSize(c), rate: rate}
	if total := max(plan.bytes, 1); progress != nil {
		w.tell = func(wrote int64) { progress(min(wrote, total), total) }
	}
	if err := soundBase(c.state.schema); err != nil {
		return nil, err
	}
	if err := w.schema(c.state.schema); err != nil {
		return nil, w.abandon(err)
	}
	for _, t := range plan.tables {
		if err := w.table(t); err != nil {
			return nil, w.abandon(err)
		}
	}
	if w.cur != nil {
		if err := w.end(); err != nil {
			return nil, w.abandon(err)
		}
	}
	if err := s.nameFragments(ctx, w.files); err != nil {
		return nil, w.abandon(err)
	}
	return w.files, nil
}

// nameFragments notes the ids that the catalog gave to the fragments of sealed files.
func (s *Store) nameFragments(ctx context.Context, files []*baseFile) error {
	objects := make([]int64, len(files))
	for i, f := range files {
		objects[i] = int64(f.object)
	}
	ids, err := s.cat.FragmentIDs(ctx, objects...)
	if err != nil {
		return fmt.Errorf("engine: looking up the fragments of a base: %w", err)
	}
	for _, f := range files {
		list := ids[int64(f.object)]
		if len(list) != len(f.fragments) {
			return fmt.Errorf("engine: %s has %d fragments, the catalog says %d", f.path, len(f.fragments), len(list))
		}
		for i, id := range list {
			f.fragments[i].id = id
		}
	}
	return nil
}
