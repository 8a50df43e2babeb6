package vtab

import (
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// A row source is a row that exists only while a callback looks at it. A
// nested statement reads it as `SELECT … FROM main.t WHERE "$tm" = kind`, where
// "$tm" is HiddenColumn: so the user's expressions are evaluated by SQLite with
// the affinities and collations of the table's own columns.
const (
	sourceUpdated   = -2 // the row being updated, as it was
	sourceReturned  = -3 // one row that a statement returns
	sourceCollected = -4 // all rows that a statement returned
	sourceChecked   = -5 // the row whose constraints are being checked
)

// frame is one row source. Frames are stacked; a cursor gets the innermost of
// its kind at xFilter.
type frame struct {
	kind  int64
	rowid int64
	vals  []row.Value
	rows  []engine.Entry // instead of the row: stored ones
}

// column returns a column of the row; the hidden one is NULL.
func (f *frame) column(k int) row.Value {
	if k < len(f.vals) {
		return f.vals[k]
	}
	return row.Value{}
}

func (c *Conn) pushFrame(f frame) { c.frames = append(c.frames, f) }

func (c *Conn) popFrame() {
	n := len(c.frames) - 1
	c.frames[n] = frame{}
	c.frames = c.frames[:n]
}

// filterSource answers a constraint on the hidden column with a negative number.
// Apart from row sources that is a call of the table as a function.
func (q *cursor) filterSource(v row.Value) error {
	frames := q.t.c.frames
	if v.Kind() == row.Int && v.Int() < 0 {
		for i := len(frames) - 1; i >= 0; i-- {
			if frames[i].kind == v.Int() {
				if rows := frames[i].rows; rows != nil {
					q.stored = rows
					return q.start()
				}
				q.shown = frames[i] // a copy: the stack may move
				q.src, q.odd = &q.shown, true
				q.one(q.shown.rowid, "")
				return nil
			}
		}
	}
	return errorf(1, "%s(%d): a branch point is named by a text", q.t.info.Def.Name, v.Int())
}
