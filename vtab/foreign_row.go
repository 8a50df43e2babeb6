package vtab

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// errForeignKey is the error of a violation, whatever the statement's OR clause
// says. Restrict has another code: there SQLite runs a trigger that raises.
func errForeignKey(code int) error {
	e := errorf(code, "FOREIGN KEY constraint failed")
	e.Action = Abort
	return e
}

// foreign returns the foreign keys that concern the table under the schema in
// force, nil when there are none or nothing is enforced.
func (t *table) foreign() (*tableKeys, error) {
	c := t.c
	if !c.ForeignKeys {
		return nil, nil
	}
	if t.keysOf != t.schema {
		all, err := c.src.ForeignKeys(t.schema)
		if err != nil {
			return nil, err
		}
		t.keys, t.keysOf = all.tables[t.id], t.schema
	}
	return t.keys, nil
}

// violate counts violations, of the statement or of the transaction.
func (c *Conn) violate(fk *foreignKey, by int64) {
	v := c.tx.Violations()
	switch {
	case fk.Deferred:
		v.Transaction += by
	case c.Postpone:
		v.Postponed += by
	default:
		v.Statement += by
	}
}

// unviolated reports that there is nothing to mend for a key.
func (c *Conn) unviolated(fk *foreignKey) bool {
	v := c.tx.Violations()
	if fk.Deferred {
		return v.Transaction == 0 && v.Postponed == 0
	}
	return v.Statement == 0 && v.Postponed == 0
}

// modified tells whether an UPDATE concerns columns: those that SET names, and
// the rowid if it changes. A nil set is a row that comes or goes.
func (ch *change) modified(columns []int, set []bool, moved bool) bool {
	if set == nil {
		return true
	}
	for _, i := range columns {
		if set[i] || moved && i == ch.def.RowidAlias {
			return true
		}
	}
	return false
}

// leaves counts what the row old leaves behind. It comes before the change.
func (ch *change) leaves(old *rowImage, set []bool, moved bool) error {
	c := ch.c
	for _, fk := range ch.keys.own {
		if !ch.modified(fk.Columns, set, moved) && !fk.self() {
			continue
		}
		if fk.flaw != nil {
			if !c.dropping {
				return fk.flaw
			}
			if fk.parent == nil && !old.hasNull(fk.Columns) && !c.unviolated(fk) {
				c.violate(fk, -1)
			}
			continue
		}
		if c.unviolated(fk) || old.hasNull(fk.columns) {
			continue
		}
		found, err := c.hasParent(fk, old, 0, false)
		if err != nil {
			return err
		}
		if !found {
			c.violate(fk, -1)
		}
	}
	for _, fk := range ch.keys.refs {
		if fk.flaw == nil && !ch.modified(fk.pcolumns, set, moved) {
			continue
		}
		if fk.flaw != nil {
			if !c.dropping && set == nil {
				return fk.flaw
			}
			continue
		}
		ids, err := c.children(fk, &fk.count, old, old.rowid, true)
		if err != nil {
			return err
		}
		if n := len(ids); n > 0 {
			c.violate(fk, int64(n))
		}
	}
	return nil
}

// self is the row being changed, for look-ups in its own table. While SQLite
// looks at the row as it will be, the old one is removed only if a key of the
// table to itself changes or an action may run; else it stands there, but in the
// indexes that change.
type self struct {
	rowid        int64
	old, removed bool // there is an old row; it is removed
}

// rewritten reports whether SQLite removes the row of an UPDATE and writes it
// anew, although its rowid stays.
func (ch *change) rewritten() bool {
	for _, fk := range ch.keys.own {
		if fk.self() && ch.modified(fk.Columns, ch.set, false) {
			return true
		}
	}
	for _, fk := range ch.keys.refs {
		if fk.flaw == nil && fk.OnUpdate != NoAction && ch.modified(fk.pcolumns, ch.set, false) {
			return true
		}
	}
	return false
}

// hides reports that look-ups of a key do not find the row itself.
func (ch *change) hides(s self, fk *foreignKey) bool {
	return s.old && (s.removed || fk.self() && fk.index >= 0 && ch.touches(ch.def.Indexes[fk.index]))
}

// arrives counts what the row now needs and mends. It comes before the change.
func (ch *change) arrives(now *rowImage, set []bool, moved bool, old self) error {
	c := ch.c
	alone := ch.alone()
	for _, fk := range ch.keys.own {
		if !ch.modified(fk.Columns, set, moved) && !fk.self() {
			continue
		}
		if fk.flaw != nil {
			return fk.flaw
		}
		if now.hasNull(fk.columns) || fk.ownParent(now) {
			continue
		}
		found, err := c.hasParent(fk, now, old.rowid, ch.hides(old, fk))
		if err != nil {
			return err
		}
		if !found {
			if alone && !fk.Deferred {
				return errForeignKey(lib.SQLITE_CONSTRAINT_FOREIGNKEY)
			}
			c.violate(fk, 1)
		}
	}
	for _, fk := range ch.keys.refs {
		if fk.flaw != nil || alone && !fk.Deferred || c.unviolated(fk) || !ch.modified(fk.pcolumns, set, moved) {
			continue
		}
		ids, err := c.children(fk, &fk.count, now, old.rowid, old.removed)
		if err != nil {
			return err
		}
		if n := len(ids); n > 0 {
			c.violate(fk, -int64(n))
		}
	}
	return nil
}

// alone reports that the statement is done with this row: it inserts no other
// one and REPLACE cannot delete one.
func (ch *change) alone() bool {
	c, info := ch.c, ch.t.info
	if !c.statement.oneRow || c.depth > 0 || len(c.firing) > 0 || c.Postpone || ch.mode == Replace {
		return false
	}
	return ch.mode != Default || info.Key != Replace && !slices.Contains(info.Indexes, Replace)
}

// image is the stored row of a record that outlives its reading.
func (ch *change) image(rowid int64, rec row.Record) rowImage {
	return rowImage{def: ch.def, rowid: rowid, rec: row.Record(strings.Clone(string(rec)))}
}

// removeForeign removes a row with all that foreign keys make of it.
func (ch *change) removeForeign(rowid int64, remove func(int64) error) error {
	rec, found, err := ch.h.Get(rowid)
	if err != nil {
		return err
	}
	if !found {
		return errSkip
	}
	old := ch.image(rowid, rec)
	if err := ch.leaves(&old, nil, false); err != nil {
		return err
	}
	if err := remove(rowid); err != nil {
		return err
	}
	return ch.acts(&old, nil, nil, false)
}

// concerned reports whether an UPDATE changes a key, so that anything is to do.
func (ch *change) concerned(old int64) bool {
	moved := ch.rowid != old
	for _, fk := range ch.keys.own {
		if ch.modified(fk.Columns, ch.set, moved) {
			return true
		}
	}
	for _, fk := range ch.keys.refs {
		if fk.flaw == nil && ch.modified(fk.pcolumns, ch.set, moved) {
			return true
		}
	}
	return false
}

// updateForeign makes the change of updateTo with all that foreign keys make of
// it.
func (ch *change) updateForeign(old int64, rec, next row.Record) error {
	was := ch.image(old, rec)
	now := rowImage{def: ch.def, rowid: ch.rowid, vals: ch.vals}
	moved := ch.rowid != old
	if err := ch.removeRivals(); err != nil {
		return err
	}
	if err := ch.recheck(next, old, true, !moved); err != nil {
		return err
	}
	if _, found, err := ch.h.Get(old); err != nil || !found {
		return cmp.Or(err, errSkip) // an action has deleted it
	}
	ch.rivals = ch.rivals[:0]
	if !ch.concerned(old) {
		return ch.move(old, next)
	}
	if err := ch.leaves(&was, ch.set, moved); err != nil {
		return err
	}
	stays := self{rowid: old, old: true, removed: moved || ch.rewritten()}
	if err := ch.arrives(&now, ch.set, moved, stays); err != nil {
		return err
	}
	if err := ch.move(old, next); err != nil {
		return err
	}
	return ch.acts(&was, &now, ch.set, moved)
}

// removeRivals deletes the rows that REPLACE found in the way.
func (ch *change) removeRivals() error {
	for _, id := range ch.rivals {
		err := ch.removeRival(id)
		if err != nil && !errors.Is(err, errSkip) { // an action may have deleted it
			return err
		}
	}
	return nil
}

// recheck looks for rivals again after actions, which may have made one. SQLite
// does so too, and then replaces no more.
func (ch *change) recheck(rec row.Record, self int64, hasSelf, sameRowid bool) error {
	if len(ch.rivals) == 0 || ch.keys == nil && !ch.replaceFires() {
		return nil
	}
	mode, rivals := ch.mode, ch.rivals
	ch.mode, ch.rivals = Abort, nil
	err := ch.unique(rec, self, hasSelf, sameRowid)
	ch.mode, ch.rivals = mode, rivals
	return err
}
