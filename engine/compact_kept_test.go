package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// keptStore is a store with a base of several files, behind which a few rows changed.
func keptStore(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 2), createTable("none"), manyRows("a", 200, "a"), manyRows("k", 200, "k"))))
	must(t, s.Compact(t.Context(), nil))
	wait(t, s, update(t, s, all(put("a", 5, 5, "changed"), remove("a", 6), put("k", 7, 7, strings.Repeat("c", 100)), remove("k", 8), put("k", 1000, 1000, "new"))))
	return s
}

// A compaction keeps files in which rows are superseded: what is read of them after a
// reopen is the state, and the catalog agrees.
func TestCompactsIntoKeptFiles(t *testing.T) {
	o := Options{Dir: tempDir(t), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Create: true, Events: nothingFails(t)}
	s := keptStore(t, o)
	before := s.base
	state := dump(s.Durable())
	wrote := s.Metrics().CompactedBytes
	must(t, s.Compact(t.Context(), nil))
	if n := s.Metrics().CompactedBytes - wrote; n > wrote/10 {
		t.Errorf("%d bytes were written, %d of the base before", n, wrote)
	}
	if len(s.base) < len(before) {
		t.Errorf("%d files, %d before", len(s.base), len(before))
	}
	for range 2 {
		baseIsState(t, s, (*root)(s.Durable()))
		if got := dump(s.Durable()); got != state {
			t.Fatalf("it is\n%s\nwant:\n%s", got, state)
		}
		logUseIsExact(t, s)
		checkStore(t, s)
		must(t, s.Close())
		var err error
		s, err = Open(t.Context(), o)
		must(t, err)
	}
	must(t, s.Close())
}

// Whatever operation of such a compaction fails, the store is as it was or as it is to
// be, and the next one succeeds.
func TestCompactsIntoKeptFilesFaults(t *testing.T) {
	for _, kinds := range []vfs.Kind{vfs.OpOpenRead, vfs.OpRead, vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir} {
		for n := 1; ; n++ {
			f := vfs.NewFault(vfs.NewMem())
			o := Options{Dir: tempDir(t), FS: f, GenerationSize: 4 << 10, NoCompaction: true, Create: true}
			s := keptStore(t, o)
			must(t, s.Checkpoint(t.Context(), nil))
			state := dump(s.Durable())
			f.Fail(vfs.Rule{Kinds: kinds, N: n})
			err := s.Compact(t.Context(), nil)
			f.Clear()
			if err != nil && errors.Is(err, ErrPoisoned) {
				t.Errorf("%v %d: %v", kinds, n, err)
			}
			if got := dump(s.Durable()); got != state {
				t.Fatalf("%v %d: %v, and it is\n%s\nwant:\n%s", kinds, n, err, got, state)
			}
			must(t, s.Compact(t.Context(), nil))
			baseIsState(t, s, (*root)(s.Durable()))
			must(t, s.Close())
			s, oerr := Open(t.Context(), o)
			must(t, oerr)
			if got := dump(s.Durable()); got != state {
				t.Fatalf("%v %d: reopened, it is\n%s\nwant:\n%s", kinds, n, got, state)
			}
			checkStore(t, s)
			must(t, s.Close())
			if err == nil && n > 1 || t.Failed() || n > 40 {
				t.Logf("%v: %d faults", kinds, n)
				break
			}
		}
	}
}

// Of a base of which a file is damaged nothing is kept, if the rows are in memory: the log
// does not grow for ever because of it, and the damage goes with the file.
func TestCompactsBesideDamage(t *testing.T) {
	for name, unindexed := range map[string]bool{"with segments": false, "without": true} {
		t.Run(name, func(t *testing.T) {
			m := vfs.NewMem()
			var told []string
			o := Options{Dir: tempDir(t), FS: m, GenerationSize: 4 << 10, NoCompaction: true, Create: true, Events: func(e Event) {
				if e.Kind == EventBackgroundFailed {
					told = append(told, e.String())
				}
			}}
			s, err := Open(t.Context(), o)
			must(t, err)
			s.compactor.unindexed = unindexed
			wait(t, s, update(t, s, all(createTable("a"), manyRows("a", 200, "a"))))
			must(t, s.Compact(t.Context(), nil))
			f := s.base[len(s.base)-1]
			x := f.fragments[len(f.fragments)-1]
			flipAt(t, m, f.path, x.start+x.bytes-20)
			wait(t, s, update(t, s, put("a", 199, 1, "changed")))
			state := dump(s.Durable())
			_, err = s.RunJob(t.Context(), JobRequest{Kind: JobCompact, auto: true})
			must(t, err)
			if len(told) != 1 || !strings.Contains(told[0], "nothing of it can be kept") {
				t.Errorf("%q", told)
			}
			baseIsState(t, s, (*root)(s.Durable()))
			checkStore(t, s)
			must(t, s.Close())
			s, err = Open(t.Context(), o)
			must(t, err)
			if got := dump(s.Durable()); got != state {
				t.Errorf("reopened:\n%s\nwant:\n%s", got, state)
			}
			must(t, s.Close())
		})
	}
}
