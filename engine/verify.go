package engine

import (
	"fmt"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// verify checks that a table agrees with itself and reports all it finds
// wrong: records that do not decode, trees out of order, an index without an
// entry for a row or with one too many, equal keys in a unique index, and, where
// the store keeps one, a fingerprint that the rows do not add up to.
//
// A row of a keys table that cannot be read goes to bad, whose error ends the
// check.
func (t *Table) verify(summed bool, report func(text string), bad func(error) error) error {
	t, err := t.whole()
	if err != nil {
		return bad(err)
	}
	if len(t.indexes) != len(t.def.Indexes) {
		report(fmt.Sprintf("table %q has %d index trees for %d indexes", t.def.Name, len(t.indexes), len(t.def.Indexes)))
		return nil
	}
	sound, sum, err := t.verifyRows(report, bad)
	if !sound || err != nil {
		return err // indexes cannot be computed from such records
	}
	if summed && t.def.Durable && sum != t.sum {
		report(fmt.Sprintf("table %q: fingerprint %x, its rows add up to %x", t.def.Name, t.sum, sum))
	}
	for i, ix := range t.def.Indexes {
		t.verifyIndex(ix, t.indexes[i], report)
	}
	return t.verifyEntries(report)
}

func (t *Table) verifyRows(report func(string), bad func(error) error) (sound bool, sum row.Sum, err error) {
	var (
		n       int
		last    int64
		scratch []byte
		colIDs  = t.def.columnIDs()
	)
	sound = true
	for it := t.rows.Iter(); it.Next(); n++ {
		rowid, rec := it.Key(), it.Value()
		if n > 0 && rowid <= last {
			report(fmt.Sprintf("table %q: row %d stands behind row %d", t.def.Name, rowid, last))
			sound = false
		}
		last = rowid
		if t.src != nil {
			if rec, err = t.src.row(t.def, rowid, rec); err != nil {
				sound = false
				if err = bad(err); err != nil {
					return false, sum, err
				}
				continue
			}
		}
		if err := rec.Validate(); err != nil {
			report(fmt.Sprintf("table %q: row %d: %v", t.def.Name, rowid, err))
			sound = false
			continue
		}
		if cols, _ := rec.Columns(); cols > len(t.def.Columns) {
			report(fmt.Sprintf("table %q: row %d has %d columns of %d", t.def.Name, rowid, cols, len(t.def.Columns)))
			sound = false
			continue
		}
		sum = sum.Add(row.RowSum(uint64(t.def.ID), rowid, colIDs, rec, t.def.RowidAlias, &scratch))
	}
	if n != t.rows.Len() {
		report(fmt.Sprintf("table %q counts %d rows and has %d", t.def.Name, t.rows.Len(), n))
		sound = false
	}
	return sound, sum, nil
}

// verifyIndex checks an index by itself.
func (t *Table) verifyIndex(ix *IndexDef, tree *indexTree, report func(string)) {
	var (
		n      int
		before string // the entry before
		last   string // its key
		keys   = keyMaker{def: t.def}
		buf    []byte
	)
	for it := tree.Iter(); it.Next(); n++ {
		entry := it.Key()
		if n > 0 && entry <= before {
			report(fmt.Sprintf("index %q is out of order at entry %d", ix.Name, n))
		}
		key, rowid := splitEntry(entry)
		if n > 0 && ix.Unique && key == last {
			if rec, found, err := t.Get(rowid); found && err == nil {
				var null bool
				if buf, null = keys.append(buf[:0], ix, rec, rowid); !null {
					report(fmt.Sprintf("unique index %q has key %x twice", ix.Name, key))
				}
			}
		}
		last, before = key, entry
	}
	if n != tree.Len() || ix.Where == 0 && n != t.rows.Len() {
		report(fmt.Sprintf("index %q counts %d entries and has %d for %d rows", ix.Name, tree.Len(), n, t.rows.Len()))
	}
}

// verifyEntries finds the entry of every row in every index. With as many
// entries as rows there is then none too many; those of a partial index are counted.
func (t *Table) verifyEntries(report func(string)) error {
	if len(t.indexes) == 0 {
		return nil
	}
	keys := keyMaker{def: t.def}
	var buf []byte
	entries := make([]int, len(t.indexes))
	err := t.each(func(rowid int64, rec row.Record) {
		for i, ix := range t.def.Indexes {
			if buf, _ = keys.append(buf[:0], ix, rec, rowid); len(buf) == 0 {
				continue
			}
			if entries[i]++; !t.indexes[i].Has(buf) {
				report(fmt.Sprintf("index %q has no entry for row %d", ix.Name, rowid))
			}
		}
	})
	for i, ix := range t.def.Indexes {
		if n := t.indexes[i].Len(); err == nil && ix.Where != 0 && n != entries[i] {
			report(fmt.Sprintf("index %q has %d entries for %d rows", ix.Name, n, entries[i]))
		}
	}
	return err
}
