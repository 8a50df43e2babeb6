package engine

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// tableTx is a transaction with one table of two columns, the first of them
// unique.
func tableTx(t *testing.T) (*txState, *TxTable) {
	t.Helper()
	var ids counter
	tx := testTx(emptyRoot(nil), &ids)
	def := testTable("t", 2)
	def.Indexes = []*IndexDef{testIndex("u", true, 0)}
	return tx, create(t, tx, def)
}

// TestConflictGrowsOld: what Conflict found out must not be believed after a
// write that made a rival.
func TestConflictGrowsOld(t *testing.T) {
	rec := testRecord("k", 1)
	free := func(h *TxTable, rowid int64) {
		t.Helper()
		if rival, found, err := h.Conflict(0, rec, rowid, 0, false); found || err != nil {
			t.Fatalf("rival %d, %v, %v", rival, found, err)
		}
	}
	var unique *UniqueError
	refused := func(what string, err error) {
		t.Helper()
		if !errors.As(err, &unique) || !slices.Equal(unique.Columns, []string{"c0"}) {
			t.Errorf("%s: %v", what, err)
		}
	}

	_, h := tableTx(t)
	free(h, 1)
	must(t, h.Insert(2, testRecord("k", 2)))
	refused("insert after an insert", h.Insert(1, rec))

	_, h = tableTx(t)
	must(t, h.Insert(2, testRecord("x", 2)))
	free(h, 1)
	must(t, h.Update(2, testRecord("k", 2)))
	refused("insert after an update", h.Insert(1, rec))

	tx, h := tableTx(t)
	must(t, h.Insert(2, testRecord("k", 2)))
	m := tx.Mark()
	must(t, h.Delete(2))
	free(h, 1)
	tx.RollbackTo(m)
	refused("insert after an undone delete", h.Insert(1, rec))

	// An answer that leaves a row out holds for taking that row's place only.
	_, h = tableTx(t)
	must(t, h.Insert(2, testRecord("k", 2)))
	if _, found, _ := h.Conflict(0, rec, 1, 2, true); found {
		t.Fatal("the row to be replaced is its own rival")
	}
	refused("insert beside the row that was left out", h.Insert(1, rec))
	must(t, h.Delete(2))
	must(t, h.Insert(1, rec))
}

// TestPrepareAgain: sums and frames are of everything written, also after an
// earlier encoding.
func TestPrepareAgain(t *testing.T) {
	tx, h := tableTx(t)
	log := newTestLog()
	must(t, h.Insert(1, testRecord("a", 1)))
	before := tx.writeStamp()
	_, first, err := tx.encode(log.b, 0)
	must(t, err)
	if tx.writeStamp() != before {
		t.Error("encoding counts as a write")
	}
	must(t, h.Insert(2, testRecord("b", 1)))
	m := tx.Mark()
	must(t, h.Insert(3, testRecord("c", 1)))
	if tx.writeStamp() == before {
		t.Error("a write does not change the stamp")
	}
	before = tx.writeStamp()
	log.b.Truncate(0)
	_, _, err = tx.encode(log.b, 0)
	must(t, err)
	tx.RollbackTo(m)
	if tx.writeStamp() == before {
		t.Error("a rollback does not change the stamp")
	}
	log.b.Truncate(0)
	root := log.commit(t, tx)
	if len(first) != 1 || first[0].Rows != 1 || root.tables[0].Len() != 2 {
		t.Errorf("contributions %+v, %d rows", first, root.tables[0].Len())
	}
	verifyRoot(t, root)
	r := newReplay(emptyRoot(nil))
	log.feed(t, r, 0)
	got, err := r.root()
	must(t, err)
	sameRoot(t, root, got)
}

// TestNothingLeft: what was written and undone, or written back to what it
// was, is told apart from what was not.
func TestNothingLeft(t *testing.T) {
	tx, h := tableTx(t)
	must(t, h.Insert(1, testRecord("a", 1)))
	base := tx.finish()
	var ids counter
	tx = testTx(base, &ids)
	h = tx.Handle(h.def.ID)
	if tx.Changed() || tx.View(h.def.ID) != base.tables[0] {
		t.Error("a new transaction has changes")
	}
	m := tx.Mark()
	must(t, h.Update(1, testRecord("b", 2)))
	must(t, h.Delete(1))
	if !tx.Changed() {
		t.Error("a write is no change")
	}
	tx.RollbackTo(m)
	if tx.Changed() {
		t.Error("an undone write is a change")
	}
	must(t, h.Update(1, testRecord("b", 2)))
	must(t, h.Update(1, testRecord("a", 1)))
	records, contributions, err := tx.encode(newTestLog().b, 0)
	if records != 2 || len(contributions) != 0 || err != nil {
		t.Errorf("%d records, contributions %+v, %v", records, contributions, err)
	}
	verifyRoot(t, tx.finish())
}

func TestRowidRange(t *testing.T) {
	tx, h := tableTx(t)
	if _, ok := h.MaxRowid(); ok {
		t.Error("an empty table has a largest row id")
	}
	for i, rowid := range []int64{-5, math.MinInt64, math.MaxInt64, 0} {
		must(t, h.Insert(rowid, testRecord(i, i)))
	}
	if err := h.Insert(0, testRecord(9, 9)); !errors.Is(err, ErrExists) {
		t.Errorf("row id twice: %v", err)
	}
	if rec, ok, _ := h.Get(0); !ok || rec != testRecord(3, 3) {
		t.Error("a refused insert changed the row")
	}
	must(t, h.Delete(math.MaxInt64))
	if rowid, ok := tx.MaxRowid(h.def.ID); rowid != 0 || !ok {
		t.Errorf("largest row id %d, %v", rowid, ok)
	}
	must(t, h.Delete(0))
	if rowid, ok := h.MaxRowid(); rowid != -5 || !ok {
		t.Errorf("largest row id %d, %v", rowid, ok)
	}
	verifyRoot(t, tx.finish())
}

// TestHandlesAcrossSchemaChanges follows handles and views through a schema
// change and back.
func TestHandlesAcrossSchemaChanges(t *testing.T) {
	tx, h := tableTx(t)
	must(t, h.Insert(1, testRecord("a", 1)))
	other := create(t, tx, testTable("other", 1))
	h = tx.Handle(h.def.ID)
	schema, m := tx.Schema(), tx.Mark()

	must(t, tx.Apply(CreateIndex{Table: h.def.ID, Index: testIndex("i", false, 1)}))
	if err := h.Insert(2, testRecord("b", 1)); !errors.Is(err, ErrStaleHandle) {
		t.Errorf("handle from before the change: %v", err)
	}
	if tx.Handle(other.def.ID) != other {
		t.Error("a table that did not change has another handle")
	}
	now := tx.Handle(h.def.ID)
	must(t, now.Insert(2, testRecord("b", 1)))
	must(t, other.Insert(1, testRecord(1)))
	if v := tx.View(h.def.ID); len(v.Def().Indexes) != 2 || v.Len() != 2 {
		t.Errorf("view has %d indexes, %d rows", len(v.Def().Indexes), v.Len())
	}

	tx.RollbackTo(m)
	if tx.Schema() != schema || tx.Handle(h.def.ID) != h {
		t.Error("another schema or handle after the rollback")
	}
	if err := now.Insert(3, testRecord("c", 1)); !errors.Is(err, ErrStaleHandle) {
		t.Errorf("handle from before the rollback: %v", err)
	}
	must(t, h.Insert(2, testRecord("c", 1)))
	if other.Len() != 0 || h.Len() != 2 || tx.Len(h.def.ID) != 2 {
		t.Errorf("%d and %d rows", other.Len(), h.Len())
	}
	verifyRoot(t, tx.finish())
}

func TestEndedTransaction(t *testing.T) {
	tx, h := tableTx(t)
	must(t, h.Insert(1, testRecord("a", 1)))
	root := tx.finish()
	for what, err := range map[string]error{
		"insert": h.Insert(2, testRecord("b", 1)),
		"update": h.Update(1, testRecord("b", 1)),
		"delete": h.Delete(1),
		"apply":  tx.Apply(DropTable{Table: h.def.ID}),
	} {
		if !errors.Is(err, ErrTxDone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if tx.Handle(h.def.ID) != nil || root.tables[0].Len() != 1 {
		t.Error("the transaction goes on")
	}
	if _, _, err := tx.Get(99, 1); !errors.Is(err, ErrNotFound) {
		t.Errorf("row of no table: %v", err)
	}
}

// TestNullsAreNoRivals: NULL equals nothing in a unique index, in one column
// of the key or all.
func TestNullsAreNoRivals(t *testing.T) {
	var ids counter
	tx := testTx(emptyRoot(nil), &ids)
	def := testTable("t", 2)
	def.Indexes = []*IndexDef{testIndex("u", true, 0, 1)}
	h := create(t, tx, def)
	must(t, h.Insert(1, testRecord(nil, nil)))
	must(t, h.Insert(2, testRecord(nil, nil)))
	must(t, h.Insert(3, testRecord(1, nil)))
	must(t, h.Insert(4, testRecord(1, nil)))
	must(t, h.Insert(5, testRecord(1, 1)))
	var unique *UniqueError
	if err := h.Insert(6, testRecord(1.0, 1)); !errors.As(err, &unique) || err.Error() != "UNIQUE constraint failed: t.c0, t.c1" {
		t.Errorf("equal keys: %v", err)
	}
	must(t, tx.Apply(CreateIndex{Table: h.def.ID, Index: testIndex("again", true, 1, 0)}))
	verifyRoot(t, tx.finish())
}

// TestRowidAliasInIndex: the column that is the row id is NULL in the record
// and the row id in keys.
func TestRowidAliasInIndex(t *testing.T) {
	var ids counter
	tx := testTx(emptyRoot(nil), &ids)
	def := testTable("t", 2)
	def.RowidAlias = 0
	def.Indexes = []*IndexDef{testIndex("i", false, 1, 0)}
	def.Indexes[0].Columns[1].Desc = true
	h := create(t, tx, def)
	for i := range 4 {
		must(t, h.Insert(int64(i), testRecord(nil, "x")))
	}
	lo := string(row.AppendKey(nil, row.TextValue("x"), row.Binary, false))
	got := drain(t, tx.View(h.def.ID).IndexScan(0, lo, lo+row.KeyAfter, false), 10)
	if len(got) != 4 || got[0].Rowid != 3 || got[3].Rowid != 0 {
		t.Errorf("order %v", got)
	}
}
