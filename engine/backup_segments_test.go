package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A backup leaves out index segments that cannot be read: what is restored from it is
// the store, claims nothing that the segments which are left do not hold, and its next
// index job writes what is missing.
func TestBackupOfDamagedSegments(t *testing.T) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	var told []string
	s := openStore(t, Options{FS: fault, GenerationSize: 4 << 10, NoCompaction: true, Events: func(e Event) {
		if e.Kind == EventSegmentLeftOut {
			told = append(told, e.File)
		}
	}})
	wait(t, s, update(t, s, all(createKeys("k", 3), createTable("a"), manyRows("k", 60, "k"), manyRows("a", 60, "a"))))
	wait(t, s, update(t, s, createIndex("a", "a_c0", 0)))
	must(t, s.Compact(t.Context(), nil))
	_, err := s.CreateBranchPoint(t.Context(), "bp")
	must(t, err)
	b, err := s.cat.BranchPoint(t.Context(), "bp")
	must(t, err)
	past, err := s.cat.HistoryOf(t.Context(), b.RepresentationID)
	must(t, err)
	// Each index gets other segments at the head, and one of them two.
	wait(t, s, update(t, s, all(manyRows("k", 50, "other"), manyRows("a", 50, "other"))))
	must(t, s.Compact(t.Context(), nil))
	wait(t, s, update(t, s, all(put("a", 1000, 1000, "one more"), put("k", 1000, 1000, "one", "more"))))
	must(t, s.Compact(t.Context(), nil))
	wait(t, s, update(t, s, put("k", 1, 1, "behind", "the base")))
	head := stateOf(t, s).IndexState
	atHead := map[int64]bool{}
	list := append([]catalog.Segment(nil), head.Segments...)
	for _, g := range head.Segments {
		atHead[g.ObjectID] = true
	}
	for _, g := range past.IndexState.Segments {
		if !atHead[g.ObjectID] {
			list = append(list, g)
		}
	}
	if len(list) == len(head.Segments) || len(head.Segments) < 5 {
		t.Fatalf("%d segments, %d of them at the head", len(list), len(head.Segments))
	}
	want, branch := dump(s.Durable()), branchDump(t, s)

	var unreadable []string
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind&(vfs.OpOpenRead|vfs.OpRead) != 0 && slices.Contains(unreadable, op.Name) {
			return syscall.EIO
		}
		return nil
	})
	damages := []struct {
		what   string
		damage func(g *catalog.Segment)
	}{
		{"a bit", func(g *catalog.Segment) { flipAt(t, mem, g.Path, g.Extent/2) }},
		{"cut off", func(g *catalog.Segment) { resize(t, mem, g.Path, g.Extent-8) }},
		{"missing", func(g *catalog.Segment) { must(t, mem.Remove(g.Path)) }},
		{"empty", func(g *catalog.Segment) { resize(t, mem, g.Path, 0) }},
		{"unreadable", func(g *catalog.Segment) { unreadable = append(unreadable, g.Path) }},
	}
	folder := t.TempDir()
	try := func(name string, bad ...catalog.Segment) {
		t.Run(name, func(t *testing.T) {
			backup, to := filepath.Join(folder, name), filepath.Join(folder, name+"-restored")
			told = nil
			var last, total int64
			must(t, s.Backup(t.Context(), backup, func(d, n int64) { last, total = d, n }))
			if last != total {
				t.Errorf("progress %d of %d", last, total)
			}
			gone, indexes := map[int64]bool{}, map[int64]bool{}
			for i := range bad {
				gone[bad[i].ObjectID] = true
				if atHead[bad[i].ObjectID] {
					indexes[bad[i].IndexID] = true
				}
				if _, err := os.Stat(filepath.Join(backup, bad[i].Path)); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s is in the backup: %v", bad[i].Path, err)
				}
				if !strings.Contains(strings.Join(told, " "), bad[i].Path) {
					t.Errorf("nothing told of %s", bad[i].Path)
				}
			}
			if len(told) != len(bad) {
				t.Errorf("told of %s", told)
			}
			must(t, Restore(t.Context(), backup, to, nil))
			r := openRestored(t, Options{Dir: to, NoCompaction: true, Events: func(e Event) {
				if e.Kind == EventSegmentDamaged {
					t.Errorf("%v", e)
				}
			}})
			if got := dump(r.Durable()); got != want {
				t.Errorf("restored\n%s\nwant\n%s", got, want)
			}
			if got := branchDump(t, r); got != branch {
				t.Errorf("the branch point is\n%s\nwant\n%s", got, branch)
			}
			now := stateOf(t, r).IndexState
			rb, err := r.cat.BranchPoint(t.Context(), "bp")
			must(t, err)
			then, err := r.cat.HistoryOf(t.Context(), rb.RepresentationID)
			must(t, err)
			for _, g := range append(now.Segments, then.IndexState.Segments...) {
				if gone[g.ObjectID] {
					t.Errorf("%s is named", g.Path)
				}
			}
			if n := len(head.Segments); len(now.Segments) != n-countIn(gone, atHead) {
				t.Errorf("%d segments at the head, %d of %d are damaged", len(now.Segments), countIn(gone, atHead), n)
			}
			position := map[int64]bool{}
			for _, p := range now.CaughtUp {
				position[p.IndexID] = true
			}
			for _, p := range head.CaughtUp {
				if position[p.IndexID] == indexes[p.IndexID] {
					t.Errorf("index %d has a position: %t, lost a segment: %t", p.IndexID, position[p.IndexID], indexes[p.IndexID])
				}
			}
			verifyRoot(t, (*root)(r.Durable()))
			must(t, r.Index(t.Context(), "", nil))
			caughtUp(t, r)
			checkStore(t, r)
		})
	}
	// Each kind of damage, on segments of heads and of the branch point; then all at once.
	for j, d := range damages {
		var bad []catalog.Segment
		data := map[string][]byte{}
		for i := j; i < len(list); i += len(damages) {
			g := &list[i]
			bad = append(bad, *g)
			data[g.Path] = readFile(t, mem, g.Path)
		}
		for i := range bad {
			d.damage(&bad[i])
		}
		try(d.what, bad...)
		unreadable = nil
		for name, text := range data {
			_ = mem.Remove(name) // it may be missing
			f, err := mem.Create(name)
			must(t, err)
			must(t, f.Close())
			writeFile(t, mem, name, text)
		}
	}
	for i := range list {
		damages[i%4].damage(&list[i])
	}
	try("all", list...)
	// Where they are in use, the next index job writes them anew.
	must(t, s.Index(t.Context(), "", nil))
	for _, g := range stateOf(t, s).IndexState.Segments {
		if atHead[g.ObjectID] {
			t.Errorf("%s is still in the head", g.Path)
		}
	}
	must(t, s.DeleteBranchPoint(t.Context(), "bp"))
	checkStore(t, s)
}

// countIn counts what is in both sets.
func countIn(a, b map[int64]bool) (n int) {
	for k := range a {
		if b[k] {
			n++
		}
	}
	return n
}
