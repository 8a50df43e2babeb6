package vtab

import (
	"fmt"
	"math"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/tidemarkdb/tidemark/engine"
	"github.com/tidemarkdb/tidemark/engine/row"
)

// tableIntegrity is xIntegrity, a table's part in PRAGMA integrity_check: every
// record decodes, and every index has as many entries as there are rows, or as there
// are rows that a partial index has, each leading to one.
func tableIntegrity(tls *libc.TLS, p, schema, name uintptr, flags int32, pzErr uintptr) (rc int32) {
	t := tableAt(p)
	defer t.c.guard("integrity", func(error) { rc = lib.SQLITE_ERROR })
	if err := t.integrity(); err != nil {
		storePointer(pzErr, sqliteString(tls, fmt.Sprintf("table %s: %v", goString(name), err)))
	}
	return lib.SQLITE_OK
}

func (t *table) integrity() error {
	if err := t.refresh(); err != nil {
		return err
	}
	view, err := t.c.view(t.id)
	if err != nil {
		return err
	}
	def := view.Def()
	rows := make([]int, len(def.Indexes)) // that an index has
	n, err := drain(view.Scan(math.MinInt64, math.MaxInt64, false), func(rec row.Record) {
		for i, ix := range def.Indexes {
			if ix.Where == 0 || def.Value(rec, ix.Where-1) == row.IntValue(1) {
				rows[i]++
			}
		}
	})
	if err != nil {
		return err
	}
	if n != view.Len() {
		return fmt.Errorf("%d rows, counted %d", n, view.Len())
	}
	for i, ix := range def.Indexes {
		entries, err := drain(view.IndexScan(i, "", "", false), nil)
		if err != nil {
			return fmt.Errorf("index %s: %w", ix.Name, err)
		}
		if entries != rows[i] {
			return fmt.Errorf("index %s: %d entries for %d rows", ix.Name, entries, rows[i])
		}
	}
	return nil
}

// drain reads a scan to its end, validates the records and counts them. each, unless
// nil, sees them.
func drain(s *engine.Scanner, each func(row.Record)) (int, error) {
	var buf [fullBlock]engine.Entry
	for total := 0; ; {
		n, err := s.Next(buf[:])
		if err != nil {
			return total, err
		}
		for _, e := range buf[:n] {
			if err := e.Rec.Validate(); err != nil {
				return total, fmt.Errorf("row %d: %w", e.Rowid, err)
			}
			if each != nil {
				each(e.Rec)
			}
		}
		total += n
		if n < len(buf) {
			return total, nil
		}
	}
}
