package main

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// openFile opens a SQLite file with plain SQLite.
func openFile(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// makeFile makes a SQLite file with plain SQLite and returns its path.
func makeFile(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.db")
	db := openFile(t, path)
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// contents describes everything a database holds: its schema, and every row with
// its rowid and the type and bits of every value. It asks with nothing of the
// code that copies.
func contents(t *testing.T, db *sql.DB) (lines []string) {
	t.Helper()
	ctx := context.Background()
	lines = append(lines, queryLines(t, db, `SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY type, name`)...)
	for _, name := range queryLines(t, db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name`) {
		name = strings.TrimSuffix(strings.TrimPrefix(name, `"`), `"`)
		name, err := unquoteGo(name)
		if err != nil {
			t.Fatal(err)
		}
		table := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		rowid := "rowid, "
		if rows, err := db.QueryContext(ctx, "SELECT rowid FROM "+table+" LIMIT 0"); err != nil {
			rowid = "" // WITHOUT ROWID
		} else {
			_ = rows.Close()
		}
		var columns []string
		rows, err := db.QueryContext(ctx, "SELECT * FROM "+table+" LIMIT 0")
		if err != nil {
			t.Fatal(err)
		}
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		_ = rows.Close()
		for _, c := range names {
			columns = append(columns, `+"`+strings.ReplaceAll(c, `"`, `""`)+`"`)
		}
		found := queryLines(t, db, "SELECT "+rowid+strings.Join(columns, ", ")+" FROM "+table)
		slices.Sort(found)
		for _, l := range found {
			lines = append(lines, name+": "+l)
		}
	}
	if len(queryLines(t, db, `SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'`)) > 0 {
		lines = append(lines, queryLines(t, db, `SELECT 'sequence', name, seq FROM sqlite_sequence ORDER BY name`)...)
	}
	return lines
}

// queryLines writes each row of a query with the type and bits of its values.
func queryLines(t *testing.T, db *sql.DB, query string) (lines []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, pointers := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		pointers[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(pointers...); err != nil {
			t.Fatal(err)
		}
		var fields []string
		for _, v := range values {
			switch v := v.(type) {
			case float64:
				fields = append(fields, fmt.Sprintf("real %016x %v", math.Float64bits(v), v))
			case []byte:
				fields = append(fields, fmt.Sprintf("blob %x", v))
			case string:
				fields = append(fields, fmt.Sprintf("%q", v))
			default:
				fields = append(fields, fmt.Sprint(v))
			}
		}
		lines = append(lines, strings.Join(fields, " | "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

func unquoteGo(s string) (string, error) {
	var out string
	_, err := fmt.Sscanf(`"`+s+`"`, "%q", &out)
	return out, err
}

// fileContents are the contents of a SQLite file, which must be sound.
func fileContents(t *testing.T, path string) []string {
	t.Helper()
	db := openFile(t, path)
	defer db.Close()
	if got := queryLines(t, db, "PRAGMA integrity_check"); !slices.Equal(got, []string{`"ok"`}) {
		t.Errorf("integrity_check of %s: %q", path, got)
	}
	return contents(t, db)
}

// storeContents are the contents of a store.
func storeContents(t *testing.T, dir string) (lines []string) {
	t.Helper()
	err := withStore(t.Context(), dir, "rw", func(db *sql.DB) error {
		lines = contents(t, db)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// same fails at the first line that differs.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: nothing to compare with", what)
	}
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("%s: %d lines, want %d; first missing: %s", what, len(got), len(want), want[i])
		case i >= len(want):
			t.Fatalf("%s: %d lines, want %d; first more: %s", what, len(got), len(want), got[i])
		case got[i] != want[i]:
			t.Fatalf("%s: line %d:\n got %s\nwant %s", what, i, got[i], want[i])
		}
	}
}

// writeFile makes a file of a test and returns its path.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newDir is where a store may be made.
func newDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store")
}

// shellOutput is what a shell session prints that has no error.
func shellOutput(t *testing.T, dir, input string) string {
	t.Helper()
	status, out, stderr := tidemark(t, input, "shell", dir)
	if status != statusDone || stderr != "" {
		t.Fatalf("shell: status %d, %s", status, stderr)
	}
	return out
}
