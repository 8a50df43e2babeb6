package vtab

import (
	"slices"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// keyed reports whether an index has every column that the statement uses, and
// whether its keys tell their values. SQLite's mask has one bit for all columns
// from the 64th on.
func (pl *planner) keyed(ix *engine.IndexDef) (has, told bool) {
	def := pl.t.info.Def
	used := uint64(pl.ii.FcolUsed)
	if used>>63 != 0 && pl.t.ncols > 63 {
		return false, false
	}
	told = true
	for i := range min(63, pl.t.ncols) {
		col := pl.t.phys(i)
		if used>>i&1 == 0 || col == def.RowidAlias {
			continue
		}
		if !slices.ContainsFunc(ix.Columns, func(ic engine.IndexColumn) bool { return ic.Column == col }) {
			return false, false
		}
		told = told && tells(ix, def, col)
	}
	return true, told
}

// tells reports whether an index is likely to tell a column's values: see
// row.KeyValue, which has the last word.
func tells(ix *engine.IndexDef, def *engine.TableDef, col int) bool {
	for _, ic := range ix.Columns {
		if ic.Column != col {
			continue
		}
		switch def.Columns[col].Affinity {
		case row.AffInteger, row.AffNumeric, row.AffReal:
			return true
		case row.AffText:
			return ic.Collation == row.Binary
		}
	}
	return false
}

// distinct reports whether one of several rows that are equal in all columns
// read is enough. SQLite's list of those columns leaves out the rowid, so
// nothing may be tested but what the plan itself answers.
func (pl *planner) distinct(cand candidate) bool {
	def := pl.t.info.Def
	if alias := def.RowidAlias; alias >= 0 && pl.uses(alias) {
		return false
	}
	return cand.told && lib.Xsqlite3_vtab_distinct(pl.tls, pl.info) == 2 && pl.wholeWhere() != nil &&
		pl.everything(len(cand.eq)+len(cand.bounds)+len(cand.tests))
}

// usedColumns returns how many leading columns of an index that tells every
// column read hold all of them.
func (pl *planner) usedColumns(ix *engine.IndexDef) int {
	columns := 1
	for i, ic := range ix.Columns {
		if pl.uses(ic.Column) {
			columns = i + 1
		}
	}
	return columns
}

// uses reports whether the statement may use the column of an ordinal.
func (pl *planner) uses(ordinal int) bool {
	i := ordinal
	if pl.t.visible != nil {
		if i = slices.Index(pl.t.visible, ordinal); i < 0 {
			return false
		}
	}
	return i >= 63 || uint64(pl.ii.FcolUsed)>>i&1 != 0
}
