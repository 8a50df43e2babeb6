package engine

import (
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// encodeShards is encodeTo for a store of several shards. A row's frame goes to
// the log of its shard, in the order of the operations on that shard.
//
// Nothing on disk says how frames of different shards were ordered, so the
// replay takes the shards by ordinal and the frames must mean the same in that
// order: all schema changes come first, in the first shard; rows follow under
// the definition that the transaction leaves, also those that were written
// under an earlier one; rows of a table that the transaction dropped leave no
// frame. It may be called more than once.
func (t *txState) encodeShards(a *appender) error {
	if len(t.ddl) > 0 {
		sh := a.part(0)
		for i := range t.ops.len() {
			if o := t.ops.at(i); o.kind == opSchema {
				d := &t.ddl[o.rowid]
				if err := sh.builder.Schema(wal.Schema{Op: d.code, Body: d.body}); err != nil {
					return err
				}
				sh.commit.Records++
			}
		}
	}
	n := len(a.shards)
	final := t.finalHandles()
	colIDs := make([][]uint32, len(t.tables))
	for i, h := range t.tables {
		*h.tally, *h.live = tally{}, 0
		colIDs[i] = h.def.columnIDs()
	}
	a.tallies = slices.Grow(a.tallies[:0], n*len(t.tables))[:n*len(t.tables)]
	clear(a.tallies)
	t.beginStaged()
	var scratch []byte
	for i := range t.ops.len() {
		o := t.ops.at(i)
		if o.kind == opSchema {
			continue
		}
		h := final[o.table]
		if st := t.tables[o.table].st; st != nil && h == nil {
			st.step() // passed over
		}
		if h == nil || !h.def.Durable {
			continue
		}
		def, id := h.def, uint64(h.def.ID)
		ordinal := shardOf(def.ID, o.rowid, n)
		sh, sum := a.part(ordinal), &a.tallies[int(h.seq)*n+ordinal]
		if o.kind != opInsert {
			sum.rows--
			sum.sum = sum.sum.Sub(row.RowSum(id, o.rowid, colIDs[o.table], o.old, def.RowidAlias, &scratch))
			*h.live -= liveSize(def, o.rowid, o.old)
		}
		if o.kind != opDelete {
			sum.rows++
			sum.sum = sum.sum.Add(row.RowSum(id, o.rowid, colIDs[o.table], o.new, def.RowidAlias, &scratch))
			*h.live += liveSize(def, o.rowid, o.new)
		}
		var err error
		switch {
		case h.st != nil:
			err = h.st.encode(&sh.builder, sh.gen.slot, def, o)
		case o.kind == opDelete:
			err = sh.builder.Tombstone(id, def.Version, o.rowid)
		default:
			err = sh.builder.Put(id, def.Version, o.rowid, o.new)
		}
		if err != nil {
			return err
		}
		sh.commit.Records++
	}
	t.contribute(a)
	for _, sh := range a.shards {
		if sh.touched {
			return nil
		}
	}
	a.part(0)
	return nil
}

// finalHandles returns, by TxTable.seq, the handle that stands for the same
// table at the end of the transaction, nil when it was dropped.
func (t *txState) finalHandles() []*TxTable {
	if len(t.ddl) == 0 {
		return t.tables
	}
	final := make([]*TxTable, len(t.tables))
	for i, h := range t.tables {
		if slot, ok := t.schema.slot(h.def.ID); ok {
			final[i] = t.slots[slot].h
		}
	}
	return final
}

// contribute makes of the tallies per table and shard the contributions of the
// shards' commits and the tallies of the tables.
func (t *txState) contribute(a *appender) {
	n := len(a.shards)
	for i := range t.slots {
		h := t.slots[i].h
		if h == nil || !h.def.Durable {
			continue
		}
		for k, x := range a.tallies[int(h.seq)*n:][:n] {
			if x == (tally{}) {
				continue
			}
			h.tally.rows += x.rows
			h.tally.sum = h.tally.sum.Add(x.sum)
			c := &a.shards[k].commit
			c.Contributions = append(c.Contributions, wal.Contribution{Table: uint64(h.def.ID), Rows: x.rows, Sum: x.sum})
		}
	}
	for _, sh := range a.shards {
		if sh.touched {
			slices.SortFunc(sh.commit.Contributions, func(a, b wal.Contribution) int {
				if a.Table < b.Table {
					return -1
				}
				return 1
			})
		}
	}
	t.tallied = t.stamp + 1
}
