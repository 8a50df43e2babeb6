package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// TestPreparedRandom: beside random writes, checkpoints and compactions an index is
// what it is when it is made of all rows at once, and refused when rows are equal.
func TestPreparedRandom(t *testing.T) {
	indexes := []*IndexDef{
		testIndex("i", false, 1, 0),
		testIndex("i", true, 0),
		{Name: "i", SQL: "CREATE INDEX i", Origin: "c", Unique: true, Columns: []IndexColumn{{Column: 1, Collation: row.NoCase, Desc: true}, {Column: 0}}},
		{Name: "i", SQL: "CREATE INDEX i", Origin: "c", Columns: []IndexColumn{{Column: 2, Collation: row.RTrim}, {Column: 1, Desc: true}}},
	}
	var created, used int
	defer func() {
		if used < created/2 {
			t.Errorf("%d of %d indexes were prepared in time", used, created)
		}
	}()
	seeds := uint64(12)
	if raceEnabled {
		seeds = 4
	}
	for seed := range seeds {
		for name, resident := range residents {
			t.Run(fmt.Sprintf("%s %d", name, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 11))
				w := newIndexWorld(t, Options{NoCompaction: true, Shards: 1 + int(seed%3)}, prepareDef(resident), 1500)
				stop, stopped := make(chan struct{}), make(chan struct{})
				go func() { // the writers
					defer close(stopped)
					rng := rand.New(rand.NewPCG(seed, 12))
					for n := int64(0); ; n++ {
						select {
						case <-stop:
							return
						default:
						}
						switch rng.IntN(40) {
						case 0:
							must(t, w.Checkpoint(t.Context(), nil))
						case 1:
							must(t, w.Compact(t.Context(), nil))
						default:
							w.commit(func(tx *Tx) error { return w.write(tx, rng, n) })
						}
					}
				}()
				defer func() {
					close(stop)
					<-stopped
					w.sameIndexes()
				}()
				for round := range 3 {
					ix := *indexes[rng.IntN(len(indexes))]
					p := w.prepare(&ix)
					time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
					var twins bool
					var tree *indexTree
					if p != nil {
						tree = p.tree
					}
					lsn, err := tryUpdate(w.Store, func(tx *Tx) error {
						if rng.IntN(2) == 0 { // rows of the transaction itself are rows, too
							if err := w.write(tx, rng, 1<<30+int64(round)); err != nil {
								return err
							}
						}
						now := tx.View(w.id())
						fresh := Table{def: now.def, rows: now.rows, src: now.src, indexes: make([]*indexTree, 1)}
						b := newIndexBuilder(now.def, &ix, 0, now.Len())
						if err := fresh.each(b.add); err != nil {
							return err
						}
						want, _, dup := b.build()
						twins = dup
						tx.UseIndex(p)
						if err := tx.Apply(CreateIndex{Table: w.id(), Index: &ix}); err != nil {
							return err
						}
						made := tx.View(w.id()).indexes
						got := made[len(made)-1]
						if !slices.Equal(entriesOf(got), entriesOf(want)) {
							return fmt.Errorf("%d entries, want %d", got.Len(), want.Len())
						}
						if created++; got == tree {
							used++
						}
						return nil
					})
					if _, equal := errors.AsType[*UniqueError](err); equal != twins || err != nil && !equal {
						t.Errorf("round %d: %v, rows are equal: %v", round, err, twins)
					}
					if err == nil {
						wait(t, w.Store, lsn)
						def := w.table().def
						w.commit(func(tx *Tx) error {
							return tx.Apply(DropIndex{Table: def.ID, Index: def.Indexes[len(def.Indexes)-1].ID})
						})
					}
				}
			})
		}
	}
}

// write makes a few random changes, of rows that are rarely equal.
func (w *indexWorld) write(tx *Tx, rng *rand.Rand, n int64) error {
	h := tx.Handle(tx.Schema().Lookup("t").Table.ID)
	for k := range int64(1 + rng.IntN(8)) {
		id, value := rng.Int64N(1700), 10_000+8*n+k
		if rng.IntN(300) == 0 {
			value = rng.Int64N(1700) // which another row may have
		}
		rec := indexRow(id, value)
		if rng.IntN(50) == 0 {
			rec = testRecord(nil, "no number", "")
		}
		_, found, err := h.Get(id)
		switch {
		case err != nil:
		case !found:
			err = h.Insert(id, rec)
		case rng.IntN(4) == 0:
			err = h.Delete(id)
		default:
			err = h.Update(id, rec)
		}
		if _, ok := errors.AsType[*UniqueError](err); err != nil && !ok { // of an index of an earlier round
			return err
		}
	}
	return nil
}
