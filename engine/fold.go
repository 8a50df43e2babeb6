package engine

import (
	"fmt"
	"runtime"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// source turns the locators of a keys table into rows. Tables of which all rows
// are in memory have none. It never changes.
type source struct {
	objects *objects
	staged  []row.Record // by position; of the transaction the table is seen from
	bytes   int64        // of the staged records
	lease   *lease       // on the files that its locators may name
	ended   func() error // asked now and then while all rows are read, or nil
}

// source returns that of a published table, nil when its rows are in memory: those
// of all tables are where there is no log.
func (o *objects) source(def *TableDef) *source {
	if o == nil || def.Resident != ResidentKeys && !(o.keys && def.Durable) {
		return nil
	}
	return &source{objects: o, lease: o.lease.Load()}
}

// published returns the source of a table whose rows are all filed: the one it
// was made of, without what a transaction holds.
func (s *source) published() *source {
	if s == nil || s.staged == nil && s.bytes == 0 {
		return s
	}
	return &source{objects: s.objects, lease: s.lease}
}

// row returns the row of a locator.
func (s *source) row(def *TableDef, rowid int64, loc row.Record) (row.Record, error) {
	p, err := parseLocator(string(loc))
	if err != nil {
		return "", err
	}
	return s.fold(def, rowid, p, nil)
}

// fold makes the row of a place. It reads from the newest record to the oldest,
// down to the whole row; the first value seen of a column is the one. Nobody
// else follows a chain.
func (s *source) fold(def *TableDef, rowid int64, p rowPlace, w *window) (row.Record, error) {
	rec, err := s.follow(def, rowid, p, w)
	runtime.KeepAlive(s) // and its lease, until the last file was read
	return rec, err
}

func (s *source) follow(def *TableDef, rowid int64, p rowPlace, w *window) (row.Record, error) {
	if p.kind == staged {
		if p.off >= int64(len(s.staged)) {
			return "", fmt.Errorf("engine: row %d of table %q is staged at %d of %d", rowid, def.Name, p.off, len(s.staged))
		}
		return s.staged[p.off], nil
	}
	o := s.objects
	o.folds.Add(1)
	f, err := o.borrow(p.slot, p.off, p.size, w)
	if err != nil {
		return "", err
	}
	if p.hops == 0 {
		return o.whole(def, rowid, p.slot, f)
	}
	o.hops.Add(uint64(p.hops))
	var c columns
	for hop := p.hops; hop > 0; hop-- {
		d, err := wal.DecodeDelta(f)
		if err != nil {
			return "", o.wrong(p.slot, f.Offset, "%v", err)
		}
		if err := o.same(def, rowid, p.slot, f, wal.RowIDs{Table: d.Table, Version: d.Version, Rowid: d.Rowid}); err != nil {
			return "", err
		}
		if err := c.take(def, d.Columns); err != nil {
			return "", o.wrong(p.slot, f.Offset, "%v", err)
		}
		if f, err = o.borrow(p.slot, int64(d.Prev), 0, w); err != nil {
			return "", err
		}
	}
	rec, err := o.whole(def, rowid, p.slot, f)
	if err != nil {
		return "", err
	}
	return c.over(rec)
}

// whole returns the row of a put.
func (o *objects) whole(def *TableDef, rowid int64, slot uint32, f wal.Frame) (row.Record, error) {
	ids, rec, err := wal.CutPut(f)
	if err != nil {
		return "", o.wrong(slot, f.Offset, "%v", err)
	}
	if err := o.same(def, rowid, slot, f, ids); err != nil {
		return "", err
	}
	return rec, nil
}

// same refuses a record of another row.
func (o *objects) same(def *TableDef, rowid int64, slot uint32, f wal.Frame, ids wal.RowIDs) error {
	if ids.Table == uint64(def.ID) && ids.Rowid == rowid && ids.Version <= def.Version {
		return nil
	}
	return o.wrong(slot, f.Offset, "%s of row %d of table %d by definition %d, where row %d of table %d (definition %d) should be",
		f.Kind, ids.Rowid, ids.Table, ids.Version, rowid, def.ID, def.Version)
}

// wrong is about a record that is intact and not the right one.
func (o *objects) wrong(slot uint32, off int64, format string, args ...any) error {
	ob, err := o.at(slot)
	if err != nil {
		return err
	}
	return &CorruptError{File: ob.path, Offset: off, Reason: fmt.Sprintf(format, args...)}
}

// columns are those that the deltas of a chain have, while it is followed.
type columns struct {
	vals []row.Value
	seen []bool
}

// take adds the columns of an older delta.
func (c *columns) take(def *TableDef, changed []wal.DeltaColumn) error {
	if len(changed) == 0 {
		return fmt.Errorf("delta: no column is changed")
	}
	if last := int(changed[len(changed)-1].Ordinal); last >= len(def.Columns) {
		return fmt.Errorf("delta: column %d of %d", last, len(def.Columns))
	} else if n := last + 1 - len(c.vals); n > 0 {
		c.vals = append(c.vals, make([]row.Value, n)...)
		c.seen = append(c.seen, make([]bool, n)...)
	}
	for _, k := range changed {
		if !c.seen[k.Ordinal] {
			c.vals[k.Ordinal], c.seen[k.Ordinal] = k.Value, true
		}
	}
	return nil
}

// over puts the columns over those of the whole row.
func (c *columns) over(rec row.Record) (row.Record, error) {
	n, err := rec.Columns()
	if err != nil {
		return "", err
	}
	if more := n - len(c.vals); more > 0 {
		c.vals = append(c.vals, make([]row.Value, more)...)
		c.seen = append(c.seen, make([]bool, more)...)
	}
	var dec row.Decoder
	dec.Reset(rec)
	for i, seen := range c.seen {
		if !seen {
			c.vals[i] = dec.Column(i)
		}
	}
	return row.Record(row.AppendRecord(nil, c.vals)), nil
}
