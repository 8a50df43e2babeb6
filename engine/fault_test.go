package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// faultRun runs a scripted program on a file system that fails, and keeps what
// it was promised.
type faultRun struct {
	record
	mem    *vfs.Mem
	fault  *vfs.Fault
	dir    string
	errs   []error
	shards int
}

// program creates a store, fills it, closes and reopens it, and goes on as far
// as it gets.
func (r *faultRun) program(t testing.TB, o Options, steps int) {
	defer func() {
		// An interrupted program does not wait for its store.
		if n := loopsRunning(); n > 0 {
			t.Errorf("%d goroutines are still running", n)
		}
	}()
	o.Shards = r.shards
	for half := range 2 {
		s, err := Open(context.Background(), o)
		if err != nil {
			r.errs = append(r.errs, err)
			return
		}
		if got := s.Durable().LSN(); got < r.acked(r.mem.Ops()) {
			t.Errorf("reopened at LSN %d, acknowledged was %d", got, r.acked(r.mem.Ops()))
		}
		first := int(s.Durable().LSN())
		for k := first; k < max(first, steps*(half+1)/2); k++ {
			lsn, err := tryUpdate(s, func(tx *Tx) error {
				err := step(k, "a")(tx)
				r.states[tx.Base()+1] = dumpTx(tx) // also an append that fails may leave it
				return err
			})
			if err == nil {
				if err = s.WaitDurable(context.Background(), lsn); err == nil {
					r.acks = append(r.acks, ack{r.mem.Ops(), lsn})
					continue
				}
			}
			r.refused(t, s, err)
			if s.Poisoned() != nil || len(r.errs) > 10 {
				break
			}
			k-- // refused for lack of space or of a next file: try again
		}
		if err := s.Close(); err != nil {
			r.errs = append(r.errs, err)
		}
		if open := r.mem.OpenFiles(); len(open) > 0 {
			t.Errorf("still open: %v", open)
		}
	}
}

// refused checks the terms of a failed write.
func (r *faultRun) refused(t testing.TB, s *Store, err error) {
	r.errs = append(r.errs, err)
	if lsn := s.Durable().LSN(); dump(s.Durable()) != r.states[lsn] {
		t.Errorf("after %v the durable state is none that a commit left", err)
	}
	if s.Poisoned() == nil {
		if errors.Is(err, ErrOutcomeUnknown) || errors.Is(err, ErrPoisoned) {
			t.Errorf("error %v of an engine that is not poisoned", err)
		}
		return
	}
	if !errors.Is(err, ErrPoisoned) {
		t.Errorf("a poisoned engine answers %v", err)
	}
	if _, again := s.Begin(context.Background()); !errors.Is(again, ErrPoisoned) {
		t.Errorf("a poisoned engine starts a transaction: %v", again)
	}
	if s.Head().LSN() != s.Durable().LSN() {
		t.Errorf("head %d of a poisoned engine, durable %d", s.Head().LSN(), s.Durable().LSN())
	}
}

// recovers opens the store as a later process does: without the fault, on the
// files as the page cache has them and as a power loss leaves them.
func (r *faultRun) recovers(t *testing.T, what string, mixtures int) (images int) {
	n := r.mem.Ops()
	file := r.dir + "/" + "copy"
	cat := ""
	if _, err := os.Stat(r.dir + "/" + catalog.FileName); err == nil {
		must(t, catalog.Copy(context.Background(), r.dir, file))
		defer os.Remove(file)
		cat = file
	}
	run := &crashRun{mem: r.mem, o: Options{Create: true, GenerationSize: 1 << 10, Shards: r.shards}}
	run.states, run.acks = r.states, r.acks
	run.one(t, what+", process restarted", cloneMem(t, r.mem), cat, r.acked(n))
	images++
	for name, img := range r.mem.CrashImages(n, vfs.CrashOptions{Seed: *crashSeed, Mixtures: mixtures, Max: 1}) {
		run.one(t, what+", power lost, "+name, img, cat, r.acked(n))
		images++
	}
	return images
}

// TestFaultAtEveryOperation fails one operation after the other, in several
// ways, until a run of the program meets no failure.
func TestFaultAtEveryOperation(t *testing.T) { overShards(t, faultAtEveryOperation) }

func faultAtEveryOperation(t *testing.T, shards int) {
	kinds := []struct {
		name string
		rule vfs.Rule
	}{
		{"before", vfs.Rule{}},
		{"after", vfs.Rule{After: true}},
		{"short", vfs.Rule{Kinds: vfs.OpWrite, Short: 100}},
		{"short at a sector", vfs.Rule{Kinds: vfs.OpWrite, Short: 512}},
		{"for good", vfs.Rule{Kinds: vfs.OpWrite | vfs.SyncOps, Sticky: true}},
		{"no space", vfs.Rule{Kinds: vfs.OpPreallocate | vfs.OpCreate | vfs.OpMkdir, Err: syscall.ENOSPC}},
		{"sync", vfs.Rule{Kinds: vfs.SyncOps}},
	}
	every := sharded(50, shards)
	faults, images := 0, 0
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			base := faults
			for n := 1 + int(*crashSeed)%every; ; n += every {
				r := &faultRun{mem: vfs.NewMem(), dir: t.TempDir(), shards: shards}
				r.states = map[LSN]string{0: ""}
				rule := k.rule
				rule.N = n
				r.fault = vfs.NewFault(r.mem, rule)
				r.program(t, Options{Dir: r.dir, FS: r.fault, Create: true, GenerationSize: 1 << 10}, 10)
				if r.fault.Injected() == 0 {
					if len(r.errs) > 0 {
						t.Fatalf("errors without a fault: %v", r.errs)
					}
					break
				}
				faults++
				what := fmt.Sprintf("operation %d fails", n)
				images += r.recovers(t, what, 2)
				if t.Failed() {
					t.Fatalf("%s: %v\njournal:\n%s", what, r.errs, journalText(r.mem, r.mem.Ops()))
				}
			}
			if faults == base {
				t.Error("nothing was failed")
			}
		})
	}
	t.Logf("%d faults, %d images opened behind them", faults, images)
}

// TestCatalogFaults fails every COMMIT of the catalog in three ways.
func TestCatalogFaults(t *testing.T) { overShards(t, catalogFaults) }

func catalogFaults(t *testing.T, shards int) {
	errCommit := errors.New("commit fails")
	kinds := map[string]func(commit func() error) error{
		"before":  func(func() error) error { return errCommit },
		"unheard": func(commit func() error) error { return errors.Join(commit(), errCommit) },
	}
	faults := 0
	for name, fail := range kinds {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n += sharded(6, shards) {
				r := &faultRun{mem: vfs.NewMem(), dir: t.TempDir(), shards: shards}
				r.states = map[LSN]string{0: ""}
				commits, failed := 0, ""
				seam := &catalog.Seam{Commit: func(name string, commit func() error) error {
					if commits++; commits != n {
						return commit()
					}
					failed = name
					return fail(commit)
				}}
				r.program(t, Options{Dir: r.dir, FS: r.mem, Create: true, GenerationSize: 1 << 10, CatalogSeam: seam}, 10)
				if failed == "" {
					break
				}
				faults++
				r.recovers(t, fmt.Sprintf("COMMIT %d of the catalog (%s) fails", n, failed), 0)
				if t.Failed() {
					t.Fatalf("COMMIT %d (%s): %v", n, failed, r.errs)
				}
			}
		})
	}
	t.Logf("%d faults", faults)
}
