package vtab

import (
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// A RETURNING clause is not SQLite's to evaluate on a virtual table: it shows
// what went into xUpdate, not what was stored, and rows that were left out. So
// the driver cuts it out of the text, xUpdate collects the rows it has stored,
// and the list of the clause is evaluated over them as a row source: of all rows
// once the statement has ended or, where a value depends on when it is looked
// at or may take the statement back, of each row before xUpdate returns.

// Returning collects the rows that one statement returns. It is used again for
// each run of the statement.
type Returning struct {
	// Table is the one the statement writes to. Rows that actions, triggers and
	// REPLACE change are not returned.
	Table engine.TableID
	// List evaluates the list of the clause over the source that ReturningSource
	// names.
	List *Stmt
	// EachRow has List evaluated row by row.
	EachRow bool
	// Once is for an UPDATE with FROM, which may change a row several times and
	// returns it once.
	Once bool

	rows   []engine.Entry
	values [][]row.Value // by EachRow, instead of rows
	old    []int64       // by Once, the rowid each row had
	known  map[int64]int // by Once, where a row of an old rowid is
	one    [1]engine.Entry
}

// ReturningSource returns the FROM and WHERE of the statement that evaluates a
// RETURNING clause on a table.
func ReturningSource(def *engine.TableDef, eachRow bool) string {
	kind := sourceCollected
	if eachRow {
		kind = sourceReturned
	}
	name := quoteName(def.Name)
	return fmt.Sprintf("FROM main.%s WHERE %s.%s=%d", name, name, quoteName(hiddenName(def)), kind)
}

// SetReturning has the rows collected that the statement about to run returns;
// nil ends that.
func (c *Conn) SetReturning(r *Returning) {
	if c.returning != nil {
		c.returning.clear()
	}
	if c.returning = r; r != nil {
		r.clear()
	}
}

func (r *Returning) clear() {
	clear(r.rows)
	r.rows, r.values, r.old, r.known = r.rows[:0], nil, nil, nil
	if cap(r.rows) > keepList {
		r.rows = nil
	}
}

// Returned calls f for each row the statement returned, which has ended, with
// its values. They are borrowed for the call.
func (c *Conn) Returned(f func(value func(i int) row.Value)) error {
	r := c.returning
	if r == nil {
		return nil
	}
	r.order()
	if r.EachRow {
		for _, values := range r.values {
			f(func(i int) row.Value { return values[i] })
		}
		return nil
	}
	if len(r.rows) == 0 {
		return nil
	}
	c.pushFrame(frame{kind: sourceCollected, rows: r.rows})
	defer c.popFrame()
	defer c.keepChanges()()
	for {
		more, err := r.List.Step()
		if err != nil || !more {
			_ = r.List.Reset() // repeats the error
			return err
		}
		f(r.List.Column)
	}
}

// order sorts the rows of an UPDATE with FROM by their old rowids: SQLite goes
// through its own tables in that order.
func (r *Returning) order() {
	if len(r.known) < 2 {
		return
	}
	at := make([]int, len(r.old))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int {
		if r.old[a] < r.old[b] {
			return -1
		}
		return 1
	})
	if r.EachRow {
		r.values = permuted(r.values, at)
	} else {
		r.rows = permuted(r.rows, at)
	}
	r.known = nil
}

func permuted[T any](list []T, at []int) []T {
	out := make([]T, len(list))
	for i, k := range at {
		out[i] = list[k]
	}
	return out
}

// returns reports whether the statement that runs now returns the rows of the
// change: one it makes itself.
func (c *Conn) returns(t *table) *Returning {
	if r := c.returning; r != nil && r.Table == t.id && len(c.running) == 1 && c.depth == 0 {
		return r
	}
	return nil
}

// returned collects the row as it was stored or, of a DELETE, as it was. old is
// the rowid it had.
func (ch *change) returned(old int64, rec row.Record) error {
	r := ch.ret
	if r == nil {
		return nil
	}
	entry := engine.Entry{Rowid: ch.rowid, Rec: rec}
	at, again := len(r.rows)+len(r.values), false
	if r.Once {
		if at, again = r.place(old); !again {
			r.old = append(r.old, old)
		}
	}
	if !r.EachRow {
		if again {
			r.rows[at] = entry
		} else {
			r.rows = append(r.rows, entry)
		}
		return nil
	}
	values, err := ch.evaluate(r, entry)
	switch {
	case err != nil:
		return err
	case again:
		r.values[at] = values
	default:
		r.values = append(r.values, values)
	}
	return nil
}

// place returns where the row of an old rowid is, or goes.
func (r *Returning) place(old int64) (at int, again bool) {
	if at, again = r.known[old]; again {
		return at, true
	}
	if r.known == nil {
		r.known = map[int64]int{}
	}
	at = len(r.old)
	r.known[old] = at
	return at, false
}

// evaluate evaluates the list over a row.
func (ch *change) evaluate(r *Returning, entry engine.Entry) ([]row.Value, error) {
	c := ch.c
	if ch.inserted {
		c.SetLastInsertRowid(ch.result())
	}
	r.one[0] = entry
	c.pushFrame(frame{kind: sourceReturned, rows: r.one[:]})
	changes := *c.changeCount()
	more, err := r.List.Step()
	var values []row.Value
	if err == nil && more {
		values = make([]row.Value, r.List.NumColumns())
		for i := range values {
			values[i] = r.List.Column(i).Clone()
		}
	}
	_ = r.List.Reset() // the error was returned by Step
	*c.changeCount() = changes
	c.popFrame()
	r.one[0] = engine.Entry{}
	if err == nil && !more {
		err = errorf(1, "RETURNING of %s has no row", ch.def.Name)
	}
	return values, err
}
