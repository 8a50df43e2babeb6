package main

import (
	"math"
	"strings"
	"testing"
)

func TestSQL(t *testing.T) {
	dir := newStore(t)
	if got, want := must(t, "sql", dir, "SELECT * FROM t ORDER BY id"), "1|x|2024-01-01 00:00:00\n2||\n3|z'z|soon\n"; got != want {
		t.Errorf("list: %q, want %q", got, want)
	}
	if got, want := must(t, "sql", "-header", dir, "SELECT id, a FROM t WHERE id = 1"), "id|a\n1|x\n"; got != want {
		t.Errorf("header: %q, want %q", got, want)
	}
	want := "id  a\n--  ----\n1   x\n2   NULL\n"
	if got := must(t, "sql", "-mode", "table", dir, "SELECT id, a FROM t WHERE id < 3"); got != want {
		t.Errorf("table: %q, want %q", got, want)
	}
	if got, want := must(t, "sql", dir, "SELECT 1.5, 0.1+0.2, 1e100, x'6162', 2.0, -0.0, 9e15"), "1.5|0.3|1.0e+100|ab|2.0|0.0|9.0e+15\n"; got != want {
		t.Errorf("values: %q, want %q", got, want)
	}
	// The statements of one text share a connection.
	script := "BEGIN; INSERT INTO t(id, a) VALUES(9, 'n;ine'); -- not; the end\nSELECT a FROM t WHERE id = 9; ROLLBACK; SELECT count(*) FROM t;"
	status, out, stderr := tidemark(t, script, "sql", dir, "-")
	if status != statusDone || out != "n;ine\n3\n" {
		t.Errorf("script: status %d, %q, %q", status, out, stderr)
	}
	// What came before the statement that fails is kept and shown.
	status, out, _ = tidemark(t, "", "sql", dir, "INSERT INTO t(id) VALUES(20); SELECT 7; SELECT * FROM nowhere; INSERT INTO t(id) VALUES(21)")
	if status != statusFailed || out != "7\n" {
		t.Errorf("failing script: status %d, %q", status, out)
	}
	if got := must(t, "sql", dir, "SELECT id FROM t WHERE id >= 20"); got != "20\n" {
		t.Errorf("after the failing script: %q", got)
	}
}

func TestRealText(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", -2.5: "-2.5", 0.1 + 0.2: "0.3", 1e15: "1.0e+15", 123456789012345: "123456789012345.0",
		1e-5: "1.0e-05", 0.0001: "0.0001", 1.5e300: "1.5e+300", math.Inf(1): "Inf", math.Inf(-1): "-Inf", 1.0 / 3: "0.333333333333333",
	} {
		if got := realText(f); got != want {
			t.Errorf("%v is written %q, want %q", f, got, want)
		}
	}
}

func TestWriteTable(t *testing.T) {
	var b strings.Builder
	writeTable(&b, []string{"é", "long"}, [][]string{{"ab", "x"}, {"ü", ""}}, " ")
	if want := " é   long\n --  ----\n ab  x\n ü\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
