package catalog

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// archived is the catalog of a store that a program of an earlier version made, and
// the states that it read of it.
func archived(t *testing.T, version int) (dir string, states []State) {
	t.Helper()
	dir = t.TempDir()
	unpack := func(name string) []byte {
		f, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := os.WriteFile(filepath.Join(dir, FileName), unpack(fmt.Sprintf("version%d.gz", version)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(unpack(fmt.Sprintf("version%d.json.gz", version)), &states); err != nil {
		t.Fatal(err)
	}
	return dir, states
}

// asRead is a state without what an earlier version did not read.
func asRead(s State) string {
	for i := range s.Base {
		f := &s.Base[i]
		f.FragmentIDs, f.Deleted, f.Live = nil, nil, nil
	}
	return fmt.Sprint(s)
}

// version2 is the catalog of a store of the second version: published and sealed
// generations in two shards, an attempt to publish, a running job and an object
// that was claimed by hand.
func version2(t *testing.T) (dir string, s State) {
	t.Helper()
	dir, states := archived(t, 2)
	return dir, states[0]
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
			if c.Info().Version != 6 {
				t.Errorf("version %d", c.Info().Version)
			}
			if _, err := os.Stat(filepath.Join(dir, CopyName(2))); err != nil {
				t.Errorf("no copy of what was: %v", err)
			}
			l := newLog(t, c)
			if s := l.stateNow(); asRead(s) != asRead(before) || s.BaseLSN != 0 || s.Base != nil {
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
