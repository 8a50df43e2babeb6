package vtab

import (
	"context"
	"fmt"
	"strings"

	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// backfillPause is after how many rows Backfill looks at its context.
const backfillPause = 128

// Backfill computes columns that a table was given in the transaction of the
// connection, in all rows it has: those of the ordinals in columns, by exprs. The
// rows change in the store and nowhere else: nothing is counted and no constraint
// looked at.
func (c *Conn) Backfill(ctx context.Context, id engine.TableID, columns []int, exprs []Expression) error {
	t, h, err := c.helper(id)
	if err != nil || h.Len() == 0 {
		return err
	}
	info := *t.info
	info.Expressions = make([]Expression, len(info.Def.Columns))
	kind := uint16(lib.NC_IdxExpr)
	for i, k := range columns {
		info.Expressions[k] = exprs[i]
		if generated(&info.Def.Columns[k]) {
			kind = lib.NC_GenCol
		}
	}
	l := level{columns, computeSelect(&info, columns)}
	defer c.dropNested(l.sql)
	n := 0
	return c.eachRow(id, func(rowid int64, rec row.Record) error {
		if n++; n%backfillPause == 0 && ctx.Err() != nil {
			return fmt.Errorf("vtab: compute columns of %s: %w", info.Def.Name, ctx.Err())
		}
		ch := c.takeChange(t, c.tls, Abort)
		defer c.giveChange(ch)
		if err := ch.prepare(h); err != nil {
			return err
		}
		ch.rowid = rowid
		ch.dec.Reset(row.Record(strings.Clone(string(rec))))
		for i := range ch.vals {
			ch.vals[i] = t.kept(&ch.dec, i)
		}
		if a := ch.def.RowidAlias; a >= 0 {
			ch.vals[a] = row.IntValue(rowid)
		}
		if err := ch.computeLevel(&l, nil, false, kind); err != nil {
			return err
		}
		return h.Update(rowid, ch.record())
	})
}
