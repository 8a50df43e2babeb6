package engine

import (
	"math/rand/v2"
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// shown is the value of a column of a stored row, by counting.
func shown(def *TableDef, rec row.Record, i int) row.Value {
	if n, _ := rec.Columns(); i >= n {
		return def.Columns[i].Missing
	}
	return rec.Column(i)
}

// indexHas reports whether an index has a row.
func indexHas(def *TableDef, ix *IndexDef, rec row.Record) bool {
	return ix.Where == 0 || shown(def, rec, ix.Where-1) == row.IntValue(1)
}

// usedColumns says which columns indexes need.
func usedColumns(def *TableDef) map[int]bool {
	used := map[int]bool{}
	for _, ix := range def.Indexes {
		if ix.Where > 0 {
			used[ix.Where-1] = true
		}
		for _, c := range ix.Columns {
			used[c.Column] = true
		}
	}
	return used
}

// dropColumn makes a column a dropped one, if that is possible.
func dropColumn(def *TableDef, i int) bool {
	visible := 0
	for k := range def.Columns {
		if k != i && def.Columns[k].Visible() {
			visible++
		}
	}
	c := &def.Columns[i]
	if visible == 0 || i == def.RowidAlias || c.Kind == ColumnDropped || usedColumns(def)[i] {
		return false
	}
	c.Kind, c.NotNull, c.Missing = ColumnDropped, false, row.Value{}
	return true
}

// altered is a definition with a column more, sometimes with a partial index, or with
// one that was added dropped. The first two columns stay.
func altered(rng *rand.Rand, old *TableDef, index string) *TableDef {
	def := *old
	def.Columns, def.Indexes = slices.Clone(old.Columns), slices.Clone(old.Indexes)
	if rng.IntN(3) == 0 {
		for i := 2; i < len(def.Columns); i++ {
			if dropColumn(&def, i) {
				return &def
			}
		}
	}
	c := Column{ID: def.NextColumnID(), Name: "added", Affinity: row.AffBlob, Kind: []ColumnKind{ColumnPlain, ColumnComputed}[rng.IntN(2)]}
	if rng.IntN(3) > 0 {
		c.Missing = row.IntValue(int64(rng.IntN(2)))
	}
	def.Columns = append(def.Columns, c)
	if c.Kind == ColumnComputed && index != "" {
		ix := testIndex(index, rng.IntN(2) == 0, 0)
		ix.Where = len(def.Columns)
		def.Indexes = append(def.Indexes, ix)
	}
	return &def
}

// putWide writes a row of any length up to what the definition has: its id, a text,
// and small numbers.
func putWide(rng *rand.Rand, table string, id int64, text string) func(*Tx) error {
	return func(tx *Tx) error {
		def := tx.Schema().Lookup(table).Table
		vals := []any{id, text}
		for _, c := range def.Columns[2 : 2+rng.IntN(len(def.Columns)-1)] {
			if c.Kind == ColumnDropped {
				vals = append(vals, nil)
			} else {
				vals = append(vals, rng.IntN(3))
			}
		}
		h := tx.Handle(def.ID)
		if _, found, err := h.Get(id); err != nil || found {
			if err != nil {
				return err
			}
			return h.Update(id, testRecord(vals...))
		}
		return h.Insert(id, testRecord(vals...))
	}
}
