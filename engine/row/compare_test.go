package row

import (
	"database/sql"
	"testing"
)

func TestCompareAgainstSQLite(t *testing.T) {
	all := hardValues()
	r := newRand(t)
	var vs []Value
	for i, v := range all {
		// A third of the texts that look like numbers is enough here.
		if v.Kind() != Text || i%3 == 0 || i >= len(all)-len(orderTexts) {
			vs = append(vs, v)
		}
	}
	for range 50 {
		vs = append(vs, randomValue(r))
	}
	db := openOracle(t)
	exec(t, db, "CREATE TABLE v (id INTEGER PRIMARY KEY, x)")
	for i, v := range vs {
		exec(t, db, "INSERT INTO v VALUES (?, ?)", i, toArg(v))
	}
	for _, c := range []Collation{Binary, NoCase, RTrim} {
		rows, err := db.Query("SELECT a.id, b.id, a.x < b.x COLLATE " + c.String() + ", a.x = b.x COLLATE " + c.String() + " FROM v a, v b")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			var x, y int
			var less, equal sql.NullBool
			if err := rows.Scan(&x, &y, &less, &equal); err != nil {
				t.Fatal(err)
			}
			if !less.Valid {
				continue
			}
			want := 1
			if less.Bool {
				want = -1
			} else if equal.Bool {
				want = 0
			}
			if have := Compare(vs[x], vs[y], c); have != want {
				t.Errorf("%s against %s, %v: have %d, SQLite %d", show(vs[x]), show(vs[y]), c, have, want)
			}
			n++
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		if n != (len(vs)-1)*(len(vs)-1) {
			t.Fatalf("%v: compared %d pairs of %d values", c, n, len(vs))
		}
	}
	for _, v := range vs {
		if !v.IsNull() && (Compare(Value{}, v, Binary) != -1 || Compare(v, Value{}, Binary) != 1) {
			t.Errorf("NULL is not below %s", show(v))
		}
	}
	if Compare(Value{}, Value{}, Binary) != 0 {
		t.Error("NULL does not equal itself")
	}
}

func TestCollationByName(t *testing.T) {
	for name, want := range map[string]Collation{"binary": Binary, "NoCase": NoCase, "RTRIM": RTrim} {
		if c, ok := CollationByName(name); !ok || c != want {
			t.Errorf("%s: %v %v", name, c, ok)
		}
	}
	for _, name := range []string{"", "utf16", "noca\u017fe"} {
		if c, ok := CollationByName(name); ok {
			t.Errorf("%q is %v", name, c)
		}
	}
}
