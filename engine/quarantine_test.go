package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// outputFaults are what can go wrong with a file that a compaction writes: in the
// order of its operations that of the header, then of rows and footer, and in a later
// file when others are sealed.
var outputFaults = []struct {
	name string
	rule vfs.Rule
	full bool // ErrFull is what the compaction says
}{
	{"create", vfs.Rule{Kinds: vfs.OpCreate, N: 1}, false},
	{"write of the header", vfs.Rule{Kinds: vfs.OpWrite, N: 1}, false},
	{"write", vfs.Rule{Kinds: vfs.OpWrite, N: 3}, false},
	{"short write", vfs.Rule{Kinds: vfs.OpWrite, N: 3, Short: 7}, false},
	{"write that was done", vfs.Rule{Kinds: vfs.OpWrite, N: 3, After: true}, false},
	{"no space", vfs.Rule{Kinds: vfs.OpWrite, N: 3, Err: syscall.ENOSPC}, true},
	{"file sync of the header", vfs.Rule{Kinds: vfs.OpSync, N: 1}, false},
	{"file sync", vfs.Rule{Kinds: vfs.OpSync, N: 2}, false},
	{"file sync without space", vfs.Rule{Kinds: vfs.OpSync, N: 2, Err: syscall.ENOSPC}, true},
	{"file sync of a later file", vfs.Rule{Kinds: vfs.OpSync, N: 4}, false},
	{"directory sync of the header", vfs.Rule{Kinds: vfs.OpSyncDir, N: 1}, false},
	{"sync of the directory above", vfs.Rule{Kinds: vfs.OpSyncDir, N: 2}, false},
	{"directory sync", vfs.Rule{Kinds: vfs.OpSyncDir, N: 4}, false},
	{"directory sync of a later file", vfs.Rule{Kinds: vfs.OpSyncDir, N: 8}, false},
}

// toCompact fills a store, whose next compaction writes several files.
func toCompact(t testing.TB, s *Store) {
	t.Helper()
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 100, "k"))))
	must(t, s.Checkpoint(t.Context(), nil))
	quiet(t, s)
}

// objectAt is the object of a file, as the catalog has it.
func objectAt(t testing.TB, s *Store, file string) (o catalog.Object) {
	t.Helper()
	list, err := s.cat.Objects(context.Background())
	must(t, err)
	for _, o := range list {
		if o.Path == file {
			return o
		}
	}
	return o
}

// CAT-AT-33, CAT-AT-37: whatever goes wrong with a file that a compaction writes, it
// is quarantined while the job runs. The head and its files are what they were, and no
// later sync makes the file one that can be sealed. The next compaction writes others,
// and the one in quarantine is gone.
func TestQuarantineOfOutputs(t *testing.T) {
	for _, x := range outputFaults {
		t.Run(x.name, func(t *testing.T) {
			m := vfs.NewMem()
			f := vfs.NewFault(m)
			var s *Store
			var before catalog.State
			var set []string // in quarantine
			s = openStore(t, Options{FS: f, GenerationSize: 4 << 10, Shards: 1, NoCompaction: true, Events: func(e Event) {
				nothingFails(t)(e)
				if e.Kind == EventQuarantined {
					set = append(set, e.File)
					inQuarantine(t, s, m, e, before)
				}
			}})
			toCompact(t, s)
			state := dump(s.Durable())
			files := objectsOnDisk(t, m)
			var err error
			before, err = s.cat.State(t.Context())
			must(t, err)
			f.Fail(x.rule)
			err = s.Compact(t.Context(), nil)
			if n := f.Injected(); n != 1 {
				t.Fatalf("%d faults", n)
			}
			f.Clear()
			if err == nil || s.Poisoned() != nil || errors.Is(err, ErrFull) != x.full {
				t.Fatalf("compaction: %v, poisoned %v", err, s.Poisoned())
			}
			if len(set) != 1 {
				t.Fatalf("in quarantine: %v", set)
			}
			if got := dump(s.Durable()); got != state {
				t.Error("it is another state")
			}
			eventually(t, "the files to go", func() bool {
				list, err := s.cat.Objects(t.Context())
				must(t, err)
				return len(list) == len(files) && slices.Equal(objectsOnDisk(t, m), files)
			})
			jobs, err := s.Jobs(t.Context())
			must(t, err)
			if last := jobs[len(jobs)-1]; last.State != catalog.JobFailed || last.Error == "" {
				t.Errorf("job %+v", last)
			}
			must(t, s.Compact(t.Context(), nil))
			after, err := s.cat.State(t.Context())
			must(t, err)
			for _, b := range after.Base {
				if b.Path == set[0] {
					t.Errorf("%s is in the base", b.Path)
				}
			}
			if len(after.Base) < 2 || dump(s.Durable()) != state {
				t.Errorf("%d files are the base, or it is another state", len(after.Base))
			}
			checkStore(t, s)
		})
	}
}

// inQuarantine looks at a file that was quarantined a moment ago; its job still runs.
func inQuarantine(t *testing.T, s *Store, m *vfs.Mem, e Event, before catalog.State) {
	ctx := context.Background()
	o := objectAt(t, s, e.File)
	if o.State != "quarantined" || !o.Rooted || e.Err == nil {
		t.Errorf("%v: %+v", e, o)
	}
	jobs, err := s.Jobs(ctx)
	must(t, err)
	job := jobs[len(jobs)-1]
	if job.State != catalog.JobRunning {
		t.Errorf("its job is %+v", job)
	}
	// The second sync succeeds. Nobody asks for it, and it would not help.
	if file, err := m.Open(e.File); err == nil {
		must(t, file.Sync())
		must(t, m.SyncDir(filepath.ToSlash(filepath.Dir(e.File))))
		must(t, file.Close())
	}
	seal := catalog.BaseSeal{ObjectID: o.ID, Extent: 100, LSN: 1, Fingerprint: make([]byte, 16), Fragments: []catalog.Fragment{{TableID: 0, Rows: 1}}}
	if err := s.cat.SealBase(ctx, seal); !errors.Is(err, catalog.CodeState) {
		t.Errorf("sealing it: %v", err)
	}
	if err := s.cat.Reconcile(ctx, catalog.JobOperation(job.ID), o.ID); !errors.Is(err, catalog.CodeRecovery) {
		t.Errorf("reconciling it: %v", err)
	}
	state, err := s.cat.State(ctx)
	must(t, err)
	if fmt.Sprint(state) != fmt.Sprint(before) {
		t.Errorf("state\n%+v\nwas\n%+v", state, before)
	}
	plan, err := s.PlanGC(ctx)
	must(t, err)
	var why []string
	for _, k := range plan.Keep {
		if k.ID == o.ID {
			for _, r := range k.Reasons {
				why = append(why, r.String())
			}
		}
	}
	if text := strings.Join(why, "; "); !strings.Contains(text, fmt.Sprintf("in quarantine, written by job compact %d", job.ID)) || !strings.Contains(text, e.Err.Error()) {
		t.Errorf("it stays: %q", text)
	}
}

// A compaction that is told to end, or that the catalog does not let seal, has nothing
// wrong with its files.
func TestNothingIsQuarantinedWithoutAFault(t *testing.T) {
	noRoom := errNoRoom(t)
	var refuse atomic.Bool
	m := vfs.NewMem()
	events := nothingFails(t)
	s := openStore(t, Options{FS: m, GenerationSize: 4 << 10, NoCompaction: true, Events: func(e Event) {
		events(e)
		if e.Kind == EventQuarantined {
			t.Error(e)
		}
	}, CatalogSeam: &catalog.Seam{Commit: func(op string, commit func() error) error {
		if op == "seal-base" && refuse.Swap(false) {
			return noRoom
		}
		return commit()
	}}})
	toCompact(t, s)
	before := len(objectsOnDisk(t, m))
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.Compact(ctx, once(cancel)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	refuse.Store(true)
	if err := s.Compact(t.Context(), nil); !errors.Is(err, ErrFull) {
		t.Errorf("%v", err)
	}
	eventually(t, "the files to go", func() bool { return len(objectsOnDisk(t, m)) == before })
	must(t, s.Compact(t.Context(), nil))
}

// A backup does not carry what is in quarantine, and a check finds nothing wrong with it.
func TestBackupBesideQuarantine(t *testing.T) {
	folder := t.TempDir()
	f := vfs.NewFault(vfs.OS(filepath.Join(folder, "store")))
	var s *Store
	backedUp := false
	s = openStore(t, Options{Dir: filepath.Join(folder, "store"), FS: f, GenerationSize: 4 << 10, NoCompaction: true, Events: func(e Event) {
		if e.Kind == EventQuarantined {
			f.Clear()
			backedUp = true
			must(t, s.Backup(context.Background(), filepath.Join(folder, "backup"), nil))
			if o := objectAt(t, s, e.File); o.State != "quarantined" {
				t.Errorf("behind the backup: %+v", o)
			}
			checkStore(t, s)
		}
	}})
	toCompact(t, s)
	want := dump(s.Durable())
	f.Fail(vfs.Rule{Kinds: vfs.OpSync, N: 4})
	if err := s.Compact(t.Context(), nil); err == nil || !backedUp {
		t.Fatalf("compaction: %v, backup %v", err, backedUp)
	}
	r := restored(t, filepath.Join(folder, "backup"), filepath.Join(folder, "restored"))
	if got := dump(r.Durable()); got != want {
		t.Errorf("restored:\n%s\nwant\n%s", got, want)
	}
	list, err := r.cat.Objects(t.Context())
	must(t, err)
	for _, o := range list {
		if o.State == "quarantined" {
			t.Errorf("the backup has %+v", o)
		}
	}
	onlyNamedFiles(t, r, r.fs)
}
