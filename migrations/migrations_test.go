package migrations

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	_ "modernc.org/sqlite"
)

var update = flag.Bool("update", false, "rewrite testdata/schema.sql")

func scratch(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func prepared(t *testing.T) *sql.DB {
	t.Helper()
	db := scratch(t)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := CreateVersionTable(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	return db
}

func pragmaVersion(t *testing.T, db *sql.DB) (v int64) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEveryFileSetsItsVersion applies the files one after another: after each,
// user_version and the version table agree, and the numbers have no gap.
func TestEveryFileSetsItsVersion(t *testing.T) {
	db := prepared(t)
	versions, err := Versions(Files())
	if err != nil || len(versions) == 0 {
		t.Fatal(versions, err)
	}
	for i, v := range versions {
		if v != int64(i+1) {
			t.Fatalf("versions are %v", versions)
		}
		part := fstest.MapFS{}
		for _, upto := range versions[:i+1] {
			name := nameOf(t, upto)
			b, err := fs.ReadFile(Files(), name)
			if err != nil {
				t.Fatal(err)
			}
			part[name] = &fstest.MapFile{Data: b}
		}
		var asked []int64
		err := Up(t.Context(), db, part, func(ctx context.Context, v int64) context.Context { asked = append(asked, v); return ctx })
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(asked, []int64{v}) {
			t.Errorf("version %d: applied %v", v, asked)
		}
		var inTable int64
		if err := db.QueryRowContext(t.Context(), "SELECT max(version_id) FROM "+Table).Scan(&inTable); err != nil {
			t.Fatal(err)
		}
		if got := pragmaVersion(t, db); got != v || inTable != v {
			t.Errorf("version %d: user_version %d, version table %d", v, got, inTable)
		}
	}
	// Nothing is pending any more.
	if err := Up(t.Context(), db, Files(), func(ctx context.Context, v int64) context.Context { t.Errorf("applied %d again", v); return ctx }); err != nil {
		t.Error(err)
	}
}

func nameOf(t *testing.T, version int64) string {
	t.Helper()
	names, err := fs.Glob(Files(), fmt.Sprintf("%04d_*.sql", version))
	if err != nil || len(names) != 1 {
		t.Fatalf("version %d: %v, %v", version, names, err)
	}
	return names[0]
}

// TestReleasedSchema compares the schema with the committed one: a released file
// is never edited, so only a new file may change testdata/schema.sql, and only
// by what it adds. go test -run ReleasedSchema -update rewrites it.
func TestReleasedSchema(t *testing.T) {
	objects, err := Schema(t.Context(), scratch(t), Files())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "-- %s %s on %s\n%s;\n\n", o.Type, o.Name, o.Table, o.SQL)
	}
	const golden = "testdata/schema.sql"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the schema differs from %s; released files must not change", golden)
	}
}

// TestTablesAreStrict: but for the migration library's own, every table is.
func TestTablesAreStrict(t *testing.T) {
	db := scratch(t)
	if _, err := Schema(t.Context(), db, Files()); err != nil {
		t.Fatal(err)
	}
	rows, err := db.QueryContext(t.Context(), `SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	seen := 0
	for rows.Next() {
		var name string
		var strict bool
		if err := rows.Scan(&name, &strict); err != nil {
			t.Fatal(err)
		}
		seen++
		if !strict && name != Table {
			t.Errorf("table %s is not STRICT", name)
		}
	}
	if err := rows.Err(); err != nil || seen < 17 {
		t.Errorf("%d tables, %v", seen, err)
	}
}

func TestFailedFileLeavesTheVersionBefore(t *testing.T) {
	db := prepared(t)
	files := fstest.MapFS{
		"0001_a.sql": {Data: []byte("-- +goose Up\nPRAGMA user_version = 1;\nCREATE TABLE a(x);\n")},
		"0002_b.sql": {Data: []byte("-- +goose Up\nPRAGMA user_version = 2;\nCREATE TABLE b(x);\nCREATE TABLE a(x);\n")},
		"0003_c.sql": {Data: []byte("-- +goose Up\nPRAGMA user_version = 3;\nCREATE TABLE c(x);\n")},
	}
	err := Up(t.Context(), db, files, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "migration 2: ") {
		t.Fatalf("error is %v", err)
	}
	if got := pragmaVersion(t, db); got != 1 {
		t.Errorf("user_version is %d", got)
	}
	var tables int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_schema WHERE name IN ('a','b','c')`).Scan(&tables); err != nil || tables != 1 {
		t.Errorf("%d tables, %v", tables, err)
	}
}

func TestVersionsOfBadNames(t *testing.T) {
	for _, name := range []string{"first.sql", "0000_zero.sql", "-1_x.sql", "x1_y.sql"} {
		if v, err := Versions(fstest.MapFS{name: {}}); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
	if v, err := Latest(fstest.MapFS{}); v != 0 || err != nil {
		t.Errorf("no files: %d, %v", v, err)
	}
	if v, err := Latest(fstest.MapFS{"0010_b.sql": {}, "9_a.sql": {}}); v != 10 || err != nil {
		t.Errorf("latest: %d, %v", v, err)
	}
}
