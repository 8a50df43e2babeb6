package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

var stressTime = flag.Duration("timeline-stress", time.Second, "how long TestTimelineStress lets all go on at once")

// Rows are written on several timelines while these are forked, restored, branched,
// compacted, collected and backed up: afterwards, and after an open, every timeline and
// branch point holds what the story of its commits says, and so does what every backup
// was restored to meanwhile.
func TestTimelineStress(t *testing.T) { overShards(t, timelineStress) }

func timelineStress(t *testing.T, shards int) {
	ctx := t.Context()
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 16 << 10, CompactFloor: 48 << 10, Create: true, Events: nothingFails(t)}
	s, err := Open(ctx, o)
	must(t, err)
	lsn := update(t, s, all(createTable("a"), createKeys("k", 2)))
	wait(t, s, lsn)
	_, err = s.Fork(ctx, "dev")
	must(t, err)
	main := &story{name: "main"}
	dev := &story{name: "dev", began: &point{main, s.Durable().LSN()}}
	stores := map[*story]*Store{main: s, dev: openTimeline(t, s, "dev", o)}
	var mu sync.Mutex
	points := map[string]*point{}
	made := map[string]*point{} // those that were deleted, too
	some := func(rng *rand.Rand) (string, *point) {
		mu.Lock()
		defer mu.Unlock()
		for name, p := range points {
			if rng.IntN(3) == 0 {
				return name, p
			}
		}
		return "", nil
	}
	start := time.Now()
	ctx, stop := context.WithTimeout(ctx, *stressTime)
	defer stop()
	var group sync.WaitGroup
	for line, store := range stores {
		for w := range uint64(2) {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(*crashSeed, w))
				for n := 0; ctx.Err() == nil; n++ {
					time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond) // leaves room for what takes longer
					id := int64(rng.IntN(40))
					value := fmt.Sprintf("%s %d %d %s", line.name, w, n, strings.Repeat("x", rng.IntN(100)))
					rec := testRecord(id, value)
					lsn, err := tryUpdate(store, func(tx *Tx) error {
						return errors.Join(put("a", id, id, value)(tx), put("k", id, id, value)(tx))
					})
					if err != nil {
						t.Errorf("%s: %v", line.name, err)
						return
					}
					line.add(deed{lsn: lsn, rowid: id, value: string(rec)})
					if n%4 == 0 {
						if err := store.WaitDurable(context.Background(), lsn); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		group.Go(func() { // branch points and restores
			rng := rand.New(rand.NewPCG(*crashSeed, 77))
			for n := 0; ctx.Err() == nil; n++ {
				switch rng.IntN(5) {
				case 0, 1:
					name := fmt.Sprintf("%s-%d", line.name, n)
					b, err := store.CreateBranchPoint(context.Background(), name)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					points[name] = &point{line, LSN(b.LSN)}
					made[name] = points[name]
					mu.Unlock()
				case 2, 3:
					name, p := some(rng)
					if p == nil {
						continue
					}
					lsn, err := store.RestoreTo(context.Background(), name)
					if errors.Is(err, catalog.ErrNotFound) {
						continue // deleted meanwhile
					}
					if err != nil {
						t.Error(err)
						return
					}
					line.add(deed{lsn: lsn, from: p})
				default:
					name, p := some(rng)
					mu.Lock()
					some := p != nil && len(points) >= 6
					if some {
						delete(points, name)
					}
					mu.Unlock()
					if !some {
						continue
					}
					if err := store.DeleteBranchPoint(context.Background(), name); err != nil && !errors.Is(err, catalog.ErrNotFound) {
						t.Error(err)
						return
					}
				}
			}
		})
		group.Go(func() {
			for ctx.Err() == nil {
				for _, kind := range []string{JobCompact, JobGC, JobCheckpoint} {
					if _, err := store.RunJob(context.Background(), JobRequest{Kind: kind}); err != nil {
						t.Errorf("%s: %v", kind, err)
						return
					}
				}
			}
		})
	}
	forks := map[string]*point{}
	group.Go(func() {
		for n := 0; ctx.Err() == nil && n < 5; n++ {
			name := fmt.Sprintf("fork%d", n)
			made, err := stores[dev].Fork(context.Background(), name)
			if err != nil {
				t.Error(err)
				return
			}
			forks[name] = forkedRows(t, s, &story{name: name, began: &point{dev, LSN(made.LSN)}}, o)
		}
	})
	var copies []copied
	group.Go(func() {
		dir := t.TempDir()
		for n := 0; n == 0 || ctx.Err() == nil; n++ {
			copies = append(copies, backedUp(t, s, stores[dev], filepath.Join(dir, fmt.Sprint(n)))...)
		}
	})
	group.Wait()
	t.Logf("after %s all have ended", time.Since(start).Round(time.Second))
	last := map[string]*point{}
	for line, store := range stores {
		wait(t, store, store.Head().LSN())
		last[line.name] = &point{line, store.Durable().LSN()}
	}
	for name, p := range forks {
		last[name] = p
	}
	for _, c := range copies {
		p := made[c.name]
		if line := last[c.name]; p == nil && line != nil {
			p = &point{line.line, c.lsn}
		}
		if p == nil || p.lsn != c.lsn {
			t.Errorf("a backup has %q at commit %d: %v", c.name, c.lsn, p)
		} else if want := fmt.Sprint(p.rows()); c.rows != want {
			t.Errorf("a backup of commit %d of %s holds\n%.900s\nnot\n%.900s", c.lsn, c.name, c.rows, want)
		}
	}
	holds := func(what string, s *Snapshot, p *point) {
		t.Helper()
		if got, want := fmt.Sprint(contentRows(t, s)), fmt.Sprint(p.rows()); got != want {
			t.Errorf("%s: commit %d holds\n%.900s\nnot\n%.900s", what, s.LSN(), got, want)
		}
	}
	all := func(what string, s *Store, o Options) {
		t.Helper()
		for name, p := range last {
			line := s
			if name != "main" {
				line = openTimeline(t, s, name, o)
			}
			holds(what+": "+name, line.Durable(), p)
			checkStore(t, line)
			if line != s {
				must(t, line.Close())
			}
		}
	}
	must(t, stores[dev].Close())
	for round := range 2 {
		all(fmt.Sprintf("round %d", round), s, o)
		for name, p := range points {
			holds("branch point "+name, at(t, s, name), p)
		}
		must(t, s.Close())
		s, err = Open(t.Context(), o)
		must(t, err)
	}
	restores := 0
	for line := range stores {
		for _, d := range line.deeds {
			if d.from != nil {
				restores++
			}
		}
	}
	t.Logf("seed %d: commits %d and %d, %d of them restores; %d branch points, %d of them left, %d forks, %d states of backups",
		*crashSeed, last["main"].lsn, last["dev"].lsn, restores, len(made), len(points), len(forks), len(copies))
	if *stressTime >= 10*time.Second && (restores == 0 || len(copies) < 4 || len(forks) == 0) {
		t.Error("that was not much")
	}
	must(t, s.Close())
}

// forkedRows writes rows on a fork, which is opened for that, beside all the others.
func forkedRows(t *testing.T, s *Store, line *story, o Options) *point {
	fork, err := s.OpenTimeline(context.Background(), line.name, o)
	for ; errors.Is(err, ErrTimelineOpen); fork, err = s.OpenTimeline(context.Background(), line.name, o) {
		time.Sleep(time.Millisecond) // a backup has it
	}
	if err != nil {
		t.Error(err)
		return line.began
	}
	for id := range int64(9) {
		rec := testRecord(id, line.name)
		lsn, err := tryUpdate(fork, func(tx *Tx) error {
			return errors.Join(put("a", id, id, line.name)(tx), put("k", id, id, line.name)(tx))
		})
		if err == nil {
			err = fork.WaitDurable(context.Background(), lsn)
		}
		if err != nil {
			t.Error(err)
		}
		line.add(deed{lsn: lsn, rowid: id, value: string(rec)})
	}
	p := &point{line, fork.Durable().LSN()}
	if err := fork.Close(); err != nil {
		t.Error(err)
	}
	return p
}

// copied is a state that a backup had, of a timeline or a branch point.
type copied struct {
	name string
	lsn  LSN
	rows string
}

// backedUp makes a backup and a store of it, and reads all its states.
func backedUp(t *testing.T, s, dev *Store, dir string) (list []copied) {
	ctx := context.Background()
	acked := map[string]LSN{"main": s.Durable().LSN(), "dev": dev.Durable().LSN()}
	store := dir + "-restored"
	if err := errors.Join(s.Backup(ctx, dir, nil), Restore(ctx, dir, store, nil)); err != nil {
		t.Errorf("backup: %v", err)
		return nil
	}
	o := Options{Dir: store, NoCompaction: true}
	r, err := Open(ctx, o)
	if err != nil {
		t.Error(err)
		return nil
	}
	lines, err := r.Timelines(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, l := range lines {
		line := r
		if l.Name != "main" {
			if line, err = r.OpenTimeline(ctx, l.Name, o); err != nil {
				t.Error(err)
				continue
			}
		}
		if line == r {
			checkStore(t, line) // which reads the branch points of all
		}
		list = append(list, copied{l.Name, line.Durable().LSN(), fmt.Sprint(contentRows(t, line.Durable()))})
		if lsn := line.Durable().LSN(); lsn < acked[l.Name] {
			t.Errorf("a backup has timeline %s up to commit %d, acknowledged before were %d", l.Name, lsn, acked[l.Name])
		}
		delete(acked, l.Name)
		if line != r {
			if err := line.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if len(acked) > 0 {
		t.Errorf("a backup has no timelines %v", acked)
	}
	points, err := r.BranchPoints(ctx)
	if err != nil {
		t.Error(err)
	}
	for _, b := range points {
		snap, err := r.At(ctx, b.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		list = append(list, copied{b.Name, snap.LSN(), fmt.Sprint(contentRows(t, snap))})
	}
	if err := errors.Join(r.Close(), os.RemoveAll(dir), os.RemoveAll(store)); err != nil {
		t.Error(err)
	}
	return list
}
