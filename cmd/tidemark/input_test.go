package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// Encodings other than UTF-8 are refused by name, and never read as something
// else.
func TestImportOfEncodings(t *testing.T) {
	wide := func(s string, big, mark bool) string {
		var b strings.Builder
		if mark {
			s = "\ufeff" + s
		}
		for _, u := range utf16.Encode([]rune(s)) {
			if big {
				b.WriteString(string([]byte{byte(u >> 8), byte(u)}))
			} else {
				b.WriteString(string([]byte{byte(u), byte(u >> 8)}))
			}
		}
		return b.String()
	}
	for _, tc := range []struct{ name, text, want string }{
		{"x.csv", wide("a,b\n1,2\n", false, true), "UTF-16"},
		{"x.csv", wide("a,b\n1,2\n", true, true), "UTF-16"},
		{"x.csv", wide("a,b\n1,2\n", false, false), "UTF-16"},
		{"x.csv", wide("a,b\n1,2\n", true, false), "UTF-16"},
		{"x.csv", "\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32"},
		{"x.csv", "a,b\n1,caf\xe9\n", "x.csv:2"},
		{"x.csv", "caf\xe9,b\n1,2\n", "UTF-8"},
		{"x.sql", wide("SELECT 1;", false, true), "UTF-16"},
		{"x.sql", wide("SELECT 1;", true, false), "UTF-16"},
	} {
		dir := newDir(t)
		status, _, stderr := tidemark(t, "", "import", dir, writeFile(t, tc.name, tc.text))
		if status != statusRefused || !strings.Contains(stderr, tc.want) || !strings.Contains(stderr, "nothing was imported") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: status %d, %q", tc.text, status, stderr)
		}
	}
}

// Rows may end in a carriage return alone, as long as all do.
func TestImportOfLineEnds(t *testing.T) {
	dir := newDir(t)
	must(t, "import", dir, writeFile(t, "t.csv", "a,b\r1,\"x\r\ny\"\r2,y\r"))
	if got := shellOutput(t, dir, ".mode quote\nSELECT a, hex(b) FROM t;\n"); got != "1,'780D0A79'\n2,'79'\n" {
		t.Errorf("%q", got)
	}
	for _, text := range []string{"a,b\r1,2\r3,4\n", "a,b\r1,2\n3,4\n"} {
		status, _, stderr := tidemark(t, "", "import", dir, writeFile(t, "m.csv", text))
		if status != statusRefused || !strings.Contains(stderr, "carriage return") {
			t.Errorf("%q: status %d, %q", text, status, stderr)
		}
	}
	must(t, "import", dir, writeFile(t, "kept.csv", "a,b\n1\r2,x\n"))
	if got := must(t, "sql", dir, "SELECT hex(a) FROM kept"); got != "310D32\n" {
		t.Errorf("a carriage return within a field: %q", got)
	}
}

// The delimiter is guessed where only one fits the first rows.
func TestImportGuessesDelimiter(t *testing.T) {
	for _, tc := range []struct {
		text  string
		flags []string
		want  string // rows
	}{
		{"a;b\n1,5;2\n", nil, "1,5|2\n"},
		{"a|b|c\n1|2|3\n", nil, "1|2|3\n"},
		{"a\tb\n1\t2\n", nil, "1|2\n"},
		{"\"a\";\"b\"\n\"x;,\";2\n", nil, "x;,|2\n"},
		{"a,b;c\n1,2;3\n", nil, "1|2;3\n"},
		{"a;b\n1\n2;3\n", nil, "1\n2;3\n"},
		{"a;b\n1;2\n", []string{"-delimiter=,"}, "1;2\n"},
		{"# x\na;b\n1;2\n", []string{"-skip=1"}, "1|2\n"},
	} {
		dir := newDir(t)
		must(t, append(append([]string{"import"}, tc.flags...), dir, writeFile(t, "t.csv", tc.text))...)
		if got := must(t, "sql", dir, "SELECT * FROM t"); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
	dir := newDir(t)
	must(t, "sql", dir, "CREATE TABLE one(x)")
	must(t, "import", dir, writeFile(t, "t.csv", "a;b\nc;d\n"), "one")
	if got := must(t, "sql", dir, "SELECT * FROM one"); got != "a;b\nc;d\n" {
		t.Errorf("a table of one column: %q", got)
	}
}

// A header may lack what the table fills by itself.
func TestImportWithFewerColumns(t *testing.T) {
	const ddl = "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL, d INT NOT NULL DEFAULT 5, n, z DEFAULT 'zz'); CREATE TABLE w(k TEXT, v, PRIMARY KEY(k)) WITHOUT ROWID; CREATE TABLE s(k TEXT PRIMARY KEY, v INT) STRICT"
	for _, tc := range []struct {
		table, text string
		status      int
		want        string
	}{
		{"t", "a\nx\ny\n", statusDone, "1,'x',5,NULL,'zz'\n2,'y',5,NULL,'zz'\n"},
		{"t", "id,n,a\n7,1,x\n", statusDone, "7,'x',5,1,'zz'\n"},
		{"t", "id,n\n7,1\n", statusRefused, `lacks "a"`},
		{"w", "v\n1\n", statusRefused, `lacks "k"`},
		{"w", "k\n1\n", statusDone, "'1',NULL\n"},
	} {
		dir := newDir(t)
		must(t, "sql", dir, ddl)
		status, _, stderr := tidemark(t, "", "import", dir, writeFile(t, "x.csv", tc.text), tc.table)
		got := shellOutput(t, dir, ".mode quote\nSELECT * FROM "+tc.table+";\n")
		if status != tc.status || status == statusDone && got != tc.want || status != statusDone && !strings.Contains(stderr, tc.want) {
			t.Errorf("%s %q: status %d, %q, %q", tc.table, tc.text, status, got, stderr)
		}
	}
}

// A first line that may be a header and cannot be one is not taken for a row
// unasked.
func TestImportOfDoubtfulHeaders(t *testing.T) {
	for text, word := range map[string]string{"a,a,A\n1,2,3\n": "twice", "a,,b\n1,2,3\n": "empty"} {
		dir := newDir(t)
		file := writeFile(t, "t.csv", text)
		status, _, stderr := tidemark(t, "", "import", dir, file)
		if status != statusRefused || !strings.Contains(stderr, "-header=no") || !strings.Contains(stderr, word) {
			t.Errorf("%q: status %d, %q", text, status, stderr)
		}
		must(t, "import", "-header=no", dir, file)
	}
	status, _, stderr := tidemark(t, "", "import", "-header=yes", newDir(t), writeFile(t, "t.csv", "a,A\n1,2\n"))
	if status != statusRefused || !strings.Contains(stderr, "twice") {
		t.Errorf("-header=yes: status %d, %q", status, stderr)
	}
}

// Names that are none are refused before anything is made.
func TestImportWithoutNames(t *testing.T) {
	dir := newDir(t)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{dir, writeFile(t, ".csv", "a\n1\n")}, "name a table"},
		{[]string{dir, writeFile(t, "x.csv", "a\n1\n"), ""}, "empty"},
		{[]string{"", writeFile(t, "x.csv", "a\n1\n")}, "empty"},
	} {
		status, _, stderr := tidemark(t, "", append([]string{"import"}, tc.args...)...)
		if status != statusRefused || !strings.Contains(stderr, tc.want) || strings.Contains(stderr, "ephemeral") {
			t.Errorf("%q: status %d, %q", tc.args, status, stderr)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a store was made")
	}
}

// A store that an import made goes with an import that fails.
func TestFailedImportLeavesNoStore(t *testing.T) {
	refused := makeFile(t, "CREATE TABLE tidemark_a(x)")
	for name, file := range map[string]string{
		"csv": writeFile(t, "x.csv", "a,b\n1\n"), "sql": writeFile(t, "x.sql", "CREATE TABLE t(a); SELECT nope"), "db": makeFile(t, "CREATE TABLE a(x)"), "refused": refused,
	} {
		folder := t.TempDir()
		empty := filepath.Join(folder, "empty")
		if err := os.Mkdir(empty, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{filepath.Join(folder, "new"), empty} {
			args := []string{"import", dir, file}
			if name == "db" {
				args = append(args, "nope")
			}
			if status, _, stderr := tidemark(t, "", args...); status == statusDone {
				t.Errorf("%s: %s", name, stderr)
			}
		}
		left, err := os.ReadDir(folder)
		if err != nil || len(left) != 1 || left[0].Name() != "empty" {
			t.Errorf("%s left %v, %v", name, left, err)
		}
		if left, err := os.ReadDir(empty); err != nil || len(left) != 0 {
			t.Errorf("%s left %v, %v", name, left, err)
		}
		must(t, "import", empty, writeFile(t, "y.csv", "a\n1\n"))
		must(t, "check", empty)
	}
	// What a script committed before it failed stays, also in a new store.
	dir := newDir(t)
	status, _, stderr := tidemark(t, "", "import", dir, writeFile(t, "x.sql", "BEGIN; CREATE TABLE t(a); COMMIT; SELECT nope"))
	if status != statusFailed || must(t, "sql", dir, "SELECT name FROM sqlite_schema") != "t\n" {
		t.Errorf("status %d, %q", status, stderr)
	}
	status, _, stderr = tidemark(t, "", "import", newDir(t), writeFile(t, "x.sql", "CREATE TABLE t(a); PRAGMA user_version=3"))
	if status != statusRefused || !strings.Contains(stderr, "nothing was imported") {
		t.Errorf("a refused script: status %d, %q", status, stderr)
	}
}

// Tables that cannot be taken are not offered.
func TestImportOffersTables(t *testing.T) {
	file := makeFile(t, "CREATE TABLE plain(x); CREATE VIRTUAL TABLE f USING fts5(body)")
	for _, name := range []string{"nope", "f_data", "f"} {
		status, _, stderr := tidemark(t, "", "import", newDir(t), file, name)
		if status != statusRefused || !strings.Contains(stderr, "use plain") || strings.Contains(stderr, "f_content") {
			t.Errorf("%s: status %d, %q", name, status, stderr)
		}
	}
}
