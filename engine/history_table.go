package engine

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/tidemarkdb/tidemark/engine/tree"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// A table of a history is loaded when it is first used: the files that have records
// of it are read, one after the other, for where each row is, and then every row once,
// for the indexes and for the proof of the sum that the footers name; what index segments
// have of it is taken from them instead. A row has all its
// records in the log of one shard, so no order between shards matters, and the files
// are sealed, so all of each belongs to the state. What is in memory then has the form
// of every keys table. It may be let go of at any time, and is loaded again.

// pastTable is a table of a history.
type pastTable struct {
	state *pastState
	def   *TableDef
	count tally // what the footers claim

	loaded atomic.Pointer[Table] // nil: to be loaded
	used   atomic.Uint64         // when, by histories.clock
}

// Load makes sure that the rows of a table of a branch point can be found, for which
// its files are read when it is first used; any other table is as it is. ctx ends the
// reading. Whoever reads the table without having called it waits without a context,
// until the store is closed.
func (t *Table) Load(ctx context.Context) error {
	if t.past == nil {
		return nil
	}
	_, err := t.past.get(ctx)
	return err
}

// whole returns the table with its rows. Whoever has it keeps them in memory.
func (t *Table) whole() (*Table, error) {
	if t.past == nil {
		return t, nil
	}
	return t.past.get(context.Background())
}

// get returns the table with its rows.
func (p *pastTable) get(ctx context.Context) (*Table, error) {
	h := &p.state.s.histories
	p.used.Store(h.clock.Add(1))
	if t := p.loaded.Load(); t != nil {
		return t, nil
	}
	t, err := p.state.s.loadPast(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("engine: table %q of an old state: %w", p.def.Name, err)
	}
	return t, nil
}

// loadPast loads a table of a history. One is loaded at a time: what it takes counts
// against the budget before the next one begins.
func (s *Store) loadPast(ctx context.Context, p *pastTable) (*Table, error) {
	done, err := s.keepOpen()
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := s.jobContext(ctx)
	defer cancel()
	h := &s.histories
	if err := h.loading.takeWithin(ctx); err != nil {
		return nil, closedCause(ctx, err)
	}
	defer h.loading.give()
	if t := p.loaded.Load(); t != nil {
		return t, nil
	}
	if t := h.revive(p); t != nil {
		return t, nil
	}
	defer h.unfinished.Store(0)
	l := newPastLoad(p)
	t, err := l.load(ctx)
	if err != nil {
		return nil, closedCause(ctx, err)
	}
	h.loaded(p, t)
	return t, nil
}

// pastLoad loads a table.
type pastLoad struct {
	*pastTable
	replay *replay
	t      *replayTable
	frames uint64     // of the table in the file at hand
	cursor baseCursor // in that file, if it is one of a base
}

func newPastLoad(p *pastTable) *pastLoad {
	o := p.state.objects
	view := &Table{def: p.def, rows: new(rowTree), src: &source{objects: o, lease: p.state.lease}, indexes: make([]*indexTree, len(p.def.Indexes))}
	l := &pastLoad{pastTable: p, replay: &replay{objects: o}, t: newReplayTable(view)}
	l.t.rows, l.t.owned = ownRows(view.rows), true
	l.replay.tables = []*replayTable{l.t}
	return l
}

func (l *pastLoad) load(ctx context.Context) (*Table, error) {
	st := l.state
	if err := l.segments(ctx); err != nil {
		return nil, err
	}
	for _, f := range oldestPast(st.base) {
		if err := l.file(ctx, f, true); err != nil {
			return nil, err
		}
	}
	for _, log := range st.logs {
		for _, f := range log {
			if err := l.file(ctx, f, false); err != nil {
				return nil, err
			}
		}
	}
	l.t.sum = l.count.sum
	src := l.t.base.src
	n := &Table{def: l.def, rows: l.t.rows.give(), src: &source{objects: src.objects, lease: src.lease, ended: func() error { return st.ended(ctx) }},
		indexes: make([]*indexTree, len(l.def.Indexes)), sum: l.count.sum}
	if err := l.replay.complete(l.t, n); err != nil {
		return nil, notMade(l.anyPath(), err)
	}
	n.src = src
	return n, l.fit(n.ResidentBytes())
}

// segments loads what the index segments of the state have of the table.
func (l *pastLoad) segments(ctx context.Context) error {
	st := l.state
	if len(st.segments) == 0 {
		return nil
	}
	loads := newSegmentLoads(st.s, st.segments)
	loads.ended = func() error { return st.ended(ctx) }
	loads.room = func(rows int, bytes int64) error { return l.fit(bytes + int64(rows)*tree.LeastRow) }
	for _, f := range st.base {
		if f.bad == nil {
			loads.file(f.generation, &f.want)
		}
	}
	return loads.table(l.replay, l.t)
}

// oldestPast returns base files in the order in which they were written, see oldestFirst.
func oldestPast(files []*pastFile) []*pastFile {
	return slices.SortedStableFunc(slices.Values(files), func(a, b *pastFile) int { return cmp.Compare(a.want.LSN, b.want.LSN) })
}

// anyPath names a file that has rows of the table.
func (l *pastLoad) anyPath() (path string) {
	for _, log := range append([][]*pastFile{l.state.base}, l.state.logs...) {
		for _, f := range log {
			if f.records(l.def.ID) > 0 {
				path = f.path
			}
		}
	}
	return path
}

// file finds the places of rows in a file, if it has some.
func (l *pastLoad) file(ctx context.Context, f *pastFile, base bool) error {
	claim := f.contribution(l.def.ID)
	want := f.records(l.def.ID)
	if base {
		at := fragmentOf(&f.want, l.def.ID)
		if at < 0 {
			return nil
		}
		if live, _ := liveOf(&f.want, at); live.rows == 0 {
			return nil // all of it is superseded
		}
		if f.bad != nil {
			return f.bad
		}
		var err error
		if claim, err = liveIn(&f.want, l.def.ID, claim); err != nil {
			return &CorruptError{File: f.path, Offset: f.size, Reason: err.Error()}
		}
		l.cursor = newBaseCursor(&f.want)
		l.cursor.begin(at)
		if segs := l.t.segs; segs != nil {
			x := segs.loads.fragmentOf(&f.want, at)
			if x.isSkipped() {
				return nil // its rows are loaded
			}
			l.t.tracks = segs.primary || x == nil || !x.covered
		}
	} else {
		l.t.tracks = l.t.segs != nil
	}
	if want == 0 {
		return nil
	}
	l.frames, l.replay.slot, l.t.tally = 0, f.slot, tally{}
	err := l.state.scan(ctx, f, func(fr wal.Frame) (bool, error) {
		if err := l.frame(fr, base); err != nil {
			return false, err
		}
		if l.frames%baseFlush == 0 {
			if err := l.fit(l.memory()); err != nil {
				return false, err
			}
		}
		return l.frames == want, nil // what is behind is of other tables
	})
	if err != nil {
		return err
	}
	if l.t.tally.rows != claim.rows {
		return &CorruptError{File: f.path, Offset: f.size, Reason: fmt.Sprintf(
			"the footer claims %d rows more for table %q, its records make %d", claim.rows, l.def.Name, l.t.tally.rows)}
	}
	l.t.count += l.t.tally.rows
	return l.fit(l.memory())
}

// frame takes a frame, if it is of the table.
func (l *pastLoad) frame(fr wal.Frame, base bool) error {
	switch fr.Kind {
	case wal.KindPut, wal.KindDelta, wal.KindTombstone:
		table, n := binary.Uvarint([]byte(fr.Payload[:min(len(fr.Payload), binary.MaxVarintLen64)]))
		if n <= 0 || table != uint64(l.def.ID) {
			return nil
		}
	default:
		return nil
	}
	l.frames++
	l.replay.size = uint32(fr.End() - fr.Offset)
	switch fr.Kind {
	case wal.KindPut:
		if base {
			return l.baseRow(fr)
		}
		p, err := wal.DecodePut(fr)
		if err != nil {
			return err
		}
		return l.put(p, fr.Offset)
	case wal.KindDelta:
		d, err := wal.DecodeDelta(fr)
		if err != nil {
			return err
		}
		return l.delta(d, fr.Offset)
	}
	d, err := wal.DecodeTombstone(fr)
	if err != nil {
		return err
	}
	if !l.replay.removePlace(l.t, d.Rowid) {
		return damaged(fr.Offset, "tombstone of row %d of table %q, which does not exist", d.Rowid, l.def.Name)
	}
	return l.known(d.Version, fr.Offset)
}

// baseRow takes a row of a base, unless it is superseded.
func (l *pastLoad) baseRow(fr wal.Frame) error {
	ids, _, err := wal.CutPut(fr)
	if err != nil {
		return err
	}
	if dead, err := l.cursor.row(ids, fr.Offset); dead || err != nil {
		return err
	}
	p, err := wal.DecodePut(fr)
	if err != nil {
		return err
	}
	before := l.t.tally.rows
	if err := l.put(p, fr.Offset); err != nil {
		return err
	}
	if l.t.tally.rows == before {
		return damaged(fr.Offset, "row %d of table %q is in the base twice", p.Rowid, l.def.Name)
	}
	return nil
}

func (l *pastLoad) put(p wal.Put, offset int64) error {
	if err := l.known(p.Version, offset); err != nil {
		return err
	}
	if n, _ := p.Rec.Columns(); n > len(l.def.Columns) {
		return damaged(offset, "row %d of table %q has %d columns", p.Rowid, l.def.Name, n)
	}
	l.replay.setPlace(l.t, p.Rowid, rowPlace{kind: filed, slot: l.replay.slot, off: offset, size: l.replay.size})
	return nil
}

func (l *pastLoad) delta(d wal.Delta, offset int64) error {
	if err := l.known(d.Version, offset); err != nil {
		return err
	}
	old, found := l.t.rows.get(d.Rowid)
	if !found {
		return damaged(offset, "delta for row %d of table %q, which does not exist", d.Rowid, l.def.Name)
	}
	return l.replay.deltaPlace(l.t, d, old, offset)
}

// known refuses a record by a definition that the table did not have yet.
func (l *pastLoad) known(version uint64, offset int64) error {
	if version > l.def.Version {
		return damaged(offset, "row of table %q by definition %d, the state has %d", l.def.Name, version, l.def.Version)
	}
	return nil
}

// memory is what the rows take at least.
func (l *pastLoad) memory() int64 {
	return int64(l.t.rows.bytes) + (l.t.count+l.t.tally.rows)*tree.LeastRow
}

// fit notes what the table takes so far, and ends the loading when there is no room
// for it, even without the tables that nobody uses.
func (l *pastLoad) fit(bytes int64) error {
	s := l.state.s
	h, budget := &s.histories, s.opts.MemoryBudget
	h.unfinished.Store(bytes)
	if budget == 0 {
		return nil
	}
	present := s.durable.Load().memory
	if over := present + h.held() - budget; over > 0 {
		h.makeRoom(over, true)
	}
	if all := present + h.held(); all > budget {
		return &MemoryError{Largest: l.def, Rows: int(l.t.count + l.t.tally.rows), Bytes: bytes, Estimate: all, Budget: budget, Source: s.opts.BudgetSource, Past: true}
	}
	return nil
}
