package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/RoaringBitmap/roaring/v2/roaring64"

	"github.com/tidemarkdb/tidemark/catalog"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// catchupRun is a program of everything that has to do with generations, bases and index
// segments. After each step the rules of catching up hold, found by brute force.
type catchupRun struct {
	t    *testing.T
	rng  *rand.Rand
	mem  *vfs.Mem
	o    Options
	s    *Store
	cats *catalogs // of a crash that is to come: while watched

	watched *atomic.Bool
	rows    map[string]map[int64]string // what the tables hold, by name
	at      map[rowName]recordPlace     // the newest record of each row, of those since the last restore
	ix      []string                    // indexes that were made beside the tables
	made    int

	past   map[string]string // content by branch point
	ever   map[string]string // the same, also of those that are gone
	states map[LSN]committed // while a crash is to come
	acks   []ack
	before catalog.State
	tables map[int64]map[TableID]bool // that have records in a generation, by its object
	did    map[string]int
}

func (r *catchupRun) open() {
	s, err := Open(context.Background(), r.o)
	must(r.t, err)
	r.s = s
}

// recordPlace says where the newest record of a row is.
type recordPlace struct {
	shard int // ordinal
	in    uint64
	gone  bool
}

// committed is what a commit left.
type committed struct {
	content string
	rows    map[string]map[int64]string
	at      map[rowName]recordPlace
}

// commit runs a transaction and waits for it.
func (r *catchupRun) commit(f func(*Tx) error) {
	lsn := update(r.t, r.s, f)
	wait(r.t, r.s, lsn)
	r.note(lsn)
}

// note records what a commit left, if a crash is to come.
func (r *catchupRun) note(lsn LSN) {
	if r.states == nil {
		return
	}
	c := committed{content: r.content(), rows: map[string]map[int64]string{}, at: maps.Clone(r.at)}
	for name, rows := range r.rows {
		c.rows[name] = maps.Clone(rows)
	}
	r.states[lsn] = c
	r.acks = append(r.acks, ack{r.mem.Ops(), lsn})
}

// wrote notes where rows have their newest record: in the generations of now, or in the
// ones before them.
func (r *catchupRun) wrote(names []rowName, gone []bool) {
	for i, n := range names {
		w := recordPlace{shard: shardOf(n.table, n.rowid, len(r.s.shards)), gone: gone[i]}
		w.in = r.s.shards[w.shard].gen.number
		r.at[n] = w
	}
}

// content is what the tables should hold.
func (r *catchupRun) content() string {
	var b strings.Builder
	for _, def := range r.s.Durable().Schema().Tables() {
		fmt.Fprintf(&b, "%s:", def.Name)
		rows := r.rows[def.Name]
		for _, id := range slices.Sorted(func(yield func(int64) bool) {
			for id := range rows {
				if !yield(id) {
					return
				}
			}
		}) {
			fmt.Fprintf(&b, " %d=%s", id, rows[id])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// stored is what they do hold, read by row ids and by every index.
func (r *catchupRun) stored() string { return r.storedIn(r.s.Durable()) }

func (r *catchupRun) storedIn(snap *Snapshot) string {
	var b strings.Builder
	for _, def := range snap.Schema().Tables() {
		fmt.Fprintf(&b, "%s:", def.Name)
		table := snap.Table(def.ID)
		must(r.t, table.Load(r.t.Context())) // of a branch point
		list := allRows(r.t, table)
		for _, e := range list {
			fmt.Fprintf(&b, " %d=%s", e.Rowid, e.Rec.Column(1).Bytes())
		}
		b.WriteByte('\n')
		for i, ix := range def.Indexes {
			got := drain(r.t, table.IndexScan(i, "", "", false), 7)
			want := slices.DeleteFunc(slices.Clone(list), func(e Entry) bool { return !indexHas(def, ix, e.Rec) })
			if ix.Where > 0 {
				r.did["partial index"]++
			}
			if len(got) != len(want) {
				r.t.Fatalf("index %s has %d entries for %d rows", ix.Name, len(got), len(want))
			}
			slices.SortFunc(got, func(a, b Entry) int { return int(a.Rowid - b.Rowid) })
			if !slices.Equal(got, want) {
				r.t.Fatalf("index %s has other rows than %s", ix.Name, def.Name)
			}
		}
	}
	return b.String()
}

// next does something, and says what: now and then a crash comes in the middle.
func (r *catchupRun) next() (what string, undone bool) {
	if r.rng.IntN(16) == 0 {
		return r.crash(), false
	}
	return r.step()
}

// step does something, and says what.
func (r *catchupRun) step() (what string, undone bool) {
	t, s, rng := r.t, r.s, r.rng
	names := []string{"k", "a", "x"}
	switch n := rng.IntN(22); {
	case n >= 20:
		name := names[rng.IntN(len(names))]
		if r.rows[name] == nil {
			return "nothing", false
		}
		r.made++
		ix := fmt.Sprintf("%s_i%d", name, r.made)
		r.commit(func(tx *Tx) error {
			def := altered(rng, tx.Schema().Lookup(name).Table, ix)
			if def.indexNamed(ix) != nil {
				r.ix = append(r.ix, ix)
			}
			return tx.Apply(ReplaceTable{Def: def})
		})
		return "alter table", false
	case n < 7:
		for range 1 + rng.IntN(6) {
			var steps []func(*Tx) error
			var of []rowName
			var gone []bool
			for range 1 + rng.IntN(5) {
				name, id := names[rng.IntN(len(names))], int64(rng.IntN(30))
				rows := r.rows[name]
				if rows == nil {
					continue
				}
				of = append(of, rowName{s.Durable().Schema().Lookup(name).Table.ID, id})
				gone = append(gone, false)
				if _, ok := rows[id]; ok && rng.IntN(3) == 0 {
					delete(rows, id)
					gone[len(gone)-1] = true
					steps = append(steps, remove(name, id))
					continue
				}
				text := strings.Repeat(fmt.Sprint(rng.IntN(9)), rng.IntN(60))
				rows[id] = text
				steps = append(steps, putWide(rng, name, id, text))
			}
			lsn := update(t, s, all(steps...))
			r.wrote(of, gone)
			wait(t, s, lsn)
			r.note(lsn)
		}
		return "rows", false
	case n < 8:
		if r.rows["x"] == nil {
			r.rows["x"] = map[int64]string{}
			r.commit(createTableAs("x", Resident(rng.IntN(2))))
			return "create table", false
		}
		delete(r.rows, "x")
		r.ix = slices.DeleteFunc(r.ix, func(n string) bool { return strings.HasPrefix(n, "x_") })
		r.commit(func(tx *Tx) error { return tx.Apply(DropTable{Table: tx.Schema().Lookup("x").Table.ID}) })
		return "drop table", false
	case n < 9:
		if len(r.ix) > 0 && rng.IntN(2) == 0 {
			name := r.ix[0]
			r.ix = r.ix[1:]
			r.commit(dropIndex(name))
			return "drop index", false
		}
		name := names[rng.IntN(len(names))]
		if r.rows[name] == nil {
			return "nothing", false
		}
		r.made++
		ix := fmt.Sprintf("%s_i%d", name, r.made)
		r.ix = append(r.ix, ix)
		r.commit(createIndex(name, ix, rng.IntN(2)))
		return "create index", false
	case n < 12:
		must(t, s.Compact(t.Context(), nil))
		return "compact", false
	case n < 14:
		must(t, indexJob(s, ""))
		return "index", false
	case n < 15:
		must(t, s.Checkpoint(t.Context(), nil))
		return "checkpoint", false
	case n < 16:
		must(t, s.GC(t.Context(), nil))
		return "gc", false
	case n < 17:
		if len(r.past) > 0 && rng.IntN(2) == 0 {
			for name := range r.past {
				must(t, s.DeleteBranchPoint(t.Context(), name))
				delete(r.past, name)
				return "delete branch point", false
			}
		}
		r.made++
		name := fmt.Sprintf("b%d", r.made)
		_, err := s.CreateBranchPoint(t.Context(), name)
		must(t, err)
		r.past[name] = r.content()
		r.ever[name] = r.past[name]
		return "branch point", false
	case n < 18:
		for name, want := range r.past {
			lsn := restoreTo(t, s, name)
			if got := r.stored(); got != want {
				t.Fatalf("restored %s:\n%s\nwant:\n%s", name, got, want)
			}
			r.reread()
			clear(r.at)
			r.note(lsn)
			return "restore", true
		}
	case n < 19:
		r.fork()
		return "fork", false
	default:
		must(t, s.Close())
		r.open()
		return "reopen", false
	}
	return "nothing", false
}

// reread takes what the tables hold for what they should.
func (r *catchupRun) reread() {
	snap := r.s.Durable()
	r.rows, r.ix = map[string]map[int64]string{}, nil
	for _, def := range snap.Schema().Tables() {
		rows := map[int64]string{}
		for _, e := range allRows(r.t, snap.Table(def.ID)) {
			rows[e.Rowid] = strings.Clone(e.Rec.Column(1).Bytes())
		}
		r.rows[def.Name] = rows
		for _, ix := range def.Indexes {
			if strings.Contains(ix.Name, "_i") {
				r.ix = append(r.ix, ix.Name)
			}
		}
	}
}

// fork makes a timeline, compacts both and lets go of it.
func (r *catchupRun) fork() {
	t, s := r.t, r.s
	r.made++
	name := fmt.Sprintf("t%d", r.made)
	_, err := s.Fork(t.Context(), name)
	must(t, err)
	dev := openTimeline(t, s, name, Options{GenerationSize: r.o.GenerationSize, NoCompaction: true})
	want := r.content()
	wait(t, dev, update(t, dev, put("a", 1000, 1, "fork")))
	must(t, dev.Compact(t.Context(), nil))
	list, err := dev.IndexCatchup(t.Context())
	must(t, err)
	for _, c := range list {
		if c.Lag() != 0 {
			t.Fatalf("in the fork: %+v", c)
		}
	}
	must(t, dev.Close())
	if got := r.stored(); got != want {
		t.Fatalf("behind a fork:\n%s\nwant:\n%s", got, want)
	}
	must(t, s.DropTimeline(t.Context(), name))
}

// rules checks the rules of catching up against the catalog and the files. undone says
// that the step went back to an earlier state.
func (r *catchupRun) rules(undone bool) {
	t := r.t
	st := stateOf(t, r.s)
	compacted := map[int64]int64{}
	newest := map[int64]int64{} // sealed
	named := map[int64]bool{}
	for _, list := range [][]catalog.Generation{st.Inherited, st.Generations, st.Retained} {
		for _, g := range list {
			if g.State != catalog.GenerationOpen {
				newest[g.ShardID] = max(newest[g.ShardID], g.Generation)
			}
			named[g.ObjectID] = true
			if g.State == catalog.GenerationSealed && r.tables[g.ObjectID] == nil {
				r.tables[g.ObjectID] = r.tablesIn(&g)
			}
		}
	}
	for _, c := range st.IndexState.Compacted {
		compacted[c.ShardID] = c.Generation
		if n, known := newest[c.ShardID]; known && c.Generation > n {
			t.Fatalf("I1: %d is compacted of shard %d, %d is sealed", c.Generation, c.ShardID, n)
		}
	}
	position := map[catalog.IndexPosition]int64{}
	for _, p := range st.IndexState.CaughtUp {
		if p.Generation > compacted[p.ShardID] {
			t.Fatalf("I1: %+v, compacted is %d", p, compacted[p.ShardID])
		}
		position[catalog.IndexPosition{IndexID: p.IndexID, ShardID: p.ShardID}] = p.Generation
	}
	if st.IndexState.ReaderFeatures&128 != st.IndexState.WriterFeatures&128 {
		t.Fatalf("I7: %d and %d", st.IndexState.ReaderFeatures, st.IndexState.WriterFeatures)
	}
	for _, g := range st.Retained {
		if g.Generation > compacted[g.ShardID] {
			t.Fatalf("retained %d of shard %d, compacted is %d", g.Generation, g.ShardID, compacted[g.ShardID])
		}
	}
	r.covered(&st, compacted, position)
	if !undone {
		r.since(&st, compacted, position, named)
	}
	r.before = st
}

// covered checks that the base has the newest version of each row that is compacted, and
// that what an index has caught up with is in fragments that it covers.
func (r *catchupRun) covered(st *catalog.State, compacted map[int64]int64, position map[catalog.IndexPosition]int64) {
	t := r.t
	schema := r.s.synced.Load().schema
	k := newChecker(t.Context(), r.s, func(Finding) {}, nil).segmentsOf("", st.Base, &st.IndexState, nil, schema)
	k.places = map[rowName]int{}
	for name := range r.at {
		k.places[name] = -1
	}
	must(t, k.rows(nil))
	covers := map[int64]*roaring64.Bitmap{}
	for _, g := range st.IndexState.Segments {
		if covers[g.IndexID] == nil {
			covers[g.IndexID] = roaring64.New()
		}
		covers[g.IndexID].Or(g.Fragments)
	}
	for name, w := range r.at {
		def, shard := schema.Table(name.table), st.Shards[w.shard].ID
		if def == nil || compacted[shard] < int64(w.in) {
			continue // it was dropped, or the log has its newest version
		}
		n := k.places[name]
		if w.gone != (n < 0) {
			t.Fatalf("I2: row %d of %s, deleted: %t, of generation %d, of which %d is compacted: in the base: %t", name.rowid, def.Name, w.gone, w.in, compacted[shard], n >= 0)
		}
		if n < 0 {
			continue
		}
		for _, ix := range indexesOf(schema) {
			p := position[catalog.IndexPosition{IndexID: ix.IndexID, ShardID: shard}]
			if ix.def.ID != name.table || p < int64(w.in) {
				continue
			}
			r.did["held"]++
			if b := covers[ix.IndexID]; b == nil || !b.Contains(uint64(k.fragments[n].id)) {
				t.Fatalf("I3: %s is at %d of shard %d and does not cover fragment %d, where row %d of generation %d is", ix.name(), p, shard, k.fragments[n].id, name.rowid, w.in)
			}
		}
	}
}

// since checks what a step may change.
func (r *catchupRun) since(st *catalog.State, compacted map[int64]int64, position map[catalog.IndexPosition]int64, named map[int64]bool) {
	t := r.t
	for _, c := range r.before.IndexState.Compacted {
		if compacted[c.ShardID] < c.Generation {
			t.Fatalf("I4: %d of shard %d was compacted, now %d", c.Generation, c.ShardID, compacted[c.ShardID])
		}
	}
	for i, sh := range st.Shards {
		if sh.ReplayFrom < r.before.Shards[i].ReplayFrom {
			t.Fatalf("I4: replay from %d, was %d", sh.ReplayFrom, r.before.Shards[i].ReplayFrom)
		}
	}
	segments := func(s *catalog.State, index int64) (list []string) {
		for _, g := range s.IndexState.Segments {
			if g.IndexID == index {
				list = append(list, fmt.Sprint(g.ObjectID, g.Fragments))
			}
		}
		slices.Sort(list)
		return list
	}
	relied := map[int64]bool{}
	for _, w := range indexesOf(r.s.synced.Load().schema) {
		relied[w.IndexID] = true
	}
	for _, p := range r.before.IndexState.CaughtUp {
		now := position[catalog.IndexPosition{IndexID: p.IndexID, ShardID: p.ShardID}]
		if relied[p.IndexID] && now < p.Generation && slices.Equal(segments(&r.before, p.IndexID), segments(st, p.IndexID)) {
			t.Fatalf("I6: %+v, now %d", p, now)
		}
	}
	was := slices.Clone(r.before.Retained)
	for _, list := range [][]catalog.Generation{r.before.Inherited, r.before.Generations} {
		for _, g := range list {
			if g.InHead {
				was = append(was, g)
			}
		}
	}
	in := map[int64]bool{}
	for _, list := range [][]catalog.Generation{st.Inherited, st.Generations, st.Retained} {
		for _, g := range list {
			if g.InHead || slices.ContainsFunc(st.Retained, func(x catalog.Generation) bool { return x.ObjectID == g.ObjectID }) {
				in[g.ObjectID] = true
			}
		}
	}
	for _, g := range was {
		if in[g.ObjectID] {
			continue
		}
		r.did["retired"]++
		if g.Generation > compacted[g.ShardID] {
			t.Fatalf("I5: %d of shard %d is retired, compacted is %d", g.Generation, g.ShardID, compacted[g.ShardID])
		}
		for _, w := range indexesOf(r.s.synced.Load().schema) {
			if p := position[catalog.IndexPosition{IndexID: w.IndexID, ShardID: g.ShardID}]; r.tables[g.ObjectID][w.def.ID] && p < g.Generation {
				t.Fatalf("I5: %d of shard %d is retired, %s is at %d", g.Generation, g.ShardID, w.name(), p)
			}
		}
	}
}

// tablesIn reads which tables a generation has records of. Of one that nothing needs, and
// that was collected meanwhile, that is not known any more.
func (r *catchupRun) tablesIn(g *catalog.Generation) map[TableID]bool {
	tables := map[TableID]bool{}
	k := &segmentChecker{checker: newChecker(r.t.Context(), r.s, func(Finding) {}, nil)}
	err := k.records(g, func(name rowName) { tables[name.table] = true })
	if errors.Is(err, fs.ErrNotExist) {
		st := stateOf(r.t, r.s)
		for _, x := range slices.Concat(st.Inherited, st.Generations, st.Retained) {
			if x.ObjectID == g.ObjectID && x.State == catalog.GenerationSealed && (x.InHead || slices.ContainsFunc(st.Retained, func(y catalog.Generation) bool { return y.ObjectID == x.ObjectID })) {
				r.t.Fatal(err)
			}
		}
		return nil
	}
	must(r.t, err)
	return tables
}

// catchupSeeds: CI runs a few, somebody who changes the rules fifty.
var catchupSeeds = flag.Int("catchup-seeds", 6, "programs of TestCatchupRandom")

// A program of rows, schema changes, compactions, index jobs, branch points, restores,
// forks, collections and reopens keeps the rules.
func TestCatchupRandom(t *testing.T) {
	seeds := *catchupSeeds
	if testing.Short() {
		seeds = min(seeds, 3)
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			mem := vfs.NewMem()
			r := &catchupRun{
				t: t, rng: rand.New(rand.NewPCG(seed, 7)),
				o:    Options{Dir: t.TempDir(), Create: true, Shards: 1 + int(seed%2)*2, GenerationSize: 2 << 10, NoCompaction: true, Events: nothingFails(t)},
				rows: map[string]map[int64]string{"k": {}, "a": {}}, past: map[string]string{}, ever: map[string]string{}, did: map[string]int{},
			}
			r.on(mem)
			r.open()
			wait(t, r.s, update(t, r.s, all(createKeys("k", 2), createTable("a"))))
			r.before = stateOf(t, r.s)
			for i := range 60 {
				what, undone := r.next()
				r.did[what]++
				r.rules(undone)
				if got, want := r.stored(), r.content(); got != want {
					t.Fatalf("step %d, %s:\n%s\nwant:\n%s", i, what, got, want)
				}
				if i%4 == 0 {
					checkStore(t, r.s)
				}
				if t.Failed() {
					t.Fatalf("step %d, %s", i, what)
				}
			}
			must(t, r.s.Compact(t.Context(), nil))
			must(t, indexJob(r.s, ""))
			r.rules(false)
			caughtUp(t, r.s)
			checkStore(t, r.s)
			must(t, r.s.Close())
			checkLeaks(t, r.mem)
			if r.did["retired"] == 0 || r.did["held"] == 0 {
				t.Error("nothing was retired, or no row was looked for")
			}
			t.Logf("%v", r.did)
		})
	}
}
