package main

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestSplitScript(t *testing.T) {
	for _, tc := range []struct {
		script string
		want   []string
	}{
		{"", nil}, {" ;; -- x", nil}, {"/* ; */;", nil},
		{"SELECT 1", []string{"SELECT 1"}},
		{"SELECT 1; SELECT 2;", []string{"SELECT 1;", "SELECT 2;"}},
		{"SELECT ';', \";\", `;`, [;] ; x", []string{"SELECT ';', \";\", `;`, [;] ;", "x"}},
		{"SELECT 'it''s;' -- no; end\n; y", []string{"SELECT 'it''s;' -- no; end\n;", "y"}},
		{"SELECT /* ; ' */ 1; y", []string{"SELECT /* ; ' */ 1;", "y"}},
		{"SELECT 1 - -1, 4 / 2 * 1; y", []string{"SELECT 1 - -1, 4 / 2 * 1;", "y"}},
		{"SELECT 1/**/; y", []string{"SELECT 1/**/;", "y"}},
		{"CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT CASE WHEN 1 THEN 2 END; SELECT 2; END; y",
			[]string{"CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT CASE WHEN 1 THEN 2 END; SELECT 2; END;", "y"}},
		{"create temp trigger a before delete on t begin delete from u; end /* done */ ; y",
			[]string{"create temp trigger a before delete on t begin delete from u; end /* done */ ;", "y"}},
		{"-- first\nCREATE /* x */ TEMPORARY TRIGGER IF NOT EXISTS a UPDATE ON t BEGIN SELECT 1; -- END;\n END; y",
			[]string{"-- first\nCREATE /* x */ TEMPORARY TRIGGER IF NOT EXISTS a UPDATE ON t BEGIN SELECT 1; -- END;\n END;", "y"}},
		{"EXPLAIN QUERY PLAN CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; END; y",
			[]string{"EXPLAIN QUERY PLAN CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; END;", "y"}},
		{"CREATE TABLE trigger(a); y", []string{"CREATE TABLE trigger(a);", "y"}},
		{"BEGIN; END; y", []string{"BEGIN;", "END;", "y"}},
	} {
		var got []string
		for _, s := range splitScript(tc.script) {
			got = append(got, s.text)
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.script, got, tc.want)
		}
	}
}

func TestStatementLines(t *testing.T) {
	var lines []int
	for _, s := range splitScript("\n-- one\n\n/* two\n */ SELECT\n1; SELECT 2;\n\nSELECT 3") {
		lines = append(lines, s.line)
	}
	if want := []int{5, 6, 8}; !reflect.DeepEqual(lines, want) {
		t.Errorf("lines %v, want %v", lines, want)
	}
}

func TestTxState(t *testing.T) {
	for script, want := range map[string]bool{
		"":                                    false,
		"SELECT 1":                            false,
		"BEGIN":                               true,
		"begin immediate; select 1":           true,
		"BEGIN; COMMIT":                       false,
		"BEGIN; END TRANSACTION":              false,
		"BEGIN; ROLLBACK":                     false,
		"BEGIN; SAVEPOINT a; ROLLBACK TO a":   true,
		"BEGIN; SAVEPOINT a; RELEASE a":       true,
		"SAVEPOINT a":                         true,
		"SAVEPOINT a; SAVEPOINT b; RELEASE B": true,
		"SAVEPOINT a; SAVEPOINT b; RELEASE SAVEPOINT a":      false,
		"SAVEPOINT a; ROLLBACK TRANSACTION TO SAVEPOINT a":   true,
		"SAVEPOINT a; SAVEPOINT b; ROLLBACK TO a; RELEASE a": false,
		"SAVEPOINT a; ROLLBACK":                              false,
		"SAVEPOINT a; SAVEPOINT a; RELEASE a":                true,
	} {
		var tx txState
		for _, s := range splitScript(script) {
			tx.after(s)
		}
		if tx.open() != want {
			t.Errorf("%s: open is %v", script, tx.open())
		}
	}
}

func TestPlainDDL(t *testing.T) {
	for _, tc := range []struct{ ddl, plain, options, module string }{
		{"CREATE TABLE t(a)", "CREATE TABLE t(a)", "", ""},
		{"CREATE VIRTUAL TABLE t USING tidemark(a, b TEXT)", "CREATE TABLE t(a, b TEXT)", "", ""},
		{`create virtual table if not exists "a USING b" using TIDEMARK(x CHECK(x IN (1,2)), durable = FALSE, resident=keys)`,
			`CREATE TABLE "a USING b"(x CHECK(x IN (1,2)))`, "durable=false resident=keys", ""},
		{"CREATE VIRTUAL TABLE t USING tidemark(a DEFAULT ',)', /* c, */ b -- d)\n, durable=true)", "CREATE TABLE t(a DEFAULT ',)', b)", "durable=true", ""},
		{"CREATE VIRTUAL TABLE d USING fts5(body, tokenize=porter)", "CREATE VIRTUAL TABLE d USING fts5(body, tokenize=porter)", "", "fts5"},
		{"CREATE VIRTUAL TABLE d USING m", "CREATE VIRTUAL TABLE d USING m", "", "m"},
	} {
		plain, options, module := plainDDL(tc.ddl)
		if plain != tc.plain || strings.Join(options, " ") != tc.options || module != tc.module {
			t.Errorf("%s: %s, %s, %s", tc.ddl, plain, options, module)
		}
	}
	if got := lostOptions([]string{"durable=true", "resident=keys", "durable=false"}); !reflect.DeepEqual(got, []string{"resident=keys", "durable=false"}) {
		t.Errorf("lost options %v", got)
	}
}

// A literal is the value again when SQLite reads it.
func TestLiteral(t *testing.T) {
	db := openFile(t, ":memory:")
	values := []any{nil, int64(math.MinInt64), int64(math.MaxInt64), "", "it's", "a\x00b", "a\r\n", "é", []byte{}, []byte{0, 255}}
	for _, f := range []float64{0, 1, -1.5, 0.1, 0.3, 1e15, 1e22, 1e23, 123456789012345678, math.MaxFloat64, math.SmallestNonzeroFloat64,
		2.2250738585072014e-308, 2.225073858507201e-308, math.Pi, 9007199254740993, 0.000123, math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
		values = append(values, f)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for r := rand.New(rand.NewPCG(seed, 0)); len(values) < 2000; {
		if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) {
			values = append(values, f, math.Round(r.Float64()*1e6)/100)
		}
	}
	for _, v := range values {
		var got any
		if err := db.QueryRow("SELECT " + literal(v)).Scan(&got); err != nil {
			t.Fatalf("%s: %v", literal(v), err)
		}
		if b, ok := got.([]byte); ok && b == nil {
			got = []byte{}
		}
		if f, ok := v.(float64); ok {
			if g, ok := got.(float64); !ok || math.Float64bits(f) != math.Float64bits(g) {
				t.Errorf("%v: %s is read as %v", v, literal(v), got)
			}
			if _, exact := parseReal(exactReal(f)); !exact {
				t.Errorf("%v: %s is no number", f, exactReal(f))
			}
		} else if !reflect.DeepEqual(got, v) {
			t.Errorf("%#v: %s is read as %#v", v, literal(v), got)
		}
	}
	for v, want := range map[float64]string{1: "1.0", 0.5: "0.5", 1500: "1500.0", 1e15: "1000000000000000.0", 1e23: "9.9999999999999992e+22", 0.1: "0.10000000000000001"} {
		if got := literal(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// Names are quoted where SQLite needs it.
func TestNameText(t *testing.T) {
	db := openFile(t, ":memory:")
	for _, name := range append([]string{"a", "A_1", "1a", "a b", "", "é", `q"q`, "a$", "a.b", "it's", "[x]"}, sqlKeywords...) {
		text := nameText(name)
		if _, err := db.Exec("CREATE TABLE t(" + text + " INT)"); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got string
		if err := scanOne(t.Context(), db, []any{&got}, "SELECT name FROM pragma_table_info('t')"); err != nil || got != name {
			t.Errorf("%s names %q, want %q, %v", text, got, name, err)
		}
		if _, err := db.Exec("DROP TABLE t"); err != nil {
			t.Fatal(err)
		}
	}
	if nameText("plain_1") != "plain_1" || nameText("Order") != `"Order"` {
		t.Error("a plain name is quoted, or a keyword is not")
	}
}
