package engine

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// onlyNamedFiles fails the test for a file that the catalog does not name, and for
// one that it names and nothing needs, unless it is held.
func onlyNamedFiles(t testing.TB, s *Store, fs vfs.FS) {
	t.Helper()
	objects, err := s.cat.Objects(context.Background())
	must(t, err)
	named := map[string]bool{}
	for _, o := range objects {
		if o.State != catalog.GenerationCollected {
			named[o.Path] = true
		}
	}
	for _, p := range objectsOnDisk(t, fs) {
		if !named[p] {
			t.Errorf("%s is there, and the catalog does not name it", p)
		}
	}
	plan, err := s.PlanGC(context.Background())
	must(t, err)
	if len(plan.Remove) > 0 {
		t.Errorf("nothing needs %v", plan.Remove)
	}
}

// After a crash anywhere in compactions, one of them while a backup needs what it
// replaces, and in the removals behind them, no file is left behind the next gc that
// nothing needs.
func TestGCAfterCrash(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		r := newCrashRun(t, vfs.NewMem(), 2<<10, shards)
		r.o.untilClose = false
		s := r.open(t)
		first := 0
		compactScript(s, func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }, func() {
			if first == 0 {
				first = r.mem.Ops()
			}
			compact := once(func() {
				must(t, s.Compact(t.Context(), nil))
				runtime.GC() // lets leases end
				must(t, s.GC(t.Context(), nil))
			})
			must(t, s.Backup(t.Context(), filepath.Join(t.TempDir(), "backup"), compact))
			compact(0, 0)
			must(t, s.GC(t.Context(), nil))
		})
		must(t, s.Close())
		opened := 0
		n := r.images(t, first, sharded(8, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 12}, func(t *testing.T, at string, img *vfs.Mem, cat string, _ LSN) {
			o, _, clean := place(t, r.o, cat)
			defer clean()
			o.FS, o.NoCompaction = img, true // no job beside the gc, which writes indexes and retires generations
			s, err := Open(context.Background(), o)
			must(t, err)
			if err := s.GC(context.Background(), nil); err != nil {
				t.Errorf("%s: gc: %v", at, err)
			}
			onlyNamedFiles(t, s, img)
			checkStore(t, s)
			must(t, s.Close())
			opened++
		})
		t.Logf("%v, %d of them collected", n, opened)
		if opened == 0 {
			t.Error("no image was opened")
		}
	})
}

// A file that a snapshot is read from stays, and gc says so; without the snapshot it
// goes. Jobs tell how many files went, and the counters.
func TestGCKeepsWhatIsRead(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createKeys("k", 3), manyRows("k", 60, "k"))))
	must(t, s.Checkpoint(t.Context(), nil))
	old := s.Durable()
	want := dump(old)
	must(t, s.Compact(t.Context(), nil))
	wait(t, s, update(t, s, manyRows("k", 60, "x"))) // a state of the next lease
	plan, err := s.PlanGC(t.Context())
	must(t, err)
	var held []string
	for _, k := range plan.Keep {
		if len(k.Reasons) == 0 {
			t.Errorf("nobody says why %s stays", k.Path)
		} else if k.Reasons[0].String() == bySnapshot {
			held = append(held, k.Path)
		}
	}
	if len(held) == 0 {
		t.Fatal("nothing is held")
	}
	must(t, s.GC(t.Context(), nil))
	onlyNamedFiles(t, s, m)
	if got := dump(old); got != want {
		t.Errorf("the snapshot lost rows:\n%.600s", got)
	}
	for _, name := range held {
		if !slices.Contains(objectsOnDisk(t, m), name) {
			t.Errorf("%s is gone, and a snapshot is read from it", name)
		}
	}
	runtime.KeepAlive(old)
	old = nil
	eventually(t, "the lease's end", func() bool {
		runtime.GC()
		must(t, s.GC(t.Context(), nil))
		return len(s.home.held()) == 0
	})
	for _, name := range held {
		if slices.Contains(objectsOnDisk(t, m), name) {
			t.Errorf("%s is still there", name)
		}
	}
	jobs, err := s.Jobs(t.Context())
	must(t, err)
	for _, j := range jobs {
		if j.State != catalog.JobDone || j.Done != j.Total {
			t.Errorf("job %+v", j)
		}
	}
	if n := s.Metrics(); n.GCKeptFiles == 0 || n.GCFreedFiles > n.CollectedFiles {
		t.Errorf("%+v", n)
	}
}

// litter leaves n files that nothing needs, as a job does that failed.
func litter(t testing.TB, s *Store, fs vfs.FS, n int) {
	t.Helper()
	job, err := s.cat.StartJob(t.Context(), JobCompact, "")
	must(t, err)
	for range n {
		r, err := s.cat.ReserveObject(t.Context(), job.ID)
		must(t, err)
		must(t, fs.Mkdir(path.Dir(path.Dir(r.Path))))
		must(t, fs.Mkdir(path.Dir(r.Path)))
		f, err := fs.Create(r.Path)
		must(t, err)
		must(t, f.Close())
	}
	must(t, s.cat.EndJob(t.Context(), job.ID, 0, 0, errors.New("for the test")))
}

// Whatever fails in a gc, the next one removes all that is to go.
func TestGCFaults(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	s := openStore(t, Options{FS: f, NoCompaction: true})
	wait(t, s, update(t, s, createTable("a")))
	for _, after := range []bool{false, true} {
		failures := 0
		for n := 1; ; n++ {
			litter(t, s, m, 3)
			before := f.Injected()
			f.Fail(vfs.Rule{Kinds: vfs.MutatingOps, N: n, After: after})
			err := s.GC(t.Context(), nil)
			hit := f.Injected() > before
			f.Clear()
			if err != nil {
				failures++
				if !hit || s.Poisoned() != nil {
					t.Errorf("operation %d: %v, poisoned %v", n, err, s.Poisoned())
				}
			}
			must(t, s.GC(t.Context(), nil))
			onlyNamedFiles(t, s, m)
			wait(t, s, update(t, s, put("a", 1, 1, "x")))
			if !hit {
				break
			}
		}
		if failures == 0 {
			t.Error("nothing failed")
		}
	}
}

// A gc ends with its context and with the store, and what it did not get to is the
// next one's.
func TestGCEnds(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, NoCompaction: true})
	wait(t, s, update(t, s, createTable("a")))
	litter(t, s, m, 3*sweepBatch)
	ctx, cancel := context.WithCancel(t.Context())
	last := int64(0)
	err := s.GC(ctx, func(done, total int64) {
		if last = done; done > 0 {
			cancel()
		}
		if total < 3*sweepBatch {
			t.Errorf("%d of %d", done, total)
		}
	})
	if !errors.Is(err, context.Canceled) || last != sweepBatch {
		t.Errorf("%v after %d files", err, last)
	}
	jobs, err := s.Jobs(t.Context())
	must(t, err)
	if j := jobs[len(jobs)-1]; j.State != catalog.JobCancelled || j.Done != sweepBatch {
		t.Errorf("job %+v", j)
	}
	// Close does not wait for all of it.
	err = s.GC(t.Context(), func(done, _ int64) {
		if done > 0 {
			s.endWork()
		}
	})
	if !errors.Is(err, ErrClosed) {
		t.Errorf("of a store that is being closed: %v", err)
	}
}

// A verify job is done when nothing is wrong, and otherwise fails with the first
// finding and the number of all.
func TestVerifyJob(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, NoCompaction: true, Create: true}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createTable("a"), manyRows("a", 20, "a"))))
	must(t, s.Checkpoint(t.Context(), nil))
	bytes := int64(0)
	job, err := s.RunJob(t.Context(), JobRequest{Kind: JobVerify, Progress: func(done, total int64) { bytes = total }})
	must(t, err)
	if job.Done == 0 || job.Done != job.Total || job.Total != bytes {
		t.Errorf("job %+v, %d bytes", job, bytes)
	}
	var sealed string
	for _, g := range s.gens {
		if g.info.State == catalog.GenerationSealed {
			sealed = g.path
		}
	}
	data := readFile(t, m, sealed)
	data[len(data)/2] ^= 1
	writeFile(t, m, sealed, data)
	job, err = s.RunJob(t.Context(), JobRequest{Kind: JobVerify})
	var found *VerifyError
	var damage *CorruptError
	if !errors.As(err, &found) || !errors.As(err, &damage) || damage.File != sealed || found.Damage == 0 {
		t.Fatalf("%v", err)
	}
	list, err := s.Jobs(t.Context())
	must(t, err)
	if last := list[len(list)-1]; last.State != catalog.JobFailed || !strings.Contains(last.Error, sealed) || !strings.Contains(last.Error, "findings") {
		t.Errorf("job %+v", last)
	}
	must(t, s.Close())
	checkLeaks(t, m)
}

// Files go without that anybody asks for it, soon after what needed them is gone: a
// branch point, a timeline, what a compaction replaced.
func TestFilesGoByThemselves(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := filled(t, o)
	gone := func(what string) {
		t.Helper()
		eventually(t, what, func() bool {
			runtime.GC() // lets leases end
			plan, err := s.PlanGC(t.Context())
			must(t, err)
			kept := len(plan.Keep)
			return len(plan.Remove) == 0 && len(objectsOnDisk(t, m)) == kept && kept == len(needed(t, s))
		})
	}
	branch(t, s, "bp")
	churn(t, s, 1)
	if got, most := len(objectsOnDisk(t, m)), len(needed(t, s)); got <= most {
		t.Fatalf("%d files, %d are needed: the branch point keeps none", got, most)
	}
	must(t, s.DeleteBranchPoint(t.Context(), "bp"))
	gone("the files of the branch point to go")

	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	dev := openTimeline(t, s, "dev", o)
	churn(t, dev, 2)
	must(t, dev.Close())
	churn(t, s, 3)
	must(t, s.DropTimeline(t.Context(), "dev"))
	gone("the files of the timeline to go")
	if jobs, err := s.Jobs(t.Context()); err != nil || slices.ContainsFunc(jobs, func(j catalog.Job) bool { return j.Kind == JobGC }) {
		t.Errorf("%+v, %v", jobs, err)
	}
	checkStore(t, s)
}
