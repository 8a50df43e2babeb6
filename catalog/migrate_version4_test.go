package catalog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// version4 is the catalog of a store of the fourth version: a base, a branch point, a
// session with a pin, a fork that has not gone on, and a running job.
func version4(t *testing.T) (dir string, main, child State) {
	t.Helper()
	dir, states := archived(t, 4)
	return dir, states[0], states[1]
}

// TestMigrationFromVersion4 opens a store of the fourth version, interrupts the
// migration at its commit, and then does what that version could not.
func TestMigrationFromVersion4(t *testing.T) {
	ctx := t.Context()
	for _, mode := range []string{"", "before", "after"} {
		t.Run("interrupted "+mode, func(t *testing.T) {
			dir, main, child := version4(t)
			if mode != "" {
				fault := &seamAt{n: 1, mode: mode}
				_, err := Open(ctx, Options{Dir: dir, Fault: fault.seam()})
				if !errors.Is(err, errInjected) || fault.seen[0] != "migrate-5" {
					t.Fatalf("%v, commits %v", err, fault.seen)
				}
			}
			c := openStore(t, Options{Dir: dir})
			if c.Info().Version != 6 {
				t.Errorf("version %d", c.Info().Version)
			}
			if _, err := os.Stat(filepath.Join(dir, CopyName(4))); err != nil {
				t.Errorf("no copy of what was: %v", err)
			}
			if n, err := c.AbandonJobs(ctx); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			l, f := newLog(t, c), newLogOf(t, c, "child")
			if asRead(l.stateNow()) != asRead(main) || asRead(f.stateNow()) != asRead(child) {
				t.Errorf("states %+v, %+v\nwere %+v, %+v", l.stateNow(), f.stateNow(), main, child)
			}
			base := l.merge(2).Base
			checkMergeRows(t, c, 1, 1)
			if got := f.adoptShared().Base; fmt.Sprint(got) != fmt.Sprint(base) {
				t.Errorf("%+v, want %+v", got, base)
			}
			checkMergeRows(t, c, 0, 0)
			if n := collectAll(t, c); n != 4 {
				t.Errorf("%d collected, want the base before and one cut of two shards", n)
			}
		})
	}
}
