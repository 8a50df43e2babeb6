package engine

import (
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// tally is what a transaction did to one durable table: its contribution to
// the table's row count and fingerprint.
type tally struct {
	rows int64
	sum  row.Sum
}

// tally adds up the operations on each durable table that still exists. It is
// done once between two writes, however often it is asked for.
//
// The row count and sum of a dropped table need no contribution: they end with
// the table.
func (t *txState) tally() {
	if t.tallied == t.stamp+1 || t.unlogged {
		return
	}
	colIDs := make([][]uint32, len(t.tables))
	for i, h := range t.tables {
		*h.tally, *h.live = tally{}, 0
		colIDs[i] = h.def.columnIDs()
	}
	var scratch []byte
	for i := range t.ops.len() {
		o := t.ops.at(i)
		if o.kind == opSchema {
			continue
		}
		h := t.tables[o.table]
		if !h.def.Durable {
			continue
		}
		id, alias := uint64(h.def.ID), h.def.RowidAlias
		if o.kind != opInsert {
			h.tally.rows--
			h.tally.sum = h.tally.sum.Sub(row.RowSum(id, o.rowid, colIDs[o.table], o.old, alias, &scratch))
			*h.live -= liveSize(h.def, o.rowid, o.old)
		}
		if o.kind != opDelete {
			h.tally.rows++
			h.tally.sum = h.tally.sum.Add(row.RowSum(id, o.rowid, colIDs[o.table], o.new, alias, &scratch))
			*h.live += liveSize(h.def, o.rowid, o.new)
		}
	}
	t.tallied = t.stamp + 1
}

// encodeTo appends the transaction's frames, all but the commits, to the logs of
// the shards they belong to. A transaction without any goes to the first one.
func (t *txState) encodeTo(a *appender) (err error) {
	if len(a.shards) > 1 {
		return t.encodeShards(a)
	}
	sh := a.part(0)
	sh.commit.Records, sh.commit.Contributions, err = t.encode(&sh.builder, sh.gen.slot)
	return err
}

const (
	manyOps       = 64 // from so many on the size of the frames is worth adding up
	frameOverhead = 32 // of a frame beside the record, generously
)

// encode appends the transaction's frames, all but the commit, in the order of
// the operations, and says what the commit frame has to claim about them.
// Rows of volatile tables leave no frame. slot is that of the file. It may be
// called more than once.
func (t *txState) encode(b *wal.Builder, slot uint32) (records uint64, contributions []wal.Contribution, err error) {
	if n := t.ops.len(); n >= manyOps {
		size := n * frameOverhead
		for i := range n {
			size += len(t.ops.at(i).new)
		}
		b.Reserve(size)
	}
	t.beginStaged()
	for i := range t.ops.len() {
		o := t.ops.at(i)
		if o.kind == opSchema {
			d := &t.ddl[o.rowid]
			if err := b.Schema(wal.Schema{Op: d.code, Body: d.body}); err != nil {
				return 0, nil, err
			}
			records++
			continue
		}
		h := t.tables[o.table]
		def := h.def
		if !def.Durable {
			continue
		}
		if h.st != nil {
			err = h.st.encode(b, slot, def, o)
		} else if o.kind == opDelete {
			err = b.Tombstone(uint64(def.ID), def.Version, o.rowid)
		} else {
			err = b.Put(uint64(def.ID), def.Version, o.rowid, o.new)
		}
		if err != nil {
			return 0, nil, err
		}
		records++
	}
	t.tally()
	for i := range t.slots {
		h := t.slots[i].h
		if h != nil && h.def.Durable && *h.tally != (tally{}) {
			contributions = append(contributions, wal.Contribution{Table: uint64(h.def.ID), Rows: h.tally.rows, Sum: h.tally.sum})
		}
	}
	slices.SortFunc(contributions, func(a, b wal.Contribution) int {
		if a.Table < b.Table {
			return -1
		}
		return 1
	})
	return records, contributions, nil
}
