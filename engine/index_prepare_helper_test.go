package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// indexWorld is a store with a table t of rows that indexes are prepared of.
type indexWorld struct {
	*Store
	t        *testing.T
	building func() // is called between blocks of the rows
	blocks   int    // that were read
}

// residents are the two kinds of tables.
var residents = map[string]Resident{"all": ResidentAll, "keys": ResidentKeys}

func newIndexWorld(t *testing.T, o Options, def *TableDef, rows int) *indexWorld {
	t.Helper()
	w := &indexWorld{t: t}
	o.FS = vfs.NewMem()
	o.indexing = func() {
		if w.blocks++; w.building != nil {
			w.building()
		}
	}
	w.Store = openStore(t, o)
	w.commit(func(tx *Tx) error { return tx.Apply(CreateTable{Def: def}) })
	w.commit(func(tx *Tx) error {
		h := tx.Handle(w.id())
		for id := range int64(rows) {
			if err := h.Insert(id, indexRow(id, id)); err != nil {
				return err
			}
		}
		return nil
	})
	return w
}

// indexRow is a row whose first column is n.
func indexRow(id, n int64) row.Record {
	return testRecord(n, fmt.Sprintf("Name %d", n%50), strings.Repeat("x", int(id%40)))
}

func prepareDef(resident Resident) *TableDef {
	def := testTable("t", 3)
	def.Resident = resident
	return def
}

func (w *indexWorld) id() TableID { return w.Head().Schema().Lookup("t").Table.ID }

func (w *indexWorld) table() *Table { return w.Head().Table(w.id()) }

// commit changes the store. That it can at all says that nobody has the lock.
func (w *indexWorld) commit(f func(tx *Tx) error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	tx, err := w.Begin(ctx)
	must(w.t, err)
	if err := f(tx); err != nil {
		tx.Rollback()
		w.t.Fatal(err)
	}
	must(w.t, tx.Prepare())
	must(w.t, w.WaitDurable(ctx, tx.Commit()))
}

// set stores a row whose first column is n.
func (w *indexWorld) set(id, n int64) {
	w.t.Helper()
	w.commit(func(tx *Tx) error {
		h := tx.Handle(w.id())
		err := h.Insert(id, indexRow(id, n))
		if errors.Is(err, ErrExists) {
			err = h.Update(id, indexRow(id, n))
		}
		return err
	})
}

func (w *indexWorld) prepare(ix *IndexDef) *PreparedIndex {
	w.t.Helper()
	p, err := w.PrepareIndex(w.t.Context(), w.id(), ix)
	must(w.t, err)
	return p
}

// create makes an index that was prepared and reports whether that was used.
func (w *indexWorld) create(p *PreparedIndex, ix *IndexDef) (used bool, err error) {
	w.t.Helper()
	var made *indexTree
	if p != nil {
		made = p.tree
	}
	lsn, err := tryUpdate(w.Store, func(tx *Tx) error {
		tx.UseIndex(p)
		return tx.Apply(CreateIndex{Table: w.id(), Index: ix})
	})
	if err != nil {
		return false, err
	}
	wait(w.t, w.Store, lsn)
	w.sameIndexes()
	indexes := w.table().indexes
	return made != nil && indexes[len(indexes)-1] == made, nil
}

// sameIndexes compares every index with one that is made of all rows.
func (w *indexWorld) sameIndexes() {
	w.t.Helper()
	table := w.table()
	fresh := *table
	fresh.indexes = make([]*indexTree, len(table.indexes))
	must(w.t, fresh.buildIndexes(table.allIndexes(), nil, func(ix *IndexDef, _ [2]int64) error { return newUniqueError(table.def, ix) }))
	for i, ix := range table.indexes {
		if got, want := entriesOf(ix), entriesOf(fresh.indexes[i]); !slices.Equal(got, want) {
			w.t.Fatalf("index %s has %d entries, made of all rows it has %d", table.def.Indexes[i].Name, len(got), len(want))
		}
	}
	checkStore(w.t, w.Store)
}

func entriesOf(k *indexTree) (list []string) {
	it := k.Iter()
	for it.Next() {
		list = append(list, it.Key())
	}
	return list
}
