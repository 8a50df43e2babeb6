package vtab

import (
	"slices"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// SQLite numbers the columns it is told of: column i of a table is the i-th
// visible one of its definition. Everything in this package goes by ordinals of
// the definition; only what comes from SQLite (constraints, orders, masks of
// columns, xColumn, arguments of xUpdate) passes phys first.

// useColumns readies phys for a definition.
func (t *table) useColumns(def *engine.TableDef) {
	t.ncols, t.visible = len(def.Columns), def.Visible()
	if t.visible != nil {
		t.ncols = len(t.visible)
		t.visible = append(t.visible, len(def.Columns)) // the hidden column is behind every record
	}
	t.missing = slices.ContainsFunc(def.Columns, func(c engine.Column) bool { return !c.Missing.IsNull() })
}

// phys returns the ordinal of SQLite's column i; -1, the rowid, stays. The hidden
// column, i = ncols, is behind all ordinals.
func (t *table) phys(i int) int {
	if t.visible == nil || i < 0 {
		return i
	}
	return t.visible[i]
}

// stored reads a column of a present row, or what stands for it in a record that
// is older. The hidden column is NULL.
func (t *table) stored(dec *row.Decoder, ordinal int) row.Value {
	if !t.missing || ordinal >= len(t.info.Def.Columns) {
		return dec.Column(ordinal)
	}
	return t.info.Def.Read(dec, ordinal)
}

// kept is stored for a row that is written anew: there dropped columns are NULL.
func (t *table) kept(dec *row.Decoder, ordinal int) row.Value {
	if t.visible != nil && t.info.Def.Columns[ordinal].Kind == engine.ColumnDropped {
		return row.Value{}
	}
	return t.stored(dec, ordinal)
}
