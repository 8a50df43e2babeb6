package engine

import (
	"fmt"
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// Value reads the column of an ordinal out of a record of the table, or what
// stands for it in a record that ends before. A rowid alias reads as NULL, as it
// is stored.
func (d *TableDef) Value(rec row.Record, ordinal int) row.Value {
	v := rec.Column(ordinal)
	if missing := &d.Columns[ordinal].Missing; v.IsNull() && !missing.IsNull() && !rec.Has(ordinal) {
		return *missing
	}
	return v
}

// Read is Value out of a decoder.
func (d *TableDef) Read(dec *row.Decoder, ordinal int) row.Value {
	v := dec.Column(ordinal)
	if missing := &d.Columns[ordinal].Missing; v.IsNull() && !missing.IsNull() && !dec.Has(ordinal) {
		return *missing
	}
	return v
}

// Visible lists the ordinals of the visible columns: SQL's column i is the i-th
// of them. It is nil when SQL sees all columns.
func (d *TableDef) Visible() []int {
	hidden := func(c Column) bool { return !c.Visible() }
	if !slices.ContainsFunc(d.Columns, hidden) {
		return nil
	}
	var list []int
	for i := range d.Columns {
		if d.Columns[i].Visible() {
			list = append(list, i)
		}
	}
	return list
}

// NextColumnID is the id of the next column that is added.
func (d *TableDef) NextColumnID() uint32 {
	var last uint32
	for i := range d.Columns {
		last = max(last, d.Columns[i].ID)
	}
	return last + 1
}

// validateKinds is the part of validate that is about Column.Kind and Missing.
func (d *TableDef) validateKinds() error {
	visible := false
	for i := range d.Columns {
		c := &d.Columns[i]
		switch {
		case c.Kind > ColumnDropped:
			return fmt.Errorf("%w: table %q: column %q of kind %d", ErrInvalidChange, d.Name, c.Name, c.Kind)
		case c.Kind == ColumnDropped && (c.NotNull || !c.Missing.IsNull()):
			return fmt.Errorf("%w: table %q: dropped column %q has a constraint or a missing value", ErrInvalidChange, d.Name, c.Name)
		case i == d.RowidAlias && (c.Kind != ColumnPlain || !c.Missing.IsNull()):
			return fmt.Errorf("%w: table %q: column %q of kind %d is the rowid", ErrInvalidChange, d.Name, c.Name, c.Kind)
		}
		visible = visible || c.Visible()
	}
	if !visible {
		return fmt.Errorf("%w: table %q has no visible column", ErrInvalidChange, d.Name)
	}
	return nil
}

// physical reports whether a definition says more than one list of visible
// columns does: older programs do not know how to read such a table.
func (d *TableDef) physical() bool {
	for i := range d.Columns {
		if c := &d.Columns[i]; c.Kind != ColumnPlain || !c.Missing.IsNull() {
			return true
		}
	}
	return slices.ContainsFunc(d.Indexes, func(ix *IndexDef) bool { return ix.Where != 0 })
}
