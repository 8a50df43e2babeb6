package engine

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

var stressTime = flag.Duration("timeline-stress", time.Second, "how long TestTimelineStress lets all go on at once")

// deed is one commit of a timeline: a row that was set, or a restore.
type deed struct {
	lsn   LSN
	rowid int64
	value string
	from  *point // of a restore
}

// point is a state of a timeline.
type point struct {
	line *story
	lsn  LSN
}

// story is what was done on a timeline, in no order, on top of where it began.
type story struct {
	name  string
	began *point
	mu    sync.Mutex
	deeds []deed
}

func (s *story) add(d deed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deeds = append(s.deeds, d)
}

// rows is the content at a point: the newest restore before it, or where the timeline
// began, and what was written since.
func (p *point) rows() map[int64]string {
	if p == nil {
		return map[int64]string{}
	}
	s := p.line
	s.mu.Lock()
	deeds := slices.Clone(s.deeds)
	s.mu.Unlock()
	slices.SortFunc(deeds, func(a, b deed) int { return cmp.Compare(a.lsn, b.lsn) })
	rows := s.began.rows()
	for _, d := range deeds {
		switch {
		case d.lsn > p.lsn:
			return rows
		case d.from != nil:
			rows = d.from.rows()
		default:
			rows[d.rowid] = d.value
		}
	}
	return rows
}

// contentRows reads the two tables, which must be equal.
func contentRows(t testing.TB, s *Snapshot) map[int64]string {
	t.Helper()
	read := func(name string) map[int64]string {
		rows := map[int64]string{}
		o := s.Schema().Lookup(name)
		if o == nil {
			t.Errorf("no table %s", name)
			return rows
		}
		must(t, s.Table(o.Table.ID).each(func(rowid int64, rec row.Record) { rows[rowid] = string(rec) }))
		return rows
	}
	a, k := read("a"), read("k")
	if fmt.Sprint(a) != fmt.Sprint(k) {
		t.Errorf("commit %d: the tables differ:\n%v\n%v", s.LSN(), a, k)
	}
	return a
}

// Rows are written on several timelines while these are forked, restored, branched,
// compacted, collected and backed up: afterwards, and after an open, every timeline,
// branch point and backup holds what the story of its commits says.
func TestTimelineStress(t *testing.T) { overShards(t, timelineStress) }

func timelineStress(t *testing.T, shards int) {
	ctx := t.Context()
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 8 << 10, CompactFloor: 32 << 10, Create: true, Events: nothingFails(t)}
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
	ctx, stop := context.WithTimeout(ctx, *stressTime)
	defer stop()
	var group sync.WaitGroup
	for line, store := range stores {
		for w := range uint64(2) {
			group.Go(func() {
				rng := rand.New(rand.NewPCG(*crashSeed, w))
				for n := 0; ctx.Err() == nil; n++ {
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
				switch rng.IntN(4) {
				case 0, 1:
					name := fmt.Sprintf("%s-%d", line.name, n)
					b, err := store.CreateBranchPoint(context.Background(), name)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					points[name] = &point{line, LSN(b.LSN)}
					mu.Unlock()
				case 2:
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
					if p == nil || len(points) < 6 {
						continue
					}
					mu.Lock()
					delete(points, name)
					mu.Unlock()
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
			forks[name] = &point{dev, LSN(made.LSN)}
		}
	})
	backup := filepath.Join(t.TempDir(), "backup")
	group.Go(func() {
		if err := s.Backup(context.Background(), backup, nil); err != nil {
			t.Errorf("backup: %v", err)
		}
	})
	group.Wait()
	last := map[string]*point{}
	for line, store := range stores {
		wait(t, store, store.Head().LSN())
		last[line.name] = &point{line, store.Durable().LSN()}
	}
	for name, p := range forks {
		last[name] = p
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
	t.Logf("commits %d and %d, %d branch points, %d forks", last["main"].lsn, last["dev"].lsn, len(points), len(forks))
	must(t, s.Close())
}
