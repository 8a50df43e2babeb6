package engine

import (
	"fmt"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// Tables of a branch point are read from its index segments, and from its rows alone
// where one is damaged or missing; then the answers are the same.
func TestPastSegments(t *testing.T) {
	mem := vfs.NewMem()
	s := openStore(t, Options{FS: mem, GenerationSize: 2 << 10, NoCompaction: true})
	wait(t, s, update(t, s, all(createKeys("k", 3), createTable("a"), createKeys("empty", 2))))
	for i := range int64(60) {
		wait(t, s, update(t, s, all(put("k", i, i, fmt.Sprint(i%7), "x"), put("a", i, fmt.Sprint(i%5)))))
	}
	must(t, s.Compact(t.Context(), nil))
	for i := range int64(20) {
		wait(t, s, update(t, s, all(put("k", 3*i, 100+i, "changed", "y"), remove("a", i))))
	}
	branch(t, s, "p")
	want := contentOf(t, s.Durable())
	b, err := s.cat.BranchPoint(t.Context(), "p")
	must(t, err)
	known, err := s.cat.HistoryOf(t.Context(), b.RepresentationID)
	must(t, err)
	if len(known.IndexState.Segments) < 5 {
		t.Fatalf("%d segments", len(known.IndexState.Segments))
	}
	wait(t, s, update(t, s, all(put("k", 1, 1000, "later", "z"), put("a", 30, "later"))))
	read := func(what string) {
		t.Helper()
		for _, segments := range []bool{true, false} {
			h := known
			if !segments {
				h.IndexState.Segments = nil
			}
			o := s.historyObjects()
			r, err := s.openPast(t.Context(), o, &h)
			must(t, err)
			for _, table := range r.tables {
				if err := table.Load(t.Context()); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			if got := contentOf(t, r.snapshot()); got != want {
				t.Errorf("%s:\n%s\nwant:\n%s", what, got, want)
			}
			verifyRoot(t, r)
			must(t, o.close())
		}
	}
	read("all segments")
	for _, g := range known.IndexState.Segments {
		data := readFile(t, mem, g.Path)
		change := func(what string, f func(file vfs.File)) {
			file, err := mem.Open(g.Path)
			must(t, err)
			f(file)
			read(fmt.Sprintf("segment of table %d, index %d: %s", g.TableID, g.IndexID, what))
			must(t, file.Truncate(int64(len(data))))
			_, err = file.WriteAt(data, 0)
			must(t, err)
			must(t, file.Close())
		}
		change("a bit", func(file vfs.File) {
			_, err := file.WriteAt([]byte{data[len(data)/2] ^ 1}, int64(len(data)/2))
			must(t, err)
		})
		change("half of it", func(file vfs.File) { must(t, file.Truncate(int64(len(data)/2))) })
	}
}
