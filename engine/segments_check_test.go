package engine

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/segment"
	"github.com/tidemarkdb/tidemark/engine/vfs"
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
