package row

import (
	"fmt"
	"testing"
)

func TestCompareAgainstSQLite(t *testing.T) {
	r := newRand(t)
	vs := sample(hardValues(), 5)
	for range 40 / slower {
		vs = append(vs, randomValue(r))
	}
	db := openOracle(t)
	exec(t, db, "CREATE TABLE v (id INTEGER PRIMARY KEY, x)")
	for i, v := range vs {
		exec(t, db, "INSERT INTO v VALUES (?, ?)", i, toArg(v))
	}
	for _, c := range []Collation{Binary, NoCase, RTrim} {
		compareAll(t, db, len(vs), fmt.Sprintf(`SELECT a.id, group_concat(CASE
			WHEN a.x < b.x COLLATE %[1]v THEN '<' WHEN a.x = b.x COLLATE %[1]v THEN '='
			WHEN a.x > b.x COLLATE %[1]v THEN '>' ELSE '?' END, '' ORDER BY b.id) FROM v a, v b GROUP BY a.id`, c),
			func(x, y, want int) {
				if have := Compare(vs[x], vs[y], c); have != want {
					t.Errorf("%s against %s, %v: have %d, SQLite %d", show(vs[x]), show(vs[y]), c, have, want)
				}
			})
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
