package driver

import (
	"context"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/vtab"
)

// registerAdmin registers the tables through which SQL sees the store. They are
// eponymous: they need no CREATE, and take no part in the schema.
func registerAdmin(c *conn) error {
	for _, t := range []struct {
		name    string
		columns string
		rows    func(*conn) [][]row.Value
	}{
		{"tidemark_tables", "name TEXT, durable INT, resident TEXT, rows INT, resident_bytes INT, log_bytes INT, indexes INT, max_rows INT, on_full TEXT", tableRows},
		{
			"tidemark_generations",
			"shard_id INT, generation INT, object_id INT, state TEXT, records INT, bytes INT, first_lsn INT, last_lsn INT", generationRows,
		},
		{"tidemark_stats", "name TEXT, value", statRows},
		{"tidemark_settings", "name TEXT, value TEXT, source TEXT", settingRows},
		{"tidemark_raw", "token INT", rawRows},
	} {
		if err := c.db.RegisterModule(t.name, vtab.EponymousModule{
			Columns: t.columns,
			Rows:    func([]row.Value) ([][]row.Value, error) { return t.rows(c), nil },
		}); err != nil {
			return err
		}
	}
	return c.db.RegisterModule(jobsTable, vtab.EponymousModule{
		Columns: "job_id INT, kind TEXT, target TEXT, state TEXT, done INT, total INT, started_at TEXT, ended_at TEXT, error TEXT",
		Rows:    func([]row.Value) ([][]row.Value, error) { return jobRows(c) },
		Insert:  c.orderJob,
	})
}

// adminTables are the tables whose rows are orders. They take no part in
// transactions: a row is noted while SQLite inserts it, and carried out when the
// statement has ended, outside of SQLite and without its locks.
var adminTables = map[string]bool{jobsTable: true}

// order is what a statement on an administrative table asks for.
type order struct{ job engine.JobRequest }

func errAdminInTx(table string) error {
	e := newError("", ErrGeneric, "%s is not written inside a transaction", table)
	e.Hint = "administrative writes take no part in transactions: COMMIT first"
	return e
}

// runOrder carries an order out.
func (c *conn) runOrder(ctx context.Context, o *order) error {
	job, err := c.store.RunJob(ctx, o.job)
	if job.ID != 0 {
		c.db.SetLastInsertRowid(job.ID)
	}
	return err
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
