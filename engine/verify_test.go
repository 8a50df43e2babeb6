package engine

import (
	"strings"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

// TestVerifyFinds damages a sound table in each way verify knows of.
func TestVerifyFinds(t *testing.T) {
	sound := func() *Table {
		var ids counter
		tx := testTx(emptyRoot(nil), &ids)
		def := testTable("t", 2)
		def.Indexes = []*IndexDef{testIndex("u", true, 0), testIndex("i", false, 1)}
		h := create(t, tx, def)
		for i := range 3 {
			must(t, h.Insert(int64(i), testRecord(i, nil)))
		}
		return tx.finish().table(h.def.ID)
	}
	must(t, sound().verify(true, func(text string) { t.Errorf("sound table: %s", text) }, func(err error) error { return err }))

	entry := func(table *Table, ix int, rec row.Record, rowid int64) string {
		m := keyMaker{def: table.def}
		b, _ := m.append(nil, table.def.Indexes[ix], rec, rowid)
		return string(b)
	}
	for _, tc := range []struct {
		name, want string
		damage     func(*Table)
	}{
		{"row changed", "fingerprint", func(x *Table) { x.rows.Set(1, testRecord(1, 5)) }},
		{"row lost", "entries", func(x *Table) { x.rows.Delete(1) }},
		{"entry lost", "no entry", func(x *Table) { x.indexes[1].Delete([]byte(entry(x, 1, testRecord(1, nil), 1))) }},
		{"entry of no row", "entries", func(x *Table) { x.indexes[1].SetString(entry(x, 1, testRecord(1, 8), 9)) }},
		{"entry under another key", "no entry", func(x *Table) {
			x.indexes[1].Delete([]byte(entry(x, 1, testRecord(1, nil), 1)))
			x.indexes[1].SetString(entry(x, 1, testRecord(1, 8), 1))
		}},
		{"equal rows", "twice", func(x *Table) {
			x.indexes[0].Delete([]byte(entry(x, 0, testRecord(2, nil), 2)))
			x.rows.Set(2, testRecord(1, nil))
			x.indexes[0].SetString(entry(x, 0, testRecord(1, nil), 2))
		}},
		{"bad record", "row 1", func(x *Table) { x.rows.Set(1, row.Record("\x09\x01")) }},
		{"wide record", "columns", func(x *Table) { x.rows.Set(1, testRecord(1, 2, 3)) }},
		{"no tree", "index trees", func(x *Table) { x.indexes = x.indexes[:1] }},
	} {
		table := sound()
		tc.damage(table)
		var found []string
		must(t, table.verify(true, func(text string) { found = append(found, text) }, func(err error) error { return err }))
		if !strings.Contains(strings.Join(found, "\n"), tc.want) {
			t.Errorf("%s: found %q, want something on %q", tc.name, found, tc.want)
		}
	}
}
