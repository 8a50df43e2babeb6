package engine

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// seenTable is a view and what it must go on to show.
type seenTable struct {
	table *Table
	rows  string
}

// The oracle with schema changes: indexes come and go, tables are dropped and
// made anew, in transactions that are rolled back in part or whole and prepared
// more than once, beside states that are still read.
func TestKeysSchemaOracle(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 0))
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 16 << 10}
		s := openStore(t, o)
		wait(t, s, update(t, s, bothTables))
		steps := 400
		if testing.Short() {
			steps = 120
		}
		var kept []seenTable
		for range steps {
			tx, err := s.Begin(t.Context())
			must(t, err)
			for range 1 + rng.IntN(6) {
				schemaStep(t, tx, rng, 3)
				if rng.IntN(4) == 0 {
					must(t, tx.Prepare())
				}
			}
			sameTables(t, tx.View, tx.Schema())
			if rng.IntN(5) == 0 {
				if rng.IntN(2) == 0 {
					must(t, tx.Prepare())
				}
				tx.Rollback()
			} else {
				must(t, tx.Prepare())
				if lsn := tx.Commit(); lsn != 0 {
					wait(t, s, lsn)
				}
			}
			head := s.Durable()
			sameTables(t, head.Table, head.Schema())
			if k := head.Table(head.Schema().Lookup("k").Table.ID); rng.IntN(4) == 0 {
				kept = append(kept, seenTable{k, rowsOf(t, k)})
			}
			if n := len(kept); n > 0 {
				if old := kept[rng.IntN(n)]; rowsOf(t, old.table) != old.rows {
					t.Fatal("an old state changed")
				}
			}
			switch rng.IntN(25) {
			case 0:
				must(t, s.Checkpoint(t.Context(), nil))
			case 1:
				must(t, s.Close())
				s, kept = openStore(t, o), nil
				sameTables(t, s.Durable().Table, s.Durable().Schema())
			case 2, 3, 4:
				checkStore(t, s)
			}
		}
	})
}

// bothTables makes the tables of an oracle: one with all rows in memory, and one
// without.
func bothTables(tx *Tx) error {
	def := testTable("a", 5)
	def.Indexes = []*IndexDef{testIndex("a_c0", true, 0), testIndex("a_c1", false, 1)}
	return all(createKeys("k", 5), func(tx *Tx) error { return tx.Apply(CreateTable{Def: def}) })(tx)
}

// schemaStep does the same to both tables of the oracle.
func schemaStep(t *testing.T, tx *Tx, rng *rand.Rand, depth int) {
	switch n := rng.IntN(24); {
	case n < 2:
		for _, name := range []string{"a", "k"} {
			def := tx.Schema().Lookup(name).Table
			if len(def.Indexes) > 2 {
				must(t, tx.Apply(DropIndex{Table: def.ID, Index: def.Indexes[2].ID}))
			} else {
				must(t, tx.Apply(CreateIndex{Table: def.ID, Index: testIndex(name+"_c4", false, 4)}))
			}
		}
	case n == 2:
		for _, name := range []string{"a", "k"} {
			must(t, tx.Apply(DropTable{Table: tx.Schema().Lookup(name).Table.ID}))
		}
		must(t, bothTables(tx))
	case n == 3:
		// A table that comes and goes.
		must(t, createKeys("passing", 3)(tx))
		must(t, all(put("passing", 1, 1, "one", 1), put("passing", 1, 1, "two", 1))(tx))
		must(t, tx.Apply(DropTable{Table: tx.Schema().Lookup("passing").Table.ID}))
	case n < 9 && depth > 0:
		k := tx.Schema().Lookup("k").Table.ID
		mark, view := tx.Mark(), tx.View(k)
		before := rowsOf(t, view)
		for range 1 + rng.IntN(4) {
			schemaStep(t, tx, rng, depth-1)
		}
		late := tx.View(tx.Schema().Lookup("k").Table.ID)
		then := rowsOf(t, late)
		tx.RollbackTo(mark)
		if rowsOf(t, tx.View(k)) != before || rowsOf(t, late) != then || rowsOf(t, view) != before {
			t.Fatal("a rollback to a mark shows in a view, or not in the table")
		}
	default:
		keysStep(t, tx, rng, 0)
	}
}

// Rows that were undone together with a schema change are let go, also when a view
// has seen them.
func TestKeysUndoneRows(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, bothTables))
	wait(t, s, update(t, s, func(tx *Tx) error {
		k := tx.Schema().Lookup("k").Table.ID
		tx.Handle(k)
		mark := tx.Mark()
		more := CreateIndex{Table: k, Index: testIndex("k_c4", false, 4)}
		if err := all(func(tx *Tx) error { return tx.Apply(more) }, put("k", 1, 1, "a", 0, 0, 0))(tx); err != nil {
			return err
		}
		if n := tx.View(k).Len(); n != 1 {
			t.Errorf("%d rows", n)
		}
		tx.RollbackTo(mark)
		return tx.Apply(more)
	}))
	checkStore(t, s)
}

// A table without a log has no rows that could be read from one.
func TestKeysMustBeDurable(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	_, err := tryUpdate(s, func(tx *Tx) error {
		def := testTable("k", 2)
		def.Resident, def.Durable = ResidentKeys, false
		return tx.Apply(CreateTable{Def: def})
	})
	if !errors.Is(err, ErrInvalidChange) {
		t.Errorf("a volatile table of resident=keys: %v", err)
	}
}

// A handle that comes back with an undone schema change holds what a later one had
// staged, if a view saw it: that counts once the handle writes.
func TestKeysMemoryBehindAnUndoneChange(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, all(createKeys("k", 3), put("k", 1, 1, "one", "x"))))
	tx, err := s.Begin(t.Context())
	must(t, err)
	id := tx.Schema().Lookup("k").Table.ID
	tx.Handle(id)
	mark := tx.Mark()
	must(t, tx.Apply(CreateIndex{Table: id, Index: testIndex("k_c2", false, 2)}))
	must(t, put("k", 2, 2, "two", "y")(tx))
	tx.View(id)
	tx.RollbackTo(mark)
	must(t, put("k", 3, 3, "three", "z")(tx))
	must(t, tx.Prepare())
	wait(t, s, tx.Commit())
	checkStore(t, s)
}
