package vtab

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// update changes the row old. Columns that SET does not name come without a
// value; they are read from the row as it is now.
func (ch *change) update(old int64, args []uintptr) error {
	def := ch.def
	rec, found, err := ch.h.Get(old)
	if err != nil {
		return err
	}
	if !found {
		return errSkip
	}
	if err := ch.takePlan(args[len(args)-1]); err != nil {
		return err
	}
	if ch.plan != nil {
		return ch.updateLate(old, rec)
	}
	ch.dec.Reset(rec)
	if ch.t.visible != nil {
		for i := range ch.vals {
			ch.set[i], ch.vals[i] = false, ch.t.kept(&ch.dec, i)
		}
	}
	for i := range ch.t.ncols {
		k := ch.t.phys(i)
		if ch.set[k] = !unchanged(args[2+i]); ch.set[k] {
			ch.vals[k] = valueAt(ch.tls, args[2+i])
		} else {
			ch.vals[k] = ch.t.stored(&ch.dec, k)
		}
	}
	ch.rowid = old
	if !def.WithoutRowid {
		var want row.Value
		moved := false
		if id := valueAt(ch.tls, args[1]); id.Kind() != row.Int || id.Int() != old {
			want, moved = id, true
		}
		if a := def.RowidAlias; a >= 0 && ch.set[a] {
			want, moved = ch.vals[a], true
		}
		if moved {
			if ch.rowid, err = toRowid(want); err != nil {
				return err
			}
		}
	}
	return ch.updateTo(old, rec)
}

// updateTo makes of the row old, which is rec, what vals, set and rowid say.
func (ch *change) updateTo(old int64, rec row.Record) error {
	if ch.triggers.on(OnUpdate) {
		return ch.updateFiring(old, rec)
	}
	return ch.updateRow(old, rec)
}

func (ch *change) updateRow(old int64, rec row.Record) error {
	ch.applyAffinity(ch.set)
	if err := ch.notNull(ch.set, false); err != nil {
		return err
	}
	if err := ch.compute(ch.set, ch.rowid != old); err != nil {
		return err
	}
	concerned := ch.set
	if ch.rowid != old {
		concerned = nil // a CHECK may name the rowid
	}
	if err := ch.checks(concerned); err != nil {
		return err
	}
	if err := ch.computeTerms(ch.set, ch.rowid != old); err != nil {
		return err
	}
	next := ch.record()
	if err := ch.unique(next, old, true, ch.rowid == old); err != nil {
		return err
	}
	if ch.keys != nil && (len(ch.rivals) > 0 || ch.concerned(old)) {
		if err := ch.updateForeign(old, rec, next); err != nil { // run undoes it
			return err
		}
		return ch.returned(old, next)
	}
	if ch.rowid == old && len(ch.rivals) == 0 {
		if err := ch.h.Update(old, next); err != nil {
			return err
		}
		return ch.returned(old, next)
	}
	if ch.replaceFires() {
		return ch.replaceFiring(old, next)
	}
	mark := ch.c.tx.Mark()
	if err := ch.move(old, next); err != nil {
		ch.c.tx.RollbackTo(mark)
		return err
	}
	return ch.returned(old, next)
}

// move makes the change after the rivals are gone; a new rowid is a delete and
// an insert.
func (ch *change) move(old int64, next row.Record) error {
	if err := ch.removeRivals(); err != nil {
		return err
	}
	if ch.rowid == old {
		return ch.h.Update(old, next)
	}
	if err := ch.h.Delete(old); err != nil {
		return err
	}
	return ch.h.Insert(ch.rowid, next)
}

// unchanged is sqlite3_value_nochange without the call.
func unchanged(p uintptr) bool {
	return (*lib.TMem)(unsafe.Pointer(p)).Fflags&memMark == memMark
}
