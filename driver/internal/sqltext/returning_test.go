package sqltext

import (
	"reflect"
	"testing"
)

func TestReturning(t *testing.T) {
	for _, tc := range []struct {
		text, cut, list string
		each            bool
		params          []Param
	}{
		{"INSERT INTO t VALUES(?,?) RETURNING id, a+? AS \"returning\" -- x", "INSERT INTO t VALUES(?,?)  -- x", "SELECT id, a+?3 AS \"returning\"\nFROM s", false, []Param{{Number: 3}}},
		{"DELETE FROM t /* RETURNING */ WHERE a='RETURNING' returning/**/(a), :b;", "DELETE FROM t /* RETURNING */ WHERE a='RETURNING' ;", "SELECT (a), ?1\nFROM s", false, []Param{{Number: 1, Name: ":b"}}},
		{"WITH w AS (SELECT @p) UPDATE t SET a=?5 RETURNING (SELECT 1 FROM w), @p", "WITH w AS (SELECT @p) UPDATE t SET a=?5 ", "WITH w AS (SELECT ?1)\nSELECT (SELECT 1 FROM w), ?1\nFROM s", true, []Param{{1, "@p"}}},
		{"UPDATE t SET a=1 RETURNING abs(a)", "UPDATE t SET a=1 ", "SELECT abs(a)\nFROM s", true, nil},
		{"UPDATE t SET a=1 RETURNING a->'x'", "UPDATE t SET a=1 ", "SELECT a->'x'\nFROM s", true, nil},
		{"UPDATE t SET a=1 RETURNING *", "UPDATE t SET a=1 ", "SELECT *\nFROM s", false, nil},
		{"UPDATE t SET a=1 RETURNING a IN (1,2), CASE WHEN a THEN b END, CAST(a AS TEXT)", "UPDATE t SET a=1 ", "SELECT a IN (1,2), CASE WHEN a THEN b END, CAST(a AS TEXT)\nFROM s", false, nil},
		{"UPDATE t SET a=1 RETURNING a IN u", "UPDATE t SET a=1 ", "SELECT a IN u\nFROM s", true, nil},
	} {
		r, ok := Parse(tc.text).Returning()
		if !ok {
			t.Errorf("%s: none", tc.text)
			continue
		}
		var e Edits
		list := r.Select(e, "FROM s")
		r.Cut(&e)
		if cut := e.Apply(tc.text); cut != tc.cut || list != tc.list || r.EachRow != tc.each || !reflect.DeepEqual(r.Params, tc.params) {
			t.Errorf("%s:\n%q\n%q\n%v %v", tc.text, cut, list, r.EachRow, r.Params)
		}
	}
	if _, ok := Parse("INSERT INTO t VALUES(1)").Returning(); ok {
		t.Error("a clause where there is none")
	}
	// Edits within the clause go with it; a DEFAULT VALUES before it does not reach it.
	s := Parse("INSERT INTO t DEFAULT VALUES RETURNING (SELECT 1 FROM x)")
	r, _ := s.Returning()
	var e Edits
	e.Replace(r.End-2, r.End-1, "y")
	s.Inserts()[0].Splice(&e, []string{"a"}, []string{"7"})
	list := r.Select(e, "FROM s")
	r.Cut(&e)
	if cut := e.Apply(s.Text); list != "SELECT (SELECT 1 FROM y)\nFROM s" || cut != `INSERT INTO t("a") VALUES(7) ` {
		t.Errorf("%q\n%q", list, cut)
	}
}
