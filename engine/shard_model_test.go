package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// wander runs random small transactions, most of them on several shards, with
// pauses of the syncer, checkpoints and reopens in between, and closes the
// store.
func (r *crashRun) wander(t testing.TB, rng *rand.Rand, transactions int) {
	s := r.open(t)
	names := 0
	for s.Head().Schema().Lookup(fmt.Sprintf("m%d", names)) != nil {
		names++
	}
	held := false
	var last LSN
	settle := func() {
		if held {
			r.release()
			held = false
		}
		if last != 0 {
			r.wait(t, s, last)
		}
	}
	for range transactions {
		if names == 0 || rng.IntN(20) == 0 {
			last = r.commit(t, s, createTable(fmt.Sprintf("m%d", names)))
			names++
		} else {
			name := fmt.Sprintf("m%d", rng.IntN(names))
			var steps []func(*Tx) error
			for range 1 + rng.IntN(6) {
				id := int64(rng.IntN(12))
				steps = append(steps, func(tx *Tx) error {
					_, found, err := tx.Get(tx.Schema().Lookup(name).Table.ID, id)
					if err != nil || !found || rng.IntN(3) > 0 {
						return put(name, id, id, strings.Repeat("r", rng.IntN(120)))(tx)
					}
					return remove(name, id)(tx)
				})
			}
			last = r.commit(t, s, all(steps...))
		}
		switch rng.IntN(12) {
		case 0, 1, 2:
			settle()
		case 3, 4:
			if !held {
				r.hold()
				held = true
			}
		case 5:
			settle()
			if rng.IntN(3) == 0 {
				must(t, s.Checkpoint(context.Background(), nil))
			}
		case 6:
			settle()
			if rng.IntN(4) == 0 {
				must(t, s.Close())
				s = r.open(t)
			}
		}
		if held && s.log.full() {
			settle() // the next file may wait for a seal's sync
		}
	}
	settle()
	must(t, s.Close())
}

// TestRandomShards crashes random programs at random operations, again and
// again: every image is a state that a commit left, and the program goes on
// from one of them to the next crash.
func TestRandomShards(t *testing.T) {
	programs, images := 0, 0
	for _, shards := range []int{2, 5} {
		rng := rand.New(rand.NewPCG(*crashSeed, uint64(shards)))
		r := newCrashRun(t, vfs.NewMem(), 2<<10, shards)
		for round := range 3 {
			r.wander(t, rng, 30)
			programs++
			every := max(sharded(300, shards), 1)
			c := r.images(t, 1+rng.IntN(8), every, vfs.CrashOptions{Seed: *crashSeed, Mixtures: 20}, nil)
			images += c.opened
			if t.Failed() {
				t.Fatalf("%d shards, round %d, seed %d", shards, round, *crashSeed)
			}
			// Go on from a random crash.
			n := r.mem.Ops()/2 + rng.IntN(r.mem.Ops()/2)
			var list []*vfs.Mem
			for _, img := range r.mem.CrashImages(n, vfs.CrashOptions{Seed: rng.Uint64(), Mixtures: 4, Boundaries: r.boundaries, Max: 4}) {
				list = append(list, img)
			}
			img, cat := list[rng.IntN(len(list))], r.cats.at(n)
			lsn := r.one(t, "the crash that goes on", cloneMem(t, img), cat, r.acked(n))
			r = r.again(t, img, cat, lsn)
			defer os.RemoveAll(r.cats.dir)
		}
	}
	t.Logf("%d programs, %d images opened", programs, images)
}
