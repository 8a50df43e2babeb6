package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// faultKind is a way in which an operation fails.
type faultKind struct {
	name string
	rule vfs.Rule // of a file system; its N is the loop's

	// commit, when set, stands for a COMMIT of the catalog instead. It reports
	// whether everything fails from then on.
	commit func(commit func() error) (dead bool, err error)

	full    bool // a lack of space, until somebody makes room
	lasting bool // there is no end to it in this process
}

var errCommit = errors.New("commit fails")

var faultKinds = [...]faultKind{
	{name: "fails"},
	{name: "is done and reported as failed", rule: vfs.Rule{After: true}},
	{name: "is done in part", rule: vfs.Rule{Kinds: vfs.OpWrite, Short: 100}},
	{name: "is done up to a sector", rule: vfs.Rule{Kinds: vfs.OpWrite, Short: 512}},
	{name: "fails, as do all later ones", rule: vfs.Rule{Kinds: vfs.OpWrite | vfs.SyncOps, Sticky: true}, lasting: true},
	{name: "finds no space", rule: vfs.Rule{Kinds: vfs.OpPreallocate | vfs.OpCreate | vfs.OpMkdir, Err: syscall.ENOSPC, Sticky: true}, full: true},
	{name: "COMMIT fails", commit: func(func() error) (bool, error) { return false, errCommit }},
	{name: "COMMIT is done and reported as failed", commit: func(commit func() error) (bool, error) {
		return false, errors.Join(commit(), errCommit)
	}},
	{name: "COMMIT is done and the last thing that is", commit: func(commit func() error) (bool, error) { return true, commit() }, lasting: true},
}

// kindBase separates the kinds in the number of a fault, which is the kind's
// place and the place of the operation.
const kindBase = 100_000

// TestFaultLoop lets operations of random programs fail in all ways there are:
// on the files, and at commits of the catalog. What was acknowledged is there
// in every crash image behind the failure, what was refused is in none, readers
// go on, and so do writers unless the store is poisoned.
func TestFaultLoop(t *testing.T) {
	var struck struckKinds
	loop(t, goal(20_000, *crashFaults), func(t *testing.T, seed uint64, did func() bool) string {
		return faultProgram(t, seed, &struck, did)
	})
	if t.Failed() || *crashImage > 0 {
		return
	}
	// Only backups rename and link, and they have loops of their own.
	// The usual sample may miss the writes of the lock, which are few.
	met := struck.ops | vfs.OpRename | vfs.OpLink
	if *crashFaults == 0 {
		met |= vfs.OpLockWrite
	}
	if missing := vfs.MutatingOps &^ met; missing != 0 && !testing.Short() {
		t.Errorf("no fault at a %v", missing)
	}
	for k, kind := range faultKinds {
		if struck.faults[k] == 0 {
			t.Errorf("nothing that %s", kind.name)
		}
	}
	t.Logf("faults by kind: %v, at %v", struck.faults, struck.ops)
}

// struckKinds counts the faults of a loop by kind, and has the kinds of operation
// that failed.
type struckKinds struct {
	mu     sync.Mutex
	faults [len(faultKinds)]int
	ops    vfs.Kind
}

func (s *struckKinds) add(kind int, op vfs.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[kind]++
	s.ops |= op
}

func faultProgram(t *testing.T, seed uint64, struck *struckKinds, did func() bool) (says string) {
	const every = 5
	rng := rand.New(rand.NewPCG(seed, 3))
	b := newFaultBase(t, rng, seed)
	file, cat := 0, 0
	sum := func() string {
		return fmt.Sprintf("%s, from %s: %d faults of files, %d of the catalog, %d images opened", shapeText(b.shape), b.from, file, cat, b.images)
	}
	for _, k := range rng.Perm(len(faultKinds)) {
		kind := faultKinds[k]
		step := sparse(every)
		if b.cat == "" {
			step *= 4
		}
		if kind.commit != nil {
			step = max(1, step/every) // there are few
		}
		for n := 1 + rng.IntN(step); ; n += step {
			if number := k*kindBase + n; *crashImage > 0 {
				if *crashImage/kindBase != k {
					break
				}
				n = *crashImage % kindBase
			} else if number%kindBase != n {
				t.Fatalf("operation %d has no number", n)
			}
			f := b.run(t, kind, k, n)
			if t.Failed() {
				return "failed"
			}
			if !f.hit() {
				if len(f.errs) > 0 {
					t.Errorf("errors without a fault: %v", f.errs)
				}
				break
			}
			struck.add(k, f.failing)
			if kind.commit != nil {
				cat++
				loopTotals.catalogFaults.Add(1)
			} else {
				file++
				loopTotals.fileFaults.Add(1)
			}
			f.recovers(t)
			if enough := did(); enough || t.Failed() || *crashImage > 0 {
				return sum()
			}
		}
	}
	return sum()
}

// faultBase is where the runs of a seed begin.
type faultBase struct {
	record
	shape  Options
	mem    *vfs.Mem
	cat    string // "": the run creates the store
	from   string // says it
	keep   string // directory of copies of catalogs
	seed   uint64
	order  uint64 // seed of the schedules
	images int
	made   int             // copies of catalogs of new stores
	seen   map[string]bool // images opened
}

func newFaultBase(t *testing.T, rng *rand.Rand, seed uint64) *faultBase {
	b := &faultBase{seed: seed, order: rng.Uint64(), keep: tempDir(t), seen: map[string]bool{}}
	b.shape = shapeOf(rng)
	b.shape.Create = true
	b.states = map[LSN]string{0: ""}
	if seed%10 == 0 {
		b.mem, b.from = vfs.NewMem(), "an empty catalog"
		data, err := emptyCatalog()
		must(t, err)
		b.cat = filepath.Join(b.keep, "empty")
		must(t, os.WriteFile(b.cat, data, 0o600))
		return b
	}
	if seed%50 == 1 { // a new catalog costs as much as five faults
		b.mem, b.from = vfs.NewMem(), "nothing"
		return b
	}
	r := newCrashRun(t, vfs.NewMem(), b.shape.GenerationSize, b.shape.Shards)
	r.o.Sync = b.shape.Sync
	scheduled(t, b.order, func(t *testing.T, s *schedule) {
		r.follow(s)
		newProgram(r, rng).run(t, 6+rng.IntN(8))
	})
	n := r.mem.Ops()
	b.from = "a clean close"
	if rng.IntN(2) == 0 {
		n = n/3 + rng.IntN(n*2/3)
		b.from = "a crash"
	}
	for _, img := range r.mem.CrashImages(n, vfs.CrashOptions{Seed: rng.Uint64(), Mixtures: 1, Max: 1}) {
		if b.mem == nil || rng.IntN(3) == 0 {
			b.mem = img
		}
	}
	b.cat = r.cats.at(n)
	lsn := r.one(t, "the image that the faults begin with", cloneMem(t, b.mem), b.cat, r.acked(n))
	maps.Copy(b.states, r.states)
	maps.DeleteFunc(b.states, func(l LSN, _ string) bool { return l > lsn })
	b.acks = []ack{{0, lsn}}
	b.branches = r.inherited()
	return b
}

// faultCopy is a copy of the catalog as it was from one operation to another.
type faultCopy struct {
	from, to int
	file     string
}

// faulty is one run with one fault.
type faulty struct {
	record
	*faultBase
	t     testing.TB
	what  string
	kind  faultKind
	n     int
	mem   *vfs.Mem
	fault *vfs.Fault
	o     Options
	shelf *shelf
	sched *schedule
	gen   *generator
	errs  []error

	pending []LSN
	told    LSN // the newest commit that was acknowledged, synced or not
	since   int // operation at which the states were right
	commits int // of the catalog
	struck  bool
	failing vfs.Kind // the operation that the fault was at, 0 for a COMMIT
	dead    bool
	copies  []faultCopy // of the catalog behind the fault
}

func (b *faultBase) run(t *testing.T, kind faultKind, k, n int) *faulty {
	f := &faulty{faultBase: b, t: t, kind: kind, n: n, mem: cloneMem(t, b.mem)}
	f.what = fmt.Sprintf("operation %d %s\n%s\n", n, kind.name,
		(&numbers{test: "TestFaultLoop", seed: b.seed}).reproduce(k*kindBase+n))
	f.states, f.acks, f.told = maps.Clone(b.states), []ack{{0, b.acked(0)}}, b.acked(0)
	f.branches = b.branches
	f.mem.SetJournalLimit(64 << 20)
	f.since = f.mem.Ops()
	rule := kind.rule
	rule.N = n
	seen := 0
	rule.Match = func(op vfs.Op) bool {
		if seen++; seen == n {
			f.failing = op.Kind
		}
		return true
	}
	if kind.commit != nil {
		f.fault = vfs.NewFault(f.mem)
	} else {
		f.fault = vfs.NewFault(f.mem, rule)
	}
	var clean func()
	f.o, f.shelf, clean = place(t, b.shape, b.cat)
	defer clean()
	scheduled(t, b.order, func(t *testing.T, s *schedule) {
		outer := vfs.NewFault(f.fault)
		outer.SetHook(s.hook(vfs.AllOps &^ (vfs.OpRead | vfs.OpSize | vfs.OpStat | vfs.OpList)))
		seam := &catalog.Seam{Commit: f.commit}
		if f.o.CatalogSeam != nil {
			seam.Connect = f.o.CatalogSeam.Connect
		}
		f.sched, f.o.FS, f.o.CatalogSeam = s, outer, s.seam(seam)
		rng := rand.New(rand.NewPCG(b.order, 4))
		f.gen = newGenerator(rng)
		for range 2 {
			f.half(t, rng)
		}
	})
	if f.hit() {
		f.copyCatalog(t)
	}
	if t.Failed() {
		t.Logf("%s%v\njournal:\n%s", f.what, f.errs, journalText(f.mem, f.mem.Ops()))
	}
	return f
}

// hit reports whether the fault was.
func (f *faulty) hit() bool { return f.struck || f.fault.Injected() > 0 }

// commit is a commit of the catalog.
func (f *faulty) commit(name string, commit func() error) error {
	if f.dead {
		return errCommit
	}
	f.commits++
	var err error
	if f.kind.commit != nil && f.commits == f.n {
		f.struck = true
		if f.dead, err = f.kind.commit(commit); f.dead {
			f.fault.Fail(vfs.Rule{Kinds: vfs.AllOps})
		}
	} else {
		err = commit()
	}
	if n := len(f.copies); n > 0 && f.copies[n-1].to > f.mem.Ops() {
		f.copies[n-1].to = f.mem.Ops()
	}
	if f.hit() && f.commits%3 == 0 { // a copy costs as much as a commit
		f.copyCatalog(f.t)
	}
	return err
}

// copyCatalog keeps the catalog as it is now.
func (f *faulty) copyCatalog(t testing.TB) {
	var file string
	var err error
	if f.shelf != nil {
		file = filepath.Join(f.keep, fmt.Sprint(len(f.copies))) // the next run writes over it
		err = f.shelf.save(file)
	} else {
		if _, err := os.Stat(filepath.Join(f.o.Dir, catalog.FileName)); err != nil {
			return // the creation did not get there
		}
		f.made++
		file = filepath.Join(f.keep, fmt.Sprintf("new-%d", f.made))
		err = catalog.Copy(context.Background(), f.o.Dir, file)
	}
	if err != nil {
		t.Errorf("copy of the catalog: %v", err)
		return
	}
	f.copies = append(f.copies, faultCopy{f.mem.Ops(), math.MaxInt, file})
}
