package engine

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// findingsOf returns what CheckFiles finds.
func findingsOf(t *testing.T, o Options) (found []Finding) {
	t.Helper()
	must(t, CheckFiles(t.Context(), o, func(f Finding) { found = append(found, f) }, nil))
	return found
}

// TestCheckFilesFindsAll damages four files of a store, which Open refuses for
// the first of them.
func TestCheckFilesFindsAll(t *testing.T) { overShards(t, checkFilesFindsAll) }

func checkFilesFindsAll(t *testing.T, shards int) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Create: true, GenerationSize: 1 << 10, Shards: shards}
	s, err := Open(t.Context(), o)
	must(t, err)
	for k := range 40 {
		wait(t, s, update(t, s, step(k, "a")))
	}
	quiet(t, s)
	var used []string
	for _, g := range s.GenerationInfos() {
		if g.State == catalog.GenerationSealed {
			used = append(used, g.File)
		}
	}
	must(t, s.Close())
	if found := findingsOf(t, o); len(found) > 0 {
		t.Fatalf("an undamaged store: %v", found)
	}
	if len(used) < 4 {
		t.Fatalf("%d sealed generations", len(used))
	}
	want := map[string]int64{}
	flip := func(name string, at func(data []byte, start int64) int64) {
		data := readFile(t, m, name)
		_, start, err := wal.ReadHeader(bytes.NewReader(data), int64(len(data)))
		must(t, err)
		off := at(data, start)
		data[off+9] ^= 1
		writeFile(t, m, name, data)
		want[name] = off
	}
	flip(used[0], func(_ []byte, start int64) int64 { return start })
	flip(used[1], func([]byte, int64) int64 { return 0 })
	flip(used[2], func(data []byte, start int64) int64 { // the footer
		h, _, err := wal.ReadHeader(bytes.NewReader(data), int64(len(data)))
		must(t, err)
		last := int64(0)
		for sc := wal.NewScanner(bytes.NewReader(data), start, int64(len(data)), h.Salt); ; {
			fr, ok := sc.Next()
			if !ok {
				return last
			}
			last = fr.Offset
		}
	})
	must(t, m.Remove(used[3]))
	want[used[3]] = 0
	const stray = "objects/00000000000f0000.kv"
	f, err := m.Create(stray)
	must(t, err)
	must(t, f.Close())
	var first *CorruptError
	if _, err := Open(t.Context(), o); !errors.As(err, &first) {
		t.Fatalf("opened: %v", err)
	}
	found := findingsOf(t, o)
	strays := 0
	for _, f := range found {
		switch {
		case f.Severity == Warning && f.File == stray:
			strays++
		case f.Severity == Damage && f.Offset == want[f.File]:
			want[f.File] = -1
		}
	}
	for name, off := range want {
		if off >= 0 {
			t.Errorf("%s at %d is not among %v", name, off, found)
		}
	}
	if strays != 1 {
		t.Errorf("%d strays in %v", strays, found)
	}
}

// TestCheckFilesAgreesWithOpen flips bits of a closed store: what Open refuses,
// CheckFiles finds.
func TestCheckFilesAgreesWithOpen(t *testing.T) { overShards(t, checkFilesAgreesWithOpen) }

func checkFilesAgreesWithOpen(t *testing.T, shards int) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Create: true, GenerationSize: 4 << 10, Shards: shards}
	s, err := Open(t.Context(), o)
	must(t, err)
	for k := range 10 {
		wait(t, s, update(t, s, step(k, "a")))
	}
	quiet(t, s)
	infos := s.GenerationInfos()
	must(t, s.Close())
	refused, tried := 0, 0
	every := int64(thinned(199))
	for _, g := range infos {
		data := readFile(t, m, g.File)
		for off := int64(0); off < min(int64(len(data)), g.Bytes+64); off += every {
			data[off] ^= 4
			writeFile(t, m, g.File, data)
			tried++
			found := findingsOf(t, o)
			bad := false
			for _, f := range found {
				bad = bad || f.Severity == Damage
			}
			img := cloneMem(t, m)
			opened, err := Open(t.Context(), Options{Dir: copyOf(t, o.Dir), FS: img})
			if err == nil {
				must(t, opened.Close())
			}
			var c *CorruptError
			switch refuses := errors.As(err, &c); {
			case err != nil && !refuses:
				t.Fatal(err)
			case refuses != bad:
				t.Errorf("%s at %d: open says %v, the check found %v", g.File, off, err, found)
			case refuses:
				refused++
			}
			data[off] ^= 4
		}
		writeFile(t, m, g.File, data)
	}
	t.Logf("%d bits flipped, %d of them refused", tried, refused)
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// TestCheckFilesOfCrash finds no damage in what a crash leaves.
func TestCheckFilesOfCrash(t *testing.T) { overShards(t, checkFilesOfCrash) }

func checkFilesOfCrash(t *testing.T, shards int) {
	r := newCrashRun(t, vfs.NewMem(), 1<<10, shards)
	s := r.open(t)
	r.script(t, s, 0, 12, "a", func(k int) bool { return k%8 > 2 })
	must(t, s.Close())
	checked := 0
	r.images(t, 0, sharded(60, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 24}, func(t *testing.T, at string, img *vfs.Mem, cat string, _ LSN) {
		if cat == "" {
			return
		}
		dir, clean := restore(t, cat)
		defer clean()
		err := CheckFiles(context.Background(), Options{Dir: dir, FS: img}, func(f Finding) {
			if f.Severity == Damage {
				t.Errorf("%s: %s", at, f)
			}
		}, nil)
		if err != nil && !errors.Is(err, catalog.ErrUnfinished) {
			t.Errorf("%s: %v", at, err)
		}
		checked++
	})
	if t.Logf("%d images", checked); checked == 0 {
		t.Error("nothing was checked")
	}
}

// copyOf is a copy of a directory without directories.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	must(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}
