package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// baseRowsOf reads the live rows of a base: one line each, as they are, and adds up what
// is in each fragment.
func baseRowsOf(t testing.TB, s *Store, state *root) map[string]string {
	t.Helper()
	rows := map[string]string{}
	r := baseReader{s: s, ctx: t.Context()}
	defer func() { must(t, r.close()) }()
	var last LSN
	for i, f := range s.base {
		if i > 0 && f.lsn > last {
			t.Errorf("%s of commit %d is behind one of commit %d", f.path, f.lsn, last)
		}
		last = f.lsn
		if f.liveRows() == 0 && f.lsn < s.base[0].lsn {
			t.Errorf("%s has no row, and stays", f.path)
		}
		seen := map[TableID]bool{}
		for j := range f.fragments {
			x := &f.fragments[j]
			if (x.table == 0) != (j == 0 && f.fragments[0].table == 0) || seen[x.table] {
				t.Errorf("%s: fragment %d of table %d", f.path, j, x.table)
			}
			seen[x.table] = true
			if x.table == 0 {
				continue
			}
			table := state.table(x.table)
			got, bits, dead := tally{}, uint64(0), int64(0)
			if x.deleted != nil {
				bits = x.deleted.GetCardinality()
				if x.deleted.Maximum() >= uint32(x.rows) {
					t.Errorf("%s: row %d of %d is deleted", f.path, x.deleted.Maximum(), x.rows)
				}
			}
			must(t, r.scan(f, x, func(ordinal uint32, fr wal.Frame, ids wal.RowIDs, rec row.Record) error {
				if x.deleted != nil && x.deleted.Contains(ordinal) {
					dead += fr.End() - fr.Offset
					return nil
				}
				if table == nil || table.def.Version != ids.Version {
					t.Fatalf("%s: row %d of table %d by definition %d", f.path, ids.Rowid, ids.Table, ids.Version)
				}
				key := fmt.Sprint(ids.Table, " ", ids.Rowid)
				if _, twice := rows[key]; twice {
					t.Errorf("row %s is live in two places", key)
				}
				rows[key] = strings.Clone(string(rec))
				got.rows++
				got.sum = got.sum.Add(row.RowSum(ids.Table, ids.Rowid, table.def.columnIDs(), rec, table.def.RowidAlias, nil))
				return nil
			}))
			if x.dead != dead {
				t.Errorf("%s: fragment of table %d: %d of its %d bytes are superseded, it is said to be %d", f.path, x.table, dead, x.bytes, x.dead)
			}
			if want := (tally{x.live, x.liveSum}); got != want || !x.summed && x.rows > 0 || int64(bits) != x.rows-x.live {
				t.Errorf("%s: fragment of table %d with %+v, and %d of %d deleted; it is said to have %+v", f.path, x.table, got, bits, x.rows, want)
			}
		}
	}
	return rows
}

// baseIsState holds the base against the state that it is to be: each row of a
// durable table once, and a fragment for each table.
func baseIsState(t testing.TB, s *Store, state *root) {
	t.Helper()
	rows := baseRowsOf(t, s, state)
	for _, table := range state.tables {
		if !table.def.Durable {
			continue
		}
		held := false
		for _, f := range s.base {
			for _, x := range f.fragments {
				held = held || x.table == table.def.ID
			}
		}
		if !held {
			t.Errorf("no fragment of table %q", table.def.Name)
		}
		must(t, table.each(func(rowid int64, rec row.Record) {
			key := fmt.Sprint(table.def.ID, " ", rowid)
			if got, ok := rows[key]; !ok || got != string(rec) {
				t.Errorf("row %s is %q in the base (%t), and %q", key, got, ok, rec)
			}
			delete(rows, key)
		}))
	}
	for key := range rows {
		t.Errorf("row %s is in the base alone", key)
	}
}

// compactKeeping compacts a store, and returns of which cut and what was made of it;
// nil when there was nothing to do.
func compactKeeping(t testing.TB, s *Store, mode compactMode) (*cut, *newBase) {
	t.Helper()
	s.compactor.turn <- struct{}{}
	defer func() { <-s.compactor.turn }()
	mode = s.finishMoving(t.Context(), mode)
	c, err := s.compactable(t.Context(), 0)
	must(t, err)
	if c == nil {
		return nil, nil
	}
	job, err := s.cat.StartJob(t.Context(), JobCompact, "")
	must(t, err)
	made, err := s.makeBase(t.Context(), job.ID, c, mode, nil)
	must(t, err)
	must(t, s.installBase(t.Context(), c, made))
	must(t, s.repoint(t.Context(), c, made.fresh))
	must(t, s.cat.EndJob(t.Context(), job.ID, 1, 1, nil))
	return c, made
}

// Random transactions and compactions that keep what they can: the base is the state
// of the cut each time, and rows are read from it.
func TestCompactModel(t *testing.T) { overShards(t, compactModel) }

func compactModel(t *testing.T, shards int) {
	kept, whole := 0, 0
	for seed := range uint64(6) {
		o := Options{Dir: tempDir(t), FS: vfs.NewMem(), GenerationSize: 2 << 10, Shards: shards, NoCompaction: true, Create: true, Events: nothingFails(t)}
		s, err := Open(t.Context(), o)
		must(t, err)
		rng := rand.New(rand.NewPCG(seed, 5))
		g := newGenerator(rng)
		for range 150 {
			_, err := tryUpdate(s, g.transaction)
			must(t, err)
			if rng.IntN(8) > 0 {
				continue
			}
			wait(t, s, s.Head().LSN())
			state := dump(s.Durable())
			c, made := compactKeeping(t, s, compactMode{thorough: rng.IntN(4) == 0})
			if c == nil {
				continue
			}
			if made.kept != nil {
				kept++
			} else {
				whole++
			}
			baseIsState(t, s, c.state)
			if got := dump(s.Durable()); got != state {
				t.Fatalf("behind a compaction:\n%s\nwant:\n%s", got, state)
			}
			logUseIsExact(t, s)
			if rng.IntN(3) == 0 {
				checkStore(t, s)
				must(t, s.Close())
				s, err = Open(t.Context(), o)
				must(t, err)
				baseIsState(t, s, (*root)(s.Durable()))
				if got := dump(s.Durable()); got != state {
					t.Fatalf("reopened:\n%s\nwant:\n%s", got, state)
				}
				logUseIsExact(t, s)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		for _, table := range s.Durable().tables {
			must(t, table.verify(true, func(text string) { t.Error(text) }, func(err error) error { return err }))
		}
		must(t, s.Close())
	}
	if kept < 20 || whole == 0 {
		t.Errorf("%d compactions kept files, %d did not", kept, whole)
	}
	t.Logf("%d compactions kept files, %d did not", kept, whole)
}
