package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// Where a touched row is in files that are kept, it is superseded: its ordinal goes
// to the deletion vector of the fragment, and its share leaves what the live rows of
// the fragment add up to. The primary indexes of the head know the places in the
// fragments that they cover; all others are read through.

// basePlace is where a row is in the base.
type basePlace struct {
	rowid    int64
	fragment int64 // id
	ordinal  uint32
	offset   int64 // of the frame
	size     uint32
}

// placer finds rows in the base.
type placer interface {
	// places calls found with all places of rows of a table, whose ids ascend, in the
	// fragments that it covers, whether they are deleted there or not. It returns the ids
	// of these fragments. What it found is of no use when it fails.
	places(ctx context.Context, table TableID, rowids []int64, found func(basePlace) error) (covered *roaring64.Bitmap, err error)
}

// supersede deletes the touched rows of a table from the base. Fragments of tables
// that are written whole are not looked at.
func (p *planner) supersede(t *tablePlan) error {
	seen, err := p.supersedeFound(t)
	if err != nil {
		return err
	}
	for _, f := range p.files {
		for i := range f.fragments {
			x := &f.fragments[i]
			if x.table != t.def.ID || x.live == 0 || seen != nil && x.id > 0 && seen.Contains(uint64(x.id)) {
				continue
			}
			if err := p.supersedeIn(t, f.baseFile, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// supersedeFound deletes what the primary index finds, and returns the fragments that
// this is all of. An index that cannot be read is none.
func (p *planner) supersedeFound(t *tablePlan) (*roaring64.Bitmap, error) {
	if p.placer == nil {
		return nil, nil
	}
	var found []basePlace
	covered, err := p.placer.places(p.read.ctx, t.def.ID, t.ids, func(at basePlace) error {
		found = append(found, at)
		return nil
	})
	if err != nil {
		if cause := p.read.ctx.Err(); cause != nil {
			return nil, cause
		}
		p.read.s.event(Event{Kind: EventBackgroundFailed, Err: fmt.Errorf("engine: finding rows of table %q in its primary index: %w", t.def.Name, err)})
		return nil, nil
	}
	if covered == nil {
		return nil, nil
	}
	// File after file, and each from its start to its end.
	slices.SortStableFunc(found, func(a, b basePlace) int {
		if a.fragment != b.fragment {
			return int(min(max(a.fragment-b.fragment, -1), 1))
		}
		return int(min(max(a.offset-b.offset, -1), 1))
	})
	for _, f := range p.files {
		for i := range f.fragments {
			x := &f.fragments[i]
			if x.table != t.def.ID || x.live == 0 || !covered.Contains(uint64(x.id)) {
				continue
			}
			from, _ := slices.BinarySearchFunc(found, x.id, func(a basePlace, id int64) int { return int(min(max(a.fragment-id, -1), 1)) })
			d := deletion{fragment: x, vector: x.deleted}
			for _, at := range found[from:] {
				if at.fragment != x.id {
					break
				}
				if err := p.supersedeAt(t, f.baseFile, &d, at); err != nil {
					return nil, err
				}
			}
			d.done()
		}
	}
	return covered, nil
}

// supersedeAt deletes a row whose place is known.
func (p *planner) supersedeAt(t *tablePlan, f *baseFile, d *deletion, at basePlace) error {
	if int64(at.ordinal) >= d.rows {
		return fmt.Errorf("engine: row %d of table %q is said to be number %d of %d in %s", at.rowid, t.def.Name, at.ordinal, d.rows, f.path)
	}
	if d.has(at.ordinal) {
		return nil
	}
	file, err := p.read.open(f.generation)
	if err != nil {
		return err
	}
	sc := wal.NewScanner(file, at.offset, at.offset+int64(at.size), f.salt)
	fr, ok := sc.Next()
	if !ok {
		return corruptOrRead(f.path, sc.Stop())
	}
	ids, rec, err := wal.CutPut(fr)
	if err == nil && (TableID(ids.Table) != t.def.ID || ids.Rowid != at.rowid) {
		err = damaged(fr.Offset, "row %d of table %d, where row %d of table %d is said to be", ids.Rowid, ids.Table, at.rowid, t.def.ID)
	}
	if err != nil {
		return corruptIn(f.path, at.offset, err)
	}
	return p.del(t, f, d, at.ordinal, fr, ids, rec)
}

// supersedeIn reads through a fragment for touched rows: both are in the order of row
// ids.
func (p *planner) supersedeIn(t *tablePlan, f *baseFile, x *fragment) error {
	d := deletion{fragment: x, vector: x.deleted}
	rest := t.ids
	err := p.read.scan(f, x, func(ordinal uint32, fr wal.Frame, ids wal.RowIDs, rec row.Record) error {
		for len(rest) > 0 && rest[0] < ids.Rowid {
			rest = rest[1:]
		}
		switch {
		case len(rest) == 0:
			return errEnough
		case rest[0] != ids.Rowid || d.has(ordinal):
			return nil
		}
		return p.del(t, f, &d, ordinal, fr, ids, rec)
	})
	d.done()
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// errEnough ends the reading of a fragment.
var errEnough = errors.New("engine: enough")

// del deletes one row.
func (p *planner) del(t *tablePlan, f *baseFile, d *deletion, ordinal uint32, fr wal.Frame, ids wal.RowIDs, rec row.Record) error {
	if ids.Version != t.def.Version {
		return &CorruptError{File: f.path, Offset: fr.Offset, Reason: fmt.Sprintf("row of table %q by definition %d, current is %d", t.def.Name, ids.Version, t.def.Version)}
	}
	d.add(ordinal, fr.End()-fr.Offset, row.RowSum(uint64(t.def.ID), ids.Rowid, t.columns, rec, t.def.RowidAlias, &p.scratch))
	return nil
}

// deletion is what is deleted from a fragment. The vector that it had is somebody
// else's and is not changed.
type deletion struct {
	*fragment
	vector *roaring.Bitmap
	own    bool
}

func (d *deletion) has(ordinal uint32) bool { return d.vector != nil && d.vector.Contains(ordinal) }

func (d *deletion) add(ordinal uint32, size int64, sum row.Sum) {
	if !d.own {
		d.own = true
		if d.vector == nil {
			d.vector = roaring.New()
		} else {
			d.vector = d.vector.Clone()
		}
	}
	d.vector.Add(ordinal)
	d.live--
	d.dead += size
	d.liveSum = d.liveSum.Sub(sum)
}

func (d *deletion) done() {
	if d.own {
		d.vector.RunOptimize()
		d.deleted = d.vector
	}
}

// kill deletes all rows of a fragment.
func (x *fragment) kill() {
	if x.live == 0 {
		return
	}
	x.deleted = roaring.New()
	x.deleted.AddRange(0, uint64(x.rows))
	x.live, x.dead, x.liveSum = 0, x.bytes, row.Sum{}
}
