package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// TestPreparedBesideWriters: while the tree is made, and between that and the
// transaction, others commit; what they write is in the index.
func TestPreparedBesideWriters(t *testing.T) {
	for name, resident := range residents {
		t.Run(name, func(t *testing.T) {
			w := newIndexWorld(t, Options{}, prepareDef(resident), 3000)
			n, twins := int64(0), true
			w.building = func() {
				done := make(chan struct{})
				go func() { // another one's transactions
					defer close(done)
					n++
					w.set(n*100%3000, n+5000)
					if twins {
						w.set(3000+n, n)
					}
				}()
				<-done
			}
			ix := testIndex("i", true, 0)
			p := w.prepare(ix)
			if n < 20 || p == nil {
				t.Fatalf("%d commits while the index was made, %v", n, p)
			}
			if p.table != w.table() {
				t.Error("the index did not come up to the head")
			}
			w.commit(func(tx *Tx) error { return tx.Handle(w.id()).Delete(1) }) // what is left
			w.set(3001, 9001)
			if used, err := w.create(p, ix); err == nil || used {
				t.Errorf("created, although rows are equal: %v, %v", used, err)
			}
			for id := range n {
				w.set(3001+id, 10_000+id)
			}
			twins = false
			p = w.prepare(ix)
			w.set(5, 20_000)
			w.commit(func(tx *Tx) error { return tx.Handle(w.id()).Delete(6) })
			w.set(4999, 20_001)
			if used, err := w.create(p, ix); err != nil || !used {
				t.Errorf("created: %v, %v", used, err)
			}
		})
	}
}

// TestPreparedUnique: whether rows are equal is decided on the state that the index
// is made in.
func TestPreparedUnique(t *testing.T) {
	for name, resident := range residents {
		t.Run(name, func(t *testing.T) {
			ix := testIndex("i", true, 0)
			for _, c := range []struct {
				name          string
				before, after func(w *indexWorld) // the tree is made, and behind that
				refused       bool
			}{
				{"none", nil, nil, false},
				{"stays", func(w *indexWorld) { w.set(1, 7) }, func(w *indexWorld) { w.set(9, 90_000) }, true},
				{"appears", nil, func(w *indexWorld) { w.set(1, 7) }, true},
				{"goes by an update", func(w *indexWorld) { w.set(1, 7) }, func(w *indexWorld) { w.set(1, 90_000) }, false},
				{"goes by an update of the other one", func(w *indexWorld) { w.set(1, 7) }, func(w *indexWorld) { w.set(7, 90_000) }, false},
				{"goes by a delete", func(w *indexWorld) { w.set(1, 7) }, func(w *indexWorld) {
					w.commit(func(tx *Tx) error { return tx.Handle(w.id()).Delete(7) })
				}, false},
				{"one of three goes", func(w *indexWorld) { w.set(1, 7); w.set(2, 7) }, func(w *indexWorld) { w.set(1, 90_000) }, true},
				{"two of three go", func(w *indexWorld) { w.set(1, 7); w.set(2, 7) }, func(w *indexWorld) { w.set(1, 90_000); w.set(7, 90_001) }, false},
				{"moves", func(w *indexWorld) { w.set(1, 7) }, func(w *indexWorld) { w.set(1, 8) }, true},
				{"comes and goes", nil, func(w *indexWorld) { w.set(1, 7); w.set(1, 90_000) }, false},
				{"is swapped", nil, func(w *indexWorld) { w.set(1, 90_000); w.set(7, 1); w.set(1, 7) }, false},
				{"of NULLs is none", func(w *indexWorld) {
					for id := range int64(2) {
						w.commit(func(tx *Tx) error { return tx.Handle(w.id()).Update(id, testRecord(nil, "a", "")) })
					}
				}, func(w *indexWorld) {
					for id := range int64(3) {
						w.commit(func(tx *Tx) error { return tx.Handle(w.id()).Update(2+id, testRecord(nil, "b", "")) })
					}
					w.set(0, 0)
				}, false},
			} {
				t.Run(c.name, func(t *testing.T) {
					w := newIndexWorld(t, Options{}, prepareDef(resident), 300)
					if c.before != nil {
						c.before(w)
					}
					p := w.prepare(ix)
					if c.after != nil {
						c.after(w)
					}
					used, err := w.create(p, ix)
					if unique, ok := errors.AsType[*UniqueError](err); c.refused {
						if !ok || unique.Index != "i" {
							t.Errorf("%v, want one of rows that are equal", err)
						}
						if len(w.table().indexes) > 0 {
							t.Error("the index is there all the same")
						}
						w.set(100, 100_000) // nothing is in the way
					} else if err != nil || !used {
						t.Errorf("used %v, %v", used, err)
					}
				})
			}
		})
	}
}

// TestPreparedIsOutdated: an index that does not fit the table is not used, and the
// one that the transaction makes is right.
func TestPreparedIsOutdated(t *testing.T) {
	ix := testIndex("i", false, 1, 0)
	for name, change := range map[string]func(w *indexWorld){
		"another definition": func(w *indexWorld) {
			w.commit(func(tx *Tx) error {
				return tx.Apply(CreateIndex{Table: w.id(), Index: testIndex("before", false, 2)})
			})
		},
		"another table": func(w *indexWorld) {
			w.commit(all(func(tx *Tx) error { return tx.Apply(DropTable{Table: w.id()}) },
				func(tx *Tx) error { return tx.Apply(CreateTable{Def: prepareDef(ResidentAll)}) }, put("t", 5, 5, "five", "")))
		},
		"too many rows": func(w *indexWorld) {
			w.commit(func(tx *Tx) error {
				h := tx.Handle(w.id())
				for id := range int64(2900) {
					if err := h.Update(id, indexRow(id, id+7)); err != nil {
						return err
					}
				}
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newIndexWorld(t, Options{}, prepareDef(ResidentAll), 3000)
			p := w.prepare(ix)
			change(w)
			if used, err := w.create(p, ix); err != nil || used {
				t.Errorf("used %v, %v", used, err)
			}
		})
	}
	for name, other := range map[string]*IndexDef{
		"another column":    testIndex("i", false, 1, 2),
		"another order":     {Name: "i", SQL: "CREATE INDEX i", Origin: "c", Columns: []IndexColumn{{Column: 1, Desc: true}, {Column: 0}}},
		"another collation": {Name: "i", SQL: "CREATE INDEX i", Origin: "c", Columns: []IndexColumn{{Column: 1, Collation: row.NoCase}, {Column: 0}}},
		"unique":            testIndex("i", true, 1, 0),
	} {
		t.Run(name, func(t *testing.T) {
			w := newIndexWorld(t, Options{}, prepareDef(ResidentAll), 300)
			if used, err := w.create(w.prepare(ix), other); err != nil || used {
				t.Errorf("used %v, %v", used, err)
			}
		})
	}
	w := newIndexWorld(t, Options{}, prepareDef(ResidentAll), 300)
	for name, none := range map[string]*IndexDef{"no such column": testIndex("i", false, 3), "a negative one": testIndex("i", false, -1)} {
		if p := w.prepare(none); p != nil {
			t.Errorf("%s: prepared", name)
		}
	}
	if p, err := w.PrepareIndex(t.Context(), 99, ix); p != nil || err != nil {
		t.Errorf("of no table: %v, %v", p, err)
	}
	// Another table's turn is none, and neither is a transaction that went back what
	// the next one begins with.
	def := prepareDef(ResidentAll)
	def.Name = "u"
	w.commit(func(tx *Tx) error { return tx.Apply(CreateTable{Def: def}) })
	p := w.prepare(ix)
	tx, err := w.Begin(t.Context())
	must(t, err)
	tx.UseIndex(p)
	must(t, tx.Apply(CreateIndex{Table: tx.Schema().Lookup("u").Table.ID, Index: testIndex("u1", false, 1, 0)}))
	if p.tree == nil {
		t.Error("used for another table")
	}
	must(t, put("t", 1, 7000, "one", "")(tx))
	must(t, tx.Apply(CreateIndex{Table: w.id(), Index: ix}))
	must(t, put("t", 2, 8000, "two", "")(tx))
	tx.Rollback()
	if used, err := w.create(p, ix); err != nil || used {
		t.Errorf("used %v behind a rollback, %v", used, err)
	}
	w.commit(func(tx *Tx) error {
		return tx.Apply(DropIndex{Table: w.id(), Index: w.table().def.Indexes[0].ID})
	})
	p = w.prepare(ix)
	if used, err := w.create(p, ix); err != nil || !used {
		t.Errorf("used %v, %v", used, err)
	}
	if used, err := w.create(p, testIndex("j", false, 1, 0)); err != nil || used {
		t.Errorf("used twice: %v, %v", used, err)
	}
}

// TestPreparedFollowsMoves: a compaction gives rows of a keys table other places,
// which changes nothing of an index.
func TestPreparedFollowsMoves(t *testing.T) {
	w := newIndexWorld(t, Options{NoCompaction: true}, prepareDef(ResidentKeys), 600)
	ix := testIndex("i", true, 0)
	p := w.prepare(ix)
	w.set(3, 70_000)
	before := w.table()
	must(t, w.Compact(t.Context(), nil))
	moved := 0
	before.rows.Diff(w.table().rows, func(int64, row.Record, row.Record) bool { moved++; return true })
	if moved < 600 {
		t.Fatalf("%d rows were moved", moved)
	}
	w.set(4, 70_001)
	if used, err := w.create(p, ix); err != nil || !used {
		t.Errorf("used %v, %v", used, err)
	}
}

// TestPreparedIsCancelled: the end of the context ends the work, and nothing is left
// of it.
func TestPreparedIsCancelled(t *testing.T) {
	w := newIndexWorld(t, Options{}, prepareDef(ResidentAll), 3000)
	ctx, cancel := context.WithCancel(t.Context())
	before := w.blocks
	w.building = func() {
		if w.blocks == before+3 {
			cancel()
		}
	}
	p, err := w.PrepareIndex(ctx, w.id(), testIndex("i", false, 1))
	if p != nil || !errors.Is(err, context.Canceled) || w.blocks != before+3 {
		t.Errorf("%v, %v after %d blocks", p, err, w.blocks-before)
	}
	w.set(1, 1)
	if len(w.table().def.Indexes) > 0 {
		t.Error("the table has an index")
	}
	// The same while entries are put in order.
	b := newIndexBuilder(w.table().def, testIndex("i", true, 0), 0, 3000)
	must(t, w.table().each(b.add))
	if built, _, err := b.count(ctx); built != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", built, err)
	}
	// And of one that follows.
	w.building = nil
	p = w.prepare(testIndex("i", false, 1))
	for id := range int64(2 * eachBlock) {
		w.commit(func(tx *Tx) error { return tx.Handle(w.id()).Delete(id) })
	}
	if _, err := p.follow(ctx, w.table()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestPreparedAtClose: a store that is closed meanwhile ends the work.
func TestPreparedAtClose(t *testing.T) {
	w := newIndexWorld(t, Options{}, prepareDef(ResidentAll), 3000)
	w.building = func() { must(t, w.Close()) }
	if p, err := w.PrepareIndex(t.Context(), w.id(), testIndex("i", false, 1)); p != nil || !errors.Is(err, ErrClosed) {
		t.Errorf("%v, %v", p, err)
	}
	if p, err := w.PrepareIndex(t.Context(), w.id(), testIndex("i", false, 1)); p != nil || !errors.Is(err, ErrClosed) {
		t.Errorf("behind it: %v, %v", p, err)
	}
}

// TestPreparedBudget: what cannot fit is refused before it is made, without the rest
// of the rows being read.
func TestPreparedBudget(t *testing.T) {
	var told atomic.Int64
	o := Options{MemoryBudget: 280 << 10, BudgetSource: "a test", Events: func(e Event) {
		if e.Kind == EventMemoryFull {
			told.Add(1)
		}
	}}
	w := newIndexWorld(t, o, prepareDef(ResidentAll), 4000)
	if r := w.head.Load(); r.memory > 200<<10 || r.memory < 120<<10 {
		t.Fatalf("the rows take %d bytes", r.memory)
	}
	wide := testIndex("i", false, 1, 1, 1, 1, 1, 1, 1, 2)
	p, err := w.PrepareIndex(t.Context(), w.id(), wide)
	full, ok := errors.AsType[*MemoryError](err)
	if p != nil || !ok || full.Budget != 280<<10 || full.Source != "a test" || full.Estimate <= full.Budget || full.Table.Name != "t" || told.Load() != 1 {
		t.Fatalf("%v, %v, told %d times", p, err, told.Load())
	}
	if w.blocks >= 4000/eachBlock {
		t.Errorf("%d blocks were read", w.blocks)
	}
	held, err := w.Begin(t.Context())
	must(t, err)
	if p, err := w.PrepareIndex(t.Context(), w.id(), wide); p != nil || err != nil {
		t.Errorf("while somebody has the lock: %v, %v", p, err)
	}
	held.Rollback()
	if _, err := w.create(nil, wide); !errors.Is(err, ErrNoMemory) {
		t.Errorf("in the transaction: %v", err)
	}
	ix := testIndex("i", false, 0)
	if used, err := w.create(w.prepare(ix), ix); err != nil || !used {
		t.Errorf("one that fits: used %v, %v", used, err)
	}
	// Room that somebody else took meanwhile is missed in the transaction.
	ix = testIndex("j", false, 0)
	if p = w.prepare(ix); p == nil {
		t.Fatal("not prepared")
	}
	for id := int64(4000); ; id++ {
		if _, err := tryUpdate(w.Store, func(tx *Tx) error { return tx.Handle(w.id()).Insert(id, indexRow(39, id)) }); err != nil {
			break
		}
	}
	if _, err := w.create(p, ix); !errors.Is(err, ErrNoMemory) {
		t.Errorf("behind others: %v", err)
	}
	if got := w.table().def.Indexes; len(got) != 1 {
		t.Errorf("%d indexes", len(got))
	}
}

// TestPreparedBudgetFreed: room that is made meanwhile counts.
func TestPreparedBudgetFreed(t *testing.T) {
	w := newIndexWorld(t, Options{MemoryBudget: 280 << 10}, prepareDef(ResidentAll), 4000)
	w.building = func() {
		w.building = nil
		w.commit(func(tx *Tx) error {
			for id := range int64(3900) {
				if err := tx.Handle(w.id()).Delete(id); err != nil {
					return err
				}
			}
			return nil
		})
	}
	wide := testIndex("i", false, 1, 1, 1, 1, 1, 1, 1, 2)
	if p, err := w.PrepareIndex(t.Context(), w.id(), wide); p != nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := w.create(nil, wide); err != nil {
		t.Error(err)
	}
}

// TestPreparedCrash: a stop before the transaction leaves no index, one behind it
// leaves all of it.
func TestPreparedCrash(t *testing.T) {
	for name, resident := range residents {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			run := newCrashRun(t, mem, 1<<20, 1)
			s := run.open(t)
			wait(t, s, update(t, s, func(tx *Tx) error { return tx.Apply(CreateTable{Def: prepareDef(resident)}) }))
			id := s.Head().Schema().Lookup("t").Table.ID
			for n := range int64(40) {
				wait(t, s, update(t, s, put("t", n, n, "name", "x")))
			}
			ix := testIndex("i", true, 0)
			var images []*vfs.Mem
			image := func() { images = append(images, cloneMem(t, mem)) }
			p, err := s.PrepareIndex(t.Context(), id, ix)
			must(t, err)
			image()
			wait(t, s, update(t, s, put("t", 1, 1000, "name", "x")))
			image()
			wait(t, s, update(t, s, func(tx *Tx) error {
				tx.UseIndex(p)
				return tx.Apply(CreateIndex{Table: id, Index: ix})
			}))
			image()
			wait(t, s, update(t, s, put("t", 2, 2000, "name", "x")))
			image()
			must(t, s.Close())
			for i, m := range images {
				o := run.o
				o.FS, o.CatalogSeam = m, nil
				o.Dir = run.o.Dir
				again, err := Open(t.Context(), o)
				must(t, err)
				table := tableOf(again, "t")
				if want := map[bool]int{true: 1}[i >= 2]; len(table.def.Indexes) != want || table.Len() != 40 {
					t.Errorf("stop %d: %d indexes, want %d, of %d rows", i, len(table.def.Indexes), want, table.Len())
				}
				verifyRoot(t, again.head.Load())
				must(t, again.Close())
			}
		})
	}
}
