package engine

import (
	"context"
	"errors"
	"strings"
	"syscall"
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
		t.Logf("%v", n)
	})
}

// ENG-AT-26, ENG-56: whatever fails in a compaction, rows are what they were and
// writers go on.
func TestCompactFaults(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 2<<10, 1)
	s := r.open(t)
	compactScript(s, func(f func(*Tx) error) { r.wait(t, s, r.commit(t, s, f)) }, func() { must(t, s.Checkpoint(t.Context(), nil)) })
	must(t, s.Compact(t.Context(), nil))
	r.wait(t, s, r.commit(t, s, put("k", 1, 78, "newer", strings.Repeat("n", 200))))
	must(t, s.Checkpoint(t.Context(), nil))
	quiet(t, s)
	must(t, s.Close())
	cat := r.cats.at(r.mem.Ops())
	for _, rule := range []vfs.Rule{{}, {After: true}, {Err: syscall.ENOSPC}, {Short: 5}} {
		failures := 0
		for n := 1; ; n++ {
			m := cloneMem(t, r.mem)
			f := vfs.NewFault(m)
			o, _, clean := place(t, r.o, cat)
			o.FS = f
			s, err := Open(t.Context(), o)
			must(t, err)
			before := dump(s.Durable())
			files := len(objectsOnDisk(t, m))
			rule.Kinds, rule.N = vfs.MutatingOps, n
			f.Fail(rule)
			err = s.Compact(t.Context(), nil)
			hit := f.Injected() > 0
			f.Clear()
			if err != nil {
				failures++
				if !hit || errors.Is(err, ErrPoisoned) || s.Poisoned() != nil || errors.Is(err, ErrFull) != (rule.Err == syscall.ENOSPC) {
					t.Errorf("operation %d: %v, poisoned %v", n, err, s.Poisoned())
				}
			}
			if got := dump(s.Durable()); got != before {
				t.Errorf("operation %d: after %v:\n%s\nwant:\n%s", n, err, got, before)
			}
			wait(t, s, update(t, s, put("k", 2, 55, "on", "and on")))
			state := dump(s.Durable())
			checkStore(t, s)
			must(t, s.Close())
			s, err = Open(context.Background(), o)
			must(t, err)
			if got := dump(s.Durable()); got != state {
				t.Errorf("operation %d: reopened:\n%s\nwant:\n%s", n, got, state)
			}
			must(t, s.Compact(t.Context(), nil))
			checkStore(t, s)
			must(t, s.Close())
			if left := objectsOnDisk(t, m); len(left) >= files {
				t.Errorf("operation %d: %d files are left of %d: %v", n, len(left), files, left)
			}
			clean()
			if t.Failed() {
				return
			}
			if !hit {
				t.Logf("%d operations, %d compactions failed", n-1, failures)
				break
			}
		}
		if failures == 0 {
			t.Error("no compaction failed")
		}
	}
}
