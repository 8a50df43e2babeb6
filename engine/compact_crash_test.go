package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// compactScript fills a keys table, changes it, compacts, changes it again and
// compacts again.
func compactScript(s *Store, commit func(f func(*Tx) error), compact func()) {
	commit(all(createKeys("k", 3), createTable("a")))
	for i := range int64(6) {
		commit(all(put("k", i%3, i, "x", strings.Repeat("y", 300)), put("a", i, i, strings.Repeat("z", 50))))
	}
	compact()
	commit(all(put("k", 1, 77, "new", "n"), remove("a", 2)))
	compact()
	commit(put("k", 9, 99, "last", "l"))
}

// ENG-AT-25: a crash at any operation of compactions leaves the state as it was.
func TestCompactCrash(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		r := newCrashRun(t, vfs.NewMem(), 2<<10, shards)
		s := r.open(t)
		first := 0
		compactScript(s, func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }, func() {
			if first == 0 {
				first = r.mem.Ops()
			}
			must(t, s.Compact(t.Context(), nil))
		})
		must(t, s.Close())
		n := r.images(t, first, sharded(12, shards), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 12}, nil)
		t.Logf("%d operations, %d images, %d different ones opened", n.ops, n.images, n.opened)
	})
}

// ENG-AT-26, ENG-56: whatever fails in a compaction, rows are what they were and
// writers go on, unless what failed was theirs.
func TestCompactFaults(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n := 1; ; n++ {
			m := vfs.NewMem()
			f := vfs.NewFault(m)
			o := Options{Dir: t.TempDir(), FS: f, GenerationSize: 2 << 10, Create: true}
			s, err := Open(t.Context(), o)
			must(t, err)
			var armed, failed bool
			var old error
			compactScript(s, func(step func(*Tx) error) {
				lsn, err := tryUpdate(s, step)
				if err == nil {
					err = s.WaitDurable(t.Context(), lsn)
				}
				if err != nil && !errors.Is(err, ErrPoisoned) {
					t.Fatalf("operation %d: %v", n, err)
				}
				old = err
			}, func() {
				must(t, s.Checkpoint(t.Context(), nil)) // what fails from here on is the compaction's
				settled(t, s)
				before := dump(s.Durable())
				if !armed {
					armed = true
					f.Fail(vfs.Rule{Kinds: vfs.MutatingOps, N: n, After: after})
				}
				err := s.Compact(t.Context(), nil)
				f.Clear()
				if err != nil && f.Injected() == 0 {
					t.Fatalf("operation %d: %v", n, err)
				}
				failed = failed || err != nil
				if got := dump(s.Durable()); got != before {
					t.Fatalf("operation %d: after %v:\n%s\nwant:\n%s", n, err, got, before)
				}
			})
			hit := f.Injected() > 0
			if hit && failed && old != nil {
				t.Errorf("operation %d of a compaction poisoned the store: %v", n, old)
			}
			f.Clear()
			state := dump(s.Durable())
			if err := s.Close(); err != nil && !errors.Is(err, ErrPoisoned) {
				t.Fatalf("operation %d: close: %v", n, err)
			}
			if s, err = Open(context.Background(), o); err != nil {
				t.Fatalf("operation %d: reopen: %v", n, err)
			}
			if got := dump(s.Durable()); old == nil && got != state {
				t.Fatalf("operation %d: reopened:\n%s\nwant:\n%s", n, got, state)
			}
			checkStore(t, s)
			must(t, s.Compact(t.Context(), nil))
			checkStore(t, s)
			must(t, s.Close())
			list, err := func() ([]string, error) { return objectsOnDisk(t, m), nil }()
			must(t, err)
			if len(list) > 4 {
				t.Errorf("operation %d: %d files are left: %v", n, len(list), list)
			}
			if t.Failed() {
				return
			}
			if !hit {
				t.Logf("%d operations", n-1)
				break
			}
		}
	}
}
