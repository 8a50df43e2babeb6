package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rowsText is a query whose values try every mode.
const rowsText = `SELECT 1 AS id, NULL AS "n n", 'it''s "q" é' AS t, 0.1+0.2 AS r, 'two
lines' AS l UNION ALL SELECT 22, 9e999, '', 'a,b', 5.0;
`

// The modes print what sqlite3 prints: these are its own outputs, but for csv,
// json, quote and insert, where a REAL has all its digits.
func TestShellModes(t *testing.T) {
	dir := newDir(t)
	for _, tc := range []struct{ commands, want string }{
		{"", "1||it's \"q\" é|0.3|two\nlines\n22|Inf||a,b|5.0\n"},
		{".headers on\n", "id|n n|t|r|l\n1||it's \"q\" é|0.3|two\nlines\n22|Inf||a,b|5.0\n"},
		{".nullvalue NIL\n.separator ' ' \"!\\n\"\n", "1 NIL it's \"q\" é 0.3 two\nlines!\n22 Inf  a,b 5.0!\n"},
		{".mode tabs\n", "1\t\tit's \"q\" é\t0.3\ttwo\nlines\n22\tInf\t\ta,b\t5.0\n"},
		{".mode csv\n", "1,,\"it's \"\"q\"\" é\",0.30000000000000004,\"two\nlines\"\r\n22,9e999,\"\",\"a,b\",5.0\r\n"},
		{".mode csv\n.headers on\n", "id,\"n n\",t,r,l\r\n1,,\"it's \"\"q\"\" é\",0.30000000000000004,\"two\nlines\"\r\n22,9e999,\"\",\"a,b\",5.0\r\n"},
		{".mode line\n", "   id = 1\n  n n = \n    t = it's \"q\" é\n    r = 0.3\n    l = two\nlines\n\n   id = 22\n  n n = Inf\n    t = \n    r = a,b\n    l = 5.0\n"},
		{".mode json\n", "[{\"id\":1,\"n n\":null,\"t\":\"it's \\\"q\\\" é\",\"r\":0.30000000000000004,\"l\":\"two\\nlines\"},\n{\"id\":22,\"n n\":1e999,\"t\":\"\",\"r\":\"a,b\",\"l\":5.0}]\n"},
		{".mode quote\n", "1,NULL,'it''s \"q\" é',0.30000000000000004,'two\nlines'\n22,9e999,'','a,b',5.0\n"},
		{".mode quote\n.headers on\n", "'id','n n','t','r','l'\n1,NULL,'it''s \"q\" é',0.30000000000000004,'two\nlines'\n22,9e999,'','a,b',5.0\n"},
		{".mode insert \"my table\"\n", "INSERT INTO \"my table\" VALUES(1,NULL,'it''s \"q\" é',0.30000000000000004,'two\nlines');\nINSERT INTO \"my table\" VALUES(22,9e999,'','a,b',5.0);\n"},
		{".mode insert t\n.headers on\n", "INSERT INTO t(id,\"n n\",t,r,l) VALUES(1,NULL,'it''s \"q\" é',0.30000000000000004,'two\nlines');\nINSERT INTO t(id,\"n n\",t,r,l) VALUES(22,9e999,'','a,b',5.0);\n"},
		{".mode column\n", "id  n n  t           r    l    \n--  ---  ----------  ---  -----\n1        it's \"q\" é  0.3  two  \n                          lines\n\n22  Inf              a,b  5.0  \n"},
		{".mode column\n.headers off\n", "1        it's \"q\" é  0.3  two  \n                          lines\n\n22  Inf              a,b  5.0  \n"},
		{".mode table\n", `+----+-----+------------+-----+-------+
| id | n n |     t      |  r  |   l   |
+----+-----+------------+-----+-------+
| 1  |     | it's "q" é | 0.3 | two   |
|    |     |            |     | lines |
+----+-----+------------+-----+-------+
| 22 | Inf |            | a,b | 5.0   |
+----+-----+------------+-----+-------+
`},
		{".mode box\n", `┌────┬─────┬────────────┬─────┬───────┐
│ id │ n n │     t      │  r  │   l   │
├────┼─────┼────────────┼─────┼───────┤
│ 1  │     │ it's "q" é │ 0.3 │ two   │
│    │     │            │     │ lines │
├────┼─────┼────────────┼─────┼───────┤
│ 22 │ Inf │            │ a,b │ 5.0   │
└────┴─────┴────────────┴─────┴───────┘
`},
		{".mode markdown\n", `| id | n n |     t      |  r  |   l   |
|----|-----|------------|-----|-------|
| 1  |     | it's "q" é | 0.3 | two   |
|    |     |            |     | lines |
| 22 | Inf |            | a,b | 5.0   |
`},
	} {
		if got := shellOutput(t, dir, tc.commands+rowsText); got != tc.want {
			t.Errorf("%q prints\n%s\nwant\n%s", tc.commands, got, tc.want)
		}
	}
	// No rows: names at most.
	for mode, want := range map[string]string{"list": "a|b\n", "csv": "a,b\r\n", "json": "", "box": "", "line": "", "column": "", "insert": "", "quote": "'a','b'\n"} {
		if got := shellOutput(t, dir, ".mode "+mode+"\n.headers on\nSELECT 1 AS a, 2 AS b WHERE 0;\n"); got != want {
			t.Errorf("mode %s without rows: %q, want %q", mode, got, want)
		}
	}
	if got := shellOutput(t, dir, ".mode table\nSELECT x'00ff' AS b;\n.mode json\nSELECT x'00ff' AS b, char(1) || '\\' AS c;\n"); got !=
		"+---------+\n|    b    |\n+---------+\n| x'00ff' |\n+---------+\n[{\"b\":\"\\u0000ÿ\",\"c\":\"\\u0001\\\\\"}]\n" {
		t.Errorf("blobs: %q", got)
	}
}

// Each dot command, by what it prints.
func TestShellCommands(t *testing.T) {
	dir := newDir(t)
	shellOutput(t, dir, `CREATE TABLE orders(id INTEGER PRIMARY KEY, sku TEXT UNIQUE);
CREATE INDEX by_sku ON orders(sku, id);
CREATE TABLE "q t"(a);
CREATE VIEW seen AS SELECT sku FROM orders -- all
;
INSERT INTO orders VALUES(1, 'a'), (2, 'b');
`)
	csv, tsv := writeFile(t, "x.csv", "id,sku\n7,seven\n"), writeFile(t, "x.tsv", "# c\n8\teight\n")
	piped := writeFile(t, "x.txt", "9|nine\n")
	for _, tc := range []struct{ input, want string }{
		{".tables\n", "orders  q t     seen\n"},
		{".tables %e%\n", "orders  seen\n"},
		{".tables none\n", ""},
		{"CREATE TEMP TABLE tt(x);\n.tables t%\n.schema tt\n", "temp.tt\nCREATE TABLE tt(x);\n"},
		{"CREATE TEMP TABLE tt(x);\n.tables\n", "orders   q t      seen     temp.tt\n"},
		{".indexes\n", "by_sku                     sqlite_autoindex_orders_1\n"},
		{".indexes seen\n", ""},
		{".schema orders\n", "CREATE TABLE orders(id INTEGER PRIMARY KEY, sku TEXT UNIQUE);\nCREATE INDEX by_sku ON orders(sku, id);\n"},
		{".schema s%\n", "CREATE VIEW seen AS SELECT sku FROM orders -- all\n;\n"},
		{".mode\n.mode box\n.mode\n", "current output mode: list\ncurrent output mode: box\n"},
		{".dump \"q t\"\n", "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE \"q t\"(a);\nCOMMIT;\n"},
		{".dump ord%\n", "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE orders(id INTEGER PRIMARY KEY, sku TEXT UNIQUE);\nINSERT INTO orders(id,sku) VALUES(1,'a');\n" +
			"INSERT INTO orders(id,sku) VALUES(2,'b');\nCREATE INDEX by_sku ON orders(sku, id);\nCOMMIT;\n"},
		{".changes on\nUPDATE orders SET sku = sku || '!';\nUPDATE orders SET sku = substr(sku, 1, 1) WHERE id = 1;\n", "changes: 2   total_changes: 2\nchanges: 1   total_changes: 3\n"},
		{".echo on\nSELECT 1;\n.mode\n", "SELECT 1;\n1\n.mode\ncurrent output mode: list\n"},
		{".help echo\n.help .quit\n", ".echo on|off  print statements before they run\n.quit [CODE]  leave, with an exit status\n"},
		{"SELECT 1;\n.quit\nSELECT 2;\n", "1\n"}, {"SELECT 1;\n.exit\nSELECT 2;\n", "1\n"}, {"SELECT 1;\n.q\nSELECT 2;\n", "1\n"},
		{".import " + csv + " orders\nSELECT * FROM orders WHERE id = 7;\nDELETE FROM orders WHERE id = 7;\n", "7|seven\n"},
		{".import --skip 1 --tsv " + tsv + " orders\nSELECT * FROM orders WHERE id = 8;\nDELETE FROM orders WHERE id = 8;\n", "8|eight\n"},
		{".import " + piped + " orders\nSELECT * FROM orders WHERE id = 9;\nDELETE FROM orders WHERE id = 9;\n", "9|nine\n"},
		{"BEGIN;\n.import --csv --header yes " + csv + " made\nSELECT typeof(id), sku FROM made;\nROLLBACK;\n.tables made\n", "integer|seven\n"},
		{"CREATE TEMP TABLE orders(sku, id INT);\n.import --csv " + csv + " orders\nSELECT * FROM temp.orders;\n.dump \"q t\"\nSELECT count(*) FROM main.orders;\n",
			"seven|7\nPRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE \"q t\"(a);\nCOMMIT;\n2\n"},
		{"CREATE TEMP TABLE \"q t\"(z);\nINSERT INTO temp.\"q t\" VALUES(1);\n.dump \"q t\"\n", "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE \"q t\"(a);\nCOMMIT;\n"},
		{"EXPLAIN QUERY PLAN SELECT 1;\n", "QUERY PLAN\n`--SCAN CONSTANT ROW\n"},
		{".explain on\nSELECT 1;\n", "QUERY PLAN\n`--SCAN CONSTANT ROW\n1\n"},
		{".explain off\nEXPLAIN QUERY PLAN SELECT 1;\n.explain auto\nSELECT 2;\n", "1|0|0|SCAN CONSTANT ROW\n2\n"},
		{"SELECT 1;\nSELECT\n2\n;\n-- nothing\n/* a\n.quit\n*/ SELECT 3; SELECT 4\n", "1\n2\n3\n4\n"},
		{"SELECT 'a\n.quit\n;';\n", "a\n.quit\n;\n"},
		{"SELECT 'a\r\nb';\r\n.mode\r\n", "a\r\nb\ncurrent output mode: list\n"},
		{"CREATE TEMP TRIGGER g INSTEAD OF INSERT ON seen BEGIN\n SELECT 1;\nEND;\nSELECT 'made';\n", "made\n"},
		{"BEGIN;\nDELETE FROM orders;\nSELECT count(*) FROM orders;\nROLLBACK;\nSELECT count(*) FROM orders;\n", "0\n2\n"},
		{".headers on\nSELECT 1 AS a WHERE 0; DELETE FROM orders WHERE 0;\n", "a\n"},
	} {
		if got := shellOutput(t, dir, tc.input); got != tc.want {
			t.Errorf("%s prints\n%q\nwant\n%q", tc.input, got, tc.want)
		}
	}
	if got := shellOutput(t, dir, ".help\n"); strings.Count(got, "\n") != len(dotCommands()) {
		t.Errorf(".help prints\n%s", got)
	}
	if got := shellOutput(t, dir, ".databases\n"); !strings.HasPrefix(got, "main: "+dir+" r/w\n") || !strings.Contains(got, "catalog.db r/o\n") {
		t.Errorf(".databases prints %q", got)
	}
	if got := shellOutput(t, dir, ".timer on\nSELECT 1;\n"); !regexp.MustCompile(`^1\nRun Time: real \d+\.\d{3}\n$`).MatchString(got) {
		t.Errorf(".timer prints %q", got)
	}
	if got := shellOutput(t, dir, ".timer yes\n.separator ; \\t\n.show\n"); !strings.Contains(got, "timer: on\n") || !strings.Contains(got, `rowseparator: "\t"`) {
		t.Errorf(".show prints %q", got)
	}
}

// An error is printed with its place and the session goes on, unless it is to
// stop; the exit status tells of it.
func TestShellErrors(t *testing.T) {
	for _, tc := range []struct {
		input  string
		flags  []string
		out    string
		errors []string // what each line names
	}{
		{"SELEC 1;\nSELECT 2;\n", nil, "2\n", []string{"Error: near line 1: near \"SELEC\": syntax error"}},
		{"SELECT 1;\n\nSELECT\n nope; SELECT 3;\n", nil, "1\n3\n", []string{"Error: near line 3: no such column: nope"}},
		{"SELECT nope;\nSELECT 2;\n", []string{"-bail"}, "", []string{"no such column"}},
		{".bail on\nSELECT 1;\n.frob\nSELECT 2;\n", nil, "1\n", []string{"near line 3: unknown command .frob: .help lists the commands"}},
		{".frob\n.mode x\n.timer maybe\n.quit now\n.explain x\n.help frob\n.m y\n.e\n", nil, "", []string{
			"unknown command .frob: .help", "mode x is not known: use box", "use on or off", "now is no exit status", "use on, off or auto",
			".help lists", "mode y", ".echo, .exit, .explain"}},
		{".nullvalue 'a\n.read /nowhere/x\n.output /nowhere/x\n.import a\n.import a b c\n.import --frob a b\n.import --skip x a b\n.import --header x a b\n.dump nope\n", nil, "", []string{
			"' is not closed", "/nowhere/x", "/nowhere/x", "usage: .import FILE TABLE", "usage: .import", "--frob is not known", "--skip", "--header", "no table nope"}},
		{"BEGIN;\nCREATE TABLE t(a UNIQUE);\nINSERT INTO t VALUES(1);\nINSERT INTO t VALUES(2),(1);\nINSERT INTO t VALUES(3);\nCOMMIT;\nSELECT * FROM t;\n", nil, "1\n3\n", []string{
			"UNIQUE constraint failed: t.a"}},
		{"SELECT 'open\n;\n", nil, "", []string{"near line 1"}},
	} {
		status, out, stderr := tidemark(t, tc.input, append(append([]string{"shell"}, tc.flags...), newDir(t))...)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		if status != statusFailed || out != tc.out || len(lines) != len(tc.errors) {
			t.Errorf("%q: status %d, %q, %q", tc.input, status, out, stderr)
			continue
		}
		for i, words := range tc.errors {
			if !strings.HasPrefix(lines[i], "Error: ") || !strings.Contains(lines[i], words) {
				t.Errorf("%q: line %q, want %q", tc.input, lines[i], words)
			}
		}
	}
}

// Files are read one within another, to a limit, and errors name the file.
func TestShellRead(t *testing.T) {
	dir, folder := newDir(t), t.TempDir()
	for name, text := range map[string]string{
		"a.sql":     "SELECT 'a';\n.read " + filepath.Join(folder, "b.sql") + "\nSELECT 'a again';\n",
		"b.sql":     "SELECT\n'b'",
		"bad.sql":   "SELECT 1;\nSELECT nope;\nSELECT 2;\n",
		"round.sql": "SELECT 'r';\n.read " + filepath.Join(folder, "round.sql") + "\n",
		"quit.sql":  ".quit\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := shellOutput(t, dir, ".read "+folder+"/a.sql\n.read '"+folder+"/b.sql'\n.read "+folder+"/quit.sql\nSELECT 9;\n"); got != "a\nb\na again\nb\n" {
		t.Errorf("read: %q", got)
	}
	status, out, stderr := tidemark(t, ".read "+folder+"/bad.sql\nSELECT 3;\n", "shell", dir)
	if status != statusFailed || out != "1\n2\n3\n" || !strings.Contains(stderr, "bad.sql:2: no such column") {
		t.Errorf("a bad file: status %d, %q, %q", status, out, stderr)
	}
	status, out, stderr = tidemark(t, ".bail on\n.read "+folder+"/bad.sql\nSELECT 3;\n", "shell", dir)
	if status != statusFailed || out != "1\n" || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a bad file with .bail: status %d, %q, %q", status, out, stderr)
	}
	status, out, stderr = tidemark(t, ".read "+folder+"/round.sql\nSELECT 3;\n", "shell", dir)
	if status != statusFailed || out != strings.Repeat("r\n", maxRead)+"3\n" || !strings.Contains(stderr, "deep") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a circle: status %d, %q, %q", status, out, stderr)
	}
}

// Results go to files, and back to the screen.
func TestShellOutput(t *testing.T) {
	dir, folder := newDir(t), t.TempDir()
	once, all, last := filepath.Join(folder, "on ce"), filepath.Join(folder, "all"), filepath.Join(folder, "last")
	got := shellOutput(t, dir, ".once '"+once+"'\nSELECT 1;\nSELECT 2;\n.output "+all+"\nSELECT 3;\n.mode csv\nSELECT 4;\n.output\nSELECT 5;\n.output "+last+"\nSELECT 6;\n")
	if got != "2\n5\r\n" {
		t.Errorf("the screen shows %q", got)
	}
	for file, want := range map[string]string{once: "1\n", all: "3\n4\r\n", last: "6\r\n"} {
		if b, err := os.ReadFile(file); err != nil || string(b) != want {
			t.Errorf("%s holds %q, want %q, %v", file, b, want, err)
		}
	}
}

// The prompt shows an open transaction and a statement that goes on.
func TestShellPrompt(t *testing.T) {
	var s shell
	if got := s.prompt(false) + s.prompt(true); got != "tidemark>      ...> " {
		t.Errorf("%q", got)
	}
	s.tx.begun = true
	if got := s.prompt(false); got != "tidemark*> " {
		t.Errorf("%q", got)
	}
}
