package engine

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// generator makes random transactions of rows and schema changes. What it
// makes depends on its seed and on the schema and the rows it finds.
type generator struct {
	rng   *rand.Rand
	count map[string]int // what was done, by kind
}

func newGenerator(rng *rand.Rand) *generator { return &generator{rng, map[string]int{}} }

// transaction does a few things, most of them to rows.
func (g *generator) transaction(tx *Tx) error {
	if len(g.tables(tx)) == 0 {
		if err := g.change(tx); err != nil {
			return err
		}
	}
	for range 1 + g.rng.IntN(6) {
		if err := g.step(tx); err != nil {
			return err
		}
	}
	if tx.Changed() {
		return nil
	}
	return g.create(tx, g.name(tx))
}

// create makes a table, every other time one of which only keys are in memory.
func (g *generator) create(tx *Tx, name string) error {
	resident := Resident(g.rng.IntN(2))
	g.count["create table, resident="+resident.String()]++
	return createTableAs(name, resident)(tx)
}

func (g *generator) step(tx *Tx) error {
	switch n := g.rng.IntN(40); {
	case n < 3:
		return g.change(tx)
	case n < 5:
		g.count["savepoint"]++
		mark := tx.Mark()
		for range 1 + g.rng.IntN(3) {
			if err := g.step(tx); err != nil {
				return err
			}
		}
		tx.RollbackTo(mark)
		return nil
	}
	tables := g.tables(tx)
	if len(tables) == 0 {
		return g.change(tx)
	}
	name := tables[g.rng.IntN(len(tables))].Name
	id := int64(g.rng.IntN(24))
	_, found, err := tx.Get(tx.Schema().Lookup(name).Table.ID, id)
	if err != nil {
		return err
	}
	if found && g.rng.IntN(4) == 0 {
		g.count["delete"]++
		return remove(name, id)(tx)
	}
	size := g.rng.IntN(120)
	switch g.rng.IntN(40) {
	case 0:
		size = 2000 + g.rng.IntN(3000) // several sectors
	case 1:
		size = 8000 + g.rng.IntN(4000) // several pages
	}
	g.count["put"]++
	return putWide(g.rng, name, id, strings.Repeat(string(rune('a'+g.rng.IntN(26))), size))(tx)
}

func (g *generator) tables(tx *Tx) (list []*TableDef) {
	for _, o := range tx.Schema().Objects() {
		if o.Kind == KindTable {
			list = append(list, o.Table)
		}
	}
	return list
}

// name is one that is not taken. Names come back.
func (g *generator) name(tx *Tx) string {
	for {
		name := fmt.Sprintf("m%d", g.rng.IntN(1000))
		_, index := tx.Schema().LookupIndex(name)
		if index == nil && tx.Schema().Lookup(name) == nil && tx.Schema().Lookup(name+"_c1") == nil {
			return name
		}
	}
}

// change changes the schema in one of all the ways there are.
func (g *generator) change(tx *Tx) error {
	tables := g.tables(tx)
	if len(tables) == 0 || len(tables) < 6 && g.rng.IntN(4) == 0 {
		return g.create(tx, g.name(tx))
	}
	table := tables[g.rng.IntN(len(tables))]
	name := g.name(tx)
	switch g.rng.IntN(7) {
	case 6:
		g.count["alter table"]++
		return tx.Apply(ReplaceTable{Def: altered(g.rng, table, name)})
	case 0:
		g.count["drop table"]++
		return tx.Apply(DropTable{table.ID})
	case 1:
		g.count["create index"]++
		return tx.Apply(CreateIndex{Table: table.ID, Index: testIndex(name, g.rng.IntN(2) == 0, 0)})
	case 2:
		if len(table.Indexes) == 0 {
			break
		}
		g.count["drop index"]++
		return tx.Apply(DropIndex{Table: table.ID, Index: table.Indexes[g.rng.IntN(len(table.Indexes))].ID})
	case 3:
		g.count["rename"]++
		def := *table
		def.Name, def.SQL = name, "CREATE TABLE "+name
		return tx.Apply(ReplaceTable{Def: &def})
	case 4:
		g.count["create view"]++
		return tx.Apply(CreateObject{Object: Object{Kind: KindView, Name: name, SQL: "CREATE VIEW " + name}})
	}
	for _, o := range tx.Schema().Objects() {
		if o.Kind == KindView {
			g.count["drop view"]++
			return tx.Apply(DropObject{KindView, o.Name})
		}
	}
	return g.create(tx, name)
}

func (g *generator) add(other map[string]int) {
	for what, n := range other {
		g.count[what] += n
	}
}

// counts says what was done, in one line.
func counts(count map[string]int) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, count[what]))
	}
	return strings.Join(parts, ", ")
}

// program is a random program of transactions, held syncs, checkpoints, closes
// and reopens in a crashRun. Nothing fails in it.
type program struct {
	*generator
	r    *crashRun
	s    *Store
	held bool
	last LSN
}

func newProgram(r *crashRun, rng *rand.Rand) *program {
	return &program{generator: newGenerator(rng), r: r}
}

// run opens the store, runs transactions with other things between them, and
// closes it.
func (p *program) run(t testing.TB, transactions int) {
	p.s = p.r.open(t)
	for range transactions {
		p.count["transaction"]++
		if p.rng.IntN(15) == 0 {
			p.count["rollback"]++
			tx, err := p.s.Begin(context.Background())
			must(t, err)
			must(t, p.transaction(tx))
			if p.rng.IntN(2) == 0 {
				must(t, tx.Prepare())
			}
			tx.Rollback()
		}
		p.last = p.r.commit(t, p.s, p.transaction)
		switch p.rng.IntN(16) {
		case 0, 1, 2, 3:
			p.settle(t)
		case 4, 5, 6:
			if !p.held {
				p.count["held sync"]++
				p.r.hold()
				p.held = true
			}
		case 7:
			p.settle(t)
			p.count["checkpoint"]++
			must(t, p.s.Checkpoint(context.Background(), nil))
			p.acked()
		case 8:
			p.settle(t)
			p.count["reopen"]++
			must(t, p.s.Close())
			p.acked()
			p.s = p.r.open(t)
		case 10:
			p.settle(t)
			p.count["compaction"]++
			must(t, p.s.Compact(context.Background(), nil))
			p.acked()
		case 11, 12:
			p.settle(t)
			p.count["branch point"]++
			p.r.branch(t, p.s)
			p.acked()
			if p.rng.IntN(3) == 0 {
				p.count["branch point deleted"]++
				p.r.deleteBranch(t, p.s, p.rng)
			}
		case 9:
			if p.r.sched != nil { // whose time costs nothing
				p.count["pause"]++
				time.Sleep(time.Duration(p.rng.IntN(200)) * time.Millisecond)
			}
		}
		if p.held && p.s.log.full() {
			p.settle(t) // the next file may wait for a seal's sync
		}
	}
	p.settle(t)
	must(t, p.s.Close())
	p.acked()
}

// acked notes that everything up to now is durable.
func (p *program) acked() { p.r.acks = append(p.r.acks, ack{p.r.mem.Ops(), p.last}) }

// settle waits for what was committed.
func (p *program) settle(t testing.TB) {
	if p.held {
		p.r.release()
		p.held = false
	}
	if p.last != 0 {
		p.r.wait(t, p.s, p.last)
	}
}
