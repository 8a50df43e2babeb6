package vtab

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// setBy makes ch the change of the row old, which is rec, that a SET list says:
// vals, set and rowid. It returns errSkip when the list's WHERE says no. excluded
// is the row that was to be inserted, nil for an UPDATE; its values must outlive
// the change.
func (ch *change) setBy(st *setState, old int64, rec row.Record, excluded *rowImage, args []row.Value) error {
	list := st.list
	ch.dec.Reset(rec)
	for i := range ch.vals {
		ch.vals[i], ch.set[i] = ch.t.kept(&ch.dec, i), false
	}
	alias := ch.def.RowidAlias
	if alias >= 0 {
		ch.vals[alias] = row.IntValue(old)
	}
	var out []row.Value
	if list.Copies != nil {
		out = ch.out[:0]
		for _, k := range list.Copies {
			if k < 0 {
				out = append(out, row.IntValue(excluded.rowid))
			} else {
				out = append(out, excluded.vals[k])
			}
		}
		ch.out = out
	} else {
		var err error
		if out, err = ch.evaluateSet(st, old, excluded, args); err != nil {
			return err
		}
	}
	ch.rowid = old
	for i, k := range list.Columns {
		if k >= 0 {
			ch.vals[k], ch.set[k] = out[i], true
		}
		if k < 0 || k == alias {
			id, err := toRowid(out[i])
			if err != nil {
				return err
			}
			ch.rowid = id
		}
	}
	return nil
}

// updateLate is update of a row whose SET is evaluated now: rows changed before it,
// and what that did, have left their mark.
func (ch *change) updateLate(old int64, rec row.Record) error {
	if err := ch.setBy(&ch.plan.sets[0], old, rec, nil, ch.args); err != nil {
		return err
	}
	return ch.updateTo(old, rec)
}

// evaluateSet runs the query of a SET list over the row old, which is in vals.
func (ch *change) evaluateSet(st *setState, old int64, excluded *rowImage, args []row.Value) ([]row.Value, error) {
	c, q := ch.c, &st.list.Query
	nested, err := c.takeNested(q.SQL)
	if err != nil {
		return nil, err
	}
	defer c.giveNested(q.SQL, nested)
	if err := nested.bindOperands(q.Params, excluded, args); err != nil {
		return nil, err
	}
	c.pushFrame(frame{kind: sourceUpdated, rowid: old, vals: ch.vals})
	defer c.popFrame()
	if st.list.Once != nil {
		st.start(c, args)
		defer st.end(c)
	}
	defer c.keepChanges()()
	more, err := nested.Step()
	if err != nil {
		return nil, err
	}
	if !more {
		return nil, errSkip
	}
	ch.out, ch.hold = ch.out[:0], ch.hold[:0]
	for i := range st.list.Columns {
		ch.out = append(ch.out, ch.held(nested.Column(i)))
	}
	return ch.out, nil
}

// held copies a borrowed value into memory of the change.
func (ch *change) held(v row.Value) row.Value {
	if k := v.Kind(); k != row.Text && k != row.Blob {
		return v
	}
	at := len(ch.hold)
	ch.hold = append(ch.hold, v.Bytes()...)
	s := unsafe.String(unsafe.SliceData(ch.hold[at:]), len(ch.hold)-at)
	if v.Kind() == row.Text {
		return row.TextValue(s)
	}
	return row.BlobValue(s)
}

func (st *Stmt) bindOperands(list []Operand, excluded *rowImage, args []row.Value) error {
	for i, op := range list {
		var v row.Value
		switch {
		case !op.Excluded:
			if op.At >= len(args) {
				return errorf(lib.SQLITE_INTERNAL, "a plan needs %d values and has %d", op.At+1, len(args))
			}
			v = args[op.At]
		case op.At < 0:
			v = row.IntValue(excluded.rowid)
		default:
			v = excluded.vals[op.At]
		}
		if err := st.Bind(i+1, v); err != nil {
			return err
		}
	}
	return nil
}

// start and end enclose an evaluation during which OnceFunction may be called.
func (st *setState) start(c *Conn, args []row.Value) {
	if st.run != c.plans.run || st.once == nil {
		st.run, st.once, st.done = c.plans.run, make([]row.Value, len(st.list.Once)), make([]bool, len(st.list.Once))
	}
	st.args = args
	c.plans.setting = append(c.plans.setting, st)
}

func (st *setState) end(c *Conn) {
	st.args = nil
	c.plans.setting = c.plans.setting[:len(c.plans.setting)-1]
}

// value returns the value of a subquery, which is computed when it is first
// asked for.
func (st *setState) value(c *Conn, k int) (row.Value, error) {
	if k < 0 || k >= len(st.once) {
		return row.Value{}, errorf(lib.SQLITE_MISUSE, "no such subquery")
	}
	if st.done[k] {
		return st.once[k], nil
	}
	q := &st.list.Once[k]
	nested, err := c.takeNested(q.SQL)
	if err != nil {
		return row.Value{}, err
	}
	defer c.giveNested(q.SQL, nested)
	if err := nested.bindOperands(q.Params, nil, st.args); err != nil {
		return row.Value{}, err
	}
	if _, err := nested.Step(); err != nil {
		return row.Value{}, err
	}
	st.once[k], st.done[k] = nested.Column(0).Clone(), true
	return st.once[k], nil
}
