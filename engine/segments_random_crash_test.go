package engine

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// on puts a run on a file system: it keeps copies of the catalog while a crash is to
// come.
func (r *catchupRun) on(mem *vfs.Mem) {
	r.mem, r.o.FS = mem, mem
	r.at, r.tables = map[rowName]recordPlace{}, map[int64]map[TableID]bool{}
	r.cats = newCatalogs(r.t, mem)
	r.cats.dir = r.o.Dir
	watched, keep := new(atomic.Bool), r.cats.seam()
	r.watched = watched
	r.o.CatalogSeam = &catalog.Seam{Commit: func(name string, commit func() error) error {
		if !watched.Load() {
			return commit()
		}
		return keep.Commit(name, commit)
	}}
}

// watch begins with what a crash may leave, and returns the first file operation it can
// come behind.
func (r *catchupRun) watch() int {
	r.cats.mu.Lock()
	for _, c := range r.cats.list {
		must(r.t, os.Remove(c.file))
	}
	r.cats.list = nil
	r.cats.mu.Unlock()
	r.watched.Store(true)
	must(r.t, r.o.CatalogSeam.Commit("now", func() error { return nil }))
	r.states, r.acks = map[LSN]committed{}, nil
	r.note(r.s.Durable().LSN())
	return r.mem.Ops()
}

// crash does something, has a crash come at one of its file operations, and opens what
// that leaves: all that was acknowledged is there, and the rules hold. In half of the
// cases the program goes on there.
func (r *catchupRun) crash() string {
	t := r.t
	first := r.watch()
	for range 1 + r.rng.IntN(4) {
		what, undone := r.step()
		r.did[what]++
		r.rules(undone)
	}
	r.watched.Store(false)
	n := first + r.rng.IntN(r.mem.Ops()-first+1)
	which, name, img := r.rng.IntN(12), "", (*vfs.Mem)(nil)
	for k, m := range r.mem.CrashImages(n, vfs.CrashOptions{Seed: r.rng.Uint64(), Mixtures: 4, Max: 2}) {
		name, img = k, m
		if which--; which < 0 {
			break
		}
	}
	acked := LSN(0)
	for _, a := range r.acks {
		if a.op <= n {
			acked = max(acked, a.lsn)
		}
	}
	o := r.o
	dir, remove := restore(t, r.cats.at(n))
	t.Cleanup(remove)
	o.Dir = dir
	img.SetJournalLimit(64 << 20)
	c := &catchupRun{t: t, rng: r.rng, o: o, ever: r.ever, did: r.did, past: map[string]string{}, made: r.made}
	c.on(img)
	c.open()
	lsn := c.s.Durable().LSN()
	left, known := r.states[lsn]
	where := fmt.Sprintf("operation %d of %d…%d, image %q, commit %d", n, first, r.mem.Ops(), name, lsn)
	if !known || lsn < acked {
		t.Fatalf("I8: %s: acknowledged was %d", where, acked)
	}
	c.rows, c.at = left.rows, left.at
	if got := c.stored(); got != left.content {
		t.Fatalf("I8: %s:\n%s\nwant:\n%s", where, got, left.content)
	}
	r.states, r.acks = nil, nil
	c.rules(true)
	list, err := c.s.BranchPoints(t.Context())
	must(t, err)
	for _, b := range list {
		snap, err := c.s.At(t.Context(), b.Name)
		must(t, err)
		if got := c.storedIn(snap); got != c.ever[b.Name] {
			t.Fatalf("%s, branch point %s:\n%s\nwant:\n%s", where, b.Name, got, c.ever[b.Name])
		}
		c.past[b.Name] = c.ever[b.Name]
	}
	checkStore(t, c.s)
	if t.Failed() {
		t.Fatal(where)
	}
	if r.rng.IntN(2) == 0 {
		must(t, c.s.Compact(t.Context(), nil))
		must(t, indexJob(c.s, ""))
		c.rules(false)
		if got := c.stored(); got != left.content {
			t.Fatalf("%s, compacted:\n%s\nwant:\n%s", where, got, left.content)
		}
		caughtUp(t, c.s)
		checkStore(t, c.s)
		must(t, c.s.Close())
		return "crash"
	}
	must(t, r.s.Close())
	r.o, r.s, r.rows, r.past = c.o, c.s, c.rows, c.past
	r.mem, r.cats, r.watched, r.at, r.tables, r.before = c.mem, c.cats, c.watched, c.at, c.tables, c.before
	r.ix = nil
	for _, def := range r.s.Durable().Schema().Tables() {
		for _, ix := range def.Indexes {
			if strings.Contains(ix.Name, "_i") {
				r.ix = append(r.ix, ix.Name)
			}
		}
	}
	return "crash and on"
}
