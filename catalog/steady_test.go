package catalog

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
)

var cycles = flag.Int("cycles", 20, "cycles of TestCatalogStaysSmallInUse behind the first, in each of which four generations come and go")

// tables counts the rows of every table of the catalog.
func tables(t *testing.T, c *Catalog) map[string]int64 {
	t.Helper()
	var names []string
	if err := c.reads.SelectContext(t.Context(), &names, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, name := range names {
		counts[name] = one64(t, c, `SELECT count(*) FROM "`+name+`"`)
	}
	return counts
}

// TestCatalogStaysSmallInUse goes through what a store does all the time: generations
// are published and compacted, branch points, timelines and pins come and go, files are
// collected. Nothing is left of it but what is kept to be read, up to its limits, and
// the identities that must never be used again.
func TestCatalogStaysSmallInUse(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{Shards: 1})
	l := newLog(t, c)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.OpenSession(ctx, someProcess)
	must(err)
	collected, version := 0, int64(0)
	cut := func(n int) Publication {
		p := l.publication(l.rotateMany(n)...)
		p.Schema.SchemaVersion = version
		return p
	}
	cycle := func(i int) {
		l.adoptAndRetire(cut(3))
		head := l.stateNow().Timeline
		b, err := c.CreateBranchPoint(ctx, fmt.Sprint("point ", i), head)
		must(err)
		line := fmt.Sprint("line ", i)
		_, err = c.Fork(ctx, ForkRequest{Name: line, BranchPoint: b.Name})
		must(err)
		pin, err := c.Pin(ctx, s.ID, head.RepresentationID, nil)
		must(err)
		l.adoptAndRetire(cut(1))
		l.publishBase(l.stateNow().Timeline, l.compact(l.lsn, 2))
		if i%2 == 1 {
			version++
			p := cut(1)
			must(l.prepare(p).Abandon(ctx)) // one that comes to nothing
			l.adoptAndRetire(p)
		}
		must(c.Unpin(ctx, pin.OwnerID))
		must(c.DropTimeline(ctx, line))
		must(c.DeleteBranchPoint(ctx, b.Name))
		collected += collectAll(t, c)
	}
	const first = keptAttempts/5 + 10 // by then the limits that are not of jobs are reached
	for i := range first {
		cycle(i)
	}
	settled, before, gone := tables(t, c), pagesBut(t, c, "identity_tombstones"), collected
	for i := range *cycles &^ 1 {
		cycle(first + i)
	}
	now := tables(t, c)
	// A job for each compaction, with its owner: up to the limit, and the newest.
	jobs := min(int64(*cycles&^1), max(0, keptJobs+1-settled["jobs"]))
	for _, table := range slices.Sorted(maps.Keys(now)) {
		more := int64(0)
		switch table {
		case "identity_tombstones":
			more = int64(collected - gone)
		case "jobs", "owners":
			more = jobs
		}
		if now[table] != settled[table]+more {
			t.Errorf("%s has %d rows, %d before; %d more are expected", table, now[table], settled[table], more)
		}
	}
	if collected-gone < 4*(*cycles) {
		t.Errorf("%d files were collected in %d cycles", collected-gone, *cycles)
	}
	after := pagesBut(t, c, "identity_tombstones")
	t.Logf("%d files collected; without their identities %d pages after %d cycles and %d at the end", collected, before, first, after)
	// What jobs take, and half a page more in each tree.
	if most := before + before/2 + jobs/4; after > most {
		t.Errorf("%d pages, %d before, not more than %d are expected", after, before, most)
	}
}

// pagesBut counts the pages of the database without those of a table and its indexes.
func pagesBut(t *testing.T, c *Catalog, table string) int64 {
	t.Helper()
	return one64(t, c, `SELECT count(*) FROM dbstat WHERE name NOT IN (SELECT name FROM sqlite_schema WHERE tbl_name = ?)`, table) +
		one64(t, c, `SELECT * FROM pragma_freelist_count`)
}
