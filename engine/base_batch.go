package engine

import (
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// baseBatch is some rows of a fragment that are not superseded, in their order and by one
// version of the definition. It has copies of their records, in memory that is used again.
type baseBatch struct {
	table, version uint64
	part           *baseFragment
	rows           []baseRow
	data           []byte // their records

	proven bool // all are records, of a table in memory with that sum:
	sum    row.Sum
	live   int64 // see replayTable.live
}

// baseRow is a row of a batch. Its record lies there in data.
type baseRow struct {
	rowid, offset int64
	from, end     uint32
	size          uint32 // of its frame
}

const (
	// baseBatchRows is how many rows a batch has at most, baseBatchBytes how many bytes of
	// records, unless it has one only.
	baseBatchRows  = 1024
	baseBatchBytes = 256 << 10
)

// takes reports whether a row belongs to the batch and has room in it.
func (b *baseBatch) takes(ids wal.RowIDs, rec []byte) bool {
	return len(b.rows) == 0 || len(b.rows) < baseBatchRows && len(b.data)+len(rec) <= baseBatchBytes &&
		b.table == ids.Table && b.version == ids.Version
}

func (b *baseBatch) add(rowid, offset int64, rec []byte, size int64) {
	from := uint32(len(b.data))
	b.data = append(b.data, rec...)
	b.rows = append(b.rows, baseRow{rowid, offset, from, uint32(len(b.data)), uint32(size)})
}

// reset makes the batch empty.
func (b *baseBatch) reset() {
	data := b.data[:0]
	if cap(data) > 2*baseBatchBytes {
		data = nil // a long record is rare
	}
	*b = baseBatch{rows: b.rows[:0], data: data}
}

// rec returns the record of a row.
func (b *baseBatch) rec(x *baseRow) []byte { return b.data[x.from:x.end] }

// baseProver proves batches. Several may be at work side by side: tables do not change
// while a base is read.
type baseProver struct {
	r     *replay
	table uint64
	t     *replayTable // nil when there is none, which is told when rows are taken
	p     *row.Prover
}

// prove checks all records of a batch that was not proven, and adds up what its rows are.
func (p *baseProver) prove(b *baseBatch) error {
	if b.proven || len(b.rows) == 0 {
		return nil
	}
	if p.p == nil || p.table != b.table {
		p.table, p.t, p.p = b.table, nil, row.NewProver(b.table, nil, -1)
		if slot, ok := p.r.defs.slot(TableID(b.table)); ok {
			p.t = p.r.tables[slot]
			p.p = row.NewProver(b.table, p.t.colIDs, p.t.def.RowidAlias)
		}
	}
	known := p.t != nil && p.t.def.Version == b.version
	var sum row.Sum
	add := &sum
	if !known || p.t.keys {
		add = nil
	}
	for i := range b.rows {
		x := &b.rows[i]
		columns, err := p.p.Prove(x.rowid, b.rec(x), add)
		if err != nil {
			return wal.BadRecord(x.offset, err)
		}
		if known && columns > len(p.t.def.Columns) {
			return damaged(x.offset, "row %d of table %q has %d columns", x.rowid, p.t.def.Name, columns)
		}
		if add != nil {
			b.live += liveBytes(p.t.def, x.rowid, int(x.end-x.from))
		}
	}
	b.sum, b.proven = sum, true
	return nil
}
