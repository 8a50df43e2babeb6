package catalog

import (
	"context"
	"slices"

	"github.com/jmoiron/sqlx"

	"github.com/tidemarkdb/tidemark/catalog/catchup"
)

// retire parts the retained generations of a head: it returns the entries of those
// that stay, and notes the others as retired. It is decided by the positions that the
// same transaction publishes.
//
// A generation without known tables may have records of every one. A durable table
// that has records in it and of which no index is relied on holds it, too: nobody
// would know where its rows went. A table that is gone, or volatile, needs nothing.
func (c *cut) retire(ctx context.Context, q sqlx.QueryerContext, identity [16]byte, u *IndexUpdate, head *headRow, merged []entryRow) (stay []entryRow, err error) {
	if !c.state.maintained() || len(merged) == 0 {
		return merged, nil
	}
	spans, err := readSpans(ctx, q, identity, merged)
	if err != nil {
		return nil, err
	}
	tables, err := tablesOf(ctx, q, spans)
	if err != nil {
		return nil, err
	}
	var durable []int64
	if err := sqlx.SelectContext(ctx, q, &durable, `SELECT table_id FROM tables WHERE timeline_id = ? AND until_version IS NULL AND durable = 1`, head.TimelineID); err != nil {
		return nil, err
	}
	compacted, positions := progressOf(c.state.Compacted), positionsOf(&c.state)
	for _, e := range merged {
		g := spans[e.ObjectID]
		if g == nil {
			return nil, refuse(CodeCorrupt, "", "the head retains object %d, which is no generation", e.ObjectID)
		}
		relied, sound := u.reliedBy(tables, e.ObjectID, durable)
		ok, _ := catchup.Retirable(g.ShardID, uint64(g.Generation), compacted, positions, relied)
		if !ok || !sound || slices.Contains(u.Held, e.ObjectID) {
			stay = append(stay, e)
			continue
		}
		gone, err := g.verified(identity)
		if err != nil {
			return nil, err
		}
		c.retired = append(c.retired, gone)
	}
	return stay, nil
}

// reliedBy are the relied indexes of the tables with records in a generation. It is
// not sound when a durable table among them has none.
func (u *IndexUpdate) reliedBy(known map[int64][]TableRecords, objectID int64, durable []int64) (indexes []int64, sound bool) {
	list, ok := known[objectID]
	concerns := func(table int64) bool {
		return !ok || slices.ContainsFunc(list, func(t TableRecords) bool { return t.TableID == table })
	}
	served := make(map[int64]bool)
	for _, r := range u.Relied {
		if concerns(r.TableID) {
			indexes = append(indexes, r.IndexID)
			served[r.TableID] = true
		}
	}
	for _, table := range durable {
		if concerns(table) && !served[table] {
			return indexes, false
		}
	}
	return indexes, true
}
