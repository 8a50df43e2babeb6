package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A fork that has not gone on since is made of the same files as its parent, and a
// compaction of either would write the same base. The second one adopts what the first
// one wrote: the catalog knows it by the exact inputs, and roots its objects for the
// job in the transaction that finds them. They are read once, as an open would
// read them: what is damaged is no base for anybody, and then this timeline writes one
// of its own. From the adoption on the two are unrelated; each file stays for as long
// as one of them, or anything else, has it.

// baseRecipe names how a base is made of what it replaces. Where a base is cut into
// files is no part of it.
const baseRecipe = "base/1"

// newBase is the base of a cut, before it is published: its files in the order of the
// manifest are the fresh ones and those that are kept.
type newBase struct {
	fresh, kept []*baseFile
	steps       []catalog.ShardGeneration
	shared      bool // another timeline wrote the fresh ones
}

// files lists all files of the base.
func (b *newBase) files() []*baseFile { return slices.Concat(b.fresh, b.kept) }

// makeBase returns the base of a cut. If nothing is kept of the one before, another
// timeline's will do; what there is not is written.
func (s *Store) makeBase(ctx context.Context, job int64, c *cut, mode compactMode, progress func(done, total int64)) (*newBase, error) {
	plan, err := s.planBase(ctx, c, mode)
	if err != nil {
		return nil, err
	}
	b := &newBase{kept: plan.kept, steps: plan.steps}
	if len(plan.kept) == 0 {
		if b.fresh, err = s.sharedBase(ctx, job, c); err != nil {
			return nil, err
		}
	}
	if b.shared = b.fresh != nil; !b.shared {
		b.fresh, err = s.writeBase(ctx, job, c, plan, mode.rate, progress)
		return b, err
	}
	if progress != nil {
		total := max(c.state.live, 1)
		progress(total, total)
	}
	return b, nil
}

// sharedBase returns the base that another timeline made of what the head is made
// of, nil when there is none that is any good.
func (s *Store) sharedBase(ctx context.Context, job int64, c *cut) ([]*baseFile, error) {
	s.mu.Lock()
	head := s.pub.head
	s.mu.Unlock()
	known, ok, err := s.cat.RetainMerge(ctx, catalog.MergeRequest{Head: head, LSN: int64(c.lsn), Recipe: baseRecipe}, job)
	if err == nil && ok {
		files, err := s.readShared(ctx, known, c)
		if err == nil {
			return files, nil
		}
		return nil, s.unshared(ctx, err)
	}
	if errors.Is(err, catalog.ErrNotAcquirable) {
		return nil, s.unshared(ctx, err)
	}
	return nil, err
}

// unshared tells why the base of another timeline is not adopted. What also keeps
// this one from writing its own is returned.
func (s *Store) unshared(ctx context.Context, err error) error {
	if cause := errors.Join(ctx.Err(), s.refusal()); cause != nil {
		return cause
	}
	s.event(Event{Kind: EventBackgroundFailed, Err: fmt.Errorf("engine: adopting the base of another timeline: %w", err)})
	return nil
}

// readShared reads the files of a base, and holds it against the state of a cut.
func (s *Store) readShared(ctx context.Context, known []catalog.BaseFile, c *cut) ([]*baseFile, error) {
	r := sharedBaseReader{s: s, ctx: ctx, totals: map[TableID]tally{}}
	for _, k := range known {
		f := newBaseLog(k)
		err := r.file(f)
		if f.file != nil {
			err = errors.Join(err, f.file.Close())
		}
		if err != nil {
			return nil, err
		}
		f.file = nil
		f.info.LastLSN, f.tail = c.lsn, f.end
		for i := range r.fragments {
			r.fragments[i].id = k.FragmentIDs[i]
		}
		r.files = append(r.files, &baseFile{generation: f.generation, lsn: c.lsn, fragments: r.fragments})
	}
	return r.files, r.compare(c)
}

// sharedBaseReader reads the files of a base one after another.
type sharedBaseReader struct {
	s      *Store
	ctx    context.Context
	files  []*baseFile
	schema []wal.Schema
	totals map[TableID]tally
	last   wal.RowIDs // the row read last

	fragments []fragment // of the file at hand
}

// file reads one file: intact frames up to the footer, which is what the catalog has.
func (r *sharedBaseReader) file(f *baseLog) error {
	if err := r.s.open(f.generation, r.s.fs.OpenRead); err != nil {
		return err
	}
	r.fragments = nil
	sc := wal.NewScanner(f.file, f.start, f.allocated, f.salt)
	for n := 0; f.seal == nil; n++ {
		if n%baseFlush == 0 {
			if err := errors.Join(r.ctx.Err(), r.s.refusal()); err != nil {
				return err
			}
		}
		fr, ok := sc.Next()
		if !ok {
			stop := sc.Stop()
			if stop.Clean() {
				return &CorruptError{File: f.path, Offset: stop.Offset, Reason: "no footer in a file of the base"}
			}
			return corruptOrRead(f.path, stop)
		}
		if err := r.frame(f, fr); err != nil {
			return corruptIn(f.path, fr.Offset, err)
		}
		f.end = fr.End()
	}
	if err := f.matches(); err != nil {
		return &CorruptError{File: f.path, Offset: f.end, Reason: err.Error()}
	}
	return r.footer(f)
}

func (r *sharedBaseReader) frame(f *baseLog, fr wal.Frame) error {
	last := len(r.fragments) - 1
	switch fr.Kind {
	case wal.KindSchema:
		m, err := wal.DecodeSchema(fr)
		if err != nil {
			return err
		}
		r.schema = append(r.schema, m)
		if f.schema++; f.schema == 1 {
			r.fragments = append(r.fragments, fragment{start: -1})
		}
		r.fragments[0].rows++
		return nil
	case wal.KindPut:
		ids, _, err := wal.CutPut(fr)
		if err != nil {
			return err
		}
		if l := r.last; ids.Table < l.Table || ids.Table == l.Table && ids.Rowid <= l.Rowid {
			return damaged(fr.Offset, "row %d of table %d behind row %d of table %d", ids.Rowid, ids.Table, l.Rowid, l.Table)
		}
		r.last = ids
		if last < 0 || r.fragments[last].table != TableID(ids.Table) {
			r.fragments = append(r.fragments, fragment{table: TableID(ids.Table), start: fr.Offset})
			last++
		}
		r.fragments[last].rows++
		r.fragments[last].bytes += fr.End() - fr.Offset
		return nil
	case wal.KindSeal:
		m, err := wal.DecodeSeal(fr)
		f.seal = &m
		return err
	}
	return damaged(fr.Offset, "a %s in a base", fr.Kind)
}

// footer holds the rows of a file against what its footer says of them, and takes
// their sums from there.
func (r *sharedBaseReader) footer(f *baseLog) error {
	sums := map[TableID]row.Sum{}
	for _, k := range f.seal.Contributions {
		sums[TableID(k.Table)] = k.Sum
	}
	for i, x := range f.want.Fragments {
		if x.Rows == 0 && i <= len(r.fragments) { // of an empty fragment no frame tells
			r.fragments = slices.Insert(r.fragments, i, fragment{table: TableID(x.TableID), start: -1})
		}
	}
	var found []catalog.Fragment
	for i := range r.fragments {
		x := &r.fragments[i]
		x.live = x.rows
		found = append(found, catalog.Fragment{TableID: int64(x.table), Rows: x.rows})
		if x.table == 0 {
			continue
		}
		x.sum = sums[x.table]
		x.liveSum, x.summed = x.sum, true
		t := r.totals[x.table]
		r.totals[x.table] = tally{rows: t.rows + x.rows, sum: t.sum.Add(x.sum)}
	}
	if !slices.Equal(found, f.want.Fragments) {
		return &CorruptError{File: f.path, Offset: f.end, Reason: fmt.Sprintf("rows of fragments %v, the catalog says %v", found, f.want.Fragments)}
	}
	return nil
}

// compare holds the base against the state that it is to stand for.
func (r *sharedBaseReader) compare(c *cut) error {
	wrong := func(format string, args ...any) error {
		return &CorruptError{File: r.files[0].path, Reason: fmt.Sprintf(format, args...)}
	}
	if want := baseSchemaFrames(c.state.schema); !slices.Equal(r.schema, want) {
		return wrong("a base of %d schema frames, not the %d of schema %d", len(r.schema), len(want), c.state.schema.version)
	}
	for _, t := range c.state.tables {
		if !t.def.Durable {
			continue
		}
		if got := r.totals[t.def.ID]; got != (tally{rows: int64(t.Len()), sum: t.sum}) {
			return wrong("a base with %d rows of sum %x of table %q, which has %d of %x", got.rows, got.sum, t.def.Name, t.Len(), t.sum)
		}
		delete(r.totals, t.def.ID)
	}
	for id, t := range r.totals {
		return wrong("a base with %d rows of table %d, which the state does not have", t.rows, id)
	}
	return nil
}
