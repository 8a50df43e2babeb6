package engine

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

func names(s *Schema) string {
	text := ""
	for _, o := range s.Objects() {
		text += fmt.Sprintf("%v %s;", o.Kind, o.Name)
	}
	return text
}

func TestSchemaObjects(t *testing.T) {
	var ids counter
	tx := testTx(emptyRoot(nil), &ids)
	def := testTable("Zoo", 2)
	def.Indexes = []*IndexDef{testIndex("zi", false, 0)}
	create(t, tx, def)
	view := func(name string) Change {
		return CreateObject{Object: Object{Kind: KindView, Name: name, TblName: name, SQL: "CREATE VIEW"}}
	}
	trigger := func(name, on string) Change {
		return CreateObject{Object: Object{Kind: KindTrigger, Name: name, TblName: on, SQL: "CREATE TRIGGER"}}
	}
	must(t, tx.Apply(view("V")))
	must(t, tx.Apply(trigger("zoo", "v"))) // triggers have names of their own
	must(t, tx.Apply(trigger("other", "ZOO")))
	before := tx.Schema()
	if got := names(before); got != "table Zoo;view V;trigger zoo;trigger other;" {
		t.Fatalf("objects: %s", got)
	}
	if before.Lookup("ZOO").Kind != KindTable || before.Lookup("v").Kind != KindView || before.Lookup("other") != nil {
		t.Error("look-up of tables and views")
	}
	if before.LookupTrigger("ZOO").TblName != "v" || before.LookupTrigger("v") != nil {
		t.Error("look-up of triggers")
	}
	if table, ix := before.LookupIndex("ZI"); table == nil || ix == nil || table.Indexes[0] != ix {
		t.Error("look-up of an index")
	}
	if def.ID != 0 || def.Indexes[0].ID != 0 {
		t.Error("Apply changed the definition it was given")
	}

	for _, tc := range []struct {
		name string
		c    Change
		want error
	}{
		{"table under a view's name", CreateTable{Def: testTable("v", 1)}, ErrExists},
		{"table under an index's name", CreateTable{Def: testTable("ZI", 1)}, ErrExists},
		{"view under a table's name", view("zOO"), ErrExists},
		{"trigger twice", trigger("ZOO", "v"), ErrExists},
		{"trigger on nothing", trigger("t2", "nothing"), ErrNotFound},
		{"index under a table's name", CreateIndex{Table: 1, Index: testIndex("zoo", false, 0)}, ErrExists},
		{"index on a column there is not", CreateIndex{Table: 1, Index: testIndex("x", false, 2)}, ErrInvalidChange},
		{"index of no column", CreateIndex{Table: 1, Index: testIndex("x", false)}, ErrInvalidChange},
		{"index on no table", CreateIndex{Table: 9, Index: testIndex("x", false, 0)}, ErrNotFound},
		{"drop of no index", DropIndex{Table: 1, Index: 9}, ErrNotFound},
		{"drop of no table", DropTable{Table: 9}, ErrNotFound},
		{"drop of a table as an object", DropObject{Kind: KindTable, Name: "zoo"}, ErrNotFound},
		{"drop of no view", DropObject{Kind: KindView, Name: "zoo"}, ErrNotFound},
		{"object that is a table", CreateObject{Object: Object{Kind: KindTable, Name: "x"}}, ErrInvalidChange},
		{"no change", nil, ErrInvalidChange},
		{"no definition", CreateTable{}, ErrInvalidChange},
		{"no column", CreateTable{Def: testTable("x", 0)}, ErrInvalidChange},
	} {
		if err := tx.Apply(tc.c); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	if tx.Schema() != before {
		t.Error("refused changes left another schema")
	}

	m := tx.Mark()
	must(t, tx.Apply(DropObject{Kind: KindView, Name: "v"}))
	if got := names(tx.Schema()); got != "table Zoo;trigger other;" {
		t.Errorf("without the view: %s", got)
	}
	must(t, tx.Apply(DropTable{Table: 1}))
	if got := names(tx.Schema()); got != "" {
		t.Errorf("without the table: %s", got)
	}
	tx.RollbackTo(m)
	if tx.Schema() != before {
		t.Error("the rollback left another schema")
	}
	must(t, tx.Apply(DropObject{Kind: KindTrigger, Name: "OTHER"}))
	if got := names(tx.Schema()); got != "table Zoo;view V;trigger zoo;" {
		t.Errorf("without the trigger: %s", got)
	}
}

// TestReplaceTableRefuses: a definition that would read the rows or a kept
// index differently.
func TestReplaceTableRefuses(t *testing.T) {
	var ids counter
	tx := testTx(emptyRoot(nil), &ids)
	def := testTable("t", 2)
	def.Indexes = []*IndexDef{testIndex("i", false, 0)}
	create(t, tx, def)
	create(t, tx, testTable("taken", 1))
	old := tx.Schema().Lookup("t").Table
	for name, change := range map[string]func(*TableDef){
		"another id":  func(d *TableDef) { d.ID = 99 },
		"alias":       func(d *TableDef) { d.RowidAlias = 1 },
		"column gone": func(d *TableDef) { d.Columns = d.Columns[:1]; d.Indexes = nil },
		"column in between": func(d *TableDef) {
			d.Columns = []Column{testColumns(2)[0], {ID: 3, Affinity: 'A'}, testColumns(2)[1]}
		},
		"id that was used": func(d *TableDef) { d.Columns = append(testColumns(2), Column{ID: 2, Affinity: 'A'}) },
		"ids out of order": func(d *TableDef) {
			d.Columns = append(testColumns(2), Column{ID: 4, Affinity: 'A'}, Column{ID: 3, Affinity: 'A'})
		},
		"indexed column dropped": func(d *TableDef) { d.Columns = testColumns(2); d.Columns[0].Kind = ColumnDropped },
		"all columns dropped": func(d *TableDef) {
			d.Columns = testColumns(2)
			d.Columns[0].Kind, d.Columns[1].Kind, d.Indexes = ColumnDropped, ColumnDropped, nil
		},
		"dropped with a NOT NULL": func(d *TableDef) {
			d.Columns = testColumns(2)
			d.Columns[1].Kind, d.Columns[1].NotNull = ColumnDropped, true
		},
		"dropped with a value": func(d *TableDef) {
			d.Columns = testColumns(2)
			d.Columns[1].Kind, d.Columns[1].Missing = ColumnDropped, row.IntValue(1)
		},
		"another kind":          func(d *TableDef) { d.Columns = testColumns(2); d.Columns[1].Kind = ColumnStored },
		"another missing value": func(d *TableDef) { d.Columns = testColumns(2); d.Columns[1].Missing = row.IntValue(1) },
		"partial by a plain column": func(d *TableDef) {
			d.Indexes = []*IndexDef{d.Indexes[0], {Name: "p", Origin: "c", Columns: []IndexColumn{{}}, Where: 2}}
		},
		"partial by no column": func(d *TableDef) {
			d.Indexes = []*IndexDef{d.Indexes[0], {Name: "p", Origin: "c", Columns: []IndexColumn{{}}, Where: 3}}
		},
		"kept index made partial": func(d *TableDef) {
			ix := *d.Indexes[0]
			ix.Where = 3
			d.Columns = append(testColumns(2), Column{ID: 3, Affinity: 'A', Kind: ColumnComputed})
			d.Indexes = []*IndexDef{&ix}
		},
		"other affinity": func(d *TableDef) { d.Columns = testColumns(2); d.Columns[1].Affinity = 'B' },
		"volatile":       func(d *TableDef) { d.Durable = false },
		"other key": func(d *TableDef) {
			ix := *d.Indexes[0]
			ix.Unique = true
			d.Indexes = []*IndexDef{&ix}
		},
		"taken name": func(d *TableDef) { d.Name = "TAKEN" },
		"taken name of index": func(d *TableDef) {
			ix := *d.Indexes[0]
			ix.Name = "taken"
			d.Indexes = []*IndexDef{&ix}
		},
	} {
		def := *old
		change(&def)
		if err := tx.Apply(ReplaceTable{Def: &def}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	renamed := *old
	renamed.Name, renamed.SQL = "T2", "CREATE TABLE T2"
	renamed.Columns = testColumns(2)
	renamed.Columns[0].Name = "first"
	must(t, tx.Apply(ReplaceTable{Def: &renamed}))
	o := tx.Schema().Lookup("t2")
	if o == nil || o.SQL != "CREATE TABLE T2" || o.Table.Columns[0].Name != "first" || tx.Schema().Lookup("t") != nil {
		t.Errorf("renamed to %+v", o)
	}
}
