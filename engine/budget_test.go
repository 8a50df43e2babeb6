package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// TestMemoryBudget: ENG-60: what does not fit is taken back, indexes included; one
// event per table tells of it, and the estimate follows savepoints, other tables
// and commits.
func TestMemoryBudget(t *testing.T) {
	var events []Event
	o := Options{FS: vfs.NewMem(), Dir: t.TempDir(), MemoryBudget: 200 << 10, BudgetSource: "a test", Events: func(e Event) {
		if e.Kind == EventMemoryFull {
			events = append(events, e)
		}
	}}
	s := openStore(t, o)
	wait(t, s, update(t, s, all(createTable("t"), createVolatile("v"))))
	long := strings.Repeat("long ", 20)
	tx, err := s.Begin(t.Context())
	must(t, err)
	n := int64(0)
	for ; err == nil; n++ {
		err = put([]string{"t", "v"}[n%2], n, n, long)(tx)
	}
	n-- // which was refused
	var full *MemoryError
	if !errors.As(err, &full) || !errors.Is(err, ErrNoMemory) || full.Budget != 200<<10 || full.Source != "a test" || full.Estimate <= full.Budget {
		t.Fatalf("%v", err)
	}
	if full.Table.Name != []string{"t", "v"}[n%2] || full.Rows != int((n+1)/2) || full.InMemory || tx.memory > tx.budget+tx.budget/16 {
		t.Errorf("row %d, %d bytes: %v", n, tx.memory, err)
	}
	if got := tx.Len(tx.Schema().Lookup("t").Table.ID) + tx.Len(tx.Schema().Lookup("v").Table.ID); int64(got) != n {
		t.Errorf("%d rows of %d", got, n)
	}
	if err := put("t", 0, 0, long+long)(tx); !errors.Is(err, ErrNoMemory) {
		t.Errorf("an update that is longer: %v", err)
	}
	refused := tx.memory
	for k := range int64(200) { // of which none leaves anything behind
		if err := put("t", 1_000_000-k*5000, 0, long+long)(tx); !errors.Is(err, ErrNoMemory) {
			t.Fatalf("row %d: %v", k, err)
		}
	}
	if tx.memory != refused {
		t.Errorf("%d bytes, %d after rows that were refused", refused, tx.memory)
	}
	if err := put("t", 0, 7, long)(tx); err != nil {
		t.Errorf("an update of the same length: %v", err)
	}
	mark, before := tx.Mark(), tx.memory
	for k := int64(0); k < n; k += 2 {
		must(t, remove("t", k)(tx))
	}
	if tx.memory > before*2/3 {
		t.Errorf("half of the rows: %d bytes of %d", tx.memory, before)
	}
	tx.RollbackTo(mark)
	if off := tx.memory - before; off > before/8 || off < -before/8 {
		t.Errorf("back at %d bytes from %d", tx.memory, before)
	}
	must(t, tx.Prepare())
	wait(t, s, tx.Commit())
	checkStore(t, s)
	if m := s.Metrics(); m.MemoryEstimate != s.Head().Table(s.Head().Schema().Lookup("t").Table.ID).ResidentBytes()+s.Head().Table(s.Head().Schema().Lookup("v").Table.ID).ResidentBytes() || m.MemoryBudget != 200<<10 {
		t.Errorf("%+v", m)
	}
	for range 3 {
		tx, err := s.Begin(t.Context())
		must(t, err)
		for k := int64(1000); err == nil; k++ {
			err = put("t", k, k, long)(tx)
		}
		tx.Rollback()
	}
	if len(events) == 0 || len(events) > 2 || events[0].Table == "" || events[0].Table == events[len(events)-1].Table && len(events) > 1 {
		t.Errorf("events %v", events)
	}
	// A commit of volatile rows alone is published with its estimate, too.
	wait(t, s, update(t, s, all(remove("v", 1), remove("v", 3))))
	checkStore(t, s)
}

// TestMemoryBudgetOfReplay: ENG-60: a log that does not fit is refused, be it that
// rows are too much on the way or with their indexes at the end.
func TestMemoryBudgetOfReplay(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{FS: vfs.NewMem(), Dir: t.TempDir(), Shards: shards}
		s := openStore(t, o)
		wait(t, s, update(t, s, all(createTable("gone"), createTable("t"))))
		long := strings.Repeat("long ", 30)
		for k := range int64(20) {
			wait(t, s, update(t, s, func(tx *Tx) error {
				for i := range int64(50) {
					if err := all(put("t", k*50+i, k, long), put("gone", k*50+i, k, long))(tx); err != nil {
						return err
					}
				}
				return nil
			}))
		}
		wait(t, s, update(t, s, func(tx *Tx) error { return tx.Apply(DropTable{Table: tx.Schema().Lookup("gone").Table.ID}) }))
		wait(t, s, update(t, s, func(tx *Tx) error {
			for k := int64(500); k < 1000; k++ {
				if err := remove("t", k)(tx); err != nil {
					return err
				}
			}
			return nil
		}))
		need := s.Metrics().MemoryEstimate
		must(t, s.Close())
		for _, budget := range []int64{need / 4, need / 2, need * 7 / 8, 0} {
			o.MemoryBudget, o.BudgetSource = budget, "a test"
			s, err := Open(t.Context(), o)
			if budget == 0 {
				must(t, err)
				checkStore(t, s)
				must(t, s.Close())
				continue
			}
			var full *MemoryError
			var bad *CorruptError
			if !errors.As(err, &full) || errors.As(err, &bad) || full.Table != nil || full.Budget != budget {
				t.Errorf("a budget of %d for %d: %v", budget, need, err)
			}
		}
		o.MemoryBudget = 0
	})
}

// TestMemoryBudgetOfFullStore: what fitted while it was written fits when it is read
// again, with rows of any size, in the order of their ids or not, with an index or
// without, and compacted, too.
func TestMemoryBudgetOfFullStore(t *testing.T) {
	for _, rows := range []struct {
		name string
		size int
		id   func(n int64) int64

		keys, index bool
	}{
		{name: "tiny", id: func(n int64) int64 { return n }},
		{name: "tiny, with an index", id: func(n int64) int64 { return n }, index: true},
		{name: "short", size: 20, id: func(n int64) int64 { return n }},
		{name: "short, scattered", size: 20, id: func(n int64) int64 { return n * 7919 % 100_003 }},
		{name: "short, far apart", size: 20, id: func(n int64) int64 { return n * 0x9e3779b97f4a7c >> 1 }, index: true},
		{name: "middling", size: 150, id: func(n int64) int64 { return -n }},
		{name: "long", size: 1000, id: func(n int64) int64 { return n }},
		{name: "more than a leaf", size: 9000, id: func(n int64) int64 { return n }},
		{name: "keys", size: 60, id: func(n int64) int64 { return n }, keys: true},
		{name: "keys, with an index", size: 60, id: func(n int64) int64 { return n }, keys: true, index: true},
	} {
		t.Run(rows.name, func(t *testing.T) {
			o := Options{FS: vfs.NewMem(), Dir: t.TempDir(), MemoryBudget: 512 << 10, BudgetSource: "a test", NoCompaction: true}
			s := openStore(t, o)
			wait(t, s, update(t, s, func(tx *Tx) error {
				def := testTable("t", 2)
				if rows.keys {
					def.Resident = ResidentKeys
				}
				if rows.index {
					def.Indexes = []*IndexDef{testIndex("t_c1", false, 1)}
				}
				return tx.Apply(CreateTable{Def: def})
			}))
			n, text := int64(0), strings.Repeat("x", rows.size)
			for full := false; !full; {
				lsn, err := tryUpdate(s, func(tx *Tx) error {
					for range max(1, min(100, 20_000/(rows.size+1))) {
						var values []any
						if values = []any{n}; rows.size > 0 {
							values = append(values, text)
						}
						if err := put("t", rows.id(n), values...)(tx); err != nil {
							return err
						}
						n++
					}
					return nil
				})
				switch {
				case errors.Is(err, ErrNoMemory):
					full = true
				default:
					must(t, err)
					wait(t, s, lsn)
				}
			}
			state, estimate := dump(s.Durable()), s.Metrics().MemoryEstimate
			for _, compacted := range []bool{false, true} {
				must(t, s.Close())
				var err error
				s, err = Open(t.Context(), o)
				if err != nil {
					t.Fatalf("compacted %v, estimate %d: %v", compacted, estimate, err)
				}
				t.Logf("%d rows, estimate %d, again %d", count(s.Durable(), "t"), estimate, s.Metrics().MemoryEstimate)
				if got := dump(s.Durable()); got != state {
					t.Error("it is another state")
				}
				if !compacted {
					must(t, s.Compact(t.Context(), nil))
				}
			}
			must(t, s.Close())
		})
	}
}

// TestMemoryBudgetOfPassingTables: ENG-60: rows of a table that the transaction
// which wrote them dropped do not count when the log is read again.
func TestMemoryBudgetOfPassingTables(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{FS: vfs.NewMem(), Dir: t.TempDir(), Shards: shards, MemoryBudget: 100 << 10, BudgetSource: "a test"}
		s := openStore(t, o)
		long := strings.Repeat("long ", 100)
		for range 8 {
			wait(t, s, update(t, s, func(tx *Tx) error {
				if err := createTable("passing")(tx); err != nil {
					return err
				}
				for k := range int64(60) {
					if err := put("passing", k, k, long)(tx); err != nil {
						return err
					}
				}
				return tx.Apply(DropTable{Table: tx.Schema().Lookup("passing").Table.ID})
			}))
		}
		must(t, s.Close())
		s, err := Open(t.Context(), o)
		must(t, err)
		must(t, s.Close())
	})
}
