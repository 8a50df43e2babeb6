package catalog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestMigrationFromVersion5 opens a store of the fifth version, whose base a fork waits
// for, interrupts the migration at its commit, and then does what that version could
// not: a base that keeps the files of the first, and indexes on it.
func TestMigrationFromVersion5(t *testing.T) {
	ctx := t.Context()
	for _, mode := range []string{"", "before", "after"} {
		t.Run("interrupted "+mode, func(t *testing.T) {
			dir, states := archived(t, 5)
			if mode != "" {
				fault := &seamAt{n: 1, mode: mode}
				_, err := Open(ctx, Options{Dir: dir, Fault: fault.seam()})
				if !errors.Is(err, errInjected) || fault.seen[0] != "migrate-6" {
					t.Fatalf("%v, commits %v", err, fault.seen)
				}
			}
			c := openStore(t, Options{Dir: dir})
			if c.Info().Version != 6 {
				t.Errorf("version %d", c.Info().Version)
			}
			if _, err := os.Stat(filepath.Join(dir, CopyName(5))); err != nil {
				t.Errorf("no copy of what was: %v", err)
			}
			if n, err := c.AbandonJobs(ctx); n != 1 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			l, f := newLog(t, c), newLogOf(t, c, "child")
			if asRead(l.stateNow()) != asRead(states[0]) || asRead(f.stateNow()) != asRead(states[1]) {
				t.Errorf("states %+v, %+v\nwere %+v, %+v", l.stateNow(), f.stateNow(), states[0], states[1])
			}
			s := l.stateNow()
			for _, b := range s.Base {
				for j := range b.Fragments {
					if b.Deleted[j] != nil || b.Live[j].Rows != b.Fragments[j].Rows || b.Live[j].Sum != nil || b.FragmentIDs[j] == 0 {
						t.Errorf("%+v", b)
					}
				}
			}
			f.adoptShared()
			l.publishBase(s.Timeline, l.increment(s.Timeline.LSN, 1))
			retained := len(l.stateNow().Retained)
			a := l.mustInstall(l.indexes(l.covering(l.segmentJob(), refA)))
			// Of generations that were sealed before nothing is known: all indexes count.
			if len(a.Retired) != 0 || retained == 0 {
				t.Errorf("retired %v of %d", a.Retired, retained)
			}
			a = l.mustInstall(l.indexes(l.covering(l.segmentJob(), refB, refI)))
			if len(a.Retired) != retained {
				t.Errorf("retired %v of %d", a.Retired, retained)
			}
			l.sound()
		})
	}
}
