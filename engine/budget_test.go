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
