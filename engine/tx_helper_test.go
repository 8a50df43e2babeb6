package engine

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// tb is what *testing.T, *testing.B and *rapid.T have in common.
type tb interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// counter is an idAllocator for transactions without a store.
type counter struct{ last uint64 }

func (c *counter) NextID() (uint64, error) { c.last++; return c.last, nil }

// testTx starts a transaction on a root as a store would.
func testTx(base *root, ids *counter) *txState { return newTx(base, base.lsn+1, ids) }

// columns makes n columns of which the first is the row id when alias is set.
func testColumns(n int) []Column {
	cols := make([]Column, n)
	for i := range cols {
		cols[i] = Column{ID: uint32(i + 1), Name: fmt.Sprintf("c%d", i), Affinity: row.AffBlob}
	}
	return cols
}

func testTable(name string, columns int) *TableDef {
	return &TableDef{Name: name, SQL: "CREATE TABLE " + name, Columns: testColumns(columns), RowidAlias: -1, Durable: true}
}

func testIndex(name string, unique bool, columns ...int) *IndexDef {
	ix := &IndexDef{Name: name, SQL: "CREATE INDEX " + name, Unique: unique, Origin: "c"}
	for _, c := range columns {
		ix.Columns = append(ix.Columns, IndexColumn{Column: c})
	}
	return ix
}

func testRecord(vals ...any) row.Record {
	vs := make([]row.Value, len(vals))
	for i, v := range vals {
		switch v := v.(type) {
		case nil:
		case int:
			vs[i] = row.IntValue(int64(v))
		case int64:
			vs[i] = row.IntValue(v)
		case float64:
			vs[i] = row.RealValue(v)
		case string:
			vs[i] = row.TextValue(v)
		case []byte:
			vs[i] = row.BlobValue(string(v))
		default:
			panic(fmt.Sprintf("no value of %T", v))
		}
	}
	return row.Record(row.AppendRecord(nil, vs))
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create applies a CreateTable and returns the table's handle.
func create(t tb, tx *txState, def *TableDef) *TxTable {
	t.Helper()
	must(t, tx.Apply(CreateTable{Def: def}))
	return tx.Handle(tx.Schema().Lookup(def.Name).Table.ID)
}

// verifyRoot runs the consistency check over every table.
func verifyRoot(t tb, r *root) {
	t.Helper()
	if len(r.tables) != len(r.schema.tables) {
		t.Fatalf("%d tables for %d definitions", len(r.tables), len(r.schema.tables))
	}
	sum := int64(0)
	for i, table := range r.tables {
		if table.past == nil { // which may come and go
			sum += table.ResidentBytes()
		}
		if table.def != r.schema.tables[i] {
			t.Errorf("slot %d: the table's definition is not the schema's", i)
		}
		must(t, table.verify(true, func(text string) { t.Error(text) }, func(err error) error { return err }))
	}
	if r.memory != sum {
		t.Errorf("the state is said to take %d bytes, its tables %d", r.memory, sum)
	}
}

// log is a generation in memory: frames of committed transactions.
type testLog struct {
	salt wal.Salt
	b    *wal.Builder
}

func newTestLog() *testLog {
	l := &testLog{salt: wal.Salt{1, 2, 3}}
	l.b = wal.NewBuilder(l.salt, 0, nil)
	return l
}

// commit encodes a transaction and finishes it.
func (l *testLog) commit(t tb, tx *txState) *root {
	t.Helper()
	records, contributions, err := tx.encode(l.b, 0)
	must(t, err)
	must(t, l.b.Commit(&wal.Commit{LSN: uint64(tx.lsn), Records: records, Contributions: contributions}))
	return tx.finish()
}

// feed replays the frames of the log from an offset on and returns the next.
func (l *testLog) feed(t tb, r *replay, from int64) int64 {
	t.Helper()
	data := l.b.Bytes()
	s := wal.NewScanner(bytes.NewReader(data), from, int64(len(data)), l.salt)
	for {
		f, ok := s.Next()
		if !ok {
			must(t, s.Stop().Error())
			return s.Offset()
		}
		must(t, replayFrame(r, f, l.salt))
	}
}

func replayFrame(r *replay, f wal.Frame, salt wal.Salt) error {
	switch f.Kind {
	case wal.KindSchema:
		x, err := wal.DecodeSchema(f)
		if err != nil {
			return err
		}
		return r.schema(x, f.Offset)
	case wal.KindPut:
		x, err := wal.DecodePut(f)
		if err != nil {
			return err
		}
		return r.put(x, f.Offset)
	case wal.KindDelta:
		x, err := wal.DecodeDelta(f)
		if err != nil {
			return err
		}
		return r.delta(x, f.Offset)
	case wal.KindTombstone:
		x, err := wal.DecodeTombstone(f)
		if err != nil {
			return err
		}
		return r.tombstone(x, f.Offset)
	case wal.KindCommit:
		x, err := wal.DecodeCommit(f, salt)
		if err != nil {
			return err
		}
		return r.commit(x, f.Offset)
	}
	return fmt.Errorf("unexpected %s", f.Kind)
}

// sameRoot compares two states, schema and rows. Volatile tables of got may
// be empty: their rows are not in a log.
func sameRoot(t tb, want, got *root) {
	t.Helper()
	if got.lsn != want.lsn || got.schema.version != want.schema.version {
		t.Fatalf("LSN %d, schema %d; want %d, %d", got.lsn, got.schema.version, want.lsn, want.schema.version)
	}
	if !reflect.DeepEqual(got.schema.objects, want.schema.objects) {
		t.Fatalf("schemas differ: version %d", got.schema.version)
	}
	for i, w := range want.tables {
		g := got.tables[i]
		if !w.def.Durable {
			if g.Len() != 0 {
				t.Fatalf("volatile table %q has %d rows", w.def.Name, g.Len())
			}
			continue
		}
		if w.sum != g.sum {
			t.Fatalf("table %q: sum %x, want %x", w.def.Name, g.sum, w.sum)
		}
		if a, b := allRows(t, w), allRows(t, g); !slices.Equal(a, b) {
			t.Fatalf("table %q: rows %v, want %v", w.def.Name, b, a)
		}
	}
}

func allRows(t tb, table *Table) []Entry {
	t.Helper()
	return drain(t, table.Scan(math.MinInt64, math.MaxInt64, false), 7)
}

// drain reads a scan to its end in blocks.
func drain(t tb, s *Scanner, block int) []Entry {
	t.Helper()
	var all []Entry
	buf := make([]Entry, block)
	for {
		n, err := s.Next(buf)
		must(t, err)
		all = append(all, buf[:n]...)
		if n < block {
			if n, err := s.Next(buf); n != 0 || err != nil {
				t.Fatalf("Next after the end: %d, %v", n, err)
			}
			return all
		}
	}
}
