package engine

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// record is what a program did to a store: the state behind every commit, and
// after how many file operations which commit was acknowledged.
type record struct {
	states   map[LSN]string
	acks     []ack
	branches map[string]*branchRecord
}

type ack struct {
	op  int
	lsn LSN
}

// acked is the newest commit that was acknowledged by operation n.
func (h *record) acked(n int) LSN {
	last := LSN(0)
	for _, a := range h.acks {
		if a.op <= n {
			last = max(last, a.lsn)
		}
	}
	return last
}

// crashRun is a program on a simulated disk, with the catalog as it was.
type crashRun struct {
	record
	mem  *vfs.Mem
	cats *catalogs
	o    Options
	wide int // transactions in several shards
	undo int // restores, each with an LSN of which no generation tells

	crashed int // operation of the crash at hand, 0 when that is not known

	sched   *schedule          // of the program, if it has one
	numbers *numbers           // of its images, if they have some
	opened  func() (last bool) // called behind each image, if set

	// While held is set, operations of these kinds wait.
	mu    sync.Mutex
	held  chan struct{}
	kinds vfs.Kind

	blocked atomic.Int64 // operations that waited so
}

func newCrashRun(t testing.TB, mem *vfs.Mem, generationSize int64, shards int) *crashRun {
	if shards == 0 {
		shards = *testShards
	}
	r := &crashRun{mem: mem}
	r.cats = newCatalogs(t, mem)
	r.states = map[LSN]string{0: ""}
	r.branches = map[string]*branchRecord{}
	fault := vfs.NewFault(mem)
	fault.SetHook(func(op vfs.Op) error {
		r.mu.Lock()
		held, kinds := r.held, r.kinds
		r.mu.Unlock()
		if held != nil && op.Kind&kinds != 0 {
			r.blocked.Add(1)
			<-held
		}
		return nil
	})
	r.o = Options{Dir: r.cats.dir, FS: fault, Create: true, CatalogSeam: r.cats.seam(), GenerationSize: generationSize, Shards: shards, untilClose: true}
	return r
}

func (r *crashRun) open(t testing.TB) *Store {
	t.Helper()
	s, err := Open(context.Background(), r.o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hold keeps the log from being synced, so that commits gather.
func (r *crashRun) hold() { r.holdKinds(vfs.OpSyncData) }

func (r *crashRun) holdKinds(kinds vfs.Kind) {
	if r.sched != nil {
		r.sched.hold(kinds)
		return
	}
	r.mu.Lock()
	r.held, r.kinds = make(chan struct{}), kinds
	r.mu.Unlock()
}

// waitHeld waits until an operation waits.
func (r *crashRun) waitHeld(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(time.Minute); r.blocked.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is held")
		}
	}
}

func (r *crashRun) holds() bool {
	if r.sched != nil {
		return r.sched.holds()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held != nil
}

func (r *crashRun) release() {
	if r.sched != nil {
		r.sched.hold(0)
		return
	}
	r.mu.Lock()
	close(r.held)
	r.held = nil
	r.mu.Unlock()
}

// follow lets a schedule decide on the order of operations.
func (r *crashRun) follow(s *schedule) {
	r.sched = s
	r.o.FS.(*vfs.Fault).SetHook(s.hook(vfs.MutatingOps))
	r.o.CatalogSeam = s.seam(r.cats.seam())
}

// commit runs a transaction and records the state it leaves.
func (r *crashRun) commit(t testing.TB, s *Store, f func(tx *Tx) error) LSN {
	t.Helper()
	lsn := update(t, s, f)
	if r.holds() || lsn%2 == 0 {
		nudge(s)
	}
	r.states[lsn] = dump(s.Head())
	if len(s.log.participants) > 1 {
		r.wide++
	}
	return lsn
}

// wait waits for a commit and records what no crash may take any more.
func (r *crashRun) wait(t testing.TB, s *Store, lsn LSN) {
	t.Helper()
	wait(t, s, lsn)
	synced := s.synced.Load().lsn
	if r.o.Sync == SyncFull && synced < lsn {
		t.Errorf("commit %d is acknowledged, synced is %d", lsn, synced)
	}
	r.acks = append(r.acks, ack{r.mem.Ops(), min(lsn, synced)})
}

// boundaries are the bounds of the frames in a write to the log.
func (r *crashRun) boundaries(op vfs.Op) []int64 {
	if !strings.HasSuffix(op.Name, ".kv") {
		return nil
	}
	var at []int64
	for off := int64(0); off+8 < int64(len(op.Data)); {
		length := int64(op.Data[off]) | int64(op.Data[off+1])<<8 | int64(op.Data[off+2])<<16
		if length == 0 {
			break
		}
		off += wal.FrameSize(int(length - 1))
		at = append(at, op.Off+off)
	}
	return at
}

// crashStats counts the operations of a program, those that a crash came behind,
// and the images.
type crashStats struct{ all, ops, images, opened int }

func (c *crashStats) add(d crashStats) {
	c.all += d.all
	c.ops += d.ops
	c.images += d.images
	c.opened += d.opened
}

func (c crashStats) String() string {
	return fmt.Sprintf("crashes behind %d of %d file operations, %d images, %d different ones opened", c.ops, c.all, c.images, c.opened)
}

// oneOfEach draws an operation of each kind there is from first on.
func (r *crashRun) oneOfEach(first int) map[int]bool {
	rng := rand.New(rand.NewPCG(*crashSeed, 8))
	byKind := map[vfs.Kind][]int{}
	for _, op := range r.mem.Journal() {
		if op.N >= max(first, 1) {
			byKind[op.Kind] = append(byKind[op.Kind], op.N)
		}
	}
	drawn := map[int]bool{}
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		drawn[byKind[kind][rng.IntN(len(byKind[kind]))]] = true
	}
	return drawn
}

// images crashes after every operation from first on and opens a store on
// every image, or on every n-th and one behind each kind of operation. What is
// opened must be a state that some commit left, at or after the last one
// acknowledged; f may go on from there. Equal images under equal terms are opened
// once.
func (r *crashRun) images(t *testing.T, first, every int, o vfs.CrashOptions, f func(t *testing.T, at string, img *vfs.Mem, cat string, lsn LSN)) (c crashStats) {
	t.Helper()
	o.Boundaries = r.boundaries
	seen := map[string]bool{}
	// To make an image costs time, too: when most are left out, so are the ones
	// of whole operations.
	const perOp = 30 // images of an operation, roughly
	stride := max(every/perOp, 1)
	every = max(every/stride, 1)
	drawn := map[int]bool{}
	if every > 1 {
		drawn = r.oneOfEach(first)
	}
	defer func() {
		if c.opened == 0 && !t.Failed() && *crashImage == 0 {
			t.Errorf("%v", c)
		}
	}()
	c.all = r.mem.Ops() - first + 1
	for n := first; n <= r.mem.Ops(); n++ {
		if (n-first)%stride != int(*crashSeed%uint64(stride)) && !drawn[n] {
			continue
		}
		c.ops++
		cat, acked := r.cats.at(n), r.acked(n)
		for name, img := range r.mem.CrashImages(n, o) {
			c.images++
			if every > 1 && c.images%every != 0 && !drawn[n] {
				continue
			}
			delete(drawn, n) // one of its images is enough
			key := fmt.Sprintf("%x %s %d", contents(t, img), cat, acked)
			if seen[key] {
				continue
			}
			seen[key] = true
			at := fmt.Sprintf("op %d, image %q", n, name)
			if r.numbers != nil {
				k, wanted := r.numbers.next()
				if !wanted {
					continue
				}
				at += fmt.Sprintf("\n%s\n", r.numbers.reproduce(k))
			}
			c.opened++
			var before *vfs.Mem
			if f != nil {
				before = cloneMem(t, img)
			}
			r.crashed = n
			lsn := r.one(t, at, img, cat, acked)
			if f != nil && !t.Failed() {
				f(t, at, before, cat, lsn)
			}
			if t.Failed() {
				t.Logf("journal:\n%s", journalText(r.mem, n))
				return c
			}
			if r.opened != nil && r.opened() {
				return c
			}
		}
	}
	return c
}

// one opens one image, commits once more, and opens it again.
func (r *crashRun) one(t testing.TB, at string, img *vfs.Mem, cat string, acked LSN) LSN {
	loopTotals.images.Add(1)
	o, _, clean := place(t, r.o, cat)
	defer clean()
	o.FS = img
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Errorf("%s: open: %v", at, err)
		return 0
	}
	lsn := s.Durable().LSN()
	state := dump(s.Durable())
	if want, ok := r.states[lsn]; !ok || !sameState(state, want) || strings.Contains(state, lostRows) {
		t.Errorf("%s: at LSN %d:\n%s\nwant:\n%s", at, lsn, state, want)
	}
	if lsn < acked {
		t.Errorf("%s: LSN %d, acknowledged was %d", at, lsn, acked)
	}
	if r.undo == 0 {
		checkGenerations(t, s, lsn)
	}
	r.checkBranches(t, at, s, r.crashed)
	wait(t, s, update(t, s, createTable("after")))
	state = dump(s.Durable())
	if lsn%4 == 1 {
		if err := s.Compact(context.Background(), nil); err != nil {
			t.Errorf("%s: compacting: %v", at, err)
		}
		if got := dump(s.Durable()); got != state {
			t.Errorf("%s: after a compaction:\n%s\nwant:\n%s", at, got, state)
		}
	}
	if lsn%4 == 3 && r.restoreBranch(t, at, s) {
		state = dump(s.Durable())
	}
	checkStore(t, s)
	if err := s.Close(); err != nil {
		t.Errorf("%s: close: %v", at, err)
		return lsn
	}
	if s, err = Open(context.Background(), o); err != nil {
		t.Errorf("%s: second open: %v", at, err)
		return lsn
	}
	r.checkBranches(t, at, s, r.crashed)
	if got := dump(s.Durable()); got != state {
		t.Errorf("%s: after the second open:\n%s\nwant:\n%s", at, got, state)
	}
	if err := s.Close(); err != nil {
		t.Errorf("%s: second close: %v", at, err)
	}
	if open := img.OpenFiles(); len(open) > 0 {
		t.Errorf("%s: still open: %v", at, open)
	}
	return lsn
}

// again is a new run that goes on from an image of this one.
func (r *crashRun) again(t testing.TB, img *vfs.Mem, cat string, lsn LSN) *crashRun {
	img.SetJournalLimit(64 << 20)
	next := newCrashRun(t, img, r.o.GenerationSize, r.o.Shards)
	dir, _ := restore(t, cat)
	next.cats.dir, next.o.Dir, next.o.Sync = dir, dir, r.o.Sync
	if cat != "" {
		next.cats.list = append(next.cats.list, catalogCopy{0, cat})
	}
	next.states = maps.Clone(r.states)
	for l := range next.states {
		if l > lsn {
			delete(next.states, l)
		}
	}
	next.acks = []ack{{0, 0}}
	next.branches = r.inherited()
	return next
}

func journalText(m *vfs.Mem, upTo int) string {
	var b strings.Builder
	for _, op := range m.Journal() {
		if op.N <= upTo {
			fmt.Fprintf(&b, "%4d %s\n", op.N, op)
		}
	}
	return b.String()
}
