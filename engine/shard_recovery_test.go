package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// TestMissingInOneShard takes a commit out of one of its shards, each in turn,
// with later commits in the others: without a claim all shards are cut before
// it, with one the file is damaged.
func TestMissingInOneShard(t *testing.T) {
	damages := []struct {
		what string
		do   func(data []byte, from, to, commit int64) []byte
	}{
		{"all of it", func(data []byte, from, to, commit int64) []byte { clear(data[from:to]); return data }},
		{"its commit", func(data []byte, from, to, commit int64) []byte { clear(data[commit:to]); return data }},
		{"a bit of its row", func(data []byte, from, to, commit int64) []byte { data[from+9] ^= 1; return data }},
		{"a bit of the crc", func(data []byte, from, to, commit int64) []byte { data[commit+4] ^= 1; return data }},
		{"all that follows", func(data []byte, from, to, commit int64) []byte { clear(data[from:]); return data }},
		{"the end of the log", func(data []byte, from, to, commit int64) []byte { return data[:from] }},
	}
	images, combinations := 0, 0
	for lost := range 3 {
		for _, claimed := range []bool{false, true} {
			for _, later := range [][]int{nil, {(lost + 1) % 3}, {lost}, {0, 1, 2}, {(lost + 2) % 3, lost}} {
				r := newCrashRun(t, vfs.NewMem(), 0, 3)
				s := r.open(t)
				r.wait(t, s, r.commit(t, s, createTable("t")))
				r.wait(t, s, r.commit(t, s, all(put("t", inShard(s, "t", 0, 0), 1, "a"), put("t", inShard(s, "t", 1, 0), 1, "b"), put("t", inShard(s, "t", 2, 0), 1, "c"))))
				path := s.shards[lost].gen.path
				from := tails(s)[lost]
				if !claimed {
					r.hold()
				}
				var steps []func(*Tx) error
				for k := range 3 {
					steps = append(steps, put("t", inShard(s, "t", k, 1), k, "missing"))
				}
				missing := r.commit(t, s, all(steps...))
				to := tails(s)[lost]
				commit := to - wal.CommitSize(&s.shards[lost].commit)
				for i, k := range later {
					r.commit(t, s, put("t", inShard(s, "t", k, 2+i), k, "later"))
				}
				if claimed {
					r.wait(t, s, s.Head().LSN())
					if len(later) > 0 { // the last one says that all before was synced
						r.wait(t, s, r.commit(t, s, put("t", inShard(s, "t", (lost+1)%3, 9), 9, "claim")))
					}
				}
				n := r.mem.Ops()
				img, cat := cloneMem(t, r.mem), r.cats.at(n)
				if !claimed {
					r.release()
				}
				must(t, s.Close())
				// A claim in the same shard goes with what follows.
				combinations++
				for i, damage := range damages {
					if *crashEvery != 1 && (i+combinations)%3 != 0 || testing.Short() && combinations%4 != 0 {
						continue
					}
					img := cloneMem(t, img)
					writeFile(t, img, path, damage.do(readFile(t, img, path), from, to, commit))
					at := fmt.Sprintf("shard %d lost %s of commit %d, later commits in %v, claimed %t", lost, damage.what, missing, later, claimed)
					images++
					if !claimed || len(later) == 0 {
						if lsn := r.one(t, at, img, cat, missing-1); lsn != missing-1 {
							t.Errorf("%s: opened at LSN %d", at, lsn)
						}
						continue
					}
					dir, clean := restore(t, cat)
					before := contents(t, img)
					o := r.o
					o.Dir, o.FS, o.CatalogSeam = dir, img, nil
					_, err := Open(context.Background(), o)
					var bad *CorruptError
					if !errors.As(err, &bad) || bad.File != path || bad.Offset < from || bad.Offset >= to {
						t.Errorf("%s: open: %v; the commit lies at %d of %s", at, err, from, path)
					}
					if contents(t, img) != before {
						t.Errorf("%s: the refused open changed files", at)
					}
					clean()
				}
				if t.Failed() {
					return
				}
			}
		}
	}
	t.Logf("%d images", images)
}

// TestUnequalRotation crashes after one shard went on in its next file and the
// others did not: their files were cut at the same LSN and are left, too.
func TestUnequalRotation(t *testing.T) {
	for k := range 6 {
		ahead, full := k%3, (k%3+k/3)%3 // the shard whose file is full may be another one
		r := newCrashRun(t, vfs.NewMem(), 2<<10, 3)
		s := r.open(t)
		s.sealing.RLock() // nothing is sealed before the crash
		r.wait(t, s, r.commit(t, s, createTable("t")))
		for k := range 3 {
			r.wait(t, s, r.commit(t, s, put("t", inShard(s, "t", k, 0), k, "x")))
		}
		r.wait(t, s, r.commit(t, s, put("t", inShard(s, "t", full, 1), 1, strings.Repeat("y", 3000))))
		r.wait(t, s, r.commit(t, s, put("t", inShard(s, "t", ahead, 2), 1, "next file")))
		cut := s.Head().LSN() - 1
		n := r.mem.Ops()
		img, cat := r.mem.At(n), r.cats.at(n)
		s.sealing.RUnlock()
		must(t, s.Close())
		img.SetJournalLimit(64 << 20)
		next := r.again(t, img, cat, cut+1)
		defer os.RemoveAll(next.cats.dir)
		s = next.open(t)
		for k := range 3 {
			next.wait(t, s, next.commit(t, s, put("t", inShard(s, "t", k, 3), 1, "behind")))
		}
		quiet(t, s)
		infos := s.GenerationInfos()
		for _, g := range infos {
			if g.Generation == 1 && (g.State != "sealed" || g.LastLSN > cut) || g.Generation == 2 && g.FirstLSN <= cut {
				t.Errorf("shard %d is ahead, %d was full: %+v", ahead, full, g)
			}
		}
		checkGenerations(t, s, s.Head().LSN())
		checkStore(t, s)
		must(t, s.Close())
	}
}
