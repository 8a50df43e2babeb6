package sqltext

import (
	"reflect"
	"testing"
)

func TestReferences(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Reference
	}{
		{"CREATE TABLE t(a)", nil},
		{"CREATE TABLE t(a REFERENCES p)", []Reference{{Columns: []string{"a"}, Parent: "p"}}},
		{"CREATE TABLE t(\"a b\" INT REFERENCES [P q](\"x y\") ON DELETE CASCADE ON UPDATE SET NULL ON INSERT RESTRICT MATCH FULL NOT NULL)",
			[]Reference{{Columns: []string{"a b"}, Parent: "P q", ParentColumns: []string{"x y"}, OnDelete: Cascade, OnUpdate: SetNull}}},
		{"CREATE TABLE t(a REFERENCES p ON DELETE CASCADE ON DELETE SET DEFAULT ON UPDATE NO ACTION)",
			[]Reference{{Columns: []string{"a"}, Parent: "p", OnDelete: SetDefault}}},
		{"CREATE TABLE t(a REFERENCES p NOT NULL DEFERRABLE INITIALLY DEFERRED, b REFERENCES q DEFERRABLE)",
			[]Reference{{Columns: []string{"a"}, Parent: "p", Deferred: true}, {Columns: []string{"b"}, Parent: "q"}}},
		// The clause means the key written last, wherever it stands.
		{"CREATE TABLE t(a REFERENCES p, b UNIQUE DEFERRABLE INITIALLY DEFERRED)",
			[]Reference{{Columns: []string{"a"}, Parent: "p", Deferred: true}}},
		{"CREATE TABLE t(a DEFERRABLE INITIALLY DEFERRED REFERENCES p DEFERRABLE INITIALLY DEFERRED NOT DEFERRABLE)",
			[]Reference{{Columns: []string{"a"}, Parent: "p"}}},
		{"CREATE TABLE t(a, b, CONSTRAINT k FOREIGN KEY(b, a) REFERENCES p(x, y) ON DELETE RESTRICT NOT DEFERRABLE INITIALLY DEFERRED, FOREIGN KEY(a) REFERENCES t DEFERRABLE INITIALLY DEFERRED)",
			[]Reference{
				{Columns: []string{"b", "a"}, Parent: "p", ParentColumns: []string{"x", "y"}, OnDelete: Restrict},
				{Columns: []string{"a"}, Parent: "t", Deferred: true},
			}},
	} {
		table, err := ParseTable(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if !reflect.DeepEqual(table.References, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.text, table.References, c.want)
		}
	}
}

func TestOneRow(t *testing.T) {
	for text, want := range map[string]bool{
		"INSERT INTO t VALUES(1, (SELECT 2))": true, "INSERT INTO t DEFAULT VALUES": true, "WITH w AS (SELECT 1) REPLACE INTO t(a) VALUES(1)": true,
		"INSERT INTO t VALUES(1),(2)": false, "INSERT INTO t SELECT 1": false, "INSERT INTO t VALUES(1) UNION VALUES(2)": false,
		"UPDATE t SET a=1": false, "SELECT 1": false, "": false,
	} {
		if got := Parse(text).OneRow(); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}
