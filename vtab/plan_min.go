package vtab

import (
	"unsafe"

	lib "modernc.org/sqlite/lib"
)

// noColumn is no column's number; -1 is the rowid's.
const noColumn = -2

// minimum returns the column c of a SELECT min(c) over this table alone. For
// max(c) SQLite asks for rows in descending order and stops after the first.
// For min(c) it does not ask: NULLs, which are the least but do not count,
// would have to come last, and it knows no way to say so to a virtual table.
// So the planner looks at what SQLite looks for, by itself: WHERE_ORDERBY_MIN
// says that the one aggregate is a min, without FILTER, GROUP BY and HAVING.
func (pl *planner) minimum() int {
	if pl.ii.FnOrderBy != 0 || pl.t.c.PushdownOff {
		return noColumn
	}
	clause := pl.wholeWhere()
	if clause == nil {
		return noColumn
	}
	where := (*lib.TWhereInfo)(unsafe.Pointer(clause.FpWInfo))
	if where.FwctrlFlags&lib.WHERE_ORDERBY_MIN == 0 || where.FpOrderBy == 0 || where.FpTabList == 0 ||
		(*lib.TSrcList)(unsafe.Pointer(where.FpTabList)).FnSrc != 1 {
		return noColumn
	}
	arg := listItem(where.FpOrderBy, 0)
	if arg == nil || arg.Fop != lib.TK_COLUMN || listItem(where.FpOrderBy, 1) != nil {
		return noColumn
	}
	col := int(arg.FiColumn)
	if col > pl.t.ncols {
		return noColumn
	}
	col = pl.t.phys(col)
	if col < 0 || col == pl.t.info.Def.RowidAlias {
		return -1
	}
	if col >= len(pl.t.info.Def.Columns) {
		return noColumn
	}
	return col
}

// wholeWhere returns the WHERE clause if each of its terms is among the
// constraints: nothing that SQLite tests by itself decides which rows count.
func (pl *planner) wholeWhere() *lib.TWhereClause {
	hidden := (*lib.THiddenIndexInfo)(unsafe.Pointer(pl.info + unsafe.Sizeof(lib.Tsqlite3_index_info{})))
	if hidden.FpWC == 0 {
		return nil
	}
	clause := (*lib.TWhereClause)(unsafe.Pointer(hidden.FpWC))
	if pl.partly || clause.FpOuter != 0 || clause.FpWInfo == 0 || int(clause.FnTerm) != len(pl.constraints()) {
		return nil
	}
	return clause
}

// everything reports whether a plan answers every constraint there is when it
// answers n: only then the first row it reads is the one wanted.
func (pl *planner) everything(n int) bool { return n == len(pl.constraints()) }
