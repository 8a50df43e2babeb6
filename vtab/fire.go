package vtab

import (
	"cmp"
	"errors"
	"strings"
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// firing is a trigger that runs.
type firing struct {
	trigger              *Trigger
	entered, done, fails bool // what the body said by tm_enter, tm_done, tm_fail
}

// errIgnored ends the change of a row for which a trigger said RAISE(IGNORE).
var errIgnored = errSkip

// beforeInsert fires the BEFORE INSERT triggers. They see -1 for a rowid that is
// not given.
func (ch *change) beforeInsert(auto bool) error {
	if ch.triggers == nil || len(ch.triggers.before[OnInsert]) == 0 {
		return nil
	}
	if auto && !ch.def.WithoutRowid {
		ch.rowid = -1
	}
	given := row.Value{}
	if a := ch.def.RowidAlias; a >= 0 {
		given = ch.vals[a]
	}
	ch.applyAffinity(nil)
	if err := ch.computeGenerated(nil, false); err != nil {
		return err
	}
	if err := ch.strictTypes(); err != nil { // SQLite converts the values for the triggers
		return err
	}
	now := rowImage{def: ch.def, rowid: ch.rowid, vals: ch.vals}
	err := ch.fire(ch.triggers.before[OnInsert], nil, &now, nil, ch.mode)
	if a := ch.def.RowidAlias; a >= 0 {
		ch.vals[a] = given
	}
	return err
}

// afterInsert fires the AFTER INSERT triggers.
func (ch *change) afterInsert() error {
	if ch.triggers == nil || len(ch.triggers.after[OnInsert]) == 0 {
		return nil
	}
	if !ch.def.WithoutRowid {
		ch.c.SetLastInsertRowid(ch.rowid)
	}
	ch.stored = true
	now := rowImage{def: ch.def, rowid: ch.rowid, vals: ch.vals}
	return ch.fireAfter(OnInsert, nil, &now, nil, ch.mode)
}

// firesBeforeUpdate reports whether a BEFORE UPDATE trigger is about a column that
// SET names.
func (ch *change) firesBeforeUpdate(old int64) bool {
	for _, tr := range ch.triggers.before[OnUpdate] {
		if tr.concerns(ch.set, ch.rowid != old) {
			return true
		}
	}
	return false
}

// fireAfter fires AFTER triggers. The row has been changed: RAISE(IGNORE) only ends
// the firing.
func (ch *change) fireAfter(e Event, old, now *rowImage, set []bool, mode Conflict) error {
	err := ch.fire(ch.triggers.after[e], old, now, set, mode)
	if errors.Is(err, errIgnored) {
		return nil
	}
	return err
}

// updateFiring is updateTo for a table with UPDATE triggers. OLD is the row as it
// was before any of them ran.
func (ch *change) updateFiring(old int64, rec row.Record) error {
	rec = row.Record(strings.Clone(string(rec)))
	was := rowImage{def: ch.def, rowid: old, rec: rec}
	ch.keepUnset(rec)
	if len(ch.triggers.before[OnUpdate]) > 0 {
		ch.applyAffinity(ch.set)
		if err := ch.computeGenerated(ch.set, ch.rowid != old); err != nil {
			return err
		}
		if ch.firesBeforeUpdate(old) {
			if err := ch.strictTypes(); err != nil {
				return err
			}
		}
		now := rowImage{def: ch.def, rowid: ch.rowid, vals: ch.vals}
		if err := ch.fire(ch.triggers.before[OnUpdate], &was, &now, ch.set, ch.mode); err != nil {
			return err
		}
		again, found, err := ch.h.Get(old)
		if err != nil {
			return err
		}
		if !found {
			return errSkip
		}
		rec = row.Record(strings.Clone(string(again)))
		if !ch.sameKeyOf(&was, rec) {
			return errSkip
		}
		ch.keepUnset(rec)
	}
	if err := ch.updateRow(old, rec); err != nil {
		return err
	}
	now := rowImage{def: ch.def, rowid: ch.rowid, vals: ch.vals}
	return ch.fireAfter(OnUpdate, &was, &now, ch.set, ch.mode)
}

// sameKeyOf reports that a row of a table WITHOUT ROWID has the key it had before
// the BEFORE triggers: SQLite knows it by that.
func (ch *change) sameKeyOf(was *rowImage, now row.Record) bool {
	if ch.t.scanKey < 0 {
		return true
	}
	is := rowImage{def: ch.def, rowid: was.rowid, rec: now}
	for _, ic := range ch.def.Indexes[ch.t.scanKey].Columns {
		if row.Compare(was.column(ic.Column), is.column(ic.Column), ic.Collation) != 0 {
			return false
		}
	}
	return true
}

// keepUnset takes the columns that SET does not name from a record.
func (ch *change) keepUnset(rec row.Record) {
	ch.dec.Reset(rec)
	for i := range ch.vals {
		if !ch.set[i] {
			ch.vals[i] = ch.t.kept(&ch.dec, i)
		}
	}
}

// deleteFiring is delete for a table with DELETE triggers.
func (ch *change) deleteFiring(rowid int64, mode Conflict) error {
	rec, found, err := ch.h.Get(rowid)
	if err != nil {
		return err
	}
	if !found {
		return errSkip
	}
	was := ch.image(rowid, rec)
	if list := ch.triggers.before[OnDelete]; len(list) > 0 {
		if err := ch.fire(list, &was, nil, nil, mode); err != nil {
			return err
		}
		again, found, err := ch.h.Get(rowid)
		if err != nil || !found || !ch.sameKeyOf(&was, again) {
			return cmp.Or(err, errSkip)
		}
	}
	if err := ch.erase(rowid); err != nil {
		return err
	}
	if mode == Default { // and not a rival
		ch.rowid = rowid
		if err := ch.returned(rowid, was.rec); err != nil {
			return err
		}
	}
	return ch.fireAfter(OnDelete, &was, nil, nil, mode)
}

// fire runs triggers one after the other. errIgnored: one said RAISE(IGNORE), and
// the others did not run.
func (ch *change) fire(list []*Trigger, old, now *rowImage, set []bool, mode Conflict) error {
	c := ch.c
	if c.dropping {
		return nil
	}
	moved := old != nil && now != nil && old.rowid != now.rowid
	for _, tr := range list {
		if !tr.concerns(set, moved) || c.isFiring(tr) {
			continue
		}
		if err := c.fireOne(tr, old, now, mode); err != nil {
			return err
		}
	}
	return nil
}

// isFiring reports that a trigger runs already and may not run again.
func (c *Conn) isFiring(tr *Trigger) bool {
	if len(c.firing) == 0 || c.recursive() {
		return false
	}
	for i := range c.firing {
		if c.firing[i].trigger == tr {
			return true
		}
	}
	return false
}

// recursive reports whether PRAGMA recursive_triggers is on.
func (c *Conn) recursive() bool {
	return (*lib.Tsqlite3)(unsafe.Pointer(c.db)).Fflags&lib.SQLITE_RecTriggers != 0
}

// programs returns how many trigger programs run, those of SQLite's own included.
func (c *Conn) programs() int {
	n := c.depth
	if k := len(c.running); k > 0 {
		n += int((*lib.TVdbe)(unsafe.Pointer(c.running[k-1])).FnFrame)
	}
	return n
}

// errTooDeep refuses what runs within maxDepth others.
func (c *Conn) errTooDeep() error {
	if c.programs() < maxDepth {
		return nil
	}
	return errorf(lib.SQLITE_ERROR, "triggers nested too deep")
}

// fireOne runs one trigger. Counts, last_insert_rowid and the clause of the
// statement around it are what they were when it returns.
func (c *Conn) fireOne(tr *Trigger, old, now *rowImage, mode Conflict) error {
	if err := c.errTooDeep(); err != nil {
		return err
	}
	sql := tr.insert(mode)
	st, err := c.takeNested(sql)
	if err != nil {
		return err
	}
	if c.carriers == nil {
		c.carriers = map[string]struct{}{}
	}
	c.carriers[sql] = struct{}{}
	if err = bindImages(st, tr, old, now); err != nil {
		c.giveNested(sql, st)
		return err
	}
	db := (*lib.Tsqlite3)(unsafe.Pointer(c.db))
	changes, id := db.FnChange, db.FlastRowid
	clause, known, once, depth, last := c.clause, c.clauseKnown, c.once, c.depth, c.last
	tx := c.tx

	c.clause, c.clauseKnown, c.once, c.last = mode, mode != Default, nil, nil
	c.depth = c.programs()
	c.firing = append(c.firing, firing{trigger: tr})
	_, err = st.Step()
	f := c.firing[len(c.firing)-1]
	c.firing = c.firing[:len(c.firing)-1]
	c.giveCarrier(sql, st)
	c.clause, c.clauseKnown, c.once, c.depth = clause, known, once, depth
	db.FnChange, db.FlastRowid = changes, id
	if err != nil {
		return c.nestedError(err, tx, f.fails)
	}
	c.last = last
	if f.entered && !f.done {
		return errIgnored
	}
	return nil
}

// keptCarriers is how many statements of one text wait to fire a trigger again. A
// recursion uses one for each level.
const keptCarriers = 64

func (c *Conn) giveCarrier(sql string, st *Stmt) {
	if len(c.nested[sql]) >= keptCarriers {
		st.Finalize()
		return
	}
	c.giveNested(sql, st)
}

// bindImages gives a carrier the values it has columns for.
func bindImages(st *Stmt, tr *Trigger, old, now *rowImage) error {
	k := 1
	for _, i := range tr.Old {
		if err := st.Bind(k, old.value(i)); err != nil {
			return err
		}
		k++
	}
	for _, i := range tr.New {
		if err := st.Bind(k, now.value(i)); err != nil {
			return err
		}
		k++
	}
	return nil
}

// value is column for an ordinal or -1, the rowid.
func (r *rowImage) value(i int) row.Value {
	if i < 0 {
		return row.IntValue(r.rowid)
	}
	return r.column(i)
}

// nestedError is the error of a trigger with what it does to the statement around
// it. What a callback of a table ran into says so itself; else it is an error of
// SQLite's own, or of a RAISE.
func (c *Conn) nestedError(err error, tx *engine.Tx, fails bool) error {
	if c.last != nil {
		return c.last
	}
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case tx != nil && c.tx != tx:
		e.Action = Rollback // SQLite has done it
	case fails:
		e.Action = Fail
	default:
		e.Action = Abort
	}
	return e
}

// takeBack undoes what a row made since a mark, unless the error keeps it or all
// is undone already.
func (c *Conn) takeBack(tx *engine.Tx, mark engine.Mark, err error) {
	var e *Error
	if c.tx != tx || errors.As(err, &e) && e.Action == Fail {
		return
	}
	tx.RollbackTo(mark)
}

// replaceFires reports that REPLACE fires DELETE triggers here.
func (ch *change) replaceFires() bool {
	return ch.triggers.on(OnDelete) && ch.c.recursive() && !ch.c.dropping
}

// removeRival deletes a row that REPLACE found in the way.
func (ch *change) removeRival(rowid int64) error {
	if ch.replaceFires() {
		return ch.deleteFiring(rowid, Replace)
	}
	return ch.erase(rowid)
}

// replaceFiring is the end of updateRow when REPLACE may fire triggers, which
// change other rows, or this one.
func (ch *change) replaceFiring(old int64, next row.Record) error {
	replaced := len(ch.rivals) > 0
	if err := ch.removeRivals(); err != nil {
		return err
	}
	if err := ch.recheck(next, old, true, ch.rowid == old); err != nil {
		return err
	}
	if replaced {
		if _, found, err := ch.h.Get(old); err != nil || !found {
			return cmp.Or(err, error(errorf(lib.SQLITE_CONSTRAINT_PINNED, "constraint failed")))
		}
	}
	ch.rivals = ch.rivals[:0]
	if err := ch.move(old, next); err != nil {
		return err
	}
	return ch.returned(old, next)
}
