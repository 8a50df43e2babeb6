package catalog

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// version1 is the catalog of a store that the first version made: several sealed
// generations in each of three shards.
func version1(t *testing.T) (dir string) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "engine", "testdata", "store-shards-1.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	archive := tar.NewReader(z)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			t.Fatal("the archive has no catalog")
		}
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(h.Name) != FileName {
			continue
		}
		b, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, FileName), b, 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
}

// TestMigrationFromVersion1 opens a store of the first version, publishes all it
// has sealed, and interrupts the migration at its commit.
func TestMigrationFromVersion1(t *testing.T) {
	ctx := t.Context()
	for _, mode := range []string{"", "before", "after"} {
		dir := version1(t)
		if mode != "" {
			fault := &seamAt{n: 1, mode: mode}
			_, err := Open(ctx, Options{Dir: dir, Fault: fault.seam()})
			if !errors.Is(err, errInjected) || fault.seen[0] != "migrate-2" {
				t.Fatalf("%v, commits %v", err, fault.seen)
			}
		}
		c := openStore(t, Options{Dir: dir})
		if c.Info().Version != 6 {
			t.Errorf("version %d", c.Info().Version)
		}
		if _, err := os.Stat(filepath.Join(dir, CopyName(1))); err != nil {
			t.Errorf("no copy of what was: %v", err)
		}
		if n := one64(t, c, `SELECT max_representation_entries FROM catalog_info`); n != maxEntries {
			t.Errorf("at most %d entries", n)
		}
		s, err := c.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.ResolvePublications(ctx); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		p := Publication{TimelineID: s.Timeline.ID, ExpectedRevision: s.Timeline.Revision, ExpectedRepresentation: s.Timeline.RepresentationID, Fingerprint: emptySum}
		for _, g := range s.Generations {
			if g.InHead || g.Registered {
				t.Errorf("generation: %+v", g)
			}
			if g.State == GenerationSealed {
				p.Generations = append(p.Generations, Contribution{ShardGeneration{g.ShardID, g.Generation}, g.Fingerprint})
				p.Fingerprint = mustAdd(t, p.Fingerprint, g.Fingerprint)
				p.LSN = max(p.LSN, g.LastLSN)
			}
		}
		if len(p.Generations) < 3 {
			t.Fatalf("only %d sealed generations", len(p.Generations))
		}
		if err := publishOnce(ctx, c, p); err != nil {
			t.Fatal(err)
		}
		after, err := c.State(ctx)
		if err != nil || after.Timeline.Revision != 1 || after.Timeline.LSN != p.LSN {
			t.Errorf("%+v, %v", after.Timeline, err)
		}
		for _, g := range after.Generations {
			if g.InHead != (g.State == GenerationSealed) {
				t.Errorf("generation: %+v", g)
			}
		}
		if got, want := fmt.Sprint(after.Settings), fmt.Sprint(s.Settings); got != want {
			t.Errorf("settings %s, were %s", got, want)
		}
	}
}

// TestReadOnlyDoesNotMigrate: a store of the first version stays one.
func TestReadOnlyDoesNotMigrate(t *testing.T) {
	dir := version1(t)
	before := fileBytes(t, dir)
	_, err := Open(t.Context(), Options{Dir: dir, ReadOnly: true})
	if !errors.Is(err, ErrOlder) {
		t.Error(err)
	}
	if fileBytes(t, dir) != before {
		t.Error("the file changed")
	}
}
