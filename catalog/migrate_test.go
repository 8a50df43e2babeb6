package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tidemarkdb/tidemark/migrations"
)

// newer is the embedded migrations and two more.
func newer(t *testing.T, extra ...string) (fs.FS, int64) {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(migrations.Files(), "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := fs.ReadFile(migrations.Files(), name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: b}
	}
	latest, err := migrations.Latest(files)
	if err != nil {
		t.Fatal(err)
	}
	for i, sql := range extra {
		v := latest + 1 + int64(i)
		files[fmt.Sprintf("%04d_extra.sql", v)] = &fstest.MapFile{Data: fmt.Appendf(nil, "-- +goose Up\nPRAGMA user_version = %d;\n%s\n", v, sql)}
	}
	return files, latest
}

const (
	extraColumn = `ALTER TABLE owners ADD COLUMN note TEXT CHECK (note IS NULL OR length(note) > 0);`
	extraTable  = `CREATE TABLE later (a INTEGER NOT NULL PRIMARY KEY) STRICT;`
)

func TestOlderCatalogIsMigrated(t *testing.T) {
	ctx := t.Context()
	dir := makeStore(t, Options{})
	files, old := newer(t, extraColumn, extraTable)

	_, err := Open(ctx, Options{Dir: dir, ReadOnly: true, files: files})
	wantCode(t, err, CodeVersion)
	if !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), fmt.Sprint(old)) || !strings.Contains(err.Error(), fmt.Sprint(old+2)) {
		t.Errorf("read-only open of an older catalog: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, CopyName(old))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a read-only open made a copy: %v", err)
	}

	c := openStore(t, Options{Dir: dir, files: files})
	if c.Info().Version != old+2 {
		t.Errorf("version after migration: %d", c.Info().Version)
	}
	if _, err := c.State(ctx); err != nil {
		t.Error(err)
	}
	// The copy is the store as it was: this program, at the old version, opens it.
	before := t.TempDir()
	b, err := os.ReadFile(filepath.Join(dir, CopyName(old)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(before, FileName), b, 0o644); err != nil {
		t.Fatal(err)
	}
	if copied := openStore(t, Options{Dir: before}); copied.Info().Version != old || copied.Info().Identity != c.Info().Identity {
		t.Errorf("copy: %+v", copied.Info())
	}
	if _, err := os.Stat(filepath.Join(dir, CopyName(old)+".tmp")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a partial copy was left: %v", err)
	}
}

// TestInterruptedMigration stops a migration of two versions at each of its
// COMMITs. Every state in between is a valid catalog, and the next open goes on.
func TestInterruptedMigration(t *testing.T) {
	files, old := newer(t, extraColumn, extraTable)
	for n := 1; n <= 2; n++ {
		for _, mode := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%d-%s", n, mode), func(t *testing.T) {
				dir := makeStore(t, Options{})
				fault := &seamAt{n: n, mode: mode}
				_, err := Open(t.Context(), Options{Dir: dir, files: files, Fault: fault.seam()})
				if !errors.Is(err, errInjected) {
					t.Fatalf("error is %v (commits %v)", err, fault.seen)
				}
				done := old + int64(n) - 1
				if mode == "after" {
					done++
				}
				db := shell(t, dir)
				if got := count(t, db, "PRAGMA user_version"); int64(got) != done {
					t.Errorf("user_version is %d, want %d", got, done)
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				if c := openStore(t, Options{Dir: dir, files: files}); c.Info().Version != old+2 {
					t.Errorf("version: %d", c.Info().Version)
				}
			})
		}
	}
}

// TestFailingMigration: a migration that SQLite refuses leaves the version before it.
func TestFailingMigration(t *testing.T) {
	dir := makeStore(t, Options{})
	files, old := newer(t, extraTable, extraTable) // the second cannot create it again
	_, err := Open(t.Context(), Options{Dir: dir, files: files})
	if err == nil || !strings.Contains(err.Error(), "later") || !strings.Contains(err.Error(), fmt.Sprintf("migration %d", old+2)) {
		t.Fatalf("error is %v", err)
	}
	oneMore, _ := newer(t, extraTable)
	if c := openStore(t, Options{Dir: dir, files: oneMore}); c.Info().Version != old+1 {
		t.Errorf("version: %d", c.Info().Version)
	}
}

// TestMigrationWithoutVersion: a file that forgets user_version is noticed.
func TestMigrationWithoutVersion(t *testing.T) {
	dir := makeStore(t, Options{})
	files, old := newer(t, fmt.Sprintf("PRAGMA user_version = 77; %s", extraTable))
	_, err := Open(t.Context(), Options{Dir: dir, files: files})
	wantCode(t, err, CodeVersion)
	if !strings.Contains(err.Error(), fmt.Sprint(old+1)) {
		t.Errorf("%v", err)
	}
}

func TestNewerCatalogIsRefused(t *testing.T) {
	files, old := newer(t, extraColumn)
	upgraded := makeStore(t, Options{files: files})
	onlyPragma := makeStore(t, Options{})
	edit(t, onlyPragma, fmt.Sprintf("PRAGMA user_version = %d", old+1))
	onlyTable := makeStore(t, Options{})
	edit(t, onlyTable, fmt.Sprintf("INSERT INTO %s(version_id, is_applied) VALUES (%d, 1)", migrations.Table, old+1))
	for name, dir := range map[string]string{"upgraded": upgraded, "user_version": onlyPragma, "version table": onlyTable} {
		before := fileBytes(t, dir)
		for _, o := range []Options{{Dir: dir}, {Dir: dir, Create: true}, {Dir: dir, ReadOnly: true}} {
			_, err := Open(t.Context(), o)
			wantCode(t, err, CodeVersion)
			if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), fmt.Sprintf("version %d", old+1)) || !strings.Contains(err.Error(), fmt.Sprintf("up to %d", old)) {
				t.Errorf("%s: %v does not name both versions", name, err)
			}
		}
		if fileBytes(t, dir) != before {
			t.Errorf("%s: a refused open changed the file", name)
		}
	}
}

func TestVersionsDisagree(t *testing.T) {
	dir := makeStore(t, Options{})
	edit(t, dir, "PRAGMA user_version = 0")
	_, err := Open(t.Context(), Options{Dir: dir})
	wantCode(t, err, CodeCorrupt)
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("not ErrCorrupt: %v", err)
	}
}

func TestCopyWhileOpen(t *testing.T) {
	ctx := t.Context()
	c, s := newStore(t, Creation{})
	if _, err := c.BumpEpoch(ctx, s.Shards[0].ID); err != nil {
		t.Fatal(err)
	}
	dest := t.TempDir()
	if err := Copy(ctx, c.options.Dir, filepath.Join(dest, FileName)); err != nil {
		t.Fatal(err)
	}
	copied := openStore(t, Options{Dir: dest})
	if got, err := copied.State(ctx); err != nil || got.Shards[0].WriterEpoch != 1 {
		t.Errorf("copy: %+v, %v", got.Shards, err)
	}
	err := Copy(ctx, c.options.Dir, filepath.Join(dest, FileName))
	if err == nil {
		t.Error("a copy overwrote a file")
	}
}

// TestCopyInsideSeam is what a crash image does: a copy after each COMMIT, from
// within the call that committed.
func TestCopyInsideSeam(t *testing.T) {
	ctx := t.Context()
	dir, images := t.TempDir(), t.TempDir()
	n := 0
	seam := &Seam{Commit: func(_ string, commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		n++
		image := filepath.Join(images, fmt.Sprint(n))
		return errors.Join(os.Mkdir(image, 0o755), Copy(ctx, dir, filepath.Join(image, FileName)))
	}}
	makeStore(t, Options{Dir: dir, Fault: seam})
	for i := 1; i <= n; i++ {
		makeStore(t, Options{Dir: filepath.Join(images, fmt.Sprint(i))})
	}
	if n < 3 {
		t.Errorf("only %d commits", n)
	}
}
