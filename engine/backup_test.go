package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// restored opens the store that a restore of a backup makes, checks it and returns
// it.
func restored(t testing.TB, backup, dir string) *Store {
	t.Helper()
	must(t, Restore(t.Context(), backup, dir, nil))
	return openRestored(t, Options{Dir: dir})
}

func openRestored(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), o)
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	checkStore(t, s)
	return s
}

// backupScript fills a store in all the ways that leave files: a base, generations
// behind it, tables of both kinds, an open generation.
func backupScript(t testing.TB, s *Store) {
	t.Helper()
	compactScript(s, func(f func(*Tx) error) { wait(t, s, update(t, s, f)) }, func() { must(t, s.Compact(t.Context(), nil)) })
	must(t, s.Checkpoint(t.Context(), nil))
	wait(t, s, update(t, s, all(put("k", 5, 55, "five", "f"), put("a", 7, 7, "seven"))))
}

// A restored backup is the store as it was, and a store of its own: both go on, and
// a backup of the second one is as good.
func TestBackupAndRestore(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		folder := t.TempDir()
		s := openStore(t, Options{Dir: filepath.Join(folder, "store"), Shards: shards, GenerationSize: 2 << 10, NoCompaction: true})
		backupScript(t, s)
		want := dump(s.Durable())
		var last, total int64
		must(t, s.Backup(t.Context(), filepath.Join(folder, "backup"), func(d, n int64) { last, total = d, n }))
		if last != total || total == 0 {
			t.Errorf("progress %d of %d", last, total)
		}
		if got := dump(s.Durable()); got != want {
			t.Errorf("the source is\n%s\nwas\n%s", got, want)
		}
		wait(t, s, update(t, s, put("a", 100, 100, "behind the backup")))
		r := restored(t, filepath.Join(folder, "backup"), filepath.Join(folder, "restored"))
		if got := dump(r.Durable()); got != want {
			t.Errorf("restored:\n%s\nwant\n%s", got, want)
		}
		if r.id == s.id {
			t.Error("both stores have one identity")
		}
		wait(t, r, update(t, r, all(put("a", 200, 200, "in the restored store"), put("k", 1, 1, "x", "y"))))
		must(t, r.Compact(t.Context(), nil))
		must(t, r.GC(t.Context(), nil))
		wait(t, r, update(t, r, put("k", 2, 2, "z", "y")))
		want = dump(r.Durable())
		checkStore(t, r)
		must(t, r.Backup(t.Context(), filepath.Join(folder, "second"), nil))
		again := restored(t, filepath.Join(folder, "second"), filepath.Join(folder, "third"))
		if got := dump(again.Durable()); got != want {
			t.Errorf("restored from the second backup:\n%s\nwant\n%s", got, want)
		}
		jobs, err := s.Jobs(t.Context())
		must(t, err)
		if j := jobs[len(jobs)-1]; j.Kind != JobBackup || j.State != "done" || j.Target != filepath.Join(folder, "backup") {
			t.Errorf("job %+v", j)
		}
	})
}

// An empty store has a backup, too.
func TestBackupOfNothing(t *testing.T) {
	folder := t.TempDir()
	s := openStore(t, Options{Dir: filepath.Join(folder, "store")})
	must(t, s.Backup(t.Context(), filepath.Join(folder, "backup"), nil))
	r := restored(t, filepath.Join(folder, "backup"), filepath.Join(folder, "restored"))
	wait(t, r, update(t, r, createTable("a")))
}

// What cannot be a backup's directory, or a restore's, is refused by name and left
// alone; a backup is not opened as a store.
func TestBackupRefusals(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	s := openStore(t, Options{Dir: in("store")})
	wait(t, s, update(t, s, all(createTable("a"), put("a", 1, 1, "x"))))
	other, err := Open(t.Context(), Options{Dir: in("other"), Create: true})
	must(t, err)
	must(t, other.Close())
	must(t, s.Backup(t.Context(), in("backup"), nil))
	must(t, os.Mkdir(in("foreign"), 0o700))
	must(t, os.WriteFile(filepath.Join(in("foreign"), "file"), nil, 0o600))
	must(t, os.Mkdir(in("begun"), 0o700))
	to, err := siteAt(in("begun"))
	must(t, err)
	must(t, to.writeManifest(backupPartial, &manifest{Format: backupFormat, Source: hexOf(other.id)}))
	for _, dest := range []string{"backup", "foreign", "begun", "store", "store/objects", "store/new", "other"} {
		if err := s.Backup(t.Context(), in(dest), nil); !errors.Is(err, ErrBackup) {
			t.Errorf("backup to %s: %v", dest, err)
		}
	}
	for _, c := range [][2]string{{"store", "new"}, {"begun", "new"}, {"foreign", "new"}, {"backup", "foreign"}, {"backup", "store"}, {"backup", "backup"}} {
		if err := Restore(t.Context(), in(c[0]), in(c[1]), nil); !errors.Is(err, ErrBackup) {
			t.Errorf("restore of %s in %s: %v", c[0], c[1], err)
		}
	}
	if _, err := os.Stat(in("new")); err == nil {
		t.Error("a refused restore made its directory")
	}
	for _, dir := range []string{"backup", "begun"} {
		for _, create := range []bool{false, true} {
			if s, err := Open(t.Context(), Options{Dir: in(dir), Create: create}); !errors.Is(err, ErrBackup) {
				t.Errorf("open of %s: %v, %v", dir, s, err)
			}
		}
	}
	if _, err := s.RunJob(t.Context(), JobRequest{Kind: JobBackup}); !errors.Is(err, ErrJob) {
		t.Errorf("without a target: %v", err)
	}
	r := restored(t, in("backup"), in("restored"))
	if got := text(t, r.Durable(), "a", 1); got != "x" {
		t.Errorf("%q", got)
	}
}

// A flipped bit in any file of a backup is found by the restore, which then leaves
// nothing that opens, and goes on when the file is whole again.
func TestRestoreOfDamage(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	s := openStore(t, Options{Dir: in("store"), GenerationSize: 2 << 10, NoCompaction: true})
	backupScript(t, s)
	want := dump(s.Durable())
	must(t, s.Backup(t.Context(), in("backup"), nil))
	names, err := objectFiles(vfs.OS(in("backup")))
	must(t, err)
	for _, name := range append([]string{"catalog.db"}, names...) {
		path := filepath.Join(in("backup"), name)
		data, err := os.ReadFile(path)
		must(t, err)
		bad := append([]byte(nil), data...)
		bad[len(bad)/2] ^= 4
		must(t, os.WriteFile(path, bad, 0o600))
		var damage *CorruptError
		if err := Restore(t.Context(), in("backup"), in("restored"), nil); !errors.As(err, &damage) || damage.File != name {
			t.Errorf("%s: %v", name, err)
		}
		if s, err := Open(t.Context(), Options{Dir: in("restored"), Create: true}); err == nil {
			t.Errorf("%s: the directory opens as a store of %d rows", name, s.Durable().LSN())
			must(t, s.Close())
		}
		must(t, os.WriteFile(path, data, 0o600))
	}
	r := restored(t, in("backup"), in("restored"))
	if got := dump(r.Durable()); got != want {
		t.Errorf("restored:\n%s\nwant\n%s", got, want)
	}
}

// A backup ends with its context and with the store. The next run keeps what is
// there and copies the rest; files that only the backup retained go when it ends.
func TestBackupEnds(t *testing.T) {
	folder := t.TempDir()
	var to *vfs.Fault
	s := openStore(t, Options{Dir: filepath.Join(folder, "store"), GenerationSize: 2 << 10, NoCompaction: true,
		backupFS: func(string) (vfs.FS, vfs.FS) { return to, to }})
	backupScript(t, s)
	want := dump(s.Durable())
	dest := filepath.Join(folder, "backup")
	to = vfs.NewFault(vfs.OS(dest))
	ctx, cancel := context.WithCancel(t.Context())
	files := 0
	err := s.Backup(ctx, dest, func(done, total int64) {
		if done > total/2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	jobs, err := s.Jobs(t.Context())
	must(t, err)
	if j := jobs[len(jobs)-1]; j.Kind != JobBackup || j.State != catalog.JobCancelled {
		t.Errorf("job %+v", j)
	}
	there, err := objectFiles(vfs.OS(dest))
	must(t, err)
	to = vfs.NewFault(vfs.OS(dest))
	to.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpCreate && isObject(filepath.Base(op.Name)) {
			files++
		}
		return nil
	})
	once := true
	must(t, s.Backup(t.Context(), dest, func(done, total int64) {
		if once {
			once = false
			// From here on only the backup needs what it copies.
			wait(t, s, update(t, s, put("k", 1, 500, "z", "z")))
			must(t, s.Compact(t.Context(), nil))
			collectGarbage() // lets leases end
			must(t, s.GC(t.Context(), nil))
		}
	}))
	all, err := objectFiles(vfs.OS(dest))
	must(t, err)
	if len(there) < 2 || files > len(all)-len(there)+1 { // one of them was there in part
		t.Errorf("the second run made %d of %d files, %d were there", files, len(all), len(there))
	}
	r := restored(t, dest, filepath.Join(folder, "restored"))
	if got := dump(r.Durable()); got != want {
		t.Errorf("restored:\n%s\nwant\n%s", got, want)
	}
	eventually(t, "the files that only the backup needed", func() bool {
		runtime.GC()
		must(t, s.GC(t.Context(), nil))
		plan, err := s.PlanGC(t.Context())
		must(t, err)
		return len(plan.Remove) == 0 && len(plan.Keep) < len(all)+3
	})
	// Close ends one that runs.
	other, err := Open(t.Context(), Options{Dir: filepath.Join(folder, "other"), Create: true})
	must(t, err)
	wait(t, other, update(t, other, createTable("a")))
	err = other.Backup(t.Context(), filepath.Join(folder, "other backup"), func(int64, int64) { other.endWork() })
	if !errors.Is(err, ErrClosed) {
		t.Errorf("of a store that is being closed: %v", err)
	}
	must(t, other.Close())
}
