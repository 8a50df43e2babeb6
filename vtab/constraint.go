package vtab

import (
	"cmp"
	"slices"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// notNull checks the NOT NULL constraints, on UPDATE only those of columns
// that SET names: of generated columns, which are computed in between, or of the
// others. REPLACE puts the column's default in the place of a NULL.
func (ch *change) notNull(set []bool, computed bool) error {
	for i := range ch.vals {
		col := &ch.def.Columns[i]
		if !col.NotNull || !ch.vals[i].IsNull() || set != nil && !set[i] || generated(col) != computed {
			continue
		}
		var own Conflict
		if modes := ch.t.info.NotNull; modes != nil {
			own = modes[i]
		}
		action := ch.action(own)
		if action == Replace {
			v, err := ch.defaultOf(i)
			if err != nil {
				return err
			}
			if !v.IsNull() {
				ch.vals[i] = col.Affinity.Apply(v)
				continue
			}
		}
		return violation(action, lib.SQLITE_CONSTRAINT_NOTNULL, "NOT NULL constraint failed: %s.%s", ch.def.Name, col.Name)
	}
	return nil
}

// defaultOf evaluates the DEFAULT of a column, NULL without one.
func (ch *change) defaultOf(i int) (row.Value, error) {
	if ch.t.info.Defaults == nil || ch.t.info.Defaults[i] == "" {
		return row.Value{}, nil
	}
	sql := "SELECT " + ch.t.info.Defaults[i]
	st, err := ch.c.takeNested(sql)
	if err != nil {
		return row.Value{}, err
	}
	defer ch.c.giveNested(sql, st)
	defer ch.c.keepChanges()()
	if _, err := st.Step(); err != nil {
		return row.Value{}, err
	}
	return st.Column(0).Clone(), nil
}

// checks tests the CHECK constraints, before them the types of a STRICT table.
// On UPDATE only those count that name a column in set; nil means all.
func (ch *change) checks(set []bool) error {
	if ch.t.checkSQL == "" {
		return nil
	}
	if err := ch.strictTypes(); err != nil {
		return err
	}
	n, err := ch.t.violatedCheck(ch.rowid, ch.vals, set)
	if err != nil || n == 0 {
		return err
	}
	return violation(ch.action(Default), lib.SQLITE_CONSTRAINT_CHECK, "CHECK constraint failed: %s", ch.t.info.Checks[n-1].Name)
}

// strictTypes checks the types of a STRICT table. No OR clause softens that.
func (ch *change) strictTypes() error {
	if !ch.def.Strict {
		return nil
	}
	for i, v := range ch.vals {
		col := &ch.def.Columns[i]
		if v.IsNull() {
			continue
		}
		ok := false
		switch strings.ToUpper(col.DeclType) {
		case "INT", "INTEGER":
			ok = v.Kind() == row.Int
		case "REAL":
			ok = v.Kind() == row.Real
		case "TEXT":
			ok = v.Kind() == row.Text
		case "BLOB":
			ok = v.Kind() == row.Blob
		default: // ANY
			ok = true
		}
		if !ok {
			return violation(Abort, lib.SQLITE_CONSTRAINT_DATATYPE, "cannot store %s value in %s column %s.%s",
				kindNames[v.Kind()], strings.ToUpper(col.DeclType), ch.def.Name, col.Name)
		}
	}
	return nil
}

var kindNames = [...]string{row.Null: "NULL", row.Int: "INT", row.Real: "REAL", row.Text: "TEXT", row.Blob: "BLOB"}

// uniqueOrder returns the unique indexes of a table in the order SQLite checks
// them: the newest first, those with ON CONFLICT REPLACE after all others.
func uniqueOrder(info *TableInfo) []int {
	var order []int
	for i, ix := range slices.Backward(info.Def.Indexes) {
		if ix.Unique {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(replaces(info, a), replaces(info, b))
	})
	return order
}

func replaces(info *TableInfo, ix int) int {
	if info.Indexes != nil && info.Indexes[ix] == Replace {
		return 1
	}
	return 0
}

// unique checks the rowid and the unique indexes for a row rec that takes the
// place of the row self, if there is one. Rows that REPLACE must remove are
// collected in rivals; nothing is changed yet. sameRowid: the rowid was chosen
// by us, or is self's.
func (ch *change) unique(rec row.Record, self int64, hasSelf, sameRowid bool) error {
	info := ch.t.info
	// The key's own ON CONFLICT REPLACE is applied last, a statement's is not.
	last := ch.mode == Default && info.Key == Replace
	if !sameRowid && !last {
		if err := ch.uniqueRowid(self, hasSelf); err != nil {
			return err
		}
	}
	if ch.t.checkSQL == "" { // else the types were checked before the CHECKs
		if err := ch.strictTypes(); err != nil {
			return err
		}
	}
	for _, at := range ch.t.uniques {
		ix := ch.def.Indexes[at]
		if hasSelf && sameRowid && !ch.touches(ix) {
			continue
		}
		// A row has one rival in an index, and one already found is no news.
		other, found, err := ch.h.Conflict(at, rec, ch.rowid, self, hasSelf)
		if err != nil {
			return err
		}
		if !found || slices.Contains(ch.rivals, other) {
			continue
		}
		var own Conflict
		if info.Indexes != nil {
			own = info.Indexes[at]
		}
		if action := ch.action(own); action == Replace {
			ch.rivals = append(ch.rivals, other)
		} else {
			return ch.notUnique(action, ix)
		}
	}
	if !sameRowid && last {
		return ch.uniqueRowid(self, hasSelf)
	}
	return nil
}

func (ch *change) uniqueRowid(self int64, hasSelf bool) error {
	if hasSelf && ch.rowid == self {
		return nil
	}
	_, found, err := ch.h.Get(ch.rowid)
	if err != nil || !found || slices.Contains(ch.rivals, ch.rowid) {
		return err
	}
	action := ch.action(ch.t.info.Key)
	if action == Replace {
		ch.rivals = append(ch.rivals, ch.rowid)
		return nil
	}
	return ch.notUniqueRowid(action)
}

// notUniqueRowid is the error of a rowid that another row has.
func (ch *change) notUniqueRowid(action Conflict) error {
	if a := ch.def.RowidAlias; a >= 0 {
		return violation(action, lib.SQLITE_CONSTRAINT_PRIMARYKEY, "UNIQUE constraint failed: %s.%s", ch.def.Name, ch.def.Columns[a].Name)
	}
	return violation(action, lib.SQLITE_CONSTRAINT_ROWID, "UNIQUE constraint failed: %s.rowid", ch.def.Name)
}

// touches reports whether SET names a column of the index.
func (ch *change) touches(ix *engine.IndexDef) bool {
	for _, ic := range ix.Columns {
		if ch.set[ic.Column] {
			return true
		}
	}
	return ix.Where != 0 && ch.set[ix.Where-1]
}

// notUnique is the error of a violated index.
func (ch *change) notUnique(action Conflict, ix *engine.IndexDef) error {
	code := lib.SQLITE_CONSTRAINT_UNIQUE
	if ix.Origin == "pk" {
		code = lib.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	for _, ic := range ix.Columns {
		if ch.def.Columns[ic.Column].Kind == engine.ColumnComputed {
			return violation(action, code, "UNIQUE constraint failed: index '%s'", strings.ReplaceAll(ix.Name, "'", "''"))
		}
	}
	var b strings.Builder
	for i, ic := range ix.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(ch.def.Name + "." + ch.def.Columns[ic.Column].Name)
	}
	return violation(action, code, "UNIQUE constraint failed: %s", b.String())
}
