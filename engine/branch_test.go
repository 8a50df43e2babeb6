package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// contentOf is the content of a state by rows and index scans, whatever its tables are resident as.
func contentOf(t testing.TB, s *Snapshot) string {
	t.Helper()
	var b strings.Builder
	for _, o := range s.Schema().Objects() {
		fmt.Fprintf(&b, "%s %s on %s: %s\n", o.Kind, o.Name, o.TblName, o.SQL)
		if o.Kind != KindTable {
			continue
		}
		table := s.Table(o.Table.ID)
		if !o.Table.Durable {
			continue
		}
		fmt.Fprintf(&b, "%d rows, version %d\n", table.Len(), o.Table.Version)
		for _, e := range allRows(t, table) {
			fmt.Fprintf(&b, "%d %x\n", e.Rowid, string(e.Rec))
		}
		for i, ix := range o.Table.Indexes {
			fmt.Fprintf(&b, "index %s:", ix.Name)
			for _, e := range drain(t, table.IndexScan(i, "", "", false), 7) {
				fmt.Fprintf(&b, " %d %x", e.Rowid, string(e.Rec))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func at(t testing.TB, s *Store, name string) *Snapshot {
	t.Helper()
	snap, err := s.At(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func branch(t testing.TB, s *Store, name string) catalog.BranchPoint {
	t.Helper()
	b, err := s.CreateBranchPoint(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// collectGarbage makes the collector of garbage find out what nobody refers to any more.
func collectGarbage() {
	for range 3 {
		runtime.GC()
	}
}

// A branch point, then 100 updates and 10 compactions: reading it equals what was
// there at the cut, and deleting it frees exactly what nobody else reaches.
func TestBranchPoint(t *testing.T) { overShards(t, branchPointAndCompactions) }

func branchPointAndCompactions(t *testing.T, shards int) {
	mem := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: mem, Shards: shards, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := openStore(t, o)
	wait(t, s, update(t, s, all(createKeys("k", 3), createTable("a"))))
	for i := range int64(40) {
		wait(t, s, update(t, s, all(put("k", i, i, "x", strings.Repeat("y", int(i))), put("a", i, i%7, strings.Repeat("z", 50)))))
	}
	want := contentOf(t, s.Durable())
	b := branch(t, s, "bp")
	if b.LSN != int64(s.Durable().LSN()) || b.Name != "bp" {
		t.Errorf("branch point %+v of commit %d", b, s.Durable().LSN())
	}
	for i := range int64(100) {
		f := put("k", i%50, -i, "new", "n")
		if i%9 == 0 {
			f = remove("a", i/9)
		}
		wait(t, s, update(t, s, f))
		if i%10 == 0 {
			must(t, s.Compact(t.Context(), nil))
		}
	}
	now := contentOf(t, s.Durable())
	if got := contentOf(t, at(t, s, "bp")); got != want {
		t.Errorf("at the branch point:\n%s\nwant:\n%s", got, want)
	}
	verifyRoot(t, (*root)(at(t, s, "bp")))
	must(t, s.Close())
	s = openStore(t, o)
	if got := contentOf(t, at(t, s, "bp")); got != want {
		t.Errorf("at the branch point after a reopen:\n%s\nwant:\n%s", got, want)
	}
	if got := contentOf(t, s.Durable()); got != now {
		t.Errorf("now:\n%s\nwant:\n%s", got, now)
	}
	must(t, s.DeleteBranchPoint(t.Context(), "bp"))
	if _, err := s.At(t.Context(), "bp"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("at a branch point that was deleted: %v", err)
	}
	eventually(t, "the files of the branch point to go", func() bool {
		collectGarbage()
		s.compactor.signal()
		return len(objectsOnDisk(t, mem)) == len(needed(t, s))
	})
	if got := contentOf(t, s.Durable()); got != now {
		t.Errorf("now:\n%s\nwant:\n%s", got, now)
	}
}

// needed are the files of the head and of the log behind it.
func needed(t testing.TB, s *Store) map[string]bool {
	t.Helper()
	state, err := s.cat.State(context.Background())
	must(t, err)
	list := map[string]bool{}
	for _, b := range state.Base {
		list[b.Path] = true
	}
	for _, g := range state.IndexState.Segments {
		list[g.Path] = true
	}
	for _, g := range state.Retained {
		list[g.Path] = true
	}
	for _, g := range state.Generations {
		if g.State == catalog.GenerationOpen || g.InHead {
			list[g.Path] = true
		}
	}
	return list
}
