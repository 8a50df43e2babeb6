package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// filesOf lists the files that a timeline has and main has not, by what they are.
func filesOf(t *testing.T, s *Store, name string) map[string]string {
	t.Helper()
	files := map[string]string{}
	state, err := s.cat.StateOf(t.Context(), name)
	must(t, err)
	for _, b := range state.Base {
		files[b.Path] = "base"
	}
	for _, g := range state.Generations {
		sh := state.Shards[slices.IndexFunc(state.Shards, func(sh catalog.Shard) bool { return sh.ID == g.ShardID })]
		switch {
		case g.State == catalog.GenerationCollected, g.Generation < sh.ReplayFrom && !g.InHead, g.Generation > sh.CurrentGeneration:
		case g.State == catalog.GenerationSealed:
			files[g.Path] = "sealed"
		default:
			files[g.Path] = "open"
		}
	}
	main, err := s.cat.StateOf(t.Context(), catalog.MainTimeline)
	must(t, err)
	for _, b := range main.Base {
		delete(files, b.Path)
	}
	for _, g := range main.Generations {
		delete(files, g.Path)
	}
	return files
}

// forked makes a store with a timeline that has sealed files, a log and, if it is to be
// compacted, a base of its own.
func forked(t *testing.T, o Options, compacted bool) (s, dev *Store) {
	t.Helper()
	s = openStore(t, o)
	wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 2))))
	wait(t, s, update(t, s, all(put("a", 1, 1, "main"), put("k", 1, 1))))
	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	dev = openTimeline(t, s, "dev", Options{NoCompaction: true})
	for i := range int64(20) {
		wait(t, dev, update(t, dev, all(put("a", i, i, "dev"), put("k", i, i))))
	}
	if compacted {
		must(t, dev.Compact(t.Context(), nil))
	}
	for i := range int64(20) {
		wait(t, dev, update(t, dev, all(put("a", 100+i, i, "dev"), put("k", 100+i, 100+i))))
	}
	must(t, dev.Checkpoint(t.Context(), nil))
	for i := range int64(20) {
		wait(t, dev, update(t, dev, all(put("a", 200+i, i, "dev"), put("k", 200+i, 200+i))))
	}
	quiet(t, dev)
	return s, dev
}

// A file that only another timeline needs is checked as those of the own one: while that
// timeline is open, when it is at rest, and without opening the store.
func TestCheckFindsDamageOfTimelines(t *testing.T) { overShards(t, checkTimelinesDamage) }

func checkTimelinesDamage(t *testing.T, shards int) {
	for _, compacted := range []bool{false, true} {
		t.Run(fmt.Sprintf("compacted=%v", compacted), func(t *testing.T) {
			m := vfs.NewMem()
			s, dev := forked(t, Options{Dir: t.TempDir(), FS: m, Shards: shards, NoCompaction: true}, compacted)
			damageEach(t, m, filesOf(t, s, "dev"), compacted, func() []Finding { return findings(t, s) }, "open")
			must(t, dev.Close())
			damageEach(t, m, filesOf(t, s, "dev"), compacted, func() []Finding { return findings(t, s) }, "at rest")
			files, o := filesOf(t, s, "dev"), s.opts
			must(t, s.Close())
			damageEach(t, m, files, compacted, func() []Finding { return findingsOf(t, Options{Dir: o.Dir, FS: m}) }, "offline")
		})
	}
}

// damageEach deletes each of some files, changes a bit and cuts it, one after another.
func damageEach(t *testing.T, m *vfs.Mem, files map[string]string, compacted bool, check func() []Finding, how string) {
	t.Helper()
	kinds := map[string]int{}
	for _, kind := range files {
		kinds[kind]++
	}
	if kinds["sealed"] == 0 || kinds["open"] == 0 || compacted && kinds["base"] == 0 {
		t.Fatalf("files to damage: %v", kinds)
	}
	if found := check(); len(found) > 0 {
		t.Fatalf("%s: an undamaged store: %v", how, found)
	}
	const (
		early  = 300 // behind the header, among what was synced
		header = 40  // within the header
		bit    = 4
	)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		good := readFile(t, m, path)
		for _, way := range []string{"deleted", "flipped", "cut"} {
			switch way {
			case "deleted":
				must(t, m.Rename(path, path+".away"))
			case "flipped":
				bad := slices.Clone(good)
				bad[early] ^= bit
				writeFile(t, m, path, bad)
			case "cut":
				at := early
				if files[path] == "open" {
					// A log that ends anywhere behind its header may be what a crash left,
					// unless something intact says otherwise.
					at = header
				}
				writeFile(t, m, path, good[:at])
			}
			found := check()
			if !slices.ContainsFunc(found, func(f Finding) bool {
				return f.Severity == Damage && f.File == path && strings.Contains(f.Text, `timeline "dev"`)
			}) {
				t.Errorf("%s: %s file %s %s: %v", how, files[path], path, way, found)
			}
			if way == "deleted" {
				must(t, m.Rename(path+".away", path))
			}
			writeFile(t, m, path, good)
		}
	}
	if found := check(); len(found) > 0 {
		t.Errorf("%s: after repair: %v", how, found)
	}
}

// Timelines that are open, at rest, were never opened or share all of their files have
// no finding, and what is checked once is not read again.
func TestCheckOfSoundTimelines(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		s, dev := forked(t, Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, NoCompaction: true}, true)
		_, err := s.Fork(t.Context(), "never opened")
		must(t, err)
		branch(t, dev, "bp")
		_, err = dev.Fork(t.Context(), "of dev")
		must(t, err)
		_, err = s.ForkBranchPoint(t.Context(), "of bp", "bp")
		must(t, err)
		of := openTimeline(t, s, "of bp", Options{NoCompaction: true})
		wait(t, of, update(t, of, put("a", 1, 1, "of bp")))
		for _, line := range []*Store{s, dev, of} {
			checkStore(t, line)
		}
		must(t, dev.Close())
		checkStore(t, of)
		must(t, of.Close())
		checkStore(t, s)
		o := s.opts
		must(t, s.Close())
		if found := findingsOf(t, Options{Dir: o.Dir, FS: o.FS}); len(found) > 0 {
			t.Error(found)
		}
	})
}

// A crash at any operation leaves no damage in a timeline, whether it is opened
// afterwards or not.
func TestCheckTimelinesOfCrash(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		r := newCrashRun(t, vfs.NewMem(), 2<<10, shards)
		s := r.open(t)
		r.wait(t, s, r.commit(t, s, createTable("a")))
		_, err := s.Fork(t.Context(), "dev")
		must(t, err)
		first := r.mem.Ops()
		dev := openTimeline(t, s, "dev", Options{NoCompaction: true, GenerationSize: 2 << 10})
		for i := range int64(8) {
			wait(t, dev, update(t, dev, put("a", i, i, strings.Repeat("d", 300))))
		}
		must(t, dev.Compact(t.Context(), nil))
		wait(t, dev, update(t, dev, put("a", 9, 9, "last")))
		must(t, dev.Close())
		must(t, s.Close())
		checked := 0
		r.images(t, first, sharded(12, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 8}, func(t *testing.T, at string, img *vfs.Mem, cat string, _ LSN) {
			damage := func(f Finding) {
				if f.Severity == Damage {
					t.Errorf("%s: %s", at, f)
				}
			}
			o, _, clean := place(t, r.o, cat)
			defer clean()
			o.FS = img
			must(t, CheckFiles(context.Background(), Options{Dir: o.Dir, FS: img}, damage, nil))
			s, err := Open(context.Background(), o)
			must(t, err)
			must(t, s.Check(context.Background(), damage, nil))
			must(t, s.Close())
			checked++
		})
		if t.Logf("%d images", checked); checked == 0 {
			t.Error("nothing was checked")
		}
	})
}

// Checks of several timelines, opens, closes and drops of them, all at once: nothing is
// found and nobody waits for ever.
func TestCheckTimelinesAtOnce(t *testing.T) {
	s, dev := forked(t, Options{Dir: t.TempDir(), FS: vfs.NewMem(), NoCompaction: true}, true)
	const rounds = 6
	ended := make(chan error)
	check := func(line *Store) {
		for range rounds {
			must(t, line.Check(context.Background(), func(f Finding) { t.Error(f) }, nil))
		}
		ended <- nil
	}
	go check(s)
	go check(dev)
	go func() {
		for i := range rounds {
			name := fmt.Sprint("line ", i)
			_, err := s.ForkWithin(context.Background(), name, 0)
			must(t, err)
			line, err := s.OpenTimeline(context.Background(), name, Options{NoCompaction: true})
			must(t, err)
			wait(t, line, update(t, line, put("a", 1, 1, name)))
			must(t, line.Checkpoint(context.Background(), nil))
			must(t, line.Close())
			must(t, s.DropTimeline(context.Background(), name))
		}
		ended <- nil
	}()
	for range 3 {
		must(t, <-ended)
	}
	must(t, dev.Close())
}
