package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/tidemarkdb/tidemark/migrations"
)

// upTo is the embedded migrations up to a version.
func upTo(t *testing.T, version int) fs.FS {
	t.Helper()
	names, err := fs.Glob(migrations.Files(), "*.sql")
	if err != nil || len(names) < version {
		t.Fatal(names, err)
	}
	files := fstest.MapFS{}
	for _, name := range names[:version] {
		b, err := fs.ReadFile(migrations.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: b}
	}
	return files
}

// version2 is the catalog of a store of the second version: published and sealed
// generations in two shards, an attempt to publish, a running job and an object
// that was claimed by hand.
func version2(t *testing.T) (dir string, s State) {
	t.Helper()
	ctx := t.Context()
	dir = t.TempDir()
	c, err := Open(ctx, Options{Dir: dir, Create: true, files: upTo(t, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(ctx, Creation{Shards: 2}); err != nil {
		t.Fatal(err)
	}
	l := newLog(t, c)
	l.publish(l.rotate()...)
	l.publish(l.rotate()...)
	next := l.rotate()
	if err := c.Register(ctx, next...); err != nil {
		t.Fatal(err)
	}
	l.begin(l.publication(next...))
	if _, err := c.StartJob(ctx, "compact", ""); err != nil {
		t.Fatal(err)
	}
	s = l.stateNow()
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, `UPDATE catalog_info SET next_incarnation = 50`, object(fixFree, "kv", 40, ""), objectUpdate(fixFree, "state = 'gc_claimed'"))
	return dir, s
}

// TestMigrationFromVersion2 opens a store of the second version, interrupts the
// migration at its commit, and then compacts and collects.
func TestMigrationFromVersion2(t *testing.T) {
	ctx := t.Context()
	for _, mode := range []string{"", "before", "after"} {
		t.Run("interrupted "+mode, func(t *testing.T) {
			dir, before := version2(t)
			if mode != "" {
				fault := &seamAt{n: 1, mode: mode}
				_, err := Open(ctx, Options{Dir: dir, Fault: fault.seam()})
				if !errors.Is(err, errInjected) || fault.seen[0] != "migrate-3" {
					t.Fatalf("%v, commits %v", err, fault.seen)
				}
			}
			c := openStore(t, Options{Dir: dir})
			if c.Info().Version != 5 {
				t.Errorf("version %d", c.Info().Version)
			}
			if _, err := os.Stat(filepath.Join(dir, CopyName(2))); err != nil {
				t.Errorf("no copy of what was: %v", err)
			}
			l := newLog(t, c)
			if s := l.stateNow(); fmt.Sprint(s) != fmt.Sprint(before) || s.BaseLSN != 0 || s.Base != nil {
				t.Errorf("state %+v, was %+v", s, before)
			}
			if n, err := c.ResolvePublications(ctx); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			if n, err := c.AbandonJobs(ctx); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			// What was claimed is to be unlinked, and can be recorded.
			list, err := c.Garbage(ctx, 10)
			if err != nil || len(list) != 1 || list[0].ID != fixFree || list[0].State != "gc_claimed" {
				t.Errorf("garbage %+v, %v", list, err)
			}
			if n := collectAll(t, c); n != 1 {
				t.Errorf("%d collected", n)
			}
			var gens []ShardGeneration
			for _, g := range l.stateNow().Generations {
				if g.State == GenerationSealed && !g.InHead {
					gens = append(gens, ShardGeneration{g.ShardID, g.Generation})
				}
			}
			l.reload()
			l.publish(gens...)
			l.publishBase(l.stateNow().Timeline, l.compact(2, 2))
			if n := collectAll(t, c); n != 4 {
				t.Errorf("%d collected", n)
			}
			if s := l.stateNow(); s.BaseLSN != 2 || len(s.Base) != 2 || s.Generations[0].Generation != 3 || !s.Generations[0].InHead {
				t.Errorf("%+v", s)
			}
		})
	}
}
