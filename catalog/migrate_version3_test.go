package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// version3 is the catalog of a store of the third version: a base with a
// generation behind it, garbage, an attempt to publish and a running job.
func version3(t *testing.T) (dir string, s State) {
	t.Helper()
	dir, states := archived(t, 3)
	return dir, states[0]
}

// TestMigrationFromVersion3 opens a store of the third version, interrupts the
// migration at its commit, and then does what that version could not.
func TestMigrationFromVersion3(t *testing.T) {
	ctx := t.Context()
	for _, mode := range []string{"", "before", "after"} {
		t.Run("interrupted "+mode, func(t *testing.T) {
			dir, before := version3(t)
			if mode != "" {
				fault := &seamAt{n: 1, mode: mode}
				_, err := Open(ctx, Options{Dir: dir, Fault: fault.seam()})
				if !errors.Is(err, errInjected) || fault.seen[0] != "migrate-4" {
					t.Fatalf("%v, commits %v", err, fault.seen)
				}
			}
			c := openStore(t, Options{Dir: dir})
			if c.Info().Version != 6 {
				t.Errorf("version %d", c.Info().Version)
			}
			if _, err := os.Stat(filepath.Join(dir, CopyName(3))); err != nil {
				t.Errorf("no copy of what was: %v", err)
			}
			l := newLog(t, c)
			if s := l.stateNow(); asRead(s) != asRead(before) || s.BaseLSN != 1 {
				t.Errorf("state %+v, was %+v", s, before)
			}
			if n, err := c.ResolvePublications(ctx); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			if n, err := c.AbandonJobs(ctx); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			b, err := c.CreateBranchPoint(ctx, "b", l.stateNow().Timeline)
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.OpenSession(ctx, someProcess)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Pin(ctx, s.ID, b.RepresentationID, nil); err != nil {
				t.Fatal(err)
			}
			if n := collectAll(t, c); n != 2 {
				t.Errorf("%d collected", n)
			}
			if h, err := c.HistoryOf(ctx, b.RepresentationID); err != nil || h.BaseLSN != 1 || len(h.Generations) != 2 {
				t.Errorf("%+v, %v", h, err)
			}
			if err := errors.Join(c.DeleteBranchPoint(ctx, "b"), c.CloseSession(ctx, s.ID)); err != nil {
				t.Error(err)
			}
		})
	}
}
