package engine

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// createKeys makes a resident=keys table of as many columns, with a unique index
// on the first and another index on the second.
func createKeys(name string, columns int) func(tx *Tx) error {
	return func(tx *Tx) error {
		def := testTable(name, columns)
		def.Resident = ResidentKeys
		def.Indexes = []*IndexDef{testIndex(name+"_c0", true, 0), testIndex(name+"_c1", false, 1)}
		return tx.Apply(CreateTable{Def: def})
	}
}

// tableOf returns a table of the newest durable state.
func tableOf(s *Store, name string) *Table {
	snap := s.Durable()
	return snap.Table(snap.Schema().Lookup(name).Table.ID)
}

// wantRow fails the test unless a row is what it should be, read by its id, by a
// scan, and by the key of its first column.
func wantRow(t testing.TB, table *Table, rowid int64, want row.Record) {
	t.Helper()
	if rec, found, err := table.Get(rowid); err != nil || !found || rec != want {
		t.Fatalf("row %d: %x, %t, %v; want %x", rowid, rec, found, err, want)
	}
	buf := make([]Entry, 4)
	for _, desc := range []bool{false, true} {
		n, err := table.Scan(rowid, rowid, desc).Next(buf)
		if err != nil || n != 1 || buf[0] != (Entry{rowid, want}) {
			t.Fatalf("row %d, scanned: %d %v, %v", rowid, n, buf[0], err)
		}
	}
	key := string(row.AppendKey(nil, want.Column(0), row.Binary, false))
	n, err := table.IndexScan(0, key, key+row.KeyAfter, false).Next(buf)
	if err != nil || n != 1 || buf[0] != (Entry{rowid, want}) {
		t.Fatalf("row %d, by its key: %d %v, %v", rowid, n, buf[0], err)
	}
}

// ENG-AT-16, ENG-AT-17: the first row of a fresh table, and one that is deleted.
func TestKeysFirstRow(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards}
		s := openStore(t, o)
		wait(t, s, update(t, s, createKeys("k", 3)))
		wait(t, s, update(t, s, put("k", 7, 1, "one", "x")))
		wantRow(t, tableOf(s, "k"), 7, testRecord(1, "one", "x"))
		wait(t, s, update(t, s, all(put("k", 8, 2, "two", "y"), put("k", 9, 3, "three", nil))))
		wait(t, s, update(t, s, remove("k", 8)))
		for round := range 3 {
			table := tableOf(s, "k")
			wantRow(t, table, 7, testRecord(1, "one", "x"))
			wantRow(t, table, 9, testRecord(3, "three", nil))
			if _, found, err := table.Get(8); found || err != nil || table.Len() != 2 {
				t.Fatalf("round %d: the deleted row: %t, %v; %d rows", round, found, err, table.Len())
			}
			checkStore(t, s)
			must(t, s.Close())
			if _, _, err := table.Get(7); err == nil {
				t.Fatal("a row was read after Close")
			}
			s = openStore(t, o)
		}
	})
}

// The oracle: a keys table beside one of which all rows are in memory, with
// rotations, reopens, savepoints and views between.
func TestKeysOracle(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 0))
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards, GenerationSize: 16 << 10}
		s := openStore(t, o)
		pin(s, byMapping)
		wait(t, s, update(t, s, all(createKeys("k", 5), createTable("filler"), func(tx *Tx) error {
			def := testTable("a", 5)
			def.Indexes = []*IndexDef{testIndex("a_c0", true, 0), testIndex("a_c1", false, 1)}
			return tx.Apply(CreateTable{Def: def})
		})))
		steps := 400
		if testing.Short() {
			steps = 150
		}
		for step := range steps {
			lsn := update(t, s, func(tx *Tx) error {
				for range 1 + rng.IntN(8) {
					keysStep(t, tx, rng, 2)
				}
				sameTables(t, tx.View, tx.Schema())
				if !tx.Changed() {
					return put("filler", int64(step), 1, "so that there is something to commit")(tx)
				}
				return nil
			})
			if rng.IntN(3) == 0 {
				wait(t, s, lsn)
				sameTables(t, s.Durable().Table, s.Durable().Schema())
			}
			switch rng.IntN(25) {
			case 0:
				must(t, s.Checkpoint(t.Context(), nil))
			case 1:
				must(t, s.Close())
				s = openStore(t, o)
				pin(s, way(rng.IntN(2)))
				sameTables(t, s.Durable().Table, s.Durable().Schema())
			case 2:
				wait(t, s, lsn)
				checkStore(t, s)
			}
		}
	})
}

// keysStep does the same to both tables of the oracle.
func keysStep(t *testing.T, tx *Tx, rng *rand.Rand, depth int) {
	a, k := tx.Handle(tx.Schema().Lookup("a").Table.ID), tx.Handle(tx.Schema().Lookup("k").Table.ID)
	both := func(what string, f func(h *TxTable) error) {
		t.Helper()
		if e1, e2 := fmt.Sprint(f(a)), fmt.Sprint(f(k)); strings.ReplaceAll(e1, "a.", "k.") != e2 {
			t.Fatalf("%s: %s, of the keys table %s", what, e1, e2)
		}
	}
	id := int64(rng.IntN(60))
	vals := []any{rng.IntN(90), strings.Repeat("v", rng.IntN(5)), nil, "", rng.IntN(3)}
	if rng.IntN(4) > 0 { // few columns change
		if rec, found, err := a.Get(id); found && err == nil {
			old := make([]any, 5)
			for i := range old {
				switch v := rec.Column(i); v.Kind() {
				case row.Int:
					old[i] = v.Int()
				case row.Text:
					old[i] = v.Bytes()
				}
			}
			c := rng.IntN(5)
			old[c] = vals[c]
			vals = old
		}
	}
	rec := testRecord(vals...)
	switch n := rng.IntN(20); {
	case n < 7:
		both("insert", func(h *TxTable) error { return h.Insert(id, rec) })
	case n < 15:
		both("update", func(h *TxTable) error { return h.Update(id, rec) })
	case n < 17:
		both("delete", func(h *TxTable) error { return h.Delete(id) })
	case n < 18 && depth > 0:
		mark := tx.Mark()
		view := tx.View(k.Def().ID)
		before := rowsOf(t, view)
		for range 1 + rng.IntN(4) {
			keysStep(t, tx, rng, depth-1)
		}
		if now := rowsOf(t, view); now != before {
			t.Fatalf("a view changed from %s to %s", before, now)
		}
		late := tx.View(k.Def().ID)
		then := rowsOf(t, late)
		tx.RollbackTo(mark)
		if rowsOf(t, tx.View(k.Def().ID)) != before || rowsOf(t, late) != then || rowsOf(t, view) != before {
			t.Fatal("a rollback to a mark shows in a view, or not in the table")
		}
	default:
		var got [2]string
		for i, h := range []*TxTable{a, k} {
			rec, found, err := h.Get(id)
			got[i] = fmt.Sprintf("%x %t %v", rec, found, err)
		}
		if got[0] != got[1] {
			t.Fatalf("row %d: %s, of the keys table %s", id, got[0], got[1])
		}
	}
}

// rowsOf is the content of a table as text: scanned both ways and by its indexes.
func rowsOf(t testing.TB, table *Table) string {
	t.Helper()
	var b strings.Builder
	buf := make([]Entry, 7)
	for _, s := range []*Scanner{
		table.Scan(math.MinInt64, math.MaxInt64, false), table.Scan(math.MinInt64, math.MaxInt64, true),
		table.IndexScan(0, "", "", false), table.IndexScan(1, "", "", true),
	} {
		for n := len(buf); n == len(buf); {
			var err error
			if n, err = s.Next(buf); err != nil {
				t.Fatal(err)
			}
			for _, e := range buf[:n] {
				fmt.Fprintf(&b, "%d=%x ", e.Rowid, e.Rec)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func sameTables(t testing.TB, table func(TableID) *Table, schema *Schema) {
	t.Helper()
	a, k := rowsOf(t, table(schema.Lookup("a").Table.ID)), rowsOf(t, table(schema.Lookup("k").Table.ID))
	if a != k {
		t.Fatalf("all:  %s\nkeys: %s", a, k)
	}
}

// Readers go on while files are sealed under them, and end with ErrClosed.
func TestKeysReadersBesideSeals(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		s, err := Open(t.Context(), Options{Dir: t.TempDir(), Create: true, Shards: shards, GenerationSize: 8 << 10, Sync: SyncOff})
		must(t, err)
		const rows = 40
		wait(t, s, update(t, s, createKeys("k", 4)))
		wait(t, s, update(t, s, func(tx *Tx) error {
			for i := range rows {
				if err := put("k", int64(i), i, "text 0", strings.Repeat("w", 60), nil)(tx); err != nil {
					return err
				}
			}
			return nil
		}))
		ended := make(chan error)
		for range 3 {
			go func() {
				buf := make([]Entry, 16)
				for {
					table, seen := tableOf(s, "k"), 0
					for sc := table.Scan(math.MinInt64, math.MaxInt64, false); ; {
						n, err := sc.Next(buf)
						if err != nil {
							ended <- err
							return
						}
						for _, e := range buf[:n] {
							if e.Rec.Column(0).Int() != e.Rowid {
								ended <- fmt.Errorf("row %d: %x", e.Rowid, e.Rec)
								return
							}
						}
						if seen += n; n < len(buf) {
							break
						}
					}
					if seen != rows {
						ended <- fmt.Errorf("%d rows", seen)
						return
					}
				}
			}()
		}
		for n := range 200 {
			update(t, s, put("k", int64(n%rows), n%rows, fmt.Sprintf("text %d", n), strings.Repeat("w", 60), n%3))
		}
		must(t, s.Checkpoint(t.Context(), nil))
		must(t, s.Close())
		for range 3 {
			if err := <-ended; !errors.Is(err, ErrClosed) {
				t.Errorf("a reader ended with %v", err)
			}
		}
	})
}
