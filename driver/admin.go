package driver

import (
	"context"

	"github.com/tidemarkdb/tidemark/driver/internal/sqltext"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// adminTable is a table through which SQL sees the store. It is eponymous: it
// needs no CREATE, and takes no part in the schema.
type adminTable struct {
	columns string
	rows    func(*conn) ([][]row.Value, error)

	// Rows of some tables are orders. insert and remove note one, and other
	// says what becomes of the statements that are no order; a table without it is
	// read-only.
	insert func(*conn, []row.Value) error
	remove func(*conn, int64) error
	update func(*conn, int64, []row.Value) error
	other  func(*sqltext.Stmt) error
}

// adminTables are the tables by name, in lower case.
var adminTables = map[string]*adminTable{
	"tidemark_tables": {
		columns: "name TEXT, durable INT, resident TEXT, rows INT, resident_bytes INT, log_bytes INT, indexes INT, max_rows INT, on_full TEXT",
		rows:    always(tableRows),
	},
	"tidemark_generations": {
		columns: "shard_id INT, generation INT, object_id INT, state TEXT, records INT, bytes INT, first_lsn INT, last_lsn INT",
		rows:    always(generationRows),
	},
	"tidemark_index_catchup": {
		columns: "index_name TEXT, table_name TEXT, shard_id INT, compacted_generation INT, caught_up_generation INT, lag INT",
		rows:    indexCatchupRows,
	},
	"tidemark_stats":    {columns: "name TEXT, value", rows: always(statRows)},
	"tidemark_settings": {columns: "name TEXT, value TEXT, source TEXT", rows: always(settingRows)},
	"tidemark_raw":      {columns: "token INT", rows: always(rawRows)},
	"tidemark_sessions": {columns: sessionColumns, rows: sessionRows},
	"tidemark_pins":     {columns: pinColumns, rows: pinRows},
	jobsTable:           {columns: jobColumns, rows: jobRows, insert: (*conn).orderJob, other: onlyInsert},
	timelinesTable: {
		columns: timelineColumns, rows: timelineRows,
		insert: (*conn).orderTimeline, remove: (*conn).orderTimelineGone, update: (*conn).orderRestore, other: anyOrder,
	},
	branchPointsTable: {
		columns: branchPointColumns, rows: branchPointRows,
		insert: (*conn).orderBranchPoint, remove: (*conn).orderBranchPointGone, other: noBranchPointUpdate,
	},
}

// anyOrder is for a table that takes INSERT, UPDATE and DELETE.
func anyOrder(*sqltext.Stmt) error { return nil }

// always makes rows that cannot fail.
func always(rows func(*conn) [][]row.Value) func(*conn) ([][]row.Value, error) {
	return func(c *conn) ([][]row.Value, error) { return rows(c), nil }
}

// registerAdmin registers the tables, and the function among them, on a connection.
func registerAdmin(c *conn) error {
	for name, t := range adminTables {
		m := vtab.EponymousModule{
			Columns: t.columns,
			Rows:    func([]row.Value) ([][]row.Value, error) { return t.rows(c) },
		}
		if t.insert != nil {
			m.Insert = func(vals []row.Value) error { return t.insert(c, vals) }
		}
		if t.update != nil {
			m.Update = func(rowid int64, vals []row.Value) error { return t.update(c, rowid, vals) }
		}
		if t.remove != nil {
			m.Delete = func(rowid int64) error { return t.remove(c, rowid) }
		}
		if err := c.db.RegisterModule(name, m); err != nil {
			return err
		}
	}
	return registerClosure(c)
}

// order is carried out when the statement that gave it has ended, outside of SQLite
// and without its locks. Orders take no part in transactions.
type order func(context.Context) error

// ordered reports whether rows of a table are orders; the name is in lower case.
func ordered(name string) bool {
	t := adminTables[name]
	return t != nil && t.other != nil
}

func errAdminInTx(table string) error {
	e := newError("", ErrGeneric, "%s is not written inside a transaction", table)
	e.Hint = "administrative writes take no part in transactions: COMMIT first"
	return e
}

// onlyOrder refuses the second row of a statement.
func (c *conn) onlyOrder(table string) error {
	if c.order == nil {
		return nil
	}
	e := newError("", ErrGeneric, "a statement can write one row of %s", table)
	e.Table, e.Hint = table, "write a statement for each, with WHERE for the one"
	return e
}

// rawRows answers Raw where neither the connection nor a ping reaches it.
func rawRows(c *conn) [][]row.Value { return [][]row.Value{{row.IntValue(c.sh.inst.token)}} }

// boolValue is SQLite's boolean.
func boolValue(b bool) row.Value { return row.IntValue(boolInt(b)) }

// positive is NULL for a number that says "none" by being zero.
func positive[N ~uint64 | ~int64](n N) row.Value {
	if n == 0 {
		return row.Value{}
	}
	return row.IntValue(int64(n))
}
