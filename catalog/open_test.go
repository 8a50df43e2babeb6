package catalog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReopen(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	c := openStore(t, Options{Dir: dir, Create: true})
	first, err := c.Initialize(ctx, Creation{Shards: 3, GenerationSize: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if !c.Info().Created || !c.Info().Initialized {
		t.Errorf("info of a new store: %+v", c.Info())
	}
	if got := first.Settings; got["shards"] != "3" || got["generation_size"] != "1048576" || got["index_catchup"] != "required" {
		t.Errorf("settings: %v", got)
	}
	if len(first.Shards) != 3 || len(first.Generations) != 3 {
		t.Fatalf("state: %+v", first)
	}
	for i, g := range first.Generations {
		if g.State != GenerationOpen || g.Generation != 1 || g.ShardID != first.Shards[i].ID || g.Path != ObjectPath(g.ObjectID, KindKV) || g.Attempt == [16]byte{} {
			t.Errorf("generation: %+v", g)
		}
	}
	if first.IndexState.ReaderFeatures != FeatureIndexCatchup || first.IndexState.WriterFeatures != FeatureIndexCatchup {
		t.Errorf("features: %+v", first.IndexState)
	}
	identity := c.Info().Identity
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}

	again := openStore(t, Options{Dir: dir})
	second, err := again.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("state changed over a reopen:\n%+v\n%+v", first, second)
	}
	if again.Info().Created || again.Info().Identity != identity {
		t.Errorf("info after reopen: %+v", again.Info())
	}
	// Asking for another creation of what exists changes nothing.
	third, err := again.Initialize(ctx, Creation{Shards: 1})
	if err != nil || fmt.Sprint(third) != fmt.Sprint(first) {
		t.Errorf("initialize again: %+v, %v", third, err)
	}
}

func TestLegacyStoreHasNeitherFeatureBit(t *testing.T) {
	_, s := newStore(t, Creation{IndexCatchup: "legacy"})
	if s.IndexState.ReaderFeatures != 0 || s.IndexState.WriterFeatures != 0 || s.Settings["index_catchup"] != "legacy" {
		t.Errorf("%+v %v", s.IndexState, s.Settings)
	}
}

func TestCreationValues(t *testing.T) {
	c := openStore(t, Options{Dir: t.TempDir(), Create: true})
	for _, bad := range []struct {
		creation Creation
		code     Code
	}{
		{Creation{Shards: 65}, CodeRange},
		{Creation{Shards: -1}, CodeRange},
		{Creation{GenerationSize: -1}, CodeRange},
		{Creation{GenerationSize: MaxID + 1}, CodeRange},
		{Creation{IndexCatchup: "later"}, CodeEncoding},
	} {
		_, err := c.Initialize(t.Context(), bad.creation)
		wantCode(t, err, bad.code)
	}
	if s, err := c.Initialize(t.Context(), Creation{Shards: 64}); err != nil || len(s.Shards) != 64 {
		t.Errorf("64 shards: %d, %v", len(s.Shards), err)
	}
}

func TestOpenMissing(t *testing.T) {
	dir := t.TempDir()
	for _, o := range []Options{{Dir: dir}, {Dir: dir, ReadOnly: true}} {
		_, err := Open(t.Context(), o)
		wantCode(t, err, CodeMissing)
		if !errors.Is(err, ErrMissing) {
			t.Errorf("not ErrMissing: %v", err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("a refused open left %v, %v", entries, err)
	}
	_, err = Open(t.Context(), Options{Dir: filepath.Join(dir, "none"), Create: true})
	wantCode(t, err, CodeIO)
	_, err = Open(t.Context(), Options{Dir: dir, ReadOnly: true, Create: true})
	wantCode(t, err, CodeReadOnly)
}

func TestOpenStrangers(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		text string
	}{
		{"text", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database. ", 300)), 0o644); err != nil {
				t.Fatal(err)
			}
		}, "not a SQLite file"},
		{"another program's database", func(t *testing.T, path string) { stranger(t, path, 0x1234) }, "0x1234"},
		{"a database without application id", func(t *testing.T, path string) { stranger(t, path, 0) }, "0x54444d4b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.make(t, filepath.Join(dir, FileName))
			before := fileBytes(t, dir)
			for _, o := range []Options{{Dir: dir}, {Dir: dir, Create: true}, {Dir: dir, ReadOnly: true}} {
				_, err := Open(t.Context(), o)
				wantCode(t, err, CodeNotStore)
				if !strings.Contains(err.Error(), c.text) {
					t.Errorf("%v does not say %q", err, c.text)
				}
			}
			if fileBytes(t, dir) != before {
				t.Error("a refused open changed the file")
			}
		})
	}
	t.Run("link", func(t *testing.T) {
		dir, other := t.TempDir(), makeStore(t, Options{})
		if err := os.Symlink(filepath.Join(other, FileName), filepath.Join(dir, FileName)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
		_, err := Open(t.Context(), Options{Dir: dir})
		wantCode(t, err, CodeNotStore)
	})
}

// stranger makes a database that is not ours.
func stranger(t *testing.T, path string, applicationID int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprintf("PRAGMA application_id = %d", applicationID), "CREATE TABLE mine(a)", "PRAGMA user_version = 99"} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPolicyDiffers(t *testing.T) {
	for column, value := range map[string]string{
		"policy": "CAST('unit=byte;group=15;block=16;layout=var;interpretation=1' AS BLOB)", "policy_block_size": "512", "algebra": "'xor/1'",
	} {
		dir := makeStore(t, Options{})
		withoutTrigger(t, dir, "catalog_info_update", fmt.Sprintf("UPDATE catalog_info SET %s = %s", column, value))
		before := fileBytes(t, dir)
		_, err := Open(t.Context(), Options{Dir: dir})
		wantCode(t, err, CodePolicy)
		if column == "policy" && (!strings.Contains(err.Error(), "layout=var") || !strings.Contains(err.Error(), "layout=row/1")) {
			t.Errorf("%v does not name both policies", err)
		}
		if fileBytes(t, dir) != before {
			t.Errorf("%s: a refused open changed the file", column)
		}
	}
}

// withoutTrigger makes an edit that a trigger refuses and puts the trigger back.
func withoutTrigger(t *testing.T, dir, trigger string, statements ...string) {
	t.Helper()
	db := shell(t, dir)
	var text string
	if err := db.QueryRowContext(t.Context(), `SELECT sql FROM sqlite_schema WHERE name = ?`, trigger).Scan(&text); err != nil {
		t.Fatal(err)
	}
	for _, s := range append(append([]string{"DROP TRIGGER " + trigger}, statements...), text) {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOldLibraryIsRefused(t *testing.T) {
	dir := makeStore(t, Options{})
	for version, ok := range map[string]bool{
		"3.51.2": false, "3.50.99": false, "2.99.0": false, "3.51": false, "garbage": false, "": false,
		"3.51.3": true, "3.51.3.1": true, "3.52.0": true, "4.0.0": true,
	} {
		c, err := Open(t.Context(), Options{Dir: dir, library: func() (string, string) { return version, "source" }})
		if ok {
			if err != nil {
				t.Errorf("%s: %v", version, err)
				continue
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		wantCode(t, err, CodeLibrary)
	}
	// Refused opens leave no diagnostics row.
	db := shell(t, dir)
	if n := count(t, db, `SELECT count(*) FROM runtime_diagnostics WHERE sqlite_version IN ('3.51.2','3.50.99','2.99.0','3.51','garbage','')`); n != 0 {
		t.Errorf("%d rows of refused libraries", n)
	}
	if n := count(t, db, `SELECT count(*) FROM runtime_diagnostics WHERE sqlite_version = '3.52.0' AND sqlite_source_id = 'source' AND note = 'opened'`); n != 1 {
		t.Errorf("%d rows of an accepted library", n)
	}
}

func TestNetworkFilesystemIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(t.Context(), Options{Dir: dir, Create: true, filesystem: func(string) (string, bool, error) { return "nfs", true, nil }})
	wantCode(t, err, CodeNetwork)
	if !strings.Contains(err.Error(), "nfs") {
		t.Errorf("%v does not name the filesystem", err)
	}
	if _, err := os.Stat(filepath.Join(dir, FileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused open made the file: %v", err)
	}
	if _, network, err := filesystemOf(dir); err != nil || network {
		t.Skipf("the temporary directory is on a network filesystem (%v, %v)", network, err)
	}
}

func TestReadOnly(t *testing.T) {
	dir := makeStore(t, Options{})
	writer := openStore(t, Options{Dir: dir})
	reader := openStore(t, Options{Dir: dir, ReadOnly: true})
	s, err := reader.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shard := s.Shards[0].ID
	for name, call := range map[string]func(context.Context) error{
		"reserve": func(ctx context.Context) error { _, err := reader.ReserveIDs(ctx, 1); return err },
		"epoch":   func(ctx context.Context) error { _, err := reader.BumpEpoch(ctx, shard); return err },
		"init":    func(ctx context.Context) error { _, err := reader.Initialize(ctx, Creation{}); return err },
		"project": func(ctx context.Context) error { return reader.ProjectSchema(ctx, Projection{}) },
	} {
		if err := call(t.Context()); !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What the writer commits is seen.
	if _, err := writer.BumpEpoch(t.Context(), shard); err != nil {
		t.Fatal(err)
	}
	if s, err = reader.State(t.Context()); err != nil || s.Shards[0].WriterEpoch != 1 {
		t.Errorf("epoch seen by the reader: %+v, %v", s.Shards, err)
	}
}

func TestClosed(t *testing.T) {
	c, _ := newStore(t, Creation{})
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Errorf("second close: %v", err)
	}
	_, err := c.State(t.Context())
	wantCode(t, err, CodeClosed)
	_, err = c.ReserveIDs(t.Context(), 1)
	wantCode(t, err, CodeClosed)
}

func TestCleanCloseEmptiesTheLog(t *testing.T) {
	dir := makeStore(t, Options{})
	for _, suffix := range []string{"-wal", "-shm", "-journal"} {
		if info, err := os.Stat(filepath.Join(dir, FileName+suffix)); err == nil && info.Size() > 0 {
			t.Errorf("%s has %d bytes after a clean close", FileName+suffix, info.Size())
		}
	}
}

func TestDirectoryNamesThatNeedEscaping(t *testing.T) {
	for _, name := range []string{"with space", "per%cent", "quest?ion", "ha#sh", "Größe", "a&b=c", "semi;colon"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Logf("%q: %v", name, err)
			continue
		}
		makeStore(t, Options{Dir: dir})
		if _, err := os.Stat(filepath.Join(dir, FileName)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
