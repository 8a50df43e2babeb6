package vtab

import (
	"math"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// A plan travels from xBestIndex to xFilter as idxNum:
//
//	bits  0-2   what is read: planScan, planRowid, planList, planIndex, planSource
//	bit   3     descending
//	bit   4     a lower bound is among the arguments
//	bit   5     and excludes its value
//	bit   6     an upper bound is among the arguments
//	bit   7     and excludes its value
//	bits  8-12  planIndex: number of leading key columns with equality
//	bits 16-29  planIndex: position of the index in the table's definition
//
// The arguments come in the order: equalities by key column, lower bound,
// upper bound. The bounds are on the rowid for planScan and on the key column
// behind the equalities for planIndex.
//
// idxStr has one letter per argument, then ":" and the name of the index. The
// letter says how SQLite converts the argument before it compares: b not at
// all, t to TEXT, n to a number where the text reads as one; a capital letter
// is IS, for which NULL equals NULL.
//
// A plan by an index may give more rows than match: SQLite tests each again.
// Constraints on the rowid are exact (see exactRowid, lowestRowid), and so they
// are omitted; SQLite itself sees to those that it passed on only in part, as
// of a row value.
const (
	planScan   = 0 // rows by rowid, possibly within bounds
	planRowid  = 1 // the row of one rowid
	planList   = 2 // the rows of an IN list of rowids
	planIndex  = 3 // rows by an index
	planSource = 4 // a row source, see frame

	planKind      = 0x7
	planDesc      = 1 << 3
	planLower     = 1 << 4
	planLowerExcl = 1 << 5
	planUpper     = 1 << 6
	planUpperExcl = 1 << 7
	planTerms     = 8
	planTermsMask = 0x1f
	planIndexAt   = 16
	planIndexMask = 0x3fff

	maxIndexTerms = planTermsMask
)

// term is a usable constraint of the WHERE clause.
type term struct {
	at     int // position in aConstraint
	op     uint8
	letter byte // conversion, 0 when the term cannot be used with an index
	coll   row.Collation
	in     bool
}

// tableBestIndex is xBestIndex.
func tableBestIndex(tls *libc.TLS, p, info uintptr) (rc int32) {
	t := tableAt(p)
	fail := func(err error) {
		setMessage(tls, &(*cTable)(unsafe.Pointer(p)).base, err.Error())
		rc = lib.SQLITE_ERROR
	}
	defer t.c.guard("plan", fail)
	if err := t.refresh(); err != nil {
		t.c.note(err)
		fail(err)
		return rc
	}
	pl := planner{tls: tls, t: t, info: info, ii: (*lib.Tsqlite3_index_info)(unsafe.Pointer(info)), rows: t.estimate()}
	return pl.plan()
}

// fewRows is what a small table is taken for: a statement prepared while the
// table is empty is run when it is not.
const fewRows = 50

// estimate returns the present number of rows.
func (t *table) estimate() float64 {
	n := 0
	switch {
	case t.c.tx != nil:
		n = t.c.tx.Len(t.id)
	case t.c.snap != nil:
		if v := t.c.snap.Table(t.id); v != nil {
			n = v.Len()
		}
	}
	return float64(max(n, fewRows))
}

// planner is one call of xBestIndex.
type planner struct {
	tls  *libc.TLS
	t    *table
	info uintptr
	ii   *lib.Tsqlite3_index_info
	rows float64
	args int32
}

func (pl *planner) constraints() []lib.Tsqlite3_index_constraint {
	if pl.ii.FnConstraint == 0 {
		return nil
	}
	return unsafe.Slice((*lib.Tsqlite3_index_constraint)(unsafe.Pointer(pl.ii.FaConstraint)), pl.ii.FnConstraint)
}

func (pl *planner) usage(at int) *lib.Tsqlite3_index_constraint_usage {
	return &unsafe.Slice((*lib.Tsqlite3_index_constraint_usage)(unsafe.Pointer(pl.ii.FaConstraintUsage)), pl.ii.FnConstraint)[at]
}

// pass makes the constraint's value the next argument of xFilter.
func (pl *planner) pass(at int) {
	pl.args++
	pl.usage(at).FargvIndex = pl.args
}

// answer passes a constraint that need not be tested again.
func (pl *planner) answer(at int) {
	pl.pass(at)
	pl.usage(at).Fomit = 1
}

func (pl *planner) plan() int32 {
	def := pl.t.info.Def
	var rowid []term
	var byColumn map[int][]term
	for i, con := range pl.constraints() {
		col := int(con.FiColumn)
		if col == pl.t.ncols {
			if con.Fop != lib.SQLITE_INDEX_CONSTRAINT_EQ {
				continue
			}
			if con.Fusable == 0 {
				return lib.SQLITE_CONSTRAINT
			}
			pl.answer(i)
			pl.finish(planSource, 1, 1)
			return lib.SQLITE_OK
		}
		if con.Fusable == 0 || !plannable(con.Fop) {
			continue
		}
		if col < 0 || col == def.RowidAlias {
			rowid = append(rowid, term{at: i, op: con.Fop, in: pl.isIn(i)})
			continue
		}
		if pl.indexed(col) {
			tm := term{at: i, op: con.Fop, in: pl.isIn(i)}
			if tm.letter, tm.coll = pl.comparison(i, con.Fop, def.Columns[col].Affinity); tm.letter != 0 {
				if byColumn == nil {
					byColumn = map[int][]term{}
				}
				byColumn[col] = append(byColumn[col], tm)
			}
		}
	}
	if pl.byRowid(rowid) {
		return lib.SQLITE_OK
	}
	if len(rowid) > 0 { // indexes on the rowid alias
		for i := range rowid {
			rowid[i].letter = 'n'
			if rowid[i].op == lib.SQLITE_INDEX_CONSTRAINT_IS {
				rowid[i].letter = 'N'
			}
		}
	}
	best := pl.bestIndex(byColumn, rowid)
	if best.cost < pl.scanCost(rowid) {
		pl.useIndex(best)
	} else {
		pl.scan(rowid)
	}
	return lib.SQLITE_OK
}

// plannable lists the operators a plan can use.
func plannable(op uint8) bool {
	switch op {
	case lib.SQLITE_INDEX_CONSTRAINT_EQ, lib.SQLITE_INDEX_CONSTRAINT_IS, lib.SQLITE_INDEX_CONSTRAINT_ISNULL,
		lib.SQLITE_INDEX_CONSTRAINT_GT, lib.SQLITE_INDEX_CONSTRAINT_GE, lib.SQLITE_INDEX_CONSTRAINT_LT, lib.SQLITE_INDEX_CONSTRAINT_LE:
		return true
	}
	return false
}

func isEquality(op uint8) bool {
	switch op {
	case lib.SQLITE_INDEX_CONSTRAINT_EQ, lib.SQLITE_INDEX_CONSTRAINT_IS, lib.SQLITE_INDEX_CONSTRAINT_ISNULL:
		return true
	}
	return false
}

func isLower(op uint8) bool {
	return op == lib.SQLITE_INDEX_CONSTRAINT_GT || op == lib.SQLITE_INDEX_CONSTRAINT_GE
}

func isUpper(op uint8) bool {
	return op == lib.SQLITE_INDEX_CONSTRAINT_LT || op == lib.SQLITE_INDEX_CONSTRAINT_LE
}

// isIn reports whether an equality is an IN that could be had whole.
func (pl *planner) isIn(at int) bool {
	return lib.Xsqlite3_vtab_in(pl.tls, pl.info, int32(at), -1) != 0
}

// indexed reports whether some index has the column.
func (pl *planner) indexed(col int) bool {
	for _, ix := range pl.t.info.Def.Indexes {
		for _, ic := range ix.Columns {
			if ic.Column == col {
				return true
			}
		}
	}
	return false
}

// byRowid plans the lookup of one rowid or of a list of them.
func (pl *planner) byRowid(rowid []term) bool {
	list := -1
	for _, tm := range rowid {
		switch {
		case tm.op != lib.SQLITE_INDEX_CONSTRAINT_EQ && tm.op != lib.SQLITE_INDEX_CONSTRAINT_IS:
		case tm.in:
			list = tm.at
		default:
			pl.answer(tm.at)
			pl.ii.FidxFlags = lib.SQLITE_INDEX_SCAN_UNIQUE
			pl.finish(planRowid, 1, 1)
			pl.consumeOrder(false)
			return true
		}
	}
	if list < 0 {
		return false
	}
	lib.Xsqlite3_vtab_in(pl.tls, pl.info, int32(list), 1)
	pl.answer(list)
	const n = 25 // SQLite's own guess of a list
	num := int32(planList)
	if pl.orderedByRowid() {
		num |= pl.consumeOrder(true)
	}
	pl.finish(num, n*2, n)
	return true
}

func (pl *planner) scanCost(rowid []term) float64 {
	cost := pl.rows*3 + 3
	for _, tm := range rowid {
		if isLower(tm.op) || isUpper(tm.op) {
			cost /= 4
		}
	}
	return cost
}

// scan plans a scan of the rows, within bounds on the rowid if there are some.
func (pl *planner) scan(rowid []term) {
	if pl.t.scanKey >= 0 {
		pl.useIndex(candidate{ix: pl.t.scanKey, lower: -1, upper: -1, cost: pl.rows*4 + 4, rows: pl.rows})
		return
	}
	num, lower, upper := int32(planScan), -1, -1
	for _, tm := range rowid {
		switch {
		case isLower(tm.op) && lower < 0:
			lower = tm.at
			num |= planLower
			if tm.op == lib.SQLITE_INDEX_CONSTRAINT_GT {
				num |= planLowerExcl
			}
		case isUpper(tm.op) && upper < 0:
			upper = tm.at
			num |= planUpper
			if tm.op == lib.SQLITE_INDEX_CONSTRAINT_LT {
				num |= planUpperExcl
			}
		}
	}
	rows := pl.rows
	for _, at := range []int{lower, upper} {
		if at >= 0 {
			pl.answer(at)
			rows /= 4
		}
	}
	if pl.orderedByRowid() {
		num |= pl.consumeOrder(true)
	}
	pl.finish(num, rows*3+3, rows)
}

func (pl *planner) finish(num int32, cost, rows float64) {
	pl.ii.FidxNum |= num
	pl.ii.FestimatedCost = cost
	pl.ii.FestimatedRows = lib.Tsqlite3_int64(max(1, math.Ceil(rows)))
}

func (pl *planner) orderBy() []lib.Tsqlite3_index_orderby {
	if pl.ii.FnOrderBy == 0 {
		return nil
	}
	return unsafe.Slice((*lib.Tsqlite3_index_orderby)(unsafe.Pointer(pl.ii.FaOrderBy)), pl.ii.FnOrderBy)
}

// orderedByRowid reports whether the order asked for is that of the rowid:
// since it is unique, later terms do not matter.
func (pl *planner) orderedByRowid() bool {
	ob := pl.orderBy()
	return len(ob) > 0 && (ob[0].FiColumn < 0 || int(ob[0].FiColumn) == pl.t.info.Def.RowidAlias)
}

// consumeOrder promises the order asked for and returns the direction bit. Of
// a single row any order is true.
func (pl *planner) consumeOrder(many bool) int32 {
	ob := pl.orderBy()
	if len(ob) == 0 {
		return 0
	}
	pl.ii.ForderByConsumed = 1
	if many && ob[0].Fdesc != 0 {
		return planDesc
	}
	return 0
}
