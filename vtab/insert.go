package vtab

import (
	"errors"
	"math"
	"math/rand/v2"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// insert adds a row. The checks come in SQLite's order: rowid, NOT NULL, CHECK,
// the rowid's uniqueness, then unique indexes.
func (ch *change) insert(args []uintptr) error {
	def := ch.def
	for i := range ch.t.ncols { // the others are NULL
		ch.vals[ch.t.phys(i)] = valueAt(ch.tls, args[2+i])
	}
	if err := ch.takePlan(args[len(args)-1]); err != nil {
		return err
	}
	if ch.plan != nil {
		ch.keepRaw()
	}
	auto := true
	if !def.WithoutRowid {
		want := valueAt(ch.tls, args[1])
		if a := def.RowidAlias; a >= 0 && !ch.vals[a].IsNull() {
			want = ch.vals[a]
		}
		if !want.IsNull() {
			id, err := toRowid(want)
			if err != nil {
				return err
			}
			ch.rowid, auto = id, false
		}
	}
	if err := ch.beforeInsert(auto); err != nil {
		return err
	}
	tx := ch.c.tx
	mark := tx.Mark()
	undo := false
	if def.AutoIncrement {
		undo = true
		if err := ch.t.numberRow(ch, auto); err != nil {
			return err
		}
	} else if auto {
		if err := ch.nextRowid(); err != nil {
			return err
		}
	}
	err := ch.insertChecked(auto)
	if err != nil && !errors.Is(err, errSkip) && (undo || len(ch.rivals) > 0 || ch.def.OnFull == engine.OnFullDropOldest) {
		if ch.stored {
			ch.c.takeBack(tx, mark, err)
		} else if ch.c.tx == tx {
			tx.RollbackTo(mark)
		}
	}
	return err
}

func (ch *change) insertChecked(auto bool) error {
	ch.applyAffinity(nil)
	if err := ch.notNull(nil, false); err != nil {
		return err
	}
	if err := ch.compute(nil, false); err != nil {
		return err
	}
	ch.refillRaw()
	if err := ch.checks(nil); err != nil {
		return err
	}
	if err := ch.computeTerms(nil, false); err != nil {
		return err
	}
	rec := ch.record()
	if ch.plan != nil {
		if done, err := ch.onConflict(rec, auto); done || err != nil {
			return err
		}
	} else if err := ch.unique(rec, 0, false, auto); err != nil {
		return err
	}
	if err := ch.removeRivals(); err != nil {
		return err
	}
	if err := ch.makeRoom(); err != nil {
		return err
	}
	if err := ch.recheck(rec, 0, false, auto && !ch.replaceFires()); err != nil { // a trigger may have taken the rowid
		return err
	}
	if ch.keys != nil {
		now := rowImage{def: ch.def, rowid: ch.rowid, vals: ch.vals}
		if err := ch.arrives(&now, nil, false, self{}); err != nil {
			return err
		}
	}
	if err := ch.h.Insert(ch.rowid, rec); err != nil {
		return err
	}
	if err := ch.returned(ch.rowid, rec); err != nil {
		return err
	}
	return ch.afterInsert()
}

// makeRoom drops the oldest row of a full table that says so.
func (ch *change) makeRoom() error {
	if ch.def.OnFull != engine.OnFullDropOldest || !ch.h.Full() {
		return nil
	}
	oldest, _ := ch.h.Oldest()
	if ch.keys != nil {
		return ch.removeForeign(oldest, ch.h.Drop)
	}
	return ch.h.Drop(oldest)
}

// toRowid converts a value given for a rowid, as OP_MustBeInt does.
func toRowid(v row.Value) (int64, error) {
	if v = row.AffInteger.Apply(v); v.Kind() == row.Int {
		return v.Int(), nil
	}
	return 0, errorf(lib.SQLITE_MISMATCH, "datatype mismatch")
}

// nextRowid chooses the rowid of a row that has none: the largest plus one, be
// it negative or 0, and 1 in an empty table. When that is used up it tries
// random ones, as SQLite does.
func (ch *change) nextRowid() error {
	last, ok := ch.h.MaxRowid()
	switch {
	case !ok:
		ch.rowid = 1
		return nil
	case last < math.MaxInt64:
		ch.rowid = last + 1
		return nil
	}
	for range 100 {
		id := rand.Int64N(math.MaxInt64/2) + 1
		if _, taken, err := ch.h.Get(id); err != nil {
			return err
		} else if !taken {
			ch.rowid = id
			return nil
		}
	}
	return errFull()
}

func errFull() error { return errorf(lib.SQLITE_FULL, "database or disk is full") }

// applyAffinity converts the values to what the columns store, on UPDATE only
// those that SET names.
func (ch *change) applyAffinity(set []bool) {
	def := ch.def
	for i := range ch.vals {
		if set != nil && !set[i] {
			continue
		}
		ch.vals[i] = def.Columns[i].Affinity.Apply(ch.vals[i])
	}
	if a := def.RowidAlias; a >= 0 {
		ch.vals[a] = row.IntValue(ch.rowid)
	}
}
