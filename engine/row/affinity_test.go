package row

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

var affinities = []Affinity{AffBlob, AffText, AffNumeric, AffInteger, AffReal}

// loadAffinities stores every value in a column of each affinity.
func loadAffinities(t *testing.T, db *sql.DB, vs []Value) {
	t.Helper()
	exec(t, db, "CREATE TABLE a (id INTEGER PRIMARY KEY, b, t TEXT, n NUMERIC, i INT, r REAL)")
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	st, err := tx.Prepare("INSERT INTO a VALUES (?1, ?2, ?2, ?2, ?2, ?2)")
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range vs {
		if _, err := st.Exec(i, toArg(v)); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func checkApply(t *testing.T, vs []Value) {
	t.Helper()
	db := openOracle(t)
	loadAffinities(t, db, vs)
	rows, err := db.Query("SELECT id, b, t, n, i, r FROM a ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen := 0
	for rows.Next() {
		var id int
		var got [5]any
		if err := rows.Scan(&id, &got[0], &got[1], &got[2], &got[3], &got[4]); err != nil {
			t.Fatal(err)
		}
		for k, aff := range affinities {
			want := fromColumn(t, got[k])
			if have := aff.Apply(vs[id]); !identical(have, want) {
				t.Errorf("%s in a column of affinity %v: have %s, SQLite %s", show(vs[id]), aff, show(have), show(want))
			}
		}
		seen++
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if seen != len(vs) {
		t.Fatalf("compared %d of %d", seen, len(vs))
	}
}

func TestApplyAgainstSQLite(t *testing.T) { checkApply(t, hardValues()) }

func TestApplyRandomAgainstSQLite(t *testing.T) {
	r := newRand(t)
	vs := make([]Value, 20_000/slower)
	for i := range vs {
		vs[i] = randomValue(r)
	}
	checkApply(t, vs)
}

// A comparison with a column applies the column's affinity to the other side.
func TestForCompareAgainstSQLite(t *testing.T) {
	r := newRand(t)
	vs := sample(hardValues(), 6)
	for range 40 / slower {
		vs = append(vs, randomValue(r))
	}
	db := openOracle(t)
	loadAffinities(t, db, vs)
	for k, col := range []string{"b", "t", "n", "i", "r"} {
		aff := affinities[k]
		// The plus takes the right side's affinity away.
		compareAll(t, db, len(vs), fmt.Sprintf(`SELECT x.id, group_concat(CASE
			WHEN x.%[1]s < +y.b THEN '<' WHEN x.%[1]s = +y.b THEN '='
			WHEN x.%[1]s > +y.b THEN '>' ELSE '?' END, '' ORDER BY y.id) FROM a x, a y GROUP BY x.id`, col),
			func(x, y, want int) {
				if have := Compare(aff.Apply(vs[x]), aff.ForCompare(vs[y]), Binary); have != want {
					t.Errorf("%s stored with affinity %v against %s: have %d, SQLite %d", show(vs[x]), aff, show(vs[y]), have, want)
				}
			})
	}
}

func TestAffinityOf(t *testing.T) {
	types := []string{
		"INT", "INTEGER", "TINYINT", "UNSIGNED BIG INT", "INT8", "CHARACTER(20)", "VARCHAR(255)", "NATIVE CHARACTER(70)", "NVARCHAR(100)",
		"TEXT", "CLOB", "BLOB", "REAL", "DOUBLE", "DOUBLE PRECISION", "FLOAT", "NUMERIC", "DECIMAL(10,5)", "BOOLEAN", "DATE", "DATETIME",
		"FLOATING POINT", "CHARINT", "BLOBTEXT", "TEXTBLOB", "REALBLOB", "BLOBREAL", "STRING", "ANY", "X", "xreal", "rEaL", "doubt", "clobber", "char", "Point",
	}
	db := openOracle(t)
	cols := make([]string, len(types))
	for i, s := range types {
		cols[i] = fmt.Sprintf("c%d %s", i, s)
	}
	exec(t, db, "CREATE TABLE a ("+strings.Join(cols, ", ")+", none)")
	exec(t, db, "INSERT INTO a VALUES ('12'"+strings.Repeat(", '12'", len(types))+"), (12.5"+strings.Repeat(", 12.5", len(types))+"), (7.0"+strings.Repeat(", 7.0", len(types))+")")
	for i, s := range append(types, "") {
		col := fmt.Sprintf("c%d", i)
		if s == "" {
			col = "none"
		}
		rows, err := db.Query("SELECT typeof(" + col + ") FROM a ORDER BY rowid")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for rows.Next() {
			var x string
			if err := rows.Scan(&x); err != nil {
				t.Fatal(err)
			}
			got = append(got, x)
		}
		// NUMERIC and INTEGER store alike; SQLite tells them apart in CAST only.
		want := map[Affinity]string{
			AffBlob: "text real real", AffText: "text text text", AffNumeric: "integer real integer",
			AffInteger: "integer real integer", AffReal: "real real real",
		}[AffinityOf(s)]
		if strings.Join(got, " ") != want {
			t.Errorf("%q: have %v, SQLite stores %v", s, AffinityOf(s), got)
		}
		var cast float64
		if err := db.QueryRow("SELECT CAST('7.5' AS " + map[bool]string{true: "BLOB", false: s}[s == ""] + ")").Scan(&cast); err != nil {
			t.Fatal(err)
		}
		if (cast == 7) != (AffinityOf(s) == AffInteger) {
			t.Errorf("%q: have %v, SQLite casts 7.5 to %v", s, AffinityOf(s), cast)
		}
	}
}
