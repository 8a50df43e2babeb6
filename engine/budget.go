package engine

import (
	"errors"
	"fmt"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/tree"
)

// The memory of tables is bounded by Options.MemoryBudget. What counts is an
// estimate, the sum of what trees say of themselves (tree.Rows.Memory) and of the
// rows of resident=keys tables that a transaction holds until it is appended. It
// belongs to a state: a transaction starts from the estimate of its base, adds what
// a row changed in its table, and leaves the estimate of the root it publishes.
// Old states that a reader keeps, the undo log and buffers of the log do not
// count.

// ErrNoMemory: a row, an index or the log does not fit the memory budget.
var ErrNoMemory = errors.New("engine: the memory budget is used up")

// MemoryError refuses what would take the tables above the memory budget. It is
// an ErrNoMemory.
type MemoryError struct {
	Table    *TableDef // that was written, nil when the log was replayed
	Largest  *TableDef
	Rows     int   // of the largest table
	Bytes    int64 // of the largest table
	Estimate int64 // of all tables, with what was refused
	Budget   int64
	Source   string // of the budget
	InMemory bool   // the store has no log that rows could be left in
	Past     bool   // a table of a branch point was read
}

// Error names the largest table, its rows and bytes, the estimate, the budget and
// where that is from.
func (e *MemoryError) Error() string {
	what := "out of memory"
	switch {
	case e.Past:
		what += " while a table of a branch point is read"
	case e.Table == nil:
		what += " while the log is read"
	case e.Table.ID != e.Largest.ID:
		what += " for table " + e.Table.Name
	}
	return fmt.Sprintf("%s: table %s has %d rows in %d bytes, all tables take %d bytes, and the budget is %d bytes (%s)",
		what, e.Largest.Name, e.Rows, e.Bytes, e.Estimate, e.Budget, e.Source)
}

// Unwrap returns ErrNoMemory.
func (e *MemoryError) Unwrap() error { return ErrNoMemory }

// ResidentBytes estimates the memory of the table's rows and indexes.
func (t *Table) ResidentBytes() int64 {
	if t.past != nil {
		if t = t.past.loaded.Load(); t == nil {
			return 0
		}
	}
	n := t.rows.Memory()
	for _, ix := range t.indexes {
		n += ix.Memory()
	}
	if t.src != nil {
		n += t.src.bytes
	}
	return n
}

// weigh sets the estimate of a state from that of all its tables.
func (r *root) weigh() {
	r.memory = 0
	for _, t := range r.tables {
		r.memory += t.ResidentBytes()
	}
}

// memory estimates what the table takes as of now.
func (h *TxTable) memory() int64 {
	n := h.rows.Memory()
	for i := range h.indexes {
		n += h.indexes[i].tree.Memory()
	}
	if h.st != nil {
		n += h.st.bytes
	}
	return n
}

// weigh brings the transaction's estimate up to date with the table and returns
// what it took.
func (h *TxTable) weigh() (grown int64) {
	now := h.memory()
	grown = now - h.weight
	h.weight = now
	h.tx.memory += grown
	return grown
}

// weighAll computes the transaction's estimate from that of all tables.
func (t *txState) weighAll() {
	t.memory = 0
	for i := range t.slots {
		if h := t.slots[i].h; h != nil && h.writable {
			h.weight = h.memory()
			t.memory += h.weight
		} else {
			t.memory += t.slots[i].base.ResidentBytes()
		}
	}
}

// tight reports that a row of so many bytes is not known to fit. Far below the
// budget no key need be made: none is longer than the record beside some bytes for
// each column, or twice that with its escapes.
func (h *TxTable) tight(bytes int) bool {
	if h.tx.budget == 0 {
		return false
	}
	rough := int64(1+len(h.indexes)) * int64(2*bytes+16*len(h.def.Columns)+64)
	return h.tx.memory+rough+h.tx.besides() > h.tx.budget
}

// fit refuses a row that would take the tables above the budget, before anything
// is changed: a change that is undone may leave leaves behind that it split. The
// row replaces the record old, if it has one; a row in memory that does
// not get longer is never refused.
//
// What a row takes is known but for the leaf it may need, of which it counts for a
// share. So an estimate can come to lie above the budget, by as much as shares may
// be wrong (tree.Rows.Memory), and then all that grows is refused.
func (h *TxTable) fit(rowid int64, rec, old row.Record) error {
	t := h.tx
	need := h.need(rowid, rec)
	if old != "" {
		need -= h.need(rowid, old)
		if h.st != nil { // it stays, in the log or among what is held until then
			need += int64(len(old))
		}
	}
	if need <= 0 || t.fits(need) {
		return nil
	}
	return t.noMemory(h.def, t.memory+need+t.besides())
}

// besides is what old states take of the budget.
func (t *txState) besides() int64 {
	if t.pasts == nil {
		return 0
	}
	return t.pasts.held()
}

// fits reports whether there is room for so many bytes more, for which old states
// that nobody reads have to go.
func (t *txState) fits(need int64) bool {
	over := t.memory + need + t.besides() - t.budget
	if over > 0 && t.pasts != nil && t.besides() > 0 {
		t.pasts.makeRoom(over, false)
		over = t.memory + need + t.besides() - t.budget
	}
	return over <= 0
}

// need estimates what a row takes.
func (h *TxTable) need(rowid int64, rec row.Record) int64 {
	n := int64(0)
	if h.st != nil { // a locator, and the record until the transaction is appended
		n = int64(len(rec)) + h.rows.Cost(locatorSize)
	} else {
		n = h.rows.Cost(len(rec))
	}
	for i := range h.indexes {
		x := &h.indexes[i]
		h.newKey, _ = h.keys.append(h.newKey[:0], x.def, rec, rowid)
		n += x.tree.Cost(len(h.newKey))
	}
	return n
}

// locatorSize is the length of most locators.
const locatorSize = 8

// noMemory is the error of a write to a table, and tells of the first one.
func (t *txState) noMemory(def *TableDef, estimate int64) error {
	e := &MemoryError{Table: def, Estimate: estimate, Budget: t.budget, InMemory: t.unlogged}
	for i := range t.slots {
		h, base := t.slots[i].h, t.slots[i].base
		rows, bytes := base.rows, int64(0)
		if h != nil && h.writable {
			rows, bytes = h.rows, h.memory()
		} else {
			bytes = base.ResidentBytes()
		}
		if e.Largest == nil || bytes > e.Bytes {
			e.Largest, e.Rows, e.Bytes = base.def, rows.Len(), bytes
		}
	}
	if t.told != nil {
		t.told(e)
	}
	return e
}

// noMemory completes the error of a transaction and sends one event per table and
// process. The caller holds the write lock.
func (s *Store) noMemory(e *MemoryError) {
	e.Source = s.opts.BudgetSource
	if s.outOfMemory == nil {
		s.outOfMemory = map[TableID]bool{}
	}
	if !s.outOfMemory[e.Largest.ID] {
		s.outOfMemory[e.Largest.ID] = true
		s.event(Event{Kind: EventMemoryFull, Table: e.Largest.Name, Bytes: e.Estimate, Err: e})
	}
}

// checkBudget refuses a state that was recovered and does not fit. The same rows may
// have been within the budget while they were written, in other leaves: what the
// estimates may differ by is let pass, and then all that grows is refused.
func (s *Store) checkBudget(r *root) error {
	trees := 0
	for _, t := range r.tables {
		trees += 1 + len(t.indexes)
	}
	if s.opts.MemoryBudget == 0 || r.memory <= s.opts.MemoryBudget+tree.Slack(trees, s.opts.MemoryBudget) {
		return nil
	}
	e := &MemoryError{Estimate: r.memory, Budget: s.opts.MemoryBudget, Source: s.opts.BudgetSource}
	for _, t := range r.tables {
		if n := t.ResidentBytes(); e.Largest == nil || n > e.Bytes {
			e.Largest, e.Rows, e.Bytes = t.def, t.Len(), n
		}
	}
	return e
}

// weigh notes what the rows of a table take at least. Indexes are made at the end.
func (r *replay) weigh(t *replayTable) {
	now := int64(t.rows.bytes) + t.count*tree.LeastRow
	r.memory += now - t.weight
	t.weight = now
}

// room is fit with more rows, and bytes of their records, than are counted yet.
func (r *replay) room(rows int, bytes int64) error {
	more := bytes + int64(rows)*tree.LeastRow
	r.memory += more
	err := r.fit()
	r.memory -= more
	return err
}

// fit ends a replay whose rows alone do not fit the budget: the rest would not
// make it smaller, as a rule, and there may be no memory for it.
func (r *replay) fit() error {
	if r.budget == 0 || r.memory <= r.budget+tree.Slack(len(r.tables), r.budget) {
		return nil
	}
	e := &MemoryError{Estimate: r.memory, Budget: r.budget, Source: r.source}
	for _, t := range r.tables {
		if e.Largest == nil || t.weight > e.Bytes {
			e.Largest, e.Rows, e.Bytes = t.def, int(t.count), t.weight
		}
	}
	return e
}
