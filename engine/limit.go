package engine

import (
	"errors"
	"fmt"
)

// OnFull says what becomes of an insert into a table that has MaxRows rows.
type OnFull uint8

// What a full table does.
const (
	OnFullRefuse     OnFull = iota // the insert fails with a *LimitError
	OnFullDropOldest               // the caller makes room with Drop
)

// String is the spelling of the option.
func (o OnFull) String() string {
	if o == OnFullDropOldest {
		return "drop_oldest"
	}
	return "refuse"
}

// ErrTableFull: the table has as many rows as its definition allows.
var ErrTableFull = errors.New("engine: the table is full")

// LimitError refuses a row above TableDef.MaxRows. It is an ErrTableFull.
type LimitError struct {
	Def    *TableDef
	Rows   int
	Replay bool // the log has more rows than the table may have: it was not opened
}

// Error names the table and its limit.
func (e *LimitError) Error() string {
	if e.Replay {
		return fmt.Sprintf("the log holds %d rows of table %s, whose max_rows is %d", e.Rows, e.Def.Name, e.Def.MaxRows)
	}
	return fmt.Sprintf("table %s is full: it has %d rows, max_rows is %d", e.Def.Name, e.Rows, e.Def.MaxRows)
}

// Unwrap returns ErrTableFull.
func (e *LimitError) Unwrap() error { return ErrTableFull }

// Full reports whether the table takes no further row.
func (h *TxTable) Full() bool { return h.def.MaxRows > 0 && int64(h.rows.Len()) >= h.def.MaxRows }

// Oldest returns the row with the smallest id, which is the one that drop_oldest
// means: ids are handed out in rising order unless the program gives its own.
func (h *TxTable) Oldest() (int64, bool) {
	it := h.rows.Iter()
	if !it.Next() {
		return 0, false
	}
	return it.Key(), true
}

// Drop is Delete of a row that makes room for another, and is counted as that.
func (h *TxTable) Drop(rowid int64) error {
	if h.def.OnFull != OnFullDropOldest {
		return fmt.Errorf("%w: table %q drops no rows", ErrInvalidChange, h.def.Name)
	}
	if err := h.Delete(rowid); err != nil {
		return err
	}
	h.tx.ops.last().kind = opDrop
	h.tx.dropped++
	return nil
}

// checkLimits refuses a state with more rows in a table than it may have: the
// log was not written under the limit, and which rows are too many nobody can
// tell.
func (r *root) checkLimits() error {
	for _, t := range r.tables {
		if def := t.def; def.MaxRows > 0 && int64(t.Len()) > def.MaxRows {
			return &LimitError{def, t.Len(), true}
		}
	}
	return nil
}
