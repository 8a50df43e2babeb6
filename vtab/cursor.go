package vtab

import (
	"runtime"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// Rows reach a cursor in blocks. The first block is small, so that a lookup or
// a LIMIT does not pay for rows nobody reads, and later ones are large, so that
// the engine's cost per row is that of a step in its tree.
const (
	firstBlock = 8
	fullBlock  = 128

	keepList = 4 << 10 // elements of a list that an idle cursor keeps
)

// cursor reads a table for one loop of a statement. A cursor that SQLite has
// closed is kept for its memory and opened again.
type cursor struct {
	t   *table
	c   *Conn
	pin runtime.Pinner

	buf   [fullBlock]engine.Entry
	n, i  int // entries in buf, and the current one; i >= n is the end
	next  int // size of the next block, 0 when there is none
	read  bool
	bare  bool // the entries in buf have no records yet: see load
	alias int
	dec   row.Decoder

	// Where blocks come from.
	scan   engine.Scanner
	list   []int64       // rowids of an IN list, in order
	listed int           // how many of them were read
	view   *engine.Table // that list or chain is read from
	chain  *hash         // with at, the next row out of it, plus one
	at     int32

	src    *frame         // row source: buf has one empty entry for its row
	shown  frame          // that src points to
	stored []engine.Entry // row source: those of its rows that are left
	past   *past          // old state: what is read instead of the present one
	then   pastRow        // of past, computed
	odd    bool           // one of the two is set

	// How the rows are told apart.
	plan    parsedPlan
	vals    []row.Value // arguments of xFilter, borrowed for its time
	key     []byte      // bounds of an index scan
	tests   []test      // what a row must pass
	keyed   *engine.IndexDef
	keys    []string // of keyed, beside buf, whose entries have no record yet
	differ  int      // columns of keyed that rows must differ in, 0 for none
	last    string   // those of the last row
	hashes  []*hash  // see hash
	hashed  bool     // blocks come from a hash table: chain and view
	counted *hash    // that counts the rows a scan reads
	failed  error    // what value met, see cursorColumn
}

// cursorOpen is xOpen.
func cursorOpen(tls *libc.TLS, p, pp uintptr) int32 {
	t := tableAt(p)
	cp := allocate(tls, unsafe.Sizeof(cCursor{}))
	if cp == 0 {
		return lib.SQLITE_NOMEM
	}
	c := t.c
	var q *cursor
	if n := len(c.idle); n > 0 {
		q, c.idle = c.idle[n-1], c.idle[:n-1]
	} else {
		q = new(cursor)
	}
	// What is pinned stays alive although only C memory points to it.
	q.pin.Pin(q)
	q.t, q.c = t, c
	(*cCursor)(unsafe.Pointer(cp)).q = q
	storePointer(pp, cp)
	return lib.SQLITE_OK
}

// cursorClose is xClose.
func cursorClose(tls *libc.TLS, cp uintptr) int32 {
	q := cursorAt(cp)
	c := q.t.c
	q.release()
	q.pin.Unpin()
	q.t = nil
	if len(c.idle) < 16 {
		c.idle = append(c.idle, q)
	}
	(*cCursor)(unsafe.Pointer(cp)).q = nil
	lib.Xsqlite3_free(tls, cp)
	return lib.SQLITE_OK
}

// release lets go of everything the cursor refers to, not of its own memory.
func (q *cursor) release() {
	clear(q.buf[:q.n])
	q.n, q.i, q.next = 0, 0, 0
	q.scan = engine.Scanner{}
	q.list, q.listed, q.view, q.src, q.shown = q.list[:0], 0, nil, nil, frame{}
	q.past, q.odd, q.stored = nil, false, nil
	clear(q.then.vals[:cap(q.then.vals)])
	q.then = pastRow{vals: q.then.vals[:0], done: q.then.done[:0]}
	q.plan = parsedPlan{tests: q.plan.tests[:0]}
	q.tests, q.keyed, q.hashed = nil, nil, false
	q.differ, q.last = 0, ""
	clear(q.keys)
	clear(q.vals[:cap(q.vals)])
	clear(q.plan.tests[:cap(q.plan.tests)])
	q.hashes, q.chain, q.counted, q.failed = nil, nil, nil, nil
	if cap(q.list) > keepList {
		q.list = nil
	}
	if cap(q.key) > keepList {
		q.key = nil
	}
	q.dec.Reset("\x01") // an empty record
}

// rewind prepares the cursor for another xFilter.
func (q *cursor) rewind() {
	clear(q.buf[:q.n])
	q.n, q.i, q.next, q.read, q.bare = 0, 0, 0, false, false
	q.list, q.listed, q.view, q.src, q.odd, q.stored = q.list[:0], 0, nil, nil, false, nil
	q.tests, q.keyed, q.hashed = nil, nil, false
	q.differ, q.last, q.then.vals = 0, "", q.then.vals[:0]
	q.chain, q.counted, q.failed = nil, nil, nil
	q.alias = q.t.info.Def.RowidAlias
}

// one makes the cursor show a single row.
func (q *cursor) one(rowid int64, rec row.Record) {
	q.buf[0] = engine.Entry{Rowid: rowid, Rec: rec}
	q.n = 1
}

// start makes the cursor read blocks and fetches the first.
func (q *cursor) start() error {
	q.next = firstBlock
	return q.fill()
}

// startFirst is start; for planFirst it leaves the first row alone.
func (q *cursor) startFirst(num int32) error {
	if num&planFirst == 0 {
		return q.start()
	}
	q.next = 1
	if len(q.tests) > 0 {
		q.next = firstBlock
	}
	err := q.fill()
	if q.n > 1 {
		clear(q.buf[1:q.n])
		q.n = 1
	}
	q.next = 0
	return err
}

// fill fetches the next block of rows that pass the tests.
func (q *cursor) fill() error {
	for {
		if err := q.block(); err != nil || len(q.tests) == 0 && q.differ == 0 || q.n == 0 {
			return err
		}
		if q.pass(); q.failed != nil {
			q.n, q.next = 0, 0
			return q.failed
		}
		if q.n > 0 || q.next == 0 {
			return nil
		}
		// SQLite looks at this only between rows.
		if err := q.interrupted(); err != nil {
			q.next = 0
			return err
		}
	}
}

func (q *cursor) interrupted() error {
	if lib.Xsqlite3_is_interrupted(q.c.tls, q.c.db) != 0 {
		return errorf(lib.SQLITE_INTERRUPT, "interrupted")
	}
	return nil
}

// block fetches the next block.
func (q *cursor) block() error {
	q.i, q.read, q.bare = 0, false, false
	if q.next == 0 {
		clear(q.buf[:q.n])
		q.n = 0
		return nil
	}
	had := q.n
	var err error
	switch {
	case q.stored != nil:
		q.n = copy(q.buf[:q.next], q.stored)
		q.stored = q.stored[q.n:]
	case q.view != nil:
		q.n, err = q.fromIDs(q.buf[:q.next])
	case q.keyed != nil:
		q.n, err = q.scan.NextKeys(q.buf[:q.next], q.keys)
	default:
		q.n, err = q.scan.NextIDs(q.buf[:q.next])
		if q.bare = err == nil && q.scan.Unloaded(); q.bare && len(q.tests) > 0 {
			err = q.load()
		}
	}
	if q.n < had {
		clear(q.buf[q.n:had])
	}
	if q.counted != nil {
		q.counted.read += q.n
	}
	if err != nil {
		q.n, q.next = 0, 0
		return err
	}
	if q.n < q.next {
		q.next = 0
	} else {
		q.next = min(q.next*4, fullBlock)
	}
	return nil
}

// load reads the rows of a block of a table that keeps none in memory. What only
// counts them, or reads their ids, does without.
func (q *cursor) load() error {
	err := q.scan.Load(q.buf[:q.n])
	q.bare = err != nil
	return err
}

// nextID returns the next rowid of the list or of a chain in a hash table.
func (q *cursor) nextID() (int64, bool) {
	if q.hashed {
		if q.at == 0 {
			return 0, false
		}
		at := q.at - 1
		q.at = q.chain.next[at]
		return q.chain.rows[at], true
	}
	if q.listed == len(q.list) {
		return 0, false
	}
	q.listed++
	return q.list[q.listed-1], true
}

// fromIDs reads the rows of the next rowids; it fills buf unless they end.
func (q *cursor) fromIDs(buf []engine.Entry) (int, error) {
	n := 0
	for n < len(buf) {
		id, more := q.nextID()
		if !more {
			break
		}
		rec, ok, err := q.view.Get(id)
		if err != nil {
			return 0, err
		}
		if ok {
			buf[n] = engine.Entry{Rowid: id, Rec: rec}
			n++
		}
	}
	return n, nil
}

// cursorNext is xNext.
func cursorNext(tls *libc.TLS, cp uintptr) int32 {
	q := cursorAt(cp)
	q.i++
	q.read = false
	if q.i < q.n {
		return lib.SQLITE_OK
	}
	return q.nextBlock(tls)
}

func (q *cursor) nextBlock(tls *libc.TLS) (rc int32) {
	c := q.t.c
	fail := func(err error) {
		q.n, q.i, q.next = 0, 0, 0
		rc = lib.SQLITE_ERROR
	}
	defer c.guard("next", fail)
	if err := q.fill(); err != nil {
		c.note(err)
		fail(err)
	}
	return rc
}

// cursorEOF is xEof.
func cursorEOF(tls *libc.TLS, cp uintptr) int32 {
	q := cursorAt(cp)
	if q.i >= q.n {
		return 1
	}
	return 0
}

// cursorRowid is xRowid.
func cursorRowid(tls *libc.TLS, cp, out uintptr) int32 {
	q := cursorAt(cp)
	*(*int64)(unsafe.Pointer(out)) = q.buf[q.i].Rowid
	return lib.SQLITE_OK
}

// cursorColumn is xColumn. A column that an UPDATE does not set is left without
// a result: sqlite3_value_nochange then tells xUpdate so.
func cursorColumn(tls *libc.TLS, cp, ctx uintptr, k int32) (rc int32) {
	q := cursorAt(cp)
	// This is the hottest callback: calling recover only after a panic saves
	// a tenth of a scan.
	done := false
	defer func() {
		if !done {
			rc = q.c.failColumn(tls, ctx, recover())
		}
	}()
	col := int(k)
	if v := q.t.visible; v != nil {
		col = v[col]
	}
	switch {
	case noChange(ctx):
	case col == q.alias:
		q.c.setResult(tls, ctx, row.IntValue(q.buf[q.i].Rowid))
	case q.odd:
		rc = q.oddColumn(tls, ctx, col)
		done = true
		return rc
	case q.keyed != nil:
		v := q.value(col)
		if q.failed != nil {
			done = true
			return q.failedColumn()
		}
		q.c.setResult(tls, ctx, v)
	default:
		if !q.read {
			if q.bare {
				if q.failed = q.load(); q.failed != nil {
					done = true
					return q.failedColumn()
				}
			}
			q.dec.Reset(q.buf[q.i].Rec)
			q.read = true
		}
		// The hidden column lies behind those of every record and so is NULL.
		v := q.dec.Column(col)
		if q.t.missing && v.IsNull() {
			v = q.t.stored(&q.dec, col)
		}
		q.c.setResult(tls, ctx, v)
	}
	done = true
	return lib.SQLITE_OK
}

// oddColumn is cursorColumn for a row source and for an old state, of which the
// hidden column is the name.
func (q *cursor) oddColumn(tls *libc.TLS, ctx uintptr, k int) int32 {
	switch {
	case q.src != nil:
		q.c.setResult(tls, ctx, q.src.column(k))
		return lib.SQLITE_OK
	case k == len(q.t.info.Def.Columns):
		q.c.setResult(tls, ctx, row.TextValue(q.past.name))
		return lib.SQLITE_OK
	}
	if !q.read && q.bare {
		if q.failed = q.load(); q.failed != nil {
			return q.failedColumn()
		}
	}
	v := q.value(k)
	if q.failed != nil {
		return q.failedColumn()
	}
	q.c.setResult(tls, ctx, v)
	return lib.SQLITE_OK
}

// failedColumn ends an xColumn whose row could not be read. The result it leaves
// is a NULL, which SQLite takes for the value unless the code says otherwise.
func (q *cursor) failedColumn() int32 {
	q.c.note(q.failed)
	return lib.SQLITE_ERROR
}

// noChange is sqlite3_vtab_nochange without the call.
func noChange(ctx uintptr) bool {
	return resultAt(ctx).Fflags&memMark == memMark
}
