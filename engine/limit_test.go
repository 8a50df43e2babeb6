package engine

import (
	"errors"
	"testing"
)

// createLimited makes a table with a limit.
func createLimited(name string, durable bool, rows int64, full OnFull) func(tx *Tx) error {
	return func(tx *Tx) error {
		def := testTable(name, 2)
		def.Durable, def.MaxRows, def.OnFull = durable, rows, full
		return tx.Apply(CreateTable{Def: def})
	}
}

// TestLimit: a full table refuses an insert and nothing else; rows of the
// transaction count, and what is undone does not.
func TestLimit(t *testing.T) {
	s := openStore(t, Options{})
	wait(t, s, update(t, s, createLimited("t", true, 2, OnFullRefuse)))
	wait(t, s, update(t, s, func(tx *Tx) error {
		must(t, put("t", 1, 1, "one")(tx))
		mark := tx.Mark()
		must(t, put("t", 2, 2, "two")(tx))
		h := tx.Handle(tx.Schema().Lookup("t").Table.ID)
		var limit *LimitError
		if err := put("t", 3, 3, "three")(tx); !errors.As(err, &limit) || limit.Rows != 2 || limit.Replay || !errors.Is(err, ErrTableFull) || !h.Full() {
			t.Errorf("third row: %v", err)
		}
		if err := h.Drop(1); !errors.Is(err, ErrInvalidChange) {
			t.Errorf("drop of a durable row: %v", err)
		}
		tx.RollbackTo(mark)
		return put("t", 3, 3, "three")(tx)
	}))
	if count(s.Durable(), "t") != 2 {
		t.Errorf("%d rows", count(s.Durable(), "t"))
	}
}

// TestOpenAboveLimit: ENG-62: a log with more rows of a table than it may have is
// refused as a whole, by name, and is not damage.
func TestOpenAboveLimit(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, Create: true})
	must(t, err)
	wait(t, s, update(t, s, createLimited("t", true, 3, OnFullRefuse)))
	wait(t, s, update(t, s, all(put("t", 1, 1, "a"), put("t", 2, 2, "b"), put("t", 3, 3, "c"))))
	limit := func(n int64) {
		wait(t, s, update(t, s, func(tx *Tx) error {
			def := *tx.Schema().Lookup("t").Table
			def.MaxRows = n
			return tx.Apply(ReplaceTable{Def: &def})
		}))
		must(t, s.Close())
	}
	limit(2)
	for range 2 { // it stays as it is
		_, err = Open(t.Context(), Options{Dir: dir})
		var over *LimitError
		var bad *CorruptError
		if !errors.As(err, &over) || !over.Replay || over.Rows != 3 || over.Def.MaxRows != 2 || errors.As(err, &bad) {
			t.Fatalf("open: %v", err)
		}
	}
}

// TestLimitDefinitions: what no table can be kept by is no schema change.
func TestLimitDefinitions(t *testing.T) {
	s := openStore(t, Options{})
	for _, c := range []func(*Tx) error{
		createLimited("x", true, -1, OnFullRefuse), createLimited("x", true, 1, OnFullDropOldest),
		createLimited("x", false, 0, OnFullDropOldest), createLimited("x", false, 1, 7),
	} {
		tx, err := s.Begin(t.Context())
		must(t, err)
		if err := c(tx); !errors.Is(err, ErrInvalidChange) {
			t.Errorf("accepted: %v", err)
		}
		tx.Rollback()
	}
}
