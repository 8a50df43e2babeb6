package vtab

import (
	"math"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// A plan travels from xBestIndex to xFilter as idxNum:
//
//	bits  0-2   what is read: planScan, planRowid, planList, planIndex, planSource, planHash
//	bit   3     descending
//	bit   4     a lower bound is among the arguments
//	bit   5     and excludes its value
//	bit   6     an upper bound is among the arguments
//	bit   7     and excludes its value
//	bits  8-12  planIndex: number of leading key columns with equality
//	bits 13-15  planScan, planIndex, planHash: number of tests
//	bits 16-27  planIndex: position of the index in the table's definition
//	bit  28     planIndex: of rows that look the same to the statement one is enough
//	bit  29     planScan, planIndex: only the row of the least value is read
//	bit  30     planIndex: all columns read are in the index
//	bit  31     the first argument names the branch point to read, see past
//
// The arguments come in the order: equalities by key column, lower bound,
// upper bound, tests. The bounds are on the rowid for planScan and on the key
// column behind the equalities for planIndex. A test is a comparison the cursor
// makes with each row before SQLite sees it.
//
// idxStr is letters ":" tests ":" id "/" columns ":" text. There is one letter per
// argument; it says how SQLite converts the argument before it compares: b not
// at all, t to TEXT, n to a number where the text reads as one; a capital
// letter is IS, for which NULL equals NULL. See testText for the tests. id is
// that of the index, 0 without one, columns how many leading ones of its key
// rows must differ in, 0 when rows are not left out. The text is what EXPLAIN QUERY PLAN shows,
// see Explained.
//
// Indexes, bounds and tests answer a comparison exactly, so SQLite need not
// repeat it (fomit); where it passed on only a part of one, as of a row value,
// it sees to the rest by itself. A list of an IN on an index comes element by
// element.
const (
	planScan   = 0 // rows by rowid, possibly within bounds
	planRowid  = 1 // the row of one rowid
	planList   = 2 // the rows of an IN list of rowids
	planIndex  = 3 // rows by an index
	planSource = 4 // a row source, see frame
	planHash   = 5 // the table in its own order, or of a hash table what passes the equalities

	planKind      = 0x7
	planDesc      = 1 << 3
	planLower     = 1 << 4
	planLowerExcl = 1 << 5
	planUpper     = 1 << 6
	planUpperExcl = 1 << 7
	planTerms     = 8
	planTermsMask = 0x1f
	planTests     = 13
	planTestsMask = 0x7
	planIndexAt   = 16
	planIndexMask = 0xfff
	planDistinct  = 1 << 28
	planFirst     = 1 << 29
	planKeyed     = 1 << 30
	planPast      = -1 << 31

	maxIndexTerms = planTermsMask
	maxTests      = planTestsMask
)

// term is a usable constraint of the WHERE clause.
type term struct {
	at       int // position in aConstraint
	col      int // ordinal, -1 for the rowid
	op       uint8
	letter   byte // conversion, 0 when the term can be used with the rowid only
	coll     row.Collation
	in       bool
	constant bool // the same value all through the statement
	derived  bool // from a LIKE or GLOB
}

// tableBestIndex is xBestIndex.
func tableBestIndex(tls *libc.TLS, p, info uintptr) (rc int32) {
	t := tableAt(p)
	fail := func(err error) {
		setMessage(tls, &(*cTable)(unsafe.Pointer(p)).base, err.Error())
		rc = lib.SQLITE_ERROR
	}
	defer t.c.guard("plan", fail)
	err := t.refresh()
	if err != nil {
		t.c.note(err)
		fail(err)
		return rc
	}
	pl := planner{tls: tls, t: t, info: info, ii: (*lib.Tsqlite3_index_info)(unsafe.Pointer(info))}
	pl.rows = float64(max(pl.count(), fewRows))
	if rc = pl.plan(); pl.past {
		if err = hasPast(t.info.Def); err != nil {
			t.c.note(err)
			fail(err)
		}
	}
	return rc
}

// planner is one call of xBestIndex.
type planner struct {
	tls   *libc.TLS
	t     *table
	info  uintptr
	ii    *lib.Tsqlite3_index_info
	rows  float64
	args  int32
	stats engine.Statistics
	known bool // stats is set
	min   int  // column of which the statement wants the least value, or noColumn

	// partly says that a constraint is only a part of a comparison, as of a row
	// value: SQLite passes (id, d) > (7, 0) as id >= 7.
	partly bool

	past bool // an old state is read, see past

	letters []byte
	parts   []string // of the text for EXPLAIN QUERY PLAN
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

// pass makes the constraint's value the next argument of xFilter. SQLite need
// not test the constraint again.
func (pl *planner) pass(at int) {
	pl.args++
	u := pl.usage(at)
	if u.FargvIndex = pl.args; !pl.past {
		u.Fomit = 1
	}
}

// take passes a term with its letter, and describes it.
func (pl *planner) take(tm term) {
	pl.pass(tm.at)
	if tm.derived {
		// When both bounds that SQLite made of a LIKE are answered, it takes
		// the LIKE for answered too, and in the ON clause of an outer join
		// loses the rows without a match.
		pl.usage(tm.at).Fomit = 0
	}
	pl.letters = append(pl.letters, tm.letter)
	pl.parts = append(pl.parts, pl.columnName(tm.col)+operatorText(tm.op))
}

func (pl *planner) plan() int32 {
	def := pl.t.info.Def
	var rowid, others []term
	for i, con := range pl.constraints() {
		col := int(con.FiColumn)
		if col == pl.t.ncols {
			if con.Fop != lib.SQLITE_INDEX_CONSTRAINT_EQ {
				continue
			}
			if con.Fusable == 0 {
				return lib.SQLITE_CONSTRAINT
			}
			switch {
			case pl.past: // SQLite compares the names of two
			case pl.isSource(i):
				pl.pass(i)
				pl.finish(planSource, 1, 1)
				return lib.SQLITE_OK
			default:
				pl.pass(i)
				pl.past = true
			}
			continue
		}
		col = pl.t.phys(col)
		if con.Fusable == 0 || !plannable(con.Fop) || pl.t.c.PushdownOff {
			continue
		}
		tm := term{at: i, col: col, op: con.Fop, in: pl.isIn(i), coll: row.Binary}
		if col < 0 || col == def.RowidAlias {
			tm.letter = 'n'
			if con.Fop == lib.SQLITE_INDEX_CONSTRAINT_IS || con.Fop == lib.SQLITE_INDEX_CONSTRAINT_ISNULL {
				tm.letter = 'N'
			}
			pl.partly = pl.partly || pl.isPart(i)
			rowid = append(rowid, tm)
			continue
		}
		var vector bool
		tm.letter, tm.coll, vector = pl.comparison(i, con.Fop, def.Columns[col].Affinity, def.Columns[col].Collation)
		if tm.letter != 0 {
			tm.in = tm.in || vector && isEquality(con.Fop)
			pl.partly = pl.partly || vector
			tm.constant = pl.isConstant(i)
			tm.derived = pl.isDerived(i)
			others = append(others, tm)
		}
	}
	if pl.byRowid(rowid) {
		return lib.SQLITE_OK
	}
	if pl.min = noColumn; !pl.past {
		pl.min = pl.minimum()
	}
	scan := pl.scanning(others, rowid)
	limit := pl.total(scan.cost, scan.rows, scan.ordered)
	if scan.hash {
		limit *= indexAhead
	}
	if best := pl.bestIndex(others, rowid); best.total < limit {
		pl.useIndex(best)
	} else {
		pl.useScan(scan)
	}
	return lib.SQLITE_OK
}

// plannable lists the operators a plan can use.
func plannable(op uint8) bool { return isEquality(op) || isLower(op) || isUpper(op) }

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

// isSource reports whether the hidden column is compared with what selects a row
// source, and not with the name of a branch point.
func (pl *planner) isSource(at int) bool {
	v, ok := pl.literal(term{at: at, op: lib.SQLITE_INDEX_CONSTRAINT_EQ})
	return ok && v.Kind() == row.Int && v.Int() < 0
}

// sure reports whether what is read has an index for certain.
func (pl *planner) sure(ix int) bool { return !pl.past || ix == pl.t.scanKey }

// finish fills in the plan. Most callers have more to say in idxStr.
func (pl *planner) finish(num int32, cost, rows float64) {
	if pl.past {
		num |= planPast
	}
	pl.ii.FidxNum = num
	pl.ii.FestimatedCost = cost
	pl.ii.FestimatedRows = lib.Tsqlite3_int64(max(1, math.Ceil(rows)))
}

func (pl *planner) orderBy() []lib.Tsqlite3_index_orderby {
	if pl.ii.FnOrderBy == 0 || pl.t.c.PushdownOff {
		return nil
	}
	return unsafe.Slice((*lib.Tsqlite3_index_orderby)(unsafe.Pointer(pl.ii.FaOrderBy)), pl.ii.FnOrderBy)
}

// orderedByRowid reports whether the order asked for is that of the rowid:
// since it is unique, later terms do not matter.
func (pl *planner) orderedByRowid() bool {
	ob := pl.orderBy()
	return len(ob) > 0 && (ob[0].FiColumn < 0 || pl.t.phys(int(ob[0].FiColumn)) == pl.t.info.Def.RowidAlias)
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
