package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

var updateGolden = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", path, got, want)
	}
}

// fixedClock makes stores whose bytes do not depend on when they were made.
func fixedClock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }

// TestGoldenStore opens a store that an earlier version of the program wrote:
// several sealed generations, an open one, indexes, a view, in one log and in
// three. A store written once is never written anew; a change of format adds
// another one.
func TestGoldenStore(t *testing.T) {
	t.Run("one shard", func(t *testing.T) { goldenStore(t, "store-1", 1, goldenRows) })
	t.Run("three shards", func(t *testing.T) { goldenStore(t, "store-shards-1", 3, goldenRows) })
	t.Run("keys, one shard", func(t *testing.T) { goldenStore(t, "store-keys-1", 1, goldenKeys) })
	t.Run("keys, three shards", func(t *testing.T) { goldenStore(t, "store-keys-shards-1", 3, goldenKeys) })
	t.Run("altered, one shard", func(t *testing.T) { goldenStore(t, "store-altered-1", 1, goldenAltered) })
	t.Run("altered, three shards", func(t *testing.T) { goldenStore(t, "store-altered-shards-1", 3, goldenAltered) })
}

func goldenStore(t *testing.T, name string, shards int, write func(*testing.T, Options)) {
	archive, content := "testdata/"+name+".tar.gz", name+".txt"
	if _, err := os.Stat(archive); *updateGolden && os.IsNotExist(err) {
		o := Options{Dir: t.TempDir(), Create: true, GenerationSize: 2 << 10, Now: fixedClock, Shards: shards}
		write(t, o)
		pack(t, o.Dir, archive)
	}
	dir := t.TempDir()
	unpack(t, archive, dir)
	s, err := Open(t.Context(), Options{Dir: dir, GenerationSize: 2 << 10})
	must(t, err)
	golden(t, content, dump(s.Durable()))
	checkStore(t, s)
	if len(s.shards) != shards {
		t.Errorf("%d shards", len(s.shards))
	}
	// It is not only readable.
	wait(t, s, update(t, s, put("t", 1000, 1, "written by this version")))
	must(t, s.Close())
	s, err = Open(t.Context(), Options{Dir: dir})
	must(t, err)
	if got := text(t, s.Durable(), "t", 1000); got != "written by this version" {
		t.Errorf("read %q", got)
	}
	must(t, s.Close())
	checkLeaks(t, nil)
}

func goldenRows(t *testing.T, o Options) {
	s, err := Open(t.Context(), o)
	must(t, err)
	for k := range 20 {
		name := []string{"t", "u"}[k%2]
		switch {
		case k < 2:
			wait(t, s, update(t, s, createTable(name)))
		case k == 12:
			wait(t, s, update(t, s, func(tx *Tx) error {
				def := tx.Schema().Lookup("t").Table
				if err := tx.Apply(CreateIndex{Table: def.ID, Index: testIndex("t_both", true, 1, 0)}); err != nil {
					return err
				}
				return tx.Apply(CreateObject{Object: Object{Kind: KindView, Name: "v", SQL: "CREATE VIEW v AS SELECT 1"}})
			}))
		case k == 15:
			must(t, s.Close())
			s, err = Open(t.Context(), o)
			must(t, err)
		default:
			wait(t, s, update(t, s, all(
				put(name, int64(k), k, strings.Repeat("golden ", k*4)),
				put(name, int64(k+100), nil, 1.5),
				put(name, int64(2+k%2), k, []byte{byte(k), 0, 255}))))
		}
	}
	wait(t, s, update(t, s, remove("t", 6)))
	must(t, s.Close())
}

// goldenKeys has a table of which only keys are in memory, with chains of all
// lengths in sealed and open files, beside one that is in memory.
func goldenKeys(t *testing.T, o Options) {
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createTable("t"), createKeys("k", 4))))
	for n := range 60 {
		if n == 40 {
			must(t, s.Close())
			s, err = Open(t.Context(), o)
			must(t, err)
		}
		id := int64(n % 4)
		if n%4 == 3 {
			id = int64(3 + n/20)
		}
		wait(t, s, update(t, s, all(
			put("k", id, id, fmt.Sprintf("golden %d", n), strings.Repeat("key ", 20), nil),
			put("k", 1, 1, "changed every time", strings.Repeat("key ", 20), n),
			put("t", int64(n%7), n, "in memory"))))
	}
	wait(t, s, update(t, s, remove("k", 2)))
	must(t, s.Close())
}

// goldenAltered has tables whose records end early, with values for what they lack, with
// dropped and computed columns and partial indexes, and a view and a trigger that were
// replaced; half of it is in a base.
func goldenAltered(t *testing.T, o Options) {
	s, err := Open(t.Context(), o)
	must(t, err)
	alter := func(name string, change func(*TableDef)) {
		wait(t, s, update(t, s, func(tx *Tx) error {
			def := *tx.Schema().Lookup(name).Table
			def.Columns, def.Indexes = slices.Clone(def.Columns), slices.Clone(def.Indexes)
			change(&def)
			return tx.Apply(ReplaceTable{Def: &def})
		}))
	}
	fill := func(from int) {
		for n := from; n < from+6; n++ {
			vals := []any{n, fmt.Sprintf("golden %d", n), n % 2, nil, n * 10}
			for _, name := range []string{"t", "k"} {
				width := 2
				if def := s.Head().Schema().Lookup(name).Table; from > 0 {
					width = len(def.Columns)
				}
				wait(t, s, update(t, s, put(name, int64(n), vals[:width]...)))
			}
		}
	}
	wait(t, s, update(t, s, all(createTable("t"), createKeys("k", 2),
		func(tx *Tx) error {
			for _, object := range []Object{
				{Kind: KindView, Name: "v", TblName: "v", SQL: "CREATE VIEW v AS SELECT 1"},
				{Kind: KindTrigger, Name: "tr", TblName: "v", SQL: "CREATE TRIGGER tr …"},
			} {
				if err := tx.Apply(CreateObject{Object: object}); err != nil {
					return err
				}
			}
			return nil
		})))
	fill(0)
	for _, name := range []string{"t", "k"} {
		alter(name, func(def *TableDef) {
			def.Columns = append(def.Columns, Column{ID: 3, Name: "where", Affinity: row.AffBlob, Kind: ColumnComputed, Missing: row.IntValue(1)},
				Column{ID: 4, Name: "gone", Affinity: row.AffText, Missing: row.TextValue("missing")})
			ix := testIndex(name+"_part", name == "k", 0)
			ix.Where = 3
			def.Indexes = append(def.Indexes, ix)
		})
		alter(name, func(def *TableDef) {
			def.Columns[3].Kind, def.Columns[3].Missing = ColumnDropped, row.Value{}
			def.Columns = append(def.Columns, Column{ID: 5, Name: "stored", Affinity: row.AffReal, Kind: ColumnStored, Missing: row.RealValue(0.5)})
			def.Indexes = append(def.Indexes, testIndex(name+"_real", false, 4))
		})
	}
	must(t, s.Compact(t.Context(), nil))
	fill(4)
	wait(t, s, update(t, s, func(tx *Tx) error {
		now := Object{Kind: KindTrigger, Name: "tr", TblName: "v", SQL: "CREATE TRIGGER tr … on another table"}
		return tx.Apply(ReplaceObject{Kind: KindTrigger, Name: "tr", Object: now})
	}))
	wait(t, s, update(t, s, remove("k", 1)))
	must(t, s.Close())
}

// pack keeps a store as an archive.
func pack(t *testing.T, dir, archive string) {
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for _, e := range []string{"catalog.db", "objects"} {
		must(t, filepath.WalkDir(filepath.Join(dir, e), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if err := tw.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(data)), ModTime: fixedClock()}); err != nil {
				return err
			}
			_, err = tw.Write(data)
			return err
		}))
	}
	must(t, tw.Close())
	must(t, zw.Close())
	must(t, os.MkdirAll("testdata", 0o755))
	must(t, os.WriteFile(archive, buf.Bytes(), 0o644))
}

func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	data, err := os.ReadFile(archive)
	must(t, err)
	zr, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return
		}
		must(t, err)
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		b, err := io.ReadAll(tr)
		must(t, err)
		must(t, os.WriteFile(path, b, 0o644))
	}
}

// TestGoldenTrace (ENG-AT-01) pins the order of file operations, on which durability
// rests: what is synced before what is relied on.
func TestGoldenTrace(t *testing.T) {
	tr := vfs.NewTrace(vfs.NewMem(), vfs.MutatingOps)
	o := Options{Dir: t.TempDir(), FS: tr, Create: true, GenerationSize: 1 << 10, Now: fixedClock}
	var b strings.Builder
	part := func(name string) {
		// The syncer writes LOCK beside what the other goroutines do, and a seal
		// goes on beside commits to the next generation: those come first here.
		lines := slices.DeleteFunc(tr.Take(), func(l string) bool { return strings.HasPrefix(l, "lockwrite") })
		if strings.HasSuffix(name, "and the seal") {
			slices.SortStableFunc(lines, func(a, b string) int {
				next := func(l string) bool { return strings.Contains(l, "000b.kv") }
				switch {
				case next(a) == next(b):
					return 0
				case next(a):
					return -1
				}
				return 1
			})
		}
		b.WriteString("# " + name + "\n" + strings.Join(lines, "\n") + "\n")
	}
	s, err := Open(context.Background(), o)
	must(t, err)
	part("create")
	wait(t, s, update(t, s, createTable("t")))
	settled(t, s)
	part("create table")
	wait(t, s, update(t, s, put("t", 1, 1, "a")))
	settled(t, s)
	part("insert")
	wait(t, s, update(t, s, put("t", 2, 2, strings.Repeat("b", 1200))))
	settled(t, s)
	part("insert that fills the generation, and the next file")
	wait(t, s, update(t, s, put("t", 3, 3, "c")))
	settled(t, s)
	part("insert into the next generation, and the seal")
	must(t, s.Close())
	part("close")
	s, err = Open(context.Background(), o)
	must(t, err)
	part("open")
	must(t, s.Close())
	part("close without a commit")
	golden(t, "trace.txt", b.String())
}

// settled waits until no goroutine of the store has anything to do.
func settled(t *testing.T, s *Store) {
	t.Helper()
	quiet(t, s)
	eventually(t, "LOCK to be written", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.told == s.durable.Load().lsn
	})
}
