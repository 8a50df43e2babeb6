package main

import (
	"context"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestImportCSV(t *testing.T) {
	for _, tc := range []struct {
		name, file, text string
		flags            []string
		table            string
		want             string // CREATE TABLE and quoted rows
	}{
		{"header", "people.csv", "id,name,zip,score\n1,Ann,01234,1.5\n2,\"\",99999,\n", nil, "",
			`people|CREATE TABLE "people"("id" INTEGER, "name" TEXT, "zip" TEXT, "score" REAL)` + "\n1,'Ann','01234',1.5\n2,'','99999',NULL\n"},
		{"no header", "n.csv", "1,a\n2,b\n", nil, "", `n|CREATE TABLE "n"("c1" INTEGER, "c2" TEXT)` + "\n1,'a'\n2,'b'\n"},
		{"header that is none", "n.csv", "a,b\nc,d\n", []string{"-header=no"}, "", `n|CREATE TABLE "n"("c1" TEXT, "c2" TEXT)` + "\n'a','b'\n'c','d'\n"},
		{"header of numbers", "n.csv", "1,2\n3,4\n", []string{"-header=yes"}, "", `n|CREATE TABLE "n"("1" INTEGER, "2" INTEGER)` + "\n3,4\n"},
		{"tab", "t.tsv", "a\tb\n1\t\"x\ty\"\n", nil, "", `t|CREATE TABLE "t"("a" INTEGER, "b" TEXT)` + "\n1,'x\ty'\n"},
		{"delimiter", "t.csv", "a;b\r\n1;2\r\n", []string{"-delimiter=;"}, "", `t|CREATE TABLE "t"("a" INTEGER, "b" INTEGER)` + "\n1,2\n"},
		{"null", "t.csv", "a,b\n\\N,\n\"\\N\",2\n", []string{`-null=\N`}, "x y", `x y|CREATE TABLE "x y"("a" TEXT, "b" INTEGER)` + "\nNULL,''\n'\\N',2\n"},
		{"skip", "t.csv", "# made by hand\n\na,b\n1,2\n", []string{"-skip=2"}, "", `t|CREATE TABLE "t"("a" INTEGER, "b" INTEGER)` + "\n1,2\n"},
		{"empty lines", "t.csv", "a,b\n\n1,2\n\n", nil, "", `t|CREATE TABLE "t"("a" INTEGER, "b" INTEGER)` + "\n1,2\n"},
		{"one column", "t.csv", "a\n1\n\n", nil, "", `t|CREATE TABLE "t"("a" INTEGER)` + "\n1\nNULL\n"},
		{"mark and names", "t.csv", "\xef\xbb\xbf\"sel\"\"ect\",é\r\n1,\"a\r\nb\"\r\n", nil, "", `t|CREATE TABLE "t"("sel""ect" INTEGER, "é" TEXT)` + "\n1,CAST(X'610d0a62' AS TEXT)\n"},
		{"header alone", "t.csv", "a,b\n", nil, "", `t|CREATE TABLE "t"("a" TEXT, "b" TEXT)` + "\n"},
		{"format", "data", "a\n1\n", []string{"-format=csv"}, "", `data|CREATE TABLE "data"("a" INTEGER)` + "\n1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := newDir(t)
			args := append(append([]string{"import"}, tc.flags...), dir, writeFile(t, tc.file, tc.text))
			if tc.table != "" {
				args = append(args, tc.table)
			}
			must(t, args...)
			table, _, _ := strings.Cut(tc.want, "|")
			got := must(t, "sql", dir, "SELECT name, sql FROM sqlite_schema") +
				shellOutput(t, dir, ".mode quote\nSELECT * FROM "+quoteName(table)+";\n")
			if got != tc.want {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
		})
	}
}

// A table that exists takes columns by name in any order, or all by place.
func TestImportIntoTable(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		flags      []string
		status     int
		want       string // rows, or words of the refusal
	}{
		{"by name", "C,id,a\nx,5,007\n", nil, statusDone, "5,'007','x'\n"},
		{"by place", "5,b,x\n", nil, statusDone, "5,'b','x'\n"},
		{"by place with a name", "5,b,c\n", []string{"-header=no"}, statusDone, "5,'b','c'\n"},
		{"perhaps by place", "5,b,c\n", nil, statusRefused, "use -header=no when the first line is a row"},
		{"a row of names", "id,a,c\n", []string{"-header=no"}, statusFailed, "x.csv:1: datatype mismatch; nothing was imported"},
		{"extra", "id,a,c,more\n1,2,3,4\n", nil, statusRefused, `names "more", which the table does not have`},
		{"missing", "id,a\n1,2\n", nil, statusDone, "1,'2',NULL\n"},
		{"both", "id,a,d\n1,2,3\n", nil, statusRefused, `names "d", which the table does not have; `},
		{"twice", "id,a,c,A\n1,2,3,4\n", nil, statusRefused, `names column "A" twice`},
		{"unknown", "x,y,z\n", []string{"-header=yes"}, statusRefused, `"x", "y", "z"`},
		{"ragged", "id,a,c\n1,2,3\n4,5\n", nil, statusFailed, "x.csv:3: the row has 2 fields and not 3; nothing was imported"},
		{"ragged at once", "1,2\n", nil, statusFailed, "x.csv:1: the row has 2 fields and not 3"},
		{"constraint", "1,2,3\n2,3,4\n1,4,5\n", nil, statusFailed, "x.csv:3: UNIQUE constraint failed: t.id; nothing was imported"},
		{"quote", "1,2,3\n2,\"3\n", nil, statusFailed, "x.csv:2: a quoted field is not closed; nothing was imported"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := newDir(t)
			must(t, "sql", dir, "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, c)")
			status, _, stderr := tidemark(t, "", append(append([]string{"import"}, tc.flags...), dir, writeFile(t, "x.csv", tc.text), "T")...)
			got := shellOutput(t, dir, ".mode quote\nSELECT * FROM t;\n")
			switch {
			case status != tc.status:
				t.Errorf("status %d, want %d: %s", status, tc.status, stderr)
			case status == statusDone && got != tc.want:
				t.Errorf("rows %q, want %q", got, tc.want)
			case status != statusDone && (got != "" || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\n") != 1):
				t.Errorf("rows %q, %q, want %q", got, stderr, tc.want)
			}
		})
	}
}

// A script without transactions of its own happens as a whole; one with keeps
// what it committed, and the error says so.
func TestImportScript(t *testing.T) {
	for _, tc := range []struct {
		name, script string
		status       int
		words        string
		rows         string // of t afterwards
	}{
		{"plain", "CREATE TABLE t(a); INSERT INTO t VALUES(1);\nSELECT * FROM t", statusDone, "3 statements", "1\n"},
		{"dump", "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t(a);\nINSERT INTO t VALUES(1);\nCOMMIT;\n", statusDone, "5 statements", "1\n"},
		{"plain fails", "CREATE TABLE t(a);\n-- a comment; with a semicolon\nINSERT INTO t\n VALUES(1); INSERT INTO nope\n VALUES(2);", statusFailed,
			"x.sql:4: statement 3: no such table: nope; nothing was imported", ""},
		{"transaction fails", "BEGIN; CREATE TABLE t(a); INSERT INTO t VALUES(1); INSERT INTO nope VALUES(2); COMMIT;", statusFailed, "nothing was imported", ""},
		{"transaction is open", "BEGIN; CREATE TABLE t(a);", statusFailed, "ends inside of a transaction, which was rolled back; nothing was imported", ""},
		{"second fails", "BEGIN; CREATE TABLE t(a); COMMIT; BEGIN; INSERT INTO t VALUES(1); SELECT nope; COMMIT", statusFailed,
			"statement 6: no such column: nope; 3 statements before it took effect", "\n"},
		{"trigger", "CREATE TABLE t(a); CREATE VIEW v AS SELECT a FROM t; CREATE TRIGGER g INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES(new.a); SELECT 1; END; INSERT INTO v VALUES(7)",
			statusDone, "4 statements", "7\n"},
		{"forward", "-- a dump\nPRAGMA foreign_keys = OFF; CREATE TABLE t(a REFERENCES p); INSERT INTO t VALUES(1); CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES(1); PRAGMA foreign_keys=ON",
			statusDone, "6 statements", "1\n"},
		{"forward in transactions", "PRAGMA foreign_keys=OFF; BEGIN; CREATE TABLE t(a REFERENCES p); INSERT INTO t VALUES(1); CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES(1); COMMIT",
			statusDone, "7 statements", "1\n"},
		{"enforced", "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE t(a REFERENCES p); INSERT INTO t VALUES(1)", statusFailed, "statement 3: FOREIGN KEY constraint failed; nothing was imported", ""},
		{"enforced at the end", "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE t(a REFERENCES p DEFERRABLE INITIALLY DEFERRED); INSERT INTO t VALUES(1)", statusFailed,
			"FOREIGN KEY constraint failed; nothing was imported", ""},
		{"nothing", "-- only a comment\n;;", statusDone, "0 statements", ""},
		{"mark", "\xef\xbb\xbfCREATE TABLE t(a)", statusDone, "1 statement of", "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := newDir(t)
			status, _, stderr := tidemark(t, "", "import", dir, writeFile(t, "x.sql", tc.script))
			if status != tc.status || !strings.Contains(stderr, tc.words) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("status %d, %q, want %q", status, stderr, tc.words)
			}
			got := ""
			if exists := must(t, "sql", dir, "SELECT name FROM sqlite_schema WHERE name = 't'"); exists != "" {
				got = must(t, "sql", dir, "SELECT group_concat(a) FROM t")
			}
			if got != tc.rows {
				t.Errorf("rows %q, want %q", got, tc.rows)
			}
		})
	}
}

// An import that is interrupted leaves nothing, and a store that works.
func TestImportInterrupted(t *testing.T) {
	var text strings.Builder
	text.WriteString("CREATE TABLE t(a INTEGER, b TEXT);\n")
	csv := "a,b\n"
	for i := range 500 {
		text.WriteString("INSERT INTO t VALUES(" + strconv.Itoa(i) + ", 'x');\n")
		csv += strconv.Itoa(i) + ",x\n"
	}
	type importer func(context.Context, *sql.Conn, *progress) error
	std := streams{strings.NewReader(""), io.Discard, io.Discard}
	for name, run := range map[string]importer{
		"csv": func(ctx context.Context, conn *sql.Conn, bar *progress) error {
			in := &inputFile{path: writeFile(t, "t.csv", csv), name: "t.csv"}
			return importCSV(ctx, conn, []*importFile{{in.path, "t", "csv", in}}, importOptions{header: "auto"}, std, bar)
		},
		"sql": func(ctx context.Context, conn *sql.Conn, bar *progress) error {
			_, err := importScript(ctx, conn, &inputFile{path: writeFile(t, "t.sql", text.String())}, std, bar)
			return err
		},
		"sql with a transaction": func(ctx context.Context, conn *sql.Conn, bar *progress) error {
			_, err := importScript(ctx, conn, &inputFile{path: writeFile(t, "t.sql", "BEGIN;"+text.String()+"COMMIT;")}, std, bar)
			return err
		},
		"db": func(ctx context.Context, conn *sql.Conn, bar *progress) error {
			return importSQLite(ctx, conn, makeFile(t, text.String()), "", false, std, bar)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			err := withStore(t.Context(), dir, "rwc", func(db *sql.DB) error {
				conn, err := db.Conn(t.Context())
				if err != nil {
					return err
				}
				defer conn.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				steps := 0
				bar := newProgress(io.Discard, "import", "rows")
				bar.now = func() time.Time {
					if steps++; steps == 100 {
						cancel()
					}
					return bar.shown
				}
				if err := run(ctx, conn, bar); statusOf(err) != statusFailed || ctx.Err() == nil {
					t.Errorf("interrupted after %d steps: %v", steps, err)
				}
				_, err = conn.ExecContext(t.Context(), "CREATE TABLE other(x)")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := must(t, "sql", dir, "SELECT name FROM sqlite_schema"); got != "other\n" {
				t.Errorf("left: %q", got)
			}
			must(t, "check", dir)
		})
	}
}

// A refusal names the ways forward and makes no store.
func TestTransferRefusals(t *testing.T) {
	dir, missing := newStore(t), newDir(t)
	text, empty := writeFile(t, "not.db", "hello"), writeFile(t, "empty.db", "")
	csv := writeFile(t, "x.csv", "a,b\n1,2\n")
	for _, tc := range []struct {
		args  []string
		words []string
	}{
		{[]string{"import"}, []string{"directory", "tidemark import"}},
		{[]string{"import", missing, text}, []string{"not.db", "not a SQLite file", "-format"}},
		{[]string{"import", missing, empty}, []string{"empty.db", "not a SQLite file"}},
		{[]string{"import", missing, filepath.Join(missing, "x.csv")}, []string{"x.csv", "can be read"}},
		{[]string{"import", missing, t.TempDir()}, []string{"not known by its end", "-format"}},
		{[]string{"import", "-format=csv", missing, t.TempDir()}, []string{"is a directory"}},
		{[]string{"import", missing, "x.doc"}, []string{"x.doc", ".csv", "-format"}},
		{[]string{"import", missing, "-"}, []string{"-format"}},
		{[]string{"import", "-format=db", missing, "-"}, []string{"standard input", "name the file"}},
		{[]string{"import", "-format=csv", missing, "-"}, []string{"table"}},
		{[]string{"import", "-header=maybe", missing, csv}, []string{"auto, yes or no"}},
		{[]string{"import", "-delimiter=ab", missing, csv}, []string{"one byte"}},
		{[]string{"import", "-skip=-1", missing, csv}, []string{"-skip"}},
		{[]string{"import", "-nope", missing, csv}, []string{"-nope", "-h"}},
		{[]string{"import", dir, filepath.Join(dir, "catalog.db")}, []string{"own catalog", "sqlite3"}},
		{[]string{"import", dir, makeFile(t, "CREATE TABLE a(x)"), "b"}, []string{"no table b", "use a"}},
		{[]string{"import", dir, writeFile(t, "x.sql", "SELECT 1"), "t"}, []string{".sql", "leave t out"}},
		{[]string{"import", dir, writeFile(t, "none.csv", "")}, []string{"no rows", "header"}},
		{[]string{"export", dir}, []string{"tidemark export"}},
		{[]string{"export", missing, "x.db"}, []string{missing}},
		{[]string{"export", dir, "x.doc"}, []string{"x.doc", ".db"}},
		{[]string{"export", dir, "x.csv"}, []string{"one table"}},
		{[]string{"export", dir, "x.csv", "t", "t"}, []string{"one table"}},
		{[]string{"export", "-format=db", dir, "-"}, []string{"standard output"}},
		{[]string{"export", dir, "-", "nope"}, []string{"no table nope", "use t"}},
		{[]string{"export", dir, filepath.Join(missing, "x.sql")}, []string{"folder that exists"}},
		{[]string{"export", "-format=sql", dir, t.TempDir()}, []string{"is a directory"}},
		{[]string{"export", "-nope", dir, "-"}, []string{"-nope", "-force"}},
		{[]string{"shell"}, []string{"directory"}},
		{[]string{"shell", "-mode", "x", dir}, []string{"mode x", "list"}},
		{[]string{"shell", "-nope", dir}, []string{"-nope", "-bail"}},
	} {
		status, out, stderr := tidemark(t, "", tc.args...)
		if status != statusRefused || strings.Count(stderr, "\n") != 1 || out != "" {
			t.Errorf("tidemark %q: status %d, %q, %q", tc.args, status, out, stderr)
		}
		for _, w := range tc.words {
			if !strings.Contains(stderr, w) {
				t.Errorf("tidemark %q: %q does not name %q", tc.args, stderr, w)
			}
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a refused import made a store")
	}
}

// What goes into a volatile table is gone with the command, which says so.
func TestImportIntoVolatile(t *testing.T) {
	dir := newDir(t)
	must(t, "sql", dir, "CREATE VIRTUAL TABLE rate USING tidemark(k TEXT, durable=false); CREATE TABLE kept(k TEXT)")
	input := map[string]string{
		"rows.csv":   "k\nx\n",
		"script.sql": "INSERT INTO rate VALUES('x');",
	}
	for name, text := range input {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"import", dir, file}
		if name == "rows.csv" {
			if _, _, stderr := tidemark(t, "", append(args, "kept")...); strings.Contains(stderr, "warning") {
				t.Errorf("a durable table: %q", stderr)
			}
			args = append(args, "rate")
		}
		status, _, stderr := tidemark(t, "", args...)
		if status != statusDone || strings.Count(stderr, "warning") != 1 || !strings.Contains(stderr, "gone when this command ends: rate\n") {
			t.Errorf("%s: status %d, %q", name, status, stderr)
		}
	}
}

// Rows of a table that refers to itself may come before those they refer to: what
// export wrote can be read back, and a row that refers to nothing is refused.
func TestImportSelfReference(t *testing.T) {
	dir := newDir(t)
	must(t, "sql", dir, "CREATE TABLE emp(id INTEGER PRIMARY KEY, boss INT REFERENCES Emp ON DELETE CASCADE); CREATE TABLE c(id INTEGER PRIMARY KEY, e INT REFERENCES emp)")
	must(t, "import", dir, writeFile(t, "x.csv", "1,3\n2,3\n3,\n"), "EMP")
	if got := must(t, "sql", dir, "SELECT * FROM emp; PRAGMA foreign_key_check"); got != "1|3\n2|3\n3|\n" {
		t.Errorf("rows %q", got)
	}
	for _, tc := range []struct{ table, text, want string }{
		{"emp", "4,5\n5,6\n", "x.csv: FOREIGN KEY constraint failed: a row refers to one that is neither in the file nor in emp; nothing was imported"},
		{"c", "1,1\n2,9\n", "x.csv:2: FOREIGN KEY constraint failed; nothing was imported"},
	} {
		status, _, stderr := tidemark(t, "", "import", dir, writeFile(t, "x.csv", tc.text), tc.table)
		if status != statusFailed || !strings.Contains(stderr, tc.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %q", tc.table, status, stderr)
		}
	}
	if got := must(t, "sql", dir, "SELECT count(*) FROM emp; SELECT count(*) FROM c"); got != "3\n0\n" {
		t.Errorf("rows left: %q", got)
	}
	// The shell does the same, but in a transaction that goes on the foreign keys
	// stay as they are.
	file := writeFile(t, "y.csv", "7,8\n8,7\n")
	_, got, _ := tidemark(t, "BEGIN;\n.import "+file+" emp\nCOMMIT;\nSELECT count(*) FROM emp;\n.import "+file+" emp\nPRAGMA defer_foreign_keys;\nSELECT count(*) FROM emp;\n", "shell", dir)
	if got != "3\n0\n5\n" {
		t.Errorf("shell: %q", got)
	}
}

// CSV files of tables that refer to each other are imported together, in any order.
func TestImportCSVFiles(t *testing.T) {
	dir := newDir(t)
	must(t, "sql", dir, `CREATE TABLE team(id INTEGER PRIMARY KEY, lead INT REFERENCES person(id));
		CREATE TABLE person(id INTEGER PRIMARY KEY, team INT NOT NULL REFERENCES team(id)); CREATE TABLE pet(id INTEGER PRIMARY KEY, owner INT REFERENCES Person)`)
	teams, persons, pets := writeFile(t, "team.csv", "1,10\n2,30\n"), writeFile(t, "person.tsv", "id\tteam\n10\t1\n20\t1\n30\t2\n"), writeFile(t, "pet.csv", "1,20\n2,30\n")
	refused := func(want string, status int, args ...string) {
		t.Helper()
		got, _, stderr := tidemark(t, "", append([]string{"import"}, args...)...)
		if got != status || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: status %d, %q", args, got, stderr)
		}
		if left := must(t, "sql", dir, "SELECT count(*) FROM team; SELECT count(*) FROM person; SELECT count(*) FROM pet"); left != "0\n0\n0\n" {
			t.Errorf("%q left rows: %q", args, left)
		}
	}
	refused("team.csv:1: FOREIGN KEY constraint failed; nothing was imported", statusFailed, dir, teams, "team")
	bad := writeFile(t, "bad.csv", "7,10\n8,99\n9,77\n")
	refused("FOREIGN KEY constraint failed: 2 rows of pet refer to nothing in Person; nothing was imported", statusFailed, dir, bad, "pet", teams, "TEAM", persons, "Person")
	// What refers to nothing that comes later is named by its line.
	refused("bad.csv:1: FOREIGN KEY constraint failed; nothing was imported", statusFailed, dir, writeFile(t, "ok.csv", "1\n"), "loose", bad, "pet")
	refused("several csv files with a table each", statusRefused, dir, teams, "team", persons)
	refused("import it by itself", statusRefused, dir, teams, "team", writeFile(t, "x.sql", "SELECT 1;"), "x")
	refused("is a file, where the name of the table for", statusRefused, dir, teams, persons)
	refused("standard input is named twice", statusRefused, "-format=csv", dir, "-", "team", "-", "person")
	refused("the name of the table is empty", statusRefused, dir, teams, "", persons, "person")
	status, _, stderr := tidemark(t, "", "import", dir, pets, "pet", teams, "TEAM", persons, "Person")
	if want := "import: 2 rows into pet\nimport: 2 rows into team\nimport: 3 rows into person, with the delimiter \"\\t\"\n"; status != statusDone || strings.ReplaceAll(want, ", with the delimiter \"\\t\"", "") != stderr {
		t.Errorf("status %d, %q", status, stderr)
	}
	if got := must(t, "sql", dir, "SELECT * FROM team; SELECT * FROM person; SELECT * FROM pet; PRAGMA foreign_key_check"); got != "1|10\n2|30\n10|1\n20|1\n30|2\n1|20\n2|30\n" {
		t.Errorf("%q", got)
	}
}

// Files whose rows refer to nothing are imported as they are, as SQLite files and
// dumps may hold such rows, with a line that counts them.
func TestImportWarnsOfReferences(t *testing.T) {
	const rows = `CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY, p INT REFERENCES p, q INT REFERENCES gone(id));
		CREATE TABLE d(p REFERENCES p); INSERT INTO p VALUES(1); INSERT INTO c VALUES(1, 1, NULL), (2, 5, NULL), (3, 6, 7); INSERT INTO d VALUES(8);`
	const want = "import: warning: 2 rows of c refer to nothing in p, 1 row of c refers to nothing in gone, 1 row of d refers to nothing in p: PRAGMA foreign_key_check lists them\n"
	sorted := func(s string) string {
		pairs := strings.Split(strings.TrimSuffix(strings.TrimPrefix(s, "import: warning: "), ": PRAGMA foreign_key_check lists them\n"), ", ")
		slices.Sort(pairs)
		return strings.Join(pairs, ", ")
	}
	for name, file := range map[string]string{"db": makeFile(t, rows), "sql": writeFile(t, "x.sql", "PRAGMA foreign_keys=OFF;\n"+rows), "dump": writeFile(t, "y.sql", "PRAGMA foreign_keys=OFF;\nBEGIN;\n"+rows+"\nCOMMIT;")} {
		dir := newDir(t)
		status, _, stderr := tidemark(t, "", "import", dir, file)
		lines := strings.SplitAfter(stderr, "\n")
		if status != statusDone || len(lines) != 3 || sorted(lines[1]) != sorted(want) || !strings.HasSuffix(lines[1], "lists them\n") {
			t.Errorf("%s: status %d, %q", name, status, stderr)
		}
		if got := must(t, "sql", dir, "SELECT count(*) FROM c"); got != "3\n" {
			t.Errorf("%s: %q rows", name, got)
		}
	}
	for _, file := range []string{makeFile(t, "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(p REFERENCES p); INSERT INTO c VALUES(NULL)"), writeFile(t, "z.sql", "PRAGMA foreign_keys=OFF; CREATE TABLE p(a);")} {
		if status, _, stderr := tidemark(t, "", "import", newDir(t), file); status != statusDone || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %q", file, status, stderr)
		}
	}
	// A key that a table does not have keeps nothing from being imported either.
	dir := newDir(t)
	status, _, stderr := tidemark(t, "", "import", dir, makeFile(t, "CREATE TABLE p(a); CREATE TABLE c(p REFERENCES p(a)); INSERT INTO c VALUES(1)"))
	if status != statusDone || !strings.Contains(stderr, "foreign keys could not be looked at: ") || strings.Count(stderr, "\n") != 2 {
		t.Errorf("status %d, %q", status, stderr)
	}
}
