package vtab

import (
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
)

// orderedBy reports whether reading the index gives the order asked for, the
// first eq key columns being constant, and whether backwards. SQLite names a
// column in aOrderBy only if it is ordered by its own collation.
func (pl *planner) orderedBy(ix *engine.IndexDef, eq int) (ok, desc bool) {
	def := pl.t.info.Def
	next, first := eq, true
	for _, ob := range pl.orderBy() {
		col := pl.t.phys(int(ob.FiColumn))
		if col < 0 {
			col = def.RowidAlias
		}
		down := ob.Fdesc != 0
		switch {
		case col >= 0 && isConstant(ix, eq, col, def):
			continue
		case next < len(ix.Columns):
			ic := ix.Columns[next]
			if ic.Column != col || col < 0 || ic.Collation != def.Columns[col].Collation {
				return pl.grouped(ix, eq), false
			}
			down = down != ic.Desc
			next++
		case col == def.RowidAlias: // the rowid stands behind the key, ascending
			return first || down == desc, down || desc
		default:
			return false, false
		}
		if first {
			desc, first = down, false
		} else if down != desc {
			return pl.grouped(ix, eq), false
		}
	}
	return !first, desc
}

// grouped reports whether reading the index keeps rows together that are equal
// in the columns asked for, where that is all a GROUP BY or DISTINCT needs: the
// columns then are those behind the constant ones, in any order.
func (pl *planner) grouped(ix *engine.IndexDef, eq int) bool {
	switch lib.Xsqlite3_vtab_distinct(pl.tls, pl.info) {
	case 1, 2:
	default:
		return false
	}
	def := pl.t.info.Def
	var want, have uint64
	for _, ob := range pl.orderBy() {
		col := pl.t.phys(int(ob.FiColumn))
		if col < 0 || col > 63 {
			return false
		}
		if !isConstant(ix, eq, col, def) {
			want |= 1 << col
		}
	}
	for _, ic := range ix.Columns[eq:] {
		if have == want {
			break
		}
		if ic.Column > 63 || ic.Collation != def.Columns[ic.Column].Collation {
			return false
		}
		have |= 1 << ic.Column
	}
	return have == want
}

// isConstant reports whether a column is fixed by one of the equalities.
func isConstant(ix *engine.IndexDef, eq, col int, def *engine.TableDef) bool {
	for _, ic := range ix.Columns[:eq] {
		if ic.Column == col && ic.Collation == def.Columns[col].Collation {
			return true
		}
	}
	return false
}
