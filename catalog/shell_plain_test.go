package catalog

import (
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documented are the queries of the package's doc, exactly as they stand there.
func documented(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range regexp.MustCompile(`(?m)^//\t(SELECT .*;)$`).FindAllSubmatch(text, -1) {
		queries = append(queries, string(q[1]))
	}
	if len(queries) != 10 {
		t.Fatalf("%d queries", len(queries))
	}
	return queries
}

// plainly opens a connection that sets nothing and only reads, as any program would.
func plainly(t *testing.T, dir, mode string) (db *sql.DB, done func()) {
	t.Helper()
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, FileName)), RawQuery: mode}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		t.Fatal(err)
	}
	return db, func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// shownBy runs a query and returns the rows as a shell shows them, in order.
func shownBy(t *testing.T, db *sql.DB, query string) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range cells {
			to[i] = &cells[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		line := make([]string, len(cells))
		for i, c := range cells {
			line[i] = c.String
		}
		lines = append(lines, strings.Join(line, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	slices.Sort(lines)
	return lines
}

// TestPlainConnections asks every view, and the documented queries, over connections
// that only read, while the store is open and after it was closed, and in the stock
// shell if the machine has one: all show the same. Nothing is changed by that.
func TestPlainConnections(t *testing.T) {
	c, l, _, _, b := inspected(t)
	if _, err := c.Fork(t.Context(), ForkRequest{Name: "child", BranchPoint: b.Name}); err != nil {
		t.Fatal(err)
	}
	two := l.rotate()
	if err := c.Register(t.Context(), two...); err != nil {
		t.Fatal(err)
	}
	l.prepare(l.publication(two...)) // left, as by a crash
	dir := c.options.Dir
	queries := documented(t)
	for _, view := range Views() {
		queries = append(queries, "SELECT * FROM "+view)
	}
	_, noShell := exec.LookPath("sqlite3")
	if noShell != nil {
		t.Log("no sqlite3 shell on this machine")
	}
	shown := 0
	ask := func(modes ...string) {
		var dbs []*sql.DB
		for _, mode := range modes {
			db, done := plainly(t, dir, mode)
			defer done()
			dbs = append(dbs, db)
		}
		for _, query := range queries {
			want := shownBy(t, dbs[0], query)
			shown += len(want)
			for i, mode := range modes {
				if got := shownBy(t, dbs[i], query); !slices.Equal(got, want) {
					t.Errorf("%s\n%s: %q\n%s: %q", query, modes[0], want, mode, got)
				}
			}
			if noShell != nil {
				continue
			}
			var got []string
			if text := stockShell(t, dir, query); text != "" {
				got = strings.Split(text, "\n")
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s\n%s: %q\nshell: %q", query, modes[0], want, got)
			}
		}
	}
	ask("mode=ro")
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, FileName)) // nobody has it open
	if err != nil {
		t.Fatal(err)
	}
	ask("mode=ro", "immutable=1", "mode=ro&immutable=1")
	after, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil || string(after) != string(before) {
		t.Errorf("the file is another than before: %v", err)
	}
	if shown < 2*len(queries) {
		t.Errorf("%d rows of %d queries", shown, len(queries))
	}
}
