package engine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// What is committed between the cut and the copy of the catalog, a table too, is in
// no backup, and the restored store gives its LSNs to others.
func TestBackupLeavesOutWhatIsYounger(t *testing.T) {
	folder := t.TempDir()
	dest := filepath.Join(folder, "backup")
	to := vfs.NewFault(vfs.OS(dest))
	s := openStore(t, Options{Dir: filepath.Join(folder, "store"), NoCompaction: true, Events: nothingFails(t),
		backupFS: func(string) (vfs.FS, vfs.FS) { return to, to }})
	wait(t, s, update(t, s, all(createTable("a"), createTable("dropped"), put("a", 1, 1, "x"))))
	want := dump(s.Durable())
	late := false
	to.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpRemove && op.Name == partialCatalog && !late {
			late = true
			wait(t, s, update(t, s, all(createTable("late"), put("late", 1, 1, "late"), func(tx *Tx) error {
				return tx.Apply(DropTable{tx.Schema().Lookup("dropped").Table.ID})
			})))
		}
		return nil
	})
	must(t, s.Backup(t.Context(), dest, nil))
	if !late {
		t.Fatal("nothing was committed meanwhile")
	}
	must(t, Restore(t.Context(), dest, filepath.Join(folder, "restored"), nil))
	r, err := Open(t.Context(), Options{Dir: filepath.Join(folder, "restored"), Events: nothingFails(t)})
	must(t, err)
	defer func() { must(t, r.Close()) }()
	if got := dump(r.Durable()); got != want {
		t.Errorf("restored:\n%s\nwant\n%s", got, want)
	}
	checkStore(t, r)
	wait(t, r, update(t, r, all(createTable("other"), put("other", 1, 1, "o"))))
	must(t, r.Checkpoint(t.Context(), nil))
	checkStore(t, r)
}

// Sealed files of a restored store may have the identity of the store that they were
// written in; the file that a log goes on in may not.
func TestRestoredHeaders(t *testing.T) {
	folder := t.TempDir()
	s := openStore(t, Options{Dir: filepath.Join(folder, "store"), NoCompaction: true})
	wait(t, s, update(t, s, all(createTable("a"), put("a", 1, 1, "x"))))
	must(t, s.Backup(t.Context(), filepath.Join(folder, "backup"), nil))
	dir := filepath.Join(folder, "restored")
	r := restored(t, filepath.Join(folder, "backup"), dir)
	g := r.shards[0].gen
	data := readFile(t, r.fs, g.path)
	must(t, r.Close())
	// Its header, as the store of the backup would have written it.
	to, err := siteAt(dir)
	must(t, err)
	old := newStore(Options{Dir: dir, FS: to.fs}.withDefaults(), newHome(to.fs))
	defer old.endWork()
	old.id = s.id
	must(t, old.make(&generation{number: g.number, object: g.object, path: g.path, info: g.info}, g.epoch, g.least))
	var damage *CorruptError
	if again, err := Open(t.Context(), Options{Dir: dir}); !errors.As(err, &damage) || damage.File != g.path {
		t.Errorf("%v, %v", again, err)
	}
	writeFile(t, to.fs, g.path, data)
	openRestored(t, Options{Dir: dir})
}

// A backup has all timelines: one that is open, one that was closed with commits that
// its head does not have, and one that nobody has opened yet.
func TestBackupOfTimelines(t *testing.T) {
	folder := t.TempDir()
	s := openStore(t, Options{Dir: filepath.Join(folder, "store"), NoCompaction: true})
	wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 3), put("a", 1, 1, "main"), put("k", 1, 1, "x", "y"))))
	_, err := s.CreateBranchPoint(t.Context(), "bp")
	must(t, err)
	want := map[string]string{}
	for _, name := range []string{"open", "closed", "new"} {
		_, err := s.Fork(t.Context(), name)
		must(t, err)
		if name == "new" {
			want[name] = dump(s.Durable())
			continue
		}
		f, err := s.OpenTimeline(t.Context(), name, Options{NoCompaction: true})
		must(t, err)
		wait(t, f, update(t, f, put("a", 2, 2, name)))
		want[name] = dump(f.Durable())
		if name == "open" {
			defer func() { must(t, f.Close()) }()
		} else {
			must(t, f.Close())
		}
	}
	// What a restore undoes leaves a gap in the generations.
	wait(t, s, update(t, s, put("a", 3, 3, "undone")))
	_, err = s.RestoreTo(t.Context(), "bp")
	must(t, err)
	wait(t, s, update(t, s, put("a", 4, 4, "main, too")))
	want[catalog.MainTimeline] = dump(s.Durable())
	must(t, s.Backup(t.Context(), filepath.Join(folder, "backup"), nil))
	must(t, Restore(t.Context(), filepath.Join(folder, "backup"), filepath.Join(folder, "restored"), nil))
	for _, name := range []string{catalog.MainTimeline, "open", "closed", "new"} {
		r, err := Open(t.Context(), Options{Dir: filepath.Join(folder, "restored"), Timeline: name, NoCompaction: true})
		must(t, err)
		if got := dump(r.Durable()); got != want[name] {
			t.Errorf("timeline %s:\n%s\nwant\n%s", name, got, want[name])
		}
		checkStore(t, r)
		wait(t, r, update(t, r, put("a", 9, 9, "behind the restore")))
		must(t, r.Close())
	}
}

// A timeline may be opened, compacted and collected between the copy of the catalog and
// the look at what the copy lacks: a file that is gone by then held commits, unless
// nobody had made it yet.
func TestBackupOfFilesThatAreGone(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir(), FS: vfs.NewMem(), NoCompaction: true})
	wait(t, s, update(t, s, createTable("a")))
	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	logs := func() (list []catalog.CopiedLog) {
		file := filepath.Join(t.TempDir(), "copy")
		must(t, catalog.Copy(t.Context(), s.opts.Dir, file))
		_, behind, err := catalog.PruneCopy(t.Context(), file)
		must(t, err)
		return behind
	}
	b := &backup{s: s, settled: map[string]bool{"main": true}}
	late, err := b.late(logs())
	if err != nil || len(late) != 0 {
		t.Errorf("a timeline that was never opened: late %q, %v", late, err)
	}
	dev := openTimeline(t, s, "dev", Options{})
	wait(t, dev, update(t, dev, put("a", 1, 1, "acknowledged")))
	behind := logs()
	must(t, dev.Compact(t.Context(), nil))
	eventually(t, "the log of dev to be collected", func() bool {
		collectGarbage()
		must(t, s.GC(t.Context(), nil))
		_, err := s.fs.Stat(behind[slices.IndexFunc(behind, func(l catalog.CopiedLog) bool { return l.Timeline == "dev" })].Path)
		return errors.Is(err, fs.ErrNotExist)
	})
	if late, err := b.late(behind); err != nil || !slices.Equal(late, []string{"dev"}) {
		t.Errorf("late %q, %v", late, err)
	}
	must(t, dev.Close())
}
