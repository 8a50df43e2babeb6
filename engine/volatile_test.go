package engine

import (
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// createVolatile makes a table whose rows are in no log.
func createVolatile(name string) func(tx *Tx) error {
	return func(tx *Tx) error {
		def := testTable(name, 2)
		def.Durable = false
		def.Indexes = []*IndexDef{testIndex(name+"_c1", false, 1)}
		return tx.Apply(CreateTable{Def: def})
	}
}

// look reads a row within a transaction.
func look(name string, rowid int64) func(tx *Tx) error {
	return func(tx *Tx) error {
		_, _, err := tx.Get(tx.Schema().Lookup(name).Table.ID, rowid)
		return err
	}
}

// TestVolatileRowsLeaveNoTrace (ENG-AT-05): no byte, no sync and no LSN; the rows are seen at
// once, and gone after a restart, with their table still there.
func TestVolatileRowsLeaveNoTrace(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		fault := vfs.NewFault(vfs.NewMem())
		o := Options{Dir: t.TempDir(), FS: fault, Shards: shards}
		s, err := Open(t.Context(), Options{Dir: o.Dir, FS: o.FS, Shards: shards, Create: true})
		must(t, err)
		wait(t, s, update(t, s, all(createTable("t"), createVolatile("v"))))
		wait(t, s, update(t, s, put("t", 1, 1, "durable")))
		quiet(t, s)
		before, lsn := fault.Count(vfs.SyncOps|vfs.OpWrite), s.Head().LSN()
		for i := range int64(50) {
			wait(t, s, update(t, s, put("v", i, i, "volatile")))
		}
		wait(t, s, update(t, s, all(remove("v", 3), put("v", 4, 4, "changed"))))
		if n := fault.Count(vfs.SyncOps | vfs.OpWrite); n != before {
			t.Errorf("%d writes and syncs for volatile rows", n-before)
		}
		if s.Head().LSN() != lsn || count(s.Durable(), "v") != 49 || text(t, s.Durable(), "v", 4) != "changed" {
			t.Errorf("commit %d after %d, %d rows", s.Head().LSN(), lsn, count(s.Durable(), "v"))
		}
		// One transaction on both kinds is one commit.
		wait(t, s, update(t, s, all(put("t", 2, 2, "both"), put("v", 100, 1, "both"))))
		if s.Durable().LSN() != lsn+1 || count(s.Durable(), "v") != 50 || count(s.Durable(), "t") != 2 {
			t.Errorf("after both: commit %d, %d and %d rows", s.Durable().LSN(), count(s.Durable(), "v"), count(s.Durable(), "t"))
		}
		checkStore(t, s)
		must(t, s.Checkpoint(t.Context(), nil))
		checkHead(t, s)
		must(t, s.Close())
		s, err = Open(t.Context(), o)
		must(t, err)
		if count(s.Durable(), "t") != 2 || count(s.Durable(), "v") != 0 {
			t.Errorf("reopened with %d durable and %d volatile rows", count(s.Durable(), "t"), count(s.Durable(), "v"))
		}
		wait(t, s, update(t, s, put("v", 1, 1, "again")))
		checkStore(t, s)
		must(t, s.Close())
	})
}

// TestVolatileBesideASlowDisk: while commits wait for the disk, a transaction
// that has nothing to do with their tables is seen at once; one that read or
// wrote them is seen when they are.
func TestVolatileBesideASlowDisk(t *testing.T) {
	r := newCrashRun(t, vfs.NewMem(), 0, 1)
	s := r.open(t)
	wait(t, s, update(t, s, all(createTable("t"), createVolatile("v"), createVolatile("w"), createVolatile("x"))))
	r.hold()
	inflight := update(t, s, put("t", 1, 1, "slow"))
	nudge(s)
	onlyInflight := update(t, s, all(look("t", 1), put("x", 1, 1, "read t")))
	gathering := update(t, s, all(put("t", 2, 2, "slower"), put("w", 1, 1, "with t")))
	free := update(t, s, put("v", 1, 1, "free"))
	bound := update(t, s, all(look("w", 1), put("v", 2, 2, "bound")))
	if free >= inflight || onlyInflight != inflight || bound != gathering {
		t.Errorf("wait for %d, %d and %d; the disk has %d and %d to do", free, onlyInflight, bound, inflight, gathering)
	}
	if got := s.Durable(); count(got, "v") != 1 || count(got, "w") != 0 || count(got, "x") != 0 || count(got, "t") != 0 {
		t.Errorf("seen before the disk answered:\n%s", dump(got))
	}
	r.release()
	wait(t, s, gathering)
	wait(t, s, bound)
	if got := s.Durable(); count(got, "v") != 2 || count(got, "w") != 1 || count(got, "x") != 1 || count(got, "t") != 2 || got != s.Head() {
		t.Errorf("seen in the end:\n%s", dump(got))
	}
	must(t, s.Close())
}

// TestVolatilePoison: a failed sync takes away what was bound to it, and nothing
// else; later volatile writes are refused like all others.
func TestVolatilePoison(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{Dir: t.TempDir(), FS: fault})
	wait(t, s, update(t, s, all(createTable("t"), createVolatile("v"), createVolatile("w"))))
	gate := make(chan struct{})
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			<-gate
			return syscall.EIO
		}
		return nil
	})
	lost := update(t, s, put("t", 1, 1, "lost"))
	wait(t, s, update(t, s, put("v", 1, 1, "free")))
	bound := update(t, s, all(look("t", 1), put("w", 1, 1, "bound")))
	holder, err := s.Begin(t.Context())
	must(t, err)
	must(t, put("v", 2, 2, "too late")(holder))
	must(t, holder.Prepare())
	close(gate)
	for _, lsn := range []LSN{lost, bound} {
		if err := s.WaitDurable(t.Context(), lsn); !errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("waiting for %d: %v", lsn, err)
		}
	}
	if err := s.WaitDurable(t.Context(), holder.Commit()); !errors.Is(err, ErrPoisoned) {
		t.Errorf("a volatile commit behind the poison: %v", err)
	}
	if _, err := s.TryBegin(); !errors.Is(err, ErrPoisoned) {
		t.Errorf("a volatile transaction behind the poison: %v", err)
	}
	if got := s.Durable(); count(got, "v") != 1 || count(got, "w") != 0 || count(got, "t") != 0 {
		t.Errorf("seen after the poison:\n%s", dump(got))
	}
}

// TestVolatileOrder runs random transactions on two durable and two volatile
// tables, each with a counter, while syncs are held and released. Each writes to
// its tables what it read of the others. Whatever is visible at any time, nobody
// sees a table that knows more of another one than is visible there, and what was
// acknowledged stays.
func TestVolatileOrder(t *testing.T) {
	names := []string{"t", "u", "v", "w"}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(*crashSeed, seed))
		r := newCrashRun(t, vfs.NewMem(), 0, 1+int(seed%2)*2)
		s := r.open(t)
		wait(t, s, update(t, s, all(createTable("t"), createTable("u"), createVolatile("v"), createVolatile("w"))))
		// Row i of a table is what it knows of table i; its own row is its counter.
		known := func(get func(TableID, int64) (row.Record, bool, error), schema *Schema, name string, i int) int64 {
			rec, found, err := get(schema.Lookup(name).Table.ID, int64(i))
			must(t, err)
			if !found {
				return 0
			}
			return rec.Column(0).Int()
		}
		visible := func(name string, i int) int64 {
			snap := s.Durable()
			return known(func(id TableID, rowid int64) (row.Record, bool, error) { return snap.Table(id).Get(rowid) }, snap.Schema(), name, i)
		}
		held, last := false, LSN(0)
		acked := make([]int64, len(names))
		for range 120 {
			read, write := rng.IntN(len(names)), rng.IntN(len(names))
			lsn := update(t, s, func(tx *Tx) error {
				a := known(tx.Get, tx.Schema(), names[read], read)
				b := known(tx.Get, tx.Schema(), names[write], write)
				if read != write {
					if err := put(names[write], int64(read), a, "")(tx); err != nil {
						return err
					}
				}
				return put(names[write], int64(write), b+1, "")(tx)
			})
			last = max(last, lsn)
			if !held || s.Acknowledged(lsn) {
				wait(t, s, lsn)
				acked[write] = visible(names[write], write)
			}
			snap := s.Durable()
			at := func(id TableID, rowid int64) (row.Record, bool, error) { return snap.Table(id).Get(rowid) }
			for i, name := range names {
				own := known(at, snap.Schema(), name, i)
				if own < acked[i] {
					t.Fatalf("seed %d: %s shows %d, %d was acknowledged", seed, name, own, acked[i])
				}
				for k, other := range names {
					if k != i && known(at, snap.Schema(), name, k) > known(at, snap.Schema(), other, k) {
						t.Fatalf("seed %d: %s knows %d of %s, which shows %d", seed, name,
							known(at, snap.Schema(), name, k), other, known(at, snap.Schema(), other, k))
					}
				}
			}
			switch n := rng.IntN(8); {
			case n == 0 && !held:
				r.hold()
				held = true
			case n <= 2 && held:
				r.release()
				held = false
			}
		}
		if held {
			r.release()
		}
		wait(t, s, last)
		if s.Durable() != s.Head() {
			t.Errorf("seed %d: in the end readers see another state than writers", seed)
		}
		checkStore(t, s)
		must(t, s.Close())
	}
}

// TestVolatileSurvivesTheBatchBefore: what was seen at once stays when a batch
// that was under way before it becomes visible.
func TestVolatileSurvivesTheBatchBefore(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	s := openStore(t, Options{Dir: t.TempDir(), FS: fault})
	wait(t, s, update(t, s, all(createTable("t"), createVolatile("v"))))
	answer := make(chan struct{})
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind == vfs.OpSyncData {
			<-answer
		}
		return nil
	})
	first := update(t, s, put("t", 1, 1, "first batch"))
	nudge(s)
	second := update(t, s, put("t", 2, 2, "second batch"))
	wait(t, s, update(t, s, put("v", 1, 1, "at once")))
	answer <- struct{}{}
	wait(t, s, first)
	if got := s.Durable(); count(got, "v") != 1 || count(got, "t") != 1 {
		t.Errorf("after the first batch:\n%s", dump(got))
	}
	close(answer)
	wait(t, s, second)
	if got := s.Durable(); count(got, "v") != 1 || count(got, "t") != 2 || got != s.Head() {
		t.Errorf("after the second batch:\n%s", dump(got))
	}
}
