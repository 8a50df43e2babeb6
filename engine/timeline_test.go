package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

func openTimeline(t testing.TB, s *Store, name string, o Options) *Store {
	t.Helper()
	line, err := s.OpenTimeline(context.Background(), name, o)
	if err != nil {
		t.Fatalf("opening timeline %q: %v", name, err)
	}
	return line
}

func restoreTo(t testing.TB, s *Store, name string) LSN {
	t.Helper()
	lsn, err := s.RestoreTo(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return lsn
}

// A fork begins with the state of its timeline, and then neither sees the other: while
// both are open, after they are opened again, and when both were compacted.
func TestFork(t *testing.T) { overShards(t, fork) }

func fork(t *testing.T, shards int) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Shards: shards, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := openStore(t, o)
	wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 3), func(tx *Tx) error {
		def := testTable("v", 2)
		def.Durable = false
		return tx.Apply(CreateTable{Def: def})
	})))
	for i := range int64(30) {
		wait(t, s, update(t, s, all(put("a", i%9, i, strings.Repeat("x", 90)), put("k", i, i, "k"), put("v", i, i))))
	}
	before := contentOf(t, s.Durable())
	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	if _, err := s.Fork(t.Context(), "dev"); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("a fork with a name that is taken: %v", err)
	}
	dev := openTimeline(t, s, "dev", o)
	if got := contentOf(t, dev.Durable()); got != before {
		t.Errorf("the fork holds\n%.900s\nnot\n%.900s", got, before)
	}
	if n := dev.Durable().Table(dev.Durable().Schema().Lookup("v").Table.ID).Len(); n != 0 {
		t.Errorf("%d rows of a volatile table in the fork", n)
	}
	if _, err := s.OpenTimeline(t.Context(), "dev", o); !errors.Is(err, ErrTimelineOpen) {
		t.Errorf("opened twice: %v", err)
	}
	if err := s.DropTimeline(t.Context(), "dev"); !errors.Is(err, ErrTimelineOpen) {
		t.Errorf("dropped while it is open: %v", err)
	}
	for i := range int64(30) {
		wait(t, s, update(t, s, put("a", i%9, i, "main")))
		wait(t, dev, update(t, dev, all(put("k", i%5, 1000+i, "dev", strings.Repeat("y", 80)), put("a", 100+i, i))))
	}
	wait(t, dev, update(t, dev, createTable("only here")))
	wantMain, wantDev := contentOf(t, s.Durable()), contentOf(t, dev.Durable())
	if wantMain == wantDev || strings.Contains(wantMain, "only here") {
		t.Error("the timelines are one")
	}
	same := func(what string) {
		t.Helper()
		if got := contentOf(t, s.Durable()); got != wantMain {
			t.Errorf("%s: main holds\n%.900s\nnot\n%.900s", what, got, wantMain)
		}
		if got := contentOf(t, dev.Durable()); got != wantDev {
			t.Errorf("%s: the fork holds\n%.900s\nnot\n%.900s", what, got, wantDev)
		}
		checkStore(t, s)
		checkStore(t, dev)
	}
	reopen := func() {
		must(t, dev.Close())
		must(t, s.Close())
		var err error
		s, err = Open(t.Context(), o)
		must(t, err)
		dev = openTimeline(t, s, "dev", o)
	}
	same("at once")
	reopen()
	same("after an open")
	must(t, dev.Compact(t.Context(), nil))
	same("the fork compacted")
	must(t, s.Compact(t.Context(), nil))
	same("both compacted")
	_, err = dev.RunJob(t.Context(), JobRequest{Kind: JobGC})
	must(t, err)
	same("collected")
	reopen()
	same("compacted and opened")
	must(t, dev.Close())
	must(t, s.DropTimeline(t.Context(), "dev"))
	if _, err := s.OpenTimeline(t.Context(), "dev", o); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("opening what was dropped: %v", err)
	}
	must(t, s.Close())
	s, err = Open(t.Context(), o)
	must(t, err)
	checkStore(t, s)
	must(t, s.Close())
}

// A restore takes the timeline back to a branch point for good: what it undid is not
// there after any open, and commits go on behind it.
func TestRestoreTo(t *testing.T) { overShards(t, restoreAndGoOn) }

func restoreAndGoOn(t *testing.T, shards int) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Shards: shards, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := openStore(t, o)
	wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 3))))
	write := func(n int64, text string) {
		for i := range n {
			wait(t, s, update(t, s, all(put("a", i%9, i, text), put("k", i, i, text, strings.Repeat("y", 70)))))
		}
	}
	write(30, "first")
	branch(t, s, "one")
	one := contentOf(t, s.Durable())
	write(40, "second")
	wait(t, s, update(t, s, createTable("undone")))
	old := s.Durable()
	second := contentOf(t, old)
	version := s.Durable().Schema().Version()
	lsn := restoreTo(t, s, "one")
	check := func(what, want string) {
		t.Helper()
		if got := contentOf(t, s.Durable()); got != want {
			t.Errorf("%s: the timeline holds\n%.900s\nnot\n%.900s", what, got, want)
		}
		checkStore(t, s)
	}
	check("restored", one)
	if got := s.Durable(); got.LSN() != lsn || lsn != old.LSN()+1 || got.Schema().Version() <= version {
		t.Errorf("restored at commit %d with schema %d, the newest was %d with %d", got.LSN(), got.Schema().Version(), old.LSN(), version)
	}
	if got := contentOf(t, old); got != second {
		t.Error("an old snapshot changed")
	}
	reopen := func() {
		must(t, s.Close())
		var err error
		s, err = Open(t.Context(), o)
		must(t, err)
	}
	reopen()
	check("opened", one)
	if got := s.Durable().LSN(); got != lsn {
		t.Errorf("opened at commit %d, restored at %d", got, lsn)
	}
	write(35, "third")
	third := contentOf(t, s.Durable())
	reopen()
	check("written on", third)
	branch(t, s, "two")
	restoreTo(t, s, "one")
	check("again", one)
	restoreTo(t, s, "two")
	check("forth", third)
	reopen()
	check("forth and opened", third)
	must(t, s.Compact(t.Context(), nil))
	check("compacted", third)
	restoreTo(t, s, "one")
	must(t, s.Compact(t.Context(), nil))
	check("back and compacted", one)
	_, err := s.RunJob(t.Context(), JobRequest{Kind: JobGC})
	must(t, err)
	reopen()
	check("and opened", one)
	if got := contentOf(t, at(t, s, "two")); got != third {
		t.Error("a branch point behind a restore changed")
	}
	if _, err := s.RestoreTo(t.Context(), "none"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("restoring nothing: %v", err)
	}
	must(t, s.DeleteBranchPoint(t.Context(), "one"))
	must(t, s.DeleteBranchPoint(t.Context(), "two"))
	reopen()
	check("without branch points", one)
	must(t, s.Close())
}

// lines is a program on several timelines and what each must hold.
type lines struct {
	t      *testing.T
	o      Options
	rng    *rand.Rand
	main   *Store
	open   map[string]*Store
	want   map[string]string
	points map[string]string
	gens   map[string]*generator
	n      int
}

// Random programs on a store with timelines: transactions, branch points, forks,
// restores, drops, compactions, collection, closing and opening. After each step every
// timeline and branch point holds what it must.
func TestTimelines(t *testing.T) { overShards(t, timelines) }

func timelines(t *testing.T, shards int) {
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for seed := range uint64(rounds) {
		seed += *crashSeed
		t.Logf("seed %d", seed)
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 2 << 10, NoCompaction: true, Events: nothingFails(t), Create: true}
		s, err := Open(t.Context(), o)
		must(t, err)
		l := &lines{
			t: t, o: o, rng: rand.New(rand.NewPCG(seed, 3)), main: s, open: map[string]*Store{"main": s},
			want: map[string]string{"main": contentOf(t, s.Durable())}, points: map[string]string{}, gens: map[string]*generator{},
		}
		for range 120 {
			l.step()
			if t.Failed() {
				t.Fatalf("seed %d, step %d", seed, l.n)
			}
		}
		l.reopen()
		for name, line := range l.open {
			checkStore(t, line)
			if name != "main" {
				must(t, line.Close())
			}
		}
		must(t, l.main.Close())
	}
}

func (l *lines) some() (string, *Store) {
	names := make([]string, 0, len(l.open))
	for name := range l.open {
		names = append(names, name)
	}
	slices.Sort(names)
	name := names[l.rng.IntN(len(names))]
	return name, l.open[name]
}

func (l *lines) point() string {
	names := make([]string, 0, len(l.points))
	for name := range l.points {
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return names[l.rng.IntN(len(names))]
}

func (l *lines) step() {
	t, ctx := l.t, context.Background()
	l.n++
	name, s := l.some()
	what := ""
	switch k := l.rng.IntN(100); {
	case k < 55:
		what = "write"
		g := l.gens[name]
		if g == nil {
			g = newGenerator(l.rng)
			l.gens[name] = g
		}
		for range 1 + l.rng.IntN(4) {
			lsn, err := tryUpdate(s, g.transaction)
			must(t, err)
			wait(t, s, lsn)
		}
		l.want[name] = contentOf(t, s.Durable())
	case k < 63:
		what = "branch"
		point := fmt.Sprintf("p%d", l.n)
		branch(t, s, point)
		l.points[point] = l.want[name]
	case k < 70 && len(l.open) < 4:
		what = "fork"
		line := fmt.Sprintf("t%d", l.n)
		want := l.want[name]
		if p := l.point(); p != "" && l.rng.IntN(2) == 0 {
			_, err := s.ForkBranchPoint(ctx, line, p)
			must(t, err)
			want = l.points[p]
		} else {
			_, err := s.Fork(ctx, line)
			must(t, err)
		}
		l.open[line], l.want[line] = openTimeline(t, s, line, l.o), want
	case k < 78:
		p := l.point()
		if p == "" {
			return
		}
		what = "restore " + p
		restoreTo(t, s, p)
		l.want[name] = l.points[p]
		delete(l.gens, name)
	case k < 82 && name != "main":
		what = "drop"
		must(t, s.Close())
		delete(l.open, name)
		err := l.main.DropTimeline(ctx, name)
		if errors.Is(err, catalog.ErrInUse) {
			l.open[name] = openTimeline(t, l.main, name, l.o)
			break
		}
		must(t, err)
		delete(l.want, name)
		delete(l.gens, name)
	case k < 86:
		p := l.point()
		if p == "" {
			return
		}
		what = "delete " + p
		must(t, s.DeleteBranchPoint(ctx, p))
		delete(l.points, p)
	case k < 91:
		what = "compact"
		must(t, s.Compact(ctx, nil))
	case k < 94:
		what = "gc"
		_, err := s.RunJob(ctx, JobRequest{Kind: JobGC})
		must(t, err)
	case k < 97:
		what = "checkpoint"
		must(t, s.Checkpoint(ctx, nil))
	default:
		what = "reopen"
		l.reopen()
	}
	l.holds(what + " on " + name)
}

func (l *lines) reopen() {
	for name, s := range l.open {
		if name != "main" {
			must(l.t, s.Close())
		}
	}
	must(l.t, l.main.Close())
	s, err := Open(context.Background(), l.o)
	must(l.t, err)
	l.main = s
	for name := range l.open {
		if name == "main" {
			l.open[name] = s
		} else {
			l.open[name] = openTimeline(l.t, s, name, l.o)
		}
	}
	l.gens = map[string]*generator{}
}

func (l *lines) holds(what string) {
	l.t.Helper()
	for name, s := range l.open {
		if got := contentOf(l.t, s.Durable()); got != l.want[name] {
			l.t.Errorf("step %d, %s: timeline %s holds\n%.1500s\nnot\n%.1500s", l.n, what, name, got, l.want[name])
		}
	}
	for name, want := range l.points {
		if got := contentOf(l.t, at(l.t, l.main, name)); got != want {
			l.t.Errorf("step %d, %s: branch point %s holds\n%.1500s\nnot\n%.1500s", l.n, what, name, got, want)
		}
	}
}

// A branch point that is deleted, and made anew by another timeline, while its restore
// waits for a transaction: the restore is refused, and snapshots keep their files.
func TestRestoreToWhatIsDeleted(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := openStore(t, o)
	wait(t, s, update(t, s, createKeys("k", 3)))
	for i := range int64(40) {
		wait(t, s, update(t, s, put("k", i, i, "old", strings.Repeat("x", 80))))
	}
	_, err := s.Fork(t.Context(), "dev")
	must(t, err)
	dev := openTimeline(t, s, "dev", o)
	defer dev.Close()
	wait(t, dev, update(t, dev, put("k", 1000, 1000, "dev")))
	branch(t, s, "b")
	old := s.Durable()
	want := dump(old)
	wait(t, s, update(t, s, put("k", 2000, 2000, "later")))
	must(t, s.Compact(t.Context(), nil))
	tx, err := s.Begin(t.Context())
	must(t, err)
	done := make(chan error)
	go func() {
		_, err := s.RestoreToWithin(context.Background(), "b", 0)
		done <- err
	}()
	eventually(t, "the restore", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.compactor.turn) == 1
	})
	must(t, s.DeleteBranchPoint(t.Context(), "b"))
	branch(t, dev, "b")
	_, err = dev.RunJob(t.Context(), JobRequest{Kind: JobGC})
	must(t, err)
	if got := dump(old); got != want {
		t.Errorf("the snapshot lost rows:\n%.600s", got)
	}
	tx.Rollback()
	if err := <-done; !errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, ErrBusy) {
		// It may have come to look only behind the change: then it is that branch point's.
		if err != nil || !strings.Contains(contentOf(t, s.Durable()), fmt.Sprintf("%x", "dev")) {
			t.Errorf("restored what was deleted: %v", err)
		}
	}
	if got := dump(old); got != want {
		t.Errorf("the snapshot lost rows:\n%.600s", got)
	}
	checkStore(t, s)
}
