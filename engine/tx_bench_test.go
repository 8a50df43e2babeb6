package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

func benchRecords(n int) []row.Record {
	recs := make([]row.Record, n)
	for i := range recs {
		recs[i] = testRecord(nil, i, fmt.Sprintf("name-%06d", i))
	}
	return recs
}

// benchRoot is a published table of n rows with the given indexes.
func benchRoot(b *testing.B, n int, ids *counter, indexes ...*IndexDef) (*root, TableID) {
	b.Helper()
	def := testTable("t", 3)
	def.RowidAlias = 0
	def.Indexes = indexes
	tx := testTx(emptyRoot(nil), ids)
	h := create(b, tx, def)
	for i, rec := range benchRecords(n) {
		must(b, h.Insert(int64(i+1), rec))
	}
	return tx.finish(), h.def.ID
}

func BenchmarkInsert(b *testing.B) {
	const n = 100_000
	recs := benchRecords(n)
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for _, bc := range []struct {
		name    string
		shuffle bool
		ask     bool
		indexes []*IndexDef
	}{
		{"ascending", false, false, nil},
		{"shuffled", true, false, nil},
		{"index", false, false, []*IndexDef{testIndex("i", false, 2)}},
		{"unique", false, true, []*IndexDef{testIndex("u", true, 2)}},
		{"unique+index", true, true, []*IndexDef{testIndex("u", true, 2), testIndex("i", false, 1)}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			var ids counter
			base, id := benchRoot(b, 0, &ids, bc.indexes...)
			b.ReportAllocs()
			b.ResetTimer()
			var h *TxTable
			for i := range b.N {
				if i%n == 0 {
					h = testTx(base, &ids).Handle(id)
				}
				at := i % n
				if bc.shuffle {
					at = order[at]
				}
				rowid, rec := int64(at+1), recs[at]
				if bc.ask {
					if _, found, _ := h.Conflict(0, rec, rowid, 0, false); found {
						b.Fatal("conflict")
					}
				}
				if err := h.Insert(rowid, rec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	const n = 100_000
	for _, indexes := range [][]*IndexDef{nil, {testIndex("i", false, 2)}} {
		b.Run(fmt.Sprintf("indexes=%d", len(indexes)), func(b *testing.B) {
			var ids counter
			base, id := benchRoot(b, n, &ids, indexes...)
			recs := benchRecords(n)
			b.ReportAllocs()
			b.ResetTimer()
			var h *TxTable
			for i := range b.N {
				if i%n == 0 {
					h = testTx(base, &ids).Handle(id)
				}
				if err := h.Update(int64(i%n+1), recs[(i+7)%n]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkSmallTransaction is what an autocommit statement costs in memory.
func BenchmarkSmallTransaction(b *testing.B) {
	var ids counter
	base, id := benchRoot(b, 100_000, &ids)
	rec := testRecord(nil, 1, "x")
	log := newTestLog()
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		log.b.Truncate(0)
		tx := testTx(base, &ids)
		if err := tx.Handle(id).Insert(int64(1_000_000+i), rec); err != nil {
			b.Fatal(err)
		}
		if _, _, err := tx.encode(log.b, 0); err != nil {
			b.Fatal(err)
		}
		base = tx.finish()
	}
}

func BenchmarkMark(b *testing.B) {
	var ids counter
	base, id := benchRoot(b, 1000, &ids)
	tx := testTx(base, &ids)
	h := tx.Handle(id)
	rec := testRecord(nil, 1, "x")
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		m := tx.Mark()
		if err := h.Insert(5000, rec); err != nil {
			b.Fatal(err)
		}
		tx.RollbackTo(m)
	}
}

func BenchmarkScan(b *testing.B) {
	const n = 100_000
	var ids counter
	base, id := benchRoot(b, n, &ids, testIndex("i", false, 2))
	t := base.table(id)
	buf := make([]Entry, 128)
	for _, bc := range []struct {
		name  string
		start func(s *Scanner)
	}{
		{"rows", func(s *Scanner) { s.Rows(t, 1, n, false) }},
		{"rows desc", func(s *Scanner) { s.Rows(t, 1, n, true) }},
		{"index", func(s *Scanner) { s.Index(t, 0, "", "", false) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.ResetTimer()
			var s Scanner
			rows := 0
			for rows < b.N {
				bc.start(&s)
				for {
					got, err := s.Next(buf)
					if err != nil {
						b.Fatal(err)
					}
					if rows += got; got < len(buf) {
						break
					}
				}
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	const n = 100_000
	var ids counter
	base, id := benchRoot(b, n, &ids)
	t := base.table(id)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, ok, _ := t.Get(int64(i*7919%n + 1)); !ok {
			b.Fatal("row is missing")
		}
	}
}

func BenchmarkPointScan(b *testing.B) {
	const n = 100_000
	var ids counter
	base, id := benchRoot(b, n, &ids, testIndex("i", false, 1))
	t := base.table(id)
	var (
		s   Scanner
		buf [4]Entry
		key []byte
	)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		key = row.AppendKey(key[:0], row.IntValue(int64(i*7919%n)), row.Binary, false)
		lo := string(key)
		s.Index(t, 0, lo, lo+row.KeyAfter, false)
		if got, err := s.Next(buf[:]); got != 1 || err != nil {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	const n = 10_000
	var ids counter
	base, id := benchRoot(b, 0, &ids)
	tx := testTx(base, &ids)
	h := tx.Handle(id)
	for i, rec := range benchRecords(n) {
		must(b, h.Insert(int64(i+1), rec))
	}
	log := newTestLog()
	b.ReportAllocs()
	b.ResetTimer()
	for rows := 0; rows < b.N; rows += n {
		log.b.Truncate(0)
		tx.stamp++ // as if something was written, so that sums are made again
		if _, _, err := tx.encode(log.b, 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	for _, bc := range []struct{ commits, rows, payload int }{{1000, 100, 14}, {100_000, 1, 14}, {1000, 100, 100}} {
		b.Run(fmt.Sprintf("commits=%d/rows=%d/text=%d", bc.commits, bc.rows, bc.payload), func(b *testing.B) {
			var ids counter
			log := newTestLog()
			tx := testTx(emptyRoot(nil), &ids)
			def := testTable("t", 3)
			def.RowidAlias = 0
			def.Indexes = []*IndexDef{testIndex("i", false, 1)}
			id := create(b, tx, def).def.ID
			base := log.commit(b, tx)
			text := fmt.Sprintf("%*d", bc.payload, 1)
			for c := range bc.commits {
				tx := testTx(base, &ids)
				h := tx.Handle(id)
				for i := range bc.rows {
					n := c*bc.rows + i
					must(b, h.Insert(int64(n), testRecord(nil, n, text)))
				}
				base = log.commit(b, tx)
			}
			b.SetBytes(int64(log.b.Len()))
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				r := newReplay(emptyRoot(nil))
				log.feed(b, r, 0)
				if _, err := r.root(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
