package vtab

import (
	"fmt"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// Some columns of a record are computed when the row is written: generated ones,
// VIRTUAL or STORED, and the values of index expressions. SQLite evaluates them
// over the row being written, as a row source, with the affinities and collations
// of the table's own columns. A generated column may name others; so they are
// computed level by level, each of which needs only those before.

// Expression computes a column of a record.
type Expression struct {
	// SQL is the expression's text; it may name the table's columns, plain or
	// qualified with the table's name. "" for a column that is not computed.
	SQL string
	// Columns are the ordinals of the columns SQL names: an UPDATE that sets none
	// of them leaves the value as it is. nil: not known, so every UPDATE
	// computes it.
	Columns []int
}

// concerns reports whether the expression names a column that is set.
func (x *Expression) concerns(set []bool) bool {
	for _, col := range x.Columns {
		if set[col] {
			return true
		}
	}
	return x.Columns == nil
}

// level is a query that computes some columns.
type level struct {
	columns []int
	sql     string
}

// computed is what a table computes for each row.
type computed struct {
	generated []level // in the order of their dependence
	terms     level   // of indexes; they may name generated columns

	singles map[int]*level // of generated columns one by one, as they are asked for
}

// computedOf plans what a table computes.
func computedOf(info *TableInfo) (c computed) {
	if info.Expressions == nil {
		return c
	}
	def := info.Def
	var waiting []int
	done := make([]bool, len(def.Columns))
	for i := range def.Columns {
		switch {
		case info.Expressions[i].SQL == "":
			done[i] = true
		case def.Columns[i].Kind == engine.ColumnComputed:
			c.terms.columns = append(c.terms.columns, i)
		default:
			waiting = append(waiting, i)
		}
	}
	for len(waiting) > 0 {
		var ready, later []int
		for _, i := range waiting {
			if needs(info, i, done) {
				later = append(later, i)
			} else {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 { // a loop: SQLite refuses to write to the table
			ready, later = later, nil
		}
		for _, i := range ready {
			done[i] = true
		}
		c.generated = append(c.generated, level{ready, computeSelect(info, ready)})
		waiting = later
	}
	if len(c.terms.columns) > 0 {
		c.terms.sql = computeSelect(info, c.terms.columns)
	}
	return c
}

// needs reports whether a generated column names one that is not done. Where its
// columns are not known it is computed alone, after all others that are.
func needs(info *TableInfo, i int, done []bool) bool {
	for _, k := range info.Expressions[i].Columns {
		if k != i && !done[k] && info.Def.Columns[k].Kind != engine.ColumnComputed {
			return true
		}
	}
	return false
}

// computeSelect returns the nested statement that computes columns of a row.
func computeSelect(info *TableInfo, columns []int) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	for n, i := range columns {
		if n > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "(%s\n)", info.Expressions[i].SQL)
	}
	name := quoteName(info.Def.Name)
	fmt.Fprintf(&b, " FROM main.%s WHERE %s.%s=%d", name, name, quoteName(hiddenName(info.Def)), sourceChecked)
	return b.String()
}

// dropComputed releases the nested statements.
func (t *table) dropComputed() {
	for i := range t.computed.generated {
		t.c.dropNested(t.computed.generated[i].sql)
	}
	for _, l := range t.computed.singles {
		t.c.dropNested(l.sql)
	}
	t.c.dropNested(t.computed.terms.sql)
}

// compute gives the generated columns their values; on an UPDATE those of columns
// that name a column in set, to which they are added. moved says that the rowid
// changes.
func (ch *change) compute(set []bool, moved bool) error {
	if ch.t.computed.generated == nil {
		return nil
	}
	if err := ch.computeGenerated(set, moved); err != nil {
		return err
	}
	return ch.notNull(set, true)
}

// computeGenerated is compute without the NOT NULL of generated columns: BEFORE
// triggers see their values.
func (ch *change) computeGenerated(set []bool, moved bool) error {
	levels := ch.t.computed.generated
	for i := range levels {
		if err := ch.computeLevel(&levels[i], set, moved, lib.NC_GenCol); err != nil {
			return err
		}
	}
	return nil
}

// computeTerms gives the columns behind index expressions their values.
func (ch *change) computeTerms(set []bool, moved bool) error {
	if ch.t.computed.terms.sql == "" {
		return nil
	}
	return ch.computeLevel(&ch.t.computed.terms, set, moved, lib.NC_IdxExpr)
}

func (ch *change) computeLevel(l *level, set []bool, moved bool, context uint16) error {
	if set != nil {
		some := false
		for _, i := range l.columns {
			x := &ch.t.info.Expressions[i]
			set[i] = x.concerns(set) || moved && ch.namesRowid(x)
			some = some || set[i]
		}
		if !some {
			return nil
		}
	}
	return ch.t.evaluate(l, ch.rowid, ch.vals, context)
}

// evaluate runs the query of a level over a row and puts what it gives into it.
func (t *table) evaluate(l *level, rowid int64, vals []row.Value, context uint16) error {
	c := t.c
	st, err := c.takePure(l.sql, context)
	if err != nil {
		return err
	}
	c.pushFrame(frame{kind: sourceChecked, rowid: rowid, vals: vals})
	changes := *c.changeCount()
	more, err := st.Step()
	if err == nil && more {
		for n, i := range l.columns {
			vals[i] = t.info.Def.Columns[i].Affinity.Apply(st.Column(n).Clone())
		}
	}
	c.giveNested(l.sql, st)
	*c.changeCount() = changes
	c.popFrame()
	if err == nil && !more {
		err = errorf(lib.SQLITE_INTERNAL, "no row to compute in %s", t.info.Def.Name)
	}
	return err
}

// namesRowid reports whether an expression may name the rowid. An index
// expression may do so without its alias.
func (ch *change) namesRowid(x *Expression) bool {
	if ch.def.RowidAlias < 0 {
		return true
	}
	for _, i := range x.Columns {
		if i == ch.def.RowidAlias {
			return true
		}
	}
	return x.Columns == nil
}

// generated reports whether a column is a generated one.
func generated(col *engine.Column) bool {
	return col.Kind == engine.ColumnStored || col.Kind == engine.ColumnVirtual
}
