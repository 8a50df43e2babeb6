package engine

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// supersede takes every third row of the files of a base out of it, as a later
// compaction would, and returns which these are, by table, and what they add up to.
func supersede(t *testing.T, fs vfs.FS, base []catalog.BaseFile, defs map[TableID]*TableDef) (gone map[TableID][]int64, sum row.Sum) {
	t.Helper()
	gone = map[TableID][]int64{}
	var scratch []byte
	n := 0
	for i := range base {
		b := &base[i]
		b.Deleted, b.Live = make([]*roaring.Bitmap, len(b.Fragments)), make([]catalog.FragmentState, len(b.Fragments))
		rows := readBase(t, fs, b.Path).rows
		for k, x := range b.Fragments {
			live := row.Sum{}
			d := roaring.New()
			for ordinal := range x.Rows {
				if x.TableID == 0 {
					break
				}
				m := rows[0]
				rows = rows[1:]
				def := defs[TableID(m.Table)]
				one := row.RowSum(m.Table, m.Rowid, def.columnIDs(), m.Rec, def.RowidAlias, &scratch)
				if n++; n%3 == 0 {
					d.Add(uint32(ordinal))
					gone[def.ID] = append(gone[def.ID], m.Rowid)
					sum = sum.Add(one)
				} else {
					live = live.Add(one)
				}
			}
			b.Live[k] = catalog.FragmentState{Rows: x.Rows - int64(d.GetCardinality()), Sum: sumBytes(live)}
			if !d.IsEmpty() {
				b.Deleted[k] = d
			}
		}
	}
	return gone, sum
}

func defsOf(s *Snapshot) map[TableID]*TableDef {
	defs := map[TableID]*TableDef{}
	for _, def := range s.Schema().Tables() {
		defs[def.ID] = def
	}
	return defs
}

// What a deletion vector names is no part of the state, and what the catalog says of
// the rest is held against what is there.
func TestBaseDeleted(t *testing.T) {
	sp := newBaseSpecimen(t, 1<<10)
	whole, err := sp.scan()
	must(t, err)
	gone, sum := supersede(t, sp.mem, sp.state.Base, defsOf(whole))
	honest := slices.Clone(sp.state.Base)
	head := sp.state.Timeline
	lost := 0
	for _, ids := range gone {
		lost += len(ids)
	}
	head.LiveCount -= int64(lost)
	head.Fingerprint = sumBytes(sumOf(head.Fingerprint).Sub(sum))
	if len(gone) < 2 || len(sp.state.Base) < 2 {
		t.Fatalf("rows of %d tables in %d files", len(gone), len(sp.state.Base))
	}
	sp.state.Timeline = head
	fresh := func() {
		sp.state.Base = slices.Clone(honest)
		for i := range sp.state.Base {
			b := &sp.state.Base[i]
			b.Deleted, b.Live = slices.Clone(b.Deleted), slices.Clone(b.Live)
		}
	}
	fresh()
	snap, err := sp.scan()
	must(t, err)
	for id, ids := range gone {
		table := snap.Table(id)
		for _, rowid := range ids {
			if _, found, err := table.Get(rowid); found || err != nil {
				t.Errorf("row %d of table %q is superseded: %v, %v", rowid, table.def.Name, found, err)
			}
		}
		if want := whole.Table(id).Len() - len(ids); table.Len() != want {
			t.Errorf("table %q has %d rows, want %d", table.def.Name, table.Len(), want)
		}
	}
	at, k := -1, -1 // a fragment with superseded rows
	keys := map[bool][2]int{}
	for i, b := range honest {
		for j, d := range b.Deleted {
			if d != nil {
				at, k = i, j
				keys[whole.Table(TableID(b.Fragments[j].TableID)).src != nil] = [2]int{i, j}
			}
		}
	}
	if len(keys) != 2 {
		t.Fatal("superseded rows of tables of one kind alone")
	}
	for what, change := range map[string]func(b *catalog.BaseFile){
		"no sum of what is left":        func(b *catalog.BaseFile) { b.Live = nil },
		"a vector that is lost":         func(b *catalog.BaseFile) { b.Deleted = nil },
		"a row more in the vector":      func(b *catalog.BaseFile) { d := b.Deleted[k].Clone(); d.Add(0); b.Deleted[k] = d },
		"a row that the file lacks":     func(b *catalog.BaseFile) { d := b.Deleted[k].Clone(); d.Add(1 << 20); b.Deleted[k] = d },
		"another sum of a whole one":    nil,
		"another sum of what is left":   func(b *catalog.BaseFile) { b.Live[k].Sum = sumBytes(row.Sum{1}) },
		"files of a commit ahead of it": func(b *catalog.BaseFile) { b.LSN++ },
	} {
		for _, where := range keys {
			fresh()
			at, k = where[0], where[1]
			if change == nil {
				sp.state.Base[at].Deleted = nil
				sp.state.Base[at].Live[k].Sum = sumBytes(row.Sum{1})
			} else {
				change(&sp.state.Base[at])
			}
			var bad *CorruptError
			if _, err := sp.scan(); !errors.As(err, &bad) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// A row that is in two files of a base is damage, whichever is right.
func TestBaseTwice(t *testing.T) {
	sp := newBaseSpecimen(t, 0)
	b := &sp.state.Base[0]
	f := readBase(t, sp.mem, b.Path)
	// A second file with the last table of the first one.
	second := f
	second.schema = nil
	last := f.rows[len(f.rows)-1].Table
	second.rows = slices.DeleteFunc(slices.Clone(f.rows), func(m wal.Put) bool { return m.Table != last })
	n := len(f.seal.Records) - 1
	second.seal.Records, second.seal.Contributions = f.seal.Records[n:], f.seal.Contributions[n:]
	path := strings.Replace(b.Path, ".kv", "0.kv", 1)
	header := readFile(t, sp.mem, b.Path)[:f.start]
	file, err := sp.mem.Create(path)
	must(t, err)
	_, err = file.WriteAt(header, 0)
	must(t, err)
	must(t, file.Close())
	size := second.write(t, sp.mem, path)
	twin := *b
	twin.Path, twin.ByteExtent = path, size
	twin.Fragments = b.Fragments[len(b.Fragments)-1:]
	sp.state.Base = append(sp.state.Base, twin)
	var bad *CorruptError
	if _, err := sp.scan(); !errors.As(err, &bad) || !strings.Contains(err.Error(), "twice") {
		t.Errorf("%v", err)
	}
}
