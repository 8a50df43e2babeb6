package driver

import (
	"strings"

	"github.com/tidemarkdb/tidemark/vtab"
)

// Actions SQLite asks its authorizer about.
const (
	actCreateIndex   = 1
	actCreateTable   = 2
	actCreateTrigger = 7
	actCreateView    = 8
	actDropIndex     = 10
	actDropTable     = 11
	actDropTempTable = 13
	actDropTrigger   = 16
	actDropView      = 17
	actDelete        = 9
	actInsert        = 18
	actUpdate        = 23
	actPragma        = 19
	actAlterTable    = 26
	actCreateVirtual = 29
	actDropVirtual   = 30
)

// controlName is the table through which DDL reaches the engine's transaction.
const controlName = "tidemark_tx"

// authorize is the net under the parser: a CREATE that slipped past it would
// make a native SQLite table in the connection's private main, whose rows nobody
// would ever see again. Only statements of the driver's own change main.
//
// It is called while SQLite compiles and must not use the connection.
func (c *conn) authorize(action int, a1, a2, a3, _ string) int {
	if c.internal > 0 {
		return vtab.AuthOK
	}
	switch action {
	case actInsert, actUpdate, actDelete:
		c.targets.note(action, a1, a2, a3)
	case actCreateIndex, actCreateTable, actCreateTrigger, actCreateView, actCreateVirtual,
		actDropIndex, actDropTable, actDropTrigger, actDropView, actDropVirtual:
		if a3 == "main" || a3 == "temp" && fold(a1) == controlName {
			return vtab.AuthDeny
		}
	case actDropTempTable:
		if fold(a1) == controlName {
			return vtab.AuthDeny
		}
	case actAlterTable:
		if a1 == "main" || fold(a2) == controlName {
			return vtab.AuthDeny
		}
	case actPragma:
		if fold(a1) == "writable_schema" && a2 != "" {
			return vtab.AuthDeny
		}
	}
	return vtab.AuthOK
}

// targets is what the statement being compiled writes, triggers included.
type targets struct {
	store, temp, file, admin bool
	tables                   []string // of the store
}

// note takes over one answer of the authorizer: the database is the second
// argument of an update's column, the third of everything.
func (t *targets) note(_ int, table, _, database string) {
	switch database {
	case "main":
		if name := fold(table); ordered(name) {
			t.admin = true
		} else {
			t.store = t.store || !strings.HasPrefix(name, "sqlite_")
			if n := len(t.tables); n == 0 || t.tables[n-1] != table { // an UPDATE names each column
				t.tables = append(t.tables, table)
			}
		}
	case "temp":
		t.temp = true
	case "catalog", "":
	default:
		t.file = true
	}
}
