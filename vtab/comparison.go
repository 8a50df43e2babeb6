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
// column is converted (see the letters of a plan), the collation, and whether it
// is about a column of a row value. The letter 0 means that an index
// cannot answer the comparison.
func (pl *planner) comparison(at int, op uint8, column row.Affinity, declared row.Collation) (letter byte, coll row.Collation, vector bool) {
	coll, ok := row.CollationByName(goString(lib.Xsqlite3_vtab_collation(pl.tls, pl.info, int32(at))))
	if !ok {
		return 0, 0, false
	}
	if op == lib.SQLITE_INDEX_CONSTRAINT_ISNULL {
		return 'B', coll, false
	}
	aff, vector, ok := pl.affinityOf(at)
	if !ok {
		return 0, 0, false
	}
	if vector { // sqlite3_vtab_collation gives that of its first column
		coll = declared
	}
	switch { // sqlite3IndexAffinityOk
	case aff < lib.SQLITE_AFF_TEXT:
		letter = 'b'
	case aff == lib.SQLITE_AFF_TEXT:
		if column != row.AffText {
			return 0, 0, false
		}
		letter = 't'
	default:
		if column < row.AffNumeric {
			return 0, 0, false
		}
		letter = 'n'
	}
	if op == lib.SQLITE_INDEX_CONSTRAINT_IS {
		letter -= 'a' - 'A'
	}
	return letter, coll, vector
}

// affinityOf returns the affinity of the comparison behind a constraint, and
// whether it is about a column of a row value.
func (pl *planner) affinityOf(at int) (aff uint8, vector, ok bool) {
	tm := pl.whereTerm(at)
	if tm == nil || tm.FpExpr == 0 {
		return 0, false, false
	}
	e := expr(tm.FpExpr)
	if e.FpLeft == 0 {
		return 0, false, false
	}
	// Of a row value in an IN, each term is about one of its columns.
	field := 0
	column := expr(e.FpLeft)
	if column.Fop == lib.TK_VECTOR {
		vector = true
		switch e.Fop {
		case lib.TK_IN:
			if field = int(tm.Fu.Fx.FiField) - 1; e.Fflags&lib.EP_xIsSelect == 0 {
				return 0, false, false
			}
		case lib.TK_LT, lib.TK_LE, lib.TK_GT, lib.TK_GE: // about its first column, which may be equal
		default:
			return 0, false, false
		}
		if column = listItem(*(*uintptr)(unsafe.Pointer(&column.Fx)), field); column == nil {
			return 0, false, false
		}
	}
	left, ok := affinity(column, 0)
	if !ok {
		return 0, false, false
	}
	var other *lib.TExpr
	switch {
	case e.FpRight != 0:
		other = expr(e.FpRight)
		if vector {
			if other = vectorItem(other); other == nil {
				return 0, false, false
			}
		}
	case e.Fflags&lib.EP_xIsSelect != 0:
		other = ofSelect(e, field)
	default: // IN (list)
		return max(left, lib.SQLITE_AFF_BLOB), false, true
	}
	if other == nil || other.Fop == lib.TK_VECTOR || vector && other.Fflags&lib.EP_Collate != 0 {
		return 0, false, false
	}
	right, ok := affinity(other, 0)
	if !ok {
		return 0, false, false
	}
	if left > lib.SQLITE_AFF_NONE && right > lib.SQLITE_AFF_NONE { // both are columns
		if left >= lib.SQLITE_AFF_NUMERIC || right >= lib.SQLITE_AFF_NUMERIC {
			return lib.SQLITE_AFF_NUMERIC, vector, true
		}
		return lib.SQLITE_AFF_BLOB, vector, true
	}
	return max(left, right) | lib.SQLITE_AFF_NONE, vector, true
}

func expr(p uintptr) *lib.TExpr { return (*lib.TExpr)(unsafe.Pointer(p)) }

// whereTerm finds the term behind a constraint: an offset beyond one WHERE clause
// counts on in the one around it.
func (pl *planner) whereTerm(constraint int) *lib.TWhereTerm {
	hidden := (*lib.THiddenIndexInfo)(unsafe.Pointer(pl.info + unsafe.Sizeof(lib.Tsqlite3_index_info{})))
	wc, at := hidden.FpWC, pl.constraints()[constraint].FiTermOffset
	for wc != 0 && at >= 0 {
		w := (*lib.TWhereClause)(unsafe.Pointer(wc))
		if at < w.FnTerm {
			return (*lib.TWhereTerm)(unsafe.Pointer(w.Fa + uintptr(at)*unsafe.Sizeof(lib.TWhereTerm{})))
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
			if e = ofSelect(e, 0); e == nil {
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

// ofSelect returns a result column of an expression's SELECT.
func ofSelect(e *lib.TExpr, column int) *lib.TExpr {
	sel := *(*uintptr)(unsafe.Pointer(&e.Fx))
	if sel == 0 {
		return nil
	}
	return listItem((*lib.TSelect)(unsafe.Pointer(sel)).FpEList, column)
}

// vectorItem returns the first column of a row value.
func vectorItem(e *lib.TExpr) *lib.TExpr {
	switch {
	case e.Fop == lib.TK_VECTOR:
		return listItem(*(*uintptr)(unsafe.Pointer(&e.Fx)), 0)
	case e.Fop == lib.TK_SELECT && e.Fflags&lib.EP_xIsSelect != 0:
		return ofSelect(e, 0)
	}
	return nil
}

// listItem returns an item of an ExprList, which ends in an array of them, right
// behind its two counters.
func listItem(list uintptr, i int) *lib.TExpr {
	if list == 0 || i < 0 || i >= int((*lib.TExprList)(unsafe.Pointer(list)).FnExpr) {
		return nil
	}
	items := list + unsafe.Sizeof(lib.TExprList{})
	item := (*lib.TExprList_item)(unsafe.Pointer(items + uintptr(i)*unsafe.Sizeof(lib.TExprList_item{})))
	if item.FpExpr == 0 {
		return nil
	}
	return expr(item.FpExpr)
}
