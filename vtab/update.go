package vtab

import (
	"errors"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

var errNoTransaction = errors.New("vtab: write without a transaction")

// errSkip ends the change of a row that is left out without an error: what
// IGNORE means, and what happens to a row that is no longer there.
var errSkip = errors.New("vtab: row skipped")

// tableUpdate is xUpdate: one row is inserted, changed or deleted. It leaves
// nothing behind when it fails, for SQLite opens no savepoint around a
// statement of a single row: all checks come before the first change, and
// several changes are undone to a mark.
func tableUpdate(tls *libc.TLS, p uintptr, argc int32, argv, prowid uintptr) (rc int32) {
	t := tableAt(p)
	t.traced("Update", -1)
	c := t.c
	fail := func(err error) {
		c.note(err)
		setMessage(tls, &(*cTable)(unsafe.Pointer(p)).base, err.Error())
		rc = lib.SQLITE_ERROR
	}
	defer c.guard("update", fail)
	mode := Conflict(lib.Xsqlite3_vtab_on_conflict(tls, c.db))
	ch := c.takeChange(t, tls, mode)
	err := ch.run(pointers(argv, argc))
	switch {
	case err == nil:
		if ch.inserted {
			*(*int64)(unsafe.Pointer(prowid)) = ch.result()
		}
		if c.once != nil && argc > 1 && !ch.inserted {
			c.countOnce(rowOf{t.id, valueAt(tls, pointers(argv, argc)[0]).Int()})
		}
	case errors.Is(err, errSkip):
		c.uncount()
		if ch.inserted { // SQLite sets last_insert_rowid to it
			*(*int64)(unsafe.Pointer(prowid)) = c.LastInsertRowid()
		}
	default:
		rc = c.refuse(p, tls, err, mode)
	}
	c.giveChange(ch)
	return rc
}

// refuse returns an error from xUpdate. What SQLite does with it depends on the
// code and on the statement's OR clause (mode):
//
//	CONSTRAINT_*   OR IGNORE skips the row; FAIL, ROLLBACK and ABORT act as they say
//	any other      the statement is rolled back, whatever OR says
//
// So a constraint whose own action differs from the statement's mode must not
// return its code; it comes through the side channel instead. Codes that would
// end the whole transaction (FULL, IOERR, NOMEM, INTERRUPT) are never returned.
func (c *Conn) refuse(p uintptr, tls *libc.TLS, err error, mode Conflict) int32 {
	c.note(err)
	setMessage(tls, &(*cTable)(unsafe.Pointer(p)).base, err.Error())
	var e *Error
	if !errors.As(err, &e) {
		return lib.SQLITE_ERROR
	}
	switch e.Code {
	case lib.SQLITE_CONSTRAINT:
		if e.Action == mode || e.Action == Abort && mode == Replace {
			return int32(e.Extended)
		}
		if e.Action == Fail { // SQLite knows no better than to undo the statement
			e.Action = Abort
		}
	case lib.SQLITE_MISMATCH:
		return int32(e.Extended)
	}
	return lib.SQLITE_ERROR
}

// scratch is memory that is used again for each row.
type scratch struct {
	key     []byte
	changes []*change // idle
}

// change is one call of xUpdate. Triggers will nest them, so each has its own
// memory, taken from a pool.
type change struct {
	t    *table
	c    *Conn
	tls  *libc.TLS
	h    *engine.TxTable
	def  *engine.TableDef
	mode Conflict // the statement's: Default when it has none

	keys     *tableKeys     // foreign keys that concern the table, nil without any
	triggers *tableTriggers // on the table, nil without any
	ret      *Returning     // collects the row, nil unless the statement returns it
	vals     []row.Value    // by ordinal
	set      []bool         // UPDATE: columns that SET names, by ordinal
	dec      row.Decoder
	rivals   []int64
	rowid    int64
	inserted bool
	stored   bool // INSERT: the row is there, and triggers after it may run
	planned
}

func (c *Conn) takeChange(t *table, tls *libc.TLS, mode Conflict) *change {
	var ch *change
	if n := len(c.scratch.changes); n > 0 {
		ch, c.scratch.changes = c.scratch.changes[n-1], c.scratch.changes[:n-1]
	} else {
		ch = new(change)
	}
	switch {
	case c.clauseKnown:
		mode = c.clause
	case mode == Abort: // SQLite's default; an explicit OR ABORT looks the same
		mode = Default
	}
	ch.t, ch.c, ch.tls, ch.mode, ch.inserted, ch.stored, ch.updated = t, c, tls, mode, false, false, false
	ch.rivals = ch.rivals[:0]
	return ch
}

func (c *Conn) giveChange(ch *change) {
	if ch.plan != nil {
		ch.releasePlan()
	}
	clear(ch.vals) // they borrow from SQLite and from records
	ch.t, ch.h, ch.def, ch.keys, ch.triggers, ch.ret = nil, nil, nil, nil, nil, nil
	ch.dec.Reset("\x01")
	c.scratch.changes = append(c.scratch.changes, ch)
}

// run tells the three kinds of change apart, as xUpdate's arguments say:
// [rowid] deletes; [NULL, new rowid, columns…] inserts; [old rowid, new rowid,
// columns…] updates.
func (ch *change) run(args []uintptr) error {
	h, err := ch.t.handle()
	if err != nil {
		return err
	}
	if err := ch.prepare(h); err != nil {
		return err
	}
	ch.ret = ch.c.returns(ch.t)
	if ch.keys == nil && ch.ret == nil {
		return ch.dispatch(args)
	}
	// Actions change other rows before one of them may fail, and what is
	// returned is evaluated after the change.
	tx := ch.c.tx
	mark := tx.Mark()
	if err = ch.dispatch(args); err != nil && !errors.Is(err, errSkip) {
		ch.c.takeBack(tx, mark, err)
	}
	return err
}

// prepare readies the change for the table of a handle.
func (ch *change) prepare(h *engine.TxTable) (err error) {
	t := ch.t
	ch.h, ch.def = h, t.info.Def
	if n := len(ch.def.Columns); cap(ch.vals) < n {
		ch.vals, ch.set = make([]row.Value, n), make([]bool, n)
	} else {
		ch.vals, ch.set = ch.vals[:n], ch.set[:n]
	}
	if ch.keys, err = t.foreign(); err == nil {
		ch.triggers, err = t.fired()
	}
	return err
}

func (ch *change) dispatch(args []uintptr) error {
	if len(args) == 1 {
		return ch.deleteRow(valueAt(ch.tls, args[0]).Int())
	}
	if old := valueAt(ch.tls, args[0]); !old.IsNull() {
		return ch.update(old.Int(), args)
	}
	ch.inserted = true
	return ch.insert(args)
}

// result is the rowid that an INSERT reports. Tables without rowid leave
// last_insert_rowid alone.
func (ch *change) result() int64 {
	if ch.updated || ch.t.info.Def.WithoutRowid {
		return ch.c.LastInsertRowid()
	}
	return ch.rowid
}

// action decides what a violated constraint does: the statement's OR clause comes
// first, then the constraint's own ON CONFLICT, then ABORT.
func (ch *change) action(own Conflict) Conflict {
	switch {
	case ch.mode != Default:
		return ch.mode
	case own != Default:
		return own
	}
	return Abort
}

// violation is the error of a violated constraint, or errSkip.
func violation(action Conflict, code int, format string, a ...any) error {
	if action == Ignore {
		return errSkip
	}
	if action == Replace {
		action = Abort
	}
	e := errorf(code, format, a...)
	e.Action = action
	return e
}

// deleteRow deletes a row that a DELETE names.
func (ch *change) deleteRow(rowid int64) error {
	if ch.ret == nil || ch.triggers.on(OnDelete) {
		return ch.delete(rowid)
	}
	rec, found, err := ch.h.Get(rowid)
	if err != nil {
		return err
	}
	if !found {
		return errSkip
	}
	rec = row.Record(strings.Clone(string(rec)))
	if err := ch.delete(rowid); err != nil {
		return err
	}
	ch.rowid = rowid
	return ch.returned(rowid, rec)
}

func (ch *change) delete(rowid int64) error {
	if ch.triggers.on(OnDelete) {
		return ch.deleteFiring(rowid, Default)
	}
	return ch.erase(rowid)
}

// erase is delete without triggers.
func (ch *change) erase(rowid int64) error {
	if ch.keys != nil {
		return ch.removeForeign(rowid, ch.h.Delete)
	}
	if err := ch.h.Delete(rowid); err != nil {
		if errors.Is(err, engine.ErrNotFound) {
			return errSkip
		}
		return err
	}
	return nil
}

// record encodes the row as it is stored: the rowid's alias as NULL.
func (ch *change) record() row.Record {
	if a := ch.def.RowidAlias; a >= 0 {
		v := ch.vals[a]
		ch.vals[a] = row.Value{}
		defer func() { ch.vals[a] = v }()
	}
	b := row.AppendRecord(nil, ch.vals)
	return row.Record(unsafe.String(unsafe.SliceData(b), len(b))) // nobody else has b
}
