package engine

import (
	"errors"

	"github.com/tidemarkdb/tidemark/engine/wal"
)

// schema replays a schema change.
func (r *replay) schema(s wal.Schema, offset int64) error {
	r.records++
	c, version, err := decodeChange(s.Op, []byte(s.Body))
	if err != nil {
		return schemaDamage(offset, err)
	}
	if version != uint64(r.lsn)+1 {
		return damaged(offset, "schema version %d in commit %d", version, r.lsn+1)
	}
	next, err := c.alter(r.defs, version)
	if err != nil {
		return damaged(offset, "%v", err)
	}
	tables := make([]*replayTable, len(next.tables))
	for i, def := range next.tables {
		slot, ok := r.defs.slot(def.ID)
		if !ok {
			tables[i] = newReplayTable(newTable(def, r.objects))
			continue
		}
		t := r.tables[slot]
		if t.def != def {
			// Rows stay; which indexes there are is looked at when a root is
			// made. base is left to the roots that have it.
			t.def, t.colIDs, t.stale = def, def.columnIDs(), true
		}
		tables[i] = t
	}
	for _, t := range r.tables {
		if _, ok := next.slot(t.def.ID); !ok {
			r.memory -= t.weight
		}
		if _, ok := next.slot(t.def.ID); !ok && t.def.Durable {
			r.lost = r.lost.Sub(t.sum)
		}
	}
	r.defs, r.tables, r.last, r.altered = next, tables, nil, true
	return nil
}

// schemaDamage tells a damaged schema record from one of a later version.
func schemaDamage(offset int64, err error) error {
	if errors.Is(err, ErrNewer) {
		return err
	}
	return damaged(offset, "%v", err)
}
