package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// newestOf returns the place of a row's newest record, and its frame.
func newestOf(t testing.TB, s *Store, name string, rowid int64) (rowPlace, wal.Frame) {
	t.Helper()
	loc, found := tableOf(s, name).rows.Get(rowid)
	if !found {
		t.Fatalf("no row %d", rowid)
	}
	p, err := parseLocator(string(loc))
	must(t, err)
	f, err := s.objects.borrow(p.slot, p.off, p.size, nil)
	must(t, err)
	return p, f
}

// readsOf counts the records that f reads.
func readsOf(s *Store, f func()) uint64 {
	before := s.Metrics().Reads
	f()
	return s.Metrics().Reads - before
}

// wideRow is a record of which column 1 is one of two that change.
func wideRow(id, n int) row.Record {
	return testRecord(id, fmt.Sprintf("text %d", n), strings.Repeat("w", 200), n%3)
}

// ENG-AT-20: the chain of a row grows by one with every update, to 16, and the
// 17th is a whole row again.
func TestKeysDepth(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards}
		s := openStore(t, o)
		update(t, s, createKeys("k", 4))
		update(t, s, put("k", 5, 5, "text 0", strings.Repeat("w", 200), 0))
		for n := 1; n <= 2*maxHops+3; n++ {
			wait(t, s, update(t, s, func(tx *Tx) error {
				return tx.Handle(tx.Schema().Lookup("k").Table.ID).Update(5, wideRow(5, n))
			}))
			p, f := newestOf(t, s, "k", 5)
			hops, kind := n%(maxHops+1), wal.KindDelta
			if hops == 0 {
				kind = wal.KindPut
			}
			if int(p.hops) != hops || f.Kind != kind {
				t.Fatalf("update %d: %d hops, a %s; want %d and a %s", n, p.hops, f.Kind, hops, kind)
			}
			if r := readsOf(s, func() {
				if rec, _, err := tableOf(s, "k").Get(5); err != nil || rec != wideRow(5, n) {
					t.Fatalf("update %d: %x, %v", n, rec, err)
				}
			}); r != uint64(hops+1) {
				t.Fatalf("update %d: %d records read, the chain has %d", n, r, hops+1)
			}
		}
		last := wideRow(5, 2*maxHops+3)
		was, _ := newestOf(t, s, "k", 5)
		must(t, s.Close())
		s = openStore(t, o)
		wantRow(t, tableOf(s, "k"), 5, last)
		if now, _ := newestOf(t, s, "k", 5); now.hops != was.hops || now.off != was.off {
			t.Fatalf("replayed as %+v, was %+v", now, was)
		}
	})
}

// A chain never leaves its file: after a rotation the first change is a whole
// row, and every file can be read without the others.
func TestKeysChainsStayInTheirFile(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		o := Options{Dir: t.TempDir(), FS: vfs.NewMem(), Shards: shards}
		s := openStore(t, o)
		update(t, s, createKeys("k", 4))
		n := 0
		change := func() {
			t.Helper()
			n++
			wait(t, s, update(t, s, put("k", 1, 1, fmt.Sprintf("text %d", n), strings.Repeat("w", 200), n%3)))
			wantRow(t, tableOf(s, "k"), 1, wideRow(1, n))
		}
		for round := range 4 {
			change()
			if p, f := newestOf(t, s, "k", 1); p.hops != 0 || f.Kind != wal.KindPut {
				t.Fatalf("round %d: the first change in a file is a %s, %d hops", round, f.Kind, p.hops)
			}
			change()
			change()
			if p, _ := newestOf(t, s, "k", 1); p.hops != 2 {
				t.Fatalf("round %d: %d hops", round, p.hops)
			}
			must(t, s.Checkpoint(t.Context(), nil))
			wantRow(t, tableOf(s, "k"), 1, wideRow(1, n))
			if round%2 == 1 {
				must(t, s.Close())
				s = openStore(t, o)
				wantRow(t, tableOf(s, "k"), 1, wideRow(1, n))
			}
		}
	})
}

// ENG-AT-18: two updates of one row in one transaction.
func TestKeysTwoUpdatesInOne(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem()}
	s := openStore(t, o)
	update(t, s, all(createKeys("k", 4), put("k", 1, 1, "text 0", strings.Repeat("w", 200), 0)))
	wait(t, s, update(t, s, func(tx *Tx) error {
		for n := range 3 {
			if err := put("k", 1, 1, fmt.Sprintf("text %d", n), strings.Repeat("w", 200), n%3)(tx); err != nil {
				return err
			}
			if rec, _, err := tx.Get(tx.Schema().Lookup("k").Table.ID, 1); err != nil || rec != wideRow(1, n) {
				return fmt.Errorf("the transaction reads %x, %w", rec, err)
			}
		}
		// What was prepared and then written to is prepared again.
		if err := tx.Prepare(); err != nil {
			return err
		}
		return put("k", 1, 1, "text 3", strings.Repeat("w", 200), 0)(tx)
	}))
	if p, _ := newestOf(t, s, "k", 1); p.hops != 4 {
		t.Fatalf("%d hops", p.hops)
	}
	wantRow(t, tableOf(s, "k"), 1, wideRow(1, 3))
	must(t, s.Close())
	s = openStore(t, o)
	wantRow(t, tableOf(s, "k"), 1, wideRow(1, 3))
}

// ENG-AT-19: unique keys see what the transaction has not appended yet, and rows
// that are in files only.
func TestKeysUnique(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem()}
	s := openStore(t, o)
	update(t, s, createKeys("k", 2))
	wait(t, s, update(t, s, all(put("k", 1, 1, "a"), put("k", 2, 2, "b"), put("k", 3, 3, "c"))))
	must(t, s.Checkpoint(t.Context(), nil))
	must(t, s.Close())
	s = openStore(t, o)
	var unique *UniqueError
	wait(t, s, update(t, s, func(tx *Tx) error {
		h := tx.Handle(tx.Schema().Lookup("k").Table.ID)
		for _, step := range []struct {
			what    string
			err     error
			refused bool
		}{
			{"the key of a row in a file", h.Insert(9, testRecord(3, "x")), true},
			{"a row changed to a free key", h.Update(1, testRecord(5, "a")), false},
			{"a key taken in this transaction", h.Insert(9, testRecord(5, "x")), true},
			{"another row changed to it", h.Update(2, testRecord(5, "x")), true},
			{"a key freed in this transaction", h.Insert(9, testRecord(1, "x")), false},
			{"a deleted row's key", errors.Join(h.Delete(3), h.Insert(10, testRecord(3, "y"))), false},
		} {
			if refused := errors.As(step.err, &unique); refused != step.refused || !refused && step.err != nil {
				return fmt.Errorf("%s: %w", step.what, step.err)
			}
		}
		return nil
	}))
	for range 2 {
		for rowid, want := range map[int64]row.Record{1: testRecord(5, "a"), 2: testRecord(2, "b"), 9: testRecord(1, "x"), 10: testRecord(3, "y")} {
			wantRow(t, tableOf(s, "k"), rowid, want)
		}
		must(t, s.Close())
		s = openStore(t, o)
	}
}

// ENG-AT-21: one row among 10,000 is updated 100,000 times; a read takes 17
// records at most, before a restart and after it, and what the open reads grows in
// proportion to what was written.
func TestKeysHotRow(t *testing.T) {
	rows, updates := 10_000, 100_000
	if testing.Short() {
		rows, updates = 200, 2000
	}
	const rounds, each = 4, 100 // restarts, and updates of a transaction
	fault := vfs.NewFault(vfs.NewMem())
	var read atomic.Int64 // bytes of files
	fault.SetHook(func(op vfs.Op) error {
		if op.Kind&(vfs.OpRead|vfs.OpMapRead) != 0 {
			read.Add(op.Size)
		}
		return nil
	})
	o := Options{Dir: t.TempDir(), FS: fault, GenerationSize: 256 << 10, NoCompaction: true}
	s := openStore(t, o)
	update(t, s, createKeys("k", 4))
	update(t, s, func(tx *Tx) error {
		for i := range rows {
			if err := put("k", int64(i), i, "text", strings.Repeat("w", 100), nil)(tx); err != nil {
				return err
			}
		}
		return nil
	})
	opened := func() (records uint64, bytes int64) {
		must(t, s.Close())
		before := read.Load()
		s = openStore(t, o)
		bytes = read.Load() - before
		for _, g := range s.GenerationInfos() {
			records += g.Records
		}
		// Beside the scan every row is read once, the hot one with its links.
		if n := s.Metrics().Reads; n < uint64(rows) || n > uint64(rows+maxHops) {
			t.Fatalf("%d records were read for %d rows", n, rows)
		}
		return records, bytes
	}
	n, most := 0, uint64(0)
	get := func() {
		t.Helper()
		most = max(most, readsOf(s, func() {
			rec, _, err := tableOf(s, "k").Get(7)
			if err != nil || rec.Column(1).Bytes() != fmt.Sprintf("text %d", n) {
				t.Fatalf("update %d: %x, %v", n, rec, err)
			}
		}))
		if most > maxHops+1 {
			t.Fatalf("update %d: %d records read for one row", n, most)
		}
	}
	records, bytes := opened()
	var grown []int64
	for range rounds {
		for range updates / rounds / each {
			wait(t, s, update(t, s, func(tx *Tx) error {
				for range each {
					n++
					if err := put("k", 7, 7, fmt.Sprintf("text %d", n), strings.Repeat("w", 100), n%2)(tx); err != nil {
						return err
					}
				}
				return nil
			}))
			get()
		}
		more, now := opened()
		if more != records+uint64(updates/rounds) {
			t.Fatalf("%d records, and after %d updates %d", records, updates/rounds, more)
		}
		get()
		grown = append(grown, now-bytes)
		records, bytes = more, now
	}
	if most != maxHops+1 {
		t.Fatalf("%d records were read at most, the bound is %d", most, maxHops+1)
	}
	if first, last := grown[0]+grown[1], grown[2]+grown[3]; first <= 0 || last > first*3/2 {
		t.Fatalf("the open reads more by %d bytes after each %d updates: it should be as much each time", grown, updates/rounds)
	}
	t.Logf("%d records of %d bytes read by the last open, %d more each round; %d records for one row at most", records, bytes, grown, most)
}

// ENG-AT-22: chains of all lengths are replayed with one read per link.
func TestKeysReplayReads(t *testing.T) {
	const each = 20
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem()}
	s := openStore(t, o)
	update(t, s, createKeys("k", 4))
	want, hops := map[int64]row.Record{}, uint64(0)
	var lsn LSN
	for n := range maxHops + 1 {
		lsn = update(t, s, func(tx *Tx) error {
			h := tx.Handle(tx.Schema().Lookup("k").Table.ID)
			for i := range each * (maxHops + 1) {
				// Row i ends with a chain of i/each deltas.
				id := int64(i)
				rec := wideRow(i, n)
				switch {
				case n == 0:
					must(t, h.Insert(id, rec))
				case n <= i/each:
					must(t, h.Update(id, rec))
					hops++
				default:
					continue
				}
				want[id] = rec
			}
			return nil
		})
	}
	wait(t, s, lsn)
	must(t, s.Close())
	s = openStore(t, o)
	m := s.Metrics()
	if m.Reads != uint64(len(want))+hops || m.Folds != uint64(len(want)) || m.Hops != hops {
		t.Fatalf("%d records read for %d rows with %d links: %d folds, %d hops", m.Reads, len(want), hops, m.Folds, m.Hops)
	}
	for id, rec := range want {
		wantRow(t, tableOf(s, "k"), id, rec)
	}
}

// ENG-AT-27: an indexed text is found under its newest value only, through
// flattened chains, rotations and restarts; empty and NULL are two values.
func TestKeysIndexedText(t *testing.T) {
	o := Options{Dir: t.TempDir(), FS: vfs.NewMem()}
	s := openStore(t, o)
	update(t, s, createKeys("k", 3))
	values := []any{"first", "", nil, "second"}
	find := func(v any) (rowids []int64) {
		key := string(row.AppendKey(nil, testRecord(v).Column(0), row.Binary, false))
		buf := make([]Entry, 8)
		n, err := tableOf(s, "k").IndexScan(1, key, key+row.KeyAfter, false).Next(buf)
		must(t, err)
		for _, e := range buf[:n] {
			rowids = append(rowids, e.Rowid)
		}
		return rowids
	}
	for n := range 2*maxHops + 6 {
		now := values[n%len(values)]
		wait(t, s, update(t, s, put("k", 4, 4, now, strings.Repeat("w", 100))))
		for _, v := range values {
			if got := find(v); (len(got) == 1) != (v == now) {
				t.Fatalf("update %d to %v: %v is found in %v", n, now, v, got)
			}
		}
		switch n % 9 {
		case 4:
			must(t, s.Checkpoint(t.Context(), nil))
		case 8:
			must(t, s.Close())
			s = openStore(t, o)
		}
	}
}

// ENG-AT-39: tables in memory write the same bytes, whatever keys tables do
// beside them.
func TestKeysLeaveOthersAlone(t *testing.T) {
	frames := func(keys bool) (list []string) {
		mem := vfs.NewMem()
		s, err := Open(t.Context(), Options{Dir: t.TempDir(), FS: mem, Create: true, Shards: 1})
		must(t, err)
		update(t, s, all(createTable("a"), createKeys("k", 3)))
		id := s.Head().Schema().Lookup("a").Table.ID
		for n := range 40 {
			steps := []func(tx *Tx) error{put("a", int64(n%5), n, strings.Repeat("v", n))}
			if keys {
				steps = append(steps, put("k", int64(n%3), n%3, "beside", n), put("a", 9, n, "too"))
			} else {
				steps = append(steps, put("a", 9, n, "too"))
			}
			wait(t, s, update(t, s, all(steps...)))
		}
		g := s.shards[0].gen
		sc := wal.NewScanner(g.file, g.start, g.tail, g.salt)
		for f, ok := sc.Next(); ok; f, ok = sc.Next() {
			if p, err := wal.DecodePut(f); err == nil && p.Table == uint64(id) || f.Kind == wal.KindDelta && err == nil {
				list = append(list, f.Kind.String()+" "+f.Payload)
			}
		}
		must(t, s.Close())
		return list
	}
	without, with := frames(false), frames(true)
	if fmt.Sprint(without) != fmt.Sprint(with) || len(with) != 80 {
		t.Fatalf("%d frames of the table alone, %d beside a keys table", len(without), len(with))
	}
}

// ENG-AT-31: crashes before, in and after every sync of chains that grow within
// and across transactions leave what some commit left.
func TestKeysCrash(t *testing.T) {
	overShards(t, func(t *testing.T, shards int) {
		r := newCrashRun(t, vfs.NewMem(), 0, shards)
		s := r.open(t)
		r.wait(t, s, r.commit(t, s, createKeys("k", 4)))
		n := 0
		change := func(tx *Tx) error {
			n++
			return put("k", int64(n%3), n%3, fmt.Sprintf("text %d", n), strings.Repeat("w", 60), n%2)(tx)
		}
		for round := range 5 {
			r.wait(t, s, r.commit(t, s, change))
			r.hold()
			r.commit(t, s, all(change, change, change, change))
			lsn := r.commit(t, s, change)
			r.release()
			r.wait(t, s, lsn)
			if round == 2 {
				must(t, s.Checkpoint(t.Context(), nil))
			}
		}
		if p, _ := newestOf(t, s, "k", int64(n%3)); p.hops < 2 {
			t.Errorf("the last chain has %d hops", p.hops)
		}
		must(t, s.Close())
		c := r.images(t, 0, sharded(4, shards), vfs.CrashOptions{Seed: *crashSeed}, nil)
		t.Logf("%v", c)
	})
}

// A view goes on showing rows whose writing was rolled back, also when others are
// written in their place.
func TestKeysViewBehindARollback(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	wait(t, s, update(t, s, all(createKeys("k", 2), put("k", 1, 1, "before"))))
	wait(t, s, update(t, s, func(tx *Tx) error {
		id := tx.Schema().Lookup("k").Table.ID
		mark := tx.Mark()
		if err := all(put("k", 1, 1, "undone"), put("k", 2, 2, "undone, too"))(tx); err != nil {
			return err
		}
		view := tx.View(id)
		tx.RollbackTo(mark)
		if err := all(put("k", 1, 1, "after"), put("k", 2, 2, "after, too"))(tx); err != nil {
			return err
		}
		wantRow(t, view, 1, testRecord(1, "undone"))
		wantRow(t, view, 2, testRecord(2, "undone, too"))
		wantRow(t, tx.View(id), 1, testRecord(1, "after"))
		return nil
	}))
	wantRow(t, tableOf(s, "k"), 2, testRecord(2, "after, too"))
}
