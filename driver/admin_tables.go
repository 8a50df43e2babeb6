package driver

import (
	"context"
	"strings"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// tableRows are the rows of tidemark_tables: the tables that the statement
// sees, a transaction's own changes included. resident_bytes is what
// counts against the memory budget; log_bytes counts what is in the log, superseded records included.
func tableRows(c *conn) [][]row.Value {
	var rows [][]row.Value
	schema, view := c.visible()
	for _, o := range schema.Objects() {
		if o.Kind != engine.KindTable || strings.HasPrefix(o.Name, "sqlite_") {
			continue
		}
		def := o.Table
		resident := "all"
		if def.Resident == engine.ResidentKeys {
			resident = "keys"
		}
		count, bytes := 0, int64(0)
		if t := view(def.ID); t != nil {
			count, bytes = t.Len(), t.ResidentBytes()
		}
		onFull := row.Value{} // NULL, as max_rows is, where there is no limit
		if def.MaxRows > 0 {
			onFull = row.TextValue(def.OnFull.String())
		}
		rows = append(rows, []row.Value{
			row.TextValue(o.Name), boolValue(def.Durable), row.TextValue(resident), row.IntValue(int64(count)),
			row.IntValue(bytes), row.IntValue(c.store.LogBytes(def.ID)), row.IntValue(int64(len(def.Indexes))),
			positive(def.MaxRows), onFull,
		})
	}
	return rows
}

// visible returns the schema and the tables of the transaction or snapshot that
// the running statement reads.
func (c *conn) visible() (*engine.Schema, func(engine.TableID) *engine.Table) {
	if tx := c.db.Tx(); tx != nil {
		return tx.Schema(), tx.View
	}
	snap := c.db.Snapshot()
	if snap == nil {
		snap = c.durable()
	}
	return snap.Schema(), snap.Table
}

// generationRows are the rows of tidemark_generations, in log order.
func generationRows(c *conn) [][]row.Value {
	var rows [][]row.Value
	for _, g := range c.store.GenerationInfos() {
		rows = append(rows, []row.Value{
			row.IntValue(int64(g.Shard)), row.IntValue(int64(g.Generation)), row.IntValue(int64(g.Object)), row.TextValue(g.State),
			row.IntValue(int64(g.Records)), row.IntValue(g.Bytes), positive(g.FirstLSN), positive(g.LastLSN),
		})
	}
	return rows
}

// indexCatchupRows are the rows of tidemark_index_catchup: as of the newest published
// state, not as of the statement's. Where positions are not maintained, they are NULL.
func indexCatchupRows(c *conn) ([][]row.Value, error) {
	list, err := c.store.IndexCatchup(context.Background())
	if err != nil {
		return nil, err
	}
	rows := make([][]row.Value, len(list))
	for i, x := range list {
		rows[i] = []row.Value{
			row.TextValue(x.Index), row.TextValue(x.Table), row.IntValue(x.Shard),
			row.IntValue(x.Compacted), {}, {},
		}
		if x.Maintained {
			rows[i][4], rows[i][5] = row.IntValue(x.CaughtUp), row.IntValue(x.Lag())
		}
	}
	return rows, nil
}
