package vtab

import (
	"fmt"
	"strings"
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// checkSelect returns the nested statement that tells which CHECK of a table a
// row violates first: its number from 1, or 0. A constraint that is NULL holds.
// wanted says which of them are tested; it is "" when none is.
func checkSelect(info *TableInfo, wanted func(i int) bool) string {
	var b strings.Builder
	for i, ch := range info.Checks {
		if !wanted(i) {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("SELECT CASE")
		}
		fmt.Fprintf(&b, " WHEN (%s\n) IS FALSE THEN %d", ch.Expr, i+1)
	}
	if b.Len() == 0 {
		return ""
	}
	name := quoteName(info.Def.Name)
	fmt.Fprintf(&b, " ELSE 0 END FROM main.%s WHERE %s.%s=%d", name, name, quoteName(hiddenName(info.Def)), sourceChecked)
	return b.String()
}

func everyCheck(int) bool { return true }

// maskedChecks is how many CHECKs an UPDATE can tell apart.
const maskedChecks = 64

// checkText returns the statement for a change: of all CHECKs, or for an UPDATE
// of those that name a column it sets. SQLite does not test the others either,
// which shows where a row has got past one.
func (t *table) checkText(set []bool) string {
	checks := t.info.Checks
	if set == nil || len(checks) > maskedChecks {
		return t.checkSQL
	}
	var mask uint64
	for i := range checks {
		if checks[i].concerns(set) {
			mask |= 1 << i
		}
	}
	switch {
	case mask == 0:
		return ""
	case mask == 1<<len(checks)-1:
		return t.checkSQL
	}
	sql, ok := t.checkSome[mask]
	if !ok {
		sql = checkSelect(t.info, func(i int) bool { return mask&(1<<i) != 0 })
		if t.checkSome == nil || len(t.checkSome) >= maskedChecks {
			t.dropSomeChecks()
			t.checkSome = map[uint64]string{}
		}
		t.checkSome[mask] = sql
	}
	return sql
}

// concerns reports whether the constraint names a column that is set.
func (ch *Check) concerns(set []bool) bool {
	for _, col := range ch.Columns {
		if set[col] {
			return true
		}
	}
	return ch.Columns == nil
}

// dropChecks releases the nested statements of the table's CHECKs.
func (t *table) dropChecks() {
	t.c.dropNested(t.checkSQL)
	t.dropSomeChecks()
}

func (t *table) dropSomeChecks() {
	for _, sql := range t.checkSome {
		t.c.dropNested(sql)
	}
	t.checkSome = nil
}

// violatedCheck evaluates the CHECKs a change concerns over a row and returns
// the number of the first violated one, or 0.
func (t *table) violatedCheck(rowid int64, vals []row.Value, set []bool) (int, error) {
	c := t.c
	if t.checkSQL == "" || c.ignoresChecks() {
		return 0, nil
	}
	sql := t.checkText(set)
	if sql == "" {
		return 0, nil
	}
	st, err := c.takePure(sql, lib.NC_IsCheck)
	if err != nil {
		return 0, err
	}
	c.pushFrame(frame{kind: sourceChecked, rowid: rowid, vals: vals})
	changes := *c.changeCount()
	more, err := st.Step()
	n := 0
	if err == nil && more {
		n = int(st.Column(0).Int())
	}
	c.giveNested(sql, st)
	*c.changeCount() = changes
	c.popFrame()
	if err == nil && !more {
		err = errorf(lib.SQLITE_INTERNAL, "no row to check in %s", t.info.Def.Name)
	}
	return n, err
}

// ignoresChecks reports whether PRAGMA ignore_check_constraints is on.
func (c *Conn) ignoresChecks() bool {
	return (*lib.Tsqlite3)(unsafe.Pointer(c.db)).Fflags&lib.SQLITE_IgnoreChecks != 0
}
