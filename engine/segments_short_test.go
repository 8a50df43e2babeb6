package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/segment"
)

// rewrite writes a segment of a secondary index anew, with another key in the
// place of one.
func (x *segmentSpecimen) rewrite(t *testing.T, g *catalog.Segment, n int, key func(list []segment.SecondaryEntry) string) {
	t.Helper()
	file, err := x.mem.Open(g.Path)
	must(t, err)
	defer func() { must(t, file.Close()) }()
	h := segment.Header{
		Store: x.id, Object: uint64(g.ObjectID), Kind: segment.Secondary,
		Table: uint64(g.TableID), Index: uint64(g.IndexID), Fragments: g.Fragments.ToArray(),
	}
	r, err := segment.Open(file, g.Extent, h)
	must(t, err)
	var entries []segment.SecondaryEntry
	it := r.Secondary()
	for it.Next() {
		entries = append(entries, it.Entry())
	}
	must(t, it.Err())
	if n < 0 {
		n += len(entries)
	}
	entries[n].Key = key(entries)
	slices.SortFunc(entries, func(a, b segment.SecondaryEntry) int { return strings.Compare(a.Key, b.Key) })
	must(t, file.Truncate(0))
	w, err := segment.NewWriter(file, h)
	must(t, err)
	for _, e := range entries {
		must(t, w.AddSecondary([]byte(e.Key), e.Place, e.Null))
	}
	sum, err := w.Finish()
	must(t, err)
	g.Extent, g.Entries, g.Digest = sum.Extent, sum.Entries, sum.Digest
}

// A segment whose checksums are right and that has one entry which is too short for a row
// id is damaged like any other: of a unique index and not, of one segment alone and of
// several, with rows that moved and without.
func TestSegmentsLoadShortEntry(t *testing.T) {
	if entryCut("") >= 0 || entryCut([]byte{}) >= 0 {
		t.Error("an empty entry is long enough")
	}
	at := 0
	for _, changes := range []bool{false, true} {
		x := newSegmentSpecimen(t, changes)
		for _, key := range []string{"\x00", "\xff\xff\xff\xff\xff\xff\xff\x07"} {
			if entryCut(key) >= 0 {
				t.Fatalf("%x is long enough", key)
			}
			for _, table := range []string{"k", "a"} {
				def := x.whole.Schema().Lookup(table).Table
				for i, ix := range def.Indexes {
					for _, files := range [][]int{{0}, {0, 1}} {
						x.state.IndexState.Segments = nil
						for _, file := range files {
							if ix.Name != "late" {
								x.write(t, def, ix, file)
							}
						}
						if len(x.state.IndexState.Segments) == 0 {
							continue
						}
						x.rewrite(t, &x.state.IndexState.Segments[0], at, func([]segment.SecondaryEntry) string { return key })
						at = -1 - at // the first one, and the last one
						x.wantSame(t, fmt.Sprintf("entry %x in index %d of table %q, %d segments", key, i, table, len(files)))
					}
				}
			}
		}
	}
}

// One that makes rows equal in a unique index that are not is damaged, too: the index is
// made from the rows.
func TestSegmentsLoadFalseTwins(t *testing.T) {
	for _, changes := range []bool{false, true} {
		x := newSegmentSpecimen(t, changes)
		def := x.whole.Schema().Lookup("k").Table
		if !def.Indexes[0].Unique {
			t.Fatal("the index is not unique")
		}
		all := make([]int, len(x.state.Base))
		for i := range all {
			all[i] = i
		}
		g := x.write(t, def, def.Indexes[0], all...)
		made := 0
		x.rewrite(t, g, -1, func(list []segment.SecondaryEntry) string {
			for i := len(list) - 2; i >= 0; i-- { // one that is none of NULL
				if key, _ := splitEntry(list[i].Key); !list[i].Null {
					_, rowid := splitEntry(list[len(list)-1].Key)
					made++
					return string(appendRowid([]byte(key), rowid))
				}
			}
			return ""
		})
		if made != 1 {
			t.Fatal("no twins")
		}
		x.wantSame(t, "twins in a segment")
	}
}
