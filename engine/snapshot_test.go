package engine

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
)

// TestSnapshotsUnderWrites reads old and new snapshots from several goroutines
// while transactions go on. Every transaction moves amounts between rows, so
// each state has the same total, whichever way it is read.
func TestSnapshotsUnderWrites(t *testing.T) {
	const accounts, rounds, readers = 300, 400, 3
	var ids counter
	tx := testTx(emptyRoot(nil), &ids)
	def := testTable("t", 2)
	def.Indexes = []*IndexDef{testIndex("i", false, 1), testIndex("u", true, 0)}
	h := create(t, tx, def)
	for i := range accounts {
		must(t, h.Insert(int64(i), testRecord(i, 100)))
	}
	id := h.def.ID
	var head atomic.Pointer[root]
	head.Store(tx.finish())

	total := func(s *Scanner, buf []Entry) (rows int, sum int64, err error) {
		for {
			n, err := s.Next(buf)
			if err != nil || n == 0 {
				return rows, sum, err
			}
			for _, e := range buf[:n] {
				sum += e.Rec.Column(1).Int()
			}
			rows += n
		}
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range readers {
		wg.Go(func() {
			old := head.Load().snapshot()
			buf := make([]Entry, 50)
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				now := head.Load().snapshot()
				if n%5 == 0 {
					old = now
				}
				for _, snap := range []*Snapshot{old, now} {
					table := snap.Table(id)
					for _, s := range []*Scanner{table.Scan(math.MinInt64, math.MaxInt64, n%2 == 0), table.IndexScan(0, "", "", n%2 == 1)} {
						if rows, sum, err := total(s, buf); err != nil || rows != table.Len() || sum != accounts*100 {
							t.Errorf("snapshot %d: %d rows of %d, total %d, %v", snap.LSN(), rows, table.Len(), sum, err)
							return
						}
					}
				}
			}
		})
	}
	for i := range rounds {
		tx := testTx(head.Load(), &ids)
		h := tx.Handle(id)
		from, to := int64(i*7%accounts), int64(i*11%accounts)
		move := func(rowid, by int64) {
			rec, _, err := h.Get(rowid)
			must(t, err)
			must(t, h.Update(rowid, testRecord(rec.Column(0).Int(), rec.Column(1).Int()+by)))
		}
		move(from, -int64(i%13))
		m := tx.Mark()
		tx.View(id)
		move(to, 1000)
		must(t, h.Delete(from))
		tx.RollbackTo(m)
		move(to, int64(i%13))
		head.Store(tx.finish())
	}
	close(stop)
	wg.Wait()
	verifyRoot(t, head.Load())
}
