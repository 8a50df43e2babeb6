package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A compaction keeps what is still good of the base. What it writes is, per table in
// the order of row ids, the present record of
//
//   - every touched row (compact_touched.go) that there still is,
//   - every row of the files that it rewrites: the deadest of those that are more dead
//     than alive, and the smallest ones when there are many,
//   - every row of a table whose definition changed since some of its rows were
//     written, and of one most of whose rows would be written anyway.
//
// What it keeps of the base loses exactly the rows that are written or are gone. So
// the state is in the new files and in the kept ones, each row once: that is proven
// for each table before anything is published, by number and by sum.
//
// What a compaction writes is about what the log has, and each dead byte of the base
// pays once for a live one that is written beside it: however large a table is that
// does not change, it is not written again.

const (
	// mostKept is how many files are kept at most, fewKept how many when there were
	// more: so the smallest are put together once in as many compactions as that are apart.
	mostKept = 64
	fewKept  = 48
	// fileShare: files are no smaller than this share of the live rows, so that even
	// with half of them dead all fit under fewKept.
	fileShare = 24
	// rescueShare: of files that are more dead than alive, one is rewritten, and more up
	// to this share of all live rows. Files that were written together grow old together:
	// all of them at once would be beside what they replace. mostDead: that is no bound
	// when what is dead in the others is more than this share of all live rows.
	rescueShare = 4
	mostDead    = 2
	// idleShare: a compaction that somebody asked for writes the base anew when more
	// than this share of it is dead.
	idleShare = 10
)

// compactMode is what a compaction is for.
type compactMode struct {
	thorough bool // somebody asked for it: what is left of garbage is worth more
	whole    bool // nothing is kept
	rate     *byteRate
	placer   placer // finds rows in the base; nil: they are looked for there
}

// compactMode is the mode of a compaction that is due, or of one that somebody asked
// for.
func (s *Store) compactMode(auto bool) compactMode {
	if !auto {
		return compactMode{thorough: true, placer: s.basePlacer()}
	}
	return compactMode{rate: s.compactRate(), placer: s.basePlacer()}
}

// tablePlan is what is written of a table, and what kept files have of it.
type tablePlan struct {
	*Table
	columns []uint32
	whole   bool    // all rows are written,
	ids     []int64 // else the rows of these ids that there are, which ascend
	kept    tally   // rows in kept files
	held    bool    // a kept file has a fragment of it
}

// basePlan is how a base is made of the one before and the log.
type basePlan struct {
	tables []*tablePlan // durable ones in the order of the schema
	kept   []*baseFile  // as they will be, in their order
	gens   []*generation
	steps  []catalog.ShardGeneration
	bytes  int64 // of the records that are written, about
}

// planFile is a file of the base before.
type planFile struct {
	*baseFile // a copy, as the file is when it is kept
	out       bool
	gathered  bool
}

type planner struct {
	cut     *cut
	mode    compactMode
	limit   int64 // size of a file
	read    baseReader
	placer  placer
	files   []*planFile
	tables  []*tablePlan
	byID    map[TableID]*tablePlan
	scratch []byte
}

// baseFileSize is the size at which a file of the base is full.
func (s *Store) baseFileSize(c *cut) int64 { return max(s.opts.GenerationSize, c.state.live/fileShare) }

// planBase decides what becomes of the base. The caller has the compactor's turn.
func (s *Store) planBase(ctx context.Context, c *cut, mode compactMode) (_ *basePlan, err error) {
	p := &planner{cut: c, mode: mode, limit: s.baseFileSize(c), read: baseReader{s: s, ctx: ctx, rate: mode.rate}, byID: map[TableID]*tablePlan{}}
	for _, t := range c.state.tables {
		if t.def.Durable {
			tp := &tablePlan{Table: t, columns: t.def.columnIDs()}
			p.tables = append(p.tables, tp)
			p.byID[t.def.ID] = tp
		}
	}
	s.mu.Lock()
	base := s.base
	gens, steps := s.replacedBy(c.lsn)
	s.mu.Unlock()
	if len(base) == 0 || mode.whole {
		p.all()
	} else {
		defer func() {
			if cerr := p.read.close(); err == nil {
				err = cerr
			}
		}()
		touched, err := s.touchedRows(ctx, gens, mode.rate)
		if err != nil {
			return nil, err
		}
		p.placer = mode.placer
		if err := p.parts(base, touched); err != nil {
			return nil, err
		}
	}
	return p.plan(gens, steps), nil
}

// all keeps nothing.
func (p *planner) all() {
	p.files = nil
	for _, t := range p.tables {
		t.whole, t.ids = true, nil
	}
}

// parts decides which files are kept, and which rows are written.
func (p *planner) parts(base []*baseFile, touched map[TableID][]int64) error {
	for _, t := range p.tables {
		t.ids = touched[t.def.ID]
		t.whole = t.mostly()
	}
	for _, f := range base {
		if err := p.take(f); err != nil {
			return err
		}
	}
	for _, t := range p.tables {
		if t.whole || len(t.ids) == 0 {
			continue
		}
		if err := p.supersede(t); err != nil {
			return err
		}
	}
	for {
		for _, f := range p.files {
			p.bury(f)
		}
		p.choose()
		more, err := p.gather()
		if err != nil || !more {
			return err
		}
	}
}

// mostly reports whether so many rows of a table were touched that all of it may be
// written, as when there is none any more.
func (t *tablePlan) mostly() bool { return 4*len(t.ids) >= 3*t.Len() }

// take makes a file of the base one that may be kept. Most of what is kept is not read,
// so it is asked for its size at least.
func (p *planner) take(f *baseFile) error {
	if err := p.read.s.hasExtent(f.path, f.info.Bytes); err != nil {
		return err
	}
	c := *f
	c.fragments = slices.Clone(f.fragments)
	if !c.located() {
		if err := p.read.locate(&c); err != nil {
			return err
		}
	}
	if !c.allSummed() {
		if err := p.read.addUp(&c); err != nil {
			return err
		}
	}
	for i := range c.fragments {
		x := &c.fragments[i]
		// Rows that were written by another definition are all written anew.
		if t := p.byID[x.table]; t != nil && x.live > 0 && LSN(t.def.Version) > c.lsn {
			t.whole = true
		}
	}
	p.files = append(p.files, &planFile{baseFile: &c})
	return nil
}

// bury deletes all rows of tables that are written whole, or are in no base any more.
func (p *planner) bury(f *planFile) {
	for i := range f.fragments {
		x := &f.fragments[i]
		if x.table == 0 {
			continue
		}
		if t := p.byID[x.table]; t == nil || t.whole {
			x.kill()
		}
	}
}

// sizes are the bytes of all rows of a file, and of those that are not deleted.
func (f *baseFile) sizes() (all, live int64) {
	for _, x := range f.fragments {
		all += x.bytes
		live += x.bytes - x.dead
	}
	return all, live
}

// share is the part of a file's bytes that is live.
func (f *baseFile) share() float64 {
	all, live := f.sizes()
	return float64(live) / float64(max(all, 1))
}

// liveRows are the rows of a file that are not deleted.
func (f *baseFile) liveRows() (n int64) {
	for _, x := range f.fragments {
		if x.table != 0 {
			n += x.live
		}
	}
	return n
}

// choose says of more files that they are not kept.
func (p *planner) choose() {
	var kept []*planFile
	var all, live, rescued int64
	for _, f := range p.files {
		a, l := f.sizes()
		if f.out = f.out || f.liveRows() == 0; f.out {
			rescued += l
			continue
		}
		kept = append(kept, f)
		all += a
		live += l
	}
	// The deadest first: they have the least to write for what they free.
	slices.SortStableFunc(kept, func(a, b *planFile) int { return cmp.Compare(a.share(), b.share()) })
	for len(kept) > 0 && kept[0].share() < 0.5 {
		f := kept[0]
		a, l := f.sizes()
		if !p.mode.thorough && rescued > 0 && rescueShare*(rescued+l) > p.cut.state.live && mostDead*(all-live) <= p.cut.state.live {
			break
		}
		f.out, kept = true, kept[1:]
		all, live, rescued = all-a, live-l, rescued+l
	}
	if p.mode.thorough && (idleShare*(all-live) > all || len(kept) > 1 && live <= p.limit) {
		for _, f := range kept {
			f.out = true
		}
		return
	}
	if len(kept) <= mostKept {
		return
	}
	slices.SortStableFunc(kept, func(a, b *planFile) int {
		_, x := a.sizes()
		_, y := b.sizes()
		return cmp.Compare(x, y)
	})
	for _, f := range kept[:len(kept)-fewKept] {
		f.out = true
	}
}

// gather adds the live rows of files that are not kept to those that are written. It
// reports whether another table is written whole by now: then other files may be
// worth nothing any more.
func (p *planner) gather() (more bool, err error) {
	left := false
	for _, f := range p.files {
		left = left || !f.out
		if !f.out || f.gathered {
			continue
		}
		f.gathered = true
		for i := range f.fragments {
			x := &f.fragments[i]
			t := p.byID[x.table]
			if t == nil || t.whole || x.live == 0 {
				continue
			}
			err := p.read.scan(f.baseFile, x, func(ordinal uint32, _ wal.Frame, ids wal.RowIDs, _ row.Record) error {
				if x.deleted == nil || !x.deleted.Contains(ordinal) {
					t.ids = append(t.ids, ids.Rowid)
				}
				return nil
			})
			if err != nil {
				return false, err
			}
		}
	}
	if !left {
		p.all()
		return false, nil
	}
	for _, t := range p.tables {
		if t.whole {
			continue
		}
		slices.Sort(t.ids)
		t.ids = slices.Compact(t.ids)
		if 10*len(t.ids) > 9*t.Len() { // what is left of it is not worth files of its own
			t.whole, more = true, true
		}
	}
	return more, nil
}

// plan is what was decided.
func (p *planner) plan(gens []*generation, steps []catalog.ShardGeneration) *basePlan {
	plan := &basePlan{tables: p.tables, gens: gens, steps: steps}
	for _, f := range p.files {
		if f.out {
			continue
		}
		plan.kept = append(plan.kept, f.baseFile)
		for _, x := range f.fragments {
			if t := p.byID[x.table]; t != nil {
				t.held = true
				t.kept.rows += x.live
				t.kept.sum = t.kept.sum.Add(x.liveSum)
			}
		}
	}
	for _, t := range p.tables {
		switch {
		case t.whole:
			plan.bytes += t.live
		case t.Len() > 0:
			plan.bytes += int64(float64(t.live) * float64(len(t.ids)) / float64(t.Len()))
		}
	}
	return plan
}
