package catalog

import (
	"context"
	"flag"
	"fmt"
	"testing"
)

var publications = flag.Int("publications", keptAttempts+30, "publications of TestCatalogStaysSmall")

// TestCatalogStaysSmall publishes one generation after another: but for the rows
// of the generations themselves, what is in the catalog does not grow.
func TestCatalogStaysSmall(t *testing.T) {
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	described := []string{"schema_contexts", "worlds", "index_states", "representations", "representation_chunks", "owners", "owner_representations",
		"owner_objects", "owner_blobs", "operations", "publication_attempts", "timelines", "shards"}
	counts := func() map[string]int64 {
		m := map[string]int64{}
		for _, table := range described {
			m[table] = one64(t, c, `SELECT count(*) FROM `+table)
		}
		return m
	}
	head := l.state.Timeline
	var settled map[string]int64
	for i := range *publications {
		p := l.cut(head, l.rotateMany(1)...)
		// every third cut has another schema
		p.Schema.SchemaVersion = int64(i / 3)
		head = l.adoptAndRetire(p)
		if i == keptAttempts+10 {
			settled = counts()
		}
	}
	now := counts()
	// Chunk references: one for every 256 entries.
	if refs := int64(*publications+chunkEntries-1) / chunkEntries; now["representation_chunks"] != refs {
		t.Errorf("%d chunk references for %d entries", now["representation_chunks"], *publications)
	}
	settled["representation_chunks"] = now["representation_chunks"]
	if fmt.Sprint(now) != fmt.Sprint(settled) {
		t.Errorf("rows grew from %v to %v", settled, now)
	}
	if now["representations"] != 1 || now["worlds"] != 1 || now["publication_attempts"] != keptAttempts || now["operations"] != keptAttempts || now["owners"] != keptAttempts+1 {
		t.Errorf("rows: %v", now)
	}
	// It is the newest that are kept.
	if n := one64(t, c, `SELECT min(expected_revision) FROM publication_attempts`); n != int64(*publications-keptAttempts) {
		t.Errorf("the oldest attempt kept expected revision %d", n)
	}
	if *publications > 1000 {
		var sizes []struct {
			Name  string `db:"name"`
			Bytes int64  `db:"bytes"`
		}
		if err := c.reads.SelectContext(t.Context(), &sizes, `SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name HAVING bytes > 16384 ORDER BY bytes DESC`); err != nil {
			t.Log(err)
		}
		t.Logf("pages: %d, sizes: %v", one64(t, c, `SELECT * FROM pragma_page_count`), sizes)
	}
}

func (l *log) adoptAndRetire(p Publication) Timeline {
	l.t.Helper()
	a := l.adopt(p)
	if err := a.Retire(context.Background()); err != nil {
		l.t.Fatal(err)
	}
	return a.Head
}

// TestRetainedIsNotPruned: a representation that somebody retains stays, with its
// world and its part of the chunks, whatever the timeline does.
func TestRetainedIsNotPruned(t *testing.T) {
	dir := makeStore(t, Options{})
	c := openStore(t, Options{Dir: dir})
	l := newLog(t, c)
	old := l.publish(l.rotateMany(2)...).Head
	db := shell(t, dir)
	for _, s := range []string{
		fmt.Sprintf(`INSERT INTO owners(owner_id, kind) VALUES (%d, 'round')`, fixFree),
		fmt.Sprintf(`INSERT INTO owner_representations VALUES (%d, %d)`, fixFree, old.RepresentationID),
	} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		l.publish(l.rotateMany(1)...)
	}
	if n := one64(t, c, `SELECT count(*) FROM representation_entries WHERE representation_id = ?`, old.RepresentationID); n != 2 {
		t.Errorf("%d entries of the retained representation", n)
	}
	if n := one64(t, c, `SELECT count(*) FROM worlds WHERE world_id = ?`, old.WorldID); n != 1 {
		t.Error("its world is gone")
	}
	if n := one64(t, c, `SELECT count(*) FROM representations`); n != 2 {
		t.Errorf("%d representations", n)
	}
	if n := one64(t, c, `SELECT count(*) FROM live_object_roots WHERE owner_id = ?`, fixFree); n != 2 {
		t.Errorf("%d objects retained", n)
	}
	// What it retains cannot be claimed, nor what only the head does.
	for _, generation := range []int{1, 2, 5} {
		_, err := db.ExecContext(t.Context(), fmt.Sprintf(`UPDATE objects SET state = 'gc_claimed', lifecycle_revision = lifecycle_revision + 1
			WHERE object_id = (SELECT object_id FROM generations WHERE generation = %d)`, generation))
		if err == nil || guardCode(err.Error()) != CodeGC {
			t.Errorf("generation %d: %v", generation, err)
		}
	}
}

// TestProjectedSchemaIsNotPruned: the context of the schema that tables and
// indexes show stays when a candidate that had it goes, and the one before goes
// when no head has it.
func TestProjectedSchemaIsNotPruned(t *testing.T) {
	ctx := t.Context()
	c, _ := newStore(t, Creation{})
	l := newLog(t, c)
	old := Projection{SchemaVersion: 1} // all tables dropped: no row of tables refers to it
	now := Projection{SchemaVersion: 2}
	gens := l.rotateMany(2)
	p := l.publication(gens[0])
	p.Schema, p.LSN, p.Fingerprint = old, 1, p.Generations[0].Sum
	head := l.adoptAndRetire(p)
	if err := c.ProjectSchema(ctx, now); err != nil {
		t.Fatal(err)
	}
	p = l.cut(head, gens[1])
	p.Schema = now
	if err := l.prepare(p).Abandon(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.CheckProjection(ctx, now, func(text string) { t.Error(text) }); err != nil {
		t.Fatal(err)
	}
	l.adoptAndRetire(p)
	if n := one64(t, c, `SELECT count(*) FROM schema_contexts`); n != 1 {
		t.Errorf("%d contexts", n)
	}
}
