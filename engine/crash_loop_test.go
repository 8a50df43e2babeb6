package engine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// loop runs programs of one seed after another, side by side, until enough was
// done. body calls did for each image or fault, which says whether that was the
// last one, and returns what to say of the seed.
func loop(t *testing.T, enough int, body func(t *testing.T, seed uint64, did func() (last bool)) (says string)) {
	var seeds, sum atomic.Int64
	did := func() bool { return sum.Add(1) >= int64(enough) }
	workers := runtime.GOMAXPROCS(0)
	if *crashImage > 0 {
		workers = 1
	}
	t.Run("side by side", func(t *testing.T) {
		for w := range workers {
			t.Run(fmt.Sprint(w), func(t *testing.T) {
				t.Parallel()
				for sum.Load() < int64(enough) {
					seed := *crashSeed + uint64(seeds.Add(1)-1)
					t.Logf("seed %d: %s", seed, body(t, seed, did))
					if t.Failed() || *crashImage > 0 {
						return
					}
				}
			})
		}
	})
	if n := loopsRunning(); n > 0 {
		t.Errorf("%d goroutines of closed stores are still running", n)
	}
	t.Logf("%d programs, %d done of %d", seeds.Load(), sum.Load(), enough)
}

// numbers numbers the images, or the faults, of one seed.
type numbers struct {
	mu   sync.Mutex
	last int
	test string
	seed uint64

	every int // what -crash-every has to say for the numbers to be these, if not 0
}

// next returns the next number, and whether it is one to do.
func (n *numbers) next() (int, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	return n.last, *crashImage == 0 || *crashImage == n.last
}

// reproduce is how to meet number k again.
func (n *numbers) reproduce(k int) string {
	again := fmt.Sprintf("go test ./engine -run '^%s$' -crash-seed %d -crash-image %d", n.test, n.seed, k)
	if n.every > 0 {
		again += fmt.Sprintf(" -crash-every %d", n.every)
	}
	return again
}

// shapeOf draws the shape of a store.
func shapeOf(rng *rand.Rand) Options {
	return Options{
		Shards:         []int{1, 3}[rng.IntN(2)],
		GenerationSize: []int64{1 << 10, 2 << 10, 4 << 10, 16 << 10}[rng.IntN(4)],
		Sync:           []SyncMode{SyncFull, SyncFull, SyncNormal, SyncOff}[rng.IntN(4)],
		untilClose:     true,
	}
}

func shapeText(o Options) string {
	return fmt.Sprintf("sync=%s, %d shards, generations of %d bytes", o.Sync, o.Shards, o.GenerationSize)
}

// TestCrashLoop crashes random programs at every operation. Of the images it
// opens every few; the program goes on from one of them to the next crash.
func TestCrashLoop(t *testing.T) {
	loop(t, goal(60_000, *crashImages), crashProgram)
}

func crashProgram(t *testing.T, seed uint64, did func() bool) (says string) {
	const rounds = 3
	every := sparse(7)
	rng := rand.New(rand.NewPCG(seed, 2))
	shape := shapeOf(rng)
	r := newCrashRun(t, vfs.NewMem(), shape.GenerationSize, shape.Shards)
	r.o.Sync = shape.Sync
	r.numbers = &numbers{test: t.Name()[:len("TestCrashLoop")], seed: seed, every: every}
	done := map[string]int{}
	var sum crashStats
	for round := range rounds {
		enough := false
		r.opened = func() bool { enough = did(); return enough }
		p := newProgram(r, rng)
		scheduled(t, rng.Uint64(), func(t *testing.T, s *schedule) {
			r.follow(s)
			p.run(t, 12+rng.IntN(12))
		})
		for what, n := range p.count {
			done[what] += n
		}
		if !t.Failed() {
			sum.add(r.images(t, rng.IntN(7), every, vfs.CrashOptions{Seed: rng.Uint64(), Mixtures: 12, Max: 64}, nil))
		}
		if t.Failed() || enough || round == rounds-1 {
			break
		}
		// Go on from a random crash.
		n := r.mem.Ops()/2 + rng.IntN(r.mem.Ops()/2)
		var list []*vfs.Mem
		for _, img := range r.mem.CrashImages(n, vfs.CrashOptions{Seed: rng.Uint64(), Mixtures: 4, Boundaries: r.boundaries, Max: 4}) {
			list = append(list, img)
		}
		img, cat := list[rng.IntN(len(list))], r.cats.at(n)
		r.crashed = n
		lsn := r.one(t, fmt.Sprintf("round %d goes on from op %d", round, n), cloneMem(t, img), cat, r.acked(n))
		if t.Failed() {
			break
		}
		last := r
		r = r.again(t, img, cat, lsn)
		r.numbers, r.wide = last.numbers, last.wide
	}
	return fmt.Sprintf("%s: %v; %s; %d in several shards", shapeText(shape), sum, counts(done), r.wide)
}
