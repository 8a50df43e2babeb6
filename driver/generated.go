package driver

import (
	"context"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/vtab"
)

// Generated columns are ordinary ones to SQLite on the mirror: their values are
// computed where rows are written, see vtab.Expression. What SQLite says of
// statements that write to one, it is asked on the shadow.

// Kinds of columns as PRAGMA table_xinfo tells them.
const (
	hiddenVirtual = 2
	hiddenStored  = 3
)

// columnKind is the kind of a column that a table's text has.
func columnKind(hidden int64) engine.ColumnKind {
	switch hidden {
	case hiddenVirtual:
		return engine.ColumnVirtual
	case hiddenStored:
		return engine.ColumnStored
	}
	return engine.ColumnPlain
}

// expressions reads off a table's text how generated columns are computed; at are
// the ordinals of its columns. It returns nil when there are none.
func expressions(def *engine.TableDef, t *sqltext.Table, at []int) []vtab.Expression {
	var list []vtab.Expression
	for n, col := range t.Columns {
		if col.Generated == "" {
			continue
		}
		if list == nil {
			list = make([]vtab.Expression, len(def.Columns))
		}
		list[at[n]] = vtab.Expression{SQL: col.Generated, Columns: columnsNamed(def, col.Names)}
	}
	return list
}

// isGenerated reports whether a column is a generated one.
func isGenerated(col *engine.Column) bool {
	return col.Kind == engine.ColumnStored || col.Kind == engine.ColumnVirtual
}

// hasGenerated reports whether a table has generated columns.
func hasGenerated(def *engine.TableDef) bool {
	for i := range def.Columns {
		if isGenerated(&def.Columns[i]) {
			return true
		}
	}
	return false
}

// writableNames lists the columns that an INSERT without a list means: those that
// are not generated.
func writableNames(def *engine.TableDef) []string {
	var names []string
	for i := range def.Columns {
		if col := &def.Columns[i]; col.Visible() && !isGenerated(col) {
			names = append(names, col.Name)
		}
	}
	return names
}

// checkGenerated has SQLite say what is wrong with an INSERT or UPDATE of a table
// with generated columns.
func (c *conn) checkGenerated(p *piece, schema *engine.Schema) error {
	if p.to != inStore || p.Kind != sqltext.Insert && p.Kind != sqltext.Update {
		return nil
	}
	o := schema.Lookup(p.Target.Name)
	if o == nil || o.Table == nil || !hasGenerated(o.Table) {
		return nil
	}
	sh := &c.sh.tables.shadow
	return sh.use(schema, func() error {
		st, _, err := sh.db.Prepare(p.Text)
		if readsPast(err) {
			st, _, err = sh.db.Prepare(p.WithoutArgs())
		}
		if st != nil {
			st.Finalize()
		}
		if namesUnknown(err) || readsPast(err) {
			return nil
		}
		return err
	})
}

// fillGenerated computes a generated column that ALTER TABLE has added in the rows
// that the table has, and tests what SQLite would.
func (c *conn) fillGenerated(ctx context.Context, was, now *engine.TableDef) error {
	k := len(now.Columns) - 1
	if len(now.Columns) == len(was.Columns) || !isGenerated(&now.Columns[k]) || !c.hasRows(now) {
		return nil
	}
	info, err := c.sh.tables.info(now)
	if err != nil {
		return err
	}
	if err := c.backfill(ctx, now, []int{k}, info.Expressions[k:k+1]); err != nil {
		return c.sqliteError(ctx, err)
	}
	col := &now.Columns[k]
	if col.NotNull {
		if err := c.checkRowsBy(ctx, now, sqltext.Quote(col.Name)+" IS NULL", newError("", ErrGeneric, "NOT NULL constraint failed")); err != nil {
			return err
		}
	}
	if types := strictTypes[fold(baseType(col.DeclType))]; now.Strict && types != "" {
		return c.checkRowsBy(ctx, now, "typeof("+sqltext.Quote(col.Name)+") NOT IN ('null',"+types+")", newError("", ErrConstraintDatatype, "constraint failed"))
	}
	return nil
}

// strictTypes are the classes of values that columns of STRICT tables hold, by type.
var strictTypes = map[string]string{"int": "'integer'", "integer": "'integer'", "real": "'real'", "text": "'text'", "blob": "'blob'"}
