package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/tidemarkdb/tidemark/engine/row"
)

func (x *machine) createTable(t *rapid.T) {
	def := testTable(x.name(t), rapid.IntRange(1, 3).Draw(t, "columns"))
	def.RowidAlias = rapid.IntRange(-1, 0).Draw(t, "alias")
	def.Durable = rapid.IntRange(0, 3).Draw(t, "volatile") > 0
	if rapid.Bool().Draw(t, "key") {
		ix := drawIndex(t, autoIndex(def.Name), def)
		ix.Unique, ix.Origin = true, "u"
		def.Indexes = append(def.Indexes, ix)
	}
	err := x.tx.Apply(CreateTable{Def: def})
	if _, there := x.m[def.Name]; there {
		if !errors.Is(err, ErrExists) {
			t.Fatalf("creating %q twice: %v", def.Name, err)
		}
		return
	}
	must(t, err)
	now := x.tx.Schema().Lookup(def.Name).Table
	x.m[def.Name] = &modelTable{def: now, rows: map[int64]row.Record{}, indexes: map[string]*IndexDef{}}
	for _, ix := range now.Indexes {
		x.m[def.Name].indexes[ix.Name] = ix
	}
}

func (x *machine) dropTable(t *rapid.T) {
	name, mt, h := x.table(t)
	if rapid.IntRange(0, 2).Draw(t, "really") > 0 {
		t.Skip("kept")
	}
	must(t, x.tx.Apply(DropTable{Table: mt.def.ID}))
	delete(x.m, name)
	if err := h.Insert(1, testRecord(1)); !errors.Is(err, ErrStaleHandle) {
		t.Fatalf("insert into a dropped table: %v", err)
	}
}

func (x *machine) createIndex(t *rapid.T) {
	_, mt, h := x.table(t)
	ix := drawIndex(t, fmt.Sprintf("ix%d", rapid.IntRange(0, 3).Draw(t, "n")), mt.def)
	before := x.tx.Schema()
	err := x.tx.Apply(CreateIndex{Table: mt.def.ID, Index: ix})
	taken := false
	for _, other := range x.m {
		taken = taken || other.indexes[ix.Name] != nil
	}
	clash := false
	for rowid, rec := range mt.rows {
		clash = clash || ix.Unique && len(mt.rivals(ix, rowid, rec)) > 0
	}
	named := len(ix.Columns) // in the error
	if slices.ContainsFunc(ix.Columns, func(c IndexColumn) bool { return mt.def.Columns[c.Column].Kind == ColumnComputed }) {
		named = 0 // it names the index
	}
	var unique *UniqueError
	switch {
	case taken:
		if !errors.Is(err, ErrExists) {
			t.Fatalf("index name twice: %v", err)
		}
	case clash:
		if !errors.As(err, &unique) || unique.Table != mt.def.Name || len(unique.Columns) != named {
			t.Fatalf("unique index over equal rows: %v", err)
		}
	default:
		must(t, err)
		_, now := x.tx.Schema().LookupIndex(ix.Name)
		mt.indexes[ix.Name] = now
		if err := h.Delete(1); !errors.Is(err, ErrStaleHandle) {
			t.Fatalf("delete by a handle from before an index: %v", err)
		}
		return
	}
	if x.tx.Schema() != before {
		t.Fatal("a refused change left another schema")
	}
}

func (x *machine) dropIndex(t *rapid.T) {
	_, mt, _ := x.table(t)
	if len(mt.indexes) == 0 {
		t.Skip("no index")
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(mt.indexes))).Draw(t, "index")
	must(t, x.tx.Apply(DropIndex{Table: mt.def.ID, Index: mt.indexes[name].ID}))
	delete(mt.indexes, name)
}

func (x *machine) rename(t *rapid.T) {
	name, mt, _ := x.table(t)
	def := *mt.def
	def.Name = x.name(t)
	def.Indexes = slices.Clone(def.Indexes)
	for i, ix := range def.Indexes {
		if ix.Origin == "u" {
			renamed := *ix
			renamed.Name = autoIndex(def.Name)
			def.Indexes[i] = &renamed
		}
	}
	err := x.tx.Apply(ReplaceTable{Def: &def})
	if _, there := x.m[def.Name]; there && def.Name != name {
		if !errors.Is(err, ErrExists) {
			t.Fatalf("renaming to a taken name: %v", err)
		}
		return
	}
	must(t, err)
	delete(x.m, name)
	x.m[def.Name] = mt
	clear(mt.indexes)
	for _, ix := range x.tx.Schema().Lookup(def.Name).Table.Indexes {
		mt.indexes[ix.Name] = ix
	}
}

// alter adds or drops a column.
func (x *machine) alter(t *rapid.T) {
	name, mt, h := x.table(t)
	def := *mt.def
	def.Columns = slices.Clone(def.Columns)
	if used := usedColumns(&def); rapid.IntRange(0, 2).Draw(t, "what") == 0 {
		i := rapid.IntRange(0, len(def.Columns)-1).Draw(t, "column")
		if !dropColumn(&def, i) {
			if !used[i] && i != def.RowidAlias && def.Columns[i].Visible() {
				t.Skip("the last visible column")
			}
			t.Skip("column in use")
		}
	} else if len(def.Columns) < 6 {
		c := Column{ID: def.NextColumnID(), Name: "added", Affinity: row.AffBlob}
		if rapid.Bool().Draw(t, "computed") {
			c.Kind = ColumnComputed
		}
		c.Missing = rapid.SampledFrom([]row.Value{{}, row.IntValue(0), row.IntValue(1), row.TextValue("x")}).Draw(t, "missing")
		def.Columns = append(def.Columns, c)
	}
	sum := x.tx.View(def.ID).sum
	must(t, x.tx.Apply(ReplaceTable{Def: &def}))
	mt.def = x.tx.Schema().Lookup(name).Table
	if err := h.Delete(1); !errors.Is(err, ErrStaleHandle) {
		t.Fatalf("delete by a handle from before a change: %v", err)
	}
	if now := x.tx.View(def.ID).sum; now != sum {
		t.Fatalf("the fingerprint of %q is %x, was %x", name, now, sum)
	}
}

func autoIndex(table string) string { return "sqlite_autoindex_" + table + "_1" }
