package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"pgregory.net/rapid"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// Tables that are large for what changes of them: rows are superseded in files that
// are kept, in all patterns, and files that are too dead or too many go.
func TestCompactKeepsModel(t *testing.T) {
	var partly, rewritten, kept int
	rapid.Check(t, func(rt *rapid.T) {
		o := Options{Dir: tempDir(t), FS: vfs.NewMem(), GenerationSize: 2 << 10, Shards: rapid.IntRange(1, 2).Draw(rt, "shards"), NoCompaction: true, Create: true, Events: nothingFails(t)}
		s, err := Open(t.Context(), o)
		must(t, err)
		defer func() { must(t, s.Close()) }()
		wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 2), createTable("few"))))
		fill := rapid.IntRange(50, 200).Draw(rt, "rows")
		wait(t, s, update(t, s, all(manyRows("a", fill, "a"), manyRows("k", fill, "k"))))
		compactKeeping(t, s, compactMode{})
		for range rapid.IntRange(2, 6).Draw(rt, "rounds") {
			before := s.base
			name := rapid.SampledFrom([]string{"a", "k"}).Draw(rt, "table")
			from, n := int64(rapid.IntRange(0, fill+20).Draw(rt, "from")), int64(rapid.IntRange(1, 25).Draw(rt, "n"))
			step := int64(rapid.SampledFrom([]int{1, 1, 2, 7}).Draw(rt, "step"))
			kind := rapid.IntRange(0, 9).Draw(rt, "kind")
			for i := range n {
				id := from + i*step
				var change func(*Tx) error
				switch {
				case kind < 5:
					change = put(name, id, id, fmt.Sprint(kind, id, strings.Repeat("x", rapid.IntRange(0, 120).Draw(rt, "size"))))
				case kind < 8:
					change = remove(name, id)
				case kind < 9:
					change = put("few", id, id, "few")
				default:
					change = func(tx *Tx) error { // and back again
						if err := put(name, id, id, "first")(tx); err != nil {
							return err
						}
						return remove(name, id)(tx)
					}
				}
				if _, err := tryUpdate(s, change); err != nil && !errors.Is(err, ErrNotFound) {
					rt.Fatal(err)
				}
			}
			if kind == 0 {
				def := *s.Head().Schema().Lookup(name).Table
				def.SQL += "!"
				update(t, s, func(tx *Tx) error { return tx.Apply(ReplaceTable{Def: &def}) })
			}
			wait(t, s, s.Head().LSN())
			state := dump(s.Durable())
			c, made := compactKeeping(t, s, compactMode{thorough: rapid.IntRange(0, 9).Draw(rt, "thorough") == 0})
			if c == nil {
				continue
			}
			baseIsState(t, s, c.state)
			for _, f := range before {
				for _, x := range f.fragments {
					if x.deleted != nil && int64(x.deleted.GetCardinality()) != x.rows-x.live {
						rt.Fatalf("%s: the base before has another vector than it had", f.path)
					}
				}
			}
			if got := dump(s.Durable()); got != state {
				rt.Fatalf("behind a compaction:\n%s\nwant:\n%s", got, state)
			}
			if len(s.base) > mostKept+len(made.fresh) {
				rt.Fatalf("%d files", len(s.base))
			}
			logUseIsExact(t, s)
			if t.Failed() {
				rt.FailNow()
			}
			if made.kept != nil {
				kept++
				if len(made.kept) < len(before) {
					rewritten++
				}
			}
			for _, f := range made.kept {
				for _, x := range f.fragments {
					if x.deleted != nil && x.live > 0 {
						partly++
					}
				}
			}
		}
	})
	if partly < 20 || rewritten < 5 || kept < 20 {
		t.Errorf("%d fragments were superseded in part, %d compactions kept files, %d some of them", partly, kept, rewritten)
	}
	t.Logf("%d fragments were superseded in part, %d compactions kept files, %d some of them", partly, kept, rewritten)
}

// Of a table of which one row in a hundred changed, about one in a hundred is written.
func TestCompactWritesWhatChanged(t *testing.T) {
	for _, resident := range []Resident{ResidentAll, ResidentKeys} {
		t.Run(resident.String(), func(t *testing.T) { compactWritesWhatChanged(t, resident) })
	}
}

func compactWritesWhatChanged(t *testing.T, resident Resident) {
	const rows = 5000
	s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true, Sync: SyncOff, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createTableAs("t", resident), createTableAs("other", resident), manyRows("t", rows, "x"), manyRows("other", rows, "o"))))
	_, first := compactKeeping(t, s, compactMode{})
	rng := rand.New(rand.NewPCG(1, 2))
	for range rows / 100 {
		id := rng.Int64N(rows)
		update(t, s, put("t", id, id, strings.Repeat("y", 100)))
	}
	wait(t, s, s.Head().LSN())
	c, made := compactKeeping(t, s, compactMode{thorough: true})
	baseIsState(t, s, c.state)
	size := func(files []*baseFile) (n int64) {
		for _, f := range files {
			n += f.info.Bytes
		}
		return n
	}
	if wrote, all := size(made.fresh), size(first.fresh); wrote > all/100 {
		t.Errorf("%d bytes were written of a base of %d", wrote, all)
	}
	if table := tableOf(s, "t"); table.src != nil {
		for id, p := range placesOf(t, table) {
			if p.hops > 0 {
				t.Errorf("row %d is at %+v", id, p)
			}
		}
	}
}

// A table that grows is not written again, however often the log is compacted for
// another one's sake.
func TestCompactLeavesWhatGrows(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), GenerationSize: 8 << 10, NoCompaction: true, Sync: SyncOff, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createTable("log"), createTable("t"), manyRows("t", 20, "t"))))
	var wrote, rows int64
	const rounds, each = 150, 40
	for n := range rounds {
		for i := range int64(each) {
			id := int64(n)*each + i
			update(t, s, all(put("log", id, id, strings.Repeat("l", 100)), put("t", i%20, i, strings.Repeat("t", 100))))
		}
		wait(t, s, s.Head().LSN())
		c, made := compactKeeping(t, s, compactMode{})
		for _, f := range made.fresh {
			for _, x := range f.fragments {
				wrote += x.bytes
			}
		}
		rows = c.state.live
	}
	if len(s.base) > mostKept+8 {
		t.Errorf("%d files", len(s.base))
	}
	if wrote > 4*rows {
		t.Errorf("%d bytes were written of %d that there are", wrote, rows)
	}
	t.Logf("%d bytes were written of %d that there are, in %d files", wrote, rows, len(s.base))
}

// The same rows changed over and over: what the files take stays within bounds.
func TestCompactSteadyState(t *testing.T) {
	const rows, size, floor = 2000, 100, 8 << 10
	s := openStore(t, Options{FS: vfs.NewMem(), GenerationSize: 16 << 10, CompactFloor: floor, NoCompaction: true, Sync: SyncOff, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createTable("t"), manyRows("t", rows, "t"))))
	compactKeeping(t, s, compactMode{})
	s.mu.Lock()
	s.compactor.limits = compactLimits{floor: floor, ratio: defaultCompactRatio, garbage: defaultCompactGarbage}
	s.mu.Unlock()
	rng := rand.New(rand.NewPCG(3, 4))
	var most float64
	var wrote, changed int64
	compactions := 0
	for range 12 * rows {
		id := rng.Int64N(rows)
		update(t, s, put("t", id, id, strings.Repeat("u", size)))
		changed += size
		s.mu.Lock()
		use := s.logUse()
		due := s.rowBytes >= s.compactor.again && compactionDue(use.Used, use.Live, s.logGarbage(use), s.compactor.limits.of(use.Live))
		s.mu.Unlock()
		most = max(most, float64(use.Used)/float64(use.Live))
		if !due {
			continue
		}
		wait(t, s, s.Head().LSN())
		_, made := compactKeeping(t, s, compactMode{})
		compactions++
		for _, f := range made.fresh {
			wrote += f.info.Bytes
		}
	}
	if compactions < 10 || compactions > 40 { // one each time that half of the rows was superseded
		t.Errorf("%d compactions", compactions)
	}
	if most > 2.6 {
		t.Errorf("%.2f times the live rows", most)
	}
	if wrote > 5*changed/2 {
		t.Errorf("%d bytes were written for %d bytes of changes", wrote, changed)
	}
	t.Logf("at most %.2f times the live rows; %d bytes were written for %d of changes", most, wrote, changed)
}

// Files that are old together are not rewritten at once, but all of them in the end.
func TestCompactSpreadsOldFiles(t *testing.T) {
	const rows = 400
	s := openStore(t, Options{FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createTable("t"), manyRows("t", rows, "t"))))
	compactKeeping(t, s, compactMode{})
	old := map[uint64]bool{}
	for _, f := range s.base {
		old[f.object] = true
	}
	var steps []func(*Tx) error
	for id := range int64(rows) {
		if id%5 < 3 {
			steps = append(steps, put("t", id, id, strings.Repeat("u", 100)))
		}
	}
	wait(t, s, update(t, s, all(steps...)))
	left := len(old)
	for round := 0; left > 0; round++ {
		c, made := compactKeeping(t, s, compactMode{})
		n, wrote := 0, int64(0)
		for _, f := range made.kept {
			if old[f.object] {
				n++
			}
		}
		for _, f := range made.fresh {
			_, live := f.sizes()
			wrote += live
		}
		if n >= left || round == 0 && 10*wrote > 9*c.state.live {
			t.Fatalf("%d of %d old files are left, %d bytes were written of %d", n, left, wrote, c.state.live)
		}
		left = n
		wait(t, s, update(t, s, put("t", 1, round, strings.Repeat("v", 100))))
	}
}

// What is left of garbage is a reason to write the base anew only for somebody who
// asks.
func TestCompactThoroughly(t *testing.T) {
	for _, thorough := range []bool{false, true} {
		t.Run(fmt.Sprint(thorough), func(t *testing.T) {
			s := openStore(t, Options{FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true, Events: nothingFails(t)})
			wait(t, s, update(t, s, all(createTable("t"), manyRows("t", 300, "t"))))
			compactKeeping(t, s, compactMode{thorough: thorough})
			change := func(n, every int64) (kept int) {
				var steps []func(*Tx) error
				for id := int64(0); id < n; id += every {
					steps = append(steps, put("t", id, id, strings.Repeat("u", 100)))
				}
				wait(t, s, update(t, s, all(steps...)))
				_, made := compactKeeping(t, s, compactMode{thorough: thorough})
				return len(made.kept)
			}
			if change(300, 15) == 0 {
				t.Error("nothing is kept of a base of which a fifteenth is garbage")
			}
			if n := change(300, 7); (n == 0) != thorough {
				t.Errorf("%d files are kept of a base of which a fifth is garbage", n)
			}
		})
	}
}

// Rows that are not read from the base yet move before it is compacted again, or all
// rows do.
func TestCompactBehindAFailedMove(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f, GenerationSize: 4 << 10, NoCompaction: true})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 300, "k"))))
	compactKeeping(t, s, compactMode{})
	s.compactor.turn <- struct{}{}
	wait(t, s, update(t, s, put("k", 1, 1, "x")))
	c, err := s.compactable(t.Context(), 0)
	must(t, err)
	s.compactor.left = &repointing{cut: c, files: s.base}
	<-s.compactor.turn
	f.Fail(vfs.Rule{Kinds: vfs.OpOpenRead, Sticky: true})
	if mode := s.finishMoving(t.Context(), compactMode{}); !mode.whole {
		t.Error("files are kept that rows are not read from yet")
	}
	f.Clear()
	if mode := s.finishMoving(t.Context(), compactMode{}); mode.whole || s.compactor.left != nil {
		t.Errorf("%+v, left %v", mode, s.compactor.left)
	}
}

// testPlacer is a primary index that covers the fragments with even ids.
type testPlacer struct {
	s    *Store
	lie  func(*basePlace)
	fail error
	had  uint64 // fragments that it covered
}

func (p *testPlacer) places(ctx context.Context, table TableID, rowids []int64, found func(basePlace) error) (*roaring64.Bitmap, error) {
	covered := roaring64.New()
	r := baseReader{s: p.s, ctx: ctx}
	defer func() { _ = r.close() }()
	for _, f := range p.s.base {
		for i := range f.fragments {
			x := &f.fragments[i]
			if x.table != table || x.id%2 != 0 {
				continue
			}
			covered.Add(uint64(x.id))
			err := r.scan(f, x, func(ordinal uint32, fr wal.Frame, ids wal.RowIDs, _ row.Record) error {
				if _, ok := slices.BinarySearch(rowids, ids.Rowid); !ok {
					return nil
				}
				at := basePlace{rowid: ids.Rowid, fragment: x.id, ordinal: ordinal, offset: fr.Offset, size: uint32(fr.End() - fr.Offset)}
				if p.lie != nil {
					p.lie(&at)
				}
				return found(at)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	p.had += covered.GetCardinality()
	return covered, p.fail
}

// What a primary index knows is not read through; one that fails is none, and one that
// says what is not so is found out before anything is published.
func TestCompactWithPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		placer testPlacer
		refuse string
	}{
		"an index":            {},
		"one that fails":      {placer: testPlacer{fail: errors.New("no such thing")}},
		"another row":         {testPlacer{lie: func(at *basePlace) { at.rowid++ }}, "is said to be"},
		"an impossible place": {testPlacer{lie: func(at *basePlace) { at.ordinal += 1 << 20 }}, "is said to be number"},
		"no frame":            {testPlacer{lie: func(at *basePlace) { at.offset += 8 }}, "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{FS: vfs.NewMem(), GenerationSize: 4 << 10, NoCompaction: true})
			wait(t, s, update(t, s, all(createTable("a"), createKeys("k", 2), manyRows("a", 200, "a"), manyRows("k", 200, "k"))))
			compactKeeping(t, s, compactMode{})
			placer := c.placer
			placer.s = s
			for n := range 3 {
				var steps []func(*Tx) error
				for i := range int64(20) {
					id := i*7 + int64(n%2)
					steps = append(steps, put("a", id, id, "x"), put("k", id, id, "x"))
				}
				wait(t, s, update(t, s, all(steps...)))
				mode := compactMode{placer: &placer}
				if c.refuse != "" {
					s.compactor.turn <- struct{}{}
					cut, err := s.compactable(t.Context(), 0)
					must(t, err)
					if _, err := s.planBase(t.Context(), cut, mode); err == nil || !strings.Contains(err.Error(), c.refuse) {
						t.Errorf("%v", err)
					}
					<-s.compactor.turn
					return
				}
				cut, made := compactKeeping(t, s, mode)
				if len(made.kept) == 0 {
					t.Error("no file is kept")
				}
				baseIsState(t, s, cut.state)
			}
			if placer.had == 0 {
				t.Error("the index had nothing")
			}
		})
	}
}

// A compaction goes no faster than it may, and time that nothing was moved in is no
// credit.
func TestByteRate(t *testing.T) {
	now := time.Unix(1000, 0)
	var slept time.Duration
	r := newByteRate(1 << 20)
	r.now = func() time.Time { return now }
	r.sleep = func(_ context.Context, d time.Duration) error {
		slept += d
		now = now.Add(d)
		return nil
	}
	start := now
	for range 100 {
		must(t, r.charge(t.Context(), 100<<10))
	}
	if took := now.Sub(start); took < 9700*time.Millisecond || took > 10*time.Second || slept != took {
		t.Errorf("10000 KiB at 1 MiB/s took %v, slept %v", took, slept)
	}
	now = now.Add(time.Hour)
	slept = 0
	must(t, r.charge(t.Context(), 1<<20))
	if slept != time.Second {
		t.Errorf("after an hour, slept %v", slept)
	}
	slept = 0
	must(t, newByteRate(0).charge(t.Context(), 1<<40))
	must(t, newByteRate(-1).charge(t.Context(), 1<<40))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newByteRate(1).charge(ctx, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait of years: %v", err)
	}
}

// What is moved is charged: all that is written, and what is read for it, and of it for
// its two digests.
func TestCompactIsRated(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true})
	wait(t, s, update(t, s, all(createKeys("k", 2), manyRows("k", 400, "k"))))
	var moved time.Duration
	rate := func() *byteRate {
		now := time.Unix(1000, 0)
		moved = 0
		return &byteRate{perSecond: 1000, now: func() time.Time { return now }, sleep: func(_ context.Context, d time.Duration) error {
			now = now.Add(d)
			moved += d
			return nil
		}}
	}
	bytes := func() float64 { return moved.Seconds() * 1000 }
	_, made := compactKeeping(t, s, compactMode{rate: rate()})
	if wrote := float64(made.fresh[0].info.Bytes); bytes() < 3.6*wrote || bytes() > 4.4*wrote {
		t.Errorf("%.0f bytes were charged for %.0f that were written, and read before", bytes(), wrote)
	}
	wait(t, s, update(t, s, put("k", 399, 399, "x")))
	_, made = compactKeeping(t, s, compactMode{rate: rate()})
	if read := float64(made.kept[0].info.Bytes); bytes() < read*0.9 || bytes() > read+4000 {
		t.Errorf("%.0f bytes were charged for reading %.0f", bytes(), read)
	}
	if mode := s.compactMode(true); mode.rate == nil || mode.rate.perSecond != defaultCompactRate || mode.thorough {
		t.Errorf("%+v", mode)
	}
	if mode := s.compactMode(false); mode.rate != nil || !mode.thorough {
		t.Errorf("%+v", mode)
	}
}

// A table in several files that fit in one goes there when somebody asks.
func TestCompactIntoOneFile(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem(), NoCompaction: true, Events: nothingFails(t)})
	wait(t, s, update(t, s, all(createTable("t"), manyRows("t", 300, "t"))))
	for n, want := range []int{1, 2, 1} {
		wait(t, s, update(t, s, put("t", int64(n), n, "u")))
		compactKeeping(t, s, compactMode{thorough: true})
		if len(s.base) != want {
			t.Errorf("compaction %d leaves %d files, want %d", n, len(s.base), want)
		}
	}
}
