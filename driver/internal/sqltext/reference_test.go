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

func TestWithoutArgs(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT rowid FROM t('bp') AS x, u ( ) WHERE f(1)":                    "SELECT rowid FROM t AS x, u WHERE f(1)",
		"SELECT rowid FROM t(f((SELECT a FROM u(')')), 1) /* ) */ ) , v":      "SELECT rowid FROM t , v",
		"SELECT rowid FROM main.t(?1) JOIN (SELECT oid FROM u('x')) USING(a)": "SELECT rowid FROM main.t JOIN (SELECT oid FROM u) USING(a)",
		"DELETE FROM t WHERE rowid IN (SELECT a FROM t('bp') b)":              "DELETE FROM t WHERE rowid IN (SELECT a FROM t b)",
	} {
		if got := Parse(text).WithoutArgs(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestCountAt(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT count(*) FROM t('bp')": "bp", "select count( * ) from main.t ( 'it''s' ) x;": "it's",
		"SELECT count(*) FROM t": "-", "SELECT count(*) FROM t(?)": "", "SELECT count(*) FROM t('a','b')": "", "SELECT count(*) FROM t(\"a\")": "",
		"SELECT count(*) FROM t('a') WHERE 1": "", "SELECT count(*) FROM t('a'||'b')": "", "SELECT count(*) FROM t('a'), u": "",
	} {
		s := Parse(text)
		got := ""
		switch {
		case s.CountOf != nil && s.CountAt != nil:
			got = *s.CountAt
		case s.CountOf != nil:
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
