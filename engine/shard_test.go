package engine

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// TestShardOf pins the function that decides where a row lies: it is on disk.
func TestShardOf(t *testing.T) {
	counts := []int{1, 2, 3, 7, 16, 64}
	for _, c := range []struct {
		table TableID
		rowid int64
		want  [6]int
	}{
		{1, 1, [6]int{0, 0, 2, 1, 6, 38}},
		{1, 2, [6]int{0, 1, 0, 2, 15, 47}},
		{1, -1, [6]int{0, 1, 1, 2, 7, 23}},
		{2, 1, [6]int{0, 0, 0, 4, 8, 8}},
		{1025, 1 << 40, [6]int{0, 0, 0, 0, 2, 50}},
		{1 << 61, -1 << 63, [6]int{0, 1, 0, 3, 11, 59}},
	} {
		var got [6]int
		for i, n := range counts {
			got[i] = shardOf(c.table, c.rowid, n)
		}
		if got != c.want {
			t.Errorf("row %d of table %d: shards %v, want %v", c.rowid, c.table, got, c.want)
		}
	}
	// Neighbouring rows spread evenly.
	for _, n := range counts {
		rows := make([]int, n)
		for i := range int64(10_000) {
			rows[shardOf(7, i, n)]++
		}
		for k, got := range rows {
			if mean := 10_000 / n; got < mean*2/3 || got > mean*4/3+1 {
				t.Errorf("shard %d of %d has %d of 10000 rows", k, n, got)
			}
		}
	}
}

// inShard returns the k-th row id from 1 on of a table that lies in a shard.
func inShard(s *Store, name string, shard, k int) int64 {
	id := s.Head().Schema().Lookup(name).Table.ID
	for rowid := int64(1); ; rowid++ {
		if shardOf(id, rowid, len(s.shards)) == shard {
			if k--; k < 0 {
				return rowid
			}
		}
	}
}

// tails returns the ends of the active generations.
func tails(s *Store) (at []int64) {
	for _, sh := range s.shards {
		at = append(at, sh.gen.tail)
	}
	return at
}

// TestRowsTogether: rows of one transaction in several shards become visible
// together, when the last shard is synced.
func TestRowsTogether(t *testing.T) {
	f := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{FS: f, Shards: 3})
	wait(t, s, update(t, s, createTable("t")))
	for last := range 3 {
		gate := make(chan struct{})
		held := s.shards[last].gen.path
		f.SetHook(func(op vfs.Op) error {
			if op.Kind == vfs.OpSyncData && op.Name == held {
				<-gate
			}
			return nil
		})
		var steps []func(*Tx) error
		for k := range 3 {
			steps = append(steps, put("t", inShard(s, "t", k, last), k, "x"))
		}
		before := count(s.Durable(), "t")
		syncs := f.Count(vfs.OpSyncData)
		lsn := update(t, s, all(steps...))
		nudge(s)
		eventually(t, "the syncs of the other shards", func() bool { return f.Count(vfs.OpSyncData) >= syncs+2 })
		if n := count(s.Durable(), "t"); n != before {
			t.Errorf("%d rows are visible before shard %d is synced", n-before, last)
		}
		close(gate)
		wait(t, s, lsn)
		if n := count(s.Durable(), "t"); n != before+3 {
			t.Errorf("%d rows after the syncs", n-before)
		}
	}
	f.SetHook(nil)
}

// TestEmptyShards: a shard without a row keeps its first file, whatever the
// others do.
func TestEmptyShards(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), GenerationSize: 1 << 10, Shards: 3}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	for k := range 8 {
		wait(t, s, update(t, s, put("t", inShard(s, "t", 1, k), k, strings.Repeat("x", 400))))
	}
	must(t, s.Checkpoint(t.Context(), nil))
	check := func() {
		t.Helper()
		for _, g := range s.GenerationInfos() {
			if g.Shard == s.shards[2].id && (g.Generation != 1 || g.State != "open" || g.LastLSN != 0) {
				t.Errorf("the empty shard has %+v", g)
			}
		}
		checkGenerations(t, s, s.Head().LSN())
	}
	check()
	must(t, s.Close())
	var err error
	s, err = Open(t.Context(), o)
	must(t, err)
	check()
	checkStore(t, s)
	wait(t, s, update(t, s, put("t", inShard(s, "t", 2, 0), 1, "first")))
	check2 := count(s.Durable(), "t")
	must(t, s.Close())
	s, err = Open(t.Context(), o)
	must(t, err)
	if got := count(s.Durable(), "t"); got != check2 || got != 9 {
		t.Errorf("%d rows", got)
	}
	must(t, s.Close())
}

// TestMostShards fills, cuts and reopens a store of 64 shards.
func TestMostShards(t *testing.T) {
	m := vfs.NewMem()
	o := Options{Dir: t.TempDir(), FS: m, Shards: MaxShards, GenerationSize: 8 << 10}
	s := openStore(t, o)
	wait(t, s, update(t, s, createTable("t")))
	const rows = 600
	var steps []func(*Tx) error
	for i := range int64(rows) {
		steps = append(steps, put("t", i, i, "one transaction"))
	}
	wait(t, s, update(t, s, all(steps...)))
	if n := len(s.log.participants); n != MaxShards {
		t.Errorf("the transaction took part in %d shards", n)
	}
	for i := range int64(100) {
		wait(t, s, update(t, s, all(put("t", i, i, strings.Repeat("z", 200)), remove("t", i+200))))
	}
	must(t, s.Checkpoint(t.Context(), nil))
	checkStore(t, s)
	want := dump(s.Durable())
	must(t, s.Close())
	s, err := Open(t.Context(), o)
	must(t, err)
	if dump(s.Durable()) != want || count(s.Durable(), "t") != rows-100 {
		t.Errorf("%d rows after reopen", count(s.Durable(), "t"))
	}
	checkStore(t, s)
	must(t, s.Close())
	o.Shards = 63
	if _, err := Open(t.Context(), o); !errors.Is(err, ErrShards) || !strings.Contains(err.Error(), "made with 64") {
		t.Errorf("open with another number of shards: %v", err)
	}
}

// TestFullInOneShard: no room in one of a transaction's shards refuses it and
// leaves the files of all as they were.
func TestFullInOneShard(t *testing.T) {
	for large := range 3 {
		t.Run(fmt.Sprint(large), func(t *testing.T) { fullInOneShard(t, large) })
	}
}

func fullInOneShard(t *testing.T, large int) {
	m := vfs.NewMem()
	f := vfs.NewFault(m)
	s := openStore(t, Options{FS: f, Shards: 3})
	wait(t, s, update(t, s, createTable("t")))
	content := func() (all string) {
		for _, sh := range s.shards {
			all += string(readFile(t, m, sh.gen.path))
		}
		return all
	}
	before, at := content(), tails(s)
	f.SetSpace(200 << 10) // enough for two
	tx, err := s.Begin(t.Context())
	must(t, err)
	mark := tx.Mark()
	for k := range 3 {
		size := 90 << 10
		if k == large {
			size = 1 << 20
		}
		must(t, put("t", inShard(s, "t", k, 0), k, strings.Repeat("x", size))(tx))
	}
	for range 2 {
		if err := tx.Prepare(); !errors.Is(err, ErrFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Prepare without space: %v", err)
		}
	}
	if got := f.Space(); got != 200<<10 {
		t.Errorf("the refused transaction kept %d bytes", 200<<10-got)
	}
	if content() != before || fmt.Sprint(tails(s)) != fmt.Sprint(at) {
		t.Error("the refused transaction changed a log")
	}
	tx.RollbackTo(mark)
	must(t, put("t", inShard(s, "t", large, 1), 1, "small")(tx))
	must(t, tx.Prepare())
	wait(t, s, tx.Commit())
	f.SetSpace(-1)
	if s.Poisoned() != nil || count(s.Durable(), "t") != 1 {
		t.Errorf("%d rows, %v", count(s.Durable(), "t"), s.Poisoned())
	}
}

// TestSchemaAndRows mixes schema changes and rows in one transaction: what is
// in several logs must come back in an order that means the same.
func TestSchemaAndRows(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: 3}
	s := openStore(t, o)
	rows := func(name string, from, to int64, text string) func(tx *Tx) error {
		return func(tx *Tx) error {
			for i := from; i < to; i++ {
				if err := put(name, i, i, text)(tx); err != nil {
					return err
				}
			}
			return nil
		}
	}
	rename := func(from, to string) func(tx *Tx) error {
		return func(tx *Tx) error {
			def := *tx.Schema().Lookup(from).Table
			def.Name, def.SQL = to, "CREATE TABLE "+to
			return tx.Apply(ReplaceTable{Def: &def})
		}
	}
	drop := func(name string) func(tx *Tx) error {
		return func(tx *Tx) error { return tx.Apply(DropTable{tx.Schema().Lookup(name).Table.ID}) }
	}
	index := func(name, ix string) func(tx *Tx) error {
		return func(tx *Tx) error {
			return tx.Apply(CreateIndex{Table: tx.Schema().Lookup(name).Table.ID, Index: testIndex(ix, true, 0)})
		}
	}
	for _, f := range []func(tx *Tx) error{
		all(createTable("t"), rows("t", 0, 20, "a")),
		all(rows("t", 10, 30, "b"), rename("t", "u"), rows("u", 25, 40, "c"), index("u", "u0"), rows("u", 35, 45, "d")),
		all(createTable("gone"), rows("gone", 0, 10, "x"), drop("gone"), rows("u", 0, 3, "e")),
		all(createTable("old"), rows("old", 0, 10, "x")),
		all(rows("old", 5, 15, "y"), remove("old", 2), drop("old"), createTable("old"), rows("old", 0, 4, "z")),
		func(tx *Tx) error { // rolled back in part
			must(t, rows("u", 50, 60, "f")(tx))
			mark := tx.Mark()
			must(t, all(rename("u", "v"), rows("v", 55, 70, "g"), createTable("w"))(tx))
			tx.RollbackTo(mark)
			return all(rows("u", 58, 62, "h"), remove("u", 50))(tx)
		},
		all(remove("u", 1), put("u", 1, 1, "back"), remove("u", 1)),
	} {
		wait(t, s, update(t, s, f))
		checkStore(t, s)
	}
	want := dump(s.Durable())
	must(t, s.Close())
	s, err := Open(t.Context(), o)
	must(t, err)
	if got := dump(s.Durable()); got != want {
		t.Errorf("after reopen:\n%s\nbefore:\n%s", got, want)
	}
	must(t, s.Close())
}

// TestMostShardsCrash crashes a store of 64 shards, from its creation on.
func TestMostShardsCrash(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 4<<10, MaxShards)
	s := r.open(t)
	r.wait(t, s, r.commit(t, s, createTable("t")))
	many := func(from int64, text string) func(tx *Tx) error {
		return func(tx *Tx) error {
			for i := range int64(150) {
				if err := put("t", from+i, i, text)(tx); err != nil {
					return err
				}
			}
			return nil
		}
	}
	r.hold()
	r.commit(t, s, many(0, "a"))
	r.commit(t, s, put("t", 7, 7, "b"))
	last := r.commit(t, s, many(100, "c"))
	r.release()
	r.wait(t, s, last)
	must(t, s.Checkpoint(t.Context(), nil))
	r.wait(t, s, r.commit(t, s, many(50, "d")))
	must(t, s.Close())
	n := r.images(t, 0, thinned(8000), vfs.CrashOptions{Seed: *crashSeed, Mixtures: 12, Max: 16}, nil)
	t.Logf("%v, %d transactions in several shards", n, r.wide)
}
