package vtab

import (
	"math"
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// fewRows is what a small table is taken for: a statement prepared while the
// table is empty is run when it is not.
const fewRows = 50

// count returns the present number of rows.
func (pl *planner) count() int {
	c, id := pl.t.c, pl.t.id
	switch {
	case c.tx != nil:
		return c.tx.Len(id)
	case c.snap != nil:
		if v := c.snap.Table(id); v != nil {
			return v.Len()
		}
	}
	return 0
}

// statistics readies pl.stats, false when there are none or too few rows to
// say anything.
func (pl *planner) statistics() bool {
	if pl.known {
		return true
	}
	c, id := pl.t.c, pl.t.id
	switch {
	case c.tx != nil:
		h, err := pl.t.handle()
		if err != nil {
			return false
		}
		pl.stats = h.Statistics()
	case c.snap != nil && c.snap.Table(id) != nil:
		view := c.snap.Table(id)
		if c.use(view) != nil {
			return false // whoever reads it is told
		}
		pl.stats = view.Statistics()
	default:
		return false
	}
	pl.known = pl.stats.Len() >= fewRows
	return pl.known
}

// spread is what is known of how many rows share the first columns of an
// index's key, and of how many rows there were then.
type spread struct {
	rows   int
	perKey float64
}

type spreadOf struct{ ix, columns int }

// perKey estimates how many rows have the same values in the first n columns
// of an index. The trees are asked again when the table has become twice as
// large or half as large.
func (pl *planner) perKey(ix, n int) float64 {
	if !pl.statistics() {
		return min(pl.rows, max(2, float64(11-n))) // as SQLite does without statistics
	}
	t := pl.t
	rows := pl.stats.Len()
	s, ok := t.spreads[spreadOf{ix, n}]
	if !ok || rows > 2*s.rows || 2*rows < s.rows {
		s = spread{rows, pl.stats.PerKey(ix, n)}
		if t.spreads == nil {
			t.spreads = map[spreadOf]spread{}
		}
		t.spreads[spreadOf{ix, n}] = s
	}
	return s.perKey
}

// total is what a plan costs that gives rows rows in the order asked for or,
// when it does not, together with sorting them. With a LIMIT an ordered plan
// ends early, and sorting keeps no more rows than that.
func (pl *planner) total(cost, rows float64, ordered bool) float64 {
	if len(pl.orderBy()) == 0 {
		return cost
	}
	limit := pl.limit()
	if ordered {
		return cost * min(1, limit/rows)
	}
	return cost + rows*math.Log2(min(rows, limit)+2)
}

// limit returns the LIMIT of the statement as far as its text tells it, plus
// infinity without one.
func (pl *planner) limit() float64 {
	hidden := (*lib.THiddenIndexInfo)(unsafe.Pointer(pl.info + unsafe.Sizeof(lib.Tsqlite3_index_info{})))
	if hidden.FpWC == 0 {
		return math.Inf(1)
	}
	where := (*lib.TWhereClause)(unsafe.Pointer(hidden.FpWC)).FpWInfo
	if where == 0 || (*lib.TWhereInfo)(unsafe.Pointer(where)).FwctrlFlags&lib.WHERE_USE_LIMIT == 0 {
		return math.Inf(1)
	}
	return max(1, math.Exp2(float64((*lib.TWhereInfo)(unsafe.Pointer(where)).FiLimit)/10)) // a LogEst
}

const (
	boundFraction = 4  // of the rows lie behind a bound of unknown value
	listLength    = 25 // elements of an IN, SQLite's own guess
)

// fraction estimates how many rows a candidate gives. Where all values are
// literals they are counted.
func (pl *planner) fraction(cand candidate) float64 {
	if cand.unique {
		return 1
	}
	if n, ok := pl.counted(cand); ok {
		return float64(max(1, n))
	}
	rows := pl.rows
	if n := len(cand.eq); n > 0 {
		rows = min(rows, pl.perKey(cand.ix, n))
		for _, tm := range cand.eq {
			if tm.in {
				rows = min(pl.rows, rows*listLength)
			}
		}
	}
	for range cand.bounds {
		rows /= boundFraction
	}
	return max(1, rows)
}

// counted counts the entries of a range whose ends are literals.
func (pl *planner) counted(cand candidate) (int, bool) {
	var vals []row.Value
	var letters []byte
	num := int32(0)
	for _, tm := range append(cand.eq[:len(cand.eq):len(cand.eq)], cand.bounds...) {
		v, ok := pl.literal(tm)
		if !ok {
			return 0, false
		}
		vals, letters = append(vals, v), append(letters, tm.letter)
		switch tm.op {
		case lib.SQLITE_INDEX_CONSTRAINT_GT, lib.SQLITE_INDEX_CONSTRAINT_GE:
			num |= planLower
		case lib.SQLITE_INDEX_CONSTRAINT_LT, lib.SQLITE_INDEX_CONSTRAINT_LE:
			num |= planUpper
		}
	}
	if !pl.statistics() {
		return 0, false
	}
	_, lo, hi, some := keyRange(nil, pl.t.info.Def.Indexes[cand.ix], len(cand.eq), num, string(letters), vals)
	if !some {
		return 0, true
	}
	return pl.stats.Keys(cand.ix, string(lo), string(hi)), true
}

// rowidFraction estimates how many rows lie within bounds on the rowid.
func (pl *planner) rowidFraction(bounds []term) float64 {
	if len(bounds) == 0 {
		return pl.rows
	}
	guess := pl.rows
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	literal := true
	for _, tm := range bounds {
		guess /= boundFraction
		v, ok := pl.literal(tm)
		some := false
		switch {
		case !ok:
		case isLower(tm.op):
			lo, some = lowestRowid(v, tm.op == lib.SQLITE_INDEX_CONSTRAINT_GT)
		default:
			hi, some = highestRowid(v, tm.op == lib.SQLITE_INDEX_CONSTRAINT_LT)
		}
		if ok && !some {
			return 1
		}
		literal = literal && ok
	}
	if literal && pl.statistics() {
		return float64(max(1, pl.stats.Rows(lo, hi)))
	}
	return max(1, guess)
}

// literal returns the value a term compares with, if the text of the statement
// tells it. It is borrowed for the call of xBestIndex.
func (pl *planner) literal(tm term) (row.Value, bool) {
	switch {
	case tm.op == lib.SQLITE_INDEX_CONSTRAINT_ISNULL:
		return row.Value{}, true
	case tm.in:
		return row.Value{}, false
	}
	var p uintptr
	out := pl.tls.Alloc(int(unsafe.Sizeof(p)))
	defer pl.tls.Free(int(unsafe.Sizeof(p)))
	storePointer(out, 0)
	if lib.Xsqlite3_vtab_rhs_value(pl.tls, pl.info, int32(tm.at), out) != lib.SQLITE_OK {
		return row.Value{}, false
	}
	if p = loadPointer(out); p == 0 {
		return row.Value{}, false
	}
	return valueAt(pl.tls, p), true
}

// isConstant reports whether the value of a constraint stays the same from one
// xFilter to the next: it depends neither on a table beside this one nor, as
// far as the expression shows, on one around the statement.
func (pl *planner) isConstant(at int) bool {
	tm := pl.whereTerm(at)
	if tm == nil || tm.FpExpr == 0 || tm.FprereqRight != 0 {
		return false
	}
	right := expr(tm.FpExpr).FpRight
	return right == 0 || !mentionsColumn(expr(right), 0)
}

// isDerived reports whether SQLite made a constraint out of a LIKE or GLOB.
func (pl *planner) isDerived(at int) bool {
	tm := pl.whereTerm(at)
	return tm == nil || tm.FwtFlags&lib.TERM_LIKEOPT != 0
}

// mentionsColumn reports whether a column, or a SELECT that depends on one
// outside of it, is in an expression. What it does not know it takes for one.
func mentionsColumn(e *lib.TExpr, depth int) bool {
	const short = lib.EP_TokenOnly | lib.EP_Leaf // nothing hangs below
	switch {
	case depth > 50:
		return true
	case e.Fop == lib.TK_COLUMN, e.Fop == lib.TK_AGG_COLUMN, e.Fop == lib.TK_REGISTER, e.Fop == lib.TK_AGG_FUNCTION:
		return true
	case e.Fflags&short != 0:
		return false
	case e.Fflags&lib.EP_xIsSelect != 0:
		if e.Fflags&lib.EP_VarSelect != 0 {
			return true
		}
	default:
		list := *(*uintptr)(unsafe.Pointer(&e.Fx))
		for i := 0; ; i++ {
			item := listItem(list, i)
			if item == nil {
				break
			}
			if mentionsColumn(item, depth+1) {
				return true
			}
		}
	}
	return e.FpLeft != 0 && mentionsColumn(expr(e.FpLeft), depth+1) || e.FpRight != 0 && mentionsColumn(expr(e.FpRight), depth+1)
}

// isPart reports whether a constraint is a part of a comparison of row values.
func (pl *planner) isPart(at int) bool {
	tm := pl.whereTerm(at)
	if tm == nil || tm.FpExpr == 0 {
		return true
	}
	e := expr(tm.FpExpr)
	return e.FpLeft != 0 && expr(e.FpLeft).Fop == lib.TK_VECTOR || e.FpRight != 0 && expr(e.FpRight).Fop == lib.TK_VECTOR
}
