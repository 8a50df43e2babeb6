package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/wal"
)

// replayBase is a replay that stands behind commit 1, which made table 1 with
// a unique index on its first column and rows 1 and 2, and volatile table 3.
func replayBase(t *testing.T) (*replay, *TableDef) {
	t.Helper()
	var ids counter
	log := newTestLog()
	tx := testTx(emptyRoot(nil), &ids)
	def := testTable("t", 3)
	def.Indexes = []*IndexDef{testIndex("u", true, 0)}
	h := create(t, tx, def)
	must(t, h.Insert(1, testRecord("a", 1, 2)))
	must(t, h.Insert(2, testRecord("b", 1, 2)))
	scratch := testTable("scratch", 1)
	scratch.Durable = false
	create(t, tx, scratch)
	def = tx.Schema().Lookup("t").Table
	log.commit(t, tx)
	r := newReplay(emptyRoot(nil))
	log.feed(t, r, 0)
	return r, def
}

// TestReplayDelta folds deltas into the rows and checks what they refer to.
func TestReplayDelta(t *testing.T) {
	r, def := replayBase(t)
	const table, version = 1, 1
	r.startGeneration()
	rows := map[int64]row.Record{1: testRecord("a", 1, 2), 2: testRecord("b", 1, 2)}
	sum := row.Sum{}
	change := func(rowid int64, rec row.Record) {
		sum = sum.Sub(row.RowSum(table, rowid, def.columnIDs(), rows[rowid], -1, nil))
		sum = sum.Add(row.RowSum(table, rowid, def.columnIDs(), rec, -1, nil))
		rows[rowid] = rec
	}
	delta := func(rowid int64, prev uint64, cols ...wal.DeltaColumn) wal.Delta {
		return wal.Delta{Table: table, Version: version, Rowid: rowid, Prev: prev, Columns: cols}
	}
	must(t, r.put(wal.Put{Table: table, Version: version, Rowid: 1, Rec: testRecord("x", 1, 2)}, 800))
	change(1, testRecord("x", 1, 2))
	must(t, r.delta(delta(1, 800, wal.DeltaColumn{Ordinal: 1, Value: row.IntValue(7)}), 840))
	must(t, r.delta(delta(1, 840, wal.DeltaColumn{Ordinal: 0, Value: row.TextValue("y")}, wal.DeltaColumn{Ordinal: 2}), 880))
	change(1, testRecord("y", 7, nil))
	must(t, r.commit(wal.Commit{LSN: 2, Records: 3, Contributions: []wal.Contribution{{Table: table, Sum: sum}}}, 920))

	root, err := r.root()
	must(t, err)
	verifyRoot(t, root)
	if rec, _, _ := root.table(table).Get(1); rec != rows[1] {
		t.Errorf("row is %q, want %q", rec, rows[1])
	}

	// Replay goes on behind a root that was asked for, and leaves it alone.
	must(t, r.delta(delta(1, 880, wal.DeltaColumn{Ordinal: 2, Value: row.IntValue(1)}), 960))
	sum = row.Sum{}
	change(1, testRecord("y", 7, 1))
	must(t, r.commit(wal.Commit{LSN: 3, Records: 1, Contributions: []wal.Contribution{{Table: table, Sum: sum}}}, 1000))
	verifyRoot(t, root)
	next, err := r.root()
	must(t, err)
	verifyRoot(t, next)
	if rec, _, _ := root.table(table).Get(1); rec == rows[1] {
		t.Error("a root changed behind its reader's back")
	}
	if rec, _, _ := next.table(table).Get(1); rec != rows[1] {
		t.Errorf("row is %q, want %q", rec, rows[1])
	}
}

// TestReplayRefuses feeds a replay what no engine writes.
func TestReplayRefuses(t *testing.T) {
	put := func(rowid int64, vals ...any) wal.Put {
		return wal.Put{Table: 1, Version: 1, Rowid: rowid, Rec: testRecord(vals...)}
	}
	one := []wal.DeltaColumn{{Ordinal: 1, Value: row.IntValue(1)}}
	schemaFrame := func(c Change, version uint64) wal.Schema {
		op, body, err := encodeChange(c, version)
		must(t, err)
		return wal.Schema{Op: op, Body: string(body)}
	}
	sumOf := func(r *replay, rowid int64, rec row.Record) row.Sum {
		return row.RowSum(1, rowid, r.tables[0].colIDs, rec, -1, nil)
	}
	for _, tc := range []struct {
		name, want string
		do         func(r *replay) error
	}{
		{"unknown table", "does not exist", func(r *replay) error {
			return r.put(wal.Put{Table: 9, Version: 1, Rowid: 1, Rec: testRecord(1)}, 4096)
		}},
		{"other definition", "definition", func(r *replay) error {
			return r.put(wal.Put{Table: 1, Version: 2, Rowid: 1, Rec: testRecord(1)}, 4096)
		}},
		{"volatile table", "volatile", func(r *replay) error {
			return r.put(wal.Put{Table: 3, Version: 1, Rowid: 1, Rec: testRecord(1)}, 4096)
		}},
		{"too many columns", "columns", func(r *replay) error { return r.put(put(1, 1, 2, 3, 4), 4096) }},
		{"tombstone of no row", "does not exist", func(r *replay) error {
			return r.tombstone(wal.Tombstone{Table: 1, Version: 1, Rowid: 9}, 4096)
		}},
		{"tombstone twice", "does not exist", func(r *replay) error {
			must(t, r.tombstone(wal.Tombstone{Table: 1, Version: 1, Rowid: 1}, 4000))
			return r.tombstone(wal.Tombstone{Table: 1, Version: 1, Rowid: 1}, 4096)
		}},
		{"delta of no row", "does not exist", func(r *replay) error {
			return r.delta(wal.Delta{Table: 1, Version: 1, Rowid: 9, Prev: 8, Columns: one}, 4096)
		}},
		{"delta with its base in another file", "no record in this file", func(r *replay) error {
			r.startGeneration()
			return r.delta(wal.Delta{Table: 1, Version: 1, Rowid: 1, Prev: 8, Columns: one}, 4096)
		}},
		{"delta after the row came back", "base", func(r *replay) error {
			must(t, r.put(put(1, "a", 1, 2), 3000))
			must(t, r.tombstone(wal.Tombstone{Table: 1, Version: 1, Rowid: 1}, 3040))
			must(t, r.put(put(1, "a", 1, 2), 3080))
			return r.delta(wal.Delta{Table: 1, Version: 1, Rowid: 1, Prev: 3000, Columns: one}, 4096)
		}},
		{"wrong back offset", "base", func(r *replay) error {
			must(t, r.put(put(1, "a", 1, 2), 3000))
			return r.delta(wal.Delta{Table: 1, Version: 1, Rowid: 1, Prev: 2992, Columns: one}, 4096)
		}},
		{"delta of a column too many", "column 3", func(r *replay) error {
			must(t, r.put(put(1, "a", 1, 2), 3000))
			return r.delta(wal.Delta{Table: 1, Version: 1, Rowid: 1, Prev: 3000, Columns: []wal.DeltaColumn{{Ordinal: 3}}}, 4096)
		}},
		{"delta of nothing", "no column", func(r *replay) error {
			must(t, r.put(put(1, "a", 1, 2), 3000))
			return r.delta(wal.Delta{Table: 1, Version: 1, Rowid: 1, Prev: 3000}, 4096)
		}},
		{"malformed schema record", "schema operation", func(r *replay) error {
			return r.schema(wal.Schema{Op: 200, Body: "\x01\x02"}, 4096)
		}},
		{"schema of another commit", "schema version 5", func(r *replay) error {
			return r.schema(schemaFrame(DropTable{Table: 1}, 5), 4096)
		}},
		{"drop of no table", "not found", func(r *replay) error {
			return r.schema(schemaFrame(DropTable{Table: 77}, 2), 4096)
		}},
		{"row of a dropped table", "does not exist", func(r *replay) error {
			must(t, r.schema(schemaFrame(DropTable{Table: 1}, 2), 4000))
			return r.put(put(1, 1), 4096)
		}},
		{"commit out of order", "follows", func(r *replay) error { return r.commit(wal.Commit{LSN: 3}, 4096) }},
		{"commit again", "follows", func(r *replay) error { return r.commit(wal.Commit{LSN: 1}, 4096) }},
		{"record too many", "claims 0 records", func(r *replay) error {
			must(t, r.put(put(5, "c"), 4000))
			return r.commit(wal.Commit{LSN: 2}, 4096)
		}},
		{"no contribution", "no contribution", func(r *replay) error {
			must(t, r.put(put(5, "c"), 4000))
			return r.commit(wal.Commit{LSN: 2, Records: 1}, 4096)
		}},
		{"contribution of nothing", "claims", func(r *replay) error {
			return r.commit(wal.Commit{LSN: 2, Contributions: []wal.Contribution{{Table: 1, Rows: 1}}}, 4096)
		}},
		{"empty contribution", "claims", func(r *replay) error {
			return r.commit(wal.Commit{LSN: 2, Contributions: []wal.Contribution{{Table: 1}}}, 4096)
		}},
		{"wrong row count", "claims 2 rows", func(r *replay) error {
			must(t, r.put(put(5, "c"), 4000))
			return r.commit(wal.Commit{LSN: 2, Records: 1, Contributions: []wal.Contribution{{Table: 1, Rows: 2, Sum: sumOf(r, 5, testRecord("c"))}}}, 4096)
		}},
		{"wrong sum", "claims 1 rows", func(r *replay) error {
			must(t, r.put(put(5, "c"), 4000))
			return r.commit(wal.Commit{LSN: 2, Records: 1, Contributions: []wal.Contribution{{Table: 1, Rows: 1, Sum: row.Sum{1, 2}}}}, 4096)
		}},
		{"contribution to no table", "does not exist", func(r *replay) error {
			return r.commit(wal.Commit{LSN: 2, Contributions: []wal.Contribution{{Table: 9, Rows: 1}}}, 4096)
		}},
		{"contributions out of order", "order", func(r *replay) error {
			must(t, r.put(put(5, "c"), 4000))
			k := wal.Contribution{Table: 1, Rows: 1, Sum: sumOf(r, 5, testRecord("c"))}
			return r.commit(wal.Commit{LSN: 2, Records: 1, Contributions: []wal.Contribution{k, k}}, 4096)
		}},
		{"equal rows in a unique index", "unique index", func(r *replay) error {
			must(t, r.put(put(5, "a"), 4096))
			must(t, r.commit(wal.Commit{LSN: 2, Records: 1, Contributions: []wal.Contribution{{Table: 1, Rows: 1, Sum: sumOf(r, 5, testRecord("a"))}}}, 4200))
			_, err := r.root()
			return err
		}},
	} {
		r, _ := replayBase(t)
		err := tc.do(r)
		var c *wal.CorruptError
		if !errors.As(err, &c) || c.Offset != 4096 || !strings.Contains(c.Reason, tc.want) {
			t.Errorf("%s: %v, want damage at 4096 on %q", tc.name, err, tc.want)
		}
	}
}

// startGeneration says that the following frames are of another file.
func (r *replay) startGeneration() { *r.pos = positions{} }

// commit ends a transaction that has no part in another shard.
func (r *replay) commit(c wal.Commit, offset int64) error {
	if err := r.part(c, offset); err != nil {
		return err
	}
	r.end(LSN(c.LSN))
	return nil
}
