package vtab

import (
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidemarkdb/tidemark/engine"
)

// SQLite has no triggers on virtual tables. A carrier takes their place: a view
// that nobody reads, and on it an INSTEAD OF INSERT trigger with the WHEN and the
// body the user wrote. When a row changes, xUpdate inserts the values of OLD and
// NEW into the view, by a nested statement, and SQLite does the rest: RAISE, the
// inheritance of OR clauses, triggers of triggers.

// Event is what a trigger waits for.
type Event uint8

// The events.
const (
	OnInsert Event = iota
	OnUpdate
	OnDelete
)

// Trigger is a trigger on a table. It is immutable.
type Trigger struct {
	Name   string
	Event  Event
	Before bool
	// Narrows says that the trigger is UPDATE OF, of the columns Of, and of the
	// rowid by a name of its own if OfRowid.
	Narrows bool
	Of      []int
	OfRowid bool
	// Carrier is the carrier's view as a statement names it: quoted, with its
	// schema. Its columns are the values of OLD and then those of NEW, each a
	// column of the table or -1, the rowid. Without any it has one column.
	Carrier  string
	Old, New []int
	// Ignores says that the body has a RAISE(IGNORE): it then begins with
	// SELECT tm_enter() and ends with SELECT tm_done().
	Ignores bool

	inserts [Replace + 1]atomic.Pointer[string]
}

// orText is how a statement says its conflict mode.
var orText = [Replace + 1]string{Rollback: "OR ROLLBACK ", Ignore: "OR IGNORE ", Fail: "OR FAIL ", Abort: "OR ABORT ", Replace: "OR REPLACE "}

// Insert returns a statement that fires the trigger.
func (tr *Trigger) Insert() string { return tr.insert(Default) }

// insert returns the statement that fires the trigger in a mode.
func (tr *Trigger) insert(mode Conflict) string {
	if sql := tr.inserts[mode].Load(); sql != nil {
		return *sql
	}
	n := max(1, len(tr.Old)+len(tr.New))
	sql := "INSERT " + orText[mode] + "INTO " + tr.Carrier + " VALUES(" + strings.Repeat("?,", n-1) + "?)"
	tr.inserts[mode].Store(&sql)
	return sql
}

// Triggers are those on the tables of a schema. They are immutable.
type Triggers struct {
	tables map[engine.TableID]*tableTriggers
}

// tableTriggers are the triggers on one table in the order they fire.
type tableTriggers struct {
	before, after [OnDelete + 1][]*Trigger
}

// on reports whether there are triggers for an event.
func (t *tableTriggers) on(e Event) bool { return t != nil && len(t.before[e])+len(t.after[e]) > 0 }

// Add enters a trigger on a table behind those that are there.
func (ts *Triggers) Add(id engine.TableID, tr *Trigger) {
	if ts.tables == nil {
		ts.tables = map[engine.TableID]*tableTriggers{}
	}
	t := ts.tables[id]
	if t == nil {
		t = new(tableTriggers)
		ts.tables[id] = t
	}
	list := &t.after[tr.Event]
	if tr.Before {
		list = &t.before[tr.Event]
	}
	*list = append(*list, tr)
}

// On reports whether a table has triggers.
func (ts *Triggers) On(id engine.TableID) bool { return ts != nil && ts.tables[id] != nil }

// Of returns the triggers on a table.
func (ts *Triggers) Of(id engine.TableID) iter.Seq[*Trigger] {
	return func(yield func(*Trigger) bool) {
		t := ts.on(id)
		if t == nil {
			return
		}
		for e := range t.after {
			for _, tr := range slices.Concat(t.before[e], t.after[e]) {
				if !yield(tr) {
					return
				}
			}
		}
	}
}

// OnEvent reports whether a table has triggers for an event.
func (ts *Triggers) OnEvent(id engine.TableID, e Event) bool {
	return ts != nil && ts.tables[id].on(e)
}

// SetTempTriggers tells the triggers that temp has on tables of the store; they
// fire before the store's own.
func (c *Conn) SetTempTriggers(ts *Triggers) {
	c.tempTriggers = ts
	c.tempGen++
}

// DropCarriers releases the statements that fire triggers. The connection calls it
// when carriers have changed.
func (c *Conn) DropCarriers() {
	for sql := range c.carriers {
		c.dropNested(sql)
	}
	clear(c.carriers)
}

// fired returns the triggers on the table under the schema in force, nil without
// any.
func (t *table) fired() (*tableTriggers, error) {
	c := t.c
	if t.triggersOf == t.schema && t.triggersGen == c.tempGen {
		return t.triggers, nil
	}
	all, err := c.src.Triggers(t.schema)
	if err != nil {
		return nil, err
	}
	t.triggers = all.on(t.id)
	if temp := c.tempTriggers.on(t.id); temp != nil {
		t.triggers = temp.and(t.triggers)
	}
	t.triggersOf, t.triggersGen = t.schema, c.tempGen
	return t.triggers, nil
}

func (ts *Triggers) on(id engine.TableID) *tableTriggers {
	if ts == nil {
		return nil
	}
	return ts.tables[id]
}

// and puts others behind the triggers of t.
func (t *tableTriggers) and(other *tableTriggers) *tableTriggers {
	if other == nil {
		return t
	}
	both := new(tableTriggers)
	for e := range both.after {
		both.before[e] = slices.Concat(t.before[e], other.before[e])
		both.after[e] = slices.Concat(t.after[e], other.after[e])
	}
	return both
}

// concerns reports whether an UPDATE of the columns in set fires the trigger;
// moved says that the rowid changes. Other events have a nil set.
func (tr *Trigger) concerns(set []bool, moved bool) bool {
	if !tr.Narrows || set == nil {
		return true
	}
	for _, i := range tr.Of {
		if set[i] {
			return true
		}
	}
	return tr.OfRowid && moved
}
