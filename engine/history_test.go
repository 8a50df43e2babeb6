package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// filled is a store with a table of each residency and some rows.
func filled(t testing.TB, o Options) *Store {
	t.Helper()
	s := openStore(t, o)
	update(t, s, all(createKeys("k", 3), createTable("a")))
	for i := range int64(20) {
		update(t, s, all(put("k", i, i, "x", strings.Repeat("y", int(i))), put("a", i, i%7, strings.Repeat("z", 50))))
	}
	wait(t, s, s.Head().LSN())
	return s
}

// churn changes rows and compacts the log, so that what an old state is read from is
// not what the present is.
func churn(t testing.TB, s *Store, n int64) {
	t.Helper()
	for i := range int64(5) {
		update(t, s, all(put("k", i, 1000*(n+50)+i, "changed", "c"), put("a", i, n, "changed")))
	}
	wait(t, s, s.Head().LSN())
	must(t, s.Compact(context.Background(), nil))
}

// Files stay as long as something can be read through them, also when the branch
// point is gone, and go afterwards.
func TestBranchPointIsRead(t *testing.T) {
	mem := vfs.NewMem()
	s := filled(t, Options{Dir: t.TempDir(), FS: mem, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	want := contentOf(t, s.Durable())
	branch(t, s, "bp")
	churn(t, s, 1)
	snap := at(t, s, "bp")
	k := snap.Table(snap.Schema().Lookup("k").Table.ID)
	must(t, s.DeleteBranchPoint(t.Context(), "bp"))
	churn(t, s, 2)
	for range 3 {
		collectGarbage()
		must(t, s.GC(t.Context(), nil))
	}
	if got := contentOf(t, snap); got != want {
		t.Errorf("behind a collection:\n%s\nwant:\n%s", got, want)
	}
	plan, err := s.PlanGC(t.Context())
	must(t, err)
	held := 0
	for _, k := range plan.Keep {
		if k.Reasons[0].OwnerKind == bySnapshot {
			held++
		}
	}
	if held == 0 || len(plan.Remove) != 0 {
		t.Errorf("%d files are held and %d to be removed", held, len(plan.Remove))
	}
	snap = nil
	collectGarbage()
	must(t, s.GC(t.Context(), nil))
	if rows := allRows(t, k); len(rows) != 20 { // one of its tables keeps them, too
		t.Errorf("%d rows", len(rows))
	}
	k = nil
	eventually(t, "the files to go", func() bool {
		collectGarbage()
		s.compactor.signal()
		return len(objectsOnDisk(t, mem)) == len(needed(t, s))
	})
	if n := len(s.histories.all); n != 0 {
		t.Errorf("%d histories are known", n)
	}
}

// What a branch point needs does not stay in the lists of the log, and sweeps do not
// come back to it.
func TestReplacedFilesOfBranchPoints(t *testing.T) {
	s := filled(t, Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	for n := range int64(4) {
		branch(t, s, fmt.Sprint("bp", n))
		churn(t, s, n)
	}
	eventually(t, "the replaced files to be forgotten", func() bool {
		collectGarbage()
		s.compactor.signal()
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.replaced) == 0
	})
	known := 0
	for _, ob := range *s.objects.list.Load() {
		if ob != nil {
			known++
		}
	}
	if most := len(s.base) + len(s.shards) + 1; known > most {
		t.Errorf("%d files are open to the log, which has %d", known, most)
	}
	for n := range int64(4) {
		must(t, s.DeleteBranchPoint(t.Context(), fmt.Sprint("bp", n)))
	}
	eventually(t, "the files to go", func() bool {
		s.compactor.signal()
		return len(objectsOnDisk(t, s.opts.FS)) == len(needed(t, s))
	})
}

// CAT-78: a branch point of what is published touches no file.
func TestBranchPointTouchesNoFile(t *testing.T) {
	dir := t.TempDir()
	s := filled(t, Options{Dir: dir, NoCompaction: true, Events: nothingFails(t)})
	must(t, s.Checkpoint(t.Context(), nil))
	quiet(t, s)
	want := contentOf(t, s.Durable())
	must(t, os.Rename(filepath.Join(dir, objectsDir), filepath.Join(dir, "hidden")))
	branch(t, s, "bp")
	must(t, os.Rename(filepath.Join(dir, "hidden"), filepath.Join(dir, objectsDir)))
	if got := contentOf(t, at(t, s, "bp")); got != want {
		t.Errorf("at the branch point:\n%s\nwant:\n%s", got, want)
	}
}

// A store that nothing was written to has branch points, too.
func TestBranchPointOfNothing(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	branch(t, s, "nothing")
	update(t, s, createTable("a"))
	snap := at(t, s, "nothing")
	if n := len(snap.Schema().Objects()); snap.LSN() != 0 || n != 0 {
		t.Errorf("commit %d with %d objects", snap.LSN(), n)
	}
	if snap.Same(s.Durable()) {
		t.Error("a branch point passes for the present state")
	}
}

func TestBranchPointRefusals(t *testing.T) {
	ctx := context.Background()
	m, err := Open(ctx, Options{Memory: true})
	must(t, err)
	defer m.Close()
	if _, err := m.CreateBranchPoint(ctx, "bp"); !errors.Is(err, ErrInMemory) {
		t.Errorf("in memory: %v", err)
	}
	if _, err := m.At(ctx, "bp"); !errors.Is(err, ErrInMemory) {
		t.Errorf("at, in memory: %v", err)
	}
	if err := m.DeleteBranchPoint(ctx, "bp"); !errors.Is(err, ErrInMemory) {
		t.Errorf("delete, in memory: %v", err)
	}
	if list, err := m.BranchPoints(ctx); err != nil || len(list) != 0 {
		t.Errorf("list, in memory: %v, %v", list, err)
	}

	s := filled(t, Options{FS: vfs.NewMem(), NoCompaction: true})
	branch(t, s, "bp")
	if _, err := s.CreateBranchPoint(ctx, "bp"); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("a name that is taken: %v", err)
	}
	if _, err := s.At(ctx, "other"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("at an unknown name: %v", err)
	}
	if err := s.DeleteBranchPoint(ctx, "other"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("deleting an unknown name: %v", err)
	}
	tx, err := s.Begin(ctx)
	must(t, err)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.CreateBranchPoint(ended, "late"); !errors.Is(err, context.Canceled) {
		t.Errorf("behind a transaction, with a context that has ended: %v", err)
	}
	tx.Rollback()
	if _, err := s.At(ended, "bp"); !errors.Is(err, context.Canceled) {
		t.Errorf("at, with a context that has ended: %v", err)
	}
	snap := at(t, s, "bp")
	must(t, s.Close())
	for what, err := range map[string]error{
		"create": second(s.CreateBranchPoint(ctx, "late")), "at": second(s.At(ctx, "bp")),
		"delete": s.DeleteBranchPoint(ctx, "bp"), "list": second(s.BranchPoints(ctx)),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s, of a closed store: %v", what, err)
		}
	}
	table := snap.Table(snap.Schema().Lookup("a").Table.ID)
	if _, _, err := table.Get(3); !errors.Is(err, ErrClosed) {
		t.Errorf("a row of a closed store: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestBranchPointOfPoisonedStore(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := filled(t, Options{FS: f, NoCompaction: true})
	branch(t, s, "bp")
	want := contentOf(t, s.Durable())
	f.Fail(vfs.Rule{Kinds: vfs.OpSyncData, N: 1})
	if err := s.WaitDurable(t.Context(), update(t, s, put("a", 1, 1, "lost"))); err == nil {
		t.Fatal("the sync did not fail")
	}
	f.Clear()
	if _, err := s.CreateBranchPoint(t.Context(), "late"); !errors.Is(err, ErrPoisoned) {
		t.Errorf("create: %v", err)
	}
	if err := s.DeleteBranchPoint(t.Context(), "bp"); !errors.Is(err, ErrPoisoned) {
		t.Errorf("delete: %v", err)
	}
	if got := contentOf(t, at(t, s, "bp")); got != want {
		t.Errorf("at the branch point:\n%s\nwant:\n%s", got, want)
	}
}

// Tables that are dropped, made anew and changed since do not change what was.
func TestBranchPointBesideSchemaChanges(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		s := openStore(t, Options{FS: vfs.NewMem(), Shards: shards, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
		rng := rand.New(rand.NewPCG(7, 7))
		g := newGenerator(rng)
		want := map[string]string{}
		for n := range 60 {
			wait(t, s, update(t, s, g.transaction))
			switch {
			case n%6 == 5:
				name := fmt.Sprint("bp", n)
				want[name] = contentOf(t, s.Durable())
				branch(t, s, name)
			case n%7 == 6:
				must(t, s.Compact(t.Context(), nil))
			case n%20 == 19:
				for name := range want {
					must(t, s.DeleteBranchPoint(t.Context(), name))
					delete(want, name)
					break
				}
			}
		}
		for name, content := range want {
			if got := contentOf(t, at(t, s, name)); got != content {
				t.Errorf("at %s:\n%s\nwant:\n%s", name, got, content)
			}
		}
		if g.count["drop table"] == 0 || g.count["rename"] == 0 {
			t.Errorf("too little happened: %s", counts(g.count))
		}
	})
}

// Readers of old states and writers of new ones do not disturb each other.
func TestBranchPointsBesideCompactions(t *testing.T) {
	s := filled(t, Options{FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	var want sync.Map
	var done atomic.Bool
	var readers sync.WaitGroup
	var reads atomic.Int32
	for i := range 4 {
		readers.Go(func() {
			for n := i; !done.Load(); n++ {
				name := fmt.Sprint("bp", n%3)
				content, made := want.Load(name)
				snap, err := s.At(t.Context(), name)
				switch {
				case errors.Is(err, catalog.ErrNotFound):
					continue
				case err != nil:
					t.Error(err)
					return
				}
				again, _ := want.Load(name)
				if !made || again != content {
					continue // it was made anew meanwhile
				}
				if got := contentOf(t, snap); got != content {
					t.Errorf("at %s:\n%s\nwant:\n%s", name, got, content)
					return
				}
				reads.Add(1)
			}
		})
	}
	for n := range int64(12) {
		name := fmt.Sprint("bp", n%3)
		if _, made := want.Load(name); made {
			want.Delete(name)
			must(t, s.DeleteBranchPoint(t.Context(), name))
		}
		churn(t, s, n)
		content := contentOf(t, s.Durable())
		branch(t, s, name)
		want.Store(name, content)
		if n%4 == 0 {
			collectGarbage()
			s.compactor.signal()
		}
	}
	eventually(t, "some reads", func() bool { return reads.Load() > 3 || t.Failed() })
	done.Store(true)
	readers.Wait()
}

// A bad file of a branch point is told by name, concerns nothing else and is found by
// a check.
func TestDamagedBranchPoint(t *testing.T) {
	mem := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: mem, GenerationSize: 4 << 10, NoCompaction: true, Create: true}
	s, err := Open(t.Context(), o)
	must(t, err)
	update(t, s, all(createKeys("k", 3), createTable("a")))
	for i := range int64(20) {
		update(t, s, all(put("k", i, i, "x", strings.Repeat("y", int(i))), put("a", i, i%7, strings.Repeat("z", 50))))
	}
	wait(t, s, s.Head().LSN())
	b := branch(t, s, "bp")
	churn(t, s, 1)
	known, err := s.cat.HistoryOf(t.Context(), b.RepresentationID)
	must(t, err)
	name := known.Generations[0].Path
	must(t, s.Close())
	sound := readFile(t, mem, name)
	for _, damage := range []func([]byte) []byte{
		func(d []byte) []byte { d[len(d)/2] ^= 1; return d },
		func(d []byte) []byte { return d[:len(d)-8] },
		func([]byte) []byte { return nil },
	} {
		bad := damage(append([]byte(nil), sound...))
		if bad != nil {
			writeFile(t, mem, name, bad)
		} else {
			must(t, mem.Remove(name))
		}
		s, err := Open(t.Context(), o)
		must(t, err)
		for range 2 {
			var corrupt *CorruptError
			if err := loadAll(s, "bp"); !errors.As(err, &corrupt) || corrupt.File != name {
				t.Errorf("at the branch point: %v", err)
			}
		}
		var found []Finding
		must(t, s.Check(t.Context(), func(f Finding) { found = append(found, f) }, nil))
		if len(found) == 0 || found[0].Severity != Damage || found[0].File != name {
			t.Errorf("a check finds %v", found)
		}
		churn(t, s, 2)
		branch(t, s, "new")
		if n := len(allRows(t, tableOf(s, "a"))); n != 20 {
			t.Errorf("%d rows", n)
		}
		must(t, s.DeleteBranchPoint(t.Context(), "new"))
		must(t, s.Close())
		found = nil
		must(t, CheckFiles(t.Context(), o, func(f Finding) { found = append(found, f) }, nil))
		if len(found) == 0 || found[0].Severity != Damage || found[0].File != name {
			t.Errorf("a check of the files finds %v", found)
		}
	}
	// What was bad for a while is read again when it is as it was.
	f, err := mem.Create(name)
	must(t, err)
	must(t, f.Close())
	writeFile(t, mem, name, sound)
	s, err = Open(t.Context(), o)
	must(t, err)
	bad := append([]byte(nil), sound...)
	bad[len(bad)/2] ^= 1
	writeFile(t, mem, name, bad)
	if err := loadAll(s, "bp"); err == nil {
		t.Error("a damaged file is read")
	}
	writeFile(t, mem, name, sound)
	must(t, loadAll(s, "bp"))
	checkStore(t, s)
	must(t, s.Close())
	checkLeaks(t, mem)
}

// loadAll loads all tables of a branch point.
func loadAll(s *Store, name string) error {
	snap, err := s.At(context.Background(), name)
	if err != nil {
		return err
	}
	for _, def := range snap.Schema().Tables() {
		if err := snap.Table(def.ID).Load(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

// Bytes that no frame has are what was sealed, too.
func TestContentOfBranchPoints(t *testing.T) {
	mem := vfs.NewMem()
	s := filled(t, Options{FS: mem, NoCompaction: true})
	b := branch(t, s, "bp")
	churn(t, s, 1)
	known, err := s.cat.HistoryOf(t.Context(), b.RepresentationID)
	must(t, err)
	g := known.Generations[0]
	check := func() error {
		return newChecker(t.Context(), s, nil, nil).sealedBytes(g.ObjectID, g.Path, g.ByteExtent, g.ContentID)
	}
	must(t, check())
	g.ContentID[5] ^= 1
	var corrupt *CorruptError
	if err := check(); !errors.As(err, &corrupt) || corrupt.File != g.Path {
		t.Errorf("another content id: %v", err)
	}
}

// Close ends the reading of a history and waits for it.
func TestCloseWaitsForHistories(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := filled(t, Options{FS: f, NoCompaction: true})
	branch(t, s, "bp")
	churn(t, s, 1)
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.SetHook(func(op vfs.Op) error {
		if op.Kind&vfs.OpOpenRead != 0 {
			once.Do(func() { close(reached); <-goOn })
		}
		return nil
	})
	read, closed := make(chan error, 1), make(chan error, 1)
	go func() { read <- second(s.At(context.Background(), "bp")) }()
	<-reached
	go func() { closed <- s.Close() }()
	<-s.closing
	select {
	case err := <-closed:
		t.Errorf("closed while a history was read: %v", err)
		close(goOn)
		<-read
		return
	case <-time.After(20 * time.Millisecond):
	}
	close(goOn)
	if err := <-read; !errors.Is(err, ErrClosed) {
		t.Errorf("at a store that is closed: %v", err)
	}
	must(t, <-closed)
}

// Two callers share one reading, and what one of them gives up the other does.
func TestBranchPointIsReadOnce(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := filled(t, Options{FS: f, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	b := branch(t, s, "bp")
	churn(t, s, 1)
	known, err := s.cat.HistoryOf(t.Context(), b.RepresentationID)
	must(t, err)
	file := known.Generations[0].Path
	var opened atomic.Int32
	reached, goOn := make(chan struct{}), make(chan struct{})
	f.SetHook(func(op vfs.Op) error {
		if op.Kind&vfs.OpOpenRead != 0 && op.Name == file {
			if opened.Add(1) == 1 {
				close(reached)
				<-goOn
			}
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- second(s.At(ctx, "bp")) }()
	<-reached
	var others sync.WaitGroup
	snaps := make([]*Snapshot, 4)
	for i := range snaps {
		others.Go(func() {
			snap, err := s.At(t.Context(), "bp")
			if err != nil {
				t.Error(err)
			}
			snaps[i] = snap
		})
	}
	late, end := context.WithCancel(t.Context())
	end()
	if _, err := s.At(late, "bp"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller whose context ends: %v", err)
	}
	cancel()
	close(goOn)
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first caller: %v", err)
	}
	others.Wait()
	f.SetHook(nil)
	for _, snap := range snaps {
		if snap == nil || snap != snaps[0] {
			t.Errorf("states %p and %p", snap, snaps[0])
		}
	}
}

// A history takes what the memory budget leaves, and of two that nobody uses the
// older one makes room.
func TestBranchPointsWithinTheBudget(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), NoCompaction: true, Events: nothingFails(t)}
	s := openStore(t, o)
	wait(t, s, update(t, s, createKeys("k", 3)))
	for n := range int64(3) {
		wait(t, s, update(t, s, func(tx *Tx) error {
			for i := range int64(500) {
				if err := put("k", 500*n+i, 500*n+i, "x", "y")(tx); err != nil {
					return err
				}
			}
			return nil
		}))
		branch(t, s, fmt.Sprint("bp", n))
	}
	present, most := s.Durable().memory, int64(0)
	var want []string
	for n := range 3 {
		snap := at(t, s, fmt.Sprint("bp", n))
		want, most = append(want, contentOf(t, snap)), max(most, tableAt(snap, "k").ResidentBytes())
	}
	must(t, s.Close())

	o.MemoryBudget, o.BudgetSource = present+most+most/3, "a test"
	s = openStore(t, o)
	for n := range 3 {
		snap := at(t, s, fmt.Sprint("bp", n))
		if got := contentOf(t, snap); got != want[n] {
			t.Errorf("at %d:\n%s\nwant:\n%s", n, got, want[n])
		}
	}
	scan := tableAt(at(t, s, "bp2"), "k").Scan(math.MinInt64, math.MaxInt64, false)
	block := make([]Entry, 100)
	if n, err := scan.Next(block); n != len(block) {
		t.Fatal(n, err)
	}
	var full *MemoryError
	if err := loadAll(s, "bp1"); !errors.As(err, &full) || !errors.Is(err, ErrNoMemory) || full.Budget != o.MemoryBudget || full.Estimate <= full.Budget {
		t.Errorf("beside one that is in use: %v", err)
	}
	rows := len(block)
	for n := len(block); n == len(block); rows += n {
		var err error
		n, err = scan.Next(block)
		must(t, err)
	}
	if rows != 1500 {
		t.Errorf("%d rows", rows)
	}
	scan = nil
	must(t, loadAll(s, "bp1"))
}
