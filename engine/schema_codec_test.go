package engine

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
)

func sampleChanges() []Change {
	def := &TableDef{
		ID: 300, Version: 77, Name: "Orders", SQL: "CREATE TABLE Orders(…)",
		Columns: []Column{
			{ID: 1, Name: "id", DeclType: "INTEGER", Affinity: row.AffInteger},
			{ID: 9, Name: "sku", DeclType: "VARCHAR(9)", Affinity: row.AffText, Collation: row.NoCase, NotNull: true},
			{ID: 1<<32 - 1, Name: "", Affinity: row.AffBlob, Collation: row.RTrim},
		},
		RowidAlias: 0, AutoIncrement: true, Strict: true, Durable: true, Resident: ResidentKeys,
		Indexes: []*IndexDef{
			{ID: 301, Name: "sqlite_autoindex_Orders_1", Unique: true, Origin: "u", Columns: []IndexColumn{{Column: 1, Collation: row.NoCase}}},
			{ID: 1 << 61, Name: "i", SQL: "CREATE INDEX i ON Orders(sku DESC, id)", Origin: "c", Columns: []IndexColumn{{Column: 1, Desc: true}, {Column: 0}}},
		},
	}
	keyed := &TableDef{
		ID: 1, Version: 77, Name: "k", Columns: []Column{{ID: 1, Name: "k", Affinity: row.AffReal, NotNull: true}},
		RowidAlias: -1, WithoutRowid: true,
		Indexes: []*IndexDef{{ID: 2, Name: "pk", Unique: true, Origin: "pk", Columns: []IndexColumn{{}}}},
	}
	altered := &TableDef{
		ID: 5, Version: 77, Name: "a", SQL: "CREATE TABLE a(…)",
		Columns: []Column{
			{ID: 1, Name: "a", Affinity: row.AffInteger, Kind: ColumnDropped},
			{ID: 2, Name: "a", Affinity: row.AffText, Missing: row.TextValue("twelve"), NotNull: true},
			{ID: 7, Name: "g", Affinity: row.AffReal, Kind: ColumnVirtual, Missing: row.RealValue(-0.5)},
			{ID: 8, Name: "s", Affinity: row.AffBlob, Kind: ColumnStored, Missing: row.BlobValue("")},
			{ID: 9, Name: "where", Affinity: row.AffBlob, Kind: ColumnComputed, Missing: row.IntValue(1)},
		},
		RowidAlias: -1, Durable: true,
		Indexes: []*IndexDef{
			{ID: 6, Name: "part", SQL: "CREATE INDEX …", Unique: true, Origin: "c", Columns: []IndexColumn{{Column: 1}}, Where: 5},
		},
	}
	partial := &TableDef{ // nothing but the index is out of the ordinary
		ID: 8, Version: 77, Name: "p", Columns: []Column{{ID: 1, Name: "p", Affinity: row.AffBlob}}, RowidAlias: -1,
		Indexes: []*IndexDef{{ID: 9, Name: "w", Origin: "c", Columns: []IndexColumn{{}}, Where: 1}},
	}
	limited := *keyed
	limited.MaxRows, limited.OnFull = 1<<40, OnFullDropOldest
	return []Change{
		CreateTable{Def: &limited},
		CreateTable{Def: def},
		CreateTable{Def: keyed},
		DropTable{Table: 1 << 40},
		CreateIndex{Table: 300, Index: def.Indexes[1]},
		DropIndex{Table: 300, Index: 301},
		CreateObject{Object: Object{Kind: KindView, Name: "v", TblName: "v", SQL: "CREATE VIEW v AS SELECT 1"}},
		CreateObject{Object: Object{Kind: KindTrigger, Name: "t", TblName: "v", SQL: "CREATE TRIGGER t …"}},
		CreateObject{Object: Object{Kind: KindTrigger, Name: "u", TblName: "t", SQL: "CREATE TRIGGER u …"}, onTable: true},
		DropObject{Kind: KindTrigger, Name: "t"},
		ReplaceTable{Def: def},
		CreateTable{Def: altered},
		ReplaceTable{Def: altered},
		ReplaceTable{Def: altered, grows: true},
		ReplaceObject{Kind: KindTrigger, Name: "old", Object: Object{Kind: KindTrigger, Name: "new", TblName: "v", SQL: "CREATE TRIGGER new …"}},
		CreateIndex{Table: 5, Index: altered.Indexes[0]},
		CreateTable{Def: partial},
	}
}

func TestSchemaCodecRoundTrip(t *testing.T) {
	for _, c := range sampleChanges() {
		op, body, err := encodeChange(c, 77)
		must(t, err)
		got, version, err := decodeChange(op, body)
		if err != nil || version != 77 || !reflect.DeepEqual(got, c) {
			t.Errorf("%T: decoded %+v, version %d, %v", c, got, version, err)
		}
		for i := range body {
			if _, _, err := decodeChange(op, body[:i]); err == nil {
				t.Errorf("%T: the first %d of %d bytes decode", c, i, len(body))
			}
		}
		if _, _, err := decodeChange(op, append(bytes.Clone(body), 0)); err == nil {
			t.Errorf("%T: decodes with a byte too many", c)
		}
	}
}

func TestSchemaCodecRefuses(t *testing.T) {
	_, view, err := encodeChange(DropObject{Kind: KindView, Name: "v"}, 1)
	must(t, err)
	for _, tc := range []struct {
		name string
		op   uint8
		body []byte
	}{
		{"unknown operation", 99, view},
		{"operation 0", 0, view},
		{"other layout", opDropObject, append([]byte{3}, view[1:]...)},
		{"layout of another operation", opDropObject, append([]byte{2}, view[1:]...)},
		{"an object replaced in layout 1", opReplaceObject, []byte{schemaLayout, 1, 1, 'v', uint8(KindView), 1, 'v', 1, 'v', 0}},
		{"long form of a number", opDropTable, []byte{schemaLayout, 0x81, 0x00, 1}},
		{"number beyond 64 bits", opDropTable, []byte{schemaLayout, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
		{"a table among objects", opDropObject, []byte{schemaLayout, 1, uint8(KindTable), 1, 'v'}},
		{"text longer than the record", opDropObject, []byte{schemaLayout, 1, uint8(KindView), 200, 'v'}},
		{"more columns than bytes", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, 0, 0, 0, 0xff, 0xff, 0x03}},
		{"unknown flag", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, 0x40, 0, 0, 0, 0}},
		{"no limit among limits", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, flagLimited, 0, 0, 0, 0, 0, 0}},
		{"unknown action of a limit", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, flagLimited, 0, 5, 2, 0, 0, 0}},
		{"limit beyond 63 bits", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, flagLimited, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0, 0, 0, 0}},
		{"a kind of columns of which none is needed", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, flagPhysical, 0, 0, 1, 1, 1, 'c', 0, uint8(row.AffBlob), 0, 0, uint8(ColumnPlain), 0}},
		{"unknown kind of column", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, flagPhysical, 0, 0, 1, 1, 1, 'c', 0, uint8(row.AffBlob), 0, 0, uint8(ColumnDropped) + 1, 0}},
		{"missing value NULL", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, flagPhysical, 0, 0, 1, 1, 1, 'c', 0, uint8(row.AffBlob), 0, 0, flagMissing, 2, 2, 0, 0}},
		{"missing value of no column", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, flagPhysical, 0, 0, 1, 1, 1, 'c', 0, uint8(row.AffBlob), 0, 0, flagMissing, 1, 1, 0}},
		{"missing value in a long form", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, flagPhysical, 0, 0, 1, 1, 1, 'c', 0, uint8(row.AffBlob), 0, 0, flagMissing, 3, 2, 1, 1, 0}},
		{"a partial index of every row", opCreateIndex, []byte{schemaLayout, 1, 1, 1, 1, 'i', 0, flagPartial, 0, 1, 0, 0, 0, 0}},
		{"unknown residency", opCreateTable, []byte{schemaLayout, 1, 1, 1, 't', 0, 0, 9, 0, 0, 0}},
		{"unknown origin", opCreateIndex, []byte{schemaLayout, 1, 1, 1, 1, 'i', 0, 0, 3, 0}},
		{"empty", opDropTable, nil},
	} {
		if c, _, err := decodeChange(tc.op, tc.body); err == nil {
			t.Errorf("%s: decodes as %+v", tc.name, c)
		}
	}
}

func FuzzSchemaCodec(f *testing.F) {
	for _, c := range sampleChanges() {
		op, body, err := encodeChange(c, 77)
		must(f, err)
		f.Add(op, body)
	}
	f.Fuzz(func(t *testing.T, op uint8, body []byte) {
		c, version, err := decodeChange(op, body)
		if err != nil {
			return
		}
		// There is one encoding of a change, so what decodes is it.
		op2, body2, err := encodeChange(c, version)
		if err != nil || op2 != op || !bytes.Equal(body2, body) {
			t.Fatalf("%+v encodes as %d %x, %v; decoded from %d %x", c, op2, body2, err, op, body)
		}
		// Applying it must refuse what no table can be kept by, not crash.
		if s, err := c.alter(newSchema(0, nil), version); err == nil {
			for _, d := range s.Tables() {
				newTable(d, nil)
			}
		}
	})
}
