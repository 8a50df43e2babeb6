package engine

import (
	"testing"

	"github.com/tidemarkdb/tidemark/engine/row"
	"github.com/tidemarkdb/tidemark/engine/vfs"
)

// A program that cannot fire a trigger on a table does not open the store: the
// trigger has the later layout, in the log and in a base. One on a view has not.
func TestTriggersOnTablesAreOfALaterLayout(t *testing.T) {
	s := openStore(t, Options{FS: vfs.NewMem()})
	_, err := tryUpdate(s, func(tx *Tx) error {
		for _, c := range []Change{
			CreateTable{Def: &TableDef{Name: "t", SQL: "CREATE TABLE t(a)", RowidAlias: -1, Durable: true, Columns: []Column{{ID: 1, Name: "a", Affinity: row.AffBlob}}}},
			CreateObject{Object: Object{Kind: KindView, Name: "v", TblName: "v", SQL: "CREATE VIEW v"}},
			CreateObject{Object: Object{Kind: KindTrigger, Name: "on_v", TblName: "v", SQL: "CREATE TRIGGER on_v"}},
			CreateObject{Object: Object{Kind: KindTrigger, Name: "on_t", TblName: "T", SQL: "CREATE TRIGGER on_t"}},
		} {
			if err := tx.Apply(c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	schema := s.Head().Schema()
	want := map[string]uint8{"t": schemaLayout, "v": schemaLayout, "on_v": schemaLayout, "on_t": alterLayout}
	for i, f := range baseSchemaFrames(schema)[1:] {
		if name := schema.Objects()[i].Name; f.Body[0] != want[name] {
			t.Errorf("%s: layout %d in a base, want %d", name, f.Body[0], want[name])
		}
	}
	for _, o := range schema.Objects() {
		c, err := (&txState{schema: schema}).assignIDs(CreateObject{Object: *o})
		if err != nil {
			t.Fatal(err)
		}
		if _, body, err := encodeChange(c, 1); o.Kind != KindTable && (err != nil || body[0] != want[o.Name]) {
			t.Errorf("%s: layout %d in the log, want %d: %v", o.Name, body[0], want[o.Name], err)
		}
	}
	if err := soundBase(schema); err != nil {
		t.Error(err)
	}
}
