package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// tableAt is a table of a state by its name.
func tableAt(s *Snapshot, name string) *Table { return s.Table(s.Schema().Lookup(name).Table.ID) }

// manyTables fills tables t0, t1, … with rows of their own, and indexes.
func manyTables(t testing.TB, s *Store, tables int, rows int64, text string) {
	t.Helper()
	for n := range tables {
		wait(t, s, update(t, s, createKeys(fmt.Sprint("t", n), 3)))
		for from := int64(0); from < rows; from += 500 {
			wait(t, s, update(t, s, func(tx *Tx) error {
				for i := from; i < min(from+500, rows); i++ {
					if err := put(fmt.Sprint("t", n), i, i, i%7, fmt.Sprint(text, n, " ", i))(tx); err != nil {
						return err
					}
				}
				return nil
			}))
		}
	}
}

// Opening a branch point loads no table; using one loads that one, once, for all
// snapshots of the branch point, until it is let go of.
func TestPastTablesOnDemand(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		s := openStore(t, Options{FS: vfs.NewMem(), Shards: shards, GenerationSize: 16 << 10, NoCompaction: true, Events: nothingFails(t)})
		manyTables(t, s, 3, 200, "x")
		branch(t, s, "bp")
		must(t, s.Compact(t.Context(), nil))
		wait(t, s, update(t, s, put("t1", 5, 5, 1, "changed")))
		branch(t, s, "changed")
		loads := func(want uint64) {
			t.Helper()
			if m := s.Metrics(); m.PastLoads != want || m.PastDrops != 0 || want > 0 && m.PastMemory == 0 {
				t.Errorf("%d loads, %d tables let go of, %d bytes, want %d loads", m.PastLoads, m.PastDrops, m.PastMemory, want)
			}
		}
		snap := at(t, s, "bp")
		for _, def := range snap.Schema().Tables() {
			if n := snap.Table(def.ID).Len(); n != 200 {
				t.Errorf("table %q has %d rows", def.Name, n)
			}
			if n := snap.Table(def.ID).ResidentBytes(); n != 0 {
				t.Errorf("table %q takes %d bytes before its first use", def.Name, n)
			}
		}
		loads(0)
		for range 3 {
			if rec, found, err := tableAt(at(t, s, "bp"), "t1").Get(5); err != nil || !found || !strings.Contains(string(rec), "x1 5") {
				t.Errorf("%q, %v, %v", rec, found, err)
			}
		}
		loads(1)
		if n := tableAt(snap, "t0").ResidentBytes() + tableAt(snap, "t2").ResidentBytes(); n != 0 {
			t.Errorf("tables that were not used take %d bytes", n)
		}
		if rec, _, err := tableAt(at(t, s, "changed"), "t1").Get(5); err != nil || !strings.Contains(string(rec), "changed") {
			t.Errorf("%q, %v", rec, err)
		}
		loads(2)
		verifyRoot(t, (*root)(snap))
		loads(4)
		sum := tableAt(at(t, s, "changed"), "t1").ResidentBytes()
		for n := range 3 {
			sum += tableAt(snap, fmt.Sprint("t", n)).ResidentBytes()
		}
		if m := s.Metrics(); m.MemoryEstimate != s.Head().memory || m.PastMemory != sum {
			t.Errorf("%d bytes of past tables, they take %d", m.PastMemory, sum)
		}
	})
}

// A state many times as large as the budget is read from one end to the other, table
// by table and by their indexes, in memory that the budget bounds. The tables that were
// used longest ago go first, and come back.
func TestPastTablesBeyondTheBudget(t *testing.T) {
	const tables, rows = 6, 600
	text := strings.Repeat("long ", 300)
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 256 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := openStore(t, o)
	manyTables(t, s, tables, rows, text)
	want := contentOf(t, s.Durable())
	branch(t, s, "bp")
	must(t, s.Compact(t.Context(), nil))
	for n := range tables {
		wait(t, s, update(t, s, dropTable(fmt.Sprint("t", n))))
	}
	must(t, s.Compact(t.Context(), nil))
	one := func() int64 {
		snap := at(t, s, "bp")
		must(t, tableAt(snap, "t0").Load(t.Context()))
		return tableAt(snap, "t0").ResidentBytes()
	}()
	must(t, s.Close())

	o.MemoryBudget, o.BudgetSource = 1<<10+2*one+one/2, "a test"
	if n := int64(tables*rows*len(text)) / o.MemoryBudget; n < 10 {
		t.Fatalf("the state is only %d times as large as the budget", n)
	}
	s = openStore(t, o)
	snap := at(t, s, "bp")
	if got := contentOf(t, snap); got != want {
		t.Error("the state is another one")
	}
	m := s.Metrics()
	if m.PastLoads != tables || m.PastDrops < tables-2 || m.PastMemory > o.MemoryBudget {
		t.Errorf("%d loads, %d tables let go of, %d bytes of %d", m.PastLoads, m.PastDrops, m.PastMemory, o.MemoryBudget)
	}
	in := func() (list []string) {
		for n := range tables {
			if tableAt(snap, fmt.Sprint("t", n)).ResidentBytes() > 0 {
				list = append(list, fmt.Sprint("t", n))
			}
		}
		return list
	}
	use := func(name string) {
		t.Helper()
		if _, found, err := tableAt(snap, name).Get(7); !found || err != nil {
			t.Errorf("%v, %v", found, err)
		}
	}
	if got := fmt.Sprint(in()); got != "[t4 t5]" {
		t.Errorf("in memory are %s", got)
	}
	use("t4")
	use("t0")
	if got := fmt.Sprint(in()); got != "[t0 t4]" {
		t.Errorf("used were t4 and t0, in memory are %s", got)
	}
	// Writes have the room that histories take, but for what is being read.
	wait(t, s, update(t, s, createTable("new")))
	fill := func() (n int64, err error) {
		tx, err := s.Begin(t.Context())
		must(t, err)
		defer tx.Rollback()
		for ; err == nil; n++ {
			err = put("new", n, n, "some text")(tx)
		}
		return n, err
	}
	alone, err := fill()
	if !errors.Is(err, ErrNoMemory) || fmt.Sprint(in()) != "[]" {
		t.Errorf("%d rows, then %v, in memory are %s", alone, err, in())
	}
	scan := tableAt(snap, "t3").Scan(math.MinInt64, math.MaxInt64, false)
	block := make([]Entry, 50)
	if n, err := scan.Next(block); n != len(block) || err != nil {
		t.Fatal(n, err)
	}
	if beside, err := fill(); !errors.Is(err, ErrNoMemory) || beside >= alone {
		t.Errorf("beside a scan %d rows, alone %d; %v", beside, alone, err)
	}
	for total, n := len(block), len(block); n > 0; total += n {
		if n, err = scan.Next(block); err != nil || n == 0 && total != rows {
			t.Fatalf("%d rows, %v", total, err)
		}
	}
	must(t, s.Close())

	o.MemoryBudget = one / 2
	s = openStore(t, o)
	var full *MemoryError
	if err := loadAll(s, "bp"); !errors.As(err, &full) || full.Budget != o.MemoryBudget || full.Source != "a test" || full.Largest.Name != "t0" {
		t.Errorf("a table that does not fit alone: %v", err)
	}
	if n := s.Metrics().PastMemory; n != 0 {
		t.Errorf("%d bytes are left of it", n)
	}
}

// Damage in a file concerns the tables that have rows in it, and says where it is,
// when they are used, or their rows read.
func TestPastTablesWithDamage(t *testing.T) {
	mem := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: mem, GenerationSize: 8 << 10, NoCompaction: true}
	s := openStore(t, o)
	manyTables(t, s, 4, 200, strings.Repeat("z", 60))
	must(t, s.Compact(t.Context(), nil))
	b := branch(t, s, "bp")
	known, err := s.cat.HistoryOf(t.Context(), b.RepresentationID)
	must(t, err)
	for n := range 4 {
		wait(t, s, update(t, s, dropTable(fmt.Sprint("t", n))))
	}
	must(t, s.Compact(t.Context(), nil))
	must(t, s.Close())
	find := func(text string) (name string, at int) {
		t.Helper()
		for _, f := range known.Base {
			if at := bytes.Index(readFile(t, mem, f.Path), []byte(text)); at >= 0 {
				return f.Path, at
			}
		}
		t.Fatalf("no file has %q", text)
		return "", 0
	}
	file, place := find(strings.Repeat("z", 60) + "2 100") // a row in the middle of t2
	sound := readFile(t, mem, file)
	bad := append([]byte(nil), sound...)
	bad[place] ^= 1
	read := func(s *Store, name string) error {
		snap, err := s.At(t.Context(), "bp")
		if err != nil {
			return err
		}
		scan := tableAt(snap, name).Scan(math.MinInt64, math.MaxInt64, false)
		rows, block := 0, make([]Entry, 64)
		for {
			n, err := scan.Next(block)
			if err != nil {
				return err
			}
			if rows += n; n < len(block) {
				break
			}
		}
		if rows != 200 {
			return fmt.Errorf("%d rows", rows)
		}
		return nil
	}
	check := func(s *Store, what string, offset bool) {
		t.Helper()
		for n := range 4 {
			err := read(s, fmt.Sprint("t", n))
			var damage *CorruptError
			switch {
			case n != 2 && err != nil:
				t.Errorf("%s: table t%d: %v", what, n, err)
			case n == 2 && (!errors.As(err, &damage) || damage.File != file || offset && (damage.Offset > int64(place) || damage.Offset < int64(place)-200)):
				t.Errorf("%s: table t2, damaged in %s at %d: %v", what, file, place, err)
			}
		}
	}
	for what, damage := range map[string]func(){
		"a bit":     func() { writeFile(t, mem, file, bad) },
		"truncated": func() { writeFile(t, mem, file, sound[:len(sound)-8]) },
		"missing":   func() { must(t, mem.Remove(file)) },
	} {
		damage()
		s, err := Open(t.Context(), o)
		must(t, err)
		check(s, what, what == "a bit")
		if n, err := at(t, s, "bp").Table(1000000), error(nil); n != nil || err != nil {
			t.Error(n, err)
		}
		must(t, s.Close())
		f, err := mem.Create(file)
		if err == nil {
			must(t, f.Close())
		}
		writeFile(t, mem, file, sound)
	}
	// A file that goes bad behind the load is found by the read of the row.
	s, err = Open(t.Context(), o)
	must(t, err)
	must(t, loadAll(s, "bp"))
	snap := at(t, s, "bp")
	writeFile(t, mem, file, bad)
	check(s, "behind the load", true)
	writeFile(t, mem, file, sound)
	for n := range 4 {
		must(t, read(s, fmt.Sprint("t", n)))
	}
	_ = snap
	must(t, s.Close())
}

// Tables are loaded, read, let go of and loaded again by several at once, beside
// writers and compactions.
func TestPastTablesAtOnce(t *testing.T) {
	const tables, rows = 4, 150
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 16 << 10, NoCompaction: true, Events: nothingFails(t)}
	s := openStore(t, o)
	manyTables(t, s, tables, rows, "x")
	want := contentOf(t, s.Durable())
	branch(t, s, "bp")
	must(t, loadAll(s, "bp"))
	one := tableAt(at(t, s, "bp"), "t0").ResidentBytes()
	present := s.Head().memory
	must(t, s.Close())
	o.MemoryBudget, o.BudgetSource = 2*present+8*one, "a test"
	s = openStore(t, o)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 4 {
				snap, err := s.At(t.Context(), "bp")
				if err != nil {
					t.Error(err)
					return
				}
				if got := contentOf(t, snap); got != want {
					t.Error("the state is another one")
				}
				s.histories.makeRoom(one, true)
			}
		})
	}
	wg.Go(func() {
		for i := range int64(20) {
			wait(t, s, update(t, s, put("t1", i, i, 1, fmt.Sprint("changed ", i))))
			if i%7 == 0 {
				must(t, s.Compact(t.Context(), nil))
			}
		}
	})
	wg.Wait()
	if m := s.Metrics(); m.PastDrops == 0 || m.PastLoads <= tables {
		t.Errorf("%d loads, %d tables let go of", m.PastLoads, m.PastDrops)
	}
}

// A context ends the loading of a table, and so does Close; whoever waits for it
// loads it then.
func TestPastTableLoadEnds(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{Dir: t.TempDir(), FS: f, NoCompaction: true})
	manyTables(t, s, 2, 100, "x")
	branch(t, s, "bp")
	must(t, s.Compact(t.Context(), nil))
	snap := at(t, s, "bp")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tableAt(snap, "t0").Load(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	if n := s.Metrics().PastMemory; n != 0 {
		t.Errorf("%d bytes of what was not loaded", n)
	}
	must(t, tableAt(snap, "t0").Load(t.Context()))
	must(t, tableAt(snap, "t0").Load(ended)) // it is there
	must(t, s.Close())
	if err := tableAt(snap, "t1").Load(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
	if _, err := tableAt(snap, "t1").Scan(0, 10, false).Next(make([]Entry, 3)); !errors.Is(err, ErrClosed) {
		t.Errorf("a scan of a closed store: %v", err)
	}
	if n := tableAt(snap, "t1").Len(); n != 100 {
		t.Errorf("%d rows", n)
	}
}
