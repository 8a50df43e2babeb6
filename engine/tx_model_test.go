package engine

import (
	"errors"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"pgregory.net/rapid"
)

// model is the plain counterpart of a transaction's state: tables by name.
type model map[string]*modelTable

type modelTable struct {
	def     *TableDef // as the transaction's schema has it
	rows    map[int64]row.Record
	indexes map[string]*IndexDef
}

func (m model) clone() model {
	c := model{}
	for name, t := range m {
		c[name] = &modelTable{def: t.def, rows: maps.Clone(t.rows), indexes: maps.Clone(t.indexes)}
	}
	return c
}

func (t *modelTable) entries() []Entry {
	all := []Entry{}
	for _, rowid := range slices.Sorted(maps.Keys(t.rows)) {
		all = append(all, Entry{rowid, t.rows[rowid]})
	}
	return all
}

// key is the values of the indexed columns, as row.Compare sees them.
func (t *modelTable) key(ix *IndexDef, rowid int64, rec row.Record) []row.Value {
	var vals []row.Value
	for _, c := range ix.Columns {
		if c.Column == t.def.RowidAlias {
			vals = append(vals, row.IntValue(rowid))
		} else {
			vals = append(vals, shown(t.def, rec, c.Column))
		}
	}
	return vals
}

// in are the rows that an index has.
func (t *modelTable) in(ix *IndexDef) []Entry {
	return slices.DeleteFunc(t.entries(), func(e Entry) bool { return !t.has(ix, e.Rec) })
}

func (t *modelTable) has(ix *IndexDef, rec row.Record) bool {
	return ix.Where == 0 || shown(t.def, rec, ix.Where-1) == row.IntValue(1)
}

func compareKeys(ix *IndexDef, a, b []row.Value) int {
	for i, c := range ix.Columns {
		d := row.Compare(a[i], b[i], c.Collation)
		if c.Desc {
			d = -d
		}
		if d != 0 {
			return d
		}
	}
	return 0
}

// rivals returns the rows that stand in the way of rec in a unique index.
func (t *modelTable) rivals(ix *IndexDef, rowid int64, rec row.Record) []int64 {
	key := t.key(ix, rowid, rec)
	if slices.ContainsFunc(key, row.Value.IsNull) || !t.has(ix, rec) {
		return nil
	}
	var out []int64
	for other, r := range t.rows {
		if other != rowid && t.has(ix, r) && compareKeys(ix, key, t.key(ix, other, r)) == 0 {
			out = append(out, other)
		}
	}
	return out
}

func (t *modelTable) hasRival(rowid int64, rec row.Record) bool {
	for _, ix := range t.indexes {
		if ix.Unique && len(t.rivals(ix, rowid, rec)) > 0 {
			return true
		}
	}
	return false
}

// frozen is a view and what it must go on to show.
type frozen struct {
	view *Table
	want []Entry
}

// machine drives a transaction and its model side by side.
type machine struct {
	t     *rapid.T
	ids   counter
	log   *testLog
	base  *root
	tx    *txState
	m     model
	was   model // at the base
	marks []modelMark
	views []frozen

	replay *replay
	fed    int64
}

type modelMark struct {
	mark       Mark
	m          model
	schema     *Schema
	violations Violations
}

func TestTransactionModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &machine{t: t, log: newTestLog(), base: emptyRoot(nil), was: model{}, replay: newReplay(emptyRoot(nil))}
		x.begin()
		t.Repeat(map[string]func(*rapid.T){
			"":         x.check,
			"create":   x.createTable,
			"drop":     x.dropTable,
			"index":    x.createIndex,
			"unindex":  x.dropIndex,
			"rename":   x.rename,
			"alter":    x.alter,
			"alter2":   x.alter,
			"insert":   x.insert,
			"insert2":  x.insert,
			"insert3":  x.insert,
			"update":   x.update,
			"update2":  x.update,
			"delete":   x.delete,
			"conflict": x.conflict,
			"view":     x.view,
			"mark":     x.mark,
			"undo":     x.undo,
			"count":    x.count,
			"commit":   x.commit,
			"rollback": x.rollback,
		})
		x.commit(t)
		again := newReplay(emptyRoot(nil))
		x.log.feed(t, again, 0)
		got, err := again.root()
		must(t, err)
		sameRoot(t, x.base, got)
		verifyRoot(t, got)
		for _, f := range x.views {
			if !slices.Equal(allRows(t, f.view), f.want) {
				t.Fatalf("a view of %q changed", f.view.def.Name)
			}
		}
	})
}

func (x *machine) begin() {
	x.tx = testTx(x.base, &x.ids)
	x.m = x.was.clone()
	x.marks = nil
}

// check compares all of the transaction's answers that cost no view.
func (x *machine) check(t *rapid.T) {
	if len(x.tx.Schema().Tables()) != len(x.m) {
		t.Fatalf("%d tables, want %d", len(x.tx.Schema().Tables()), len(x.m))
	}
	for name, mt := range x.m {
		o := x.tx.Schema().Lookup(name)
		if o == nil || o.Table != x.tx.Schema().Table(mt.def.ID) {
			t.Fatalf("look-up of table %q", name)
		}
		mt.def = o.Table
		if x.tx.Len(mt.def.ID) != len(mt.rows) {
			t.Fatalf("table %q: %d rows, want %d", name, x.tx.Len(mt.def.ID), len(mt.rows))
		}
		rowid, ok := x.tx.MaxRowid(mt.def.ID)
		if ok != (len(mt.rows) > 0) || ok && rowid != slices.Max(slices.Collect(maps.Keys(mt.rows))) {
			t.Fatalf("table %q: largest row id %d, %v", name, rowid, ok)
		}
		h := x.tx.Handle(mt.def.ID)
		if hid, hok := h.MaxRowid(); hid != rowid && ok || hok != ok {
			t.Fatalf("table %q: handle says largest row id %d, %v; transaction %d, %v", name, hid, hok, rowid, ok)
		}
		for rowid := int64(-2); rowid < 8; rowid++ {
			rec, ok, err := x.tx.Get(mt.def.ID, rowid)
			must(t, err)
			if want, there := mt.rows[rowid]; ok != there || rec != want {
				t.Fatalf("table %q row %d: %q, %v; want %q, %v", name, rowid, rec, ok, want, there)
			}
		}
	}
}

var modelNames = []string{"a", "b", "C"}

func (x *machine) name(t *rapid.T) string { return rapid.SampledFrom(modelNames).Draw(t, "table") }

// table draws an existing table.
func (x *machine) table(t *rapid.T) (string, *modelTable, *TxTable) {
	if len(x.m) == 0 {
		t.Skip("no table")
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(x.m))).Draw(t, "table")
	mt := x.m[name]
	return name, mt, x.tx.Handle(mt.def.ID)
}

func drawRecord(t *rapid.T, def *TableDef) row.Record {
	vals := make([]any, len(def.Columns))
	for i := range vals {
		if i == def.RowidAlias || def.Columns[i].Kind == ColumnDropped {
			continue
		}
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
		case 1, 2:
			vals[i] = rapid.IntRange(0, 4).Draw(t, "int")
		case 3:
			vals[i] = float64(rapid.IntRange(0, 3).Draw(t, "real"))
		case 4:
			vals[i] = rapid.SampledFrom([]string{"", "x", "X", "x ", "a\x00b"}).Draw(t, "text")
		case 5:
			vals[i] = []byte(rapid.SampledFrom([]string{"", "x", "\xff\xff"}).Draw(t, "blob"))
		}
	}
	return testRecord(vals...)
}

// Rowids crowd around zero, with the ends of the range among them.
func drawRowid(t *rapid.T) int64 {
	return rapid.SampledFrom([]int64{math.MinInt64, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 1000, math.MaxInt64}).Draw(t, "rowid")
}

func drawIndex(t *rapid.T, name string, def *TableDef) *IndexDef {
	ix := &IndexDef{Name: name, Unique: rapid.Bool().Draw(t, "unique"), Origin: "c"}
	var columns, computed []int
	for i, c := range def.Columns {
		if c.Kind != ColumnDropped {
			columns = append(columns, i)
		}
		if c.Kind == ColumnComputed {
			computed = append(computed, i)
		}
	}
	if len(computed) > 0 && rapid.Bool().Draw(t, "partial") {
		ix.Where = 1 + rapid.SampledFrom(computed).Draw(t, "where")
	}
	for range rapid.IntRange(1, 2).Draw(t, "terms") {
		ix.Columns = append(ix.Columns, IndexColumn{
			Column:    rapid.SampledFrom(columns).Draw(t, "column"),
			Desc:      rapid.Bool().Draw(t, "desc"),
			Collation: row.Collation(rapid.IntRange(0, 2).Draw(t, "collation")),
		})
	}
	return ix
}

func (x *machine) insert(t *rapid.T) {
	_, mt, h := x.table(t)
	rowid, rec := drawRowid(t), drawRecord(t, mt.def)
	if rapid.Bool().Draw(t, "ask") {
		for i := range mt.def.Indexes {
			if _, _, err := h.Conflict(i, rec, rowid, 0, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := h.Insert(rowid, rec)
	var unique *UniqueError
	switch _, there := mt.rows[rowid]; {
	case mt.hasRival(rowid, rec):
		if !errors.As(err, &unique) {
			t.Fatalf("insert of an equal row: %v", err)
		}
	case there:
		if !errors.Is(err, ErrExists) {
			t.Fatalf("insert of a row id twice: %v", err)
		}
	default:
		must(t, err)
		mt.rows[rowid] = rec
	}
}

func (x *machine) update(t *rapid.T) {
	_, mt, h := x.table(t)
	rowid, rec := drawRowid(t), drawRecord(t, mt.def)
	if rapid.Bool().Draw(t, "ask") {
		for i := range mt.def.Indexes {
			if _, _, err := h.Conflict(i, rec, rowid, rowid, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := h.Update(rowid, rec)
	var unique *UniqueError
	switch _, there := mt.rows[rowid]; {
	case mt.hasRival(rowid, rec):
		if !errors.As(err, &unique) && !errors.Is(err, ErrNotFound) {
			t.Fatalf("update to an equal row: %v", err)
		}
	case !there:
		if !errors.Is(err, ErrNotFound) {
			t.Fatalf("update of no row: %v", err)
		}
	default:
		must(t, err)
		mt.rows[rowid] = rec
	}
}

func (x *machine) delete(t *rapid.T) {
	_, mt, h := x.table(t)
	rowid := drawRowid(t)
	err := h.Delete(rowid)
	if _, there := mt.rows[rowid]; !there {
		if !errors.Is(err, ErrNotFound) {
			t.Fatalf("delete of no row: %v", err)
		}
		return
	}
	must(t, err)
	delete(mt.rows, rowid)
}

func (x *machine) conflict(t *rapid.T) {
	_, mt, h := x.table(t)
	for i, ix := range mt.def.Indexes {
		if !ix.Unique {
			continue
		}
		rowid, rec := drawRowid(t), drawRecord(t, mt.def)
		rival, found, err := h.Conflict(i, rec, rowid, rowid, true)
		must(t, err)
		want := mt.rivals(ix, rowid, rec)
		if found != (len(want) > 0) || found && !slices.Contains(want, rival) {
			t.Fatalf("conflict: %d, %v; want one of %v", rival, found, want)
		}
	}
}

func (x *machine) view(t *rapid.T) {
	name, mt, _ := x.table(t)
	v := x.tx.View(mt.def.ID)
	if v != x.tx.View(mt.def.ID) {
		t.Fatal("a second view without a write is another one")
	}
	want := mt.entries()
	if got := allRows(t, v); !slices.Equal(got, want) {
		t.Fatalf("table %q: %v, want %v", name, got, want)
	}
	x.views = append(x.views, frozen{v, want})
	for i, ix := range mt.def.Indexes {
		x.checkIndex(t, v, i, ix, mt)
		x.checkFind(t, x.tx.Handle(mt.def.ID), i, ix, mt)
	}
}

// checkIndex scans an index whole and by a range, both ways, and sorts the
// model's rows to compare.
func (x *machine) checkIndex(t *rapid.T, v *Table, i int, ix *IndexDef, mt *modelTable) {
	want := mt.in(ix)
	slices.SortStableFunc(want, func(a, b Entry) int {
		return compareKeys(ix, mt.key(ix, a.Rowid, a.Rec), mt.key(ix, b.Rowid, b.Rec))
	})
	for _, desc := range []bool{false, true} {
		if got := drain(t, v.IndexScan(i, "", "", desc), 3); !slices.Equal(got, want) {
			t.Fatalf("index %q desc=%v: %v, want %v", ix.Name, desc, got, want)
		}
		slices.Reverse(want)
	}
	if len(want) == 0 {
		return
	}
	// All rows equal to one of them in the first term.
	at := rapid.SampledFrom(want).Draw(t, "row")
	first := &IndexDef{Columns: ix.Columns[:1]}
	key := mt.key(first, at.Rowid, at.Rec)
	lo := string(row.AppendKey(nil, key[0], ix.Columns[0].Collation, ix.Columns[0].Desc))
	want = slices.DeleteFunc(want, func(e Entry) bool {
		return compareKeys(first, key, mt.key(first, e.Rowid, e.Rec)) != 0
	})
	for _, desc := range []bool{false, true} {
		if got := drain(t, v.IndexScan(i, lo, lo+row.KeyAfter, desc), 2); !slices.Equal(got, want) {
			t.Fatalf("index %q range desc=%v: %v, want %v", ix.Name, desc, got, want)
		}
		slices.Reverse(want)
	}
}

func (x *machine) mark(*rapid.T) {
	x.marks = append(x.marks, modelMark{x.tx.Mark(), x.m.clone(), x.tx.Schema(), *x.tx.Violations()})
}

func (x *machine) undo(t *rapid.T) {
	if len(x.marks) == 0 {
		t.Skip("no mark")
	}
	i := rapid.IntRange(0, len(x.marks)-1).Draw(t, "mark")
	k := x.marks[i]
	x.tx.RollbackTo(k.mark)
	x.m, x.marks = k.m.clone(), x.marks[:i+1]
	if x.tx.Schema() != k.schema {
		t.Fatal("the schema after a rollback is not the one at the mark")
	}
	if got := *x.tx.Violations(); got != k.violations {
		t.Fatalf("violations after a rollback: %+v, at the mark %+v", got, k.violations)
	}
}

func (x *machine) commit(t *rapid.T) {
	h := (*TxTable)(nil)
	if len(x.m) > 0 {
		_, _, h = x.table(t)
	}
	changed := x.tx.changed()
	if !changed {
		return
	}
	was := x.base
	x.base = x.log.commit(t, x.tx)
	x.was = x.m
	verifyRoot(t, x.base)
	verifyRoot(t, was)
	if h != nil {
		if err := h.Insert(5, testRecord(1)); !errors.Is(err, ErrTxDone) {
			t.Fatalf("insert after the commit: %v", err)
		}
	}
	for name, mt := range x.m {
		if got := allRows(t, x.base.table(mt.def.ID)); !slices.Equal(got, mt.entries()) {
			t.Fatalf("table %q: %v, want %v", name, got, mt.entries())
		}
	}
	x.fed = x.log.feed(t, x.replay, x.fed)
	if rapid.Bool().Draw(t, "root") {
		got, err := x.replay.root()
		must(t, err)
		sameRoot(t, x.base, got)
		verifyRoot(t, got)
	}
	x.begin()
}

func (x *machine) rollback(t *rapid.T) {
	if rapid.Bool().Draw(t, "by mark") {
		x.tx.RollbackTo(Mark{})
		if x.tx.changed() || x.tx.Schema() != x.base.schema {
			t.Fatal("a transaction rolled back to its start has changes")
		}
	} else {
		x.tx.discard()
	}
	verifyRoot(t, x.base)
	x.begin()
}
