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
func checkSelect(info *TableInfo) string {
	if len(info.Checks) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("SELECT CASE")
	for i, ch := range info.Checks {
		fmt.Fprintf(&b, " WHEN (%s\n) IS FALSE THEN %d", ch.Expr, i+1)
	}
	name := quoteName(info.Def.Name)
	fmt.Fprintf(&b, " ELSE 0 END FROM main.%s WHERE %s.%s=%d", name, name, quoteName(HiddenColumn), sourceChecked)
	return b.String()
}

// violatedCheck evaluates the table's CHECKs over a row and returns the number
// of the first violated one, or 0.
func (t *table) violatedCheck(rowid int64, vals []row.Value) (int, error) {
	c := t.c
	if t.checkSQL == "" || c.ignoresChecks() {
		return 0, nil
	}
	st, err := c.takeNested(t.checkSQL)
	if err != nil {
		return 0, err
	}
	sql := t.checkSQL // a schema change in between would replace it
	c.pushFrame(frame{sourceChecked, rowid, vals})
	restore := c.keepChanges()
	more, err := st.Step()
	n := 0
	if err == nil && more {
		n = int(st.Column(0).Int())
	}
	c.giveNested(sql, st)
	restore()
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
