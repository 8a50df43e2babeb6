package driver

import (
	"context"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// The engine's indexes are of columns. For an index on expressions the table gets
// a column behind each, which nobody sees, and for a partial one another, which is
// 1 in the rows that the index has. They are computed like generated columns. A
// DROP INDEX drops them.

// SQLite's numbers of terms that are no columns, in PRAGMA index_xinfo.
const (
	termRowid      = -1
	termExpression = -2
)

// indexTerms is what an index's text says of the columns behind it.
type indexTerms struct {
	columns []int // ordinals
	exprs   []vtab.Expression
}

// computedTerms finds how the columns behind an index are computed.
func computedTerms(def *engine.TableDef, ix *engine.IndexDef) (terms indexTerms, err error) {
	if !isComputed(def, ix) {
		return terms, nil
	}
	text, err := sqltext.ParseIndex(ix.SQL)
	if err != nil {
		return terms, err
	}
	if len(text.Terms) != len(ix.Columns) || (text.Where != nil) != (ix.Where != 0) {
		return terms, newError("", ErrInternal, "index %s: %d terms in its text, %d in its definition", ix.Name, len(text.Terms), len(ix.Columns))
	}
	var where string
	var names []string // of the WHERE
	if text.Where != nil {
		where, names = text.Where.Expr, text.Where.Names
		terms.add(def, ix.Where-1, "("+where+"\n) IS TRUE", names)
	}
	for i, ic := range ix.Columns {
		if def.Columns[ic.Column].Kind != engine.ColumnComputed {
			continue
		}
		expr, in := text.Terms[i].Expr, text.Terms[i].Names
		if where != "" { // SQLite does not evaluate it for other rows, in which it may fail
			expr, in = "CASE WHEN ("+where+"\n) THEN ("+expr+"\n) END", append(in, names...)
		}
		terms.add(def, ic.Column, expr, in)
	}
	return terms, nil
}

// add notes a column. One that names the rowid is computed at every change.
func (t *indexTerms) add(def *engine.TableDef, ordinal int, expr string, names []string) {
	x := vtab.Expression{SQL: expr, Columns: columnsNamed(def, names)}
	for _, name := range names {
		switch name {
		case "rowid", "oid", "_rowid_":
			if def.RowidAlias >= 0 {
				x.Columns = append(x.Columns, def.RowidAlias)
			}
		}
	}
	t.columns, t.exprs = append(t.columns, ordinal), append(t.exprs, x)
}

// isComputed reports whether an index has columns of its own.
func isComputed(def *engine.TableDef, ix *engine.IndexDef) bool {
	if ix.Where != 0 {
		return true
	}
	for _, ic := range ix.Columns {
		if def.Columns[ic.Column].Kind == engine.ColumnComputed {
			return true
		}
	}
	return false
}

// indexExpressions adds to a table's expressions those of its indexes.
func indexExpressions(def *engine.TableDef, list []vtab.Expression) ([]vtab.Expression, error) {
	for _, ix := range def.Indexes {
		terms, err := computedTerms(def, ix)
		if err != nil {
			return nil, err
		}
		if list == nil && len(terms.columns) > 0 {
			list = make([]vtab.Expression, len(def.Columns))
		}
		for i, k := range terms.columns {
			list[k] = terms.exprs[i]
		}
	}
	return list, nil
}

// addComputed adds a column behind a term of an index to a definition and returns
// its ordinal.
func addComputed(def *engine.TableDef, ix *engine.IndexDef, what string) int {
	def.Columns = append(def.Columns[:len(def.Columns):len(def.Columns)], engine.Column{
		ID: def.NextColumnID(), Name: ix.Name + "[" + what + "]", Affinity: row.AffBlob, Kind: engine.ColumnComputed,
	})
	return len(def.Columns) - 1
}

// computedIndex is the change that CREATE INDEX makes where the index has columns
// of its own: first the table gets them, then its rows their values, and then there
// is something to index. It is nil for any other list of changes.
func computedIndex(changes []engine.Change) (replace engine.ReplaceTable, create engine.CreateIndex, ok bool) {
	if len(changes) != 2 {
		return replace, create, false
	}
	replace, first := changes[0].(engine.ReplaceTable)
	create, second := changes[1].(engine.CreateIndex)
	return replace, create, first && second && replace.Def.ID == create.Table
}

// createComputed makes an index that has columns of its own.
func (c *conn) createComputed(ctx context.Context, replace engine.ReplaceTable, create engine.CreateIndex) error {
	turn := c.shadowTurn
	c.shadowTurn = 0 // the shadow shows what is the schema at the end only
	if err := c.change(ctx, []engine.Change{replace}); err != nil {
		return err
	}
	def := c.reads.etx.Schema().Table(create.Table)
	terms, err := computedTerms(def, create.Index)
	if err == nil {
		err = c.backfill(ctx, def, terms.columns, terms.exprs)
	}
	if err != nil {
		return err
	}
	c.shadowTurn = turn
	return c.change(ctx, []engine.Change{create})
}

// backfill computes columns of the rows that a table has.
func (c *conn) backfill(ctx context.Context, def *engine.TableDef, columns []int, exprs []vtab.Expression) error {
	err := c.own(func() error { return c.db.Backfill(ctx, def.ID, columns, exprs) })
	if cause := ctx.Err(); err != nil && cause != nil {
		return cause
	}
	return err
}

// withoutIndex returns the changes of a DROP INDEX.
func withoutIndex(def *engine.TableDef, gone *engine.IndexDef) []engine.Change {
	if !isComputed(def, gone) {
		return []engine.Change{engine.DropIndex{Table: def.ID, Index: gone.ID}}
	}
	after := *def
	after.Columns = append([]engine.Column(nil), def.Columns...)
	after.Indexes = nil
	for _, ix := range def.Indexes {
		if ix.ID != gone.ID {
			after.Indexes = append(after.Indexes, ix)
		}
	}
	drop := func(k int) {
		if col := &after.Columns[k]; col.Kind == engine.ColumnComputed {
			col.Kind = engine.ColumnDropped
		}
	}
	for _, ic := range gone.Columns {
		drop(ic.Column)
	}
	if gone.Where != 0 {
		drop(gone.Where - 1)
	}
	return []engine.Change{engine.ReplaceTable{Def: &after}}
}
