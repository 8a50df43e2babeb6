package vtab

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Whether `x = y` compares numbers, texts or plain values depends on the
// affinities of both sides, and xBestIndex is told nothing of y. For a column
// of numeric affinity there is no doubt: the comparison is numeric. For others
// there is: to a TEXT column, 5 is '5', but a column y of INTEGER affinity
// turns x into a number first, and '5.0' equals 5. So the expression behind
// the constraint is looked at, by SQLite's own rules (sqlite3ExprAffinity,
// comparisonAffinity), in its own structures: those behind sqlite3_vtab_collation.
// Where that fails the constraint is not used, which is never wrong.

// comparison returns how the value of a constraint on a column of affinity
// column is converted (see the letters of a plan), and the collation. The
// letter 0 means that an index cannot answer the comparison.
func (pl *planner) comparison(at int, op uint8, column row.Affinity) (letter byte, coll row.Collation) {
	coll, ok := row.CollationByName(goString(lib.Xsqlite3_vtab_collation(pl.tls, pl.info, int32(at))))
	if !ok {
		return 0, 0
	}
	if op == lib.SQLITE_INDEX_CONSTRAINT_ISNULL {
		return 'B', coll
	}
	aff, ok := pl.affinityOf(at)
	if !ok {
		return 0, 0
	}
	switch { // sqlite3IndexAffinityOk
	case aff < lib.SQLITE_AFF_TEXT:
		letter = 'b'
	case aff == lib.SQLITE_AFF_TEXT:
		if column != row.AffText {
			return 0, 0
		}
		letter = 't'
	default:
		if column < row.AffNumeric {
			return 0, 0
		}
		letter = 'n'
	}
	if op == lib.SQLITE_INDEX_CONSTRAINT_IS {
		letter -= 'a' - 'A'
	}
	return letter, coll
}

// affinityOf returns the affinity of the comparison behind a constraint.
func (pl *planner) affinityOf(at int) (uint8, bool) {
	hidden := (*lib.THiddenIndexInfo)(unsafe.Pointer(pl.info + unsafe.Sizeof(lib.Tsqlite3_index_info{})))
	e := termExpr(hidden.FpWC, pl.constraints()[at].FiTermOffset)
	if e == nil || e.FpLeft == 0 || expr(e.FpLeft).Fop == lib.TK_VECTOR {
		return 0, false
	}
	left, ok := affinity(expr(e.FpLeft), 0)
	if !ok {
		return 0, false
	}
	var other *lib.TExpr
	switch {
	case e.FpRight != 0:
		other = expr(e.FpRight)
	case e.Fflags&lib.EP_xIsSelect != 0:
		other = firstOfSelect(e)
	default: // IN (list)
		return max(left, lib.SQLITE_AFF_BLOB), true
	}
	if other == nil || other.Fop == lib.TK_VECTOR {
		return 0, false
	}
	right, ok := affinity(other, 0)
	if !ok {
		return 0, false
	}
	if left > lib.SQLITE_AFF_NONE && right > lib.SQLITE_AFF_NONE { // both are columns
		if left >= lib.SQLITE_AFF_NUMERIC || right >= lib.SQLITE_AFF_NUMERIC {
			return lib.SQLITE_AFF_NUMERIC, true
		}
		return lib.SQLITE_AFF_BLOB, true
	}
	return max(left, right) | lib.SQLITE_AFF_NONE, true
}

func expr(p uintptr) *lib.TExpr { return (*lib.TExpr)(unsafe.Pointer(p)) }

// termExpr finds the expression of a term: an offset beyond one WHERE clause
// counts on in the one around it.
func termExpr(wc uintptr, at int32) *lib.TExpr {
	for wc != 0 && at >= 0 {
		w := (*lib.TWhereClause)(unsafe.Pointer(wc))
		if at < w.FnTerm {
			tm := (*lib.TWhereTerm)(unsafe.Pointer(w.Fa + uintptr(at)*unsafe.Sizeof(lib.TWhereTerm{})))
			if tm.FpExpr == 0 {
				return nil
			}
			return expr(tm.FpExpr)
		}
		at -= w.FnTerm
		wc = w.FpOuter
	}
	return nil
}

// affinity is sqlite3ExprAffinity. It gives up on what it does not know.
func affinity(e *lib.TExpr, depth int) (uint8, bool) {
	op := e.Fop
	for ; depth < 100; depth++ {
		switch {
		case op == lib.TK_COLUMN, op == lib.TK_AGG_COLUMN && e.Fy.FpTab != 0:
			return columnAffinity(e)
		case op == lib.TK_SELECT:
			if e = firstOfSelect(e); e == nil {
				return 0, false
			}
			op = e.Fop
			continue
		case op == lib.TK_CAST:
			typ := *(*uintptr)(unsafe.Pointer(&e.Fu))
			return uint8(row.AffinityOf(goString(typ))), typ != 0
		case op == lib.TK_SELECT_COLUMN, op == lib.TK_VECTOR, op == lib.TK_FUNCTION && uint8(e.FaffExpr) == lib.SQLITE_AFF_DEFER:
			return 0, false
		case e.Fflags&(lib.EP_Skip|lib.EP_IfNullRow) != 0:
			if e.FpLeft == 0 {
				return 0, false
			}
			e = expr(e.FpLeft)
			op = e.Fop
			continue
		case op == lib.TK_REGISTER && e.Fop2 != lib.TK_REGISTER:
			op = e.Fop2
			continue
		}
		return uint8(e.FaffExpr), true
	}
	return 0, false
}

func columnAffinity(e *lib.TExpr) (uint8, bool) {
	if e.Fy.FpTab == 0 {
		return 0, false
	}
	tab := (*lib.TTable)(unsafe.Pointer(e.Fy.FpTab))
	col := int(e.FiColumn)
	if col < 0 || col >= int(tab.FnCol) {
		return lib.SQLITE_AFF_INTEGER, true
	}
	return uint8((*lib.TColumn)(unsafe.Pointer(tab.FaCol + uintptr(col)*unsafe.Sizeof(lib.TColumn{}))).Faffinity), true
}

// firstOfSelect returns the first result column of an expression's SELECT.
func firstOfSelect(e *lib.TExpr) *lib.TExpr {
	sel := *(*uintptr)(unsafe.Pointer(&e.Fx))
	if sel == 0 {
		return nil
	}
	list := (*lib.TSelect)(unsafe.Pointer(sel)).FpEList
	if list == 0 || (*lib.TExprList)(unsafe.Pointer(list)).FnExpr < 1 {
		return nil
	}
	// ExprList ends in an array of items, right behind its two counters.
	item := (*lib.TExprList_item)(unsafe.Pointer(list + unsafe.Sizeof(lib.TExprList{})))
	if item.FpExpr == 0 {
		return nil
	}
	return expr(item.FpExpr)
}
