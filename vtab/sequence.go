package vtab

import (
	"math"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// sequenceTable is an ordinary engine table (name, seq) that holds the largest
// rowid ever used by each AUTOINCREMENT table.
const sequenceTable = "sqlite_sequence"

// sequenceRow remembers where the row of a table was found. It is only a hint:
// the row is read and its name compared each time, since SQL may change it.
type sequenceRow struct {
	rowid int64
	known bool
}

// numberRow chooses the rowid of a row of an AUTOINCREMENT table, or takes the
// one given, and notes it in sqlite_sequence if it is the largest so far. A
// number is used up even if the row is then ignored.
func (t *table) numberRow(ch *change, auto bool) error {
	tx := t.c.tx
	obj := tx.Schema().Lookup(sequenceTable)
	if obj == nil || obj.Table == nil || len(obj.Table.Columns) < 2 {
		return errorf(lib.SQLITE_CORRUPT_SEQUENCE, "table %s is missing", sequenceTable)
	}
	h := tx.Handle(obj.Table.ID)
	if h == nil {
		return engine.ErrTxDone
	}
	seq, found, err := t.findSequence(h)
	if err != nil {
		return err
	}
	if auto {
		last, _ := ch.h.MaxRowid() // 0 of an empty table
		if last = max(last, seq); last == math.MaxInt64 {
			return errFull()
		}
		ch.rowid = last + 1
	}
	if found && ch.rowid <= seq {
		return nil
	}
	seq = max(seq, ch.rowid)
	b := row.AppendRecord(nil, []row.Value{row.TextValue(t.info.Def.Name), row.IntValue(seq)})
	if found {
		return h.Update(t.sequence.rowid, row.Record(b))
	}
	last, _ := h.MaxRowid()
	if err := h.Insert(last+1, row.Record(b)); err != nil {
		return err
	}
	t.sequence = sequenceRow{last + 1, true}
	return nil
}

// findSequence reads the table's number, 0 when there is none.
func (t *table) findSequence(h *engine.TxTable) (seq int64, found bool, err error) {
	if t.sequence.known {
		rec, ok, err := h.Get(t.sequence.rowid)
		if err != nil {
			return 0, false, err
		}
		if ok && t.isSequence(rec) {
			return sequenceValue(rec), true, nil
		}
		t.sequence.known = false
	}
	view := t.c.tx.View(h.Def().ID)
	scan := view.Scan(math.MinInt64, math.MaxInt64, false)
	var buf [32]engine.Entry
	for {
		n, err := scan.Next(buf[:])
		if err != nil {
			return 0, false, err
		}
		for _, e := range buf[:n] {
			if t.isSequence(e.Rec) {
				t.sequence = sequenceRow{e.Rowid, true}
				return sequenceValue(e.Rec), true, nil
			}
		}
		if n < len(buf) {
			return 0, false, nil
		}
	}
}

func (t *table) isSequence(rec row.Record) bool {
	name := rec.Column(0)
	return name.Kind() == row.Text && strings.EqualFold(name.Bytes(), t.info.Def.Name)
}

// sequenceValue reads seq as an integer, whatever SQL has put there.
func sequenceValue(rec row.Record) int64 {
	if v := row.AffInteger.Apply(rec.Column(1)); v.Kind() == row.Int {
		return v.Int()
	}
	return 0
}
