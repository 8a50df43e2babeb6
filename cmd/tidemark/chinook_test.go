package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// chinook is the path of a script with a real schema and its rows.
func chinook(t *testing.T) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", "chinook.sql")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("skipped: the data is not here: %v", err)
	}
	return path
}

// A real database goes through every format and stays what SQLite makes of it.
func TestChinook(t *testing.T) {
	script := chinook(t)
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	want := fileContents(t, makeFile(t, string(text)))

	first := newDir(t)
	must(t, "import", first, script)
	same(t, "import of the script", storeContents(t, first), want)

	file := filepath.Join(t.TempDir(), "out.db")
	must(t, "export", first, file)
	same(t, "export to a SQLite file", fileContents(t, file), want)

	second := newDir(t)
	must(t, "import", second, file)
	same(t, "import of the SQLite file", storeContents(t, second), want)

	dumped := filepath.Join(t.TempDir(), "out.sql")
	must(t, "export", second, dumped)
	third := newDir(t)
	must(t, "import", third, dumped)
	same(t, "import of the dump", storeContents(t, third), want)
	text, err = os.ReadFile(dumped)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the dump in SQLite", fileContents(t, makeFile(t, string(text))), want)
}

// Each table goes through CSV into an empty table of the same definition.
func TestChinookCSV(t *testing.T) {
	script := chinook(t)
	from, to := newDir(t), newDir(t)
	must(t, "import", from, script)
	want := storeContents(t, from)
	must(t, "sql", to, must(t, "sql", from, `SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL`))
	folder := t.TempDir()
	// Tables come after those they refer to.
	left := strings.Fields(must(t, "sql", from, `SELECT name FROM sqlite_schema WHERE type = 'table'`))
	for len(left) > 0 {
		name := left[0]
		left = left[1:]
		parents := must(t, "sql", from, `SELECT "table" FROM pragma_foreign_key_list('`+name+`')`)
		if slices.ContainsFunc(strings.Fields(parents), func(p string) bool { return slices.Contains(left, p) }) {
			left = append(left, name)
			continue
		}
		file := filepath.Join(folder, name+".csv")
		must(t, "export", from, file, name)
		must(t, "import", to, file)
	}
	same(t, "the tables through CSV", storeContents(t, to), want)
}
