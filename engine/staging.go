package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/tree"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// staging is what a transaction did to a keys table. Its rows are records in
// memory until it is appended; the tree has staged locators for them, which name
// positions in source.staged. All handles of a table share it.
//
// A view sees as many of the records as there were when it was taken, also after
// a rollback to a mark: up to there the list is only appended to.
type staging struct {
	source
	viewed int      // records that a view may see
	near   rowPlace // of a row that was filed before

	steps []rowStep  // one per operation on the table, in their order
	next  int        // of steps, while the operations are encoded or filed
	filed []rowPlace // beside source.staged: where the last encoding puts them

	last  gotRow
	delta wal.Delta // scratch
	old   row.Decoder
	new   row.Decoder
	loc   [maxLocator]byte
}

// rowStep is what one operation did beside what its op says.
type rowStep struct {
	was rowPlace // of the row before it
	at  int      // position of the new record, -1 for a delete
}

// gotRow is the row that was read last: an update reads it once more.
type gotRow struct {
	rowid int64
	place rowPlace
	rec   row.Record
}

// newStaging returns one for a table.
func newStaging(t *Table) *staging {
	s := &staging{source: *t.src.published()}
	if _, loc, ok := t.rows.Max(); ok {
		if p, err := parseLocator(string(loc)); err == nil {
			s.near = p
		}
	}
	return s
}

// locator returns the locator of a place.
func (s *staging) locator(p rowPlace) row.Record {
	return row.Record(appendLocator(s.loc[:0], p))
}

// stage keeps a record and returns its locator.
func (s *staging) stage(rec row.Record) row.Record {
	s.staged = append(s.staged, rec)
	s.bytes += int64(len(rec))
	return s.locator(rowPlace{kind: staged, off: int64(len(s.staged) - 1), size: s.size(rec)})
}

// size guesses how long the locator of a record will be once it is filed.
func (s *staging) size(rec row.Record) uint32 {
	p := s.near
	p.kind, p.size = filed, uint32(len(rec)+frameAround)
	p.off += s.bytes + int64(len(s.staged))*frameAround
	return uint32(min(max(len(s.locator(p)), minStaged), maxStaged))
}

// frameAround is about what a frame takes beside its record.
const frameAround = 24

// unstage takes back the last record, unless a view may see it.
func (s *staging) unstage() {
	if n := len(s.staged) - 1; n >= s.viewed {
		s.bytes -= int64(len(s.staged[n]))
		s.staged[n] = ""
		s.staged = s.staged[:n]
	}
}

// done notes an operation that was made. was is the place of the row before it.
func (s *staging) done(kind opKind, was rowPlace) {
	at := len(s.staged) - 1
	if kind == opDelete {
		at = -1
	}
	s.steps = append(s.steps, rowStep{was, at})
}

// undone takes back the last operation and returns the place the row had before.
func (s *staging) undone() rowPlace {
	n := len(s.steps) - 1
	last := s.steps[n]
	s.steps = s.steps[:n]
	if last.at >= 0 && last.at == len(s.staged)-1 {
		s.unstage()
	}
	return last.was
}

// get returns the row of a locator, as of now, and its place.
func (s *staging) get(def *TableDef, rowid int64, loc row.Record) (row.Record, rowPlace, error) {
	p, err := parseLocator(string(loc))
	if err != nil {
		return "", p, err
	}
	if s.last.place == p && s.last.rowid == rowid {
		return s.last.rec, p, nil
	}
	rec, err := s.fold(def, rowid, p, nil)
	if err == nil && p.kind == filed {
		s.last = gotRow{rowid, p, rec}
	}
	return rec, p, err
}

// view returns the source of a view taken now.
func (s *staging) view() *source {
	v := s.source
	v.staged = v.staged[:len(v.staged):len(v.staged)]
	s.viewed = len(v.staged)
	return &v
}

// begin starts another encoding, or the filing, of all operations.
func (s *staging) begin() {
	s.next = 0
	if n := len(s.staged); len(s.filed) < n {
		s.filed = append(s.filed, make([]rowPlace, n-len(s.filed))...)
	}
}

// step returns what the next operation did.
func (s *staging) step() *rowStep {
	s.next++
	return &s.steps[s.next-1]
}

// encode appends the frame of the next operation to the log that ends with b, in
// the file of a slot, and notes where it is. A changed row whose newest record
// is in the same file becomes a delta, unless that makes the chain too long or
// saves nothing: so no chain leaves its file, and the one record more than
// maxHops is a whole row.
func (s *staging) encode(b *wal.Builder, slot uint32, def *TableDef, o *op) error {
	st := s.step()
	if o.kind == opDelete {
		return b.Tombstone(uint64(def.ID), def.Version, o.rowid)
	}
	was := st.was
	if was.kind == staged {
		was = s.filed[was.off] // by an earlier operation of this transaction
	}
	start, from := b.Len(), b.Offset()
	hops := uint8(0)
	if o.kind == opUpdate && was.kind == filed && was.slot == slot && was.hops < maxHops && s.changed(o) {
		s.delta.Table, s.delta.Version, s.delta.Rowid, s.delta.Prev = uint64(def.ID), def.Version, o.rowid, uint64(was.off)
		if err := b.Delta(&s.delta); err != nil {
			return err
		}
		hops = was.hops + 1
		if int64(b.Len()-start) >= wal.PutSize(uint64(def.ID), def.Version, o.rowid, o.new) {
			b.Truncate(start)
			hops = 0
		}
	}
	if hops == 0 {
		if err := b.Put(uint64(def.ID), def.Version, o.rowid, o.new); err != nil {
			return err
		}
	}
	s.filed[st.at] = rowPlace{kind: filed, slot: slot, off: from, size: uint32(b.Len() - start), hops: hops}
	return nil
}

// changed fills delta with the columns that an update changed, false when it
// changed all of them or their number. A delta without a column is no record: an
// update that changed nothing has the first one.
func (s *staging) changed(o *op) bool {
	n, err := o.new.Columns()
	if err != nil {
		return false
	}
	if before, err := o.old.Columns(); err != nil || before != n {
		return false
	}
	s.old.Reset(o.old)
	s.new.Reset(o.new)
	cols := s.delta.Columns[:0]
	for i := range n {
		if v := s.new.Column(i); v != s.old.Column(i) {
			cols = append(cols, wal.DeltaColumn{Ordinal: uint32(i), Value: v})
		}
	}
	if len(cols) == 0 && n > 0 {
		cols = append(cols, wal.DeltaColumn{Value: s.new.Column(0)})
	}
	s.delta.Columns = cols
	return len(cols) > 0 && len(cols) < n
}

// fileRows replaces the staged locators of a transaction that was appended by
// those of its frames: of each row that is left once, in the order of their ids. The
// records are let go.
func (t *txState) fileRows() {
	if !t.beginStaged() {
		return
	}
	final := t.finalHandles()
	lists := make([]filing, len(t.tables))
	for i := range t.ops.len() {
		o := t.ops.at(i)
		if o.kind == opSchema {
			continue
		}
		st := t.tables[o.table].st
		if st == nil {
			continue
		}
		at := st.step().at
		if h := final[o.table]; h != nil && at >= 0 { // the table was not dropped, nor the row deleted
			lists[h.seq].add(o.rowid, st.locator(st.filed[at]))
		}
	}
	for i, h := range t.tables {
		if h.st == nil {
			continue
		}
		if changes := lists[i].last(); len(changes) > 0 {
			h.rows.Replace(changes)
		}
	}
	for _, h := range t.tables {
		if h.st != nil {
			h.st.source.staged, h.st.bytes, h.st.steps, h.st.filed = nil, 0, nil, nil
		}
	}
}

// filing lists where rows of a table are, one change after the other.
type filing struct {
	changes []tree.Change
	block   strings.Builder // of the locators
}

const filingBlock = 16 << 10

// add notes where a row is. It may be deleted later.
func (f *filing) add(rowid int64, loc row.Record) {
	if f.block.Cap()-f.block.Len() < len(loc) {
		f.block = strings.Builder{}
		f.block.Grow(filingBlock)
	}
	at := f.block.Len()
	f.block.WriteString(string(loc))
	f.changes = append(f.changes, tree.Change{Rowid: rowid, Rec: row.Record(f.block.String()[at:])})
}

// last returns the last change of each row, in the order of their ids. Those that are
// there no more Replace leaves out.
func (f *filing) last() []tree.Change {
	byID := func(a, b tree.Change) int { return cmp.Compare(a.Rowid, b.Rowid) }
	if !slices.IsSortedFunc(f.changes, byID) {
		slices.SortStableFunc(f.changes, byID)
	}
	kept := f.changes[:0]
	for i, c := range f.changes {
		if i+1 == len(f.changes) || f.changes[i+1].Rowid != c.Rowid {
			kept = append(kept, c)
		}
	}
	return kept
}

// beginStaged starts another pass over all operations, false when none is on a
// keys table.
func (t *txState) beginStaged() (some bool) {
	for _, h := range t.tables {
		if st := h.st; st != nil && len(st.steps) > 0 {
			st.begin()
			some = true
		}
	}
	return some
}
