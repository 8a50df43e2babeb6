package engine

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/tree"
)

// The tree of an index of a large table takes seconds to make, too long for the
// write lock. So it is made before a transaction begins, of the rows that the head
// has then, and follows the head until only a little is behind: the rows that differ
// between two states are found without a look at the others (tree.Rows.Diff). What
// the transaction that creates the index finds under the lock is the rest.
//
// Nothing of it is in any state before that, and nothing in the log but the change
// of the schema, as ever.

const (
	// PrepareFrom is how many rows a table has whose index is worth preparing.
	PrepareFrom = 1024

	followRounds = 16  // with which an index comes up to the head before the lock is taken
	followEnough = 128 // rows are few enough to be left for it
)

// followMost is how many of a table's rows may differ for the index to follow: a
// new one is made in that time.
func followMost(rows int) int { return max(PrepareFrom, rows/2) }

// errOutdated: the index does not follow the table. It is not told to anybody.
var errOutdated = errors.New("engine: the prepared index is of another table")

// PreparedIndex is an index that is made before the transaction that creates it.
// One goroutine uses it at a time, for one transaction.
type PreparedIndex struct {
	ix    *IndexDef
	table *Table // that it is of
	tree  *indexTree
	it    tree.KeyIter
	keys  keyMaker
	was   []byte
	is    []byte
	// twins are the rows of a unique index behind the first one of their keys. What
	// counts is that there is none in the end.
	twins int64
}

// PrepareIndex makes the tree of an index of a table, beside all other work, for
// Tx.UseIndex of the transaction that creates the index. It ends with ctx and
// refuses what does not fit the memory budget. There is none, and no error, when
// the index is better made by the transaction, which knows what to say.
func (s *Store) PrepareIndex(ctx context.Context, id TableID, ix *IndexDef) (*PreparedIndex, error) {
	if err := s.refusal(); err != nil {
		return nil, err
	}
	head := s.head.Load()
	t := head.table(id)
	if t == nil || t.def.validateKey(ix) != nil {
		return nil, nil
	}
	p := &PreparedIndex{ix: ix, table: t, keys: keyMaker{def: t.def}}
	room := int64(math.MaxInt64 / 2)
	if s.opts.MemoryBudget > 0 {
		room = s.opts.MemoryBudget - head.memory
	}
	need, err := p.build(ctx, s, room)
	if err == nil && p.tree == nil {
		return nil, s.refuseIndex(t.def, need)
	}
	for range followRounds {
		if err != nil {
			break
		}
		var n int
		if n, err = p.follow(ctx, s.head.Load().table(id)); n <= followEnough {
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case s.refusal() != nil:
		return nil, s.refusal()
	case err != nil:
		return nil, nil // a row that cannot be read is told of by whoever reads it next
	}
	return p, nil
}

// refuseIndex returns the error of an index that takes so many bytes at least, nil
// when they are there by now, or somebody has the lock: then it is found out later.
func (s *Store) refuseIndex(def *TableDef, need int64) error {
	tx, err := s.TryBegin()
	if errors.Is(err, ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if tx.memory+need <= tx.budget {
		return nil
	}
	return tx.noMemory(def, tx.memory+need)
}

// build makes the tree of the rows of p.table, and returns what its entries take at
// least. It stops when that is more than there is room for.
func (p *PreparedIndex) build(ctx context.Context, s *Store, room int64) (need int64, err error) {
	b := newIndexBuilder(p.table.def, p.ix, 0, p.table.Len())
	none := new(indexTree)
	sc := p.table.Scan(math.MinInt64, math.MaxInt64, false)
	for buf := make([]Entry, eachBlock); ; {
		n, err := sc.Next(buf)
		if err != nil {
			return 0, err
		}
		for _, e := range buf[:n] {
			if b.add(e.Rowid, e.Rec); len(b.buf) > 0 {
				need += none.Cost(len(b.buf))
			}
		}
		if s.opts.indexing != nil {
			s.opts.indexing()
		}
		if need > room+tree.Slack(1, need) {
			return need, nil
		}
		if err := errors.Join(ctx.Err(), s.refusal()); err != nil {
			return 0, err
		}
		if n < len(buf) {
			break
		}
	}
	p.tree, p.twins, err = b.count(ctx)
	return need, err
}

// count makes the tree whatever rows are equal, and counts those of a unique index
// behind the first ones of their keys.
func (b *indexBuilder) count(ctx context.Context) (built *indexTree, twins int64, err error) {
	var equal, asked atomic.Int64
	built, _, ok := b.s.Keys(func(before, entry string) bool {
		if b.ix.Unique && b.areTwins(before, entry) {
			equal.Add(1)
		}
		return asked.Add(1)%1024 != 0 || ctx.Err() == nil
	})
	if !ok {
		return nil, 0, ctx.Err()
	}
	return built, equal.Load(), nil
}

// follow brings the index from the rows of p.table to those of to, which are of the
// same definition, and returns how many differ.
func (p *PreparedIndex) follow(ctx context.Context, to *Table) (changed int, err error) {
	if to == nil || to.def != p.table.def {
		return 0, errOutdated
	}
	most := followMost(to.Len())
	p.it = p.tree.Iter()
	p.table.rows.Diff(to.rows, func(id int64, before, after row.Record) bool {
		if changed++; changed > most {
			err = errOutdated
		} else if changed%eachBlock == 0 {
			err = ctx.Err()
		}
		if err == nil {
			err = p.change(id, to, before, after)
		}
		return err == nil
	})
	if err != nil {
		return 0, err
	}
	p.table = to
	return changed, nil
}

// change follows the change of a row. Of a keys table it is given locators, and a
// row that was only moved is in the index already.
func (p *PreparedIndex) change(id int64, to *Table, before, after row.Record) error {
	before, err := p.table.resolve(id, before)
	if err != nil {
		return err
	}
	after, err = to.resolve(id, after)
	if err != nil || before == after {
		return err
	}
	var wasNull, isNull bool
	p.was, p.is = p.was[:0], p.is[:0]
	if before != "" {
		p.was, wasNull = p.keys.append(p.was, p.ix, before, id)
	}
	if after != "" {
		p.is, isNull = p.keys.append(p.is, p.ix, after, id)
	}
	if slices.Equal(p.was, p.is) {
		return nil
	}
	if len(p.was) > 0 {
		if !p.tree.Delete(p.was) {
			return errOutdated
		}
		if p.hasTwin(p.was, wasNull) {
			p.twins--
		}
	}
	if len(p.is) > 0 {
		if p.hasTwin(p.is, isNull) {
			p.twins++
		}
		p.tree.Set(p.is)
	}
	return nil
}

// hasTwin reports whether a unique index has a row that equals the one of an entry,
// which it does not have.
func (p *PreparedIndex) hasTwin(entry []byte, null bool) bool {
	if !p.ix.Unique || null {
		return false
	}
	key, _ := splitEntry(string(entry))
	_, found := rival(&p.it, key, 0, false)
	return found
}

// resolve returns the record of what the tree of rows has for one, if anything.
func (t *Table) resolve(rowid int64, stored row.Record) (row.Record, error) {
	if t.src == nil || stored == "" {
		return stored, nil
	}
	return t.src.row(t.def, rowid, stored)
}

// UseIndex hands the transaction an index that was prepared for it; nil is none. It
// is used when the transaction creates that index and the table still has the
// definition that it was prepared for.
func (t *Tx) UseIndex(p *PreparedIndex) { t.ready = p }

// take returns the tree of ix with the rows of a table, nil when the index is of
// something else or there is too much that it does not have. It can be taken once.
func (p *PreparedIndex) take(t *Table, def *TableDef, ix *IndexDef) (*indexTree, error) {
	if p == nil || p.tree == nil || p.table.def.ID != t.def.ID || !p.ix.sameEntries(ix) {
		return nil, nil
	}
	_, err := p.follow(context.Background(), t)
	made := p.tree
	p.tree = nil
	switch {
	case err != nil:
		return nil, nil // which is the transaction's to say, if it is still so
	case p.twins > 0:
		return nil, newUniqueError(def, ix)
	}
	return made, nil
}
