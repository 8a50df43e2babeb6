package engine

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// quarantineCommits are the commits that lead into quarantine, and out of it.
var quarantineCommits = []string{"quarantine", "end-job", "reconcile", "claim", "collected"}

// failsToCompact opens a store with a seam at one commit of a compaction whose second
// sync fails, runs that, and returns what it said.
func failsToCompact(t *testing.T, o Options, f *vfs.Fault, at string, seam func(s *Store, commit func() error) error) (*Store, string, error) {
	t.Helper()
	var s *Store
	var armed atomic.Bool
	o.Create, o.NoCompaction, o.GenerationSize, o.FS = true, true, 4<<10, f
	o.CatalogSeam = &catalog.Seam{Commit: func(op string, commit func() error) error {
		if op == at && armed.Swap(false) {
			return seam(s, commit)
		}
		return commit()
	}}
	s, err := Open(t.Context(), o)
	must(t, err)
	toCompact(t, s)
	state := dump(s.Durable())
	f.Fail(vfs.Rule{Kinds: vfs.OpSync, N: 4})
	armed.Store(true)
	failure := s.Compact(t.Context(), nil)
	f.Clear()
	if failure == nil || s.Poisoned() != nil {
		t.Errorf("compaction: %v, poisoned %v", failure, s.Poisoned())
	}
	eventually(t, "the commit "+at, func() bool { return !armed.Load() })
	return s, state, failure
}

// settledAtOpen opens a store that a process left with something in quarantine, or
// behind it, and expects all of that to be gone, by name and file.
func settledAtOpen(t *testing.T, o Options, fs vfs.FS, state string) {
	t.Helper()
	o.FS, o.CatalogSeam, o.NoCompaction, o.Events = fs, nil, true, nothingFails(t)
	must(t, CheckFiles(t.Context(), o, func(f Finding) {
		if f.Severity == Damage {
			t.Errorf("before the open: %v", f)
		}
	}, nil))
	s, err := Open(context.Background(), o)
	must(t, err)
	if got := dump(s.Durable()); got != state {
		t.Errorf("reopened:\n%s\nwant:\n%s", got, state)
	}
	list, err := s.cat.Objects(t.Context())
	must(t, err)
	for _, o := range list {
		if o.State == "quarantined" || !o.Rooted {
			t.Errorf("%+v is left", o)
		}
	}
	onlyNamedFiles(t, s, fs)
	if n := len(objectsOnDisk(t, fs)); n != len(list) {
		t.Errorf("%d files, the catalog has %d", n, len(list))
	}
	jobs, err := s.Jobs(t.Context())
	must(t, err)
	for _, j := range jobs {
		if j.State == catalog.JobRunning {
			t.Errorf("%+v", j)
		}
	}
	checkStore(t, s)
	must(t, s.Compact(t.Context(), nil))
	checkStore(t, s)
	must(t, s.Close())
}

// A process that is killed at any step leaves the rest to the next open, which lets go
// of what is in quarantine in the name of the job that it ended, and removes it.
func TestQuarantineCrash(t *testing.T) {
	for _, at := range quarantineCommits {
		for _, mode := range []string{"before", "after"} {
			t.Run(at+"-"+mode, func(t *testing.T) {
				m := vfs.NewMem()
				copied := filepath.Join(t.TempDir(), catalog.FileName)
				ops := 0
				o := Options{Dir: t.TempDir(), Shards: 1}
				s, state, _ := failsToCompact(t, o, vfs.NewFault(m), at, func(s *Store, commit func() error) error {
					image := func() error {
						ops = m.Ops()
						return catalog.Copy(context.Background(), o.Dir, copied)
					}
					if mode == "before" {
						// A transaction that is open keeps nobody from reading the state before it.
						return errors.Join(image(), commit())
					}
					return errors.Join(commit(), image())
				})
				must(t, s.Close())
				n := 0
				for name, image := range m.CrashImages(ops, vfs.CrashOptions{Seed: *crashSeed, Mixtures: 2, Max: 2}) {
					t.Run(name, func(t *testing.T) {
						placed, _, clean := place(t, o, copied)
						defer clean()
						settledAtOpen(t, placed, image, state)
					})
					n++
				}
				if n == 0 {
					t.Error("no image was opened")
				}
			})
		}
	}
}

// Each of the commits fails once: it took effect, or did not, and nobody knows. Writers
// go on, nothing is lost, and the next open settles it.
func TestQuarantineFaults(t *testing.T) {
	for _, at := range quarantineCommits {
		for _, mode := range []string{"before", "after"} {
			t.Run(at+"-"+mode, func(t *testing.T) {
				m := vfs.NewMem()
				o := Options{Dir: t.TempDir(), Shards: 1}
				s, state, _ := failsToCompact(t, o, vfs.NewFault(m), at, func(_ *Store, commit func() error) error {
					injected := errors.New("injected")
					if mode == "before" {
						return injected
					}
					return errors.Join(commit(), injected)
				})
				if got := dump(s.Durable()); got != state {
					t.Errorf("it is another state:\n%s\nwant\n%s", got, state)
				}
				wait(t, s, update(t, s, remove("k", 7)))
				state = dump(s.Durable())
				_ = s.Close() // the catalog takes no more writes
				settledAtOpen(t, o, m, state)
			})
		}
	}
}

// Without room in the catalog the object is not quarantined: it stays reserved, and its
// job's, and goes with the end of that.
func TestQuarantineWithoutRoom(t *testing.T) {
	noRoom := errNoRoom(t)
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), Shards: 1}
	states := map[string]int{}
	s, state, _ := failsToCompact(t, o, vfs.NewFault(m), "quarantine", func(s *Store, _ func() error) error {
		list, err := s.cat.Objects(context.Background())
		must(t, err)
		for _, o := range list {
			states[o.State]++
		}
		return noRoom
	})
	if states["quarantined"] != 0 || states["reserved"] == 0 {
		t.Errorf("objects: %v", states)
	}
	quiet(t, s)
	eventually(t, "the files to go", func() bool {
		list, err := s.cat.Objects(t.Context())
		must(t, err)
		for _, o := range list {
			if !o.Rooted {
				return false
			}
		}
		return len(objectsOnDisk(t, m)) == len(list)
	})
	must(t, s.Close())
	settledAtOpen(t, o, m, state)
}
