package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// backupFaults is a small store with a base, a branch point and a log, and a place
// for backups of it that can fail.
type backupFaults struct {
	s      *Store
	source *vfs.Fault
	want   string // its rows, without those of volatile tables
	branch string
	folder string
	to     *vfs.Fault // of the backup at hand
	left   int        // segments that backups were made without
}

func newBackupFaults(t *testing.T) *backupFaults {
	b := &backupFaults{folder: t.TempDir(), source: vfs.NewFault(vfs.NewMem())}
	b.s = openStore(t, Options{FS: b.source, NoCompaction: true, backupFS: func(string) (vfs.FS, vfs.FS) { return b.to, b.to }, Events: func(e Event) {
		if e.Kind == EventSegmentLeftOut {
			b.left++
		}
		nothingFails(t)(e)
	}})
	s := b.s
	wait(t, s, update(t, s, all(createKeys("k", 3), createTable("a"), put("k", 1, 1, "x", "y"), put("a", 1, 1, "x"))))
	_, err := s.CreateBranchPoint(t.Context(), "bp")
	must(t, err)
	wait(t, s, update(t, s, put("k", 1, 2, "xx", "yy")))
	must(t, s.Compact(t.Context(), nil))
	wait(t, s, update(t, s, put("a", 2, 2, "z")))
	must(t, s.Checkpoint(t.Context(), nil))
	quiet(t, s)
	b.want = dump(s.Durable())
	b.branch = branchDump(t, s)
	return b
}

func branchDump(t testing.TB, s *Store) string {
	t.Helper()
	snap, err := s.At(context.Background(), "bp")
	must(t, err)
	return dump(snap)
}

// source fails the test unless the store is as it was.
func (b *backupFaults) untouched(t *testing.T, at int) {
	t.Helper()
	if err := b.s.Poisoned(); err != nil {
		t.Errorf("operation %d: the store is poisoned: %v", at, err)
	}
	if got := dump(b.s.Durable()); got != b.want {
		t.Errorf("operation %d: the store is\n%s\nwas\n%s", at, got, b.want)
	}
}

// restores restores the backup in dir and fails the test unless it is the store.
func (b *backupFaults) restores(t *testing.T, at int, dir string) {
	t.Helper()
	to := filepath.Join(dir, "../restored-"+filepath.Base(dir))
	must(t, Restore(t.Context(), dir, to, nil))
	b.opens(t, at, to)
}

func (b *backupFaults) opens(t *testing.T, at int, dir string) {
	t.Helper()
	r, err := Open(t.Context(), Options{Dir: dir, NoCompaction: true})
	if err != nil {
		t.Errorf("operation %d: open of the restored store: %v", at, err)
		return
	}
	if got := dump(r.Durable()); got != b.want {
		t.Errorf("operation %d: restored\n%s\nwant\n%s", at, got, b.want)
	}
	if got := branchDump(t, r); got != b.branch {
		t.Errorf("operation %d: the branch point is\n%s\nwant\n%s", at, got, b.branch)
	}
	checkStore(t, r)
	must(t, r.Close())
}

// nothingOpens fails the test when a directory opens as a store.
func nothingOpens(t *testing.T, at int, dir string) {
	t.Helper()
	p, err := siteAt(dir)
	must(t, err)
	names, err := p.names()
	must(t, err)
	for _, create := range []bool{false, true} {
		if create && len(names) == 0 {
			break // it is as good as any empty directory
		}
		s, err := Open(context.Background(), Options{Dir: dir, Create: create, NoCompaction: true})
		if err == nil {
			t.Errorf("operation %d: %s opens as a store, at commit %d", at, dir, s.Durable().LSN())
			must(t, s.Close())
		}
	}
}

// faultStep leaves operations out where each one costs much: SQLite is slow under the
// race detector.
func faultStep(step int) int {
	if testing.Short() {
		step *= 3
	}
	if raceEnabled {
		step *= 5
	}
	return step
}

// everyFault runs f with one operation after another failing, for itself and with
// all behind it, until none does.
func everyFault(t *testing.T, kinds vfs.Kind, f func(t *testing.T, n int, r vfs.Rule) (hit bool)) {
	step := faultStep(5)
	for _, r := range []vfs.Rule{{Sticky: true}, {}, {After: true}, {Err: syscall.ENOSPC, Sticky: true}} {
		n := 1
		for ; ; n += step {
			r.Kinds, r.N = kinds, n
			if !f(t, n, r) || t.Failed() {
				break
			}
		}
		if n <= step {
			t.Errorf("%+v: %d operations", r, n)
		}
	}
}

// Whatever fails where the backup goes to, the store is as it was and its directory
// is no store; the next run goes on, and what it makes is the store.
func TestBackupFaults(t *testing.T) {
	b := newBackupFaults(t)
	run := 0
	everyFault(t, vfs.MutatingOps, func(t *testing.T, n int, r vfs.Rule) bool {
		run++
		dir := filepath.Join(b.folder, fmt.Sprint("backup ", run), "b")
		must(t, vfs.OS(b.folder).Mkdir(filepath.Base(filepath.Dir(dir))))
		b.to = vfs.NewFault(vfs.OS(dir), r)
		err := b.s.Backup(t.Context(), dir, nil)
		hit := b.to.Injected() > 0
		b.untouched(t, n)
		nothingOpens(t, n, dir)
		switch {
		case err != nil && !hit:
			t.Errorf("operation %d: %v", n, err)
		case err != nil && r.Err == syscall.ENOSPC && !errors.Is(err, ErrFull):
			t.Errorf("operation %d: without room: %v", n, err)
		}
		b.to.Clear()
		if err != nil {
			// It may be complete all the same, as with a commit.
			if err := b.s.Backup(t.Context(), dir, nil); err != nil && !errors.Is(err, ErrBackup) {
				t.Errorf("operation %d: the next run: %v", n, err)
			}
		}
		nothingOpens(t, n, dir)
		b.restores(t, n, dir)
		return hit
	})
}

// Whatever cannot be read of the store fails the backup, unless it can do without, and
// the next run goes on.
func TestBackupSourceFaults(t *testing.T) {
	b := newBackupFaults(t)
	for n := 1; ; n += faultStep(1) {
		dir := filepath.Join(b.folder, fmt.Sprint("b", n))
		b.to = vfs.NewFault(vfs.OS(dir))
		before := b.source.Injected()
		b.left = 0
		b.source.Fail(vfs.Rule{Kinds: vfs.OpOpenRead | vfs.OpRead | vfs.OpSize, N: n})
		err := b.s.Backup(t.Context(), dir, nil)
		hit := b.source.Injected() > before
		b.source.Clear()
		if failed, left := err != nil, b.left == 1; failed && left || hit != (failed || left) {
			t.Errorf("operation %d: %v, %d segments left out", n, err, b.left)
		}
		b.untouched(t, n)
		nothingOpens(t, n, dir)
		if err != nil {
			must(t, b.s.Backup(t.Context(), dir, nil))
		}
		b.restores(t, n, dir)
		if !hit {
			break
		}
	}
}

// Whatever fails where the store is restored to, nothing opens there until the
// restore has gone on to its end.
func TestRestoreFaults(t *testing.T) {
	b := newBackupFaults(t)
	backup := filepath.Join(b.folder, "backup")
	b.to = vfs.NewFault(vfs.OS(backup))
	must(t, b.s.Backup(t.Context(), backup, nil))
	from, err := siteAt(backup)
	must(t, err)
	run := 0
	everyFault(t, vfs.MutatingOps, func(t *testing.T, n int, r vfs.Rule) bool {
		run++
		dir := filepath.Join(b.folder, fmt.Sprint("restored ", run))
		to, err := siteAt(dir)
		must(t, err)
		f := vfs.NewFault(to.fs, r)
		to.fs, to.real = f, f
		err = restoreFrom(t.Context(), from, to, nil)
		hit := f.Injected() > 0
		f.Clear()
		if err != nil {
			if !hit {
				t.Errorf("operation %d: %v", n, err)
			}
			if _, missing := vfs.OS(dir).Stat(catalog.FileName); missing != nil {
				nothingOpens(t, n, dir)
				must(t, restoreFrom(t.Context(), from, to, nil))
			}
		}
		b.opens(t, n, dir)
		return hit
	})
}

// A crash at any operation of a backup, with what was not synced lost or torn, leaves
// what the next run goes on with.
func TestBackupCrash(t *testing.T) {
	b := newBackupFaults(t)
	step, images := faultStep(5), 0
	for n := 1; ; n += step {
		m := vfs.NewMem()
		dir := t.TempDir()
		b.s.opts.backupFS = func(string) (vfs.FS, vfs.FS) {
			return vfs.NewFault(m, vfs.Rule{Kinds: vfs.MutatingOps, N: n, Sticky: true}), vfs.OS(dir)
		}
		done := b.s.Backup(t.Context(), dir, nil) == nil
		for name, img := range m.CrashImages(m.Ops(), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 2, Max: 3}) {
			images++
			if err := b.goesOn(t, dir, img); err != nil {
				t.Fatalf("operation %d, image %q: %v", n, name, err)
			}
			if t.Failed() {
				t.Fatalf("operation %d, image %q", n, name)
			}
		}
		if done {
			t.Logf("%d operations, %d images", n-1, images)
			return
		}
	}
}

// goesOn runs a backup that a crash has ended, with its catalog in dir and its files
// in an image, to the end, and restores it.
func (b *backupFaults) goesOn(t *testing.T, dir string, img *vfs.Mem) error {
	again := t.TempDir()
	must(t, os.CopyFS(again, os.DirFS(dir)))
	b.s.opts.backupFS = func(string) (vfs.FS, vfs.FS) { return img, vfs.OS(again) }
	if err := b.s.Backup(t.Context(), again, nil); err != nil {
		if _, missing := img.Stat(backupManifest); missing != nil || !errors.Is(err, ErrBackup) {
			return fmt.Errorf("the next run: %w", err)
		}
	}
	from, err := siteAt(again)
	must(t, err)
	from.fs = img
	to, err := siteAt(filepath.Join(t.TempDir(), "restored"))
	must(t, err)
	if err := restoreFrom(t.Context(), from, to, nil); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	b.opens(t, 0, to.dir)
	return nil
}
