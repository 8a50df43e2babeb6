package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// once lets a compaction's progress do something in the middle of writing the base.
func once(f func()) func(done, total int64) {
	done := false
	return func(int64, int64) {
		if !done {
			done = true
			f()
		}
	}
}

// manyRows puts rows of about 100 bytes into a table.
func manyRows(name string, n int, text string) func(*Tx) error {
	return func(tx *Tx) error {
		for id := range int64(n) {
			if err := put(name, id, id, strings.Repeat(text, 100))(tx); err != nil {
				return err
			}
		}
		return nil
	}
}

// What is done while the base is written stays: a row that was changed, removed, or
// removed and inserted anew is not read from the base, and a table that was dropped
// is no reason for anything to fail.
func TestCompactBesideChanges(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, Create: true, NoCompaction: true, Events: nothingFails(t)}
		s, err := Open(t.Context(), o)
		must(t, err)
		wait(t, s, update(t, s, all(createKeys("k", 2), createKeys("gone", 2), createTable("a"), manyRows("k", 300, "k"), manyRows("gone", 20, "g"), manyRows("a", 20, "a"))))
		must(t, s.Compact(t.Context(), once(func() {
			update(t, s, all(put("k", 1, 1, "changed"), remove("k", 2), remove("k", 3), put("a", 1, 1, "changed"), remove("a", 2), put("k", 1000, 1000, "new")))
			update(t, s, put("k", 3, 3, "anew"))
			update(t, s, func(tx *Tx) error { return tx.Apply(DropTable{tx.Schema().Lookup("gone").Table.ID}) })
		})))
		check := func(s *Store) {
			t.Helper()
			snap := s.Head()
			if n := count(snap, "k"); n != 300 {
				t.Errorf("%d rows", n)
			}
			for id, want := range map[int64]string{1: "changed", 3: "anew", 4: strings.Repeat("k", 100), 299: strings.Repeat("k", 100), 1000: "new"} {
				if got := text(t, snap, "k", id); got != want {
					t.Errorf("row %d is %q, not %q", id, got, want)
				}
			}
			if got := text(t, snap, "a", 1); got != "changed" {
				t.Errorf("row 1 of another table is %q", got)
			}
			if snap.Schema().Lookup("gone") != nil {
				t.Error("the dropped table is there")
			}
		}
		check(s)
		wait(t, s, s.Head().LSN())
		logUseIsExact(t, s)
		checkStore(t, s)
		state := dump(s.Durable())
		must(t, s.Close())
		s, err = Open(t.Context(), o)
		must(t, err)
		check(s)
		if got := dump(s.Durable()); got != state {
			t.Errorf("reopened:\n%s\nwant:\n%s", got, state)
		}
		checkStore(t, s)
		must(t, s.Close())
	})
}

// A snapshot that is read from one base keeps its files beside the next base.
func TestCompactKeepsTheBaseBefore(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 20, "k"))))
	must(t, s.Compact(t.Context(), nil))
	old := s.Durable()
	want := dump(old)
	wait(t, s, update(t, s, manyRows("k", 10, "x")))
	must(t, s.Compact(t.Context(), nil))
	for range 3 { // the goroutine looks for what may go, as often as it is told
		runtime.GC()
		_, err := s.sweepReleased()
		must(t, err)
	}
	if got := dump(old); got != want {
		t.Errorf("the snapshot:\n%s\nwant:\n%s", got, want)
	}
	runtime.KeepAlive(old)
}

// A large base is cut into files of about the size of a generation.
func TestBaseOfManyFiles(t *testing.T) {
	const size, rows = 4 << 10, 300
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: size, Create: true, NoCompaction: true, Events: nothingFails(t)}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createKeys("k", 2), createTable("a"), manyRows("k", rows, "k"), manyRows("a", rows, "a"))))
	must(t, s.Compact(t.Context(), nil))
	if n := len(s.base); n < 2*rows*100/size {
		t.Errorf("%d files", n)
	}
	for _, g := range s.base {
		if g.info.Bytes > size+512 { // a row and the footer
			t.Errorf("%s has %d bytes", g.path, g.info.Bytes)
		}
	}
	state := dump(s.Durable())
	must(t, s.Close())
	s, err = Open(t.Context(), o)
	must(t, err)
	if got := dump(s.Durable()); got != state {
		t.Error("reopened, it is another state")
	}
	must(t, s.Close())
}

// compactions of a store, by what became of them.
func compactJobs(t testing.TB, s *Store) (states map[string]int) {
	list, err := s.Jobs(context.Background())
	must(t, err)
	states = map[string]int{}
	for _, j := range list {
		if j.Kind == JobCompact {
			states[j.State]++
		}
	}
	return states
}

// What a compaction wrote that failed goes at once, not with the next one.
func TestFailedCompactionLeavesNothing(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	s := openStore(t, Options{FS: f, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 300, "k"))))
	must(t, s.Checkpoint(t.Context(), nil))
	settled(t, s)
	before := len(objectsOnDisk(t, m))
	for _, r := range []vfs.Rule{{Kinds: vfs.OpSync, N: 1}, {Kinds: vfs.OpSync, N: 4}, {Kinds: vfs.OpCreate, N: 2}} {
		f.Fail(r)
		err := s.Compact(t.Context(), nil)
		f.Clear()
		if err == nil || errors.Is(err, ErrPoisoned) {
			t.Fatalf("%+v: %v", r, err)
		}
		eventually(t, "the files to go", func() bool { return len(objectsOnDisk(t, m)) == before })
		eventually(t, "the catalog to be told", func() bool {
			list, err := s.cat.Objects(t.Context())
			must(t, err)
			return len(list) == before
		})
	}
	if got := compactJobs(t, s); got[catalog.JobFailed] != 3 || len(got) != 1 {
		t.Errorf("jobs: %v", got)
	}
	must(t, s.Compact(t.Context(), nil))
}

// A compaction whose context ends stops where it is.
func TestCompactEndsWithItsContext(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createTable("a"), manyRows("a", 4*baseFlush, "a"))))
	must(t, s.Checkpoint(t.Context(), nil))
	settled(t, s)
	before := len(objectsOnDisk(t, m))
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	err := s.Compact(ctx, func(done, total int64) {
		told++
		cancel()
	})
	if !errors.Is(err, context.Canceled) || told != 1 {
		t.Errorf("%v, told %d times of progress", err, told)
	}
	eventually(t, "the file to go", func() bool { return len(objectsOnDisk(t, m)) == before })
	must(t, s.Compact(t.Context(), nil))
}

// idle waits until the compactor has nothing to do.
func compactorIdle(t testing.TB, s *Store) {
	t.Helper()
	eventually(t, "the compactor to be idle", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.compactor.asked
	})
}

// A compaction by itself that fails is tried again when the log has grown by the
// floor, or a quarter, and not with every commit before.
func TestFailingCompactionIsTriedLater(t *testing.T) {
	const floor, size, commits = 8 << 10, 1 << 10, 64
	f := vfs.NewFault(vfs.NewMem())
	failed := make(chan Event, 4*commits)
	s := openStore(t, Options{FS: f, CompactFloor: floor, Events: func(e Event) {
		if e.Kind == EventBackgroundFailed {
			failed <- e
		}
	}})
	wait(t, s, update(t, s, createTable("a")))
	settled(t, s)
	f.Fail(vfs.Rule{Kinds: vfs.OpCreate, Sticky: true}) // the log goes on in the file it has
	for range commits {
		wait(t, s, update(t, s, put("a", 1, 1, strings.Repeat("x", size))))
		compactorIdle(t, s)
	}
	n := compactJobs(t, s)[catalog.JobFailed]
	if most := 1 + commits*(size+64)/floor; n < 2 || n > most {
		t.Errorf("%d compactions failed, at most %d were due", n, most)
	}
	for i := range n { // the last one maybe after its job has ended
		select {
		case <-failed:
		case <-time.After(time.Minute):
			t.Fatalf("%d failures of %d were told of", i, n)
		}
	}
	f.Clear()
	must(t, s.Compact(t.Context(), nil))
	if use := s.LogUse(); use.Garbage() != 0 {
		t.Errorf("%+v", use)
	}
}

// due reports whether a compaction by itself was asked for.
func due(s *Store) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compactor.asked || s.stats.Compactions > 0
}

// Options say when the log is compacted: not at all, or not for garbage that is
// less than a third of the live rows, whatever the bound.
func TestCompactOptions(t *testing.T) {
	t.Run("off", func(t *testing.T) {
		s := openStore(t, Options{FS: vfs.NewMem(), CompactFloor: 1, NoCompaction: true})
		wait(t, s, update(t, s, createTable("a")))
		for n := range 50 {
			wait(t, s, update(t, s, put("a", 1, 1, fmt.Sprint(n))))
			if due(s) {
				t.Fatal("a compaction nobody wants")
			}
		}
	})
	for name, c := range map[string]struct {
		garbage int64
		rows    int // that may change
	}{"garbage": {1, 3}, "much garbage": {1 << 40, 16}} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{FS: vfs.NewMem(), CompactFloor: 1, CompactGarbage: c.garbage, CompactRatio: 1000})
			wait(t, s, update(t, s, all(createTable("a"), manyRows("a", 50, "a"))))
			for n := range c.rows {
				wait(t, s, update(t, s, put("a", int64(n), n, strings.Repeat("b", 100))))
				if due(s) {
					t.Fatalf("compacted with %+v", s.LogUse())
				}
			}
			for n := range 2 {
				wait(t, s, update(t, s, put("a", int64(n), n, strings.Repeat("c", 100))))
			}
			eventually(t, "a compaction", func() bool { return s.Metrics().Compactions > 0 })
		})
	}
}

// A base is written of what was read, and what was read is held against what the
// table is known to add up to.
func TestCompactComparesSums(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 5, "k"))))
	must(t, s.Checkpoint(t.Context(), nil))
	settled(t, s)
	s.mu.Lock()
	head := s.head.Load()
	wrong := *head.table(tableOf(s, "k").def.ID)
	wrong.sum[0]++
	s.head.Store(head.with([]*Table{&wrong}))
	s.mu.Unlock()
	err := s.Compact(t.Context(), nil)
	s.head.Store(head)
	if err == nil || !strings.Contains(err.Error(), `table "k" has 5 rows of sum`) {
		t.Errorf("of a table with another sum: %v", err)
	}
	must(t, s.Compact(t.Context(), nil))
}

// sweptAfter lets leases end, which takes some collections of garbage, and returns
// how many files wait for that all the same.
func sweptAfter(t testing.TB, s *Store) (waiting int) {
	t.Helper()
	for range 200 {
		runtime.GC()
		_, err := s.sweepReleased()
		must(t, err)
		s.mu.Lock()
		waiting = len(s.replaced)
		s.mu.Unlock()
		if waiting == 0 {
			return 0
		}
		time.Sleep(time.Millisecond)
	}
	return waiting
}

// Nothing is kept of files that are gone, however often the log is compacted.
func TestCompactionsForget(t *testing.T) {
	m := vfs.NewMem()
	s := openStore(t, Options{FS: m, GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, createKeys("k", 2)))
	slots := 0
	for n := range 8 {
		wait(t, s, update(t, s, manyRows("k", 100, fmt.Sprint(n))))
		must(t, s.Compact(t.Context(), nil))
		if n := sweptAfter(t, s); n > 0 {
			t.Fatalf("%d files that were replaced do not go", n)
		}
		if now := len(*s.objects.list.Load()); n == 1 {
			slots = now
		} else if n > 1 && now > slots+2 {
			t.Errorf("%d slots of files after %d compactions, %d after two", now, n+1, slots)
		}
		s.mu.Lock()
		known := len(s.gens) + len(s.base)
		s.mu.Unlock()
		if files := len(logsOnDisk(t, m)); known != files {
			t.Errorf("%d files are known and %d are there", known, files)
		}
	}
}

// Generations that are sealed behind the cut, while the base is written, are not
// among the ones that it replaces.
func TestCompactBesideRotations(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createKeys("k", 2), createTable("a"), manyRows("k", 50, "k"), manyRows("a", 50, "a"))))
	must(t, s.Compact(t.Context(), once(func() {
		for n := range int64(100) {
			wait(t, s, update(t, s, all(put("k", n, n, strings.Repeat("x", 200)), put("a", n, n, "x"))))
		}
		must(t, s.Checkpoint(t.Context(), nil))
		quiet(t, s)
	})))
	s.mu.Lock()
	behind := 0
	for _, g := range s.gens {
		if g.info.State == catalog.GenerationSealed && !g.gone {
			behind++
		}
	}
	s.mu.Unlock()
	if behind == 0 {
		t.Error("no generation was sealed behind the cut, or all were replaced")
	}
	logUseIsExact(t, s)
	checkStore(t, s)
}

// While rows are re-pointed a commit is not durable yet that changes them: it is not
// shown before it is, and then not lost.
func TestCompactShowsNothingEarly(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: fault, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createKeys("k", 2), createKeys("other", 2), manyRows("k", 50, "k"), manyRows("other", 50, "o"))))
	gate := make(chan struct{})
	var early LSN
	must(t, s.Compact(t.Context(), once(func() {
		fault.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpSyncData {
				<-gate
			}
			return nil
		})
		early = update(t, s, put("k", 1, 1, "early"))
		nudge(s)
	})))
	if got, want := text(t, s.Durable(), "k", 1), strings.Repeat("k", 100); got != want {
		t.Errorf("row 1 is %q, and %q is not durable", got, "early")
	}
	if got := text(t, s.Head(), "k", 1); got != "early" {
		t.Errorf("row 1 of the newest state is %q", got)
	}
	for _, snap := range []*Snapshot{s.Durable(), s.Head()} {
		for _, name := range []string{"k", "other"} {
			if got := count(snap, name); got != 50 {
				t.Errorf("%d rows", got)
			}
		}
	}
	close(gate)
	wait(t, s, early)
	if got := text(t, s.Durable(), "k", 1); got != "early" {
		t.Errorf("row 1 is %q afterwards", got)
	}
	checkStore(t, s)
}

// A file is collected for the catalog when the sync of its directory has succeeded,
// and not before: until then a crash brings it back.
func TestRemovalIsSynced(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	s := openStore(t, Options{FS: f, NoCompaction: true})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 50, "k"))))
	must(t, s.Checkpoint(t.Context(), nil))
	settled(t, s)
	old := s.Durable()
	must(t, s.Compact(t.Context(), nil))
	settled(t, s)
	named := func() int {
		list, err := s.cat.Objects(t.Context())
		must(t, err)
		return len(list)
	}
	before := named()
	f.Fail(vfs.Rule{Kinds: vfs.OpSyncDir, Sticky: true})
	runtime.KeepAlive(old)
	old = nil
	for n := 0; n < 200 && len(objectsOnDisk(t, m)) == before; n++ {
		runtime.GC()
		_, _ = s.sweepReleased() // it fails, as the fault wants
		time.Sleep(time.Millisecond)
	}
	if files := len(objectsOnDisk(t, m)); files == before || named() != before {
		t.Errorf("%d files are left of %d, and the catalog names %d", files, before, named())
	}
	f.Clear()
	if n := sweptAfter(t, s); n > 0 {
		t.Errorf("%d files wait", n)
	}
	if files := len(objectsOnDisk(t, m)); files != named() {
		t.Errorf("%d files are left, and the catalog names %d", files, named())
	}
}

// What a process could not remove goes when the store is opened, without another
// compaction.
func TestOpenRemovesWhatIsLeft(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	o := Options{Dir: t.TempDir(), FS: f, Create: true, NoCompaction: true}
	s, err := Open(t.Context(), o)
	must(t, err)
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 50, "k"))))
	must(t, s.Checkpoint(t.Context(), nil))
	settled(t, s)
	before := len(objectsOnDisk(t, m))
	f.Fail(vfs.Rule{Kinds: vfs.OpRemove, Sticky: true})
	f.Fail(vfs.Rule{Kinds: vfs.OpWrite, N: 2})
	if err := s.Compact(t.Context(), nil); err == nil || s.Poisoned() != nil {
		t.Fatalf("a compaction that cannot write: %v, poisoned %v", err, s.Poisoned())
	}
	state := dump(s.Durable())
	must(t, s.Close())
	if n := len(objectsOnDisk(t, m)); n <= before {
		t.Fatalf("%d files, %d before: nothing was left", n, before)
	}
	f.Clear()
	s, err = Open(t.Context(), o)
	must(t, err)
	list, err := s.cat.Objects(t.Context())
	must(t, err)
	if n := len(objectsOnDisk(t, m)); n > before || n != len(list) {
		t.Errorf("%d files, %d before, %d in the catalog", n, before, len(list))
	}
	if got := dump(s.Durable()); got != state {
		t.Error("it is another state")
	}
	checkStore(t, s)
	must(t, s.Close())
}

// A base that cannot be read, when it has been installed, is no harm: rows go on
// being read where they were, which a check finds nothing wrong with, and the next
// compaction lets go of the files.
func TestCompactWithoutRepointing(t *testing.T) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	failed := make(chan Event, 10)
	s := openStore(t, Options{FS: f, NoCompaction: true, Events: func(e Event) {
		// Nor can the base be read to be indexed.
		if e.Kind == EventBackgroundFailed && !strings.Contains(e.Err.Error(), "writing indexes") {
			failed <- e
		}
	}})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 50, "k"))))
	places := placesOf(t, tableOf(s, "k"))
	must(t, s.Compact(t.Context(), once(func() { f.Fail(vfs.Rule{Kinds: vfs.OpOpenRead, Sticky: true}) })))
	select { // it is tried once more, beside this
	case e := <-failed:
		if !strings.Contains(e.Err.Error(), "reading rows from the base") {
			t.Errorf("told of: %v", e.Err)
		}
	case <-time.After(time.Minute):
		t.Fatal("no failure was told of")
	}
	f.Clear()
	for id, p := range placesOf(t, tableOf(s, "k")) {
		if p != places[id] {
			t.Fatalf("row %d is at %+v, and was at %+v", id, p, places[id])
		}
	}
	for range 3 {
		runtime.GC()
		_, err := s.sweepReleased()
		must(t, err)
	}
	if n := count(s.Durable(), "k"); n != 50 {
		t.Errorf("%d rows", n)
	}
	if found := findings(t, s); len(found) > 0 {
		t.Errorf("findings: %v", found)
	}
	wait(t, s, update(t, s, put("k", 1, 1, "now")))
	must(t, s.Compact(t.Context(), nil))
	if n := sweptAfter(t, s); n > 0 {
		t.Errorf("%d files wait", n)
	}
	if got := text(t, s.Durable(), "k", 1); got != "now" {
		t.Errorf("row 1 is %q", got)
	}
	checkStore(t, s)
}

// A cut that was captured for one compaction, and published when the next one
// wants a cut, is not what that one compacts: its numbers are of the log before.
func TestCompactsItsOwnCut(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, all(createTable("a"), manyRows("a", 30, "x"))))
	wait(t, s, update(t, s, manyRows("a", 30, "w")))
	compact := func() chan error {
		done := make(chan error, 1)
		go func() { done <- s.Compact(context.WithoutCancel(t.Context()), nil) }()
		return done
	}
	cuts := func(n int) func() bool {
		return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.pub.wanted != 0 && len(s.pub.cuts) == n
		}
	}
	s.publishing.take()
	first := compact()
	eventually(t, "the first cut", cuts(1))
	wait(t, s, update(t, s, manyRows("a", 30, "y")))
	eventually(t, "another generation", func() bool {
		if ok, err := s.wl.acquire(t.Context(), s.poisoned, s.closing); !ok {
			t.Fatal(err)
		}
		defer s.wl.release()
		return s.rotate() == nil
	})
	eventually(t, "the second cut, captured as well", cuts(2))
	s.sealers.take()
	s.publishing.give()
	must(t, <-first)
	s.publishing.take()
	s.sealers.give()
	eventually(t, "the seal of the second cut", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.chores.sealing) == 0
	})
	wait(t, s, update(t, s, manyRows("a", 30, "z")))
	second := compact()
	eventually(t, "the third cut", cuts(2))
	s.publishing.give()
	must(t, <-second)
	logUseIsExact(t, s)
}
