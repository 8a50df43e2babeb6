package vtab

import (
	"errors"
	"strings"
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// acts runs the actions of the keys that referred to the row old, which is gone
// or has become now.
func (ch *change) acts(old, now *rowImage, set []bool, moved bool) error {
	for _, fk := range ch.keys.refs {
		if fk.flaw != nil {
			continue
		}
		action := fk.OnDelete
		if now != nil {
			if action = fk.OnUpdate; !ch.modified(fk.pcolumns, set, moved) || ch.sameKey(fk, old, now) {
				continue
			}
		}
		if action == NoAction || action == Restrict && ch.c.Postpone {
			continue
		}
		ids, err := ch.c.children(fk, &fk.act, old, 0, false)
		if err != nil {
			return err
		}
		if action == Restrict && len(ids) > 0 {
			return errForeignKey(lib.SQLITE_CONSTRAINT_TRIGGER)
		}
		for _, id := range ids {
			if err := ch.c.actOn(fk, action, id, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// sameKey reports that the parent's key did not change, by its own collations.
func (ch *change) sameKey(fk *foreignKey, old, now *rowImage) bool {
	for _, i := range fk.pcolumns {
		if row.Compare(old.column(i), now.column(i), fk.parent.Columns[i].Collation) != 0 {
			return false
		}
	}
	return true
}

// maxDepth is SQLite's limit for triggers that fire each other, and actions are
// triggers there.
const maxDepth = 1000

// actOn runs one action on one row of the child: a DELETE or UPDATE OR ABORT,
// which counts in total_changes() alone.
func (c *Conn) actOn(fk *foreignKey, action Action, rowid int64, now *rowImage) error {
	t, h, err := c.helper(fk.child.ID)
	if err != nil {
		return err
	}
	if err := c.errTooDeep(); err != nil {
		return err
	}
	c.depth++
	defer func() { c.depth-- }()
	ch := c.takeChange(t, c.tls, Abort)
	defer c.giveChange(ch)
	ch.mode = Abort
	if err := ch.prepare(h); err != nil {
		return err
	}
	if action == Cascade && now == nil {
		err = ch.delete(rowid)
	} else {
		err = ch.setKey(fk, action, rowid, now)
	}
	switch {
	case err == nil:
		(*lib.Tsqlite3)(unsafe.Pointer(c.db)).FnTotalChange++
	case errors.Is(err, errSkip): // another action was there before
		err = nil
	}
	return err
}

// setKey changes the columns of a foreign key in one row.
func (ch *change) setKey(fk *foreignKey, action Action, rowid int64, now *rowImage) error {
	rec, found, err := ch.h.Get(rowid)
	if err != nil {
		return err
	}
	if !found {
		return errSkip
	}
	rec = row.Record(strings.Clone(string(rec)))
	ch.dec.Reset(rec)
	for i := range ch.vals {
		ch.set[i], ch.vals[i] = false, ch.t.kept(&ch.dec, i)
	}
	for i, col := range fk.columns {
		var v row.Value
		switch action {
		case Cascade:
			v = now.column(fk.pcolumns[i])
		case SetDefault:
			if v, err = ch.defaultOf(col); err != nil {
				return err
			}
		}
		ch.set[col], ch.vals[col] = true, v
	}
	ch.rowid = rowid
	if a := ch.def.RowidAlias; a >= 0 && ch.set[a] {
		if ch.rowid, err = toRowid(ch.vals[a]); err != nil {
			return err
		}
	}
	return ch.updateTo(rowid, rec)
}
