package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// written are segments of all indexes of a store, as files that nobody names.
func written(t testing.TB, s *Store) (st catalog.State, segments []catalog.Segment) {
	t.Helper()
	job, err := s.cat.StartJob(t.Context(), JobIndex, "")
	must(t, err)
	t.Cleanup(func() { _ = s.cat.EndJob(t.Context(), job.ID, 0, 0, nil) })
	p, err := s.planIndexes(t.Context(), nil, false)
	must(t, err)
	w := &indexWriter{s: s, ctx: t.Context(), job: job.ID, plan: p}
	must(t, w.gather(nil))
	for _, x := range p.indexes {
		if !x.writes() {
			continue
		}
		f, sum, err := w.merge(x)
		must(t, err)
		segments = append(segments, sealedAs(t, f, x, sum))
		must(t, w.discard(x.rows.files))
	}
	return stateOf(t, s), segments
}

// sealedAs is what the catalog would have of a file.
func sealedAs(t testing.TB, f *segmentFile, x *indexWork, sum segment.Summary) catalog.Segment {
	t.Helper()
	g := catalog.Segment{ObjectID: f.ObjectID, Path: f.Path, IndexRef: x.IndexRef, Fragments: roaring64.New(), Entries: sum.Entries, Extent: sum.Extent, Digest: sum.Digest}
	g.Fragments.AddMany(f.header.Fragments)
	must(t, f.file.Sync())
	var err error
	g.ContentID, err = contentIDOf(catalog.KindIndex, f.file, f.extent)
	must(t, err)
	must(t, f.file.Close())
	f.file = nil
	return g
}

// checked is what a check says of segments.
func checked(t testing.TB, s *Store, st *catalog.State) (text string) {
	t.Helper()
	s.checks.RLock()
	defer s.checks.RUnlock()
	c := newChecker(t.Context(), s, func(f Finding) { text += f.String() + "\n" }, nil)
	c.target = s.durable.Load()
	must(t, c.segments("", st.Base, &st.IndexState, st.Retained, c.target.schema))
	return text
}

// What an index job writes are the rows of the base, and a check says so; it finds a
// segment that lacks one, has one too many, or another one.
func TestSegmentsAreTheRows(t *testing.T) {
	defer func(n, k int) { runBytes, maxRuns = n, k }(runBytes, maxRuns)
	maxRuns = 3
	for _, spill := range []int{64 << 20, 700} {
		runBytes = spill
		overShards(t, func(t *testing.T, shards int) {
			s := openStore(t, Options{FS: vfs.NewMem(), Shards: shards, GenerationSize: 4 << 10, NoCompaction: true})
			wait(t, s, update(t, s, all(createKeys("k", 2), createTable("a"), createTable("none"), manyRows("k", 70, "k"), manyRows("a", 40, "a"))))
			wait(t, s, update(t, s, all(put("k", -5, nil, "n"), put("k", -6, nil, "n"), createIndex("a", "a_both", 1, 0))))
			must(t, s.Compact(t.Context(), nil))
			st, segments := written(t, s)
			st.IndexState.Segments = segments
			if text := checked(t, s, &st); text != "" {
				t.Fatal(text)
			}
			entries := map[int64]int64{}
			for _, g := range segments {
				entries[g.IndexID] += g.Entries
			}
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range segments {
				n := 0
				for _, f := range st.Base {
					for k, id := range f.FragmentIDs {
						if !segments[i].Fragments.Contains(uint64(id)) || f.Fragments[k].Rows == 0 {
							continue
						}
						n++
						// A row that is gone from the base leaves an entry, which counts for nothing.
						was, live := f.Deleted[k], f.Live[k]
						f.Deleted[k] = roaring.BitmapOf(uint32(rng.IntN(int(f.Fragments[k].Rows))))
						f.Live[k].Rows--
						if text := checked(t, s, &st); text != "" {
							t.Errorf("with a row deleted: %s", text)
						}
						f.Live[k].Rows--
						if text := checked(t, s, &st); !strings.Contains(text, "has entries of") {
							t.Errorf("with two rows deleted and one in the vector: %q", text)
						}
						f.Deleted[k], f.Live[k] = was, live
						// A fragment that is said to be covered and is not.
						less := st
						less.IndexState.Segments = append([]catalog.Segment(nil), segments...)
						g := &less.IndexState.Segments[i]
						g.Fragments = g.Fragments.Clone()
						g.Fragments.Add(1 << 40)
						if text := checked(t, s, &less); !strings.Contains(text, "does not cover fragment") {
							t.Errorf("with a fragment too many: %q", text)
						}
					}
				}
				if n == 0 && segments[i].Entries > 0 {
					t.Errorf("segment %d covers nothing", i)
				}
				// Another index's segment.
				other := st
				other.IndexState.Segments = append([]catalog.Segment(nil), segments...)
				g := &other.IndexState.Segments[i]
				g.Entries++
				if text := checked(t, s, &other); !strings.Contains(text, "entries, the catalog says") {
					t.Errorf("with another number of entries: %q", text)
				}
				g.Entries--
				g.IndexID++
				if text := checked(t, s, &other); !strings.Contains(text, "segment") {
					t.Errorf("as another index: %q", text)
				}
			}
		})
	}
}

// planOf is a plan of a store's indexes, and a writer of it.
func planOf(t testing.TB, s *Store) *indexWriter {
	t.Helper()
	job, err := s.cat.StartJob(t.Context(), JobIndex, "")
	must(t, err)
	t.Cleanup(func() { _ = s.cat.EndJob(context.Background(), job.ID, 0, 0, nil) })
	p, err := s.planIndexes(t.Context(), nil, false)
	must(t, err)
	w := &indexWriter{s: s, ctx: t.Context(), job: job.ID, plan: p}
	t.Cleanup(func() { must(t, w.discard(w.files)) })
	return w
}

// of returns an index of a plan by its name, a primary one by that of its table.
func (p *indexPlan) of(name string) *indexWork {
	for _, x := range p.indexes {
		if x.ix == nil && x.def.Name == name || x.ix != nil && x.ix.Name == name {
			return x
		}
	}
	return nil
}

// indexed is a store with a base of a keys table, whose indexes have no segments.
func indexed(t *testing.T, rows int) *Store {
	s := openStore(t, Options{FS: vfs.NewMem(), Shards: 1, GenerationSize: 4 << 10, NoCompaction: true})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", rows, "k"))))
	s.compactor.unindexed = true
	must(t, s.Compact(t.Context(), nil))
	return s
}

// A merge leaves out what is deleted since, and fragments that are gone; one of a segment
// that is damaged says so.
func TestMergeLeavesOut(t *testing.T) {
	s := indexed(t, 60)
	_, segments := written(t, s)
	for _, g := range segments {
		w := planOf(t, s)
		var x *indexWork
		for _, x = range w.plan.indexes {
			if x.IndexRef == g.IndexRef {
				break
			}
		}
		x.fresh, x.merge = nil, []segmentInUse{{Segment: g}}
		x.merge[0].Fragments = g.Fragments.Clone()
		gone := w.plan.fragments[len(w.plan.fragments)-1]
		x.merge[0].Fragments.Remove(uint64(gone.id))
		first := w.plan.fragments[0]
		first.deleted = roaring.BitmapOf(0, 2)
		f, sum, err := w.merge(x)
		must(t, err)
		if want := g.Entries - 2 - gone.rows; sum.Entries != want || len(f.header.Fragments) != len(w.plan.fragments)-1 {
			t.Errorf("%d entries of %d fragments, want %d", sum.Entries, len(f.header.Fragments), want)
		}
		r, err := segment.Open(f.file, f.extent, f.header)
		must(t, err)
		must(t, r.Verify(t.Context()))

		again := planOf(t, s)
		y := again.plan.of(map[bool]string{true: "k", false: "k_c1"}[x.ix == nil])
		y.fresh, y.merge = nil, []segmentInUse{{Segment: g}}
		y.IndexRef = g.IndexRef
		flipAt(t, s.fs.(*vfs.Mem), g.Path, g.Extent/2)
		if _, _, err := again.merge(y); !errors.Is(err, errSpoiled) || !s.isSpoiled(g.ObjectID) {
			t.Errorf("of a damaged segment: %v", err)
		}
		flipAt(t, s.fs.(*vfs.Mem), g.Path, g.Extent/2)
	}
}

// A scan of fragments that are not what the catalog says is damage.
func TestFragmentScanRefuses(t *testing.T) {
	s := indexed(t, 60)
	w := planOf(t, s)
	f := w.plan.files[0]
	scan := func(change func(x *fragment)) (rows int, err error) {
		c := *f
		c.fragments = append([]fragment(nil), f.fragments...)
		last := &c.fragments[len(c.fragments)-1]
		change(last)
		r := fragmentScan{s: s, file: &c, ended: func() error { return nil }, row: func(int, uint32, wal.RowIDs, wal.Frame) error { rows++; return nil }}
		return rows, r.run()
	}
	n, err := scan(func(*fragment) {})
	must(t, err)
	if want := f.fragments[len(f.fragments)-1].rows; int64(n) != 0 && int64(n) != want {
		t.Errorf("%d rows, want %d", n, want)
	}
	var bad *CorruptError
	for what, change := range map[string]func(x *fragment){
		"of another table": func(x *fragment) { x.table++ },
		"too long":         func(x *fragment) { x.rows += 1 },
		"of no start":      func(x *fragment) { x.start, x.rows = -1, x.rows+1 },
	} {
		if _, err := scan(change); !errors.As(err, &bad) || bad.File != f.path {
			t.Errorf("%s: %v", what, err)
		}
	}
	if n, err := scan(func(x *fragment) { x.start = -1 }); err != nil || n == 0 {
		t.Errorf("of an unknown start: %d rows, %v", n, err)
	}
}

// What the catalog has of a segment is compared with the file.
func TestOtherSegment(t *testing.T) {
	s := indexed(t, 20)
	_, segments := written(t, s)
	var bad *CorruptError
	for what, change := range map[string]func(g *catalog.Segment){
		"digest": func(g *catalog.Segment) { g.Digest[0]++ },
		"extent": func(g *catalog.Segment) { g.Extent++ },
		"object": func(g *catalog.Segment) { g.ObjectID++ },
		"index":  func(g *catalog.Segment) { g.IndexID += 5 },
		"table":  func(g *catalog.Segment) { g.TableID += 5 },
		"path":   func(g *catalog.Segment) { g.Path += "x" },
		"fragment": func(g *catalog.Segment) {
			g.Fragments = g.Fragments.Clone()
			g.Fragments.Add(4711)
		},
	} {
		g := segments[0]
		change(&g)
		if _, err := s.openSegment(&g); !errors.As(err, &bad) || bad.File != g.Path {
			t.Errorf("another %s: %v", what, err)
		}
	}
	r, err := s.openSegment(&segments[0])
	must(t, err)
	must(t, r.close())
}

// A placer finds exactly the rows that are asked for, where they are, and nothing in a
// segment that is damaged.
func TestPlaces(t *testing.T) {
	s := indexed(t, 60)
	st, segments := written(t, s)
	var primary catalog.Segment
	for _, g := range segments {
		if g.IndexID == g.TableID {
			primary = g
		}
	}
	table := TableID(primary.TableID)
	ask := []int64{-7, 0, 1, 13, 14, 58, 59, 60, 1000}
	find := func() (string, *roaring64.Bitmap) {
		p := &segmentPlacer{s: s, loaded: true, segments: map[TableID][]catalog.Segment{table: {primary}}}
		var b strings.Builder
		covered, err := p.places(t.Context(), table, ask, func(at basePlace) error {
			fmt.Fprintf(&b, "%d in %d at %d, %d+%d\n", at.rowid, at.fragment, at.ordinal, at.offset, at.size)
			return nil
		})
		must(t, err)
		return b.String(), covered
	}
	var want strings.Builder
	w := planOf(t, s)
	for _, f := range w.plan.files {
		scan := fragmentScan{s: s, file: f, ended: func() error { return nil }, row: func(at int, ordinal uint32, ids wal.RowIDs, fr wal.Frame) error {
			if slices.Contains(ask, ids.Rowid) {
				fmt.Fprintf(&want, "%d in %d at %d, %d+%d\n", ids.Rowid, f.fragments[at].id, ordinal, fr.Offset, fr.End()-fr.Offset)
			}
			return nil
		}}
		must(t, scan.run())
	}
	got, covered := find()
	if got != want.String() || got == "" {
		t.Errorf("found\n%s\nwant\n%s", got, want.String())
	}
	for _, f := range st.Base {
		for i, id := range f.FragmentIDs {
			if covered.Contains(uint64(id)) != (f.Fragments[i].TableID == primary.TableID) {
				t.Errorf("fragment %d: covered %t", id, covered.Contains(uint64(id)))
			}
		}
	}
	flipAt(t, s.fs.(*vfs.Mem), primary.Path, primary.Extent-10)
	if got, covered := find(); got != "" || !covered.IsEmpty() {
		t.Errorf("in a damaged segment: %q, %v", got, covered)
	}
}

// Entries that are not those of the rows are found.
func TestCheckFindsSegments(t *testing.T) {
	s := indexed(t, 60)
	st, segments := written(t, s)
	for what, x := range map[string]struct {
		change func(entries []indexEntry) []indexEntry
		want   string
	}{
		"another key": {func(e []indexEntry) []indexEntry {
			e[3].key = append(e[3].key[:len(e[3].key):len(e[3].key)], 0)
			return e
		}, "is not that of row"},
		"another place": {func(e []indexEntry) []indexEntry { e[3].ord, e[4].ord = e[4].ord, e[3].ord; return e }, "is not that of row"},
		"one missing":   {func(e []indexEntry) []indexEntry { return append(e[:3:3], e[4:]...) }, "has entries of"},
		"one twice": {func(e []indexEntry) []indexEntry {
			again := e[3]
			again.key = append(again.key[:len(again.key):len(again.key)], 0)
			return append(append(e[:4:4], again), e[4:]...)
		}, "is not that of row"},
		"beyond its fragment": {func(e []indexEntry) []indexEntry { e[3].ord = 1 << 20; return e }, "which has"},
		"as they are":         {func(e []indexEntry) []indexEntry { return e }, ""},
	} {
		w := planOf(t, s)
		must(t, w.gather(nil))
		y := w.plan.of("k_c1")
		y.rows.sort()
		run := memoryRun{x.change(y.rows.entries)}
		var fragments []uint32
		for _, n := range y.covers(w.plan) {
			fragments = append(fragments, uint32(n))
		}
		f, sum, err := w.write(y, fragments, run.next)
		must(t, err)
		bad := st
		for _, g := range segments {
			if g.IndexRef == y.IndexRef {
				g = sealedAs(t, f, y, sum)
			}
			bad.IndexState.Segments = append(bad.IndexState.Segments, g)
		}
		if text := checked(t, s, &bad); (x.want == "") != (text == "") || !strings.Contains(text, x.want) {
			t.Errorf("%s: %q, want %q", what, text, x.want)
		}
	}
}

// Positions beyond what is compacted, and of rows that no segment covers, are found.
func TestCheckFindsPositions(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), Shards: 1, GenerationSize: 4 << 10, NoCompaction: true})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 40, "k"))))
	must(t, s.Checkpoint(t.Context(), nil))
	var retained []catalog.Generation
	for _, g := range stateOf(t, s).Generations {
		if g.State == catalog.GenerationSealed {
			retained = append(retained, g)
		}
	}
	// Someone needs them for now.
	_, err := s.CreateBranchPoint(t.Context(), "then")
	must(t, err)
	s.compactor.unindexed = true
	must(t, s.Compact(t.Context(), nil))
	st, segments := written(t, s)
	shard, newest := retained[0].ShardID, retained[len(retained)-1].Generation
	st.IndexState.Segments, st.Retained = segments, retained
	st.IndexState.Compacted = []catalog.ShardGeneration{{ShardID: shard, Generation: newest}}
	at := func(generation int64) {
		st.IndexState.CaughtUp = nil
		for _, g := range segments {
			st.IndexState.CaughtUp = append(st.IndexState.CaughtUp, catalog.IndexPosition{IndexID: g.IndexID, ShardID: shard, Generation: generation})
		}
	}
	at(newest)
	if text := checked(t, s, &st); text != "" {
		t.Error(text)
	}
	at(newest + 1)
	if text := checked(t, s, &st); !strings.Contains(text, "has caught up with generation") {
		t.Errorf("beyond what is compacted: %q", text)
	}
	at(newest)
	less := st
	less.IndexState.Segments = slices.Clone(segments)
	less.IndexState.Segments[1].Fragments = segments[1].Fragments.Clone()
	less.IndexState.Segments[1].Fragments.Remove(segments[1].Fragments.Minimum())
	if text := checked(t, s, &less); !strings.Contains(text, "does not cover fragment") {
		t.Errorf("rows that are not covered: %q", text)
	}
	less.IndexState.Compacted = []catalog.ShardGeneration{{ShardID: shard, Generation: newest - 1}}
	at(newest - 1)
	less.IndexState.CaughtUp = st.IndexState.CaughtUp
	if text := checked(t, s, &less); !strings.Contains(text, "is retained as compacted") {
		t.Errorf("retained and not compacted: %q", text)
	}
}
