package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// Without a writer a reader finds in every crash image what recovery does, and changes
// no file.
func TestReaderOfCrashImages(t *testing.T) {
	needsSessions(t)
	overShards(t, func(t *testing.T, shards int) {
		r := newCrashRun(t, vfs.NewMem(), 2<<10, shards)
		s := r.open(t)
		first := r.mem.Ops()
		compactScript(s, func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }, func() { must(t, s.Compact(t.Context(), nil)) })
		for i := range int64(4) { // of which some are not synced
			r.commit(t, s, put("k", 1, 100+i, "tail"))
		}
		r.wait(t, s, s.Head().LSN())
		must(t, s.Close())
		read := 0
		n := r.images(t, first, sharded(40, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 4}, func(t *testing.T, at string, img *vfs.Mem, cat string, lsn LSN) {
			if cat == "" {
				return
			}
			o, _, clean := place(t, r.o, cat)
			defer clean()
			before, ops := contents(t, img), img.Ops()
			o.FS, o.Create, o.ReadOnly, o.Shards, o.CatalogSeam = img, false, true, 0, nil
			got, err := Open(context.Background(), o)
			if errors.Is(err, catalog.ErrUnfinished) {
				return
			}
			if err != nil {
				t.Errorf("%s: %v", at, err)
				return
			}
			read++
			if got := got.Durable(); got.LSN() != lsn || !sameState(dump(got), r.states[lsn]) {
				t.Errorf("%s: commit %d, want %d:\n%s\nwant:\n%s", at, got.LSN(), lsn, dump(got), r.states[lsn])
			}
			if err := got.Close(); err != nil {
				t.Errorf("%s: close: %v", at, err)
			}
			if contents(t, img) != before || img.Ops() != ops {
				t.Errorf("%s: files were changed", at)
			}
		})
		t.Logf("%v, %d read", n, read)
		if read == 0 {
			t.Error("none was read")
		}
	})
}

// Whatever fails while a reader opens and goes on, it tells so or has the right rows,
// and leaves no pin.
func TestReaderFaults(t *testing.T) {
	needsSessions(t)
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := filled(t, o)
	branch(t, s, "bp")
	past := dump(s.Durable())
	churn(t, s, 1)
	value := int64(0)
	read := func(fs vfs.FS) (err error) {
		o := o
		o.FS, o.ReadOnly, o.Events = fs, true, nil
		r, err := Open(context.Background(), o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		for range 2 {
			value++
			wait(t, s, update(t, s, all(put("k", 3, "3", strings.Repeat("v", int(value%50))), put("a", value, value))))
			if value%2 == 0 {
				must(t, s.Checkpoint(t.Context(), nil))
			}
			if err := r.Refresh(context.Background()); err != nil {
				return err
			}
			if r.Durable().LSN() != s.Durable().LSN() {
				t.Errorf("commit %d, want %d", r.Durable().LSN(), s.Durable().LSN())
			}
			got, want := dump(r.Durable()), dump(s.Durable())
			if !sameState(got, want) {
				t.Errorf("rows:\n%s\nwant:\n%s", got, want)
			}
			if got != want {
				return errInjected
			}
		}
		snap, err := r.At(context.Background(), "bp")
		if err != nil {
			return err
		}
		if got := dump(snap); !sameState(got, past) {
			t.Errorf("branch point:\n%s\nwant:\n%s", got, past)
		}
		return nil
	}
	told, stride := 0, 1
	if testing.Short() {
		stride = 7
	}
	for n := 1; ; n += stride {
		must(t, s.Compact(t.Context(), nil)) // each time there are as many files
		f := vfs.NewFault(o.FS, vfs.Rule{N: n, Err: fmt.Errorf("%w: %w", errInjected, syscall.EIO)})
		var at vfs.Op
		f.SetHook(func(op vfs.Op) error {
			if op.N == n {
				at = op
			}
			return nil
		})
		err := read(f)
		if f.Injected() == 0 {
			must(t, err)
			t.Logf("%d operations, %d errors", n-1, told)
			break
		}
		if err != nil {
			told++
			if !errors.Is(err, errInjected) {
				t.Errorf("operation %d (%s): %v", n, at, err)
			}
		}
		if list, err := s.cat.Pins(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("operation %d (%s): pins %+v, %v", n, at, list, err)
		}
		if t.Failed() {
			return
		}
	}
	if told == 0 {
		t.Error("nothing was told")
	}
}

// errInjected is the fault.
var errInjected = errors.New("injected")

// A commit of the catalog that fails, before or behind it, is told of; what was read
// stays right.
func TestReaderCatalogFaults(t *testing.T) {
	needsSessions(t)
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true}
	s := filled(t, o)
	branch(t, s, "bp")
	for _, how := range []string{"before", "after"} {
		for n := 1; ; n++ {
			seen, hit := 0, ""
			ro := o
			ro.ReadOnly = true
			ro.CatalogSeam = &catalog.Seam{Commit: func(name string, commit func() error) error {
				if seen++; seen != n {
					return commit()
				}
				hit = name
				if how == "after" {
					must(t, commit())
				}
				return errInjected
			}}
			err := func() (err error) {
				r, err := Open(t.Context(), ro)
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, r.Close()) }()
				churn(t, s, int64(n))
				if err := r.Refresh(t.Context()); err != nil {
					return err
				}
				if got, want := dump(r.Durable()), dump(s.Durable()); got != want {
					t.Errorf("%s %d:\n%s\nwant:\n%s", how, n, got, want)
				}
				_, err = r.At(t.Context(), "bp")
				return err
			}()
			if hit == "" {
				must(t, err)
				break
			}
			// The pin that is let go of fails where nobody waits for it; the close tells.
			if !errors.Is(err, errInjected) && !errors.Is(err, catalog.ErrPoisoned) {
				t.Errorf("%s commit %d (%s): %v", how, n, hit, err)
			}
		}
	}
	gone := func(catalog.Process) (bool, string, bool) { return false, catalog.EvidenceGone, true }
	if _, err := s.cat.Reap(t.Context(), gone); err != nil {
		t.Error(err)
	}
	if list, err := s.cat.Pins(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("pins %+v, %v", list, err)
	}
}
